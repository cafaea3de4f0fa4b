//! The constants of an encoding: its identity, and what the chooser weighs it by.

use super::Encoding;
use crate::decode::StreamOf;

/// An encoding's identity, and what the chooser weighs it by.
#[derive(Clone, Copy)]
pub struct Info {
    /// One byte on disk, never used again for another.
    pub id: u8,
    /// The literature's name for it, as in `--encoding price=run_end`.
    pub name: &'static str,
    /// One line of help.
    pub about: &'static str,
    /// Names of the children, in order.
    pub child_names: &'static [&'static str],
    /// The stream that the first child is, for columns derived from this one.
    pub first_child: Option<StreamOf>,
    /// Whether its children, if any, are lengths alone: allowed at the last level of a cascade.
    pub terminal: bool,
    /// Where the chooser may take it without a request by name.
    pub availability: Availability,
    /// What is decoded to read one value, without its children.
    pub point_access: PointAccess,
    /// Picoseconds to decode a value in the cache, without its children: measured by
    /// `decode_times`.
    pub decode_picos: u32,
    /// Whether it derives a column from reference columns: never chosen for a column alone.
    pub needs_reference: bool,
    /// Bits of a frequent value relative to those of others.
    pub bits: Bits,
    /// Whether an estimate looks at all values, since a sample cannot show the gain.
    pub estimates_from_all_values: bool,
}

impl Info {
    /// The constants of most encodings; `id`, `name` and `about` are each one's own.
    pub const DEFAULT: Self = Self {
        id: u8::MAX,
        name: "",
        about: "",
        child_names: &[],
        first_child: None,
        terminal: false,
        availability: Availability::Always,
        point_access: PointAccess::Vector,
        decode_picos: 100,
        needs_reference: false,
        bits: Bits::Other,
        estimates_from_all_values: false,
    };

    /// Whether it may stand at the last level of a cascade.
    pub fn is_terminal(&self) -> bool {
        self.terminal || self.child_names.is_empty()
    }
}

/// Where the chooser may take an encoding without a request; by name a column can have any.
#[derive(Clone, Copy)]
pub enum Availability {
    /// With every profile.
    Always,
    /// Strings with the profile `fast`: quick to write, but larger and slower to read than others.
    Fast,
    /// With the profile `balanced` where this other one is excluded, and with `small`.
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

/// Bits of a frequent value relative to those of others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Bits {
    /// As many bits as any other, about.
    Same,
    /// Fewer.
    Fewer,
    /// Those of a run once.
    Once,
    /// What the children make of it.
    Other,
}

impl Bits {
    /// Whether frequent values, or runs, take less than others.
    pub fn saves(self) -> bool {
        matches!(self, Self::Fewer | Self::Once)
    }
}

/// What is decoded to read one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PointAccess {
    /// The value: its position follows from its row.
    Value,
    /// The vector of the value, and at most what all vectors share.
    Vector,
    /// All values of the block.
    Block,
}
