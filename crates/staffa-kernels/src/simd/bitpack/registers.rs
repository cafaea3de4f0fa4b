//! Rows of a full vector, unpacked into registers: a kernel goes on with them before they are
//! stored.

use std::arch::x86_64::*;

use super::layout::{ROW, mask, packed_bytes, place};
use crate::simd::avx512::{self, add, shift_left, shift_right, splat};
use crate::word::{Int, VECTOR};

/// Calls `put(i, values)` with one register of unpacked values above `base` after another, where `i`
/// is the position of the first value; all positions are below 1,024. Words have at least 16 bits.
///
/// `false` unless `width` is from 1 to the type's and `packed` has [`packed_bytes`].
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(in crate::simd) fn rows_avx512<T: Int>(
    packed: &[u8],
    width: u32,
    base: T,
    mut put: impl FnMut(usize, __m512i),
) -> bool {
    if width == 0 || width > T::BITS || packed.len() != packed_bytes(width) {
        return false;
    }
    let (mask, base) = (splat(mask::<T>(width)), splat(base));
    let lanes = VECTOR / T::BITS as usize;
    for row in 0..T::BITS as usize {
        let (word, shift) = place::<T>(row, width);
        // SAFETY (all reads): the last bit of the last row is bit `BITS * width` of a lane, so
        // `word`, and `word + 1` where the row reaches into it, are below `width`; `packed` has
        // `width` rows, of two registers each.
        let read = |word: usize, half: usize| unsafe {
            _mm512_loadu_si512(packed.as_ptr().add(word * ROW + half * 64).cast())
        };
        let above = |bits| add::<T>(base, _mm512_and_si512(bits, mask));
        let down = avx512::shift(shift);
        if shift + width <= T::BITS {
            for half in 0..2 {
                let low = shift_right::<T>(read(word, half), down);
                put(row * lanes + half * lanes / 2, above(low));
            }
        } else {
            let up = avx512::shift(T::BITS - shift);
            for half in 0..2 {
                let low = shift_right::<T>(read(word, half), down);
                let high = shift_left::<T>(read(word + 1, half), up);
                let bits = _mm512_or_si512(low, high);
                put(row * lanes + half * lanes / 2, above(bits));
            }
        }
    }
    true
}

/// [`rows_avx512`] with registers of half the size, for 64 bits only.
#[target_feature(enable = "avx2")]
#[inline]
pub(in crate::simd) fn rows_avx2(
    packed: &[u8],
    width: u32,
    base: u64,
    mut put: impl FnMut(usize, __m256i),
) -> bool {
    if width == 0 || width > 64 || packed.len() != packed_bytes(width) {
        return false;
    }
    let mask = _mm256_set1_epi64x(mask::<u64>(width) as i64);
    let base = _mm256_set1_epi64x(base as i64);
    for row in 0..64 {
        let (word, shift) = place::<u64>(row, width);
        // SAFETY (all reads): as in `rows_avx512`; a row has four registers.
        let read = |word: usize, part: usize| unsafe {
            _mm256_loadu_si256(packed.as_ptr().add(word * ROW + part * 32).cast())
        };
        let mut finish = |part: usize, bits| {
            let values = _mm256_add_epi64(base, _mm256_and_si256(bits, mask));
            put(row * 16 + part * 4, values);
        };
        let down = _mm_cvtsi32_si128(shift as i32);
        if shift + width <= 64 {
            for part in 0..4 {
                finish(part, _mm256_srl_epi64(read(word, part), down));
            }
        } else {
            let up = _mm_cvtsi32_si128((64 - shift) as i32);
            for part in 0..4 {
                let low = _mm256_srl_epi64(read(word, part), down);
                let high = _mm256_sll_epi64(read(word + 1, part), up);
                finish(part, _mm256_or_si256(low, high));
            }
        }
    }
    true
}
