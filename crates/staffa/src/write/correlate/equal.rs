//! Equal columns: the blocks of the first are the blocks of all.

use hashbrown::{HashMap, HashSet};

use super::super::chunk::{ChosenChunk, EncodedChunk};
use super::{LEAST_BYTES, may_be_derived};
use crate::error::Result;
use crate::format::checksum;
use crate::limits::map_parallel;
use crate::values::{Kind, PhysicalType};

/// What equal chunks have in common at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Outline {
    ty: Option<PhysicalType>,
    kind: Kind,
    rows: usize,
    block_rows: usize,
    bytes: usize,
}

impl Outline {
    /// That of a chunk that another may equal, or that may equal another.
    fn of(chunk: &ChosenChunk<'_>) -> Option<Self> {
        let bytes = chunk.size();
        (bytes >= LEAST_BYTES && chunk.references.is_empty()).then_some(Self {
            ty: chunk.ty,
            kind: chunk.options.kind,
            rows: chunk.len,
            block_rows: chunk.options.blocks.rows,
            bytes,
        })
    }

    /// Those of the chunks of a window.
    pub(crate) fn of_all(chosen: &[ChosenChunk<'_>]) -> Vec<Option<Self>> {
        chosen.iter().map(Self::of).collect()
    }
}

/// Columns whose chunks are equal, each with the first of them.
pub(super) fn equal_columns(chosen: &[ChosenChunk<'_>]) -> Vec<(usize, usize)> {
    let is_equal = |a: &ChosenChunk<'_>, b: &ChosenChunk<'_>| {
        let mut blocks = a.blocks.iter().zip(&b.blocks);
        a.shared == b.shared
            && a.blocks.len() == b.blocks.len()
            && blocks.all(|(a, b)| a.trees == b.trees && a.input.compacted == b.input.compacted)
    };
    let mut firsts: HashMap<Outline, Vec<(usize, &ChosenChunk<'_>)>> = HashMap::new();
    let mut equal = Vec::new();
    for (leaf, chunk) in chosen.iter().enumerate() {
        let Some(outline) = Outline::of(chunk) else {
            continue;
        };
        let alike = firsts.entry(outline).or_default();
        match alike.iter().find(|(_, first)| is_equal(first, chunk)) {
            Some((first, _)) => equal.push((leaf, *first)),
            None => alike.push((leaf, chunk)),
        }
    }
    equal
}

/// Chunks of earlier windows of the row group that are not derived.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// By the outline and the checksum of the first block, the first leaf.
    leaves: HashMap<(Outline, u32), usize>,
    /// The outlines alone: of most columns there is none.
    outlines: HashSet<Outline>,
}

impl Earlier {
    /// Adds the chunks of a window from leaf `first_leaf` on, encoded.
    pub(crate) fn add(
        &mut self,
        outlines: Vec<Option<Outline>>,
        first_leaf: usize,
        encoded: &[EncodedChunk],
    ) {
        let chunks = encoded.iter().enumerate().skip(first_leaf);
        for ((leaf, chunk), outline) in chunks.zip(outlines) {
            if let (Some(outline), Some(block)) = (outline, chunk.blocks.first()) {
                self.outlines.insert(outline);
                self.leaves.entry((outline, block.checksum)).or_insert(leaf);
            }
        }
    }

    /// Derives the columns of a window that equal an earlier one from that.
    pub(crate) fn derive_equal(
        &self,
        chosen: &mut [ChosenChunk<'_>],
        encoded: &[EncodedChunk],
    ) -> Result<()> {
        let equal = map_parallel(&*chosen, |chunk| {
            chunk.options.cancel.check()?;
            Ok(self.equal_to(chunk, encoded))
        })?;
        for (chunk, leaf) in chosen.iter_mut().zip(equal) {
            if let Some(leaf) = leaf {
                (chunk.same, chunk.references) = (true, vec![leaf]);
            }
        }
        Ok(())
    }

    /// The leaf that a chunk equals.
    fn equal_to(&self, chunk: &ChosenChunk<'_>, encoded: &[EncodedChunk]) -> Option<usize> {
        if self.outlines.is_empty() || !may_be_derived(chunk) {
            return None;
        }
        let outline = Outline::of(chunk).filter(|outline| self.outlines.contains(outline))?;
        let (first, others) = chunk.blocks.split_first()?;
        let first = first.bytes(chunk.ty, &first.trees);
        let leaf = *self.leaves.get(&(outline, checksum(&first)))?;
        let earlier = encoded.get(leaf)?;
        let (block, blocks) = earlier.blocks.split_first()?;
        let mut pairs = others.iter().zip(blocks);
        let is_equal = chunk.shared == earlier.shared
            && chunk.blocks.len() == earlier.blocks.len()
            && first == block.bytes
            && pairs.all(|(own, block)| own.bytes(chunk.ty, &own.trees) == block.bytes);
        is_equal.then_some(leaf)
    }
}
