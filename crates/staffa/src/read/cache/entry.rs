//! What the cache keeps of column chunks, and what that takes.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use bytes::Bytes;
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
pub(super) type Chunk = (usize, usize);

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
    /// Whether it is an opened block with its bytes, which a decoded one has not.
    pub(super) fn has_bytes_of_block(&self) -> bool {
        matches!(self, Self::Block(opened) if !opened.owner().bytes.is_empty())
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
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
