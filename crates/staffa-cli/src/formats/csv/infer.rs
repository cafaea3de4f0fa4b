//! The types of CSV columns, inferred from the first rows.
//!
//! Arrow infers the types. Two kinds of values would not round-trip with them: numbers with leading
//! zeros stay text, and times that name a time zone get one.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_csv::ReaderBuilder;
use arrow_schema::{DataType, Field, Schema};

use super::dialect::CsvDialect;
use super::error::read_error;
use crate::error::{Failure, Result};
use crate::files::input::Input;
use crate::formats::options::ReadOptions;
use crate::formats::sample::Sample;
use crate::formats::scan::find_column;
use crate::formats::table::BATCH_ROWS;

/// The schema of the file.
pub(super) fn infer_schema(
    input: &Input,
    dialect: &CsvDialect,
    sample: &mut Sample,
    options: &ReadOptions,
) -> Result<Schema> {
    let name = input.name();
    let limit = (options.infer_rows > 0).then_some(options.infer_rows);
    let text = sample.peek().map_err(|error| input.io_error(&error))?;
    let (inferred, rows) = dialect
        .to_arrow()?
        .infer_schema(text, limit)
        .map_err(|error| read_error(&name, dialect, None, 0, &error))?;
    if inferred.fields().is_empty() {
        return Err(Failure::data(format!(
            "{name}: the file is empty, expected a line of column names"
        )));
    }
    for column in &options.text {
        find_column(&inferred, column)?;
    }
    let observed = observe(input, dialect, sample, &inferred, rows)?;
    let fields = inferred.fields().iter().zip(observed).map(|(field, seen)| {
        let data_type = if options.text.contains(field.name()) {
            DataType::Utf8
        } else {
            seen.refine(field.data_type())
        };
        field.as_ref().clone().with_data_type(data_type)
    });
    Ok(Schema::new(fields.collect::<Vec<_>>()))
}

/// The values of a column that decide whether its inferred type can hold them.
#[derive(Debug, Clone, Copy, Default)]
struct Observed {
    leading_zero: bool,
    with_time_zone: bool,
    without_time_zone: bool,
}

impl Observed {
    fn add(&mut self, data_type: &DataType, value: &str) {
        match data_type {
            DataType::Int64 => self.leading_zero |= has_leading_zero(value),
            DataType::Timestamp(..) if has_time_zone(value) => self.with_time_zone = true,
            DataType::Timestamp(..) => self.without_time_zone = true,
            _ => {}
        }
    }

    fn refine(self, inferred: &DataType) -> DataType {
        match inferred {
            DataType::Int64 if self.leading_zero => DataType::Utf8,
            DataType::Timestamp(..) if self.with_time_zone && self.without_time_zone => {
                DataType::Utf8
            }
            DataType::Timestamp(unit, _) if self.with_time_zone => {
                DataType::Timestamp(*unit, Some("UTC".into()))
            }
            other => other.clone(),
        }
    }
}

/// Reads the first `rows` again, as text.
fn observe(
    input: &Input,
    dialect: &CsvDialect,
    sample: &mut Sample,
    inferred: &Schema,
    rows: usize,
) -> Result<Vec<Observed>> {
    let name = input.name();
    let fields = inferred.fields().iter();
    let fields = fields.map(|field| Field::new(field.name(), DataType::Utf8, true));
    let texts = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let text = sample.peek().map_err(|error| input.io_error(&error))?;
    let reader = ReaderBuilder::new(texts.clone())
        .with_format(dialect.to_arrow()?)
        .with_bounds(0, rows)
        .with_batch_size(BATCH_ROWS)
        .build_buffered(text)
        .map_err(|error| Failure::arrow(&name, &error))?;
    let mut observed = vec![Observed::default(); inferred.fields().len()];
    for batch in reader {
        let batch: RecordBatch =
            batch.map_err(|error| read_error(&name, dialect, Some(&texts), 0, &error))?;
        let columns = batch.columns().iter().zip(inferred.fields());
        for ((column, field), observed) in columns.zip(&mut observed) {
            let values = column.as_string::<i32>().iter().flatten();
            values.for_each(|value| observed.add(field.data_type(), value));
        }
    }
    Ok(observed)
}

/// A number with leading zeros is a name: a post code, an account.
fn has_leading_zero(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    (digits.len() > 1 && digits.starts_with('0')) || number == "-0"
}

/// Whether a time names its zone: `Z` or `+02:00` after the 19 characters of
/// `2026-11-21T00:00:00`.
fn has_time_zone(time: &str) -> bool {
    time.get(19..).is_some_and(|rest| {
        rest.contains(|c: char| c.is_ascii_alphabetic() || c == '+' || c == '-')
    })
}
