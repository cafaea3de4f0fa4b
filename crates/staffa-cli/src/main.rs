//! The program `staffa`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(staffa_cli::main(&std::env::args_os().collect::<Vec<_>>()))
}
