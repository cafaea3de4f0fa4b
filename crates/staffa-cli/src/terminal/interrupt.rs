//! Ctrl-C and SIGTERM: a flag that long loops look at, so that temporary files are removed on the
//! way out.

use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Exit, Failure, Result};

static STOP: AtomicBool = AtomicBool::new(false);

/// From here on the signal sets the flag instead of ending the program. Commands that write files
/// call this.
pub(crate) fn catch() {
    // Where no handler can be set, the signal ends the program as it always did: nothing to report.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            // Whoever asks twice will not wait; a temporary file may stay.
            std::process::exit(Exit::Interrupted as i32);
        }
        if stderr().is_terminal() {
            let _ = stderr().write_all(
                b"\nstaffa: stopping after the current row group; once more stops at once\n",
            );
        }
    });
}

/// An error once the signal has come.
pub(crate) fn check() -> Result<()> {
    if STOP.load(Ordering::Relaxed) {
        Err(Failure::interrupted())
    } else {
        Ok(())
    }
}
