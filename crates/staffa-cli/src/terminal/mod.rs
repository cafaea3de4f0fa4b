//! What the terminal shows: numbers as text, tables, progress; and Ctrl-C.

pub(crate) mod interrupt;
pub(crate) mod progress;
pub(crate) mod text;

use std::io::{Write, stderr};

/// Says something on stderr that is no failure.
pub(crate) fn note(what: &str) {
    // An error of stderr cannot be reported.
    let _ = writeln!(stderr(), "staffa: note: {}", text::printable(what));
}
