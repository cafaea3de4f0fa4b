//! Editions: sets of encodings that readers have in common. FORMAT.md, section 2.

use std::fmt;
use std::str::FromStr;

use super::POOL;
use crate::error::{Error, Result};

/// A set of encodings. A file written for an edition is read by every reader that has it, whoever
/// made that reader and whatever it left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub enum Edition {
    /// What every reader of format 1 has: all encodings but compression codecs and byte-oriented
    /// integers.
    #[serde(rename = "core-1")]
    Core1,
}

/// Ids of the encodings outside the core, by name, which a build may leave out.
const OUTSIDE_CORE_1: [(u8, &str); 6] = [
    (22, "zstd"),
    (23, "lz4"),
    (24, "brotli"),
    (27, "vbyte"),
    (28, "stream_vbyte"),
    (29, "pco"),
];

impl Edition {
    /// All editions.
    pub const ALL: &'static [Self] = &[Self::Core1];

    /// Its name, as options and programs take it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core1 => "core-1",
        }
    }

    /// Whether the encoding of this id belongs to it.
    pub(crate) fn contains(self, id: u8) -> bool {
        match self {
            Self::Core1 => {
                id <= 35
                    && !(30..35).contains(&id)
                    && OUTSIDE_CORE_1.iter().all(|(other, _)| *other != id)
            }
        }
    }
}

impl fmt::Display for Edition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Edition {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|edition| edition.name() == name);
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|edition| edition.name()).collect();
            Error::invalid(format!(
                "no edition is called {name:?}; there are {}",
                names.join(", ")
            ))
        })
    }
}

/// The name of an encoding, whether this build has it or not; its number where none is known.
pub(crate) fn name_of(id: u8) -> String {
    let known = POOL.by_id(id).map(|encoding| encoding.info().name);
    let left_out = || OUTSIDE_CORE_1.iter().find(|(other, _)| *other == id);
    let name = known.or_else(|| left_out().map(|(_, name)| *name));
    name.map_or_else(|| format!("encoding {id}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_has_every_encoding_but_those_that_a_build_may_leave_out() {
        for encoding in POOL.iter() {
            let info = encoding.info();
            let outside = OUTSIDE_CORE_1.contains(&(info.id, info.name));
            assert_eq!(Edition::Core1.contains(info.id), !outside, "{}", info.name);
        }
        assert!(!Edition::Core1.contains(31) && !Edition::Core1.contains(36));
        assert_eq!("core-1".parse::<Edition>().unwrap(), Edition::Core1);
        assert!("core-2".parse::<Edition>().is_err());
        assert_eq!(
            (name_of(0), name_of(29), name_of(200)),
            ("plain".into(), "pco".into(), "encoding 200".into())
        );
    }
}
