//! What the terminal shows: numbers as text, tables, progress; and Ctrl-C.

pub(crate) mod interrupt;
pub(crate) mod progress;
pub(crate) mod text;
