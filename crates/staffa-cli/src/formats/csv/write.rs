//! CSV output.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_csv::{Writer, WriterBuilder};
use arrow_schema::{ArrowError, DataType, Schema};

use super::dialect::CsvDialect;
use crate::error::{Failure, Result};
use crate::files::output::Output;
use crate::formats::sink::{self, BatchWriter};
use crate::formats::table::Sink;

/// Starts CSV. Nested columns are refused.
pub(crate) fn create(
    output: Output,
    schema: &Schema,
    dialect: &CsvDialect,
) -> Result<Box<dyn Sink>> {
    let nested = schema
        .fields()
        .iter()
        .find(|field| is_nested(field.data_type()));
    if let Some(field) = nested {
        return Err(Failure::unsupported(format!(
            "{}: CSV cannot hold column {:?} of type {}; leave it out with --columns, or write JSON lines",
            output.name(),
            field.name(),
            field.data_type()
        )));
    }
    // Without an option NULL is an empty field.
    let null = dialect.nulls.first().cloned().unwrap_or_default();
    sink::create(output, |output| {
        Ok(CsvWriter {
            writer: WriterBuilder::new()
                .with_header(dialect.header)
                .with_delimiter(dialect.delimiter)
                .with_null(null)
                .build(output),
            header: dialect.header.then(|| schema.clone()),
        })
    })
}

fn is_nested(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_nested(values),
        DataType::RunEndEncoded(_, values) => is_nested(values.data_type()),
        other => other.is_nested(),
    }
}

struct CsvWriter {
    writer: Writer<Output>,
    /// The schema of the header line, until it is written.
    header: Option<Schema>,
}

impl BatchWriter for CsvWriter {
    type Error = ArrowError;

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.header = None;
        self.writer.write(batch)
    }

    fn into_output(mut self) -> Result<Output, ArrowError> {
        // Arrow writes the header line with the first batch, and an empty table has none.
        if let Some(schema) = self.header.take() {
            self.write_batch(&RecordBatch::new_empty(Arc::new(schema)))?;
        }
        Ok(self.writer.into_inner())
    }

    fn failure(name: &str, error: &ArrowError) -> Failure {
        Failure::arrow(name, error)
    }
}
