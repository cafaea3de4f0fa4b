//! The chooser: the rules of a write, and the place in a cascade. `cascade.rs` has how it chooses.

use staffa_kernels::VECTOR;

#[cfg(any(test, feature = "experiments"))]
use super::Pool;
use super::position::{ChunkBytes, ChunkStrings, Position};
use super::{Encoding, Hint, Profile, Rules, Shares, sample};
use crate::decode::ReferenceStream;
use crate::error::Result;
use crate::limits::Cancel;

/// Levels with children of the profile `small`; only its roots are that high.
pub(super) const SMALL_DEPTH: u8 = 4;

/// Chooses the encoding of values, and of the children that this encoding makes of them.
#[derive(Debug, Clone, Copy)]
pub struct Chooser<'a> {
    pub(super) rules: Rules,
    pub(super) position: Position<'a>,
}

impl<'a> Chooser<'a> {
    /// At a root, with the rules of the profile `balanced`.
    #[cfg(test)]
    pub fn new(pool: &'static Pool) -> Self {
        Self::root(pool, Profile::Balanced, None)
    }

    /// At a root, with the rules of a profile, and the encoding requested by name.
    #[cfg(any(test, feature = "experiments"))]
    pub fn root(pool: &'static Pool, profile: Profile, requested: Option<&'a str>) -> Self {
        Self::with_rules(Rules::of(pool, profile), requested)
    }

    /// At a root, and the encoding requested by name.
    pub(crate) fn with_rules(rules: Rules, requested_encoding: Option<&'a str>) -> Self {
        let depth = match rules.profile {
            Profile::Fast => 2,
            Profile::Balanced => 3,
            Profile::Small => SMALL_DEPTH,
        };
        let position = Position {
            depth,
            above: 0,
            trial: false,
            sample: false,
            requested_encoding,
            must_encode: false,
            hint: None,
            references: &[],
            cancel: None,
            chunk: None,
            chunk_bytes: None,
        };
        Self { rules, position }
    }

    /// With the tree of another block of the chunk, which is tried first.
    pub(crate) fn with_hint(mut self, hint: Option<&'a Hint<'a>>) -> Self {
        self.position.hint = hint;
        self
    }

    /// At the root of the first block of a chunk of these strings, and of these bytes.
    pub(crate) fn with_chunk(mut self, chunk: ChunkStrings<'a>, bytes: &'a ChunkBytes<'a>) -> Self {
        (self.position.chunk, self.position.chunk_bytes) = (Some(chunk), Some(bytes));
        self
    }

    /// No longer at the root.
    pub(super) fn without_chunk(mut self) -> Self {
        self.position.chunk = None;
        self
    }

    /// The bytes of the chunk in or below whose first block this is; else none.
    pub(crate) fn chunk_bytes(&self) -> &'a [u8] {
        self.position.chunk_bytes.map_or(&[], ChunkBytes::distinct)
    }

    /// The strings of the chunk whose first block this is the root of.
    pub(crate) fn chunk(&self) -> Option<ChunkStrings<'a>> {
        self.position.chunk
    }

    /// Stops with an error once the flag is set.
    pub(crate) fn with_cancel(mut self, cancel: &'a Cancel) -> Self {
        self.position.cancel = Some(cancel);
        self
    }

    /// An error once the caller has cancelled the write: checked before each trial of an encoding.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        self.position.cancel.map_or(Ok(()), Cancel::check)
    }

    /// With streams of reference columns, for an encoding that derives a column from them.
    pub(crate) fn with_references(mut self, references: &'a [ReferenceStream<'a>]) -> Self {
        self.position.references = references;
        self
    }

    /// Encodes at most `tries` of the best estimates.
    #[cfg(feature = "experiments")]
    #[must_use]
    pub(crate) fn with_tries(mut self, tries: usize) -> Self {
        self.rules.tries = tries;
        self
    }

    /// Estimates that are encoded, at most.
    #[cfg(feature = "experiments")]
    pub(crate) fn tries(&self) -> usize {
        self.rules.tries
    }

    /// For the children of an encoding.
    pub(crate) fn below(&self, encoding: &dyn Encoding) -> Self {
        let position = Position {
            depth: self.position.depth.saturating_sub(1),
            above: self.position.above | 1 << encoding.info().id,
            requested_encoding: None,
            must_encode: false,
            hint: None,
            references: &[],
            ..self.position
        };
        Self { position, ..*self }
    }

    /// For children that are to have no children of their own, except lengths.
    #[must_use]
    pub fn flat(&self) -> Self {
        let mut flat = *self;
        flat.position.depth = 0;
        flat
    }

    /// For a trial on a sample.
    pub(super) fn for_trial(&self) -> Self {
        let mut trial = self.for_sizes();
        trial.position.sample = true;
        trial
    }

    /// For a trial on the values themselves.
    pub(super) fn for_sizes(&self) -> Self {
        let mut trial = *self;
        (trial.position.trial, trial.position.hint) = (true, None);
        trial.position.chunk = None;
        trial
    }

    /// Whether only the size matters.
    pub fn is_trial(&self) -> bool {
        self.position.trial
    }

    /// Whether the values are a sample, each run of which stands for itself.
    pub fn is_sample(&self) -> bool {
        self.position.sample
    }

    /// Whether the user requested the encoding at work, so that it must not decline.
    pub fn must_encode(&self) -> bool {
        self.position.must_encode
    }

    /// Streams of the reference columns.
    pub fn references(&self) -> &'a [ReferenceStream<'a>] {
        self.position.references
    }

    /// Rows of a vector: 1,024; in a trial 64, since each run of the sample stands for itself.
    pub fn vector_rows(&self) -> usize {
        if self.position.sample {
            sample::vector_rows()
        } else {
            VECTOR
        }
    }

    /// The node of another block at this place, where it has bytes that this one can share.
    pub(crate) fn example(&self) -> Option<&'a Shares> {
        self.position.hint?.example.shares.as_deref()
    }

    /// Whether the hint is worth a try for few values: it has bytes to share, or was chosen for about
    /// as few.
    pub(super) fn hint_suits_few(&self, values: usize) -> bool {
        let alike = |hint: &Hint<'_>| hint.example.len <= values * 2;
        self.example().is_some() || self.position.hint.is_some_and(alike)
    }

    /// The encoding of child `i` in the tree of another block.
    pub(crate) fn hinted(&self, i: usize) -> Option<u8> {
        Some(self.position.hint?.example.children.get(i)?.encoding)
    }

    /// Whether the encoding may be chosen without being requested.
    pub(crate) fn offers(&self, encoding: &dyn Encoding) -> bool {
        self.rules.allow(encoding)
    }
}
