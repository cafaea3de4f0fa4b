//! Encodings: the trait, and the one list of them.
//!
//! An encoding is one file below and one line in [`POOL`]. It sees [`Values`] without NULLs, makes
//! a [`Node`] of them (whose children go back to the chooser: a cascade), and opens a node to a
//! decoder.

mod cascade;
pub(crate) mod distinct;
mod info;
pub(crate) mod matches;
mod pool;
mod profile;
mod rough;
pub(crate) mod sample;
mod stats;

pub(crate) use cascade::{Chooser, Hint};
pub use distinct::Coded;
pub(crate) use distinct::Coder;
pub use info::{Availability, Info, PointAccess};
pub use matches::Sequences;
pub use pool::Pool;
pub use profile::{Access, Profile};
pub(crate) use rough::rough_bytes;
pub(crate) use stats::Sorted;
pub use stats::Stats;

use crate::decode::{AnyDecoder, OpenContext};
use crate::error::Result;
use crate::format::{Node, NodeRef};
use crate::values::{Kind, PhysicalType, Values};

/// A value that an encoding cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsupportedValue {
    /// Which of the values.
    pub at: usize,
    /// What the encoding holds.
    pub holds: &'static str,
}

/// One way to lay out values as bytes. Stateless; one static per encoding.
pub trait Encoding: Sync {
    /// Its identity, and what the chooser weighs it by.
    fn info(&self) -> &Info;

    /// Whether it has a form for this type at all.
    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool;

    /// Whether it is worth a trial: the viability rules (BtrBlocks, section 3.1).
    fn is_viable(&self, _values: Values<'_>, _stats: &Stats<'_>) -> bool {
        true
    }

    /// Bytes of a block's root that other blocks of the chunk need not have, as they may be shared.
    fn shareable(&self, _node: &Node) -> usize {
        0
    }

    /// Bytes that these values would take, or `None` where it does not suit. By default the sample
    /// is encoded and the size scaled (BtrBlocks, section 3.1); overridden where a closed form is
    /// exact or the sample would mislead.
    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        chooser.estimate_by_sample(self.info().id, values, stats)
    }

    /// The node, or `None` where these values cannot be held or it is plainly not worth it.
    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>>;

    /// The first value that it cannot hold, where it was asked for by name and declined.
    fn unsupported_value(&self, _values: Values<'_>) -> Option<UnsupportedValue> {
        None
    }

    /// The trust boundary: structure, counts and sizes are checked here.
    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>>;

    /// A few words on the parameters of a node, for people: `7 bits`.
    fn detail(&self, _node: &NodeRef<'_>) -> String {
        String::new()
    }
}
