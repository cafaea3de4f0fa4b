//! CSV output. NULL is an empty field, or the first text of `--csv-null`; an empty text, and a text that
//! reads as NULL, stand in quotes.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, Schema};

use super::dialect::CsvDialect;
use crate::error::{Failure, Result};
use crate::files::output::Output;
use crate::formats::sink::{self, BatchWriter};
use crate::formats::table::Sink;
use crate::formats::text_values::{as_text_values, check_zones};

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
    check_zones(schema)?;
    sink::create(output, |output| {
        let mut writer = CsvWriter {
            output,
            line: Vec::new(),
            null: dialect.nulls.first().cloned().unwrap_or_default(),
            dialect: dialect.clone(),
        };
        if dialect.header {
            writer.header(schema)?;
        }
        Ok(writer)
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
    output: Output,
    line: Vec<u8>,
    null: String,
    dialect: CsvDialect,
}

impl CsvWriter {
    fn header(&mut self, schema: &Schema) -> Result<(), ArrowError> {
        for (at, field) in schema.fields().iter().enumerate() {
            self.separate(at);
            self.push(field.name());
        }
        self.end_line()
    }

    fn separate(&mut self, column: usize) {
        if column > 0 {
            self.line.push(self.dialect.delimiter);
        }
    }

    /// Appends a text, in quotes where it would be read as something else.
    fn push(&mut self, text: &str) {
        let CsvDialect {
            delimiter, quote, ..
        } = self.dialect;
        let special =
            |byte: u8| byte == delimiter || byte == quote || matches!(byte, b'\n' | b'\r');
        let comment = text.starts_with('#') && self.line.is_empty();
        if !comment && !self.dialect.is_null(text.as_bytes()) && !text.bytes().any(special) {
            self.line.extend_from_slice(text.as_bytes());
            return;
        }
        self.line.push(quote);
        for byte in text.bytes() {
            if byte == quote {
                self.line.push(quote);
            }
            self.line.push(byte);
        }
        self.line.push(quote);
    }

    fn end_line(&mut self) -> Result<(), ArrowError> {
        self.line.push(b'\n');
        self.output.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }
}

impl BatchWriter for CsvWriter {
    type Error = ArrowError;

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let columns = batch.columns().iter().map(as_text_values);
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = FormatOptions::new();
        let formatters = columns
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options))
            .collect::<Result<Vec<_>, _>>()?;
        let nulls: Vec<_> = columns
            .iter()
            .map(|column| column.logical_nulls())
            .collect();
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            for (at, (formatter, nulls)) in formatters.iter().zip(&nulls).enumerate() {
                self.separate(at);
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    self.line.extend_from_slice(self.null.as_bytes());
                    continue;
                }
                text.clear();
                let value = formatter.value(row);
                value
                    .write(&mut text)
                    .map_err(|_| out_of_range(batch, at))?;
                self.push(&text);
            }
            self.end_line()?;
        }
        Ok(())
    }

    fn into_output(self) -> Result<Output, ArrowError> {
        Ok(self.output)
    }

    /// The writer refuses values that have no text; that is not bad data.
    fn failure(name: &str, error: &ArrowError) -> Failure {
        Failure::unsupported(Failure::arrow(name, error).message)
    }
}

fn out_of_range(batch: &RecordBatch, column: usize) -> ArrowError {
    let schema = batch.schema();
    let field = schema.fields().get(column);
    ArrowError::CsvError(format!(
        "column {:?} holds a value of type {} that is out of range and has no text",
        field.map_or("", |field| field.name()),
        batch.column(column).data_type()
    ))
}
