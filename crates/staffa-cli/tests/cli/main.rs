//! The program as a user meets it: run on small tables, its output checked.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::format_push_string
)]

mod convert;
mod failures;
mod inputs;
mod print;
mod program;
mod tables;
mod tables_compared;
mod types;
