//! What the row groups before chose, for the next one to try first.

use super::chunk::ChosenChunk;
use super::correlate::Relations;
use crate::encode::Example;

/// What the row groups before chose.
#[derive(Default)]
pub(super) struct Remembered {
    /// By leaf, the tree of a block.
    examples: Vec<Option<Example>>,
    pub(super) relations: Option<Relations>,
}

impl Remembered {
    /// The tree of a block of this leaf.
    pub(super) fn example(&self, leaf: usize) -> Option<&Example> {
        self.examples.get(leaf)?.as_ref()
    }

    /// Whether no row group was written yet.
    pub(super) fn is_empty(&self) -> bool {
        self.examples.is_empty()
    }

    /// Keeps the trees of a row group for the next.
    pub(super) fn keep_examples(&mut self, chosen: &mut [ChosenChunk<'_>]) {
        self.examples.resize_with(chosen.len(), || None);
        for (known, chunk) in self.examples.iter_mut().zip(chosen) {
            *known = match (known.take(), chunk.example.take()) {
                (Some(before), Some(later)) => Some(before.or_later(later)),
                (before, later) => before.or(later),
            };
        }
    }
}
