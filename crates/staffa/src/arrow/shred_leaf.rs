//! Shredding an array without children to the values of a leaf.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryType, BinaryViewType, ByteArrayType, ByteViewType, LargeBinaryType, LargeUtf8Type,
    StringViewType, Utf8Type,
};
use arrow_array::{
    Array, FixedSizeBinaryArray, GenericByteArray, GenericByteViewArray, OffsetSizeTrait as _,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, i256};
use arrow_schema::DataType;

use super::build::scalars;
use super::shred_level::Level;
use crate::error::{Error, Result};
use crate::values::{Bitmap, LeafValues, PhysicalType};

/// The values to take of an array without children; `physical` is the type of its words.
pub(super) fn values(
    array: &dyn Array,
    ty: &DataType,
    physical: Option<PhysicalType>,
    level: &Level<'_>,
) -> Result<LeafValues> {
    check_rows(level.picks, array.len())?;
    macro_rules! bytes {
        ($array:expr) => {
            $array.map(|array| bytes(array, level))
        };
    }
    let found = match ty {
        DataType::Boolean => array
            .as_boolean_opt()
            .map(|array| Ok(LeafValues::Bits(bits(array.values(), level.picks)))),
        DataType::Utf8 => bytes!(array.as_bytes_opt::<Utf8Type>()),
        DataType::LargeUtf8 => bytes!(array.as_bytes_opt::<LargeUtf8Type>()),
        DataType::Binary => bytes!(array.as_bytes_opt::<BinaryType>()),
        DataType::LargeBinary => bytes!(array.as_bytes_opt::<LargeBinaryType>()),
        DataType::Utf8View => array
            .as_byte_view_opt::<StringViewType>()
            .map(|array| views(array, level)),
        DataType::BinaryView => array
            .as_byte_view_opt::<BinaryViewType>()
            .map(|array| views(array, level)),
        DataType::FixedSizeBinary(_) => array
            .as_fixed_size_binary_opt()
            .map(|array| fixed(array, level)),
        _ => physical
            .and_then(|ty| Some((ty, ty.width_bytes()?)))
            .map(|(ty, width)| {
                let data = array.to_data();
                let Some(buffer) = data.buffers().first() else {
                    return Err(Error::invalid("an array without values"));
                };
                let data = buffer.slice_with_length(data.offset() * width, array.len() * width);
                Ok(LeafValues::Words(ty, words(&data, width, level.picks)?))
            }),
    };
    found.unwrap_or_else(|| Err(Error::invalid(format!("{ty} is not what the schema says"))))
}

/// Checks once that an array of `len` rows has all rows to take.
fn check_rows(picks: Option<&[u32]>, len: usize) -> Result<()> {
    match picks.and_then(|picks| picks.iter().max()) {
        Some(&row) if row as usize >= len => Err(beyond(row, len)),
        _ => Ok(()),
    }
}

fn beyond(row: u32, len: usize) -> Error {
    Error::internal(format!("row {row} of {len} is taken"))
}

fn too_long() -> Error {
    Error::limit("more than 4 GiB of contents in one row group: make row groups smaller")
}

/// Words of `width` bytes: all, copied only if not aligned, or those to take.
pub(super) fn words(data: &Buffer, width: usize, picks: Option<&[u32]>) -> Result<Buffer> {
    match width {
        1 => take::<u8>(data, picks),
        2 => take::<u16>(data, picks),
        4 => take::<u32>(data, picks),
        8 => take::<u64>(data, picks),
        16 => take::<u128>(data, picks),
        32 => take::<i256>(data, picks),
        _ => Err(Error::invalid(format!("words of {width} bytes"))),
    }
}

fn take<T: ArrowNativeType>(data: &Buffer, picks: Option<&[u32]>) -> Result<Buffer> {
    let words = scalars::<T>(data.clone())?;
    let Some(picks) = picks else {
        return Ok(words.into_inner());
    };
    let mut taken = Vec::with_capacity(picks.len());
    for pick in picks {
        let word = words.get(*pick as usize);
        taken.push(*word.ok_or_else(|| beyond(*pick, words.len()))?);
    }
    Ok(Buffer::from_vec(taken))
}

fn bits(values: &BooleanBuffer, picks: Option<&[u32]>) -> Bitmap {
    match picks {
        None => Bitmap::from_bytes(values.values(), values.offset(), values.len()),
        Some(picks) => picks
            .iter()
            .map(|&pick| values.value(pick as usize))
            .collect(),
    }
}

fn bytes<T: ByteArrayType>(array: &GenericByteArray<T>, level: &Level<'_>) -> Result<LeafValues> {
    let at = array.offsets();
    let Some(picks) = level.picks else {
        let ends = at.first().zip(at.last());
        let ends = ends.ok_or_else(|| Error::internal("strings without offsets"))?;
        let (first, last) = (ends.0.as_usize(), ends.1.as_usize());
        u32::try_from(last - first).map_err(|_| too_long())?;
        let less = |offset: &T::Offset| (offset.as_usize() - first) as u32;
        // Offsets of 32 bits are positive.
        let offsets = if first == 0 && !T::Offset::IS_LARGE {
            scalars(at.inner().inner().clone())?
        } else {
            at.iter().map(less).collect()
        };
        return Ok(LeafValues::Bytes {
            offsets,
            data: array.values().slice_with_length(first, last - first),
        });
    };
    take_strings(picks.iter().map(|&i| array.value(i as usize).as_ref()))
}

fn fixed(array: &FixedSizeBinaryArray, level: &Level<'_>) -> Result<LeafValues> {
    let size = array.value_size();
    let Some(picks) = level.picks else {
        let ends = (0..=array.len()).map(|i| u32::try_from(i * size).map_err(|_| too_long()));
        return Ok(LeafValues::Bytes {
            offsets: ends.collect::<Result<Vec<u32>>>()?.into(),
            data: array.values().clone(),
        });
    };
    take_strings(picks.iter().map(|&i| array.value(i as usize)))
}

fn views<T: ByteViewType>(
    array: &GenericByteViewArray<T>,
    level: &Level<'_>,
) -> Result<LeafValues> {
    // Under a NULL a view may point anywhere.
    let string = |i: usize| -> &[u8] {
        if array.is_valid(i) {
            array.value(i).as_ref()
        } else {
            &[]
        }
    };
    match level.picks {
        None => take_strings((0..array.len()).map(string)),
        Some(picks) => take_strings(picks.iter().map(|&i| string(i as usize))),
    }
}

fn take_strings<'a>(strings: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<LeafValues> {
    let mut offsets = Vec::with_capacity(strings.len() + 1);
    offsets.push(0);
    let mut data = Vec::new();
    for string in strings {
        data.extend_from_slice(string);
        offsets.push(u32::try_from(data.len()).map_err(|_| too_long())?);
    }
    Ok(LeafValues::Bytes {
        offsets: offsets.into(),
        data: Buffer::from_vec(data),
    })
}
