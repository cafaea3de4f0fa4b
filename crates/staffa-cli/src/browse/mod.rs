//! `staffa browse`: rows, columns, encodings and zone maps of a file in the terminal.
//!
//! ```text
//! app       what is shown, and what a key does
//! rows  columns  encodings  zones  facts    one view each
//! source    the file: what the views read, and its errors as text
//! filter    rows that match, searched by a thread
//! grid      a table with a cursor, which the views draw
//! popup     help, and a cell at full length
//! ```
//!
//! All text of the file goes through `printable` before it reaches the terminal. An error of the file
//! stands where its values would.

mod app;
mod columns;
mod encodings;
mod facts;
mod filter;
mod grid;
mod popup;
mod prompt;
mod rows;
mod source;
#[cfg(test)]
mod tests;
mod zones;

use std::io::{self, IsTerminal, stdin, stdout};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use self::app::App;
use self::source::Source;
use crate::error::{Exit, Failure, Result};
use crate::report::About;
use crate::terminal::interrupt;

/// How long a key is waited for, before signals and the search are looked at.
const WAIT: Duration = Duration::from_millis(150);

/// Shows a file until the user leaves.
pub(crate) fn run(file: staffa::File, about: About) -> Result<()> {
    interrupt::catch();
    let mut app = App::new(Source::new(file, about));
    let fail = |error: io::Error| Failure::io("the terminal", &error);
    // A panic restores the terminal before it is reported.
    let mut terminal = ratatui::try_init().map_err(fail)?;
    let _restored = Restored;
    interrupt::at_end(ratatui::restore);
    show(&mut terminal, &mut app)
}

/// Restores the terminal when the browser ends, whatever ends it.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// An error if there is no terminal to draw on and to read keys from.
pub(crate) fn check_terminal() -> Result<()> {
    if stdin().is_terminal() && stdout().is_terminal() {
        return Ok(());
    }
    Err(Failure::usage(
        "browse needs a terminal, as its standard input and output; `staffa head` and `staffa inspect` print",
    ))
}

fn show(terminal: &mut DefaultTerminal, app: &mut App) -> Result<()> {
    let fail = |error: io::Error| Failure::io("the terminal", &error);
    let mut changed = true;
    loop {
        // Asked before the picture: what a search found that ends meanwhile is drawn once more.
        let searching = app.is_searching();
        if changed {
            terminal.draw(|frame| app.draw(frame)).map_err(fail)?;
        }
        changed = searching;
        // All keys that wait, before the next picture.
        let mut wait = WAIT;
        while event::poll(wait).map_err(fail)? {
            wait = Duration::ZERO;
            changed = true;
            match event::read().map_err(fail)? {
                Event::Key(key) if key.kind != KeyEventKind::Release => app.key(key),
                _ => {}
            }
        }
        if let Err(failure) = interrupt::check() {
            return Err(Failure::reported(failure.exit));
        }
        match app.leaves() {
            Some(Exit::Ok) => return Ok(()),
            Some(exit) => return Err(Failure::reported(exit)),
            None => {}
        }
    }
}
