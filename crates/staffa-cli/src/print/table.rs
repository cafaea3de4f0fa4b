//! Rows as an aligned table, a thousand at a time, so that any number of them can be printed.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, DurationFormat, FormatOptions};
use arrow_schema::{DataType, SchemaRef};
use unicode_width::UnicodeWidthStr;

use crate::error::{Failure, Result};
use crate::terminal::text::{Align, padded, printable, shortened};

/// Prints batches of one schema below one header.
pub(crate) struct TablePrinter {
    schema: SchemaRef,
    align: Vec<Align>,
    widths: Vec<usize>,
    /// Columns of the terminal; None where the output is no terminal, and no column is left out.
    terminal: Option<usize>,
    /// The columns that fit, in order; a gap is marked.
    shown: Vec<usize>,
    started: bool,
}

/// Rows whose widths are looked at together.
const ROWS_AT_ONCE: usize = 1000;
/// Widest cell on a terminal, and elsewhere: a list of a thousand numbers is no cell. The other
/// formats cut nothing.
const CELL_WIDTH: (usize, usize) = (48, 120);

impl TablePrinter {
    pub(crate) fn new(schema: SchemaRef) -> Self {
        use std::io::{IsTerminal, stdout};
        let terminal = if stdout().is_terminal() {
            terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
        } else {
            None
        };
        Self::with_width(schema, terminal)
    }

    fn with_width(schema: SchemaRef, terminal: Option<usize>) -> Self {
        let align = schema
            .fields()
            .iter()
            .map(|field| {
                if field.data_type().is_numeric() {
                    Align::Right
                } else {
                    Align::Left
                }
            })
            .collect();
        let widths = schema
            .fields()
            .iter()
            .map(|field| {
                printable(field.name())
                    .width()
                    .max(type_name(field.data_type()).width())
            })
            .collect();
        Self {
            schema,
            align,
            widths,
            terminal,
            shown: Vec::new(),
            started: false,
        }
    }

    pub(crate) fn print(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> Result<()> {
        let mut at = 0;
        while at < batch.num_rows() {
            let rows = ROWS_AT_ONCE.min(batch.num_rows() - at);
            self.print_some(out, &batch.slice(at, rows))?;
            at += rows;
        }
        Ok(())
    }

    /// A table without rows still has a header; a hidden column is mentioned.
    pub(crate) fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        if !self.started {
            self.header(out)?;
        }
        let hidden = self.schema.fields().len() - self.shown.len();
        if hidden > 0 {
            writeln!(
                out,
                "({hidden} of {} columns do not fit; --columns a,b chooses)",
                self.schema.fields().len()
            )?;
        }
        Ok(())
    }

    fn print_some(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> Result<()> {
        let cells = self.cells(batch)?;
        for (column, width) in cells.iter().zip(&mut self.widths) {
            *width = column
                .iter()
                .map(|cell| cell.width())
                .fold(*width, usize::max);
        }
        if !self.started {
            self.header(out)?;
        }
        for row in 0..batch.num_rows() {
            self.line(out, |column| {
                cells
                    .get(column)
                    .and_then(|cells| cells.get(row))
                    .map_or("", String::as_str)
            })?;
        }
        Ok(())
    }

    fn cells(&self, batch: &RecordBatch) -> Result<Vec<Vec<String>>> {
        let options = FormatOptions::new()
            .with_null("NULL")
            .with_display_error(true)
            .with_duration_format(DurationFormat::Pretty);
        let mut columns = Vec::with_capacity(batch.num_columns());
        for column in batch.columns() {
            let formatter = ArrayFormatter::try_new(column, &options)
                .map_err(|error| Failure::arrow("this column cannot be printed", &error))?;
            let cell = |row| {
                let width = if self.terminal.is_some() {
                    CELL_WIDTH.0
                } else {
                    CELL_WIDTH.1
                };
                shortened(&printable(&formatter.value(row).to_string()), width)
            };
            columns.push((0..batch.num_rows()).map(cell).collect());
        }
        Ok(columns)
    }

    fn header(&mut self, out: &mut dyn Write) -> Result<()> {
        self.started = true;
        self.shown = self.fitting();
        let names: Vec<String> = self
            .schema
            .fields()
            .iter()
            .map(|field| printable(field.name()))
            .collect();
        let types: Vec<String> = self
            .schema
            .fields()
            .iter()
            .map(|field| type_name(field.data_type()))
            .collect();
        self.line(out, |column| names.get(column).map_or("", String::as_str))?;
        self.line(out, |column| types.get(column).map_or("", String::as_str))?;
        let rules: Vec<String> = self.widths.iter().map(|width| "─".repeat(*width)).collect();
        self.line(out, |column| rules.get(column).map_or("", String::as_str))
    }

    /// The first and the last columns as far as the terminal is wide, the first ones before the
    /// last.
    fn fitting(&self) -> Vec<usize> {
        let all = 0..self.widths.len();
        let Some(terminal) = self.terminal else {
            return all.collect();
        };
        let needed = self.widths.iter().map(|width| width + 2).sum::<usize>();
        if needed <= terminal + 2 {
            return all.collect();
        }
        // The mark of the gap and the space around it.
        let mut left = terminal.saturating_sub(1);
        let mut shown = Vec::new();
        let (mut first, mut last) = (0, self.widths.len());
        while first < last {
            let next = if shown.len() % 3 == 2 {
                last - 1
            } else {
                first
            };
            let width = self.widths.get(next).map_or(0, |width| width + 2);
            if width > left && !shown.is_empty() {
                break;
            }
            left = left.saturating_sub(width);
            shown.push(next);
            if next == first { first += 1 } else { last -= 1 }
        }
        shown.sort_unstable();
        shown
    }

    fn line<'a>(&self, out: &mut dyn Write, cell: impl Fn(usize) -> &'a str) -> Result<()> {
        let mut line = String::new();
        let mut expected = 0;
        for column in &self.shown {
            if *column != expected {
                line.push_str("…  ");
            }
            expected = column + 1;
            let (width, align) = (
                self.widths.get(*column).copied(),
                self.align.get(*column).copied(),
            );
            line.push_str(&padded(
                cell(*column),
                width.unwrap_or(0),
                align.unwrap_or(Align::Left),
            ));
            line.push_str("  ");
        }
        if expected != self.widths.len() {
            line.push('…');
        }
        Ok(writeln!(out, "{}", line.trim_end())?)
    }
}

/// A type that takes more than a cell is named by its kind.
fn type_name(data_type: &DataType) -> String {
    let name = printable(&data_type.to_string());
    if name.chars().count() <= 24 {
        return name;
    }
    name.split('(').next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, StringArray};

    use super::*;

    fn batch() -> RecordBatch {
        let price: ArrayRef = Arc::new(Float64Array::from(vec![Some(9.5), None]));
        let name: ArrayRef = Arc::new(StringArray::from(vec![Some("tea\n"), Some("coffee")]));
        RecordBatch::try_from_iter_with_nullable([("price", price, true), ("name", name, true)])
            .unwrap()
    }

    fn printed(terminal: Option<usize>) -> String {
        let mut printer = TablePrinter::with_width(batch().schema(), terminal);
        let mut out = Vec::new();
        printer.print(&mut out, &batch()).unwrap();
        printer.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_stand_right_and_controls_are_spelt_out() {
        let expected =
            "  price  name\nFloat64  Utf8\n───────  ──────\n    9.5  tea\\n\n   NULL  coffee\n";
        assert_eq!(printed(None), expected);
    }

    #[test]
    fn what_does_not_fit_is_mentioned() {
        let text = printed(Some(12));
        assert!(text.starts_with("  price  …\n"), "{text}");
        assert!(
            text.ends_with("(1 of 2 columns do not fit; --columns a,b chooses)\n"),
            "{text}"
        );
    }
}
