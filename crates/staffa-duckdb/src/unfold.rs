//! Arrow types and arrays in those that DuckDB imports: dictionaries and run-ends are unfolded at all
//! levels.
//!
//! DuckDB's importer of Arrow knows dictionaries and run-ends, but not inside lists, structs and maps, where
//! it reads past their memory.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, ArrayRef, RecordBatch, RunArray, UInt64Array, make_array};
use arrow_buffer::ArrowNativeType;
use arrow_cast::cast;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DECIMAL64_MAX_PRECISION, DataType, Field, FieldRef, SchemaRef};
use arrow_select::take::take;
use staffa_lake::table::widened;

/// The field of a column for DuckDB: unfolded, and strings as views.
pub(crate) fn field(field: &Field) -> Field {
    let ty = match unfolded(field.data_type()) {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        ty => ty,
    };
    // The columns of other files may be nullable.
    Field::new(field.name(), ty, true).with_metadata(field.metadata().clone())
}

/// The field with 64 bits for decimals of up to 18 digits, as [`Scan::short_decimals`](staffa::Scan::short_decimals)
/// reads them.
pub(crate) fn short(field: Field) -> Field {
    match *field.data_type() {
        DataType::Decimal128(digits, scale) if digits <= DECIMAL64_MAX_PRECISION => {
            field.with_data_type(DataType::Decimal64(digits, scale))
        }
        _ => field,
    }
}

/// The type without dictionaries, run-ends and half floats.
fn unfolded(ty: &DataType) -> DataType {
    let child = |field: &FieldRef| {
        let ty = unfolded(field.data_type());
        if ty == *field.data_type() {
            return field.clone();
        }
        Arc::new(field.as_ref().clone().with_data_type(ty))
    };
    match ty {
        DataType::Dictionary(_, values) => unfolded(values),
        DataType::RunEndEncoded(_, values) => unfolded(values.data_type()),
        DataType::Float16 => DataType::Float32,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(child).collect()),
        DataType::List(item) => DataType::List(child(item)),
        DataType::LargeList(item) => DataType::LargeList(child(item)),
        DataType::ListView(item) => DataType::ListView(child(item)),
        DataType::LargeListView(item) => DataType::LargeListView(child(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(child(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(child(entries), *sorted),
        other => other.clone(),
    }
}

/// The batch in the types of a schema that [`field`] and [`short`] made.
pub(crate) fn batch(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let fits = |(array, field): (&ArrayRef, &FieldRef)| array.data_type() == field.data_type();
    if columns.clone().all(fits) {
        return Ok(batch);
    }
    let arrays = columns.map(|(array, field)| column(array, field.data_type()));
    RecordBatch::try_new(schema.clone(), arrays.collect::<Result<_, _>>()?)
}

/// The values of a column in a type that [`field`] and [`short`] made, or in one that holds more. A value that does not
/// fit is an error.
pub(crate) fn column(array: &ArrayRef, ty: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == ty {
        return Ok(array.clone());
    }
    let own = field(&Field::new("", array.data_type().clone(), true));
    widened(&unfold(array, own.data_type())?, ty)
}

/// The same values in a type that [`unfolded`] made of the array's.
fn unfold(array: &ArrayRef, ty: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == ty {
        return Ok(array.clone());
    }
    match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            take(&unfold(dictionary.values(), ty)?, dictionary.keys(), None)
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => unfold_runs::<Int16Type>(array, ty),
            DataType::Int32 => unfold_runs::<Int32Type>(array, ty),
            _ => unfold_runs::<Int64Type>(array, ty),
        },
        found if found.is_nested() => unfold_children(&array.to_data(), ty),
        _ => cast(array, ty),
    }
}

fn unfold_runs<R: RunEndIndexType>(
    array: &ArrayRef,
    ty: &DataType,
) -> Result<ArrayRef, ArrowError> {
    let Some(runs) = array.as_any().downcast_ref::<RunArray<R>>() else {
        return cast(array, ty);
    };
    let first = runs.get_start_physical_index() as u64;
    let mut rows: Vec<u64> = Vec::with_capacity(runs.len());
    for (run, end) in (first..).zip(runs.run_ends().sliced_values()) {
        rows.resize(end.as_usize(), run);
    }
    take(&unfold(runs.values(), ty)?, &UInt64Array::from(rows), None)
}

/// A list, struct or map with its children unfolded.
fn unfold_children(data: &ArrayData, ty: &DataType) -> Result<ArrayRef, ArrowError> {
    let children = data.child_data().iter().zip(child_types(ty));
    let children = children.map(|(child, ty)| {
        let child = make_array(child.clone());
        Ok(unfold(&child, ty)?.to_data())
    });
    let children = children.collect::<Result<_, ArrowError>>()?;
    let builder = data.clone().into_builder().data_type(ty.clone());
    Ok(make_array(builder.child_data(children).build()?))
}

fn child_types(ty: &DataType) -> Vec<&DataType> {
    match ty {
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => vec![item.data_type()],
        _ => Vec::new(),
    }
}
