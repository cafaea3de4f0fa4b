//! The rows: any of them at once, by random access. A window around those that are visible is read,
//! column by column as they come into sight.

use std::collections::HashMap;

use arrow_array::ArrayRef;
use arrow_schema::Field;
use ratatui::Frame;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::filter::{Filter, State};
use super::grid::{self, Cursor, DIM, ERROR, GridColumn};
use super::source::{Shown, Source};
use crate::print::{cells, short_type, whole_cell};
use crate::terminal::text::{counted, number, printable};

/// Rows of a window, if a row is not large.
const WINDOW: u64 = 512;
const LARGE: u64 = 16 << 10;
/// Widest cell.
const WIDTH: usize = 40;
/// Bytes of a cell that are shown whole.
const WHOLE: usize = 256 << 10;
/// The name and the type above the rows.
const HEADER: u16 = 2;

#[derive(Default)]
pub(super) struct Rows {
    pub(super) cursor: Cursor,
    pub(super) filter: Option<Filter>,
    window: Window,
}

/// Rows by number, and their columns as far as they were needed.
#[derive(Default)]
struct Window {
    first: u64,
    numbers: Vec<u64>,
    columns: HashMap<usize, Shown<ArrayRef>>,
}

impl Rows {
    /// Rows of the table, or of those that match.
    pub(super) fn count(&self, source: &Source) -> u64 {
        match &self.filter {
            Some(filter) => filter.count(),
            None => source.file.num_rows(),
        }
    }

    pub(super) fn key(&mut self, key: KeyCode, source: &Source) -> bool {
        let columns = source.file.schema().fields().len();
        self.cursor.key(key, self.count(source), columns)
    }

    /// Starts a filter, or ends it with an empty text.
    pub(super) fn set_filter(&mut self, source: &Source, text: &str) -> Shown<()> {
        let text = text.trim();
        let filter = match text {
            "" => None,
            _ => Some(Filter::start(&source.file, text)?),
        };
        // The row stays in sight.
        let row = self.number(source).unwrap_or(0);
        self.filter = filter;
        self.window = Window::default();
        self.cursor.row = if self.filter.is_some() { 0 } else { row };
        Ok(())
    }

    /// The number of the row of the cursor in the table.
    pub(super) fn number(&self, source: &Source) -> Option<u64> {
        let number = match &self.filter {
            Some(filter) => filter.rows(self.cursor.row, 1).first().copied(),
            None => Some(self.cursor.row),
        };
        number.filter(|row| *row < source.file.num_rows())
    }

    /// Goes to a row of the table, or the first after it that matches.
    pub(super) fn go_to(&mut self, row: u64, source: &Source) {
        let position = match &self.filter {
            Some(filter) => filter.position(row),
            None => row,
        };
        self.cursor.row = position.min(self.count(source).saturating_sub(1));
    }

    /// The cell of the cursor at full length: a title, and lines.
    pub(super) fn cell(&self, source: &Source) -> Option<(String, String)> {
        let row = self.number(source)?;
        let column = self.cursor.column;
        let field = source.file.schema().fields().get(column)?;
        let text = source
            .read(&[row], column)
            .and_then(|array| whole_cell(&array, 0, WHOLE).map_err(|failure| failure.to_string()));
        let text = match text {
            Ok(Some(text)) if text.is_cut => {
                format!("{}\n… (cut after {WHOLE} bytes)", text.start)
            }
            Ok(Some(text)) => text.start,
            Ok(None) => "NULL".into(),
            Err(error) => error,
        };
        let title = format!("{}, row {}", printable(field.name()), number(row));
        Some((title, text))
    }

    /// What the line above the rows says.
    pub(super) fn status(&self, source: &Source) -> String {
        let all = source.file.num_rows();
        let fields = source.file.schema().fields();
        let column = fields.get(self.cursor.column);
        let column = column.map_or_else(String::new, |field| {
            let (at, of) = (self.cursor.column + 1, fields.len());
            format!(" · column {at} of {of}: {}", printable(field.name()))
        });
        let row = match self.number(source) {
            Some(row) => format!("row {} of {}", number(row), counted(all, "row")),
            None => counted(all, "row"),
        };
        let filter = self.filter.as_ref().map_or_else(String::new, |filter| {
            let found = counted(filter.count(), "matching row");
            let state = match filter.state() {
                State::Searching(seen) => {
                    format!(", {}% searched (Esc stops)", seen * 100 / all.max(1))
                }
                State::Ended => String::new(),
                State::Full => ", there are more".into(),
                State::Failed(error) => format!(", then: {}", printable(&error)),
            };
            format!(" · {found}{state}: {}", printable(&filter.text))
        });
        format!("{row}{column}{filter}")
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, source: &Source) {
        let height = grid::body_height(area, HEADER);
        let count = self.count(source);
        self.cursor.scroll(height, count);
        let shown = height.min(count - self.cursor.top);
        self.window
            .move_to(self.cursor.top, shown, source, self.filter.as_ref());
        let skip = (self.cursor.top - self.window.first) as usize;
        let numbers = self.window.numbers.iter().skip(skip).take(shown as usize);
        let mut first = GridColumn::new("row", true, numbers.map(|row| number(*row)).collect());
        first.cells.iter_mut().for_each(|(_, style)| *style = DIM);
        let fields = source.file.schema().fields().clone();
        let window = &mut self.window;
        let mut column = |index: usize| match fields.get(index) {
            Some(field) => window.column(index, field, skip, shown as usize, source),
            None => GridColumn::default(),
        };
        let buffer = frame.buffer_mut();
        let cursor = &mut self.cursor;
        grid::draw(
            buffer,
            area,
            cursor,
            &first,
            fields.len(),
            HEADER,
            &mut column,
        );
    }
}

impl Window {
    /// Holds at least these rows.
    fn move_to(&mut self, first: u64, count: u64, source: &Source, filter: Option<&Filter>) {
        let end = self.first + self.numbers.len() as u64;
        if first >= self.first && first + count <= end {
            return;
        }
        let before = WINDOW.saturating_sub(count) / 2;
        self.first = first.saturating_sub(before);
        let length = WINDOW.max(count + before);
        self.columns.clear();
        self.numbers = match filter {
            Some(filter) => filter.rows(self.first, length),
            None => (self.first..(self.first + length).min(source.file.num_rows())).collect(),
        };
    }

    /// A column of the visible rows, which begin after `skip` rows of the window.
    fn column(
        &mut self,
        index: usize,
        field: &Field,
        skip: usize,
        count: usize,
        source: &Source,
    ) -> GridColumn {
        let visible = self.numbers.get(skip..skip + count).unwrap_or_default();
        let array = if source.bytes_per_row(index) > LARGE {
            source.read(visible, index)
        } else {
            let numbers = &self.numbers;
            let read = || source.read(numbers, index);
            let window = self.columns.entry(index).or_insert_with(read);
            window.clone().map(|array| array.slice(skip, count))
        };
        let texts =
            array.and_then(|array| cells(&array, WIDTH).map_err(|failure| failure.to_string()));
        let cells = match texts {
            Ok(texts) => texts
                .into_iter()
                .map(|text| match text {
                    Some(text) => (text, Style::new()),
                    None => ("NULL".into(), DIM),
                })
                .collect(),
            Err(error) => vec![(printable(&error), ERROR); count],
        };
        GridColumn {
            name: printable(field.name()),
            note: short_type(field.data_type()),
            right: field.data_type().is_numeric(),
            cells,
        }
    }
}
