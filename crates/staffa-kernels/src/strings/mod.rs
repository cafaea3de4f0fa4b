//! Kernels of byte strings, and Arrow arrays over memory that was checked here.
//!
//! ```text
//! copy       copies of short strings, wider than they are
//! dict       dictionaries of strings: codes to strings
//! tokens     dictionaries of short tokens
//! matcher    the longest of many tokens at a place of a text
//! fsst       symbol codes to strings
//! front      shared prefixes and suffixes to strings
//! text       numbers and literals to rows of text
//! filter     strings whose bit is set
//! prefix     strings to bits: which begin with a prefix
//! inline     strings that a view holds itself
//! offsets    lengths to offsets; offsets that do not decrease
//! utf8       which bytes are text
//! plain      strings with offsets, built in parallel
//! views      string views, built in parallel
//! ```

mod copy;
mod dict;
mod filter;
mod front;
mod fsst;
mod inline;
mod matcher;
mod offsets;
mod plain;
mod prefix;
mod text;
mod tokens;
mod utf8;
mod views;

pub use dict::{BytesDict, BytesDictBuilder};
pub use filter::filter_strings;
pub use front::join_prefixes;
pub use fsst::FsstTable;
pub use matcher::{LONGEST_TOKEN, TOKENS_AT_ONCE, TokenMatch, TokenMatcher};
pub use offsets::{lengths_to_offsets_i32, lengths_to_offsets_i64, rising_offsets};
pub use plain::{PlainStrings, StringSlot, StringsError};
pub use prefix::begin_with;
pub use text::{Piece, TEXT_FIELDS, Text, TextRows};
pub use tokens::{TOKEN_GROUP, TokenRows};
pub use utf8::text_array;
pub use views::{StringViews, ViewSlot, ViewStrings};
