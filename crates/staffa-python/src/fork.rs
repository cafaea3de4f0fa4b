//! Threads do not survive a fork: a child that gave work to the threads of its parent would wait
//! for ever. Programs that train models fork their readers, so a child gets threads of its own.

use std::process;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process that imported the module, whose threads are rayon's own.
static IMPORTED_BY: OnceLock<u32> = OnceLock::new();

/// The threads of a process that was forked off it.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Notes whose threads the global ones are.
pub(crate) fn imported() {
    IMPORTED_BY.get_or_init(process::id);
}

/// Does the work on threads that this process has.
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
            // What the parent had there has no threads to end here.
            std::mem::forget(forked.replace((process, threads.clone())));
            Some(threads)
        }
    }
}
