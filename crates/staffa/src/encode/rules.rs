//! The rules of a tree: which encodings may be chosen, and how many are tried.

use super::{Access, Availability, Encoding, Pool, Profile};
use crate::format::BitSet;

/// What a tree may be made of: the same for all its nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    /// The encodings to choose from.
    pub pool: &'static Pool,
    /// The balance of size and speed.
    pub profile: Profile,
    /// How the file is expected to be read.
    pub access: Access,
    /// Whether floats are rounded to a bound on the error.
    pub rounded: bool,
    /// Encodings that the user excludes.
    pub excluded: BitSet,
    /// Estimates that are encoded, at most.
    pub tries: usize,
}

impl Rules {
    /// The rules of a profile, for a file that is scanned.
    pub(crate) fn of(pool: &'static Pool, profile: Profile) -> Self {
        Self {
            pool,
            profile,
            access: Access::Scan,
            rounded: false,
            excluded: BitSet::default(),
            tries: match profile {
                Profile::Fast => 1,
                Profile::Balanced => 3,
                Profile::Small => usize::MAX,
            },
        }
    }

    /// Whether an encoding may be chosen without being requested.
    pub(super) fn allow(&self, encoding: &dyn Encoding) -> bool {
        let info = encoding.info();
        if self.excluded.contains(info.id) {
            return false;
        }
        match info.availability {
            Availability::Always => true,
            Availability::Fast => self.profile == Profile::Fast,
            Availability::Instead(other) => {
                self.profile == Profile::Small
                    || self.profile == Profile::Balanced && !self.allow(other)
            }
            Availability::Slow => self.profile != Profile::Fast,
            Availability::Small => self.profile == Profile::Small,
            Availability::Rounded => self.rounded,
            Availability::ByName => false,
        }
    }
}
