//! The program `staffa`.

use std::process::ExitCode;

#[cfg(target_env = "musl")]
#[global_allocator]
static MIMALLOC: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(staffa_cli::main(&std::env::args_os().collect::<Vec<_>>()))
}
