//! JSON lines output. NULLs are written out, so that every row has all columns.

use arrow_array::RecordBatch;
use arrow_json::writer::{LineDelimited, Writer, WriterBuilder};
use arrow_schema::{ArrowError, Schema};

use crate::error::{Failure, Result};
use crate::files::output::Output;
use crate::formats::sink::{self, BatchWriter};
use crate::formats::table::Sink;
use crate::formats::text_values::{as_text_values, check_zones, non_finite, time_out_of_range};

use super::items::{MOST_ITEMS, too_many_items};
use crate::terminal::note;
use crate::terminal::text::{counted, number};

pub(crate) fn create(output: Output, schema: &Schema) -> Result<Box<dyn Sink>> {
    check_zones(schema)?;
    let builder = WriterBuilder::new().with_explicit_nulls(true);
    sink::create(output, |output| {
        Ok(JsonWriter {
            writer: builder.build::<_, LineDelimited>(output),
            non_finite: Vec::new(),
        })
    })
}

struct JsonWriter {
    writer: Writer<Output, LineDelimited>,
    /// Values of each column that are NaN or infinite, which JSON cannot hold.
    non_finite: Vec<(String, u64)>,
}

impl JsonWriter {
    fn count_non_finite(&mut self, batch: &RecordBatch) {
        let schema = batch.schema();
        let names = schema
            .fields()
            .iter()
            .map(|field| (field.name().clone(), 0));
        if self.non_finite.is_empty() {
            self.non_finite = names.collect();
        }
        for ((_, count), column) in self.non_finite.iter_mut().zip(batch.columns()) {
            *count += non_finite(column.as_ref());
        }
    }
}

impl BatchWriter for JsonWriter {
    type Error = ArrowError;

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let schema = batch.schema();
        let mut columns = Vec::with_capacity(batch.num_columns());
        let mut fields = Vec::with_capacity(batch.num_columns());
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            if let Some(data_type) = time_out_of_range(column.as_ref()) {
                return Err(ArrowError::JsonError(format!(
                    "column {:?} holds a value of type {data_type} that is out of range and has no text",
                    field.name()
                )));
            }
            if let Some(items) = too_many_items(column.as_ref()) {
                return Err(ArrowError::JsonError(format!(
                    "column {:?} holds a list of {} items, more than the {} that a line has room for",
                    field.name(),
                    number(items),
                    number(MOST_ITEMS)
                )));
            }
            let column = as_text_values(column)?;
            fields.push(
                field
                    .as_ref()
                    .clone()
                    .with_data_type(column.data_type().clone()),
            );
            columns.push(column);
        }
        self.count_non_finite(batch);
        let schema = Schema::new(fields);
        let rows = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(schema.into(), columns, &rows)?;
        self.writer.write(&batch)
    }

    fn into_output(mut self) -> Result<Output, ArrowError> {
        self.writer.finish()?;
        for (name, count) in self.non_finite.iter().filter(|(_, count)| *count > 0) {
            let values = counted(*count, "value");
            note(&format!(
                "column {name:?}: {values} NaN or infinite, written as null: JSON has neither"
            ));
        }
        Ok(self.writer.into_inner())
    }

    /// The writer refuses types that JSON does not have; that is not bad data.
    fn failure(name: &str, error: &ArrowError) -> Failure {
        Failure::unsupported(Failure::arrow(name, error).message)
    }
}
