//! Arrow types that Parquet does not have, and those that it stores as others: seconds as milliseconds,
//! a zone as UTC. The schema that the writer declares beside Parquet's own says what they were.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_ipc::convert::try_schema_from_ipc_buffer;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::file::metadata::FileMetaData;

use crate::error::{Failure, Result};
use crate::terminal::note;

/// The type with each type below it replaced by `change`.
fn changed(data_type: &DataType, change: fn(&DataType) -> DataType) -> DataType {
    let child = |field: &FieldRef| -> FieldRef {
        Arc::new(Field::clone(field).with_data_type(changed(field.data_type(), change)))
    };
    match data_type {
        DataType::List(item) => DataType::List(child(item)),
        DataType::LargeList(item) => DataType::LargeList(child(item)),
        DataType::ListView(item) => DataType::ListView(child(item)),
        DataType::LargeListView(item) => DataType::LargeListView(child(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(child(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(child(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(child).collect()),
        other => change(other),
    }
}

fn with_types(schema: &Schema, change: fn(&DataType) -> DataType) -> Schema {
    let field =
        |field: &FieldRef| Field::clone(field).with_data_type(changed(field.data_type(), change));
    let fields = schema.fields().iter().map(field);
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

/// The columns as Parquet has them.
pub(super) fn stored(schema: &Schema) -> Schema {
    with_types(schema, |data_type| match data_type {
        DataType::Timestamp(TimeUnit::Second, zone) => {
            DataType::Timestamp(TimeUnit::Millisecond, zone.clone())
        }
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Date64 => DataType::Timestamp(TimeUnit::Millisecond, None),
        other if is_null_dictionary(other) => DataType::Null,
        other => other.clone(),
    })
}

/// The columns without what no reader of Parquet restores: run-ends, and dictionaries of nulls.
pub(super) fn restorable(schema: &Schema) -> Schema {
    with_types(schema, |data_type| match data_type {
        DataType::RunEndEncoded(_, values) => values.data_type().clone(),
        other if is_null_dictionary(other) => DataType::Null,
        other => other.clone(),
    })
}

fn is_null_dictionary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Dictionary(_, values) if values.is_null())
}

/// Refuses columns that Parquet cannot hold.
pub(super) fn check(schema: &Schema, name: &str) -> Result<()> {
    for field in schema.fields() {
        let (column, data_type) = (field.name(), field.data_type());
        if holds(data_type, &|leaf| {
            matches!(leaf, DataType::Interval(_) | DataType::Union(..)) || has_negative_scale(leaf)
        }) || is_of_no_width(data_type)
        {
            return Err(Failure::unsupported(format!(
                "{name}: Parquet cannot hold column {column:?} of type {data_type}; leave it out with --columns"
            )));
        }
    }
    Ok(())
}

/// Says which columns come back in another layout.
pub(in crate::formats) fn note_losses(schema: &Schema) {
    for field in schema.fields() {
        let (column, data_type) = (field.name(), field.data_type());
        if holds(data_type, &|leaf| {
            matches!(leaf, DataType::RunEndEncoded(..)) || is_null_dictionary(leaf)
        }) {
            note(&format!(
                "column {column:?}: Parquet does not keep {data_type}, the values are written plainly"
            ));
        }
    }
}

fn holds(data_type: &DataType, test: &dyn Fn(&DataType) -> bool) -> bool {
    let child = |field: &FieldRef| holds(field.data_type(), test);
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => child(item),
        DataType::Struct(fields) => fields.iter().any(child),
        other => test(other),
    }
}

/// Whether values of a type, or of one within it, have no bytes.
pub(crate) fn is_of_no_width(data_type: &DataType) -> bool {
    holds(data_type, &|leaf| match leaf {
        DataType::Dictionary(_, values) => is_of_no_width(values),
        DataType::RunEndEncoded(_, values) => is_of_no_width(values.data_type()),
        other => matches!(other, DataType::FixedSizeBinary(0)),
    })
}

fn has_negative_scale(data_type: &DataType) -> bool {
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => *scale < 0,
        _ => false,
    }
}

pub(super) fn to_stored(
    batch: &RecordBatch,
    stored: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(stored.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()));
    rebuilt(batch, columns.collect::<Result<_, _>>()?, stored.clone())
}

/// The schema with the types that the writer declared, where they hold the values as well.
pub(super) fn declared(read: &SchemaRef, metadata: &FileMetaData) -> SchemaRef {
    let entries = metadata.key_value_metadata().into_iter().flatten();
    let entry = entries
        .into_iter()
        .find(|entry| entry.key == ARROW_SCHEMA_META_KEY);
    let bytes = entry.and_then(|entry| BASE64_STANDARD.decode(entry.value.as_ref()?).ok());
    let Some(declared) = bytes.and_then(|bytes| try_schema_from_ipc_buffer(&bytes).ok()) else {
        return read.clone();
    };
    let field = |field: &FieldRef| match declared.field_with_name(field.name()) {
        Ok(declared) => {
            let data_type = restored(field.data_type(), declared.data_type());
            Field::clone(field).with_data_type(data_type)
        }
        Err(_) => Field::clone(field),
    };
    let fields = read.fields().iter().map(field);
    Arc::new(Schema::new_with_metadata(
        fields.collect::<Vec<_>>(),
        read.metadata().clone(),
    ))
}

/// The declared type, if Parquet stores it as the one that was read; else that.
fn restored(read: &DataType, declared: &DataType) -> DataType {
    let child = |read: &FieldRef, declared: &FieldRef| -> FieldRef {
        let data_type = restored(read.data_type(), declared.data_type());
        Arc::new(Field::clone(read).with_data_type(data_type))
    };
    match (read, declared) {
        (DataType::List(read), DataType::List(item)) => DataType::List(child(read, item)),
        (DataType::LargeList(read), DataType::LargeList(item)) => {
            DataType::LargeList(child(read, item))
        }
        (DataType::ListView(read), DataType::ListView(item)) => {
            DataType::ListView(child(read, item))
        }
        (DataType::LargeListView(read), DataType::LargeListView(item)) => {
            DataType::LargeListView(child(read, item))
        }
        (DataType::FixedSizeList(read, size), DataType::FixedSizeList(item, _)) => {
            DataType::FixedSizeList(child(read, item), *size)
        }
        (DataType::Map(read, sorted), DataType::Map(entries, _)) => {
            DataType::Map(child(read, entries), *sorted)
        }
        (DataType::Struct(read), DataType::Struct(fields)) => {
            let of = |field: &FieldRef| match fields.find(field.name()) {
                Some((_, declared)) => child(field, declared),
                None => field.clone(),
            };
            DataType::Struct(read.iter().map(of).collect())
        }
        (DataType::Timestamp(_, read_zone), DataType::Timestamp(_, zone))
            if read_zone.is_some() == zone.is_some() =>
        {
            declared.clone()
        }
        (DataType::Timestamp(_, None), DataType::Date64)
        | (DataType::Time32(_), DataType::Time32(_)) => declared.clone(),
        _ => read.clone(),
    }
}

pub(super) fn to_declared(batch: &RecordBatch, schema: &Schema) -> Result<RecordBatch, ArrowError> {
    let read = batch.schema();
    let mut fields = Vec::with_capacity(batch.num_columns());
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (field, column) in read.fields().iter().zip(batch.columns()) {
        let declared = schema.field_with_name(field.name())?.data_type();
        columns.push(cast(column, declared)?);
        fields.push(Field::clone(field).with_data_type(declared.clone()));
    }
    let schema = Schema::new_with_metadata(fields, read.metadata().clone());
    rebuilt(batch, columns, Arc::new(schema))
}

fn rebuilt(
    batch: &RecordBatch,
    columns: Vec<ArrayRef>,
    schema: SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &rows)
}

/// The column in another type; an error if that does not hold all its values.
fn cast(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == data_type {
        return Ok(column.clone());
    }
    if data_type.is_null() {
        return Ok(arrow_array::new_null_array(data_type, column.len()));
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(column, data_type, &options)
}
