//! Prefetch: work that a thread pool does before its results are taken.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use rayon::{ThreadPool, Yield};

/// Tasks in flight: begun, and their results not taken yet. The caller bounds their number.
///
/// A drop cancels tasks that no thread has begun. A panic of a task comes out of
/// [`take`](Self::take).
#[derive(Debug)]
pub(crate) struct Prefetch<T> {
    /// Results come in the order in which tasks were begun, not as they arrive.
    ordered: bool,
    begun: u64,
    taken: u64,
    /// Results that arrived out of order, by number.
    early: BTreeMap<u64, thread::Result<T>>,
    sender: Sender<(u64, thread::Result<T>)>,
    arriving: Receiver<(u64, thread::Result<T>)>,
    dropped: Arc<AtomicBool>,
}

impl<T: Send + 'static> Prefetch<T> {
    pub fn new(ordered: bool) -> Self {
        let (sender, arriving) = channel();
        Self {
            ordered,
            begun: 0,
            taken: 0,
            early: BTreeMap::new(),
            sender,
            arriving,
            dropped: Arc::default(),
        }
    }

    /// Number of tasks in flight.
    pub fn in_flight(&self) -> usize {
        (self.begun - self.taken) as usize
    }

    /// Number of results taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Begins a task, in a pool or in the global one.
    pub fn begin(&mut self, pool: Option<&ThreadPool>, work: impl FnOnce() -> T + Send + 'static) {
        let (number, sender, dropped) = (self.begun, self.sender.clone(), self.dropped.clone());
        self.begun += 1;
        let run = move || {
            if !dropped.load(Ordering::Relaxed) {
                // The receiver is gone if the prefetch was dropped meanwhile.
                let _ = sender.send((number, catch_unwind(AssertUnwindSafe(work))));
            }
        };
        match pool {
            Some(pool) => pool.spawn(run),
            None => rayon::spawn(run),
        }
    }

    /// The next result; `None` if nothing is in flight.
    pub fn take(&mut self) -> Option<T> {
        if self.in_flight() == 0 {
            return None;
        }
        let result = loop {
            if self.ordered
                && let Some(result) = self.early.remove(&self.taken)
            {
                break result;
            }
            let (number, result) = self.wait()?;
            if !self.ordered || number == self.taken {
                break result;
            }
            self.early.insert(number, result);
        };
        self.taken += 1;
        Some(result.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// The next result to arrive. A thread of a pool works while it waits: it may be the only one.
    fn wait(&self) -> Option<(u64, thread::Result<T>)> {
        if rayon::current_thread_index().is_none() {
            return self.arriving.recv().ok();
        }
        loop {
            match self.arriving.try_recv() {
                Ok(arrived) => return Some(arrived),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) if rayon::yield_now() == Some(Yield::Executed) => {}
                Err(TryRecvError::Empty) => thread::yield_now(),
            }
        }
    }
}

impl<T> Drop for Prefetch<T> {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::thread_pool;

    #[test]
    fn results_come_in_order_or_all_the_same() {
        for ordered in [true, false] {
            let mut ahead = Prefetch::new(ordered);
            (0..100u64).for_each(|i| ahead.begin(None, move || i * i));
            let mut found: Vec<u64> = std::iter::from_fn(|| ahead.take()).collect();
            if !ordered {
                found.sort_unstable();
            }
            assert_eq!(found, (0..100).map(|i| i * i).collect::<Vec<_>>());
            assert_eq!((ahead.in_flight(), ahead.taken()), (0, 100));
        }
    }

    #[test]
    fn the_only_thread_of_a_pool_may_wait() {
        let pool = thread_pool(Some(1)).unwrap().unwrap();
        let found = pool.install(|| {
            let mut ahead = Prefetch::new(true);
            (0..10).for_each(|i| ahead.begin(Some(&pool), move || i));
            std::iter::from_fn(|| ahead.take()).sum::<i32>()
        });
        assert_eq!(found, 45);
    }

    #[test]
    fn a_panic_comes_out_where_the_result_would() {
        let mut ahead = Prefetch::new(true);
        ahead.begin(None, || 1);
        ahead.begin(None, || panic!("of the work"));
        assert_eq!(ahead.take(), Some(1));
        assert!(catch_unwind(AssertUnwindSafe(|| ahead.take())).is_err());
    }
}
