//! A table with a cursor: the first column stays, the others scroll sideways.

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthStr;

use crate::terminal::text::{Align, padded, shortened};

/// Widest column, and the space between two.
const WIDEST: usize = 40;
const GAP: usize = 2;

pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub(super) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(super) const ERROR: Style = Style::new().fg(Color::Red);

/// The place in a table, and the part of it that is shown.
#[derive(Debug, Default, Clone)]
pub(super) struct Cursor {
    pub(super) row: u64,
    pub(super) top: u64,
    pub(super) column: usize,
    left: usize,
    /// Rows that the last picture had.
    height: u64,
}

impl Cursor {
    /// Moves in a table of so many rows and columns; false for other keys.
    pub(super) fn key(&mut self, key: KeyCode, rows: u64, columns: usize) -> bool {
        let page = self.height.max(2) - 1;
        match key {
            KeyCode::Up | KeyCode::Char('k') => self.row = self.row.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.row = self.row.saturating_add(1),
            KeyCode::PageUp => self.row = self.row.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char(' ') => self.row = self.row.saturating_add(page),
            KeyCode::Home => self.row = 0,
            KeyCode::End | KeyCode::Char('G') => self.row = u64::MAX,
            KeyCode::Left | KeyCode::Char('h') => self.column = self.column.saturating_sub(1),
            KeyCode::Right | KeyCode::Char('l') => self.column += 1,
            KeyCode::Char('0' | '^') => self.column = 0,
            KeyCode::Char('$') => self.column = usize::MAX,
            _ => return false,
        }
        self.row = self.row.min(rows.saturating_sub(1));
        self.column = self.column.min(columns.saturating_sub(1));
        true
    }

    /// Scrolls so that the row is among `height` rows of `rows`.
    pub(super) fn scroll(&mut self, height: u64, rows: u64) {
        self.height = height;
        self.row = self.row.min(rows.saturating_sub(1));
        let last_top = rows.saturating_sub(height.max(1));
        self.top = self.top.min(self.row).min(last_top);
        if self.row >= self.top + height {
            self.top = self.row + 1 - height.max(1);
        }
    }
}

/// A column of the visible rows.
#[derive(Debug, Clone, Default)]
pub(super) struct GridColumn {
    pub(super) name: String,
    /// Below the name; no line if no column has one.
    pub(super) note: String,
    pub(super) right: bool,
    pub(super) cells: Vec<(String, Style)>,
}

impl GridColumn {
    pub(super) fn new(name: &str, right: bool, cells: Vec<String>) -> Self {
        Self {
            name: name.into(),
            note: String::new(),
            right,
            cells: cells.into_iter().map(|cell| (cell, Style::new())).collect(),
        }
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|(text, _)| text.width());
        let widest = cells.max().unwrap_or(0);
        widest
            .max(self.name.width())
            .max(self.note.width())
            .clamp(1, WIDEST)
    }

    fn align(&self) -> Align {
        if self.right {
            Align::Right
        } else {
            Align::Left
        }
    }
}

/// Rows below a header of so many lines.
pub(super) fn body_height(area: Rect, header: u16) -> u64 {
    u64::from(area.height.saturating_sub(header))
}

/// Draws the first column, and of `count` others those that fit, the cursor's among them; `column`
/// makes a column when it is needed. `header` is the number of lines above the rows.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    cursor: &mut Cursor,
    first: &GridColumn,
    count: usize,
    header: u16,
    column: &mut dyn FnMut(usize) -> GridColumn,
) {
    let room = usize::from(area.width);
    let first_width = first.width().min(room);
    draw_column(buffer, area, first, 0, first_width, header);
    cursor.column = cursor.column.min(count.saturating_sub(1));
    let mut made: BTreeMap<usize, GridColumn> = BTreeMap::new();
    let start = first_width + GAP;
    scroll_sideways(cursor, room.saturating_sub(start), &mut made, column);
    let (mut x, mut index) = (start, cursor.left);
    while x < room && index < count {
        let shown = made.entry(index).or_insert_with(|| column(index));
        let width = shown.width().min(room - x);
        draw_column(buffer, area, shown, x, width, header);
        if index == cursor.column {
            mark(buffer, area, x, width, header, cursor);
        }
        x += width + GAP;
        index += 1;
    }
    mark_row(buffer, area, header, cursor);
    mark(buffer, area, 0, first_width, header, cursor);
}

/// Moves the left edge so that the column of the cursor fits.
fn scroll_sideways(
    cursor: &mut Cursor,
    room: usize,
    made: &mut BTreeMap<usize, GridColumn>,
    column: &mut dyn FnMut(usize) -> GridColumn,
) {
    let mut used = 0;
    let mut index = cursor.column;
    cursor.left = cursor.left.min(cursor.column);
    while index > cursor.left {
        used += made.entry(index).or_insert_with(|| column(index)).width() + GAP;
        let before = made.entry(index - 1).or_insert_with(|| column(index - 1));
        if used + before.width() > room {
            cursor.left = index;
            return;
        }
        index -= 1;
    }
}

fn draw_column(
    buffer: &mut Buffer,
    area: Rect,
    column: &GridColumn,
    x: usize,
    width: usize,
    header: u16,
) {
    let x = area.x.saturating_add(x as u16);
    let mut line = |y: u16, text: &str, style: Style| {
        if y < area.height {
            let text = padded(&shortened(text, width), width, column.align());
            buffer.set_stringn(x, area.y + y, text, width, style);
        }
    };
    line(0, &column.name, BOLD);
    if header > 1 {
        line(1, &column.note, DIM);
    }
    for ((text, style), y) in column.cells.iter().zip(header..) {
        line(y, text, *style);
    }
}

/// The line of the cursor on the screen, if it is there.
fn line_of(area: Rect, header: u16, cursor: &Cursor) -> Option<u16> {
    let line = header.checked_add(u16::try_from(cursor.row - cursor.top).ok()?)?;
    (line < area.height).then_some(area.y + line)
}

fn mark(buffer: &mut Buffer, area: Rect, x: usize, width: usize, header: u16, cursor: &Cursor) {
    let Some(y) = line_of(area, header, cursor) else {
        return;
    };
    let cell = Rect::new(area.x + x as u16, y, width as u16, 1);
    buffer.set_style(cell, Style::new().add_modifier(Modifier::REVERSED));
}

fn mark_row(buffer: &mut Buffer, area: Rect, header: u16, cursor: &Cursor) {
    if let Some(y) = line_of(area, header, cursor) {
        let line = Rect::new(area.x, y, area.width, 1);
        buffer.set_style(line, BOLD);
    }
}
