//! Text of fields: numbers printed between literal bytes, row by row.
//!
//!   template = pieces: literal | decimal | fixed decimal | grouped decimal | hex | word of a list
//!   row      = the code of its template, and the next number of each slot of that template
//!
//! A slot holds one field, or several joined by mixed radix.

mod block;
mod columns;
mod digits;
mod numbers;
mod output;
mod parts;
mod print;
mod rows;
mod short;
mod template;
mod tiles;

pub use rows::Text;
pub use template::{Piece, TEXT_FIELDS, TextRows};
