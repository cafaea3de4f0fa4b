//! Text of fields: numbers printed between literal bytes, row by row.

mod digits;
mod rows;

pub use rows::{Piece, TEXT_FIELDS, Text, TextRows};
