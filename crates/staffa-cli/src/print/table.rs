//! Tables in the terminal. The widths of columns are those of the first rows, so that any number of
//! rows can be printed.

use std::io::{IsTerminal, Write, stdout};

use arrow_array::RecordBatch;
use arrow_schema::{Field, SchemaRef};
use unicode_width::UnicodeWidthStr;

use super::cells::{cells, short_type};
use crate::error::Result;
use crate::terminal::text::{Align, padded, printable};

/// Rows whose widths are measured together.
const ROWS_AT_ONCE: usize = 1000;
/// The widest cell on a terminal, and elsewhere. The other formats cut nothing.
const CELL_WIDTH: (usize, usize) = (48, 120);
/// Prints batches of one schema below one header.
pub(crate) struct TablePrinter {
    columns: Vec<Column>,
    /// Columns of the terminal; None without a terminal, and then no column is left out.
    terminal: Option<usize>,
    started: bool,
}

struct Column {
    name: String,
    type_name: String,
    align: Align,
    width: usize,
    /// Whether the column fits the terminal.
    shown: bool,
}

impl Column {
    fn new(field: &Field) -> Self {
        let (name, type_name) = (printable(field.name()), short_type(field.data_type()));
        let align = if field.data_type().is_numeric() {
            Align::Right
        } else {
            Align::Left
        };
        Self {
            align,
            width: name.width().max(type_name.width()),
            shown: true,
            name,
            type_name,
        }
    }
}

impl TablePrinter {
    pub(crate) fn new(schema: &SchemaRef) -> Self {
        let terminal = if stdout().is_terminal() {
            terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
        } else {
            None
        };
        Self::with_width(schema, terminal)
    }

    fn with_width(schema: &SchemaRef, terminal: Option<usize>) -> Self {
        let fields = schema.fields().iter();
        Self {
            columns: fields.map(|field| Column::new(field)).collect(),
            terminal,
            started: false,
        }
    }

    pub(crate) fn print(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> Result<()> {
        let mut start = 0;
        while start < batch.num_rows() {
            let rows = ROWS_AT_ONCE.min(batch.num_rows() - start);
            self.print_rows(out, &batch.slice(start, rows))?;
            start += rows;
        }
        Ok(())
    }

    /// Prints the header of a table without rows, and mentions hidden columns.
    pub(crate) fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        if !self.started {
            self.header(out)?;
        }
        let hidden = self.columns.iter().filter(|column| !column.shown).count();
        if hidden > 0 {
            writeln!(
                out,
                "({hidden} of {} columns do not fit; --columns a,b selects columns)",
                self.columns.len()
            )?;
        }
        Ok(())
    }

    fn print_rows(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> Result<()> {
        let rows = self.cells(batch)?;
        for row in &rows {
            for (cell, column) in row.iter().zip(&mut self.columns) {
                column.width = column.width.max(cell.width());
            }
        }
        if !self.started {
            self.header(out)?;
        }
        rows.iter().try_for_each(|row| self.line(out, row))
    }

    /// The cells of each row.
    fn cells(&self, batch: &RecordBatch) -> Result<Vec<Vec<String>>> {
        let width = if self.terminal.is_some() {
            CELL_WIDTH.0
        } else {
            CELL_WIDTH.1
        };
        let mut rows = vec![Vec::with_capacity(batch.num_columns()); batch.num_rows()];
        for column in batch.columns() {
            for (row, cell) in rows.iter_mut().zip(cells(column, width)?) {
                row.push(cell.unwrap_or_else(|| "NULL".into()));
            }
        }
        Ok(rows)
    }

    fn header(&mut self, out: &mut dyn Write) -> Result<()> {
        self.started = true;
        self.hide_columns();
        let columns = self.columns.iter();
        let cells = |cell: fn(&Column) -> String| columns.clone().map(cell).collect::<Vec<_>>();
        self.line(out, &cells(|column| column.name.clone()))?;
        self.line(out, &cells(|column| column.type_name.clone()))?;
        self.line(out, &cells(|column| "─".repeat(column.width)))
    }

    /// Hides the columns in the middle that do not fit the terminal. Two of three shown columns are
    /// first ones, the others last ones.
    fn hide_columns(&mut self) {
        let needed: usize = self.columns.iter().map(|column| column.width + 2).sum();
        let Some(terminal) = self.terminal.filter(|terminal| needed > terminal + 2) else {
            return;
        };
        self.columns
            .iter_mut()
            .for_each(|column| column.shown = false);
        // The ellipsis in the gap takes one.
        let mut room = terminal.saturating_sub(1);
        let mut candidates = self.columns.iter_mut();
        for shown in 0.. {
            let next = if shown % 3 == 2 {
                candidates.next_back()
            } else {
                candidates.next()
            };
            let Some(column) = next.filter(|column| shown == 0 || column.width + 2 <= room) else {
                break;
            };
            room = room.saturating_sub(column.width + 2);
            column.shown = true;
        }
    }

    fn line(&self, out: &mut dyn Write, cells: &[String]) -> Result<()> {
        let mut line = String::new();
        let mut gap = false;
        for (column, cell) in self.columns.iter().zip(cells) {
            if !column.shown {
                gap = true;
                continue;
            }
            if std::mem::take(&mut gap) {
                line.push_str("…  ");
            }
            line.push_str(&padded(cell, column.width, column.align));
            line.push_str("  ");
        }
        if gap {
            line.push('…');
        }
        Ok(writeln!(out, "{}", line.trim_end())?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, StringArray};
    use arrow_schema::DataType;

    use super::*;

    fn batch() -> RecordBatch {
        let price: ArrayRef = Arc::new(Float64Array::from(vec![Some(9.5), None]));
        let name: ArrayRef = Arc::new(StringArray::from(vec![Some("tea\n"), Some("coffee")]));
        RecordBatch::try_from_iter_with_nullable([("price", price, true), ("name", name, true)])
            .unwrap()
    }

    fn printed(terminal: Option<usize>) -> String {
        let mut printer = TablePrinter::with_width(&batch().schema(), terminal);
        let mut out = Vec::new();
        printer.print(&mut out, &batch()).unwrap();
        printer.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_right_aligned_and_control_characters_escaped() {
        let expected =
            "  price  name\nFloat64  Utf8\n───────  ──────\n    9.5  tea\\n\n   NULL  coffee\n";
        assert_eq!(printed(None), expected);
    }

    #[test]
    fn hidden_columns_are_mentioned() {
        let text = printed(Some(12));
        assert!(text.starts_with("  price  …\n"), "{text}");
        assert!(
            text.ends_with("(1 of 2 columns do not fit; --columns a,b selects columns)\n"),
            "{text}"
        );
    }

    #[test]
    fn a_value_without_end_is_cut() {
        use arrow_array::{FixedSizeListArray, NullArray};

        let items: ArrayRef = Arc::new(NullArray::new(i32::MAX as usize));
        let item = Arc::new(Field::new("item", DataType::Null, true));
        let list = FixedSizeListArray::try_new(item, i32::MAX, items, None).unwrap();
        let batch = RecordBatch::try_from_iter([("n", Arc::new(list) as ArrayRef)]).unwrap();
        let mut out = Vec::new();
        let mut printer = TablePrinter::with_width(&batch.schema(), None);
        printer.print(&mut out, &batch).unwrap();
        let text = String::from_utf8(out).unwrap();
        let last = text.lines().last().unwrap();
        assert!(
            last.starts_with("[NULL, NULL") && last.ends_with('…'),
            "{last}"
        );
    }
}
