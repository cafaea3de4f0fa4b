//! Where the bits of packed values are.
//!
//!   packed = `width` rows of 128 bytes; for a type of B bits, a row has LANES = 1024 / B words
//!   value  = row * LANES + lane        row in 0..B, lane in 0..LANES: values stay in order
//!   lane   = its B values, one little-endian bit string in the words lane, LANES + lane, ...
//!   tail   = fewer than 1,024 values: one little-endian bit string, ceil(len * width / 8) bytes
//!
//! Row `r` of the values begins at bit `r * width` of every lane: one shift serves a whole row, and
//! a second one where the row reaches into the next word. The bytes may have any alignment. Afroozeh
//! and Boncz, The `FastLanes` Compression Layout, VLDB 2023 (which also permutes the rows, for delta
//! with a base per lane; Staffa has one base, and the rows in order).

use crate::word::{Int, VECTOR};

/// Bytes of a row of words: 1,024 bits.
pub(in crate::simd) const ROW: usize = VECTOR / 8;

/// 1,024 packed values, as [`unpack`](crate::unpack) takes them.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a, T> {
    /// The bits.
    pub packed: &'a [u8],
    /// Bits of each value.
    pub width: u32,
    /// Added to each value, wrapping.
    pub base: T,
}

/// Bytes of 1,024 packed values.
#[inline]
pub fn packed_bytes(width: u32) -> usize {
    ROW * width as usize
}

/// Bytes of a packed tail: `ceil(len * width / 8)`.
#[inline]
pub fn tail_bytes(len: usize, width: u32) -> usize {
    len.saturating_mul(width as usize).div_ceil(8)
}

/// The low `width` bits.
#[inline(always)]
pub(in crate::simd) fn mask<T: Int>(width: u32) -> T {
    if width == 0 {
        T::ZERO
    } else {
        T::MAX >> (T::BITS - width)
    }
}

/// Where a row of values begins: (row of words, bit in the word).
#[inline(always)]
pub(in crate::simd) fn place<T: Int>(row: usize, width: u32) -> (usize, u32) {
    let bit = row as u32 * width;
    ((bit / T::BITS) as usize, bit % T::BITS)
}

/// The words of a row, one for each lane.
#[inline(always)]
pub(in crate::simd) fn words<T: Int>(row: &[u8; ROW]) -> impl Iterator<Item = T> {
    (0..ROW / T::BYTES).map(|lane| {
        // SAFETY: the row has `ROW / T::BYTES` words; any bytes are a word, at any alignment.
        unsafe { row.as_ptr().cast::<T>().add(lane).read_unaligned() }
    })
}
