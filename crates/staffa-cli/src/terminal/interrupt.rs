//! Ctrl-C and SIGTERM: within a second the program is gone, and its temporary files with it.
//!
//! The signal sets a flag that long loops check, and that stops a writer of Staffa in the middle of a
//! row group. What does not look at the flag in time (another format's row group, a reader that finds
//! nothing) is ended by the thread of the signal.

use std::io::{IsTerminal, Write, stderr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use staffa::Cancel;

use crate::error::{Exit, Failure, Result};

/// How long the flag has to be seen.
const PATIENCE: Duration = Duration::from_millis(600);

static STOP: AtomicBool = AtomicBool::new(false);
/// Folders that are removed with all they hold.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Held while files get their names: the program ends before or after that.
static NAMING: Mutex<()> = Mutex::new(());
/// Whether the files have their names: there is nothing left to interrupt.
static NAMED: AtomicBool = AtomicBool::new(false);
/// What is done before the program ends without the help of its other threads.
static AT_END: OnceLock<fn()> = OnceLock::new();
static CANCEL: LazyLock<Cancel> = LazyLock::new(Cancel::new);

/// Makes the signals set the flag instead of ending the program. Commands that write files call this.
pub(crate) fn catch() {
    // Without a handler the signal ends the program as usual: nothing to report.
    let _ = ctrlc::set_handler(|| {
        STOP.store(true, Ordering::Relaxed);
        CANCEL.cancel();
        std::thread::sleep(PATIENCE);
        end();
    });
}

/// What stops a writer of Staffa.
pub(crate) fn cancel() -> Cancel {
    CANCEL.clone()
}

/// Makes the signals remove this folder, with all that it holds.
pub(crate) fn remove_folder(folder: PathBuf) {
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    folders.push(folder);
}

/// Calls `name`, which gives files their names: a signal waits until it is done.
pub(crate) fn without_interruption<T>(name: impl FnOnce() -> T) -> T {
    let _waits = NAMING.lock().unwrap_or_else(PoisonError::into_inner);
    let named = name();
    NAMED.store(true, Ordering::Relaxed);
    named
}

/// Has this done before a signal ends the program: the terminal is as it was.
pub(crate) fn at_end(restore: fn()) {
    let _ = AT_END.set(restore);
}

/// An error after the first signal.
pub(crate) fn check() -> Result<()> {
    if STOP.load(Ordering::Relaxed) {
        Err(Failure::interrupted())
    } else {
        Ok(())
    }
}

/// Ends the program without the help of its other threads.
fn end() {
    let _done = NAMING.lock().unwrap_or_else(PoisonError::into_inner);
    if NAMED.load(Ordering::Relaxed) {
        return;
    }
    let Some(files) = open_temporary_files() else {
        // They are not known: the flag is seen with the next batch.
        return;
    };
    for file in files {
        // It may be gone already, and its folder may not be ours.
        let _ = std::fs::remove_file(&file);
        let own_folder = file.parent().filter(|folder| {
            folder
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(".staffa-"))
        });
        let _ = own_folder.map(std::fs::remove_dir);
    }
    for folder in FOLDERS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
    {
        // Of several attempts: other threads may be writing to it still.
        let mut attempts = 0..10;
        while folder.exists() && attempts.next().is_some() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
    if let Some(restore) = AT_END.get() {
        restore();
    }
    let line = if stderr().is_terminal() { "\n" } else { "" };
    let _ = writeln!(stderr(), "{line}{}", Failure::interrupted());
    std::process::exit(Exit::Interrupted as i32);
}

/// The temporary files that this process has open, by the names that they have from the start; None
/// where the system does not tell.
fn open_temporary_files() -> Option<Vec<PathBuf>> {
    let open = std::fs::read_dir("/proc/self/fd").ok()?;
    let targets = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let is_temporary = |path: &PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        name.starts_with(".staffa-") && path.extension().is_some_and(|ending| ending == "tmp")
    };
    Some(targets.filter(is_temporary).collect())
}
