//! Neighbouring blocks of a column chunk: checked and parsed, opened on request.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::File;
use super::domain::check_domain;
use super::slots::BlockSize;
use crate::arrow::Leaf;
use crate::decode::{Block, SharedDictionary};
use crate::error::{Error, Place, Result};
use crate::format::BlockEntry;
use crate::format::block::Parsed;

/// Neighbouring blocks, checked and parsed: each is opened on request, in any order, by any thread.
pub(crate) struct BlockRange<'r, 'b> {
    pub(super) file: &'r File,
    pub(super) leaf: &'r Leaf,
    /// Number of the first block in its chunk.
    pub(super) first: usize,
    pub(super) entries: &'r [BlockEntry],
    pub(super) blocks: Vec<Parsed<'b>>,
    /// The blocks of the same rows of each reference column.
    pub(super) references: Vec<Vec<Parsed<'b>>>,
    pub(super) shared: &'b [SharedDictionary],
}

impl<'b> BlockRange<'_, 'b> {
    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether the blocks may share a dictionary.
    pub fn is_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// Declared size of each block.
    pub fn sizes(&self) -> impl Iterator<Item = BlockSize> + Clone {
        self.blocks.iter().map(|block| BlockSize {
            values: block.len,
            string_bytes: block.string_bytes,
        })
    }

    /// Whether block `i` has no tree of values, or one without children.
    pub fn is_simple(&self, i: usize) -> bool {
        let values = self.blocks.get(i).map(|block| block.values.as_ref());
        values.is_some_and(|values| values.is_none_or(|root| root.children.is_empty()))
    }

    /// Opens block `i` of the range.
    pub fn open(&self, i: usize) -> Result<Block<'b>> {
        let missing = || Error::internal(format!("no block {i} of {}", self.len()));
        let block = self.blocks.get(i).ok_or_else(missing)?;
        let references = self.references.iter().map(|blocks| blocks.get(i).cloned());
        let unlike = || Error::corrupt("a block of each reference column for each block expected");
        let references: Option<Vec<_>> = references.collect();
        let open =
            |references: Vec<_>| Block::open(block, self.shared, &references, &self.file.opener());
        let opened = references.ok_or_else(unlike).and_then(open);
        let checked = opened
            .and_then(|block| check_domain(self.leaf, self.entries.get(i), &block).map(|()| block));
        checked.map_err(|e| e.at(|p| self.name(p, i)))
    }

    /// Names the place of an error in block `i` of the range.
    pub fn name(&self, place: &mut Place, i: usize) {
        place.block = Some(self.first + i);
        place.offset = self.entries.get(i).map(|entry| entry.offset);
    }
}
