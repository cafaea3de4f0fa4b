//! The rows that match a filter, searched by a thread: the first are shown while it goes on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use staffa::{File, Predicate};

use super::source::Shown;

/// Rows kept: 8 bytes each.
const MOST: usize = 10_000_000;

/// A search and what it has found.
pub(super) struct Filter {
    pub(super) text: String,
    search: Arc<Search>,
}

#[derive(Default)]
struct Search {
    found: Mutex<Vec<u64>>,
    seen: AtomicU64,
    ended: AtomicBool,
    stop: AtomicBool,
    error: Mutex<Option<String>>,
}

/// Where a search is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    /// With the rows that are behind it.
    Searching(u64),
    Ended,
    /// There are more rows than are kept.
    Full,
    Failed(String),
}

impl Filter {
    /// Starts a search; an error if the filter does not parse, or does not fit the columns.
    pub(super) fn start(file: &File, text: &str) -> Shown<Self> {
        let predicate: Predicate = text
            .parse()
            .map_err(|error: staffa::Error| error.to_string())?;
        let schema = file.schema();
        predicate.bind(schema).map_err(|error| error.to_string())?;
        let positions = predicate.column_positions(schema);
        let positions = positions.map_err(|error| error.to_string())?;
        let names = positions.iter().map(|at| schema.field(*at).name().clone());
        let names: Vec<String> = names.collect();
        let search = Arc::new(Search::default());
        let own = Arc::clone(&search);
        let file = file.clone();
        thread::spawn(move || {
            if let Err(error) = own.run(&file, &predicate, &names) {
                *lock(&own.error) = Some(error);
            }
            own.ended.store(true, Ordering::Release);
        });
        Ok(Self {
            text: text.into(),
            search,
        })
    }

    pub(super) fn count(&self) -> u64 {
        lock(&self.search.found).len() as u64
    }

    /// The numbers of the matching rows from the `first` on, at most `count`.
    pub(super) fn rows(&self, first: u64, count: u64) -> Vec<u64> {
        let found = lock(&self.search.found);
        let rows = found.iter().skip(first as usize);
        rows.take(count as usize).copied().collect()
    }

    /// The position of the first matching row with this number or a larger one.
    pub(super) fn position(&self, row: u64) -> u64 {
        lock(&self.search.found).partition_point(|found| *found < row) as u64
    }

    pub(super) fn state(&self) -> State {
        if let Some(error) = lock(&self.search.error).clone() {
            State::Failed(error)
        } else if !self.search.ended.load(Ordering::Acquire) {
            State::Searching(self.search.seen.load(Ordering::Relaxed))
        } else if self.count() >= MOST as u64 {
            State::Full
        } else {
            State::Ended
        }
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        self.search.stop.store(true, Ordering::Relaxed);
    }
}

impl Search {
    fn run(&self, file: &File, predicate: &Predicate, names: &[String]) -> Shown<()> {
        let text = |error: staffa::Error| error.to_string();
        let mut first = 0;
        for batch in file.scan().columns(names.to_vec()).reader().map_err(text)? {
            let batch = batch.map_err(text)?;
            let bound = predicate.bind(&batch.schema()).map_err(text)?;
            let matches = bound.evaluate(&batch).map_err(text)?;
            let rows = matches.iter().zip(first..);
            let rows = rows.filter(|(matches, _)| *matches == Some(true));
            first += batch.num_rows() as u64;
            let mut found = lock(&self.found);
            found.extend(rows.map(|(_, row)| row));
            found.truncate(MOST);
            let is_full = found.len() == MOST;
            drop(found);
            self.seen.store(first, Ordering::Relaxed);
            if is_full || self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }
}

/// A thread that panicked left rows that are sound.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
