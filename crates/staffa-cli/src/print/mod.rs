//! Rows on the standard output.

pub(crate) mod table;
