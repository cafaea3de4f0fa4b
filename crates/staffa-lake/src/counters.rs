//! What was asked of a store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Requests of a file, and what they brought; counted as answers arrive. What the disk cache has is no request.
#[derive(Debug, Default)]
pub struct Counters {
    requests: AtomicU64,
    bytes: AtomicU64,
    cached_bytes: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Counters {
    /// Requests, retries of the store's client apart.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Bytes of all answers.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes of the disk cache, for which the store was not asked.
    pub fn cached_bytes(&self) -> u64 {
        self.cached_bytes.load(Ordering::Relaxed)
    }

    /// Time until each answer was there, summed over requests, which run at the same time.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }

    /// Counts an answer of which some bytes, or all of them, were in the disk cache.
    pub(crate) fn add_answer(&self, bytes: u64, cached: u64, time: Duration) {
        self.cached_bytes.fetch_add(cached, Ordering::Relaxed);
        if cached < bytes {
            self.add(bytes - cached, time);
        }
    }

    pub(crate) fn add(&self, bytes: u64, time: Duration) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}
