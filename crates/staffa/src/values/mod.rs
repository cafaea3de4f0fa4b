//! Values: what an encoding sees, as one enum over the physical types.
//!
//! Logical types (dates, timestamps, decimals, floats) are stored as words of a width; a [`Kind`]
//! gives their order. NULLs are not values: validity is a column of its own.

mod bitmap;
mod floats;
mod leaf;
mod nulls;
mod owned;
mod physical;
mod runs;
mod strings;

pub use bitmap::Bitmap;
pub(crate) use floats::{FloatBits, power_of_two};
pub use leaf::{DecodedLeaf, DecodedValues, LeafArray, LeafValues};
pub(crate) use nulls::expand;
pub(crate) use owned::{OwnedValues, rows_where};
pub use physical::{Physical, vector_len};
pub(crate) use physical::{for_ints, for_values, for_words};
pub(crate) use runs::run_ends;
use staffa_kernels::U256;
pub(crate) use strings::distinct_bytes;
pub use strings::{Strings, StringsBuf};

/// Lengths that are copied at once: behind a first offset a long copy is slow (decision 18).
pub(crate) const COPIED: usize = 512;

/// How the bits of a value lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PhysicalType {
    /// One bit.
    Bits = 0,
    /// 8 bits.
    U8 = 1,
    /// 16 bits.
    U16 = 2,
    /// 32 bits.
    U32 = 3,
    /// 64 bits.
    U64 = 4,
    /// 128 bits.
    U128 = 5,
    /// 256 bits.
    U256 = 6,
    /// A string of bytes of any length.
    Bytes = 7,
}

impl PhysicalType {
    /// By its byte in a file.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Bits,
            1 => Self::U8,
            2 => Self::U16,
            3 => Self::U32,
            4 => Self::U64,
            5 => Self::U128,
            6 => Self::U256,
            7 => Self::Bytes,
            _ => return None,
        })
    }

    /// Bytes of one value; `None` for bits and byte strings.
    pub fn width_bytes(self) -> Option<usize> {
        match self {
            Self::Bits | Self::Bytes => None,
            word => Some(1 << (word as u8 - 1)),
        }
    }
}

/// The order of words, which decides statistics and encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Unsigned integers; also codes, lengths and run ends.
    Unsigned,
    /// Two's complement integers: dates, times, decimals too.
    Signed,
    /// IEEE 754, 16, 32 or 64 bits.
    Float,
    /// No order that statistics could use: intervals.
    Opaque,
}

/// The values of a block or of a part of it, borrowed.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// Booleans.
    Bits(&'a Bitmap),
    /// 8-bit words.
    U8(&'a [u8]),
    /// 16-bit words.
    U16(&'a [u16]),
    /// 32-bit words.
    U32(&'a [u32]),
    /// 64-bit words.
    U64(&'a [u64]),
    /// 128-bit words.
    U128(&'a [u128]),
    /// 256-bit words.
    U256(&'a [U256]),
    /// Byte strings.
    Bytes(Strings<'a>),
}

impl Values<'_> {
    /// Their physical type.
    pub fn physical_type(&self) -> PhysicalType {
        match self {
            Self::Bits(_) => PhysicalType::Bits,
            Self::U8(_) => PhysicalType::U8,
            Self::U16(_) => PhysicalType::U16,
            Self::U32(_) => PhysicalType::U32,
            Self::U64(_) => PhysicalType::U64,
            Self::U128(_) => PhysicalType::U128,
            Self::U256(_) => PhysicalType::U256,
            Self::Bytes(_) => PhysicalType::Bytes,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        for_values!(self, words(v) => v.len(), bits(v) => v.len(), bytes(v) => v.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the values stored plainly, without offsets of strings.
    pub fn plain_bytes(&self) -> usize {
        match self {
            Self::Bits(v) => v.len().div_ceil(8),
            Self::Bytes(v) => v.contents().len(),
            words => words.len() * words.physical_type().width_bytes().unwrap_or(0),
        }
    }
}
