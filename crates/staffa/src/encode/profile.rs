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

impl FromStr for Profile {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "fast" => Ok(Self::Fast),
            "balanced" => Ok(Self::Balanced),
            "small" => Ok(Self::Small),
            other => Err(Error::invalid(format!(
                "no profile is called {other:?}; there are fast, balanced, small"
            ))),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fast => "fast",
            Self::Balanced => "balanced",
            Self::Small => "small",
        })
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

impl FromStr for Access {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "scan" => Ok(Self::Scan),
            "random" => Ok(Self::Random),
            other => Err(Error::invalid(format!(
                "no access is called {other:?}; there are scan, random"
            ))),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scan => "scan",
            Self::Random => "random",
        })
    }
}
