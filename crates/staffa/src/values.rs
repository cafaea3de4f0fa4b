//! Values: what an encoding sees. One enum over the physical types, so that no trait is copied per
//! type.
//!
//! Logical types (dates, timestamps, decimals, floats) are bit patterns of a width underneath; a
//! [`Kind`] says how they are ordered. NULLs are not values: validity is a column of its own.

use arrow_buffer::Buffer;
use staffa_kernels::{PlainStrings, StringViews, U256, Word, cast_slice};

use crate::bitmap::Bitmap;

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

/// What the bits mean, where it matters: for order, and for which encodings suit.
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

/// Byte strings: string `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, Copy)]
pub struct Strings<'a> {
    /// One more than there are strings; never decreasing. The first need not be 0.
    pub offsets: &'a [u32],
    /// What the offsets point into.
    pub data: &'a [u8],
}

impl<'a> Strings<'a> {
    /// Number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// String `i`; empty where there is none.
    #[inline]
    pub fn get(&self, i: usize) -> &'a [u8] {
        match self.offsets.get(i..i + 2) {
            Some(&[start, end]) => self
                .data
                .get(start as usize..end as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    /// All strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let data = self.data;
        self.offsets
            .windows(2)
            .map(move |w| data.get(w[0] as usize..w[1] as usize).unwrap_or_default())
    }

    /// All strings, one after another.
    pub fn contents(&self) -> &'a [u8] {
        match (self.offsets.first(), self.offsets.last()) {
            (Some(&first), Some(&last)) => self
                .data
                .get(first as usize..last as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }

    /// Length of every string.
    pub fn lengths(&self) -> Vec<u32> {
        self.offsets.windows(2).map(|w| w[1] - w[0]).collect()
    }

    /// Strings `start..start + len`, borrowed.
    #[must_use]
    pub fn slice(&self, start: usize, len: usize) -> Self {
        Self {
            offsets: self.offsets.get(start..=start + len).unwrap_or_default(),
            data: self.data,
        }
    }
}

/// Byte strings that own their memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StringsBuf {
    /// As in [`Strings`]; begins with 0.
    pub offsets: Vec<u32>,
    /// As in [`Strings`].
    pub data: Vec<u8>,
}

impl StringsBuf {
    /// No strings yet.
    pub fn new() -> Self {
        Self {
            offsets: vec![0],
            data: Vec::new(),
        }
    }

    /// Appends one.
    pub fn push(&mut self, string: &[u8]) {
        self.data.extend_from_slice(string);
        self.offsets.push(self.data.len() as u32);
    }

    /// Borrows them.
    pub fn as_strings(&self) -> Strings<'_> {
        Strings {
            offsets: &self.offsets,
            data: &self.data,
        }
    }
}

impl<'a> FromIterator<&'a [u8]> for StringsBuf {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(strings: I) -> Self {
        let mut out = Self::new();
        strings.into_iter().for_each(|s| out.push(s));
        out
    }
}

/// The values of a block, or of a part of it, borrowed.
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

    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Bits(v) => v.len(),
            Self::U8(v) => v.len(),
            Self::U16(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::U128(v) => v.len(),
            Self::U256(v) => v.len(),
            Self::Bytes(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes they take as plain values, without offsets.
    pub fn plain_bytes(&self) -> usize {
        match self {
            Self::Bits(v) => v.len().div_ceil(8),
            Self::Bytes(v) => v.contents().len(),
            words => words.len() * words.physical_type().width_bytes().unwrap_or(0),
        }
    }
}

/// One leaf column of one row group, as it comes from Arrow and goes to the encoder.
#[derive(Debug, Clone)]
pub struct LeafArray {
    /// Which values are not NULL; `None` when all are.
    pub validity: Option<Bitmap>,
    /// The values; those under a NULL are arbitrary.
    pub values: LeafValues,
}

/// The values of a [`LeafArray`].
#[derive(Debug, Clone)]
pub enum LeafValues {
    /// A leaf of validity alone (a struct's, a fixed-size list's): so many values, no content.
    Empty(usize),
    /// Booleans.
    Bits(Bitmap),
    /// Fixed-width words: exactly `len * width` bytes, aligned to the width (8 for 256 bits).
    Words(PhysicalType, Buffer),
    /// Byte strings: `offsets` has one more entry than there are strings and begins anywhere in
    /// `data`.
    Bytes {
        /// As in [`Strings`].
        offsets: Vec<u32>,
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

    /// How many values.
    pub fn len(&self) -> usize {
        match self {
            Self::Empty(len) => *len,
            Self::Bits(bits) => bits.len(),
            Self::Words(ty, data) => data.len() / ty.width_bytes().unwrap_or(1),
            Self::Bytes { offsets, .. } => offsets.len().saturating_sub(1),
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
    /// Which values are not NULL; `None` when all are.
    pub validity: Option<Bitmap>,
    /// The values.
    pub values: DecodedValues,
}

/// The values of a [`DecodedLeaf`].
#[derive(Debug)]
pub enum DecodedValues {
    /// A leaf of validity alone.
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
    /// How many values.
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
