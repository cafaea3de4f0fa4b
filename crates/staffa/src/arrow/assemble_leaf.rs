//! Assembling a decoded leaf to an Arrow array of a type without children.

use std::sync::Arc;

use arrow_array::types::{BinaryType, ByteArrayType, LargeBinaryType};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BinaryViewArray, BooleanArray, FixedSizeBinaryArray,
    GenericByteArray, GenericStringArray, OffsetSizeTrait, StringViewArray, downcast_primitive,
};
use arrow_buffer::{
    ArrowNativeType, Buffer, MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_schema::DataType;
use staffa_kernels::{PlainStrings, cast_slice, rising_offsets, text_array};

use super::assemble::unlike;
use super::build;
use super::build::{boolean_buffer, refused, scalars};
use super::domain::Domain;
use super::layout::{MOST_ITEMS, physical};
use crate::error::{Error, Result};
use crate::values::{Bitmap, DecodedValues, PhysicalType, Values};

/// The words, which must be of this width.
pub(super) fn words(values: DecodedValues, expected: PhysicalType) -> Result<Buffer> {
    match values {
        DecodedValues::Words(found, data) if found == expected => Ok(data),
        other => Err(Error::corrupt(format!(
            "{expected:?} expected, found {}",
            name(&other)
        ))),
    }
}

fn name(values: &DecodedValues) -> String {
    match values {
        DecodedValues::Empty(_) => "no values".to_owned(),
        DecodedValues::Bits(_) => "Bits".to_owned(),
        DecodedValues::Words(ty, _) => format!("{ty:?}"),
        DecodedValues::Bytes { .. } | DecodedValues::Strings(_) | DecodedValues::Views(_) => {
            "Bytes".to_owned()
        }
    }
}

/// The type of the array that plain strings are as they are.
fn plain(strings: &PlainStrings) -> DataType {
    match (strings.is_text(), strings.is_large()) {
        (true, false) => DataType::Utf8,
        (true, true) => DataType::LargeUtf8,
        (false, false) => DataType::Binary,
        (false, true) => DataType::LargeBinary,
    }
}

/// The array of a type without children.
pub(crate) fn leaf_array(
    ty: &DataType,
    values: DecodedValues,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let unfit = || Error::corrupt("as many bits of validity as strings expected");
    let values = match (ty, values) {
        (DataType::Utf8View | DataType::BinaryView, DecodedValues::Views(views)) => {
            return views.finish(nulls).ok_or_else(unfit);
        }
        (ty, DecodedValues::Strings(strings)) if plain(&strings) == *ty => {
            return strings.finish(nulls).ok_or_else(unfit);
        }
        (_, DecodedValues::Strings(strings)) => {
            let large = strings.is_large();
            let (offsets, data) = strings.into_parts();
            DecodedValues::Bytes {
                large,
                offsets,
                data,
            }
        }
        (_, values) => values,
    };
    macro_rules! primitive {
        ($ty:ty) => {
            primitive::<$ty>(ty, values, nulls)
        };
    }
    downcast_primitive! {
        ty => (primitive),
        DataType::Boolean => match values {
            DecodedValues::Bits(bits) => Ok(Arc::new(BooleanArray::new(boolean_buffer(bits), nulls))),
            other => Err(Error::corrupt(format!("Bits expected, found {}", name(&other)))),
        },
        DataType::Utf8 => Ok(Arc::new(text::<i32>(values, nulls)?)),
        DataType::LargeUtf8 => Ok(Arc::new(text::<i64>(values, nulls)?)),
        DataType::Binary => Ok(Arc::new(bytes::<BinaryType>(values, nulls)?)),
        DataType::LargeBinary => Ok(Arc::new(bytes::<LargeBinaryType>(values, nulls)?)),
        // By way of plain strings: text is checked once for all of it, not string by string.
        // Contents are not copied.
        DataType::Utf8View => Ok(Arc::new(StringViewArray::from(&text::<i32>(values, nulls)?))),
        DataType::BinaryView => Ok(Arc::new(BinaryViewArray::from(&bytes::<BinaryType>(values, nulls)?))),
        DataType::FixedSizeBinary(size) => fixed_binary(*size, values, nulls),
        _ => Err(unlike(ty))
    }
}

fn primitive<T: ArrowPrimitiveType>(
    ty: &DataType,
    values: DecodedValues,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let Some((width, _)) = physical(ty) else {
        return Err(unlike(ty));
    };
    let words = words(values, width)?;
    check_domain(ty, &words, nulls.as_ref())?;
    Ok(Arc::new(build::primitive::<T>(ty, scalars(words)?, nulls)?))
}

/// Refuses dates that are no whole days and decimals of 256 bits with too many digits, which no bounds
/// of a block settle.
fn check_domain(ty: &DataType, words: &Buffer, nulls: Option<&NullBuffer>) -> Result<()> {
    let domain = Domain::of(ty);
    let values = match domain {
        Domain::WholeDays => cast_slice(words).map(Values::U64),
        Domain::WideDigits(_) => cast_slice(words).map(Values::U256),
        _ => return Ok(()),
    };
    let values = values.ok_or_else(|| Error::internal("misaligned words"))?;
    let Some(mut row) = domain.first_outside(values, None) else {
        return Ok(());
    };
    if let Some(nulls) = nulls {
        let valid = nulls.inner();
        let valid = Bitmap::from_bytes(valid.values(), valid.offset(), valid.len());
        match domain.first_outside(values, Some(&valid)) {
            Some(found) => row = found,
            None => return Ok(()),
        }
    }
    let expected = domain.expected();
    Err(Error::corrupt(format!(
        "{expected} expected, found another one at value {row}"
    )))
}

/// Offsets of the width of `O`, never decreasing, within the contents.
fn offsets<O: OffsetSizeTrait>(
    large: bool,
    offsets: Buffer,
    bytes: usize,
) -> Result<OffsetBuffer<O>> {
    fn convert<F: OffsetSizeTrait, O: OffsetSizeTrait>(
        offsets: Buffer,
        bytes: usize,
    ) -> Result<ScalarBuffer<O>> {
        if size_of::<F>() == size_of::<O>() {
            return scalars(offsets);
        }
        let offsets = scalars::<F>(offsets)?;
        let offsets = offsets
            .iter()
            .map(|offset| O::from_usize(offset.to_usize()?));
        let narrow = || {
            Error::limit(format!(
                "{bytes} bytes of strings need 64-bit offsets: ask for the large type"
            ))
        };
        offsets
            .collect::<Option<Vec<O>>>()
            .map(ScalarBuffer::from)
            .ok_or_else(narrow)
    }
    if offsets.is_empty() {
        return Ok(OffsetBuffer::new_empty());
    }
    let offsets = if large {
        convert::<i64, O>(offsets, bytes)?
    } else {
        convert::<i32, O>(offsets, bytes)?
    };
    rising_offsets(offsets, bytes).map_err(|_| {
        Error::corrupt(format!(
            "offsets of strings must not decrease, nor leave the {bytes} bytes of contents"
        ))
    })
}

fn strings<O: OffsetSizeTrait>(values: DecodedValues) -> Result<(OffsetBuffer<O>, Buffer)> {
    match values {
        DecodedValues::Bytes {
            large,
            offsets: ends,
            data,
        } => Ok((offsets(large, ends, data.len())?, data)),
        other => Err(Error::corrupt(format!(
            "Bytes expected, found {}",
            name(&other)
        ))),
    }
}

/// Text, checked all at once; Arrow's constructor names the string that is no text.
fn text<O: OffsetSizeTrait>(
    values: DecodedValues,
    nulls: Option<NullBuffer>,
) -> Result<GenericStringArray<O>> {
    let (offsets, data) = strings::<O>(values)?;
    match text_array(&offsets, &data, nulls.as_ref()) {
        Some(array) => Ok(array),
        None => GenericStringArray::try_new(offsets, data, nulls).map_err(refused),
    }
}

fn bytes<T: ByteArrayType>(
    values: DecodedValues,
    nulls: Option<NullBuffer>,
) -> Result<GenericByteArray<T>> {
    let (offsets, data) = strings(values)?;
    GenericByteArray::<T>::try_new(offsets, data, nulls).map_err(refused)
}

/// `rows * width` zeros, which take memory only where they are written.
fn zeros(rows: usize, width: usize) -> Result<MutableBuffer> {
    let refused = || Error::limit(format!("no memory for {rows} values of {width} bytes"));
    let bytes = rows.checked_mul(width).filter(|all| *all <= MOST_ITEMS);
    let bytes = bytes.ok_or_else(refused)?;
    // Arrow's buffers abort where there is no memory: asked for before.
    let mut probe = Vec::<u8>::new();
    probe.try_reserve_exact(bytes).map_err(|_| refused())?;
    drop(probe);
    Ok(MutableBuffer::from_len_zeroed(bytes))
}

fn fixed_binary(size: i32, values: DecodedValues, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let rows = values.len();
    let strings = bytes::<LargeBinaryType>(values, None)?;
    let width = size.to_usize();
    let width = width.ok_or_else(|| Error::internal(format!("values of {size} bytes")))?;
    let regular = strings.offsets().lengths().all(|length| length == width);
    let data = if regular {
        let first = strings
            .offsets()
            .first()
            .map_or(0, |first| first.as_usize());
        strings.values().slice_with_length(first, rows * width)
    } else {
        // Values under a NULL may have any length.
        let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let mut wrong = (0..rows).map(|row| (row, strings.value(row).len()));
        if let Some((row, found)) = wrong.find(|(row, len)| *len != width && !is_null(*row)) {
            return Err(Error::corrupt(format!(
                "row {row}: {width} bytes expected, found {found}"
            )));
        }
        let mut data = zeros(rows, width)?;
        for (row, value) in data.chunks_exact_mut(width.max(1)).enumerate() {
            if !is_null(row) {
                value.copy_from_slice(strings.value(row));
            }
        }
        data.into()
    };
    Ok(Arc::new(
        FixedSizeBinaryArray::try_new_with_len(size, data, nulls, rows).map_err(refused)?,
    ))
}
