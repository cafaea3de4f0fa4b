//! Concatenation: several batches to the one batch of a row group.
//!
//! Plain arrays go through `arrow_select::concat`. Nested arrays are concatenated here, since Arrow
//! panics where keys, run ends or offsets outgrow their type, keeps a copy of each equal dictionary,
//! and keeps all items that a list view was sliced from. Arrays that cannot be one are `None`, and
//! the writer begins a row group instead.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, NullArray, OffsetSizeTrait, PrimitiveArray, RecordBatch,
    RecordBatchOptions, downcast_integer,
};
use arrow_buffer::{ArrowNativeType, BooleanBufferBuilder, Buffer, NullBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef};

use super::build;
use super::build::Mask;
use crate::error::{Error, Result};

/// The rows of all batches, in order, as one batch of `schema`; `None` where they cannot be one:
/// the values of dictionaries together outgrow the key type, or differ in an ordered dictionary;
/// rows outgrow the type of run ends, or contents the offsets.
pub(crate) fn concat(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Option<RecordBatch>> {
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (i, field) in schema.fields().iter().enumerate() {
        let arrays: Vec<ArrayRef> = batches
            .iter()
            .filter_map(|batch| batch.columns().get(i).cloned())
            .collect();
        if arrays.len() != batches.len() {
            return Err(Error::invalid(format!(
                "a batch has no column {i}, which is {:?}",
                field.name()
            )));
        }
        if let Some(other) = arrays
            .iter()
            .find(|array| array.data_type() != field.data_type())
        {
            let (name, expected, found) = (field.name(), field.data_type(), other.data_type());
            return Err(Error::invalid(format!(
                "column {name:?} is {expected}, found a batch where it is {found}"
            )));
        }
        let joined = match arrays.as_slice() {
            [] => Some(arrow_array::new_empty_array(field.data_type())),
            [array] => Some(array.clone()),
            arrays => join(field, arrays, &Mask::default())
                .map_err(|e| e.at(|p| p.column = Some(field.name().clone())))?,
        };
        let Some(joined) = joined else {
            return Ok(None);
        };
        columns.push(joined);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(Some(RecordBatch::try_new_with_options(
        schema.clone(),
        columns,
        &options,
    )?))
}

fn join(field: &Field, arrays: &[ArrayRef], above: &Mask<'_>) -> Result<Option<ArrayRef>> {
    let ordered = field.dict_is_ordered().unwrap_or(false);
    join_type(field.data_type(), ordered, arrays, above)
}

fn join_type(
    ty: &DataType,
    ordered: bool,
    arrays: &[ArrayRef],
    above: &Mask<'_>,
) -> Result<Option<ArrayRef>> {
    let rows = arrays.iter().map(Array::len).sum();
    let nulls = join_nulls(arrays, rows);
    match ty {
        DataType::Null => Ok(Some(Arc::new(NullArray::new(rows)))),
        DataType::FixedSizeBinary(0) => Ok(Some(Arc::new(FixedSizeBinaryArray::try_new_with_len(
            0,
            Buffer::default(),
            nulls,
            rows,
        )?))),
        DataType::Utf8 | DataType::Binary => {
            let bytes = cast_all(arrays, |array| {
                Some(match ty {
                    DataType::Utf8 => content_bytes(array.as_string_opt::<i32>()?.offsets()),
                    _ => content_bytes(array.as_binary_opt::<i32>()?.offsets()),
                })
            })?;
            if bytes.iter().sum::<usize>() > i32::MAX as usize {
                Ok(None)
            } else {
                plain(arrays)
            }
        }
        DataType::List(item) | DataType::ListView(item) | DataType::Map(item, _) => {
            join_lists::<i32>(ty, item, arrays, nulls)
        }
        DataType::LargeList(item) | DataType::LargeListView(item) => {
            join_lists::<i64>(ty, item, arrays, nulls)
        }
        DataType::FixedSizeList(item, size) => {
            join_fixed_lists(item, *size as usize, arrays, nulls.as_ref(), above)
        }
        DataType::Struct(fields) => join_structs(fields, arrays, nulls.as_ref(), above),
        DataType::Dictionary(key, _) => {
            macro_rules! of {
                ($key:ty) => {
                    super::dictionaries::join::<$key>(ordered, arrays, nulls)
                };
            }
            downcast_integer! {
                key.as_ref() => (of),
                _ => Err(Error::invalid(format!("{ty} has no integer keys")))
            }
        }
        DataType::RunEndEncoded(ends, values) => match ends.data_type() {
            DataType::Int16 => join_runs::<Int16Type>(ty, values, arrays, above),
            DataType::Int32 => join_runs::<Int32Type>(ty, values, arrays, above),
            DataType::Int64 => join_runs::<Int64Type>(ty, values, arrays, above),
            _ => Err(Error::invalid(format!("{ty} has no integer ends"))),
        },
        _ => plain(arrays),
    }
}

fn join_fixed_lists(
    item: &FieldRef,
    size: usize,
    arrays: &[ArrayRef],
    nulls: Option<&NullBuffer>,
    above: &Mask<'_>,
) -> Result<Option<ArrayRef>> {
    let rows = arrays.iter().map(Array::len).sum();
    let items = cast_all(arrays, |array| {
        Some(array.as_fixed_size_list_opt()?.values().clone())
    })?;
    let Some(items) = join(item, &items, &Mask::below(above, nulls, size))? else {
        return Ok(None);
    };
    build::fixed_lists(item, size, items, nulls.cloned(), rows, above).map(Some)
}

fn join_structs(
    fields: &Fields,
    arrays: &[ArrayRef],
    nulls: Option<&NullBuffer>,
    above: &Mask<'_>,
) -> Result<Option<ArrayRef>> {
    let rows = arrays.iter().map(Array::len).sum();
    let below = Mask::below(above, nulls, 1);
    let structs = cast_all(arrays, |array| array.as_struct_opt())?;
    let mut children = Vec::with_capacity(fields.len());
    for (i, field) in fields.iter().enumerate() {
        let parts: Vec<ArrayRef> = structs
            .iter()
            .map(|array| array.column(i).clone())
            .collect();
        let Some(child) = join(field, &parts, &below)? else {
            return Ok(None);
        };
        children.push(child);
    }
    build::structs(fields, children, nulls.cloned(), rows, above).map(Some)
}

pub(super) fn plain(arrays: &[ArrayRef]) -> Result<Option<ArrayRef>> {
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    Ok(Some(arrow_select::concat::concat(&arrays)?))
}

fn join_nulls(arrays: &[ArrayRef], rows: usize) -> Option<NullBuffer> {
    if arrays.iter().all(|array| array.null_count() == 0) {
        return None;
    }
    let mut bits = BooleanBufferBuilder::new(rows);
    for array in arrays {
        match array.nulls() {
            Some(nulls) => bits.append_buffer(nulls.inner()),
            None => bits.append_n(array.len(), true),
        }
    }
    Some(NullBuffer::new(bits.finish()))
}

/// The arrays as `cast` gives them; the caller has checked that all are of one type.
pub(super) fn cast_all<'a, T>(
    arrays: &'a [ArrayRef],
    cast: impl Fn(&'a ArrayRef) -> Option<T>,
) -> Result<Vec<T>> {
    let all = arrays.iter().map(cast).collect::<Option<Vec<T>>>();
    all.ok_or_else(|| Error::internal("arrays of different types are concatenated"))
}

/// Bytes of strings between the first and the last offset.
fn content_bytes(offsets: &[i32]) -> usize {
    match offsets {
        [first, .., last] => (last - first).as_usize(),
        _ => 0,
    }
}

/// Lists of one array, each with its place among `items`.
struct Lists {
    items: ArrayRef,
    starts: Vec<usize>,
    lengths: Vec<usize>,
}

fn lists<O: OffsetSizeTrait>(array: &ArrayRef) -> Option<Lists> {
    if let Some(views) = array.as_list_view_opt::<O>() {
        let pairs = views.offsets().iter().zip(views.sizes()).enumerate();
        let pairs: Vec<(usize, usize)> = pairs
            .map(|(i, (start, size))| {
                if views.is_valid(i) {
                    (start.as_usize(), size.as_usize())
                } else {
                    (0, 0)
                }
            })
            .collect();
        // Views that were sliced or filtered still have all items.
        let filled = || pairs.iter().filter(|(_, length)| *length > 0);
        let first = filled().map(|(start, _)| *start).min().unwrap_or(0);
        let end = filled()
            .map(|(start, length)| start + length)
            .max()
            .unwrap_or(first);
        return Some(Lists {
            items: views.values().slice(first, end - first),
            starts: pairs
                .iter()
                .map(|(start, length)| if *length > 0 { start - first } else { 0 })
                .collect(),
            lengths: pairs.iter().map(|(_, length)| *length).collect(),
        });
    }
    let all = |offsets: &[O]| offsets.iter().map(|o| o.as_usize()).collect::<Vec<_>>();
    let (offsets, items): (_, ArrayRef) = if let Some(list) = array.as_list_opt::<O>() {
        (all(list.offsets()), list.values().clone())
    } else {
        let map = array.as_map_opt()?;
        let offsets = map.offsets().iter().map(|o| o.as_usize()).collect();
        (offsets, Arc::new(map.entries().clone()))
    };
    let (first, last) = (*offsets.first()?, *offsets.last()?);
    Some(Lists {
        items: items.slice(first, last - first),
        starts: Vec::new(),
        lengths: offsets.windows(2).map(|w| w[1] - w[0]).collect(),
    })
}

fn join_lists<O: OffsetSizeTrait>(
    ty: &DataType,
    item: &Field,
    arrays: &[ArrayRef],
    nulls: Option<NullBuffer>,
) -> Result<Option<ArrayRef>> {
    let parts = cast_all(arrays, lists::<O>)?;
    let total: usize = parts.iter().map(|part| part.items.len()).sum();
    if O::from_usize(total).is_none() {
        return Ok(None);
    }
    let items: Vec<ArrayRef> = parts.iter().map(|part| part.items.clone()).collect();
    let Some(items) = join(item, &items, &Mask::default())? else {
        return Ok(None);
    };
    let lengths: Vec<usize> = parts
        .iter()
        .flat_map(|part| part.lengths.iter().copied())
        .collect();
    if matches!(ty, DataType::ListView(_) | DataType::LargeListView(_)) {
        let mut starts = Vec::with_capacity(lengths.len());
        let mut before = 0;
        for part in &parts {
            starts.extend(part.starts.iter().map(|start| before + start));
            before += part.items.len();
        }
        return build::list_views::<O>(ty, &starts, &lengths, items, nulls).map(Some);
    }
    build::list(
        ty,
        lengths.iter().map(|length| *length as u64),
        items,
        nulls,
    )
    .map(Some)
}

fn join_runs<R: RunEndIndexType>(
    ty: &DataType,
    values: &Field,
    arrays: &[ArrayRef],
    above: &Mask<'_>,
) -> Result<Option<ArrayRef>> {
    let (mut ends, mut parts, mut before) = (Vec::new(), Vec::new(), 0);
    let runs = cast_all(arrays, |array| array.as_run_opt::<R>())?;
    for array in runs.into_iter().filter(|array| !array.is_empty()) {
        for end in array.run_ends().sliced_values() {
            match R::Native::from_usize(before + end.as_usize()) {
                Some(end) => ends.push(end),
                None => return Ok(None),
            }
        }
        before += array.len();
        parts.push(array.values_slice());
    }
    let joined = match parts.as_slice() {
        [] => arrays.first().map(|array| array.slice(0, 0)),
        parts => {
            let Some(values) = join(values, parts, &Mask::default())? else {
                return Ok(None);
            };
            let ends = PrimitiveArray::<R>::try_new(ends.into(), None)?;
            Some(build::runs(ty, &ends, &values, above)?)
        }
    };
    Ok(joined)
}

/// Joins the values of dictionaries, which have a type but no field.
pub(super) fn join_values(arrays: &[ArrayRef]) -> Result<Option<ArrayRef>> {
    match arrays {
        [] => Ok(None),
        [first, ..] => join_type(first.data_type(), false, arrays, &Mask::default()),
    }
}

#[cfg(test)]
mod tests;
