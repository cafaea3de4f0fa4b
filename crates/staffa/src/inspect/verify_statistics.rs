//! Verifying statistics: zone maps, summaries and statistics of chunks must hold for the values, as
//! filters, aggregates and planners trust them.

use arrow_buffer::i256;

use super::with_present;
use crate::arrow::Leaf;
use crate::error::{Error, Result};
use crate::format::{BitSet, Bounds, ChunkSummary, Summary, ZoneMap};
use crate::read::{ChunkReader, File, OutputLayout};
use crate::values::Values;
use crate::write::chunk_statistics::sum_of;
use crate::write::summary::{BlockSummary, LeafSummary, Sketch};

/// What the values of a block say.
pub(super) struct FoundBlock {
    summary: BlockSummary,
    zone: ZoneMap,
    /// Of a type that has a sum, where the file has statistics of chunks.
    sum: Option<i256>,
}

/// What the values say, and what the file says of them.
pub(super) struct FoundStatistics<'f> {
    file: &'f File,
    chunks: Vec<ChunkSummary>,
    leaves: Vec<LeafSummary>,
}

impl<'f> FoundStatistics<'f> {
    pub(super) fn new(file: &'f File) -> Result<Self> {
        Ok(Self {
            file,
            chunks: file.chunk_summaries()?,
            leaves: vec![LeafSummary::default(); file.footer().leaves.len()],
        })
    }

    /// Checks the zone maps of a chunk.
    pub(super) fn check_zones(&self, leaf: usize, row_group: usize) -> Result<Vec<FoundBlock>> {
        let (chunk, spec) = (self.file.chunk(leaf, row_group)?, self.file.leaf(leaf)?);
        let reader = ChunkReader::new(self.file, leaf, row_group)?;
        let with_sum = spec.has_sum && !self.chunks.is_empty();
        let mut blocks = Vec::new();
        for (i, entry) in chunk.blocks.iter().enumerate() {
            let decoded = reader.decode(i..i + 1, OutputLayout::default())?;
            let found = |values: Values<'_>, nulls| {
                let present = Some(values).filter(|values| !values.is_empty());
                let (kind, none) = (spec.kind, BitSet::default());
                Ok(FoundBlock {
                    // Estimates of distinct values are not verified.
                    summary: BlockSummary::of(
                        present,
                        Some(Sketch::default()),
                        kind,
                        entry.values,
                        none,
                    ),
                    zone: ZoneMap::of(values, kind, nulls),
                    sum: with_sum.then(|| sum_of(values, kind)).flatten(),
                })
            };
            let found = with_present(&decoded, found)?;
            let zone = &found.zone;
            if zone.nulls != entry.zone.nulls || !entry.zone.bounds.hold(&zone.bounds) {
                let what = format!(
                    "zone map around {zone:?}, that of its values, expected, found {:?}",
                    entry.zone
                );
                return Err(Error::corrupt(what)
                    .at(|p| (p.block, p.offset) = (Some(i), Some(entry.offset)))
                    .at(self.file.place(leaf, row_group)));
            }
            blocks.push(found);
        }
        Ok(blocks)
    }

    /// Takes in the blocks of a chunk, the chunks of a leaf in their order, and checks what the file
    /// says of it.
    pub(super) fn add_chunk(
        &mut self,
        leaf: usize,
        row_group: usize,
        blocks: &[FoundBlock],
    ) -> Result<()> {
        let mut chunk = LeafSummary::default();
        for block in blocks {
            chunk.add(&block.summary, &block.zone);
            if let Some(leaf) = self.leaves.get_mut(leaf) {
                leaf.add(&block.summary, &block.zone);
            }
        }
        let number = leaf * self.file.num_row_groups() + row_group;
        let Some(stored) = self.chunks.get(number) else {
            return Ok(());
        };
        let spec = self.file.leaf(leaf)?;
        let sum = blocks
            .iter()
            .try_fold(i256::ZERO, |sum, block| sum.checked_add(block.sum?));
        let found = chunk.finish();
        let holds = holds(
            (&stored.zone, stored.decoded_bytes),
            (&found.zone, found.decoded_bytes),
            spec,
        );
        if holds && (stored.sum.is_none() || stored.sum == sum.filter(|_| spec.has_sum)) {
            return Ok(());
        }
        let found = ChunkSummary {
            decoded_bytes: found.decoded_bytes,
            zone: found.zone,
            sum,
        };
        let what = format!("statistics of a chunk like {found:?} expected, found {stored:?}");
        Err(Error::corrupt(what).at(self.file.place(leaf, row_group)))
    }

    /// Checks the summary of a leaf of which all chunks were added.
    pub(super) fn check_summary(&self, leaf: usize) -> Result<()> {
        let (summaries, spec) = (self.file.summaries()?, self.file.leaf(leaf)?);
        let pair = summaries.get(leaf).zip(self.leaves.get(leaf));
        let Some((stored, found)) = pair.filter(|_| spec.unknown.is_none()) else {
            return Ok(());
        };
        let Summary {
            ascending,
            descending,
            decoded_bytes,
            zone,
            ..
        } = found.clone().finish();
        let holds = holds(
            (&stored.zone, stored.decoded_bytes),
            (&zone, decoded_bytes),
            spec,
        );
        // A summary need not say that values are in order.
        if holds && (ascending || !stored.ascending) && (descending || !stored.descending) {
            return Ok(());
        }
        let found = Summary {
            ascending,
            descending,
            decoded_bytes,
            zone,
            ..stored.clone()
        };
        let what = format!("a summary like {found:?} expected, found {stored:?}");
        Err(Error::corrupt(what).at(|p| p.column = Some(spec.path.to_string())))
    }
}

/// Whether a zone map and the decoded bytes hold for what was found: bounds of another type than the
/// leaf's say nothing.
fn holds(stored: (&ZoneMap, u64), found: (&ZoneMap, u64), leaf: &Leaf) -> bool {
    let (zone, bytes) = stored;
    let bounds = &found.0.bounds;
    let bounds_hold = !zone.bounds.matches_type(leaf.ty, leaf.kind)
        || *bounds == Bounds::None
        || zone.bounds.hold(bounds);
    zone.nulls == found.0.nulls && bytes == found.1 && bounds_hold
}
