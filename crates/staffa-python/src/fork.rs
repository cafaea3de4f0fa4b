//! Threads do not survive a fork: a child that used the thread pool of its parent would wait forever.
//! Training programs fork their readers, so a child gets a pool of its own.

use std::process;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process that imported the module; it uses rayon's global pool.
static IMPORTED_BY: OnceLock<u32> = OnceLock::new();

/// A forked process and its pool.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Records the process that owns the global pool.
pub(crate) fn imported() {
    IMPORTED_BY.get_or_init(process::id);
}

/// Runs the work on the pool of this process.
pub(crate) fn on_own_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let process = process::id();
    if *IMPORTED_BY.get_or_init(process::id) == process {
        return work();
    }
    match threads_of(process) {
        Some(threads) => threads.install(work),
        None => work(),
    }
}

fn threads_of(process: u32) -> Option<Arc<ThreadPool>> {
    let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    match &*forked {
        Some((owner, threads)) if *owner == process => Some(threads.clone()),
        _ => {
            let threads = Arc::new(ThreadPoolBuilder::new().build().ok()?);
            // Dropping the pool of the parent would join threads that this process does not have.
            std::mem::forget(forked.replace((process, threads.clone())));
            Some(threads)
        }
    }
}
