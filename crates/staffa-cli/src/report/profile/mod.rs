//! The distributions of the columns, of all rows or of runs of rows spread evenly over the table.
//!
//! ```text
//! numbers, dates, times   histogram
//! text, few values        most frequent values
//! text, many values       histogram of the lengths
//! ```

mod histogram;
mod read;
mod top;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};

pub(super) use self::histogram::Histogram;
pub(super) use self::read::profiles;
pub(super) use self::top::Top;

/// Numbers with so few different values are listed by value, if these lie apart.
const FEW: usize = 8;

/// The distribution of a leaf column.
#[derive(Debug, Default)]
pub(super) struct Profile {
    /// Rows of the table that were read.
    pub(super) rows: u64,
    /// Values that are not NULL among them.
    pub(super) values: u64,
    pub(super) shape: Shape,
}

/// The picture that suits the values.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Shape {
    /// Nothing to show: no values, or a type without a picture.
    #[default]
    Nothing,
    /// Of the values.
    Histogram(Histogram),
    /// Of the bytes of the texts, most of which differ.
    Lengths(Histogram),
    Top(Top),
}

impl Shape {
    /// The picture of an array that is not nested.
    fn of(array: &ArrayRef) -> Result<Self, ArrowError> {
        use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
        let plain = match array.data_type() {
            DataType::Dictionary(_, values) => cast(array, values)?,
            DataType::RunEndEncoded(_, values) => cast(array, values.data_type())?,
            _ => array.clone(),
        };
        if plain.logical_null_count() == plain.len() || plain.data_type().is_nested() {
            return Ok(Self::Nothing);
        }
        match plain.data_type() {
            Utf8 | LargeUtf8 | Utf8View => {
                let views = cast(&plain, &Utf8View)?;
                let texts = views.as_string_view();
                let top = Top::of(texts.iter().flatten());
                if top.is_telling() {
                    return Ok(Self::Top(top));
                }
                let lengths = texts.iter().flatten().map(|text| text.len() as f64);
                Ok(Self::of_lengths(lengths.collect()).unwrap_or(Self::Top(top)))
            }
            Binary | LargeBinary | BinaryView => {
                let views = cast(&plain, &BinaryView)?;
                let lengths = views.as_binary_view().iter().flatten();
                let lengths = lengths.map(|bytes| bytes.len() as f64).collect();
                Ok(Self::of_lengths(lengths).unwrap_or_default())
            }
            _ => match histogram::numbers(&plain)? {
                Some(numbers) => Ok(Self::of_numbers(&plain, numbers)),
                None => Ok(Self::Top(Top::of_array(&plain))),
            },
        }
    }

    /// None if all lengths are equal.
    fn of_lengths(lengths: Vec<f64>) -> Option<Self> {
        let differ = lengths.array_windows().any(|[a, b]| a.total_cmp(b).is_ne());
        let histogram = Histogram::of(lengths, &DataType::UInt64);
        histogram.filter(|_| differ).map(Self::Lengths)
    }

    fn of_numbers(array: &ArrayRef, numbers: Vec<f64>) -> Self {
        let mut different: Vec<u64> = Vec::new();
        for number in &numbers {
            if !different.contains(&number.to_bits()) {
                different.push(number.to_bits());
                if different.len() > FEW {
                    break;
                }
            }
        }
        let histogram = Histogram::of(numbers, array.data_type());
        match histogram {
            Some(histogram) if different.len() > FEW || histogram.is_by_value() => {
                Self::Histogram(histogram)
            }
            _ => Self::Top(Top::of_array(array)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int64Array, StringArray};

    use super::*;

    #[test]
    fn numbers_have_a_histogram_and_texts_their_top_values() {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
        assert!(matches!(Shape::of(&ids).unwrap(), Shape::Histogram(_)));
        let codes: ArrayRef = Arc::new(Int64Array::from_iter_values(
            (0..1000).map(|i| [1, 500, 99_999][i % 3]),
        ));
        let Shape::Top(top) = Shape::of(&codes).unwrap() else {
            unreachable!("codes that lie apart")
        };
        assert_eq!(top.values[0], ("1".to_owned(), 334));
        let cities: ArrayRef = Arc::new(StringArray::from_iter_values(
            (0..1000).map(|i| format!("city {}", i % 7)),
        ));
        assert!(matches!(Shape::of(&cities).unwrap(), Shape::Top(_)));
        let keys: ArrayRef = Arc::new(StringArray::from_iter_values(
            (0..1000).map(|i| i.to_string()),
        ));
        assert!(matches!(Shape::of(&keys).unwrap(), Shape::Lengths(_)));
    }

    #[test]
    fn what_has_no_values_has_no_picture() {
        let none: ArrayRef = Arc::new(Int64Array::from(vec![None; 5]));
        assert_eq!(Shape::of(&none).unwrap(), Shape::Nothing);
        let empty: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
        assert_eq!(Shape::of(&empty).unwrap(), Shape::Nothing);
        // What is no number is counted by its text.
        let nan: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN; 5]));
        let Shape::Top(top) = Shape::of(&nan).unwrap() else {
            unreachable!("there is no range")
        };
        assert_eq!(top.values, [("NaN".to_owned(), 5)]);
    }
}
