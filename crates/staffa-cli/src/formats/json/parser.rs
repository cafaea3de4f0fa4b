//! Bytes of JSON lines to batches of a schema.
//!
//! Arrow's decoder truncates `3.7` to 3 for an integer column without an error, and rounds an integer
//! of more than 53 bits in a column of doubles. So numbers are decoded as text and cast, which refuses
//! both.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_json::reader::{Decoder, ReaderBuilder};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};

use super::values::typed;
use super::wide::inexact;
use crate::error::{Failure, Result};
use crate::formats::table::BATCH_ROWS;

/// A decoder of one schema. Its errors do not name the row.
pub(super) struct Parser {
    pub(super) decoder: Decoder,
    pub(super) schema: SchemaRef,
}

impl Parser {
    pub(super) fn new(schema: SchemaRef) -> Result<Self> {
        let fields: Fields = schema.fields().iter().map(as_text).collect();
        let decoder = ReaderBuilder::new(Arc::new(Schema::new(fields)))
            .with_batch_size(BATCH_ROWS)
            .with_coerce_primitive(true)
            // Without it, columns that the first rows lack would be dropped.
            .with_strict_mode(true)
            .build_decoder()
            .map_err(|error| Failure::arrow("JSON lines", &error))?;
        Ok(Self { decoder, schema })
    }

    /// The rows decoded since the last flush.
    pub(super) fn flush(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(batch) = self.decoder.flush()? else {
            return Ok(None);
        };
        let columns = batch
            .columns()
            .iter()
            .zip(self.schema.fields())
            .map(|(column, field)| {
                let refuse = |what: String| {
                    ArrowError::JsonError(format!(
                        "whilst decoding field '{}': {what}",
                        field.name()
                    ))
                };
                if let Some(integer) = inexact(column.as_ref(), field.data_type()) {
                    return Err(refuse(format!("a double does not hold {integer}")));
                }
                typed(column, field.data_type()).map_err(|error| refuse(error.to_string()))
            });
        let columns = columns.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
        let rows = StructArray::try_new_with_length(
            self.schema.fields().clone(),
            columns,
            None,
            batch.num_rows(),
        )?;
        RecordBatch::from(rows)
            .with_schema(self.schema.clone())
            .map(Some)
    }
}

/// The type with every number and time replaced by text.
fn as_text(field: &Arc<Field>) -> Arc<Field> {
    let data_type = match field.data_type() {
        DataType::Int64 | DataType::Float64 | DataType::Date32 | DataType::Timestamp(..) => {
            DataType::Utf8
        }
        DataType::List(item) => DataType::List(as_text(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(as_text).collect()),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}
