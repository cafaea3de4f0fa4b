//! Encodings: the trait, and the one list of them.
//!
//! An encoding is one file below and one line in [`POOL`]. It sees [`Values`] without NULLs, makes
//! a [`Node`] of them (whose children go back to the chooser: a cascade), and opens a node to a
//! decoder.

mod cascade;
pub(crate) mod distinct;
pub(crate) mod matches;
mod pool;
mod profile;
mod rough;
pub(crate) mod sample;
mod stats;

pub(crate) use cascade::{Chooser, Hint};
pub use distinct::Coded;
pub(crate) use distinct::Coder;
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

/// Where the chooser may take an encoding by itself; by name a column can have any.
#[derive(Clone, Copy)]
pub enum Availability {
    /// With every profile.
    Always,
    /// Strings with the profile `fast`: quick to write, if not as small or as quick to read as
    /// others.
    Fast,
    /// With the profile `balanced` where this other one is not, and with `small`, which tries
    /// everything.
    Instead(&'static dyn Encoding),
    /// With the profiles `balanced` and `small`: slow to write.
    Slow,
    /// With the profile `small`: very slow, or blind to types.
    Small,
    /// For columns whose floats are rounded to a bound on the error.
    Rounded,
    /// Nowhere.
    ByName,
}

/// What has to be decoded to read one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PointAccess {
    /// The value: its place follows from its row.
    Value,
    /// The vector that it is in, and at most what all vectors share.
    Vector,
    /// All values of the block.
    Block,
}

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
    /// One byte on disk, never used again for another.
    fn id(&self) -> u8;

    /// The field's name for it, as in `--encoding price=run_end`.
    fn name(&self) -> &'static str;

    /// One line of help.
    fn about(&self) -> &'static str;

    /// Names of the children, in order.
    fn child_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether it has a form for this type at all.
    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool;

    /// Whether it is worth a trial: the viability rules (BtrBlocks, section 3.1).
    fn is_viable(&self, _values: Values<'_>, _stats: &Stats<'_>) -> bool {
        true
    }

    /// Whether it is in terms of another column: it is then never chosen for a column by itself.
    fn needs_reference(&self) -> bool {
        false
    }

    /// Whether a sample cannot show what it would gain, so that an estimate looks at all values.
    fn estimates_from_all_values(&self) -> bool {
        false
    }

    /// Where the chooser may take it by itself.
    fn availability(&self) -> Availability {
        Availability::Always
    }

    /// Bytes of a block's root that other blocks of the chunk need not have, as they may be shared.
    fn shareable(&self, _node: &Node) -> usize {
        0
    }

    /// What has to be decoded to read one value, its children apart.
    fn point_access(&self) -> PointAccess {
        PointAccess::Vector
    }

    /// Picoseconds that a value takes to decode, in the cache, its children apart: measured by
    /// `decode_times`.
    fn decode_picos(&self) -> u32 {
        100
    }

    /// Whether it has no children: what is left when the cascade is as deep as it may be.
    fn terminal(&self) -> bool {
        self.child_names().is_empty()
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
        chooser.estimate_by_sample(self.id(), values, stats)
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
