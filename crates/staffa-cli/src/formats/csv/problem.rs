//! What is wrong with a CSV file, with the row and the column.

use arrow_schema::Field;

use super::dialect::CsvDialect;
use super::records::RecordError;
use crate::error::Failure;
use crate::terminal::text::quoted_name;

/// Failures about the file called `name`.
pub(super) struct Problem<'a> {
    name: &'a str,
    header: bool,
}

impl<'a> Problem<'a> {
    pub(super) fn of(name: &'a str, dialect: &CsvDialect) -> Self {
        Self {
            name,
            header: dialect.header,
        }
    }

    /// A text that cannot be split into records.
    pub(super) fn record(&self, error: RecordError) -> Failure {
        let row = |line: u64| self.row_of(line);
        match error {
            RecordError::Io(error) => Failure::io(self.name, &error),
            RecordError::Unclosed(line) => Failure::data(format!(
                "{}: {} begins a quote that is never closed; --quote names another quote",
                self.name,
                row(line)
            )),
            RecordError::TooLong(line) => Failure::unsupported(format!(
                "{}: {} is longer than 1 GiB; a quote may not be closed",
                self.name,
                row(line)
            )),
        }
    }

    fn row_of(&self, line: u64) -> String {
        if self.header && line == 1 {
            "the first line".into()
        } else {
            format!("the row at line {line}")
        }
    }

    /// A row with another number of fields.
    pub(super) fn width(&self, row: u64, expected: usize, found: usize) -> Failure {
        Failure::data(format!(
            "{}: row {row}: {}; quote fields that hold a delimiter, or leave such rows out with --skip-bad-rows FILE",
            self.name,
            width_reason(expected, found)
        ))
    }

    /// A field that its column cannot hold, after the types were inferred from so many rows.
    pub(super) fn field(
        &self,
        row: u64,
        field: &Field,
        text: Option<&str>,
        infer_rows: usize,
    ) -> Failure {
        let place = format!("{}: row {row}, column {:?}", self.name, field.name());
        let Some(text) = text else {
            return Failure::data(format!(
                "{place}: the bytes are not UTF-8; --charset names the encoding of the text, as in --charset latin1"
            ));
        };
        let inferred = if infer_rows == 0 {
            String::new()
        } else {
            format!(
                ", the type inferred from the first {infer_rows} rows; --infer-rows 0 reads all rows"
            )
        };
        let no_dates = if field.data_type().is_temporal() {
            ", --no-dates reads all dates and times as text"
        } else {
            ""
        };
        Failure::data(format!(
            "{place}: {text:?} is not of type {}{inferred}, --text {} reads the column as text{no_dates}, --csv-null \
             names a text that stands for NULL, --skip-bad-rows FILE leaves such rows out",
            field.data_type(),
            quoted_name(field.name())
        ))
    }
}

pub(super) fn width_reason(expected: usize, found: usize) -> String {
    format!("expected {expected} fields, found {found}")
}
