//! `staffa-sql`: SQL over Staffa files, by DataFusion.

mod program;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = program::Args::parse();
    match program::run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("staffa-sql: {}", program::message(e.as_ref()));
            ExitCode::FAILURE
        }
    }
}
