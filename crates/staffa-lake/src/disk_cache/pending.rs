//! Files that are being written beside the reads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most time that a process waits for its disk at its end.
const MOST_WAIT: Duration = Duration::from_secs(30);

/// Bytes on their way to the disk.
#[derive(Debug, Default)]
pub(super) struct Pending {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The process that writes: after a fork its files are not those of the child.
    process: u32,
    bytes: u64,
}

/// Bytes that are on their way until this is dropped.
#[derive(Debug)]
pub(super) struct Write {
    pending: Arc<Pending>,
    bytes: u64,
}

impl Pending {
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if state.process != process {
            (state.process, state.bytes) = (process, 0);
        }
        state
    }

    /// Counts bytes that are to be written; also how many there are now.
    pub fn begin(self: &Arc<Self>, bytes: u64) -> (Write, u64) {
        let mut state = self.state();
        state.bytes += bytes;
        let write = Write {
            pending: self.clone(),
            bytes,
        };
        (write, state.bytes)
    }

    /// Waits until nothing is on its way.
    pub fn flush(&self) {
        let until = Instant::now() + MOST_WAIT;
        let mut state = self.state();
        while state.bytes > 0 {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return;
            };
            let waited = self.done.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        let mut state = self.pending.state();
        state.bytes = state.bytes.saturating_sub(self.bytes);
        if state.bytes == 0 {
            self.pending.done.notify_all();
        }
    }
}
