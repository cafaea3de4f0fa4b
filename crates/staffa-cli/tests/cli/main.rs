//! The program as a user meets it: run on small tables, its output checked.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::format_push_string
)]

mod bad_input;
mod convert;
mod copies;
mod failures;
mod inputs;
mod interrupts;
mod print;
mod program;
mod round_trips;
mod tables;
mod tables_compared;
mod types;
