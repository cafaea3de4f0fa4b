//! The part of a cache that belongs to an open file.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use bytes::Bytes;

use super::entry::Chunk;
use super::{Cache, Entries, Entry, Item, OpenBlock};

/// The part of a cache that belongs to one open file.
///
/// Its number, which no other open file of the process has, is part of every key: entries of two
/// files cannot be mistaken for each other, whatever bytes they have.
#[derive(Debug)]
pub(crate) struct FileCache {
    cache: Cache,
    file: u64,
    /// Whether a take has opened blocks that it did not keep.
    had_large_take: AtomicBool,
}

impl FileCache {
    /// The part of a file that was opened now.
    pub fn new(cache: Cache) -> Self {
        static FILES: AtomicU64 = AtomicU64::new(0);
        let file = FILES.fetch_add(1, Ordering::Relaxed);
        Self {
            cache,
            file,
            had_large_take: AtomicBool::new(false),
        }
    }

    /// Whether a take has opened blocks that it did not keep.
    pub fn had_large_take(&self) -> bool {
        self.had_large_take.load(Ordering::Relaxed)
    }

    /// Notes that a take has opened a block that it does not keep.
    pub fn note_large_take(&self) {
        self.had_large_take.store(true, Ordering::Relaxed);
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.cache.entries()
    }

    /// Whether anything can be kept.
    pub fn is_used(&self) -> bool {
        self.entries().info.budget_bytes > 0
    }

    /// Whether an item of a chunk is kept.
    pub fn holds(&self, chunk: Chunk, item: Item) -> bool {
        self.entries().by_use.contains(&(self.file, chunk, item))
    }

    /// An item of a chunk, which is now the most recently used.
    pub fn get(&self, chunk: Chunk, item: Item) -> Option<Entry> {
        let mut entries = self.entries();
        let found = entries.by_use.get(&(self.file, chunk, item));
        found.map(|(entry, _)| entry.clone())
    }

    /// An open block. It uses its shared dictionaries: they are as recently used as the block.
    pub fn block(&self, chunk: Chunk, block: usize) -> Option<Arc<OpenBlock>> {
        let mut entries = self.entries();
        let entries = &mut *entries;
        entries.by_use.promote(&(self.file, chunk, Item::Shared));
        match entries.by_use.get(&(self.file, chunk, Item::Block(block))) {
            Some((Entry::Block(block), _)) => {
                entries.info.hits += 1;
                Some(block.clone())
            }
            _ => None,
        }
    }

    /// The bytes of a block that is open, or that a derived column refers to.
    pub fn bytes_of(&self, chunk: Chunk, block: usize) -> Option<Bytes> {
        let bytes = |item| match self.get(chunk, item)? {
            Entry::Block(opened) => Some(opened.owner().bytes.clone()),
            Entry::Bytes(bytes) => Some(bytes),
            Entry::Shared(_) | Entry::Offsets(_) => None,
        };
        // A decoded block has no bytes.
        let opened = bytes(Item::Block(block)).filter(|bytes| !bytes.is_empty());
        opened.or_else(|| bytes(Item::Bytes(block)))
    }

    /// Keeps an item of a chunk, and drops those least recently used.
    pub fn keep(&self, chunk: Chunk, item: Item, entry: Entry) {
        let dropped = self.entries().keep((self.file, chunk, item), entry);
        // Memory is freed once the lock is.
        drop(dropped);
    }
}

impl Drop for FileCache {
    fn drop(&mut self) {
        let dropped = self.entries().forget(self.file);
        drop(dropped);
    }
}
