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

    /// Keeps the trees of a row group for the next.
    pub(super) fn keep_examples(&mut self, chosen: &mut [ChosenChunk<'_>]) {
        self.examples = chosen
            .iter_mut()
            .map(|chunk| chunk.example.take())
            .collect();
    }
}
