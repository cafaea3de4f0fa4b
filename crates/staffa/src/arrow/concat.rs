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
    Array, ArrayRef, FixedSizeBinaryArray, NullArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, downcast_integer,
};
use arrow_buffer::{ArrowNativeType, BooleanBufferBuilder, Buffer, NullBuffer};
use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef};

use super::build;
use super::build::{Length, Mask};
use super::shred_list::Plan;
use super::take::take;
use crate::error::{Error, Result};
use crate::values::PhysicalType;

/// The rows of all batches, in order, as one batch of `schema`; `None` where they cannot be one:
/// the values of dictionaries together outgrow the key type, or differ in an ordered dictionary;
/// rows outgrow the type of run ends, or contents the offsets.
pub(crate) fn concat(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Option<RecordBatch>> {
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (i, field) in schema.fields().iter().enumerate() {
        let arrays = batches.iter().map(|batch| batch.columns().get(i).cloned());
        let arrays = arrays.collect::<Option<Vec<ArrayRef>>>();
        match join_column(field, &arrays.ok_or_else(|| no_column(i, field))?)? {
            Some(joined) => columns.push(joined),
            None => return Ok(None),
        }
    }
    batch_of(schema, columns, rows).map(Some)
}

/// A batch of these columns.
pub(crate) fn batch_of(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(schema.clone(), columns, &options);
    Ok(batch?)
}

/// A batch lacks a column of the schema.
pub(crate) fn no_column(i: usize, field: &Field) -> Error {
    let name = field.name();
    Error::invalid(format!("a batch has no column {i}, which is {name:?}"))
}

/// A column of all batches; `None` where it cannot be one array.
pub(crate) fn join_column(field: &Field, arrays: &[ArrayRef]) -> Result<Option<ArrayRef>> {
    let mut found = arrays.iter().map(Array::data_type);
    if let Some(found) = found.find(|found| *found != field.data_type()) {
        let (name, expected) = (field.name(), field.data_type());
        return Err(Error::invalid(format!(
            "column {name:?} is {expected}, found a batch where it is {found}"
        )));
    }
    match arrays {
        [] => Ok(Some(arrow_array::new_empty_array(field.data_type()))),
        [array] => Ok(Some(array.clone())),
        arrays => join(field, arrays, &Mask::default())
            .map_err(|e| e.at(|p| p.column = Some(field.name().clone()))),
    }
}

/// Whether [`join_column`] makes one array of these for sure; of others, only joining them tells.
pub(crate) fn surely_join(field: &Field, arrays: &[ArrayRef]) -> bool {
    // Whether the children, of at most so many values, surely join.
    let below = |field: &Field, most: usize, child: &dyn Fn(&ArrayRef) -> Option<ArrayRef>| {
        let children = arrays.iter().map(child).collect::<Option<Vec<ArrayRef>>>();
        children.is_some_and(|children| {
            let values: usize = children.iter().map(Array::len).sum();
            values <= most && surely_join(field, &children)
        })
    };
    match field.data_type() {
        ty @ (DataType::Utf8 | DataType::Binary) => {
            short_offsets_suffice(ty, arrays).unwrap_or(false)
        }
        DataType::Null
        | DataType::Boolean
        | DataType::FixedSizeBinary(_)
        | DataType::LargeUtf8
        | DataType::LargeBinary
        | DataType::Utf8View
        | DataType::BinaryView => true,
        DataType::List(item) => below(item, i32::MAX as usize, &|array| {
            Some(array.as_list_opt::<i32>()?.values().clone())
        }),
        DataType::LargeList(item) => below(item, usize::MAX, &|array| {
            Some(array.as_list_opt::<i64>()?.values().clone())
        }),
        DataType::FixedSizeList(item, _) => below(item, usize::MAX, &|array| {
            Some(array.as_fixed_size_list_opt()?.values().clone())
        }),
        DataType::Map(entries, _) => below(entries, i32::MAX as usize, &|array| {
            Some(Arc::new(array.as_map_opt()?.entries().clone()))
        }),
        DataType::Struct(fields) => fields.iter().enumerate().all(|(i, field)| {
            below(field, usize::MAX, &|array| {
                array.as_struct_opt()?.columns().get(i).cloned()
            })
        }),
        DataType::Dictionary(key, values) => {
            let values = Field::new("values", values.as_ref().clone(), true);
            let keys = key
                .primitive_width()
                .map_or(0, |bytes| 1 << (8 * bytes.min(4) - 1));
            field.dict_is_ordered() != Some(true)
                && below(&values, keys, &|array| {
                    Some(array.as_any_dictionary_opt()?.values().clone())
                })
        }
        ty => ty.is_primitive(),
    }
}

/// Whether the contents of all strings, which have offsets of 32 bits, fit into one array.
fn short_offsets_suffice(ty: &DataType, arrays: &[ArrayRef]) -> Result<bool> {
    let bytes = cast_all(arrays, |array| {
        Some(match ty {
            DataType::Utf8 => content_bytes(array.as_string_opt::<i32>()?.offsets()),
            _ => content_bytes(array.as_binary_opt::<i32>()?.offsets()),
        })
    })?;
    Ok(i32::try_from(bytes.iter().sum::<usize>()).is_ok())
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
        DataType::Utf8 | DataType::Binary if !short_offsets_suffice(ty, arrays)? => Ok(None),
        DataType::List(item) | DataType::ListView(item) | DataType::Map(item, _) => {
            join_lists::<u32>(ty, item, arrays, nulls)
        }
        DataType::LargeList(item) | DataType::LargeListView(item) => {
            join_lists::<u64>(ty, item, arrays, nulls)
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

fn plain(arrays: &[ArrayRef]) -> Result<Option<ArrayRef>> {
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
    all.ok_or_else(unlike)
}

fn unlike() -> Error {
    Error::internal("arrays of different types are concatenated")
}

/// Bytes of strings between the first and the last offset.
fn content_bytes(offsets: &[i32]) -> usize {
    match offsets {
        [first, .., last] => (last - first).as_usize(),
        _ => 0,
    }
}

/// Lists with lengths of type `L`; views become lists that lie one after another.
fn join_lists<L: Length>(
    ty: &DataType,
    item: &Field,
    arrays: &[ArrayRef],
    nulls: Option<NullBuffer>,
) -> Result<Option<ArrayRef>> {
    let (mut parts, mut lengths, mut total) = (Vec::new(), Vec::new(), 0);
    for array in arrays {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        let lists = Plan::of(array.as_ref(), None, nulls)?;
        let (items, plan) = lists.ok_or_else(unlike)?;
        total += plan.items;
        lengths.extend_from_slice(plan.lengths.words::<L>());
        parts.push(match &plan.picks {
            None => items.slice(plan.start, plan.items),
            Some(rows) => take(item, &items, rows)?,
        });
    }
    if L::TYPE == PhysicalType::U32 && i32::try_from(total).is_err() {
        return Ok(None);
    }
    let Some(items) = join(item, &parts, &Mask::default())? else {
        return Ok(None);
    };
    build::list(ty, build::offsets::<L>(ty, &lengths, None)?, items, nulls).map(Some)
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
    if parts.is_empty() {
        return Ok(arrays.first().map(|array| array.slice(0, 0)));
    }
    let Some(values) = join(values, &parts, &Mask::default())? else {
        return Ok(None);
    };
    let ends = PrimitiveArray::<R>::try_new(ends.into(), None)?;
    build::runs(ty, &ends, &values, above).map(Some)
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
