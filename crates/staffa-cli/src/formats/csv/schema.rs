//! The columns of a CSV file: names from its first line, types from its first rows.

use std::io::Read;

use arrow_schema::{DataType, Field, Schema};

use super::dates::DateOrder;
use super::dialect::CsvDialect;
use super::infer::{BEYOND_NANOSECONDS, Observed};
use super::problem::Problem;
use super::records::{Fields, RecordError, Records};
use crate::error::{Failure, Result};
use crate::formats::options::ReadOptions;
use crate::terminal::note;

/// The columns, and the order of day and month of each.
pub(super) struct Columns {
    pub(super) schema: Schema,
    pub(super) dates: Vec<Option<DateOrder>>,
}

/// Reads the first rows of the file called `name`.
pub(super) fn infer(
    name: &str,
    text: impl Read,
    dialect: &CsvDialect,
    options: &ReadOptions,
) -> Result<Columns> {
    let mut records = Records::new(text, dialect);
    let mut fields = Fields::default();
    let fail = |error: RecordError| Problem::of(name, dialect).record(error);
    if !records.next(&mut fields).map_err(fail)? {
        return Err(Failure::data(format!(
            "{name}: the file is empty, expected a line of column names"
        )));
    }
    let names = names(name, &fields, dialect)?;
    if names.len() == 1 {
        records.keep_empty_lines();
    }
    let mut observed = vec![Observed::default(); names.len()];
    let limit = match options.infer_rows {
        0 => u64::MAX,
        rows => rows as u64,
    };
    let mut row = 0;
    if dialect.header {
        fields.clear();
    }
    while row < limit {
        if fields.len() == 0 && !records.next(&mut fields).map_err(fail)? {
            break;
        }
        row += 1;
        if fields.width(0) == names.len() {
            observe(&mut observed, &fields, dialect);
        } else if options.skip_bad_rows.is_none() {
            let problem = Problem::of(name, dialect);
            return Err(problem.width(row, names.len(), fields.width(0)));
        }
        fields.clear();
    }
    note_texts(name, &names, &observed, options);
    Ok(columns(&names, &observed, options))
}

/// Says which columns are text only because no type holds all their values, and why.
fn note_texts(name: &str, columns: &[String], observed: &[Observed], options: &ReadOptions) {
    for (column, observed) in columns.iter().zip(observed) {
        let why = match observed {
            _ if options.is_text(column) => continue,
            _ if observed.is_wide_number() => {
                "it has numbers of more digits than 64 bits or a double hold"
            }
            _ if observed.is_wide_time() && !options.no_dates => BEYOND_NANOSECONDS,
            _ => continue,
        };
        note(&format!("{name}: column {column:?} is read as text, {why}"));
    }
}

/// The columns of these names and values.
fn columns(names: &[String], observed: &[Observed], options: &ReadOptions) -> Columns {
    let (mut fields, mut dates) = (Vec::new(), Vec::new());
    for (name, observed) in names.iter().zip(observed) {
        let (mut data_type, order) = observed.data_type(options.dates);
        if options.is_text(name) || (options.no_dates && data_type.is_temporal()) {
            data_type = DataType::Utf8;
        }
        fields.push(Field::new(name, data_type, true));
        dates.push(order.or(options.dates));
    }
    let schema = Schema::new(fields);
    Columns { schema, dates }
}

/// The names in the first line; `column_1` and so on without a header line.
fn names(name: &str, fields: &Fields, dialect: &CsvDialect) -> Result<Vec<String>> {
    let columns = 0..fields.width(0);
    if !dialect.header {
        return Ok(columns
            .map(|column| format!("column_{}", column + 1))
            .collect());
    }
    columns
        .map(|column| {
            let bytes = fields.get(0, column).0;
            String::from_utf8(bytes.to_vec()).map_err(|_| {
                Failure::data(format!(
                    "{name}: the name of column {} is not UTF-8; --charset names the encoding of the text",
                    column + 1
                ))
            })
        })
        .collect()
}

fn observe(observed: &mut [Observed], fields: &Fields, dialect: &CsvDialect) {
    for (column, observed) in observed.iter_mut().enumerate() {
        let (field, _) = fields.get(0, column);
        // Empty in quotes says nothing of the type: some programs put all fields in quotes.
        if dialect.is_null(field) {
            continue;
        }
        // Bytes that are no text are found, with their row, when the rows are read.
        observed.add(&String::from_utf8_lossy(field));
    }
}
