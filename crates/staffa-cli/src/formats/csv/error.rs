//! Arrow's messages about CSV, with the row, the column and a hint.

use std::sync::LazyLock;

use arrow_schema::{ArrowError, Schema};
use regex::{Captures, Regex};

use super::dialect::CsvDialect;
use crate::error::Failure;

static VALUE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern =
        r"(?s)^Error while parsing value '(.*)' as type '(.*?)' for column (\d+) at line (\d+)\.";
    Regex::new(pattern).ok()
});
static TIME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?s)^Error parsing column (\d+) at line (\d+): (.*)$").ok());
static WIDTH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^incorrect number of fields for line (\d+), expected (\d+) got (.*)$").ok()
});
static UNICODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^Encountered invalid UTF-8 data for line (\d+) and field (\d+)").ok()
});

/// The failure for an error of Arrow's CSV reader: Arrow counts lines and columns, this names the row
/// and the column. `schema` is None before the columns are known.
pub(super) fn read_error(
    name: &str,
    dialect: &CsvDialect,
    schema: Option<&Schema>,
    infer_rows: usize,
    error: &ArrowError,
) -> Failure {
    let (ArrowError::ParseError(message) | ArrowError::CsvError(message)) = error else {
        return Failure::arrow(name, error);
    };
    let place = Place {
        header_lines: u64::from(dialect.header),
        schema,
        infer_rows,
    };
    let described = captured(&VALUE, message)
        .and_then(|parts| place.value(&parts))
        .or_else(|| captured(&TIME, message).and_then(|parts| place.time(&parts)))
        .or_else(|| captured(&WIDTH, message).and_then(|parts| place.width(&parts)))
        .or_else(|| captured(&UNICODE, message).and_then(|parts| place.unicode(&parts)));
    Failure::data(format!(
        "{name}: {}",
        described.as_deref().unwrap_or(message)
    ))
}

fn captured<'m>(pattern: &LazyLock<Option<Regex>>, message: &'m str) -> Option<Captures<'m>> {
    pattern.as_ref()?.captures(message)
}

/// What turns Arrow's numbers into rows and columns.
struct Place<'a> {
    header_lines: u64,
    schema: Option<&'a Schema>,
    infer_rows: usize,
}

impl Place<'_> {
    fn value(&self, parts: &Captures<'_>) -> Option<String> {
        let [value, expected, column, line] = parts.extract().1;
        let (row, column) = (self.parsed_row(line)?, self.column(column, 0)?);
        let hint = self.type_hint(&column);
        Some(format!(
            "row {row}, {column}: {value:?} is not of type {expected}, {hint}, --csv-null names a text that stands for NULL"
        ))
    }

    fn time(&self, parts: &Captures<'_>) -> Option<String> {
        let [column, line, what] = parts.extract().1;
        let (row, column) = (self.parsed_row(line)?, self.column(column, 0)?);
        let hint = self.type_hint(&column);
        Some(format!(
            "row {row}, {column}: not a date and time ({what}), {hint}"
        ))
    }

    fn width(&self, parts: &Captures<'_>) -> Option<String> {
        let [line, expected, found] = parts.extract().1;
        let row = self.split_row(line)?;
        let found = if found.starts_with("more than") {
            format!("more than {expected}")
        } else {
            found.to_owned()
        };
        Some(format!(
            "row {row}: expected {expected} fields, found {found}; quote fields that hold a delimiter"
        ))
    }

    fn unicode(&self, parts: &Captures<'_>) -> Option<String> {
        let [line, column] = parts.extract().1;
        let (row, column) = (self.split_row(line)?, self.column(column, 1)?);
        Some(format!(
            "row {row}, {column}: the bytes are not UTF-8; `iconv -f latin1 -t utf8` may help"
        ))
    }

    /// The row of a line, if Arrow failed to split it: the header is line 1.
    fn split_row(&self, line: &str) -> Option<u64> {
        line.parse::<u64>().ok()?.checked_sub(self.header_lines)
    }

    /// The row of a line, if Arrow failed to parse a value: the header is line 0.
    fn parsed_row(&self, line: &str) -> Option<u64> {
        (line.parse::<u64>().ok()? + 1).checked_sub(self.header_lines)
    }

    /// `column "price"`, or its number if the columns are not known yet.
    fn column(&self, number: &str, first: usize) -> Option<String> {
        let index = number.parse::<usize>().ok()?.checked_sub(first)?;
        let field = self.schema.and_then(|schema| schema.fields().get(index));
        Some(field.map_or_else(
            || format!("column {number}"),
            |field| format!("column {:?}", field.name()),
        ))
    }

    fn type_hint(&self, column: &str) -> String {
        let bare = column.trim_start_matches("column ").trim_matches('"');
        format!(
            "the type inferred from the first {} rows; --infer-rows 0 reads all rows, --text {bare} reads the column as text",
            self.infer_rows
        )
    }
}
