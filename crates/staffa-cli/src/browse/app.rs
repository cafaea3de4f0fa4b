//! What is shown, and what a key does.

use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Wrap};

use super::encodings::{self, Encodings};
use super::facts;
use super::filter::{Filter, State};
use super::grid::{BOLD, Cursor, DIM, ERROR};
use super::popup::Popup;
use super::prompt::{Input, Prompt, Purpose, row};
use super::rows::Rows;
use super::source::{Shown, Source};
use super::{columns, zones};
use crate::error::Exit;
use crate::terminal::text::{bytes, printable};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Rows,
    Columns,
    Encodings,
    Zones,
    File,
}

const VIEWS: [(View, &str); 5] = [
    (View::Rows, "1 Rows"),
    (View::Columns, "2 Columns"),
    (View::Encodings, "3 Encodings"),
    (View::Zones, "4 Zone maps"),
    (View::File, "5 File"),
];

pub(super) struct App {
    source: Source,
    view: View,
    rows: Rows,
    /// Its row is the leaf that the other views show.
    columns: Cursor,
    encodings: Encodings,
    zones: Cursor,
    file_top: u16,
    prompt: Option<Prompt>,
    popup: Option<Popup>,
    message: Option<String>,
    /// The last part of a name that was looked for.
    wanted: String,
    leaves: Option<Exit>,
}

impl App {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            view: View::Rows,
            rows: Rows::default(),
            columns: Cursor::default(),
            encodings: Encodings::default(),
            zones: Cursor::default(),
            file_top: 0,
            prompt: None,
            popup: None,
            message: None,
            wanted: String::new(),
            leaves: None,
        }
    }

    /// The exit code, once the user wants to leave.
    pub(super) fn leaves(&self) -> Option<Exit> {
        self.leaves
    }

    pub(super) fn is_searching(&self) -> bool {
        let state = self.rows.filter.as_ref().map(Filter::state);
        matches!(state, Some(State::Searching(_)))
    }

    pub(super) fn key(&mut self, key: KeyEvent) {
        self.message = None;
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            self.leaves = Some(Exit::Interrupted);
            return;
        }
        if let Some(popup) = &mut self.popup {
            if !popup.key(key.code) {
                self.popup = None;
            }
            return;
        }
        if let Some(prompt) = &mut self.prompt {
            let input = prompt.key(key);
            if input != Input::More {
                let prompt = self.prompt.take().filter(|_| input == Input::Given);
                let done = prompt.map_or(Ok(()), |prompt| self.given(&prompt));
                self.message = done.err();
            }
            return;
        }
        if !self.global_key(key.code) {
            self.view_key(key.code);
        }
    }

    /// What a key does in every view; false for other keys.
    fn global_key(&mut self, key: KeyCode) -> bool {
        match key {
            KeyCode::Char('q') => self.leaves = Some(Exit::Ok),
            KeyCode::Char('?') => self.popup = Some(Popup::help()),
            KeyCode::Char(digit @ '1'..='5') => {
                let at = digit as usize - '1' as usize;
                VIEWS.get(at).iter().for_each(|(view, _)| self.show(*view));
            }
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(VIEWS.len() - 1),
            KeyCode::Char('g') => self.ask(Purpose::GoTo, String::new()),
            KeyCode::Char('f') => {
                let text = self.rows.filter.as_ref().map(|filter| filter.text.clone());
                self.ask(Purpose::Filter, text.unwrap_or_default());
            }
            KeyCode::Char('/') => self.ask(Purpose::Find, String::new()),
            KeyCode::Char('n') => self.message = self.find(true).err(),
            KeyCode::Char('N') => self.message = self.find(false).err(),
            KeyCode::Char('>') => self.move_leaf(1),
            KeyCode::Char('<') => self.move_leaf(-1),
            KeyCode::Esc if self.view == View::Rows => {
                if self.rows.filter.is_some() {
                    self.message = self.rows.set_filter(&self.source, "").err();
                }
            }
            _ => return false,
        }
        true
    }

    fn view_key(&mut self, key: KeyCode) {
        let leaf = self.leaf();
        match (self.view, key) {
            (View::Rows, KeyCode::Enter) => {
                let cell = self.rows.cell(&self.source);
                self.popup = cell.map(|(title, text)| Popup::new(title, &text));
            }
            (View::Columns, KeyCode::Enter) => self.show(View::Encodings),
            (View::Encodings, KeyCode::Char('[')) => {
                self.encodings.row_group = self.encodings.row_group.saturating_sub(1);
            }
            (View::Encodings, KeyCode::Char(']')) => self.encodings.row_group += 1,
            (View::Zones, KeyCode::Enter) => {
                if let Some(row) = zones::first_row(&self.source, leaf, self.zones.row) {
                    self.show(View::Rows);
                    self.rows.go_to(row, &self.source);
                }
            }
            (View::Rows, _) => drop(self.rows.key(key, &self.source)),
            (View::Columns, _) => {
                let count = self.source.leaves().len() as u64;
                self.columns.key(key, count, columns::COUNT);
            }
            (View::Encodings, _) => {
                let count = self.encodings.count();
                self.encodings.cursor.key(key, count, encodings::COUNT);
            }
            (View::Zones, _) => {
                let count = zones::count(&self.source, leaf);
                self.zones.key(key, count, zones::COUNT);
            }
            (View::File, KeyCode::Up) => self.file_top = self.file_top.saturating_sub(1),
            (View::File, KeyCode::Down) => self.file_top = self.file_top.saturating_add(1),
            (View::File, _) => {}
        }
    }

    fn ask(&mut self, purpose: Purpose, text: String) {
        self.prompt = Some(Prompt { purpose, text });
    }

    fn given(&mut self, prompt: &Prompt) -> Shown<()> {
        match prompt.purpose {
            Purpose::GoTo => {
                let row = row(&prompt.text, self.source.file.num_rows())?;
                self.show(View::Rows);
                self.rows.go_to(row, &self.source);
                Ok(())
            }
            Purpose::Filter => {
                self.show(View::Rows);
                self.rows.set_filter(&self.source, &prompt.text)
            }
            Purpose::Find => {
                self.wanted.clone_from(&prompt.text);
                self.find(true)
            }
        }
    }

    /// Moves to the next or last column whose name has the wanted part.
    fn find(&mut self, forward: bool) -> Shown<()> {
        let wanted = self.wanted.to_lowercase();
        let leaves = self.source.leaves();
        let is_wanted = |at: &usize| {
            let leaf = leaves.get(*at);
            leaf.is_some_and(|leaf| leaf.path.to_lowercase().contains(&wanted))
        };
        let own = self.leaf();
        let mut after = (own + 1..leaves.len()).chain(0..=own);
        let found = if forward {
            after.find(is_wanted)
        } else {
            after.rev().skip(1).chain([own]).find(is_wanted)
        };
        match found {
            Some(leaf) => {
                self.set_leaf(leaf);
                Ok(())
            }
            None => Err(format!("no column has {:?} in its name", self.wanted)),
        }
    }

    fn turn(&mut self, by: usize) {
        let at = VIEWS.iter().position(|(view, _)| *view == self.view);
        let next = VIEWS.iter().cycle().nth(at.unwrap_or(0) + by);
        next.iter().for_each(|(view, _)| self.show(*view));
    }

    /// The column of the rows and the leaf of the other views go together.
    fn show(&mut self, view: View) {
        if self.view == View::Rows && view != View::Rows {
            let leaf = self.leaf();
            self.columns.row = leaf as u64;
            if let Some(row) = self.rows.number(&self.source) {
                self.encodings.row_group = self.row_group_of(row);
            }
        } else if view == View::Rows {
            let leaf = self.source.leaves().get(self.leaf());
            self.rows.cursor.column = leaf.map_or(0, |leaf| leaf.field);
        }
        self.view = view;
    }

    fn row_group_of(&self, row: u64) -> usize {
        let groups = self
            .source
            .inspection()
            .map(|inspection| &inspection.row_groups);
        groups.map_or(0, |groups| {
            groups
                .partition_point(|group| group.first_row <= row)
                .saturating_sub(1)
        })
    }

    /// The leaf that is looked at.
    fn leaf(&self) -> usize {
        if self.view != View::Rows {
            return self.columns.row as usize;
        }
        let field = self.rows.cursor.column;
        // Of a nested column the one that was looked at, or the first.
        let own = self.source.leaves().get(self.columns.row as usize);
        if own.is_some_and(|leaf| leaf.field == field) {
            return self.columns.row as usize;
        }
        let mut leaves = self.source.leaves().iter();
        leaves.position(|leaf| leaf.field == field).unwrap_or(0)
    }

    fn set_leaf(&mut self, leaf: usize) {
        self.columns.row = leaf as u64;
        if self.view == View::Rows {
            let field = self.source.leaves().get(leaf).map(|leaf| leaf.field);
            self.rows.cursor.column = field.unwrap_or(0);
        }
    }

    fn move_leaf(&mut self, by: i64) {
        let last = self.source.leaves().len().saturating_sub(1);
        let leaf = self.leaf().saturating_add_signed(by as isize).min(last);
        self.set_leaf(leaf);
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        if area.height < 4 || area.width < 10 {
            return;
        }
        let line = |y: u16| Rect::new(area.x, area.y + y, area.width, 1);
        self.draw_tabs(frame, line(0));
        let body = Rect::new(area.x, area.y + 2, area.width, area.height - 3);
        let (status, shown) = self.draw_view(frame, body);
        let status = Line::styled(format!(" {status}"), DIM);
        frame.render_widget(status, line(1));
        if let Err(error) = shown {
            let text = Paragraph::new(printable(&error)).style(ERROR);
            frame.render_widget(text.wrap(Wrap { trim: true }), body);
        }
        self.draw_foot(frame, line(area.height - 1));
        if let Some(popup) = &mut self.popup {
            popup.draw(frame, area);
        }
    }

    fn draw_tabs(&self, frame: &mut Frame<'_>, area: Rect) {
        let selected = Style::new().add_modifier(Modifier::REVERSED);
        let mut x = area.x;
        let mut put = |text: &str, style: Style| {
            let room = usize::from(area.right().saturating_sub(x));
            (x, _) = frame.buffer_mut().set_stringn(x, area.y, text, room, style);
        };
        for (view, name) in VIEWS {
            let style = if view == self.view {
                selected
            } else {
                Style::new()
            };
            put(&format!(" {name} "), style);
        }
        let file = bytes(self.source.file.nbytes());
        put(&format!("  {}", printable(&self.source.about.name)), BOLD);
        put(&format!("  {file}"), DIM);
    }

    /// Draws the view; returns the line above it, or the error in its place.
    fn draw_view(&mut self, frame: &mut Frame<'_>, area: Rect) -> (String, Shown<()>) {
        if self.view == View::Rows {
            // Needs no index of a column that is not in sight.
            self.rows.draw(frame, area, &self.source);
            return (self.rows.status(&self.source), Ok(()));
        }
        let leaf = self.leaf();
        let source = &self.source;
        let path = source.leaves().get(leaf).map(|leaf| printable(&leaf.path));
        let path = path.unwrap_or_default();
        match self.view {
            View::Columns => {
                columns::draw(frame, area, &mut self.columns, source);
                let damaged = source.inspection().err();
                let status = format!("column {} of {}", leaf + 1, source.leaves().len());
                (damaged.map_or(status, |error| printable(error)), Ok(()))
            }
            View::Encodings => {
                let shown = self.encodings.draw(frame, area, source, leaf);
                let (group, groups) = (self.encodings.row_group, source.file.num_row_groups());
                let last = groups.saturating_sub(1);
                (
                    format!(
                        "{path} · row group {group} of 0 to {last} · [ and ] others, < and > columns"
                    ),
                    shown,
                )
            }
            View::Zones => {
                let shown = zones::draw(frame, area, &mut self.zones, source, leaf);
                let count = zones::count(source, leaf);
                (
                    format!(
                        "{path} · {count} blocks · Enter shows the rows, < and > other columns"
                    ),
                    shown,
                )
            }
            View::Rows | View::File => {
                let lines = facts::lines(source);
                self.file_top = self.file_top.min(lines.len().saturating_sub(1) as u16);
                let lines: Vec<Line<'_>> = lines.into_iter().map(Line::raw).collect();
                let text = Paragraph::new(lines).wrap(Wrap { trim: false });
                frame.render_widget(text.scroll((self.file_top, 0)), area);
                (String::new(), Ok(()))
            }
        }
    }

    fn draw_foot(&self, frame: &mut Frame<'_>, area: Rect) {
        let (text, style) = match (&self.prompt, &self.message) {
            (Some(prompt), _) => {
                let text = format!("{}{}", prompt.label(), printable(&prompt.text));
                (format!("{text}█"), BOLD)
            }
            (None, Some(message)) => (printable(message), ERROR),
            (None, None) => {
                let keys = "? help   g go to row   f filter   / find column   Enter open   q leave";
                (keys.into(), DIM)
            }
        };
        // The end of a long input is what is being typed.
        let room = usize::from(area.width);
        let skip = if self.prompt.is_some() {
            text.chars().count().saturating_sub(room)
        } else {
            0
        };
        let text: String = text.chars().skip(skip).collect();
        frame.render_widget(Line::styled(text, style), area);
    }
}
