//! Encoding: the trait of encodings, and the chooser of which one values get.
//!
//! An encoding sees [`Values`] without NULLs, makes a [`Node`] of them, whose children go back to
//! the [`Chooser`] (a cascade), and opens a node as a decoder.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod candidates;
mod cascade;
mod chooser;
mod coder;
mod cost;
pub(crate) mod distinct;
mod estimate;
mod hint;
mod info;
pub(crate) mod matches;
mod pool;
mod position;
mod profile;
mod rough;
mod rules;
pub(crate) mod sample;
mod stats;

pub(crate) use chooser::Chooser;
pub(crate) use coder::{Coder, Key, hash_of};
pub use distinct::Coded;
pub(crate) use hint::{Example, Hint, Shares};
pub use info::{Availability, Bits, Info, PointAccess};
pub use matches::Sequences;
pub use pool::Pool;
pub(crate) use position::{ChunkBytes, ChunkStrings};
pub use profile::{Access, Profile};
pub(crate) use rough::rough_bytes;
pub(crate) use rules::Rules;
pub(crate) use stats::Sorted;
pub use stats::Stats;

use crate::decode::{AnyDecoder, OpenContext};
use crate::error::Result;
use crate::format::{Node, NodeRef};
use crate::values::{Kind, PhysicalType, Values};

/// A value that an encoding cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsupportedValue {
    /// Its position among the values.
    pub at: usize,
    /// What the encoding holds.
    pub holds: &'static str,
}

/// One way to lay out values as bytes. Stateless; one static per encoding.
pub trait Encoding: Sync {
    /// Its identity, and what the chooser weighs it by.
    fn info(&self) -> &Info;

    /// Whether it has a form for this type.
    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool;

    /// Whether it is worth a trial: the viability rules (BtrBlocks, section 3.1).
    fn is_viable(&self, _values: Values<'_>, _stats: &Stats<'_>) -> bool {
        true
    }

    /// Whether it may be smaller than a dictionary; asked where the rules allow one.
    fn may_beat_dictionary(&self, _values: Values<'_>, _stats: &Stats<'_>) -> bool {
        true
    }

    /// Bytes of a block's root that the blocks of a chunk may share.
    fn shareable(&self, _node: &Node) -> usize {
        0
    }

    /// Bytes that these values would take; `None` where the encoding does not suit. By default the
    /// sample is encoded and the size scaled (BtrBlocks, section 3.1); overridden where a closed
    /// form is exact or the sample would mislead.
    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        chooser.estimate_by_sample(self.info().id, values, stats)
    }

    /// The node; `None` where it cannot hold these values or is clearly not worth it.
    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>>;

    /// The first value that it cannot hold, for the message where a requested encoding declines.
    fn unsupported_value(&self, _values: Values<'_>) -> Option<UnsupportedValue> {
        None
    }

    /// The trust boundary: structure, counts and sizes are checked here.
    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>>;

    /// The parameters of a node in a few words, for people: `7 bits`.
    fn detail(&self, _node: &NodeRef<'_>) -> String {
        String::new()
    }
}
