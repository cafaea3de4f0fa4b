//! The program `staffa`: convert, inspect, verify and benchmark tables.
//!
//! ```text
//! cli          commands and their arguments
//! commands     one file per command
//! browse       the browser in the terminal
//! report       the HTML report            bench   Staffa and Parquet measured
//! print        rows and JSON on stdout    trees   encoding trees, grouped by shape
//! dataset      several files, read as one table
//! formats      Staffa, Parquet, CSV, JSON lines, Arrow IPC: one file each
//! files        inputs; outputs that appear whole or not at all
//! terminal     numbers as text, progress, Ctrl-C
//! error        failures and exit codes
//! ```
//!
//! A room uses only rooms below it; `tests/rooms.rs` checks that.
//!
//! This is a library, because the Python package contains the same program.

#![forbid(unsafe_code)]

mod bench;
mod browse;
mod cli;
mod commands;
mod dataset;
mod error;
mod files;
mod formats;
mod print;
mod report;
mod terminal;
mod trees;

use std::ffi::OsString;
use std::io::Write;

use crate::error::Exit;

/// Runs the program with these arguments, of which the first is its name; returns the exit code.
pub fn main(arguments: &[OsString]) -> u8 {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(|place| format!(" at {}:{}", place.file(), place.line()))
            .unwrap_or_default();
        let message = panic.payload_as_str().unwrap_or("no message");
        print_error(&format!(
            "staffa: internal error{place}: {message}; please report it with the file that caused it"
        ));
    }));
    let done = std::panic::catch_unwind(|| cli::run(arguments));
    // What was read of object stores is for the next run.
    #[cfg(feature = "stores")]
    staffa_lake::DiskCache::flush_process();
    match done {
        // The hook has reported it.
        Err(_) => Exit::Internal as u8,
        Ok(Ok(())) => 0,
        Ok(Err(failure)) => {
            if !failure.message.is_empty() {
                print_error(&failure.to_string());
            }
            failure.exit as u8
        }
    }
}

/// Prints a line on stderr; an error of that cannot be reported.
fn print_error(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
