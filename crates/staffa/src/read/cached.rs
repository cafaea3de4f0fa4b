//! Column chunks of a scan that uses the cache: blocks that are there, and stay until they are read.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;
use std::sync::Arc;

use super::cache::{Entry, Item, OpenBlock, Pins};
use super::chunk_reader::{ChunkReader, Keep};
use super::column_builder::{ColumnBuilder, OutputLayout};
use super::slots::BlockSize;
use crate::error::Result;
use crate::values::DecodedLeaf;

impl ChunkReader<'_> {
    /// Values of some blocks, each opened now or before, and kept.
    pub(super) fn decode_opened(
        &self,
        blocks: &Range<usize>,
        layout: OutputLayout,
    ) -> Result<DecodedLeaf> {
        let entries = self.entries(blocks);
        let sizes = entries.iter().map(|entry| BlockSize {
            values: entry.values,
            string_bytes: entry.string_bytes as usize,
        });
        let plain_bytes = sizes.clone().map(|size| self.plain_bytes(size));
        self.check_bytes(plain_bytes.fold(0, u64::saturating_add))?;
        // Opened before memory is taken for what they declare.
        let numbers = blocks.start..blocks.start.saturating_add(entries.len());
        let opened = numbers
            .clone()
            .map(|block| self.open_block(block, Keep::Block));
        let opened: Vec<Arc<OpenBlock>> = opened.collect::<Result<_>>()?;
        let mut out = ColumnBuilder::of_blocks(self.leaf, sizes, layout);
        for (number, opened) in numbers.zip(opened) {
            let pushed = opened.with(|block| out.push(block));
            pushed.map_err(|e| e.at(|p| self.name_block(p, number)))?;
        }
        out.finish()
    }

    /// What the cache had when the scan was planned.
    pub(super) fn pins(&self) -> Option<&Pins> {
        self.file.reads().pins.as_deref()
    }

    /// Whether a block is in the cache, for a scan that takes blocks from it: it stays until it is read.
    pub(super) fn pin(&self, block: usize) -> bool {
        let Some(pins) = self.pins().filter(|_| self.file.reads().cached) else {
            return false;
        };
        let found = || self.file.cache().block(self.key(), block);
        pins.block(self.key(), block).is_some()
            || found().is_some_and(|found| {
                pins.keep_block(self.key(), block, found);
                true
            })
    }

    /// Whether the shared dictionaries are in the cache; for a scan in steps they stay until they are used.
    pub(super) fn pin_shared(&self) -> bool {
        let Some(Entry::Shared(shared)) = self.file.cache().get(self.key(), Item::Shared) else {
            return self
                .pins()
                .is_some_and(|pins| pins.shared(self.key()).is_some());
        };
        if let Some(pins) = self.pins() {
            pins.keep_shared(self.key(), shared);
        }
        true
    }

    /// Counts blocks that are needed, and how many of them the cache has.
    pub(super) fn count_blocks(&self, blocks: usize, hits: usize) {
        if let Some(metrics) = &self.file.reads().metrics {
            metrics.count_blocks(blocks, hits);
        }
    }
}
