//! The cache of an open file: opened blocks, which a point read would open again.
//!
//! A block stays encoded, beside what its decoders hold (dictionaries, runs, exceptions):
//! Super-Scalar RAM-CPU Cache Compression, section 2. On request it is decoded, as in Compression
//! in Disk-Based Column Stores: larger, and faster to read. Every byte counts towards the budget;
//! the least recently used entry is dropped first.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use lru::LruCache;
use staffa_kernels::{PoolVec, Yoke, Yokeable};

use crate::decode::{Block, SharedDictionary};

/// An opened block with the bytes from which it borrows.
pub(crate) type OpenBlock = Yoke<BlockSource, BorrowedBlock>;

/// [`Block`] without its lifetime.
pub(crate) struct BorrowedBlock;

impl Yokeable for BorrowedBlock {
    type Of<'a> = Block<'a>;
}

/// The bytes from which opened blocks borrow.
#[derive(Debug)]
pub(crate) struct BlockSource {
    /// Bytes of the blocks.
    pub bytes: Bytes,
    /// Bytes of the same blocks of each reference column.
    pub references: Vec<Bytes>,
    /// Shared dictionaries of the chunk.
    pub shared: Arc<Vec<SharedDictionary>>,
}

/// An item of a column chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Item {
    /// A block.
    Block(usize),
    /// The bytes of a block that derived columns refer to.
    Bytes(usize),
    /// The shared dictionaries.
    Shared,
    /// Offsets of lists, for a leaf of their lengths.
    Offsets,
}

/// Leaf and row group.
type Chunk = (usize, usize);

/// Bytes of an entry for maps, allocations and the nodes of a tree.
const OVERHEAD: u64 = 1 << 10;

/// What an [`Item`] is.
#[derive(Clone)]
pub(crate) enum Entry {
    Offsets(Arc<PoolVec<u64>>),
    Block(Arc<OpenBlock>),
    Bytes(Bytes),
    Shared(Arc<Vec<SharedDictionary>>),
}

impl Entry {
    /// Bytes of memory.
    fn bytes(&self) -> u64 {
        OVERHEAD
            + match self {
                Self::Block(block) => {
                    let source = block.owner();
                    let encoded = std::iter::once(&source.bytes).chain(&source.references);
                    encoded.map(Bytes::len).sum::<usize>() as u64 + block.with(|block| block.held)
                }
                Self::Bytes(bytes) => bytes.len() as u64,
                Self::Offsets(offsets) => offsets.len() as u64 * 8,
                Self::Shared(parts) => parts.iter().map(SharedDictionary::bytes).sum(),
            }
    }
}

/// Least recently used entries within a budget of bytes.
pub(crate) struct Cache {
    budget: u64,
    entries: Mutex<Entries>,
}

struct Entries {
    by_use: LruCache<(Chunk, Item), (Entry, u64)>,
    bytes: u64,
}

impl Cache {
    /// An empty cache of at most `budget` bytes.
    pub fn new(budget: u64) -> Self {
        Self {
            budget,
            entries: Mutex::new(Entries {
                by_use: LruCache::unbounded(),
                bytes: 0,
            }),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // No panic can leave the entries half changed.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes kept.
    pub fn bytes(&self) -> u64 {
        self.entries().bytes
    }

    /// An item of a chunk, which is now the most recently used.
    pub fn get(&self, chunk: Chunk, item: Item) -> Option<Entry> {
        let mut entries = self.entries();
        let found = entries.by_use.get(&(chunk, item));
        found.map(|(entry, _)| entry.clone())
    }

    /// An open block. It uses its shared dictionaries: they are as recently used as the block.
    pub fn block(&self, chunk: Chunk, block: usize) -> Option<Arc<OpenBlock>> {
        let mut entries = self.entries();
        entries.by_use.promote(&(chunk, Item::Shared));
        match entries.by_use.get(&(chunk, Item::Block(block))) {
            Some((Entry::Block(block), _)) => Some(block.clone()),
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
        let bytes = entry.bytes();
        if bytes > self.budget {
            return;
        }
        let mut entries = self.entries();
        let before = entries.by_use.put((chunk, item), (entry, bytes));
        entries.bytes = entries.bytes + bytes - before.map_or(0, |(_, bytes)| bytes);
        while entries.bytes > self.budget {
            let Some((_, (_, bytes))) = entries.by_use.pop_lru() else {
                break;
            };
            entries.bytes -= bytes;
        }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("budget", &self.budget)
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int64Type;
    use arrow_array::{Array as _, Int64Array, ListArray, StringArray};

    use crate::limits::Limits;
    use crate::testing::arrays::Random;
    use crate::write::WriteOptions;

    #[test]
    fn the_cache_stays_within_its_budget_and_changes_no_row() {
        let rows = 20_000;
        let names =
            StringArray::from_iter_values((0..rows).map(|i| format!("name {}", i * 7 % 613)));
        let lists = (0..rows).map(|i| (i % 9 > 0).then(|| (0..i % 4).map(move |k| Some(i * k))));
        let batch = arrow_array::RecordBatch::try_from_iter([
            (
                "n",
                Arc::new(Int64Array::from_iter_values(
                    (0..rows).map(|i| i * i % 10_007),
                )) as _,
            ),
            // Derived from the column before, and equal to it.
            (
                "more",
                Arc::new(Int64Array::from_iter_values(
                    (0..rows).map(|i| i * i % 10_007 + i % 3),
                )) as _,
            ),
            (
                "same",
                Arc::new(Int64Array::from_iter_values(
                    (0..rows).map(|i| i * i % 10_007),
                )) as _,
            ),
            ("name", Arc::new(names) as _),
            (
                "list",
                Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)) as _,
            ),
        ]);
        let batch = batch.unwrap();
        let options = WriteOptions {
            block_rows: 1024,
            row_group_rows: 8192,
            ..WriteOptions::default()
        };
        let bytes = crate::to_bytes(batch.schema(), std::slice::from_ref(&batch), options).unwrap();
        let derived = crate::File::from_bytes(bytes.clone()).unwrap();
        assert!((1..3).all(|leaf| !derived.chunk_entry(leaf, 0).unwrap().sources.is_empty()));
        let mut most_kept = Vec::new();
        for (budget, cache_decoded) in [
            (0, false),
            (30_000, false),
            (1 << 30, false),
            (30_000, true),
            (1 << 30, true),
        ] {
            let limits = Limits {
                cache_bytes: budget,
                cache_decoded,
                ..Limits::default()
            };
            let file = crate::File::from_bytes_with(bytes.clone(), limits).unwrap();
            let (mut random, mut most) = (Random(5), 0);
            for count in [1, 1, 40, 1, 700, 3] {
                let wanted: Vec<u64> = (0..count)
                    .map(|_| random.below(rows as usize) as u64)
                    .collect();
                let found = file.take(&wanted).read().unwrap();
                let expected = arrow_array::UInt64Array::from(wanted);
                assert_eq!(
                    found,
                    arrow_select::take::take_record_batch(&batch, &expected).unwrap()
                );
                assert!(
                    file.cache().bytes() <= budget,
                    "{} of {budget}",
                    file.cache().bytes()
                );
                most = most.max(file.cache().bytes());
            }
            assert_eq!(
                file.take(&[3])
                    .string_views(true)
                    .read()
                    .unwrap()
                    .column(3)
                    .len(),
                1
            );
            most_kept.push(most);
        }
        assert!(
            most_kept[0] == 0 && most_kept[1] > 10_000 && most_kept[2] > 2 * most_kept[1],
            "{most_kept:?}"
        );
        assert!(
            most_kept[3] > 10_000 && most_kept[4] > most_kept[2],
            "{most_kept:?}"
        );
    }
}
