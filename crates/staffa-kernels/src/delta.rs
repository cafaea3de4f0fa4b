//! Inclusive prefix sum: differences back to values, in place.
//!
//!   out[0] = base + d[0],  out[i] = out[i-1] + d[i]   (wrapping)
//!
//! A plain loop waits a cycle or more for every sum, and no compiler vectorises it. In a register, `log2(lanes)` shifts
//! and additions sum all lanes; from one register to the next only one addition waits.

use crate::dispatch::dispatch;
use crate::word::Int;
#[cfg(target_arch = "x86_64")]
#[allow(clippy::wildcard_imports)] // As everybody does: two dozen intrinsics.
use std::arch::x86_64::*;

/// Sums `values` up in place, from `base`: `out[0] = base + d[0]`, `out[i] = out[i-1] + d[i]`, wrapping.
///
/// ```
/// let mut values = [1u32, 2, 3];
/// staffa_kernels::prefix_sum(10, &mut values);
/// assert_eq!(values, [11, 13, 16]);
/// ```
#[inline]
pub fn prefix_sum<T: Int>(base: T, values: &mut [T]) {
    T::prefix_sum(base, values);
}

#[inline(always)]
fn scalar<T: Int>(base: T, values: &mut [T]) {
    let mut sum = base;
    for value in values {
        sum = sum.wrapping_add(*value);
        *value = sum;
    }
}

dispatch! { pub(crate) fn u8<>(base: u8, values: &mut [u8]) = scalar, avx2: scan_avx2, avx512: scan_avx2; }
dispatch! { pub(crate) fn u16<>(base: u16, values: &mut [u16]) = scalar, avx2: scan_avx2, avx512: scan_avx2; }
dispatch! { pub(crate) fn u32<>(base: u32, values: &mut [u32]) = scalar, avx2: scan_avx2, avx512: scan_avx512; }
dispatch! { pub(crate) fn u64<>(base: u64, values: &mut [u64]) = scalar, avx2: scan_avx2, avx512: scan_avx512; }

/// In each half of 16 bytes: add the values shifted by 1, by 2, by 4 ... ; then the lower half's sum to the upper half.
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
    scalar(whole.last().copied().unwrap_or(base), rest);
}

/// Add the values shifted by 1, by 2, by 4, and by 8 where there are 16; `u32` and `u64`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn scan_avx512<T: Int>(base: T, values: &mut [T]) {
    let narrow = T::BYTES == 4;
    let add = |a, b| if narrow { _mm512_add_epi32(a, b) } else { _mm512_add_epi64(a, b) };
    let zero = _mm512_setzero_si512();
    let mut bases =
        if narrow { _mm512_set1_epi32(base.to_u64() as i32) } else { _mm512_set1_epi64(base.to_u64() as i64) };
    let (whole, rest) = values.split_at_mut(values.len() - values.len() % (64 / T::BYTES));
    for chunk in whole.chunks_exact_mut(64 / T::BYTES) {
        // SAFETY: the chunk has 64 bytes.
        let mut x = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
        if narrow {
            x = add(x, _mm512_alignr_epi32::<15>(x, zero));
        }
        x = add(x, _mm512_alignr_epi64::<7>(x, zero));
        x = add(x, _mm512_alignr_epi64::<6>(x, zero));
        x = add(x, _mm512_alignr_epi64::<4>(x, zero));
        let total = if narrow {
            _mm512_permutexvar_epi32(_mm512_set1_epi32(15), x)
        } else {
            _mm512_permutexvar_epi64(_mm512_set1_epi64(7), x)
        };
        // SAFETY: the chunk has 64 bytes.
        unsafe { _mm512_storeu_si512(chunk.as_mut_ptr().cast(), add(x, bases)) };
        // The one addition that waits for the chunk before.
        bases = add(bases, total);
    }
    scalar(whole.last().copied().unwrap_or(base), rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    fn agree<T: Int>() {
        let mut rng = Rng(0x5eed);
        for len in (0..200).chain([1023, 1024, 1025, 4096]) {
            let values: Vec<T> = (0..len).map(|_| T::from_u64(rng.next())).collect();
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
        on_every_level(|| {
            agree::<u8>();
            agree::<u16>();
            agree::<u32>();
            agree::<u64>();
        });
    }
}
