//! Inclusive prefix sum: differences back to values, in place.
//!
//!   out[0] = base + d[0],  out[i] = out[i-1] + d[i]   (wrapping)
//!
//! A plain loop waits a cycle or more for every sum, and no compiler vectorises it. In a register,
//! `log2(lanes)` shifts and additions sum all lanes; from one register to the next only one
//! addition waits.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::dispatch::dispatch;
use crate::word::{Int, precompiled};

precompiled! {
    /// Sums `values` up in place, from `base`: `out[0] = base + d[0]`, `out[i] = out[i-1] + d[i]`,
    /// wrapping.
    ///
    /// ```
    /// let mut values = [1u32, 2, 3];
    /// staffa_kernels::prefix_sum(10, &mut values);
    /// assert_eq!(values, [11, 13, 16]);
    /// ```
    pub fn prefix_sum<'a, T: Int>(base: T, values: &'a mut [T]) = scan;
}

dispatch! {
    fn scan<T: Int>(base: T, values: &mut [T]) = scalar, avx2: scan_avx2, avx512: scan_avx512;
}

#[inline(always)]
pub(super) fn scalar<T: Int>(base: T, values: &mut [T]) {
    let mut sum = base;
    for value in values {
        sum = sum.wrapping_add(*value);
        *value = sum;
    }
}

/// Continues behind the sums `done`, which began at `base`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn scalar_rest<T: Int>(base: T, done: &[T], rest: &mut [T]) {
    scalar(done.last().copied().unwrap_or(base), rest);
}

/// Each half of 16 bytes adds its values shifted by 1, by 2, by 4 ...; then the upper half adds the
/// lower half's sum.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn scan_avx2<T: Int>(base: T, values: &mut [T]) {
    let add = |a, b| match T::BYTES {
        1 => _mm256_add_epi8(a, b),
        2 => _mm256_add_epi16(a, b),
        4 => _mm256_add_epi32(a, b),
        _ => _mm256_add_epi64(a, b),
    };
    // The bytes of the last value of a half, repeated.
    let mut last = [0; 32];
    for (i, byte) in last.iter_mut().enumerate() {
        *byte = (16 - T::BYTES + i % T::BYTES) as u8;
    }
    // SAFETY: 32 bytes.
    let last = unsafe { _mm256_loadu_si256(last.as_ptr().cast()) };
    let mut bases = match T::BYTES {
        1 => _mm256_set1_epi8(base.to_u64() as i8),
        2 => _mm256_set1_epi16(base.to_u64() as i16),
        4 => _mm256_set1_epi32(base.to_u64() as i32),
        _ => _mm256_set1_epi64x(base.to_u64() as i64),
    };
    let (whole, rest) = values.split_at_mut(values.len() - values.len() % (32 / T::BYTES));
    for chunk in whole.chunks_exact_mut(32 / T::BYTES) {
        // SAFETY: the chunk has 32 bytes.
        let mut x = unsafe { _mm256_loadu_si256(chunk.as_ptr().cast()) };
        if T::BYTES == 1 {
            x = add(x, _mm256_slli_si256::<1>(x));
        }
        if T::BYTES <= 2 {
            x = add(x, _mm256_slli_si256::<2>(x));
        }
        if T::BYTES <= 4 {
            x = add(x, _mm256_slli_si256::<4>(x));
        }
        x = add(x, _mm256_slli_si256::<8>(x));
        let sums = _mm256_shuffle_epi8(x, last);
        let lower_to_upper = _mm256_permute2x128_si256::<0x08>(sums, sums);
        let total = add(lower_to_upper, sums);
        x = add(x, lower_to_upper);
        // SAFETY: the chunk has 32 bytes.
        unsafe { _mm256_storeu_si256(chunk.as_mut_ptr().cast(), add(x, bases)) };
        // The one addition that waits for the chunk before.
        bases = add(bases, _mm256_permute2x128_si256::<0x11>(total, total));
    }
    scalar_rest(base, whole, rest);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2")]
#[inline]
fn scan_avx512<T: Int>(base: T, values: &mut [T]) {
    match T::BYTES {
        4 => scan_by_fours(base, values),
        8 => scan_by_eights(base, values),
        _ => scan_avx2(base, values),
    }
}

/// The sum of every lane and those before it, of 32 or 64 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn lane_sums<T: Int>(x: __m512i) -> __m512i {
    let zero = _mm512_setzero_si512();
    if T::BYTES == 4 {
        let x = _mm512_add_epi32(x, _mm512_alignr_epi32::<15>(x, zero));
        let x = _mm512_add_epi32(x, _mm512_alignr_epi32::<14>(x, zero));
        let x = _mm512_add_epi32(x, _mm512_alignr_epi32::<12>(x, zero));
        _mm512_add_epi32(x, _mm512_alignr_epi32::<8>(x, zero))
    } else {
        let x = _mm512_add_epi64(x, _mm512_alignr_epi64::<7>(x, zero));
        let x = _mm512_add_epi64(x, _mm512_alignr_epi64::<6>(x, zero));
        _mm512_add_epi64(x, _mm512_alignr_epi64::<4>(x, zero))
    }
}

/// The last lane in every lane, of 32 or 64 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn last_lane<T: Int>(x: __m512i) -> __m512i {
    match T::BYTES {
        4 => _mm512_permutexvar_epi32(_mm512_set1_epi32(15), x),
        _ => _mm512_permutexvar_epi64(_mm512_set1_epi64(7), x),
    }
}

/// The step from one register of eight values to the next; `bases` is the sum so far in every lane.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn next_eight(bases: &mut __m512i, x: __m512i) -> __m512i {
    let x = lane_sums::<u64>(x);
    let sums = _mm512_add_epi64(x, *bases);
    // The one addition that waits for the values before.
    *bases = _mm512_add_epi64(*bases, last_lane::<u64>(x));
    sums
}

/// One register of 64-bit values at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn scan_by_eights<T: Int>(base: T, values: &mut [T]) {
    let mut bases = _mm512_set1_epi64(base.to_u64() as i64);
    let (whole, rest) = values.as_chunks_mut::<8>();
    for chunk in &mut *whole {
        // SAFETY (both): the chunk has 64 bytes.
        let x = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
        let x = next_eight(&mut bases, x);
        unsafe { _mm512_storeu_si512(chunk.as_mut_ptr().cast(), x) };
    }
    scalar_rest(base, whole.as_flattened(), rest);
}

/// In every 128 bits, value `i` of register `j` becomes value `j` of register `i`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn transposed(of: [__m512i; 4]) -> [__m512i; 4] {
    let low = [
        _mm512_unpacklo_epi32(of[0], of[1]),
        _mm512_unpacklo_epi32(of[2], of[3]),
    ];
    let high = [
        _mm512_unpackhi_epi32(of[0], of[1]),
        _mm512_unpackhi_epi32(of[2], of[3]),
    ];
    [
        _mm512_unpacklo_epi64(low[0], low[1]),
        _mm512_unpackhi_epi64(low[0], low[1]),
        _mm512_unpacklo_epi64(high[0], high[1]),
        _mm512_unpackhi_epi64(high[0], high[1]),
    ]
}

/// Four registers of 32-bit values at a time, as 16 times four values: transposed, so that three
/// additions sum the four, and only the totals are summed by shifts.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn scan_by_fours<T: Int>(base: T, values: &mut [T]) {
    // Fours in the order of the registers to fours in their own order, and back.
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    let mut bases = _mm512_set1_epi32(base.to_u64() as i32);
    let (whole, rest) = values.as_chunks_mut::<64>();
    for chunk in &mut *whole {
        let at = chunk.as_mut_ptr();
        // SAFETY (all four): the chunk has four times 16 values of 4 bytes.
        let loaded = [0, 16, 32, 48].map(|i| unsafe { _mm512_loadu_si512(at.add(i).cast()) });
        let [first, second, third, fourth] = transposed(loaded);
        let second = _mm512_add_epi32(first, second);
        let third = _mm512_add_epi32(second, third);
        let fourth = _mm512_add_epi32(third, fourth);
        let totals = _mm512_permutexvar_epi32(order, fourth);
        let x = lane_sums::<u32>(totals);
        let before =
            _mm512_permutexvar_epi32(order, _mm512_add_epi32(_mm512_sub_epi32(x, totals), bases));
        // The one addition that waits for the chunk before.
        bases = _mm512_add_epi32(bases, last_lane::<u32>(x));
        let sums = [first, second, third, fourth].map(|x| _mm512_add_epi32(x, before));
        for (i, x) in transposed(sums).into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(at.add(16 * i).cast(), x) };
        }
    }
    scalar_rest(base, whole.as_flattened(), rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::for_ints;
    use crate::testing::Rng;

    fn agree<T: Int>() {
        let mut rng = Rng(0x5eed);
        for len in (0..200).chain([1023, 1024, 1025, 4096]) {
            let values: Vec<T> = rng.words(len);
            let base = T::from_u64(rng.next());
            let mut expected = values.clone();
            scalar(base, &mut expected);
            let mut out = values;
            prefix_sum(base, &mut out);
            assert_eq!(out, expected, "{len} values");
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        for_ints!(agree);
    }
}
