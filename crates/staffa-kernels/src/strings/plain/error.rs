//! Why strings are refused.

use std::fmt;

/// Strings that a [`StringSlot`](crate::StringSlot) refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StringsError {
    /// The string at this position of the slot is not UTF-8.
    NotUtf8(usize),
    /// The lengths do not sum up to this number of bytes.
    Lengths(usize),
    /// There are more or fewer strings or bytes than places: expected and found strings and bytes.
    Room {
        /// Strings and bytes that there are places for.
        expected: [usize; 2],
        /// Strings and bytes that there are.
        found: [usize; 2],
    },
    /// The bytes exceed the range of the offsets.
    Long,
}

impl fmt::Display for StringsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUtf8(i) => write!(f, "text expected, found string {i} that is not UTF-8"),
            Self::Lengths(bytes) => write!(f, "lengths of {bytes} bytes expected, found others"),
            Self::Room {
                expected: [rows, bytes],
                found: [found, found_bytes],
            } => write!(
                f,
                "{rows} strings of {bytes} bytes expected, found {found} of {found_bytes}"
            ),
            Self::Long => write!(
                f,
                "less than 2 GiB of strings expected, found more: ask for the large type"
            ),
        }
    }
}

impl std::error::Error for StringsError {}
