//! What the chooser aims at: a profile, and the expected access.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The balance of size and speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Light encodings, LZ4 for strings, only the best estimate encoded: quick to write.
    Fast,
    /// The default: cascades of three levels, the best estimates encoded and compared.
    #[default]
    Balanced,
    /// Deeper cascades, all candidates encoded and compared: slow to write.
    Small,
}

impl Profile {
    /// Bytes that the chooser trades for a picosecond of decoding.
    pub(crate) fn bytes_per_pico(self) -> f64 {
        match self {
            Self::Fast | Self::Balanced => 5e-5,
            Self::Small => 0.0,
        }
    }
}

/// How a file is expected to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// The default: whole columns, or long parts of them.
    #[default]
    Scan,
    /// Single rows by number: an encoding that decodes a whole block for one value must be half as
    /// large as any other.
    Random,
}

/// Parses and shows an option by its names.
macro_rules! names {
    ($ty:ident, $what:literal, $($variant:ident: $name:literal),+) => {
        impl FromStr for $ty {
            type Err = Error;

            fn from_str(name: &str) -> Result<Self, Error> {
                match name {
                    $($name => Ok(Self::$variant),)+
                    other => {
                        let known = [$($name),+].join(", ");
                        let what = concat!("no ", $what, " is called");
                        Err(Error::invalid(format!("{what} {other:?}; there are {known}")))
                    }
                }
            }
        }

        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $name,)+
                })
            }
        }
    };
}
names!(Profile, "profile", Fast: "fast", Balanced: "balanced", Small: "small");
names!(Access, "access", Scan: "scan", Random: "random");
