//! Ctrl-C and SIGTERM: a flag that long loops check, so that temporary files are removed.

use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Exit, Failure, Result};

static STOP: AtomicBool = AtomicBool::new(false);

/// Makes the signals set the flag instead of ending the program. Commands that write files call this.
pub(crate) fn catch() {
    // Without a handler the signal ends the program as usual: nothing to report.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            // The second signal ends the program at once; a temporary file may stay.
            std::process::exit(Exit::Interrupted as i32);
        }
        if stderr().is_terminal() {
            let _ = stderr().write_all(
                b"\nstaffa: stopping after the current row group; once more stops at once\n",
            );
        }
    });
}

/// An error after the first signal.
pub(crate) fn check() -> Result<()> {
    if STOP.load(Ordering::Relaxed) {
        Err(Failure::interrupted())
    } else {
        Ok(())
    }
}
