//! CSV, in and out. Types are inferred from the first rows; a later row that does not fit is an
//! error that names it.

mod dialect;
mod error;
mod infer;
mod write;

use std::sync::Arc;

use arrow_csv::ReaderBuilder;
use arrow_schema::SchemaRef;

pub(crate) use self::dialect::CsvDialect;
use self::error::read_error;
use self::infer::infer_schema;
pub(crate) use self::write::create;
use super::options::ReadOptions;
use super::sample::Sample;
use super::scan::{Batches, ScanOptions, until_error};
use super::table::{BATCH_ROWS, Table};
use crate::error::{Failure, Result};
use crate::files::input::Input;
use crate::terminal::progress::Meter;

pub(crate) struct CsvTable {
    input: Input,
    dialect: CsvDialect,
    sample: Sample,
    schema: SchemaRef,
    infer_rows: usize,
}

impl CsvTable {
    pub(crate) fn open(input: &Input, options: &ReadOptions) -> Result<Self> {
        let dialect = CsvDialect::of(input.path(), options);
        let mut sample = Sample::open(input)?;
        let schema = Arc::new(infer_schema(input, &dialect, &mut sample, options)?);
        Ok(Self {
            input: input.clone(),
            dialect,
            sample,
            schema,
            infer_rows: options.infer_rows,
        })
    }
}

impl Table for CsvTable {
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
            dialect,
            sample,
            infer_rows,
            ..
        } = *self;
        let name = input.name();
        let mut builder = ReaderBuilder::new(schema.clone())
            .with_format(dialect.to_arrow()?)
            .with_batch_size(BATCH_ROWS);
        if let Some(indices) = options.projection(&schema)? {
            builder = builder.with_projection(indices);
        }
        let reader = builder
            .build_buffered(sample.into_reader(&input, meter)?)
            .map_err(|error| Failure::arrow(&name, &error))?;
        let batches = reader.map(move |batch| {
            batch.map_err(|error| read_error(&name, &dialect, Some(&schema), infer_rows, &error))
        });
        Ok(options.apply(until_error(batches)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use arrow_array::Array;

    use arrow_schema::DataType;

    use super::*;

    fn table(text: &str, options: &ReadOptions) -> Result<CsvTable> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        CsvTable::open(&Input::new(&path)?, options)
    }

    fn options() -> ReadOptions {
        ReadOptions {
            infer_rows: 2,
            ..ReadOptions::default()
        }
    }

    fn rows(text: &str, options: &ReadOptions) -> Result<usize> {
        let table = table(text, options)?;
        let schema = table.schema();
        let batches = Box::new(table).scan(schema, &ScanOptions::default(), Meter::default())?;
        batches
            .map(|batch| batch.map(|batch| batch.num_rows()))
            .sum()
    }

    #[test]
    fn types_are_inferred_if_they_round_trip() {
        let text = "n,code,t,u,mixed,e\n1,007,2026-01-01T00:00:00Z,2026-01-01 00:00:00,2026-01-01T00:00:00Z,\n\
                    2,10,2026-01-01T00:00:00+01:00,2026-01-01 00:00:00,2026-01-01T00:00:00,\n";
        let schema = table(text, &options()).unwrap().schema();
        let types: Vec<String> = schema
            .fields()
            .iter()
            .map(|field| field.data_type().to_string())
            .collect();
        assert_eq!(
            types,
            [
                "Int64",
                "Utf8",
                "Timestamp(s, \"UTC\")",
                "Timestamp(s)",
                "Utf8",
                "Null"
            ]
        );
        let given = ReadOptions {
            text: vec!["n".into()],
            ..options()
        };
        assert_eq!(
            table(text, &given).unwrap().schema().field(0).data_type(),
            &DataType::Utf8
        );
    }

    #[test]
    fn the_message_names_a_later_row_that_does_not_parse() {
        let cases = [
            (
                "a,b\n1,2\n3,4\n5,x\n",
                "row 3, column \"b\": \"x\" is not of type Int64, the type inferred from the first 2 rows",
            ),
            ("a,b\n1,2\n3,4\n5\n", "row 3: expected 2 fields, found 1"),
            (
                "a,b\n1,2\n3,4\n5,6,7\n",
                "row 3: expected 2 fields, found 3",
            ),
            (
                "a\n2026-01-01T00:00:00\n2026-01-01T00:00:00\nsoon\n",
                "row 3, column \"a\": not a date and time",
            ),
        ];
        for (text, expected) in cases {
            let message = rows(text, &options()).unwrap_err().message;
            assert!(message.contains(expected), "{message}");
        }
        let message = rows(
            "1,2\n3,4\n5,x\n",
            &ReadOptions {
                no_header: true,
                ..options()
            },
        )
        .unwrap_err()
        .message;
        assert!(message.contains("row 3, column \"column_2\""), "{message}");
    }

    #[test]
    fn nulls_and_delimiters_are_as_given() {
        let given = ReadOptions {
            csv_null: vec!["NA".into(), ".".into()],
            delimiter: Some(b';'),
            ..options()
        };
        let table = table("a;b\n1;NA\n2;3\n.;4\n", &given).unwrap();
        let schema = table.schema();
        assert_eq!(schema.field(1).data_type(), &DataType::Int64);
        let batch = Box::new(table)
            .scan(schema, &ScanOptions::default(), Meter::default())
            .unwrap()
            .next()
            .unwrap()
            .unwrap();
        assert_eq!(
            (batch.column(0).null_count(), batch.column(1).null_count()),
            (1, 1)
        );
    }
}
