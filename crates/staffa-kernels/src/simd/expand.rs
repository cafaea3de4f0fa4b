//! Compacted values moved to their places among NULLs: the last step of a block that stores no
//! values for NULLs.
//!
//!   out[i] = validity bit i ? the next of the first `count` values : 0
//!
//! In place, from the end: a value moves up or stays.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::avx2::{EXPANDED, PAIRS, numbers_of_bytes};
#[cfg(target_arch = "x86_64")]
use super::avx512::{self, is_wide, lanes};
use super::bits::count_ones;
use super::dispatch::dispatch;
use crate::word::Word;

/// Moves the first `count` values of `out` to the places whose bit of `validity` is set; the other
/// places become 0.
///
/// `false`, with nothing moved, unless exactly `count` of the first `out.len()` bits are set.
///
/// ```
/// let mut out = [7u32, 8, 9, 1, 2];
/// assert!(staffa_kernels::expand(&mut out, 3, &[0b11001]));
/// assert_eq!(out, [7, 0, 0, 8, 9]);
/// ```
#[must_use]
pub fn expand<T: Word>(out: &mut [T], count: usize, validity: &[u64]) -> bool {
    if count_ones(validity, out.len()) != Some(count) {
        return false;
    }
    expand_words(out, count, validity);
    true
}

dispatch! {
    fn expand_words<T: Word>(out: &mut [T], count: usize, validity: &[u64])
        = scalar, avx2: expand_avx2, avx512: expand_avx512;
}

#[inline(always)]
fn scalar<T: Word>(out: &mut [T], count: usize, validity: &[u64]) {
    let len = out.len();
    let whole = len / 64 * 64;
    let left = one_by_one(out, whole..len, count, validity);
    whole_words(out, left, validity);
}

/// Fills the places of `range` from the last of `left` values, the last place first; returns the
/// number of values left.
#[inline(always)]
fn one_by_one<T: Word>(
    out: &mut [T],
    range: std::ops::Range<usize>,
    mut left: usize,
    validity: &[u64],
) -> usize {
    for i in range.rev() {
        let valid = validity[i / 64] >> (i % 64) & 1 == 1;
        left -= usize::from(valid);
        out[i] = if valid { out[left] } else { T::default() };
    }
    left
}

/// Fills 64 places for each whole word of validity, the last first.
#[inline(always)]
fn whole_words<T: Word>(out: &mut [T], mut left: usize, validity: &[u64]) {
    for w in (0..out.len() / 64).rev() {
        let start = w * 64;
        // All values left are in their places.
        if left == start + 64 {
            return;
        }
        match validity[w].count_ones() {
            0 => out[start..start + 64].fill(T::default()),
            64 => {
                left -= 64;
                out.copy_within(left..left + 64, start);
            }
            _ => left = one_by_one(out, start..start + 64, left, validity),
        }
    }
}

/// Eight places of up to 32 bits, four of 64 or two of 128, at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn expand_avx2<T: Word>(out: &mut [T], count: usize, validity: &[u64]) {
    let lanes = match T::BYTES {
        1 | 2 | 4 => 8,
        8 => 4,
        16 => 2,
        _ => return scalar(out, count, validity),
    };
    let len = out.len();
    let whole = len / 64 * 64;
    let mut left = one_by_one(out, whole..len, count, validity);
    for start in (0..whole).step_by(lanes).rev() {
        // All values left are in their places.
        if left == start + lanes {
            return;
        }
        let mask = validity[start / 64] >> (start % 64) & ((1 << lanes) - 1);
        left -= mask.count_ones() as usize;
        let values = &mut out[..start + lanes];
        // SAFETY: `left` values belong to places before `start`, so `left` is at most `start`: the
        // `lanes` values that are read and written end within `values`.
        unsafe {
            let base = values.as_mut_ptr();
            expand_lanes(base.add(left), mask as usize, base.add(start));
        }
    }
}

/// The first of eight values (four of 64 bits, two of 128), moved to the places whose bit of `mask`
/// is set; the other places become 0.
///
/// # Safety
/// So many values must be valid for reads at `from` and for writes at `to`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn expand_lanes<T: Word>(from: *const T, mask: usize, to: *mut T) {
    // Each place of 64 bits is two of 32, each of 128 four.
    let mask = match T::BYTES {
        8 => PAIRS[mask],
        16 => PAIRS[PAIRS[mask]],
        _ => mask,
    };
    let numbers = _mm_cvtsi64_si128(EXPANDED[mask].cast_signed());
    // SAFETY: the loads and stores take 8, 16 or 32 bytes: eight values, four of 64 bits or two of 128.
    unsafe {
        match T::BYTES {
            1 => {
                let packed = _mm_loadl_epi64(from.cast());
                _mm_storel_epi64(to.cast(), _mm_shuffle_epi8(packed, numbers));
            }
            2 => {
                let bytes = numbers_of_bytes(numbers);
                let packed = _mm_loadu_si128(from.cast());
                _mm_storeu_si128(to.cast(), _mm_shuffle_epi8(packed, bytes));
            }
            _ => {
                let numbers = _mm256_cvtepi8_epi32(numbers);
                let packed = _mm256_loadu_si256(from.cast());
                let placed = _mm256_permutevar8x32_epi32(packed, numbers);
                // A number with the top bit is negative: no value.
                let none = _mm256_srai_epi32::<31>(numbers);
                _mm256_storeu_si256(to.cast(), _mm256_andnot_si256(none, placed));
            }
        }
    }
}

/// A register of places of 32, 64 or 128 bits at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn expand_avx512<T: Word>(out: &mut [T], count: usize, validity: &[u64]) {
    if !is_wide::<T>() && T::BYTES != 16 {
        return expand_avx2(out, count, validity);
    }
    let (len, lanes) = (out.len(), lanes::<T>());
    let whole = len / 64 * 64;
    let mut left = one_by_one(out, whole..len, count, validity);
    for start in (0..whole).step_by(lanes).rev() {
        // All values left are in their places.
        if left == start + lanes {
            return;
        }
        let mask = validity[start / 64] >> (start % 64);
        let mask = (mask & (u64::MAX >> (64 - lanes))) as u16;
        left -= mask.count_ones() as usize;
        // Each place of 128 bits is two of 64.
        let mask = if T::BYTES == 16 {
            PAIRS[mask as usize] as u16
        } else {
            mask
        };
        let values = &mut out[..start + lanes];
        // SAFETY: `left` values belong to places before `start`, so `left` is at most `start`: the
        // load and the store of 64 bytes end within `values`.
        unsafe {
            let base = values.as_mut_ptr();
            let packed = _mm512_loadu_si512(base.add(left).cast());
            let placed = avx512::expand::<T>(_mm512_setzero_si512(), mask, packed);
            _mm512_storeu_si512(base.add(start).cast(), placed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::{for_words, on_every_level};
    use crate::testing::Rng;

    fn agree<T: Word>() {
        let mut rng = Rng(0x5eed);
        for len in [0usize, 1, 15, 16, 63, 64, 65, 200, 1000, 1024] {
            for share in [0, 1, 8, 15, 16] {
                let (bits, mut validity) = rng.bits(len, share);
                let values: Vec<T> = rng.words(len);
                let mut next = values.iter().copied();
                let place = |bit: &bool| {
                    if *bit {
                        next.next().unwrap()
                    } else {
                        T::default()
                    }
                };
                let expected: Vec<T> = bits.iter().map(place).collect();
                let count = bits.iter().filter(|bit| **bit).count();
                let mut out = values.clone();
                assert!(expand(&mut out, count, &validity));
                assert_eq!(out, expected, "{len} {share}");
                // Bits past the last place do not count.
                if len % 64 > 0 {
                    validity[len / 64] |= u64::MAX << (len % 64);
                    out.copy_from_slice(&values);
                    assert!(expand(&mut out, count, &validity));
                    assert_eq!(out, expected, "{len} {share}");
                }
            }
        }
    }

    #[test]
    fn agrees_with_one_value_at_a_time() {
        for_words!(agree);
    }

    #[test]
    fn other_counts_are_refused() {
        on_every_level(|| {
            let short = vec![0b11];
            for (count, validity) in [(3, &short), (1, &short), (2, &vec![]), (6, &vec![u64::MAX])]
            {
                let mut out = [1u32, 2, 3, 4, 5];
                assert!(!expand(&mut out, count, validity), "{count}");
                assert_eq!(out, [1, 2, 3, 4, 5]);
            }
        });
    }
}
