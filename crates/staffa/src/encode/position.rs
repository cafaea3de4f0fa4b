//! Where in a tree the chooser stands, and what it knows of the chunk around it.

use std::sync::OnceLock;

use super::Hint;
use crate::decode::ReferenceStream;
use crate::limits::Cancel;
use crate::values::{Strings, Values, distinct_bytes};

/// Where in a tree the chooser stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position<'a> {
    /// Levels that may still have children.
    pub depth: u8,
    /// Encodings of the nodes above, one bit per id: none is its own descendant.
    pub above: u64,
    /// Whether this is a trial: only sizes matter, nothing will be decoded.
    pub trial: bool,
    /// Whether the values of a trial are a sample, each run of which stands for itself.
    pub sample: bool,
    /// The encoding that the user requested for this root.
    pub requested_encoding: Option<&'a str>,
    /// Whether the user requested the encoding at work, so that it must not decline.
    pub must_encode: bool,
    /// The tree of another block of the chunk at this place.
    pub hint: Option<&'a Hint<'a>>,
    /// Streams of the reference columns of a derived column.
    pub references: &'a [ReferenceStream<'a>],
    /// Stops the choice.
    pub cancel: Option<&'a Cancel>,
    /// The strings of the chunk whose first block this is the root of.
    pub chunk: Option<ChunkStrings<'a>>,
    /// The bytes that occur in the chunk, in and below its first block.
    pub chunk_bytes: Option<&'a ChunkBytes<'a>>,
}

/// The bytes that occur in the strings of a chunk: other blocks share what is trained on the first, and have
/// bytes that it has not.
#[derive(Debug)]
pub(crate) struct ChunkBytes<'a> {
    text: &'a [u8],
    distinct: OnceLock<Vec<u8>>,
}

impl<'a> ChunkBytes<'a> {
    /// Of these strings.
    pub(crate) fn new(strings: Strings<'a>) -> Self {
        Self {
            text: strings.contents(),
            distinct: OnceLock::new(),
        }
    }

    /// Ascending.
    pub(crate) fn distinct(&self) -> &[u8] {
        self.distinct.get_or_init(|| distinct_bytes(&[self.text]))
    }
}

/// The strings of all blocks of a chunk: what its blocks share is trained on them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkStrings<'a> {
    /// Those under NULLs included.
    pub strings: Strings<'a>,
    /// The part of their bytes that are in the block.
    pub share: f64,
}

impl<'a> ChunkStrings<'a> {
    /// The strings of a chunk, of which these are a block.
    pub(crate) fn new(strings: Strings<'a>, block: Values<'_>) -> Self {
        let all = strings.contents().len().max(1) as f64;
        let share = (block.plain_bytes() as f64 / all).min(1.0);
        Self { strings, share }
    }

    /// Of the bytes that all blocks share, those that the others bear.
    pub(crate) fn others(&self, shareable: usize) -> usize {
        (shareable as f64 * (1.0 - self.share)) as usize
    }
}
