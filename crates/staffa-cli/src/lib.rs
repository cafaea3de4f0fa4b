//! The program `staffa`: convert tables, look into files, verify and measure them.
//!
//! The way of a row: `inputs` opens files of any of the `formats` and agrees on a schema, `rows`
//! keeps what is wanted, a command takes the batches, `output` makes a file of them or nothing.
//! `error` says what each exit code means.
//!
//! A library, so that the Python package has the same program.

#![forbid(unsafe_code)]

mod bench;
mod cli;
mod commands;
mod dataset;
mod error;
mod files;
mod formats;
mod print;
mod report;
mod terminal;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser;
use clap::error::ErrorKind;

use crate::cli::Cli;
use crate::error::{Exit, Failure, Result};

/// Runs the program with these arguments, of which the first is its name; the exit code.
pub fn main(arguments: &[OsString]) -> u8 {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(|at| format!(" at {}:{}", at.file(), at.line()))
            .unwrap_or_default();
        let what = panic.payload_as_str().unwrap_or("no message");
        complain(&format!(
            "staffa: internal error{place}: {what}; please report it with the file that caused it"
        ));
    }));
    match run(arguments) {
        Ok(()) => 0,
        Err(failure) => {
            if !failure.message.is_empty() {
                complain(&failure.to_string());
            }
            failure.exit as u8
        }
    }
}

fn run(arguments: &[OsString]) -> Result<()> {
    match Cli::try_parse_from(arguments) {
        Ok(cli) => commands::run(cli.command),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            ) =>
        {
            Ok(error.print()?)
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            error.print()?;
            Err(Failure {
                exit: Exit::Usage,
                message: String::new(),
            })
        }
        Err(error) => Err(Failure::usage(sentence(
            &error.render().to_string(),
            arguments,
        ))),
    }
}

/// Clap's message without its label and the usage below it.
fn sentence(message: &str, arguments: &[OsString]) -> String {
    let what = message.trim_start_matches("error: ");
    let what = what.split("\n\nUsage:").next().unwrap_or(what);
    let what = what
        .split("\n\nFor more information")
        .next()
        .unwrap_or(what);
    // A tip that offers another spelling is worth its place, one on how to pass hyphens is not.
    let (what, tip) = what.split_once("\n\n  tip: ").unwrap_or((what, ""));
    let tip = if tip.is_empty() || tip.starts_with("to pass") {
        String::new()
    } else {
        format!("; {tip}")
    };
    let what = format!("{what}{tip}")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let command = arguments
        .get(1)
        .and_then(|name| name.to_str())
        .filter(|name| !name.starts_with('-'));
    let command = command.unwrap_or_default();
    let known = <Cli as clap::CommandFactory>::command()
        .get_subcommands()
        .any(|known| known.get_name() == command);
    let help = if known {
        format!("staffa {command} --help")
    } else {
        "staffa --help".into()
    };
    format!("{what} (see `{help}`)")
}

/// On stderr; where that is closed, there is nobody to tell.
fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_errors_are_one_sentence() {
        let Err(error) = Cli::try_parse_from(["staffa", "head"]) else {
            unreachable!()
        };
        let text = sentence(&error.render().to_string(), &[]);
        assert!(
            text.starts_with(
                "the following required arguments were not provided: <FILE> (see `staffa"
            ),
            "{text}"
        );
    }
}
