//! What the row groups before chose, for the next one to try first.

use super::chunk::ChosenChunk;
use super::plan::Plan;
use super::window::{self, Window};
use crate::encode::Example;
use crate::error::Result;

/// What the row groups before chose.
#[derive(Default)]
pub(super) struct Remembered {
    pub(super) windows: Vec<Window>,
    pub(super) examples: Examples,
}

impl Remembered {
    /// Cuts the columns into windows for a row group of so many rows, unless they are as before.
    pub(super) fn cut(&mut self, plan: &Plan, rows: usize) -> Result<()> {
        let cuts = window::cut(plan, rows);
        if self.windows.iter().map(|window| &window.columns).ne(&cuts) {
            let windows = cuts.into_iter().map(|columns| Window::new(plan, columns));
            self.windows = windows.collect::<Result<_>>()?;
        }
        Ok(())
    }
}

/// By leaf, the tree of a block.
#[derive(Default)]
pub(super) struct Examples(Vec<Option<Example>>);

impl Examples {
    /// That of a leaf.
    pub(super) fn get(&self, leaf: usize) -> Option<&Example> {
        self.0.get(leaf)?.as_ref()
    }

    /// Whether this leaf was chosen for before.
    pub(super) fn has(&self, leaf: usize) -> bool {
        leaf < self.0.len()
    }

    /// Keeps the trees of chunks, of which the first is that of leaf `first`, for the next row group.
    pub(super) fn keep(&mut self, first: usize, chosen: &mut [ChosenChunk<'_>]) {
        let leaves = self.0.len().max(first + chosen.len());
        self.0.resize_with(leaves, || None);
        for (known, chunk) in self.0.iter_mut().skip(first).zip(chosen) {
            *known = match (known.take(), chunk.example.take()) {
                (Some(before), Some(later)) => Some(before.or_later(later)),
                (before, later) => before.or(later),
            };
        }
    }
}
