//! What is known of an encoding without looking at values.

use super::Encoding;

/// An encoding's identity, and what the chooser weighs it by.
#[derive(Clone, Copy)]
pub struct Info {
    /// One byte on disk, never used again for another.
    pub id: u8,
    /// The field's name for it, as in `--encoding price=run_end`.
    pub name: &'static str,
    /// One line of help.
    pub about: &'static str,
    /// Names of the children, in order.
    pub child_names: &'static [&'static str],
    /// Whether its children, if any, are lengths alone: allowed where the cascade is as deep as it
    /// may be.
    pub terminal: bool,
    /// Where the chooser may take it by itself.
    pub availability: Availability,
    /// What has to be decoded to read one value, its children apart.
    pub point_access: PointAccess,
    /// Picoseconds to decode a value in the cache, its children apart: measured by `decode_times`.
    pub decode_picos: u32,
    /// Whether it derives a column from reference columns: never chosen for a column by itself.
    pub needs_reference: bool,
    /// Whether an estimate looks at all values, since a sample cannot show the gain.
    pub estimates_from_all_values: bool,
}

impl Info {
    /// What most encodings have; `id`, `name` and `about` are each one's own.
    pub const DEFAULT: Self = Self {
        id: u8::MAX,
        name: "",
        about: "",
        child_names: &[],
        terminal: false,
        availability: Availability::Always,
        point_access: PointAccess::Vector,
        decode_picos: 100,
        needs_reference: false,
        estimates_from_all_values: false,
    };

    /// Whether it may stand where the cascade is as deep as it may be.
    pub fn is_terminal(&self) -> bool {
        self.terminal || self.child_names.is_empty()
    }
}

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
