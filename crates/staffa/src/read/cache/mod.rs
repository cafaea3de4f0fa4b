//! The cache of opened blocks, which point reads would open again: one for many files.
//!
//! A block stays encoded, beside what its decoders hold (dictionaries, runs, exceptions):
//! Super-Scalar RAM-CPU Cache Compression, section 2. On request it is decoded, as in Compression
//! in Disk-Based Column Stores: larger, and faster to read. Every byte counts towards the budget;
//! the least recently used entry is dropped first, of whichever file. Entries of a file go when it
//! is closed.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod entry;
mod file_cache;
mod pins;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use hashbrown::{DefaultHashBuilder, HashMap, HashSet};
use lru::LruCache;

use self::entry::Chunk;
pub(crate) use self::entry::{BlockSource, Entry, Item, OpenBlock};
pub(crate) use self::file_cache::FileCache;
pub(crate) use self::pins::Pins;

/// A cache of opened blocks, which any number of files share; clones are the same cache.
///
/// [`File::take`](crate::File::take) keeps the blocks that it opens, for the next rows out of them, but of the
/// first large take of a local file only about 1 MiB; scans keep them that are told to
/// ([`Scan::cached`](crate::Scan::cached)).
/// A file uses the cache of the process, or the one that
/// [`File::with_cache`](crate::File::with_cache) names.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let n = Int64Array::from_iter_values(0..1000);
/// # let batch = RecordBatch::try_from_iter([("n", Arc::new(n) as _)])?;
/// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
/// let cache = staffa::Cache::new(1 << 30);
/// let file = staffa::File::from_bytes(bytes)?.with_cache(&cache);
/// file.take(&[3]).read()?;
/// file.take(&[5]).read()?;
///
/// let info = cache.info();
/// assert_eq!((info.hits, info.misses, info.entries), (1, 1, 1));
/// assert!(info.bytes <= info.budget_bytes);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Cache(Arc<Mutex<Entries>>);

/// What a [`Cache`] holds, and how often it helped since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CacheInfo {
    /// Blocks that were found.
    pub hits: u64,
    /// Blocks that were opened to be kept, since they were not found.
    pub misses: u64,
    /// Blocks held, and what else of column chunks is kept beside them.
    pub entries: u64,
    /// Bytes held.
    pub bytes: u64,
    /// Most bytes held.
    pub budget_bytes: u64,
}

/// An item of a column chunk of a file, by the number of the open file.
type Key = (u64, Chunk, Item);

/// Least recently used entries within a budget of bytes.
struct Entries {
    by_use: LruCache<Key, (Entry, u64), DefaultHashBuilder>,
    /// What is kept of each file.
    of_file: HashMap<u64, HashSet<(Chunk, Item)>>,
    /// `entries` is that of `by_use`.
    info: CacheInfo,
}

impl Cache {
    /// The budget of the process's cache until it is set: 256 MiB, some thousand blocks.
    pub const PROCESS_BYTES: u64 = 256 << 20;

    /// An empty cache of at most `bytes` bytes; 0 keeps nothing.
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(Mutex::new(Entries {
            by_use: LruCache::unbounded_with_hasher(DefaultHashBuilder::default()),
            of_file: HashMap::new(),
            info: CacheInfo {
                budget_bytes: bytes,
                ..CacheInfo::default()
            },
        })))
    }

    /// The cache of the process, for files that name no other.
    ///
    /// Its budget is [`PROCESS_BYTES`](Self::PROCESS_BYTES) until [`set_budget`](Self::set_budget)
    /// changes it.
    pub fn process() -> Self {
        static PROCESS: LazyLock<Cache> = LazyLock::new(|| Cache::new(Cache::PROCESS_BYTES));
        PROCESS.clone()
    }

    /// What the cache holds, and how often it helped.
    pub fn info(&self) -> CacheInfo {
        let entries = self.entries();
        CacheInfo {
            entries: entries.by_use.len() as u64,
            ..entries.info
        }
    }

    /// Sets the most bytes that the cache holds, and returns the most before. What is above it is
    /// dropped at once.
    pub fn set_budget(&self, bytes: u64) -> u64 {
        let mut entries = self.entries();
        let before = std::mem::replace(&mut entries.info.budget_bytes, bytes);
        let dropped = entries.shrink();
        drop(entries);
        drop(dropped);
        before
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // No panic can leave the entries half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cache").field(&self.info()).finish()
    }
}

impl Entries {
    /// Keeps an entry; what is dropped for it, which may be the entry itself. The bytes of a block have
    /// one entry, whichever came first: the opened block, where it has them. A derived block counts those
    /// that it refers to as well, since it may outlive that entry.
    fn keep(&mut self, key: Key, entry: Entry) -> Vec<Entry> {
        let (file, chunk, item) = key;
        if matches!(item, Item::Block(_)) {
            self.info.misses += 1;
        }
        let bytes = entry.bytes();
        if bytes > self.info.budget_bytes {
            return vec![entry];
        }
        let mut dropped = Vec::new();
        match item {
            Item::Bytes(block) => {
                let opened = self.by_use.get(&(file, chunk, Item::Block(block)));
                if opened.is_some_and(|(opened, _)| opened.has_bytes_of_block()) {
                    return vec![entry];
                }
            }
            Item::Block(block) if entry.has_bytes_of_block() => {
                dropped.extend(self.remove((file, chunk, Item::Bytes(block))));
            }
            Item::Block(_) | Item::Shared | Item::Offsets => {}
        }
        dropped.extend(self.remove(key));
        self.of_file.entry(file).or_default().insert((chunk, item));
        self.by_use.put(key, (entry, bytes));
        self.info.bytes += bytes;
        dropped.extend(self.shrink());
        dropped
    }

    /// Takes an entry out.
    fn remove(&mut self, key: Key) -> Option<Entry> {
        let (entry, bytes) = self.by_use.pop(&key)?;
        let (file, chunk, item) = key;
        if let Some(kept) = self.of_file.get_mut(&file) {
            kept.remove(&(chunk, item));
        }
        self.info.bytes -= bytes;
        Some(entry)
    }

    /// Drops what was used least recently until the rest is within the budget.
    fn shrink(&mut self) -> Vec<Entry> {
        let mut dropped = Vec::new();
        while self.info.bytes > self.info.budget_bytes {
            let Some((key, _)) = self.by_use.peek_lru() else {
                break;
            };
            dropped.extend(self.remove(*key));
        }
        dropped
    }

    /// Drops what is kept of a file.
    fn forget(&mut self, file: u64) -> Vec<Entry> {
        let kept = self.of_file.remove(&file).unwrap_or_default();
        let items = kept.into_iter();
        items
            .filter_map(|(chunk, item)| self.remove((file, chunk, item)))
            .collect()
    }
}
