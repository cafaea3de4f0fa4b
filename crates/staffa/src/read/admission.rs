//! Which blocks a read of selected rows admits to the file's cache.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use hashbrown::HashSet;

use super::File;
use super::cache::OpenBlock;
use super::chunk_reader::{ChunkReader, Keep};
use crate::error::Result;

/// Bytes of blocks that the first large take of a file admits, about.
///
/// Bytes that are kept are read into memory that no cache of the processor holds, others into the same few
/// pages again and again: see decision 51.
const FIRST_BYTES: u64 = 1 << 20;

/// Which blocks are admitted.
pub(super) enum Admission<'a> {
    None,
    All,
    First(First<'a>),
}

/// The first [`FIRST_BYTES`], and what columns share.
pub(super) struct First<'a> {
    file: &'a File,
    columns: &'a [usize],
    /// Bytes so far.
    bytes: AtomicU64,
    /// Leaves by which others of the columns are told.
    references: OnceLock<HashSet<usize>>,
}

impl<'a> Admission<'a> {
    /// Of a take of some columns: all blocks, but of the first large take of a local file the first ones. The
    /// next take admits all: there may be more takes. Blocks of a file elsewhere cost requests, those of a
    /// file in memory are not copied, and decoded ones are asked for.
    pub fn of_take(file: &'a File, columns: &'a [usize]) -> Self {
        let is_asked_for = file.limits().cache_decoded;
        if is_asked_for || !file.store().is_local() || file.cache().had_large_take() {
            return Self::All;
        }
        Self::First(First {
            file,
            columns,
            bytes: AtomicU64::new(0),
            references: OnceLock::new(),
        })
    }

    /// Opens a block.
    pub fn open(&self, reader: &ChunkReader<'_>, block: usize) -> Result<Arc<OpenBlock>> {
        match self {
            Self::None => reader.open_block(block, Keep::Nothing),
            Self::All => reader.open_block(block, Keep::Block),
            Self::First(first) => first.open(reader, block),
        }
    }
}

impl First<'_> {
    fn open(&self, reader: &ChunkReader<'_>, block: usize) -> Result<Arc<OpenBlock>> {
        if self.bytes.load(Ordering::Relaxed) < FIRST_BYTES {
            let was_open = reader.is_open(block);
            let opened = reader.open_block(block, Keep::Block)?;
            if !was_open {
                let bytes = opened.owner().bytes.len() as u64;
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
            }
            return Ok(opened);
        }
        self.file.cache().note_large_take();
        let references = self.references.get_or_init(|| self.references());
        if references.contains(&reader.stored()) {
            reader.open_block(block, Keep::Block)
        } else {
            reader.open_block(block, Keep::References)
        }
    }

    /// The leaves to which others of the columns refer. A column index that cannot be read is an error of the
    /// column's own read.
    fn references(&self) -> HashSet<usize> {
        let leaves = self.columns.iter();
        let leaves = leaves.flat_map(|column| self.file.layout().leaves_of(*column));
        let indexes = leaves.filter_map(|leaf| self.file.index(leaf).ok());
        let chunks = indexes.flat_map(|index| &index.chunks);
        let sources = chunks.flat_map(|chunk| &chunk.sources);
        sources.map(|leaf| *leaf as usize).collect()
    }
}
