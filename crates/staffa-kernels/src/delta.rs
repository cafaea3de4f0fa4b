//! Inclusive prefix sum: differences back to values, in place.
//!
//!   out[0] = base + d[0],  out[i] = out[i-1] + d[i]   (wrapping)
//!
//! A plain loop waits a cycle or more for every sum, and no compiler vectorises it. In a register, `log2(lanes)` shifts
//! and additions sum all lanes; from one register to the next only one addition waits.

use crate::VECTOR;
#[cfg(target_arch = "x86_64")]
use crate::bitpack::rows_avx512;
use crate::bitpack::{Packed, unpack};
use crate::dispatch::dispatch;
use crate::word::Int;
#[cfg(target_arch = "x86_64")]
#[allow(clippy::wildcard_imports)] // As everybody does: two dozen intrinsics.
use std::arch::x86_64::*;
#[cfg(target_arch = "x86_64")]
use std::marker::PhantomData;

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

/// `u32` and `u64`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn scan_avx512<T: Int>(base: T, values: &mut [T]) {
    let mut sums = Sums::from(base);
    let (whole, rest) = values.split_at_mut(values.len() - values.len() % (64 / T::BYTES));
    for chunk in whole.chunks_exact_mut(64 / T::BYTES) {
        // SAFETY: the chunk has 64 bytes.
        let x = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
        let x = sums.next(x);
        // SAFETY: the chunk has 64 bytes.
        unsafe { _mm512_storeu_si512(chunk.as_mut_ptr().cast(), x) };
    }
    scalar(whole.last().copied().unwrap_or(base), rest);
}

/// The last sum in every lane.
#[cfg(target_arch = "x86_64")]
struct Sums<T> {
    bases: __m512i,
    word: PhantomData<T>,
}

#[cfg(target_arch = "x86_64")]
impl<T: Int> Sums<T> {
    const NARROW: bool = T::BYTES == 4;

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn from(base: T) -> Self {
        let base = base.to_u64();
        let bases = if Self::NARROW { _mm512_set1_epi32(base as i32) } else { _mm512_set1_epi64(base as i64) };
        Self { bases, word: PhantomData }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn add(a: __m512i, b: __m512i) -> __m512i {
        if Self::NARROW { _mm512_add_epi32(a, b) } else { _mm512_add_epi64(a, b) }
    }

    /// Adds the values shifted by 1, by 2, by 4, and by 8 where there are 16; then what came before.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn next(&mut self, mut x: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        if Self::NARROW {
            x = Self::add(x, _mm512_alignr_epi32::<15>(x, zero));
        }
        x = Self::add(x, _mm512_alignr_epi64::<7>(x, zero));
        x = Self::add(x, _mm512_alignr_epi64::<6>(x, zero));
        x = Self::add(x, _mm512_alignr_epi64::<4>(x, zero));
        let total = if Self::NARROW {
            _mm512_permutexvar_epi32(_mm512_set1_epi32(15), x)
        } else {
            _mm512_permutexvar_epi64(_mm512_set1_epi64(7), x)
        };
        let sums = Self::add(x, self.bases);
        // The one addition that waits for the values before.
        self.bases = Self::add(self.bases, total);
        sums
    }
}

/// [`unpack`], then [`prefix_sum`] from `base`, without storing the differences between; `false` where `unpack` is.
///
/// ```
/// use staffa_kernels::{Packed, VECTOR, pack, unpack_prefix_sum};
/// let (mut packed, mut out) = (Vec::new(), [0u32; VECTOR]);
/// pack(&[1u32; VECTOR], 2, &mut packed);
/// assert!(unpack_prefix_sum(Packed { packed: &packed, width: 2, base: 4 }, 100, &mut out));
/// assert_eq!(out[..3], [105, 110, 115]);
/// ```
#[inline]
pub fn unpack_prefix_sum<T: Int>(differences: Packed<'_, T>, base: T, out: &mut [T]) -> bool {
    T::unpack_prefix_sum(differences, base, out)
}

/// The plain twin, and what there is for bytes and 16 bits.
#[inline(always)]
fn two_steps<T: Int>(differences: Packed<'_, T>, base: T, out: &mut [T]) -> bool {
    let done = unpack(differences.packed, differences.width, differences.base, out);
    prefix_sum(base, out);
    done
}

dispatch! {
    pub(crate) fn unpack_sums<T: Int>(differences: Packed<'_, T>, base: T, out: &mut [T]) -> bool
        = two_steps, avx2: two_steps, avx512: unpack_scan_avx512;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn unpack_scan_avx512<T: Int>(differences: Packed<'_, T>, base: T, out: &mut [T]) -> bool {
    let Packed { packed, width, base: step } = differences;
    if T::BYTES < 4 || width == 0 || out.len() != VECTOR {
        return two_steps(differences, base, out);
    }
    let mut sums = Sums::from(base);
    rows_avx512(packed, width, step, |i, x| {
        // SAFETY: the values of a register from `i` on are among the 1,024.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(i).cast(), sums.next(x)) };
    })
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
        for width in 0..=T::BITS {
            let values: Vec<T> = (0..VECTOR).map(|_| T::from_u64(rng.next())).collect();
            let (step, base) = (T::from_u64(rng.next()), T::from_u64(rng.next()));
            let mut packed = vec![9];
            assert!(crate::pack(&values, width, &mut packed));
            let differences = Packed { packed: &packed[1..], width, base: step };
            let (mut expected, mut out) = (vec![T::ZERO; VECTOR], vec![T::ZERO; VECTOR]);
            assert!(unpack(differences.packed, width, step, &mut expected));
            scalar(base, &mut expected);
            assert!(unpack_prefix_sum(differences, base, &mut out));
            assert_eq!(out, expected, "{width} bits");
            assert!(!unpack_prefix_sum(differences, base, &mut out[1..]));
            assert!(!unpack_prefix_sum(Packed { width: width + 1, ..differences }, base, &mut out));
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
