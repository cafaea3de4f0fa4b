//! Equal columns: the blocks of the first are the blocks of all.

use hashbrown::HashMap;

use super::super::chunk::{ChosenChunk, EncodedChunk};
use super::{LEAST_BYTES, may_be_derived};
use crate::values::{Kind, PhysicalType};

/// What equal chunks have in common at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Outline {
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
            block_rows: chunk.options.block_rows,
            bytes,
        })
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

/// Chunks of earlier windows of the row group.
#[derive(Debug, Default)]
pub(crate) struct Earlier(HashMap<Outline, Vec<usize>>);

impl Earlier {
    /// Adds the chunks of a window that are not derived, of which the first is that of leaf `first`.
    pub(crate) fn add(&mut self, chosen: &[ChosenChunk<'_>], first: usize) {
        for (leaf, chunk) in (first..).zip(chosen) {
            if let Some(outline) = Outline::of(chunk) {
                self.0.entry(outline).or_default().push(leaf);
            }
        }
    }

    /// Derives the columns that equal one of an earlier window from it.
    pub(crate) fn derive_equal(&self, chosen: &mut [ChosenChunk<'_>], encoded: &[EncodedChunk]) {
        if self.0.is_empty() {
            return;
        }
        for chunk in chosen.iter_mut().filter(|chunk| may_be_derived(chunk)) {
            let alike = Outline::of(chunk).and_then(|outline| self.0.get(&outline));
            let is_equal = |leaf: &&usize| {
                let encoded = encoded.get(**leaf);
                encoded.is_some_and(|encoded| is_encoded(chunk, encoded))
            };
            if let Some(leaf) = alike.and_then(|alike| alike.iter().find(is_equal)) {
                (chunk.same, chunk.references) = (true, vec![*leaf]);
            }
        }
    }
}

/// Whether these are the bytes of a chunk.
fn is_encoded(chunk: &ChosenChunk<'_>, encoded: &EncodedChunk) -> bool {
    let mut blocks = chunk.blocks.iter().zip(&encoded.blocks);
    chunk.shared == encoded.shared
        && chunk.blocks.len() == encoded.blocks.len()
        && blocks.all(|(own, block)| own.bytes(chunk.ty, &own.trees) == block.bytes)
}
