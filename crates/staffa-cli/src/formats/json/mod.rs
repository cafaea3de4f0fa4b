//! JSON lines, in and out: one object per line. Types are inferred from the first rows; a later row
//! that does not fit is an error that names it.

mod infer;
mod parser;
mod rows;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_json::writer::{LineDelimited, Writer, WriterBuilder};
use arrow_schema::{ArrowError, SchemaRef};

use self::infer::infer_schema;
use self::rows::Rows;
use super::options::ReadOptions;
use super::sample::Sample;
use super::scan::{Batches, ScanOptions, until_error};
use super::sink::{self, BatchWriter};
use super::table::{Sink, Table};
use crate::error::{Failure, Result};
use crate::files::input::Input;
use crate::files::output::Output;
use crate::terminal::progress::Meter;

pub(crate) struct JsonTable {
    input: Input,
    sample: Sample,
    schema: SchemaRef,
}

impl JsonTable {
    pub(crate) fn open(input: &Input, options: &ReadOptions) -> Result<Self> {
        let mut sample = Sample::open(input)?;
        let text = sample.peek().map_err(|error| input.io_error(&error))?;
        let schema = Arc::new(infer_schema(&input.name(), text, options)?);
        Ok(Self {
            input: input.clone(),
            sample,
            schema,
        })
    }
}

impl Table for JsonTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn scan(
        self: Box<Self>,
        schema: SchemaRef,
        options: &ScanOptions,
        meter: Meter,
    ) -> Result<Batches> {
        let Self { input, sample, .. } = *self;
        let text = sample.into_reader(&input, meter)?;
        let mut rows = Rows::new(input.name(), text, schema)?;
        let batches = std::iter::from_fn(move || rows.next_batch().transpose());
        Ok(options.apply(until_error(batches)))
    }
}

pub(crate) fn create(output: Output) -> Result<Box<dyn Sink>> {
    // NULLs are written out, so that every row has all columns.
    let builder = WriterBuilder::new().with_explicit_nulls(true);
    sink::create(output, |output| {
        Ok(builder.build::<_, LineDelimited>(output))
    })
}

impl BatchWriter for Writer<Output, LineDelimited> {
    type Error = ArrowError;

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.write(batch)
    }

    fn into_output(mut self) -> Result<Output, ArrowError> {
        self.finish()?;
        Ok(self.into_inner())
    }

    /// The writer refuses types that JSON does not have; that is not bad data.
    fn failure(name: &str, error: &ArrowError) -> Failure {
        Failure::unsupported(Failure::arrow(name, error).message)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use arrow_schema::DataType;

    use super::*;

    fn table(text: &str, options: &ReadOptions) -> Result<JsonTable> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        std::fs::write(&path, text).unwrap();
        JsonTable::open(&Input::new(&path)?, options)
    }

    fn batches(text: &str) -> Result<Vec<RecordBatch>> {
        let table = table(
            text,
            &ReadOptions {
                infer_rows: 2,
                ..ReadOptions::default()
            },
        )?;
        let schema = table.schema();
        Box::new(table)
            .scan(schema, &ScanOptions::default(), Meter::default())?
            .collect()
    }

    #[test]
    fn columns_keep_the_order_of_the_text() {
        let batches = batches(
            "{\"z\":1,\"a\":{\"y\":2,\"b\":[3]}}\n{\"z\":null,\"a\":{\"y\":-9,\"b\":[]}}\n",
        )
        .unwrap();
        let schema = batches[0].schema();
        assert_eq!(schema.field(0).name(), "z");
        assert_eq!(schema.field(0).data_type(), &DataType::Int64);
        let DataType::Struct(inner) = schema.field(1).data_type() else {
            unreachable!()
        };
        assert_eq!(
            inner
                .iter()
                .map(|field| field.name().as_str())
                .collect::<Vec<_>>(),
            ["y", "b"]
        );
        assert_eq!(batches[0].num_rows(), 2);
    }

    #[test]
    fn the_message_names_a_later_row_that_does_not_fit() {
        let start = "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n";
        let cases = [
            (
                "{\"a\":3.7,\"b\":\"x\"}\n",
                "row 3, column \"a\": Cannot cast string '3.7'",
            ),
            (
                "{\"a\":3,\"c\":\"x\"}\n",
                "row 3: column 'c' missing from schema",
            ),
            (
                "{\"a\":[1],\"b\":\"x\"}\n",
                "row 3, column \"a\": expected string got [1]",
            ),
            ("{\"a\":3,\"b\" \"x\"}\n", "row 3: "),
            ("{\"a\":3", "row 3: "),
        ];
        for (row, expected) in cases {
            let message = batches(&format!("{start}{row}")).unwrap_err().message;
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn other_json_is_refused_with_a_hint() {
        let open = |text| {
            table(text, &ReadOptions::default())
                .map(|_| ())
                .unwrap_err()
                .message
        };
        assert!(open("[{\"a\":1}]").contains("a JSON array, expected one object per line"));
        assert!(open("{\"a\":1}\n7\n").contains("row 2 is not an object"));
        assert!(open("{\"a\":1}\n{\"a\"\n").contains("row 2 does not parse as JSON at character"));
        assert!(open("").contains("no columns"));
    }
}
