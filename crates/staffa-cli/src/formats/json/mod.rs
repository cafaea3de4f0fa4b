//! JSON lines, in and out: one object per line. Types are inferred from the first rows; a later row
//! that does not fit is an error that names it.

mod infer;
mod items;
mod parser;
mod rows;
mod values;
mod wide;
mod write;

use std::sync::Arc;

use arrow_schema::SchemaRef;

use self::infer::infer_schema;
use self::rows::Rows;
pub(crate) use self::write::create;
use super::options::ReadOptions;
use super::sample::Sample;
use super::scan::{Batches, ScanOptions, until_error};
use super::table::Table;
use crate::error::Result;
use crate::files::input::Input;
use crate::terminal::progress::Meter;

pub(crate) struct JsonTable {
    input: Input,
    sample: Sample,
    schema: SchemaRef,
    infer_rows: usize,
}

impl JsonTable {
    pub(crate) fn open(input: &Input, options: &ReadOptions) -> Result<Self> {
        let mut sample = Sample::open(input, options)?;
        let text = sample.peek().map_err(|error| input.io_error(&error))?;
        let schema = Arc::new(infer_schema(&input.name(), text, options)?);
        Ok(Self {
            input: input.clone(),
            sample,
            schema,
            infer_rows: options.infer_rows,
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
        let Self {
            input,
            sample,
            infer_rows,
            ..
        } = *self;
        let text = sample.into_reader(&input, meter)?;
        let mut rows = Rows::new(input.name(), text, schema)?;
        rows.bad_rows.clone_from(&options.bad_rows);
        rows.infer_rows = infer_rows;
        let batches = std::iter::from_fn(move || rows.next_batch().transpose());
        Ok(options.apply(until_error(batches)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use arrow_array::RecordBatch;
    use arrow_schema::DataType;

    use super::*;
    use crate::formats::bad_rows::BadRows;

    fn table(text: &str, options: &ReadOptions) -> Result<JsonTable> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        std::fs::write(&path, text).unwrap();
        JsonTable::open(&Input::new(&path)?, options)
    }

    fn batches(text: &str) -> Result<Vec<RecordBatch>> {
        let table = table(text, &ReadOptions::inferring(2))?;
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
    fn integers_keep_their_digits() {
        let types = |text: &str| {
            let schema = batches(text).unwrap().remove(0).schema();
            schema.field(0).data_type().clone()
        };
        assert_eq!(types("{\"a\":9223372036854775808}\n"), DataType::Utf8);
        assert_eq!(
            types("{\"a\":9007199254740993}\n{\"a\":1}\n"),
            DataType::Int64
        );
        assert_eq!(
            types("{\"a\":9007199254740993}\n{\"a\":1.5}\n"),
            DataType::Utf8
        );
        assert_eq!(types("{\"a\":1.5}\n{\"a\":1e30}\n"), DataType::Float64);
        let message = batches("{\"a\":1.5}\n{\"a\":2}\n{\"a\":9007199254740993}\n")
            .unwrap_err()
            .message;
        assert!(message.contains("row 3, column \"a\""), "{message}");
    }

    #[test]
    fn times_that_no_unit_holds_are_text() {
        let types = |text: &str| {
            let schema = batches(text).unwrap().remove(0).schema();
            schema.field(0).data_type().clone()
        };
        assert_eq!(types("{\"a\":\"2016-12-31T23:59:60Z\"}\n"), DataType::Utf8);
        let wide = "{\"a\":\"1500-01-01T00:00:00Z\"}\n{\"a\":\"2024-01-01T00:00:00.123456789Z\"}\n";
        assert_eq!(types(wide), DataType::Utf8);
        // Never another moment, and advice that helps within objects as well.
        let good = "{\"a\":{\"t\":\"2016-12-31T23:59:59.000000001Z\"}}\n";
        for bad in ["2016-12-31T23:59:60Z", "1500-01-01T00:00:00Z"] {
            let text = format!("{good}{good}{{\"a\":{{\"t\":\"{bad}\"}}}}\n");
            let message = batches(&text).unwrap_err().message;
            let expected = "row 3, column \"a\": ";
            assert!(
                message.contains(expected) && message.contains("--no-dates"),
                "{message}"
            );
        }
    }

    #[test]
    fn bad_rows_are_left_out_with_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad.csv");
        let mut given = ReadOptions::inferring(2);
        given.skip_bad_rows = Some(path.clone());
        let text = "{\"a\":1}\n{\"a\":2}\n\n{\"a\":\"x\"}\n{\"a\"\n{\"a\":5}\n";
        let table = table(text, &given).unwrap();
        let bad_rows = BadRows::create(&path).unwrap();
        let scan = ScanOptions {
            bad_rows: Some(bad_rows.clone()),
            ..ScanOptions::default()
        };
        let schema = table.schema();
        let batches = Box::new(table)
            .scan(schema, &scan, Meter::default())
            .unwrap();
        assert_eq!(
            batches
                .map(|batch| batch.unwrap().num_rows())
                .sum::<usize>(),
            3
        );
        bad_rows.finish().unwrap();
        let written = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = written.lines().collect();
        assert!(
            lines.len() == 3 && lines[1].contains(",4,") && lines[2].contains(",5,"),
            "{written}"
        );
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
