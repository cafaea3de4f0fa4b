//! Leaf columns, from Arrow and to Arrow.

use arrow_buffer::{Buffer, ScalarBuffer};
use staffa_kernels::{PlainStrings, StringViews, Word, cast_slice};

use super::{Bitmap, PhysicalType};

/// One leaf column of one row group, as it comes from Arrow and goes to the encoder.
#[derive(Debug, Clone)]
pub struct LeafArray {
    /// Which values are valid; `None` where all are.
    pub validity: Option<Bitmap>,
    /// The values; those under a NULL are arbitrary.
    pub values: LeafValues,
}

/// The values of a [`LeafArray`].
#[derive(Debug, Clone)]
pub enum LeafValues {
    /// The validity of a struct or a fixed-size list: the number of values, without content.
    Empty(usize),
    /// Booleans.
    Bits(Bitmap),
    /// Fixed-width words: exactly `len * width` bytes, aligned to the width (8 for 256 bits).
    Words(PhysicalType, Buffer),
    /// Byte strings: `offsets` has one more entry than there are strings and begins anywhere in
    /// `data`.
    Bytes {
        /// As in [`Strings`].
        offsets: ScalarBuffer<u32>,
        /// As in [`Strings`].
        data: Buffer,
    },
}

impl LeafValues {
    /// Their physical type; `None` for validity alone.
    pub fn physical_type(&self) -> Option<PhysicalType> {
        match self {
            Self::Empty(_) => None,
            Self::Bits(_) => Some(PhysicalType::Bits),
            Self::Words(ty, _) => Some(*ty),
            Self::Bytes { .. } => Some(PhysicalType::Bytes),
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Empty(len) => *len,
            Self::Bits(bits) => bits.len(),
            Self::Words(ty, data) => data.len() / ty.width_bytes().unwrap_or(1),
            Self::Bytes { offsets, .. } => offsets.len().saturating_sub(1),
        }
    }

    /// Bytes of words, and of the contents of strings.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Empty(_) | Self::Bits(_) => 0,
            Self::Words(_, words) => words.len(),
            Self::Bytes { offsets, .. } => match &**offsets {
                [first, .., last] => (last - first) as usize,
                _ => 0,
            },
        }
    }

    /// Words of width `T`; empty where the type or the alignment is another.
    pub fn words<T: Word>(&self) -> &[T] {
        match self {
            Self::Words(_, data) => cast_slice(data.as_slice()).unwrap_or_default(),
            _ => &[],
        }
    }
}

/// One leaf column of some rows, as it comes from the decoder and goes to Arrow.
#[derive(Debug)]
pub struct DecodedLeaf {
    /// Which values are valid; `None` where all are.
    pub validity: Option<Bitmap>,
    /// The values.
    pub values: DecodedValues,
}

/// The values of a [`DecodedLeaf`].
#[derive(Debug)]
pub enum DecodedValues {
    /// Validity alone: the number of values.
    Empty(usize),
    /// Booleans.
    Bits(Bitmap),
    /// Fixed-width words, `len * width` bytes.
    Words(PhysicalType, Buffer),
    /// Byte strings by views.
    Views(StringViews),
    /// Byte strings one after another, checked.
    Strings(PlainStrings),
    /// Byte strings with `len + 1` offsets that begin with 0: of 64 bits when `large`, else of 32.
    Bytes {
        /// Whether offsets have 64 bits.
        large: bool,
        /// `i32` or `i64` offsets.
        offsets: Buffer,
        /// The contents.
        data: Buffer,
    },
}

impl DecodedValues {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Empty(len) => *len,
            Self::Bits(bits) => bits.len(),
            Self::Words(ty, data) => data.len() / ty.width_bytes().unwrap_or(1),
            Self::Views(views) => views.len(),
            Self::Strings(strings) => strings.len(),
            Self::Bytes { large, offsets, .. } => {
                (offsets.len() / if *large { 8 } else { 4 }).saturating_sub(1)
            }
        }
    }
}
