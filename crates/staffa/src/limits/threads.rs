//! Threads that read and write: all of the process, a pool, or the caller's alone.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::cell::Cell;
use std::cmp::Reverse;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// A pool of `threads` threads; `None`, or 0 threads, for the global one.
pub(crate) fn thread_pool(threads: Option<usize>) -> Result<Option<ThreadPool>> {
    let build = |threads| ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = threads.filter(|threads| *threads > 0).map(build);
    let refused = |e| Error::invalid(format!("no threads: {e}"));
    pool.transpose().map_err(refused)
}

/// The threads that work.
#[derive(Debug)]
pub(crate) enum Threads {
    /// Those of the global pool.
    All,
    Pool(ThreadPool),
    /// The caller's.
    Here,
}

thread_local! {
    static HERE: Cell<bool> = const { Cell::new(false) };
}

/// Number of threads that work of this one may use.
pub(crate) fn threads() -> usize {
    if HERE.get() {
        1
    } else {
        rayon::current_num_threads()
    }
}

impl Threads {
    /// So many threads; `None`, or 0, for all.
    pub fn new(threads: Option<usize>) -> Result<Self> {
        Ok(match threads {
            Some(1) => Self::Here,
            threads => thread_pool(threads)?.map_or(Self::All, Self::Pool),
        })
    }

    /// Number of threads.
    pub fn count(&self) -> usize {
        match self {
            Self::All => threads(),
            Self::Pool(pool) => pool.current_num_threads(),
            Self::Here => 1,
        }
    }

    /// The pool, if it is not the global one.
    pub fn pool(&self) -> Option<&ThreadPool> {
        match self {
            Self::Pool(pool) => Some(pool),
            Self::All | Self::Here => None,
        }
    }

    /// Works with these threads, and waits for the result.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        struct Before(bool);
        impl Drop for Before {
            fn drop(&mut self) {
                HERE.set(self.0);
            }
        }
        match self {
            Self::All => work(),
            Self::Pool(pool) => pool.install(work),
            Self::Here => {
                let _before = Before(HERE.replace(true));
                work()
            }
        }
    }
}

/// `of` of each item, in parallel where there are several and threads for them.
pub(crate) fn map_parallel<I: Send, O: Send>(
    items: impl IntoIterator<Item = I>,
    of: impl Fn(I) -> Result<O> + Send + Sync,
) -> Result<Vec<O>> {
    if threads() < 2 {
        return items.into_iter().map(of).collect();
    }
    let items: Vec<I> = items.into_iter().collect();
    if items.len() < 2 {
        return items.into_iter().map(of).collect();
    }
    // One by one: some cost many times what others do.
    let items = items.into_par_iter().with_max_len(1);
    items.map(of).collect()
}

/// As [`map_parallel`], the heaviest items first: those that begin last are short, and no thread waits for them long. The
/// error is that of the first item that has one, whatever the number of threads.
pub(crate) fn map_heaviest_first<I: Send, O: Send>(
    items: impl IntoIterator<Item = I>,
    weight: impl Fn(&I) -> usize,
    of: impl Fn(I) -> Result<O> + Send + Sync,
) -> Result<Vec<O>> {
    let threads = threads();
    if threads < 2 {
        return items.into_iter().map(of).collect();
    }
    let mut items: Vec<(usize, I)> = items.into_iter().enumerate().collect();
    items.sort_by_cached_key(|(_, item)| Reverse(weight(item)));
    let mut mapped = map_parallel(dealt(items, threads), |(i, item)| Ok((i, of(item))))?;
    mapped.sort_by_key(|(i, _)| *i);
    mapped.into_iter().map(|(_, output)| output).collect()
}

/// Items dealt to so many threads, which begin with a part of them each: every part has heavy ones first. Parts are halves of
/// halves, the first the smaller one, as rayon splits them.
fn dealt<I>(heaviest_first: Vec<I>, threads: usize) -> Vec<I> {
    if threads < 2 {
        return heaviest_first;
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (rank, item) in heaviest_first.into_iter().enumerate() {
        if rank % 2 == 0 { &mut right } else { &mut left }.push(item);
    }
    let mut all = dealt(left, threads / 2);
    all.extend(dealt(right, threads - threads / 2));
    all
}

/// Both, at the same time where there are threads for it.
pub(crate) fn both<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    if threads() < 2 {
        (a(), b())
    } else {
        rayon::join(a, b)
    }
}

/// Does work that reads files with so many threads: 1 for the calling thread and no other, `None` for
/// all that the process may use. Scans and writers have an option of their own
/// ([`Scan::threads`](crate::Scan::threads), [`WriteOptions::threads`](crate::WriteOptions::threads)).
///
/// Fails where the system has no such number of threads.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
/// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
/// let file = staffa::File::from_bytes(bytes)?;
/// let rows = staffa::with_threads(Some(1), || file.take(&[700, 3]).read())??;
/// assert_eq!(rows.num_rows(), 2);
/// # Ok(())
/// # }
/// ```
pub fn with_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T> {
    Ok(Threads::new(threads)?.run(work))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn one_thread_is_the_callers() {
        let own = thread::current().id();
        let all = || map_parallel(0..100, |_| Ok(thread::current().id())).unwrap();
        let here = with_threads(Some(1), all).unwrap();
        assert!(here.iter().all(|id| *id == own));
        let others = with_threads(Some(2), all).unwrap();
        assert!(others.iter().all(|id| *id != own));
        let ids = || both(|| thread::current().id(), || thread::current().id());
        assert_eq!(with_threads(Some(1), ids).unwrap(), (own, own));
        let (a, b) = with_threads(Some(2), ids).unwrap();
        assert!(a != own && b != own);
    }

    #[test]
    fn every_thread_begins_with_a_heavy_item() {
        for (len, threads) in [(5, 2), (8, 2), (10, 4), (13, 4), (16, 8), (23, 8)] {
            let mut parts = vec![dealt((0..len).collect(), threads)];
            while parts.len() < threads {
                let halves = parts.iter().map(|part| part.split_at(part.len() / 2));
                let halves = halves.flat_map(|(left, right)| [left.to_vec(), right.to_vec()]);
                parts = halves.collect();
            }
            for part in &parts {
                assert!(part.is_sorted() && part[0] < threads, "{parts:?}");
            }
        }
        assert_eq!(dealt(vec![0, 1, 2, 3, 4], 2), [1, 3, 0, 2, 4]);
        assert_eq!(dealt(vec![0, 1, 2], 1), [0, 1, 2]);
    }

    #[test]
    fn the_order_of_results_and_errors_stays() {
        for threads in [1, 2] {
            let squares = || map_heaviest_first(0..100, |i| i % 7, |i| Ok(i * i));
            let squares = with_threads(Some(threads), squares).unwrap().unwrap();
            assert_eq!(squares, (0..100).map(|i| i * i).collect::<Vec<usize>>());
            let odd = |i: usize| match i % 2 {
                0 => Ok(i),
                _ => Err(Error::invalid(i.to_string())),
            };
            let odd = || map_heaviest_first(0..100, |i| *i, odd);
            let error = with_threads(Some(threads), odd).unwrap().unwrap_err();
            assert_eq!(error.to_string(), Error::invalid("1").to_string());
        }
    }
}
