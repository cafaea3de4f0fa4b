//! Text above the view: help, or a cell at full length.

use ratatui::Frame;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

use crate::terminal::text::printable;

const HELP: &str = "\
1 to 5, Tab      rows, columns, encodings, zone maps, file
arrows, h j k l  move; PgUp, PgDn, Space: a page; Home, End, G: the first and last row
0, $             the first and last column
Enter            rows: the cell at full length; columns: its encodings; zone maps: the rows of a block
g                go to a row: 1000000, 50%
f                filter rows: price > 10 and city = 'Oban'; nothing: all rows
/, n, N          find a column by a part of its name, the next, the last
[, ]             encodings: the last and next row group
<, >             encodings, zone maps: the last and next column
Esc              close; stop a search; end a filter
?                this help
q, Ctrl-C        leave";

pub(super) struct Popup {
    title: String,
    text: String,
    top: u16,
}

impl Popup {
    pub(super) fn help() -> Self {
        Self::new("Keys".into(), HELP)
    }

    /// The text is escaped, but for its line ends.
    pub(super) fn new(title: String, text: &str) -> Self {
        let lines = text.split('\n').map(printable);
        Self {
            title,
            text: lines.collect::<Vec<_>>().join("\n"),
            top: 0,
        }
    }

    /// Scrolls; false if the key closes it.
    pub(super) fn key(&mut self, key: KeyCode) -> bool {
        match key {
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.top = self.top.saturating_add(1),
            KeyCode::PageUp => self.top = self.top.saturating_sub(10),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top = self.top.saturating_add(10),
            KeyCode::Home => self.top = 0,
            _ => return false,
        }
        true
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let margin = |size: u16| if size > 60 { size / 12 } else { 0 };
        let (x, y) = (margin(area.width), margin(area.height));
        let inner = Rect::new(
            area.x + x,
            area.y + y,
            area.width - 2 * x,
            area.height - 2 * y,
        );
        let width = usize::from(inner.width.saturating_sub(2)).max(1);
        let wrapped = self
            .text
            .split('\n')
            .map(|line| line.width().div_ceil(width).max(1));
        let hidden = wrapped
            .sum::<usize>()
            .saturating_sub(usize::from(inner.height.saturating_sub(2)));
        self.top = self.top.min(u16::try_from(hidden).unwrap_or(u16::MAX));
        let lines: Vec<Line<'_>> = self.text.split('\n').map(Line::raw).collect();
        let block = Block::bordered().title(format!(" {} ", self.title));
        let text = Paragraph::new(Text::from(lines))
            .block(block.title_bottom(" Esc closes "))
            .wrap(Wrap { trim: false })
            .scroll((self.top, 0));
        frame.render_widget(Clear, inner);
        frame.render_widget(text, inner);
    }
}
