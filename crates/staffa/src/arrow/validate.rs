//! Arrays of other libraries, checked as Arrow checks them, but `Utf8` and `LargeUtf8` many strings at a time.

use arrow_array::OffsetSizeTrait;
use arrow_buffer::ScalarBuffer;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use staffa_kernels::{rising_offsets, text_array};

/// Checks an array that came over Arrow's C interface: lengths, offsets, UTF-8, keys of dictionaries.
///
/// As `ArrayData::validate_full`, which looks at one string after another and takes up to five times as
/// long; an array that is refused is checked by both. A [`Writer`](crate::Writer) takes arrays to be valid:
/// those that another library made unsafely are checked first.
///
/// # Errors
/// Those of `validate_full`.
///
/// # Examples
/// ```
/// # use arrow_array::{Array, StringArray};
/// let cities = StringArray::from(vec![Some("Oban"), None]);
/// assert!(staffa::validate_array(&cities.to_data()).is_ok());
/// ```
pub fn validate_array(data: &ArrayData) -> Result<(), ArrowError> {
    if is_valid(data) {
        return Ok(());
    }
    // Arrow says what is wrong.
    data.validate_full()
}

fn is_valid(data: &ArrayData) -> bool {
    let is_sound = match data.data_type() {
        DataType::Utf8 => are_strings::<i32>,
        DataType::LargeUtf8 => are_strings::<i64>,
        _ => |data: &ArrayData| data.validate_data().is_ok(),
    };
    is_sound(data) && data.child_data().iter().all(is_valid)
}

fn are_strings<O: OffsetSizeTrait>(data: &ArrayData) -> bool {
    if data.is_empty() {
        return data.validate_data().is_ok();
    }
    if data.validate().is_err() || data.validate_nulls().is_err() {
        return false;
    }
    let [offsets, bytes] = data.buffers() else {
        return false;
    };
    let offsets = ScalarBuffer::<O>::new(offsets.clone(), data.offset(), data.len() + 1);
    // Empty strings alone may stand inside a character.
    let first = offsets
        .first()
        .and_then(|first| bytes.get(first.as_usize()));
    if first.is_some_and(|byte| (0x80..0xc0).contains(byte)) {
        return false;
    }
    rising_offsets(offsets, bytes.len())
        .is_ok_and(|offsets| text_array(&offsets, bytes, None).is_some())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{
        Array, ArrayRef, DictionaryArray, LargeStringArray, RecordBatch, StringArray, StructArray,
    };

    use super::*;

    /// Strings that are not text can only be made by unsafe code: the tests of Python and C have them.
    #[test]
    fn valid_arrays_are_told_without_arrow() {
        let words = [Some("Oban"), None, Some(""), Some("日本")];
        let narrow: ArrayRef = Arc::new(StringArray::from(words.to_vec()));
        let wide: ArrayRef = Arc::new(LargeStringArray::from(words.to_vec()));
        let coded: DictionaryArray<Int32Type> = words.into_iter().collect();
        let named = [("narrow", narrow.clone()), ("wide", wide.clone())];
        let rows = StructArray::from(RecordBatch::try_from_iter(named).unwrap());
        let all: [ArrayRef; 4] = [narrow, wide, Arc::new(coded), Arc::new(rows)];
        for array in all {
            for start in 0..=array.len() {
                for end in start..=array.len() {
                    let data = array.slice(start, end - start).to_data();
                    assert!(is_valid(&data), "{start}..{end} of {:?}", array.data_type());
                    validate_array(&data).unwrap();
                }
            }
        }
    }
}
