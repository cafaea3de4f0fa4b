//! What a read of selected rows leaves in the file's cache.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::File;
use super::cache::OpenBlock;
use super::chunk_reader::ChunkReader;
use crate::error::Result;

/// Most bytes of blocks that the first large take of a file keeps.
///
/// Bytes that are kept are read into memory that no cache of the processor holds, others into the same few
/// pages again and again: see decision 51.
const FIRST_BYTES: u64 = 1 << 20;

/// Which blocks are kept in the file's cache.
#[derive(Debug)]
pub(super) enum Keeping {
    None,
    All,
    /// The first ones, which have so many bytes by now.
    First(AtomicU64),
}

impl Keeping {
    /// Of a take. The second large one of a file keeps all, as there may be more of them; so does any of a file
    /// elsewhere, whose bytes cost requests, and in memory, where they are.
    pub fn of_take(file: &File) -> Self {
        if file.store().is_local() && !file.cache().had_large_take.load(Ordering::Relaxed) {
            Self::First(AtomicU64::new(0))
        } else {
            Self::All
        }
    }

    /// Opens a block.
    pub fn open(&self, reader: &ChunkReader<'_>, block: usize) -> Result<Arc<OpenBlock>> {
        let first = match self {
            Self::None => return reader.open_block(block, false),
            Self::All => return reader.open_block(block, true),
            Self::First(bytes) => bytes,
        };
        let keep = first.load(Ordering::Relaxed) < FIRST_BYTES;
        let opened = reader.open_block(block, keep)?;
        if keep {
            let bytes = opened.owner().bytes.len() as u64;
            if first.fetch_add(bytes, Ordering::Relaxed) + bytes >= FIRST_BYTES {
                let had_large_take = &reader.file.cache().had_large_take;
                had_large_take.store(true, Ordering::Relaxed);
            }
        }
        Ok(opened)
    }
}
