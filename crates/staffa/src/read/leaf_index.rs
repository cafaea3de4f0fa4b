//! Column indexes of an open file, each read and checked on first use.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use crate::arrow::Leaf;
use crate::decode::get_or_try_init;
use crate::error::{Error, Result};
use crate::format::{
    BlockEntry, Bounds, ColumnIndex, DERIVED_COLUMNS, Footer, IndexEntry, SMALL_CHUNK_BYTES, Store,
    verify_checksum,
};
use crate::limits::Limits;

/// Column indexes behind the one that is wanted are read along with it, up to so many bytes.
const AHEAD_BYTES: u64 = 16 << 10;

/// A column index, and the bytes in front of it that were read along with it.
#[derive(Debug)]
pub(super) struct LeafIndex {
    pub index: ColumnIndex,
    /// The chunk before the index, where it is small; else empty.
    pub front: Bytes,
    /// Where these bytes begin.
    pub offset: u64,
}

impl LeafIndex {
    /// Bytes in front of the index that were read along with it.
    pub fn ahead(&self, offset: u64, bytes: u64) -> Option<Bytes> {
        let start = offset.checked_sub(self.offset)?;
        let end = start.checked_add(bytes)?;
        (end <= self.front.len() as u64).then(|| self.front.slice(start as usize..end as usize))
    }
}

/// The column indexes of all leaves.
#[derive(Debug)]
pub(super) struct LeafIndexes {
    /// Boxed: of 65,000 columns few are read.
    cells: Vec<OnceLock<Box<LeafIndex>>>,
    /// Indexes that were read along with another one, and their offset.
    ahead: Mutex<(u64, Bytes)>,
}

/// The bytes of a column index, and of a small chunk before it.
pub(super) fn range_of(entry: &IndexEntry) -> Range<u64> {
    let front = if (1..=SMALL_CHUNK_BYTES).contains(&entry.gap) {
        entry.gap
    } else {
        0
    };
    // The footer has checked that the file has these bytes.
    entry.offset - front..entry.offset + entry.bytes
}

/// What an index is read from and checked against.
pub(super) struct IndexSource<'a> {
    pub store: &'a Store,
    pub footer: &'a Footer,
    pub limits: &'a Limits,
}

impl LeafIndexes {
    pub(super) fn new(leaves: usize) -> Self {
        Self {
            cells: (0..leaves).map(|_| OnceLock::new()).collect(),
            ahead: Mutex::default(),
        }
    }

    /// The index of leaf `number`, if it was read already.
    pub(super) fn known(&self, number: usize) -> Option<&LeafIndex> {
        self.cells.get(number)?.get().map(Box::as_ref)
    }

    /// The index of leaf `number`.
    pub(super) fn get(
        &self,
        number: usize,
        leaf: &Leaf,
        from: &IndexSource<'_>,
    ) -> Result<&LeafIndex> {
        let cell = self.cells.get(number);
        let cell = cell.ok_or_else(|| Error::corrupt(format!("no leaf {number}")))?;
        let read = || self.read(number, leaf, from).map(Box::new);
        get_or_try_init(cell, read).map(Box::as_ref)
    }

    /// Reads an index, and checks it against the schema and the footer.
    fn read(&self, number: usize, leaf: &Leaf, from: &IndexSource<'_>) -> Result<LeafIndex> {
        let (store, footer, limits) = (from.store, from.footer, from.limits);
        let most = limits.metadata_bytes;
        let entries = footer.leaves.get(number..).unwrap_or_default();
        let Some((entry, next)) = entries.split_first() else {
            return Err(Error::corrupt(format!("no leaf {number}")));
        };
        if entry.bytes > most {
            return Err(Error::limit(format!(
                "a column index of at most {most} bytes is allowed, found {}",
                entry.bytes
            )));
        }
        let range = range_of(entry);
        let (front, bytes) = if range.start < entry.offset {
            let mut front = store.read(range.start, range.end - range.start)?;
            if store.is_planned() {
                // It stays as long as the file, and may be a small part of what one request has brought.
                front = Bytes::copy_from_slice(&front);
            }
            let bytes = front.split_off(entry.gap as usize);
            (front, bytes)
        } else if store.is_planned() {
            (Bytes::new(), store.read(entry.offset, entry.bytes)?)
        } else {
            (Bytes::new(), self.read_ahead(*entry, next, store)?)
        };
        verify_checksum(&bytes, entry.checksum, "a column index")?;
        let mut index = ColumnIndex::read(&bytes, footer.row_groups.len(), footer.offset, limits)?;
        // Bounds of another type than the leaf's say nothing.
        let suits = |b: &BlockEntry| b.zone.bounds.matches_type(leaf.ty, leaf.kind);
        for chunk in &mut index.chunks {
            if !chunk.blocks.iter().all(suits) {
                let blocks = Arc::make_mut(chunk).blocks.iter_mut();
                blocks
                    .filter(|block| !suits(block))
                    .for_each(|block| block.zone.bounds = Bounds::None);
            }
        }
        let mut derived = index
            .chunks
            .iter()
            .filter(|chunk| !chunk.sources.is_empty());
        if derived.next().is_some() && !footer.features.features.contains(DERIVED_COLUMNS) {
            return Err(Error::corrupt(
                "a chunk without sources expected: the file does not name the feature",
            ));
        }
        let mut chunks = index.chunks.iter().zip(&footer.row_groups);
        let wrong = chunks.find(|(chunk, rows)| leaf.flat && chunk.values != u64::from(**rows));
        if let Some((chunk, rows)) = wrong {
            return Err(Error::corrupt(format!(
                "a chunk of {rows} values expected, found {}",
                chunk.values
            )));
        }
        Ok(LeafIndex {
            index,
            offset: entry.offset - front.len() as u64,
            front,
        })
    }

    /// Bytes of a column index; those of the `next` ones that follow it are kept for later.
    fn read_ahead(&self, entry: IndexEntry, next: &[IndexEntry], store: &Store) -> Result<Bytes> {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let (offset, kept) = &*ahead;
        let start = entry.offset.checked_sub(*offset);
        let end = start.and_then(|start| start.checked_add(entry.bytes));
        if let Some((start, end)) = start.zip(end)
            && end <= kept.len() as u64
        {
            return Ok(kept.slice(start as usize..end as usize));
        }
        let mut bytes = entry.bytes;
        for next in next.iter().take_while(|next| next.gap == 0) {
            if bytes + next.bytes > AHEAD_BYTES {
                break;
            }
            bytes += next.bytes;
        }
        let read = store.read(entry.offset, bytes)?;
        let own = read.slice(..entry.bytes as usize);
        *ahead = (entry.offset, read);
        Ok(own)
    }
}
