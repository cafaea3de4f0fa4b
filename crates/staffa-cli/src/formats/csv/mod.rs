//! CSV, in and out. Types are guessed from the first rows; a later row that does not fit is an
//! error that names it.

use std::io::BufRead;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_csv::reader::Format as Shape;
use arrow_csv::{ReaderBuilder, WriterBuilder};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use regex::Regex;

use super::sample::Sample;
use super::{BATCH_ROWS, Batches, Sink, Table};
use crate::cli::Reading;
use crate::dataset::Input;
use crate::error::{Failure, Result};
use crate::files::output::{Output, Trouble};
use crate::formats::scan::{Wanted, find};
use crate::terminal::progress::Meter;

/// How fields are separated, what stands for NULL, whether there is a line of names.
#[derive(Debug, Clone)]
pub(crate) struct CsvOptions {
    delimiter: u8,
    nulls: Vec<String>,
    header: bool,
}

impl CsvOptions {
    pub(crate) fn new(path: &Path, reading: &Reading) -> Self {
        let tabs = path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("tsv"));
        let delimiter = reading.delimiter.unwrap_or(if tabs { b'\t' } else { b',' });
        Self {
            delimiter,
            nulls: reading.csv_null.clone(),
            header: !reading.no_header,
        }
    }

    fn shape(&self) -> Result<Shape> {
        let shape = Shape::default()
            .with_header(self.header)
            .with_delimiter(self.delimiter);
        if self.nulls.is_empty() {
            return Ok(shape);
        }
        let texts = self
            .nulls
            .iter()
            .map(|text| regex::escape(text))
            .collect::<Vec<_>>()
            .join("|");
        let pattern = Regex::new(&format!("^(?:{texts})$"))
            .map_err(|error| Failure::usage(format!("--csv-null: {error}")))?;
        Ok(shape.with_null_regex(pattern))
    }
}

pub(crate) struct CsvTable {
    input: Input,
    options: CsvOptions,
    sample: Sample,
    schema: SchemaRef,
    infer_rows: usize,
}

impl CsvTable {
    pub(crate) fn open(input: &Input, reading: &Reading) -> Result<Self> {
        let options = CsvOptions::new(&input.path, reading);
        let mut sample = Sample::open(input)?;
        let schema = Arc::new(infer(input, &options, &mut sample, reading)?);
        Ok(Self {
            input: input.clone(),
            options,
            sample,
            schema,
            infer_rows: reading.infer_rows,
        })
    }
}

/// The columns' types by the first rows. Arrow's guess, but for numbers and times that would not
/// come back as they are written: `007` stays text, and times that name their zone keep one.
fn infer(
    input: &Input,
    options: &CsvOptions,
    sample: &mut Sample,
    reading: &Reading,
) -> Result<Schema> {
    let name = input.name();
    let shape = options.shape()?;
    let most = (reading.infer_rows > 0).then_some(reading.infer_rows);
    let text = sample.look().map_err(|error| input.io(&error))?;
    let (guess, rows) = shape
        .infer_schema(text, most)
        .map_err(|error| unread(&name, options, None, 0, &error))?;
    if guess.fields().is_empty() {
        return Err(Failure::data(format!(
            "{name}: the file is empty, expected a line of column names"
        )));
    }
    for column in &reading.text {
        find(&guess, column)?;
    }
    let mut types: Vec<DataType> = guess
        .fields()
        .iter()
        .map(|field| field.data_type().clone())
        .collect();
    let fields: Vec<_> = guess
        .fields()
        .iter()
        .map(|field| Field::new(field.name(), DataType::Utf8, true))
        .collect();
    let texts = Arc::new(Schema::new(fields));
    let text = sample.look().map_err(|error| input.io(&error))?;
    let reader = ReaderBuilder::new(texts.clone())
        .with_format(shape)
        .with_bounds(0, rows)
        .with_batch_size(BATCH_ROWS);
    let reader = reader
        .build_buffered(text)
        .map_err(|error| Failure::arrow(&name, &error))?;
    // Of the times: some with a zone, some without.
    let mut zones = vec![(false, false); types.len()];
    for batch in reader {
        let batch = batch.map_err(|error| unread(&name, options, Some(&texts), 0, &error))?;
        for ((column, data_type), (with, without)) in
            batch.columns().iter().zip(&mut types).zip(&mut zones)
        {
            let mut values = column.as_string::<i32>().iter().flatten();
            match data_type {
                DataType::Int64 if values.any(padded) => *data_type = DataType::Utf8,
                DataType::Timestamp(..) => {
                    values.for_each(|value| {
                        *if zoned(value) {
                            &mut *with
                        } else {
                            &mut *without
                        } = true
                    });
                }
                _ => {}
            }
        }
    }
    let fields =
        guess
            .fields()
            .iter()
            .zip(types)
            .zip(zones)
            .map(|((field, guessed), (with, without))| {
                let data_type = match guessed {
                    _ if reading.text.contains(field.name()) => DataType::Utf8,
                    DataType::Timestamp(..) if with && without => DataType::Utf8,
                    DataType::Timestamp(unit, _) if with => {
                        DataType::Timestamp(unit, Some("UTC".into()))
                    }
                    other => other,
                };
                field.as_ref().clone().with_data_type(data_type)
            });
    Ok(Schema::new(fields.collect::<Vec<_>>()))
}

/// A number with zeros before it is a name: a post code, an account.
fn padded(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    (digits.len() > 1 && digits.starts_with('0')) || number == "-0"
}

/// Whether a date and time names its zone: `Z` or `+02:00` after the 19 characters of
/// `2026-11-21T00:00:00`.
fn zoned(time: &str) -> bool {
    time.get(19..).is_some_and(|rest| {
        rest.contains(|c: char| c.is_ascii_alphabetic() || c == '+' || c == '-')
    })
}

impl Table for CsvTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> Option<u64> {
        None
    }

    fn scan(self: Box<Self>, schema: SchemaRef, wanted: &Wanted, meter: Meter) -> Result<Batches> {
        let Self {
            input,
            options,
            sample,
            infer_rows,
            ..
        } = *self;
        let name = input.name();
        let mut builder = ReaderBuilder::new(schema.clone())
            .with_format(options.shape()?)
            .with_batch_size(BATCH_ROWS);
        if let Some(places) = wanted.needed(&schema)? {
            builder = builder.with_projection(places);
        }
        let text: Box<dyn BufRead + Send> = sample.into_reader(&input, meter)?;
        let mut reader = builder
            .build_buffered(text)
            .map_err(|error| Failure::arrow(&name, &error))?;
        let mut failed = false;
        let batches = std::iter::from_fn(move || {
            if failed {
                return None;
            }
            let batch = reader.next()?;
            failed = batch.is_err();
            Some(batch.map_err(|error| unread(&name, &options, Some(&schema), infer_rows, &error)))
        });
        Ok(wanted.select(Box::new(batches)))
    }
}

/// Arrow counts lines and columns in its messages; we name the row and the column, and say what to
/// do.
fn unread(
    name: &str,
    options: &CsvOptions,
    schema: Option<&Schema>,
    infer_rows: usize,
    error: &ArrowError,
) -> Failure {
    static VALUE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?s)^Error while parsing value '(.*)' as type '(.*?)' for column (\d+) at line (\d+)\.").ok()
    });
    static TIME: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?s)^Error parsing column (\d+) at line (\d+): (.*)$").ok());
    static WIDTH: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^incorrect number of fields for line (\d+), expected (\d+) got (.*)$").ok()
    });
    static UNICODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^Encountered invalid UTF-8 data for line (\d+) and field (\d+)").ok()
    });

    let (ArrowError::ParseError(message) | ArrowError::CsvError(message)) = error else {
        return Failure::arrow(name, error);
    };
    let parts = |pattern: &LazyLock<Option<Regex>>| -> Option<Vec<String>> {
        let found = pattern.as_ref()?.captures(message)?;
        Some(
            found
                .iter()
                .skip(1)
                .map(|part| part.map_or("", |part| part.as_str()).to_string())
                .collect(),
        )
    };
    // Splitting, Arrow counts the line of names as line 1; parsing, as line 0.
    let names = u64::from(options.header);
    let row = |line: &str| {
        line.parse::<u64>()
            .map_or(0, |line| line.saturating_sub(names))
    };
    let parsed_row = |line: &str| line.parse::<u64>().map_or(0, |line| line + 1 - names);
    let column = |place: &str, from: usize| {
        let field = place
            .parse::<usize>()
            .ok()
            .and_then(|at| schema?.fields().get(at.checked_sub(from)?));
        field.map_or(format!("column {place}"), |field| {
            format!("column {:?}", field.name())
        })
    };
    let guessed = |column: &str, expected: &str| {
        let bare = column.trim_start_matches("column ").trim_matches('"');
        format!(
            "which the first {infer_rows} rows suggested; --infer-rows 0 looks at all rows, --text {bare} reads the column \
             as text{}",
            if expected.is_empty() {
                ""
            } else {
                ", --csv-null names a text that stands for NULL"
            }
        )
    };
    if let Some([value, expected, place, line]) = parts(&VALUE).as_deref() {
        let column = column(place, 0);
        let hint = guessed(&column, expected);
        return Failure::data(format!(
            "{name}: row {}, {column}: {value:?} is no {expected}, {hint}",
            parsed_row(line)
        ));
    }
    if let Some([place, line, what]) = parts(&TIME).as_deref() {
        let column = column(place, 0);
        let hint = guessed(&column, "");
        return Failure::data(format!(
            "{name}: row {}, {column}: no date and time ({what}), {hint}",
            parsed_row(line)
        ));
    }
    if let Some([line, expected, found]) = parts(&WIDTH).as_deref() {
        let found = found.trim_start_matches("more than ");
        return Failure::data(format!(
            "{name}: row {}: expected {expected} fields, found {}; fields that hold a separator must be quoted",
            row(line),
            if message.contains("more than") {
                format!("more than {expected}")
            } else {
                found.to_string()
            }
        ));
    }
    if let Some([line, place]) = parts(&UNICODE).as_deref() {
        let column = column(place, 1);
        return Failure::data(format!(
            "{name}: row {}, {column}: the bytes are not UTF-8; `iconv -f latin1 -t utf8` may help",
            row(line)
        ));
    }
    Failure::data(format!("{name}: {message}"))
}

/// Starts CSV. Nested columns have no place in it.
pub(crate) fn create(
    output: Output,
    schema: &Schema,
    options: &CsvOptions,
) -> Result<Box<dyn Sink>> {
    let (name, trouble) = (output.name(), output.trouble());
    if let Some(field) = schema
        .fields()
        .iter()
        .find(|field| nested(field.data_type()))
    {
        return Err(Failure::unsupported(format!(
            "{name}: CSV cannot hold column {:?} of type {}; leave it out with --columns, or write JSON lines",
            field.name(),
            field.data_type()
        )));
    }
    let writer = WriterBuilder::new()
        .with_header(options.header)
        .with_delimiter(options.delimiter)
        .with_null(options.nulls.first().cloned().unwrap_or_default())
        .build(output);
    Ok(Box::new(CsvSink {
        writer,
        name,
        trouble,
        header: options.header.then(|| schema.clone()),
    }))
}

fn nested(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => nested(values),
        DataType::RunEndEncoded(_, values) => nested(values.data_type()),
        other => other.is_nested(),
    }
}

struct CsvSink {
    writer: arrow_csv::Writer<Output>,
    name: String,
    trouble: Trouble,
    /// Until the line of names is written.
    header: Option<Schema>,
}

impl Sink for CsvSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.header = None;
        self.writer
            .write(batch)
            .map_err(|error| self.trouble.or(Failure::arrow(&self.name, &error)))
    }

    fn finish(mut self: Box<Self>) -> Result<u64> {
        // Without a row there was no batch, and without a batch no line of names.
        if let Some(schema) = self.header.take() {
            self.write(&RecordBatch::new_empty(Arc::new(schema)))?;
        }
        self.writer.into_inner().finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use arrow_array::Array;

    use super::*;
    use crate::formats::Format;

    fn table(text: &str, reading: &Reading) -> Result<CsvTable> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        CsvTable::open(
            &Input {
                path,
                format: Format::Csv,
            },
            reading,
        )
    }

    fn reading() -> Reading {
        Reading {
            infer_rows: 2,
            ..Reading::default()
        }
    }

    fn rows(text: &str, reading: &Reading) -> Result<usize> {
        let table = table(text, reading)?;
        let schema = table.schema();
        let batches = Box::new(table).scan(schema, &Wanted::default(), Meter::default())?;
        batches
            .map(|batch| batch.map(|batch| batch.num_rows()))
            .sum()
    }

    #[test]
    fn types_are_guessed_and_what_would_not_come_back_stays_text() {
        let text = "n,code,t,u,mixed,e\n1,007,2026-01-01T00:00:00Z,2026-01-01 00:00:00,2026-01-01T00:00:00Z,\n\
                    2,10,2026-01-01T00:00:00+01:00,2026-01-01 00:00:00,2026-01-01T00:00:00,\n";
        let schema = table(text, &reading()).unwrap().schema();
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
        let told = Reading {
            text: vec!["n".into()],
            ..reading()
        };
        assert_eq!(
            table(text, &told).unwrap().schema().field(0).data_type(),
            &DataType::Utf8
        );
    }

    #[test]
    fn a_later_row_that_does_not_parse_is_named() {
        let cases = [
            (
                "a,b\n1,2\n3,4\n5,x\n",
                "row 3, column \"b\": \"x\" is no Int64, which the first 2 rows suggested",
            ),
            ("a,b\n1,2\n3,4\n5\n", "row 3: expected 2 fields, found 1"),
            (
                "a,b\n1,2\n3,4\n5,6,7\n",
                "row 3: expected 2 fields, found 3",
            ),
            (
                "a\n2026-01-01T00:00:00\n2026-01-01T00:00:00\nsoon\n",
                "row 3, column \"a\": no date and time",
            ),
        ];
        for (text, expected) in cases {
            let message = rows(text, &reading()).unwrap_err().message;
            assert!(message.contains(expected), "{message}");
        }
        let message = rows(
            "1,2\n3,4\n5,x\n",
            &Reading {
                no_header: true,
                ..reading()
            },
        )
        .unwrap_err()
        .message;
        assert!(message.contains("row 3, column \"column_2\""), "{message}");
    }

    #[test]
    fn nulls_and_delimiters_are_as_told() {
        let told = Reading {
            csv_null: vec!["NA".into(), ".".into()],
            delimiter: Some(b';'),
            ..reading()
        };
        let table = table("a;b\n1;NA\n2;3\n.;4\n", &told).unwrap();
        let schema = table.schema();
        assert_eq!(schema.field(1).data_type(), &DataType::Int64);
        let batch = Box::new(table)
            .scan(schema, &Wanted::default(), Meter::default())
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
