//! Threads do not survive a fork: a child that used the thread pool of its parent would wait forever, as
//! it would for a cache that another thread had locked. Training programs fork their readers, so a
//! child gets a pool and a cache of its own.

use std::process;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};
use staffa::{Cache, Scan};

/// The process that imported the module; it uses rayon's global pool.
static IMPORTED_BY: OnceLock<u32> = OnceLock::new();

/// A forked process and its pool.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// A forked process and its cache.
static FORKED_CACHE: Mutex<Option<(u32, Cache)>> = Mutex::new(None);

/// Records the process that owns the global pool.
pub(crate) fn imported() {
    IMPORTED_BY.get_or_init(process::id);
}

/// Whether the module was imported by another process, of which this is a fork.
fn is_forked() -> bool {
    *IMPORTED_BY.get_or_init(process::id) != process::id()
}

/// Runs the work on the pool of this process.
pub(crate) fn on_own_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if !is_forked() {
        return work();
    }
    match threads_of(process::id()) {
        Some(threads) => threads.install(work),
        None => work(),
    }
}

/// The scan, of which in a forked process no task goes on between two batches: a thread of the pool that waits
/// for a part of such a task may begin with the next batch, which waits for the task below it on its stack.
pub(crate) fn without_read_ahead_in_a_fork(scan: Scan) -> Scan {
    if is_forked() {
        scan.read_ahead(0)
    } else {
        scan
    }
}

/// The cache of this process.
pub(crate) fn own_cache() -> Cache {
    if !is_forked() {
        return Cache::process();
    }
    let process = process::id();
    let mut forked = FORKED_CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    match &*forked {
        Some((owner, cache)) if *owner == process => cache.clone(),
        _ => {
            let cache = Cache::new(Cache::PROCESS_BYTES);
            // That of the parent may be locked for good.
            std::mem::forget(forked.replace((process, cache.clone())));
            cache
        }
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
