//! Decimal digits to floats: the last step of ALP and of fixed point.
//!
//!   out[i] = digits[i] * f * e      in doubles, of signed digits; then rounded for 32-bit floats
//!
//! Digits in memory take a plain loop. Packed digits are unpacked, converted and multiplied in
//! registers, so that they are not stored in between: AVX-512 converts 64-bit integers; AVX2 adds
//! them to the bits of a large double, which is exact below 2^51. Afroozeh, Kuffo and Boncz, ALP:
//! Adaptive Lossless Floating-Point Compression, SIGMOD 2023.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::bitpack::registers::{rows_avx2, rows_avx512};
use super::bitpack::{Packed, unpack};
use super::dispatch::dispatch;
use crate::word::{Int, VECTOR};

dispatch! {
    /// The bits of `digits[i] * f * e`, for the shorter of both slices; digits are signed.
    ///
    /// ```
    /// let mut out = [0; 2];
    /// staffa_kernels::decimals_f64(&[1995, -5i64 as u64], 1.0, 0.01, &mut out);
    /// assert_eq!(out.map(f64::from_bits), [19.95, -0.05]);
    /// ```
    pub fn decimals_f64(digits: &[u64], f: f64, e: f64, out: &mut [u64]) = multiply;
}

dispatch! {
    /// [`decimals_f64`], rounded to 32-bit floats.
    pub fn decimals_f32(digits: &[u64], f: f64, e: f64, out: &mut [u32]) = multiply;
}

dispatch! {
    /// [`unpack`](crate::unpack), then [`decimals_f64`]; `false` where `unpack` is.
    pub fn unpack_decimals_f64<>(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [u64]) -> bool
        = two_steps, avx2: unpack_avx2, avx512: unpack_avx512;
}

dispatch! {
    /// [`unpack`](crate::unpack), then [`decimals_f32`]; `false` where `unpack` is.
    pub fn unpack_decimals_f32<>(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [u32]) -> bool
        = two_steps, avx2: unpack_avx2, avx512: unpack_avx512;
}

/// The bits of a float: `u64` or `u32`.
trait Float: Int {
    /// The bits of the nearest float.
    fn round(value: f64) -> Self;
    /// Multiplies digits in memory.
    fn decimals(digits: &[u64], f: f64, e: f64, out: &mut [Self]);
}

impl Float for u64 {
    #[inline(always)]
    fn round(value: f64) -> Self {
        value.to_bits()
    }
    fn decimals(digits: &[u64], f: f64, e: f64, out: &mut [Self]) {
        decimals_f64(digits, f, e, out);
    }
}

impl Float for u32 {
    #[inline(always)]
    fn round(value: f64) -> Self {
        (value as f32).to_bits()
    }
    fn decimals(digits: &[u64], f: f64, e: f64, out: &mut [Self]) {
        decimals_f32(digits, f, e, out);
    }
}

#[inline(always)]
fn multiply<T: Float>(digits: &[u64], f: f64, e: f64, out: &mut [T]) {
    for (place, digits) in out.iter_mut().zip(digits) {
        *place = T::round(*digits as i64 as f64 * f * e);
    }
}

/// The plain twin.
#[inline(never)]
fn two_steps<T: Float>(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [T]) -> bool {
    let mut unpacked = [0; VECTOR];
    let done =
        out.len() == VECTOR && unpack(digits.packed, digits.width, digits.base, &mut unpacked);
    T::decimals(&unpacked, f, e, out);
    done
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn unpack_avx512<T: Float>(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [T]) -> bool {
    let Packed {
        packed,
        width,
        base,
    } = digits;
    if out.len() != VECTOR || width == 0 {
        return two_steps(digits, f, e, out);
    }
    let (f, e) = (_mm512_set1_pd(f), _mm512_set1_pd(e));
    rows_avx512::<u64>(packed, width, base, |i, found| {
        let found = _mm512_mul_pd(_mm512_mul_pd(_mm512_cvtepi64_pd(found), f), e);
        // SAFETY: 8 values from `i` on are among the 1,024, of 8 or 4 bytes.
        unsafe {
            let to = out.as_mut_ptr().add(i);
            if T::BYTES == 8 {
                _mm512_storeu_pd(to.cast(), found);
            } else {
                _mm256_storeu_ps(to.cast(), _mm512_cvtpd_ps(found));
            }
        }
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn unpack_avx2<T: Float>(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [T]) -> bool {
    let Packed {
        packed,
        width,
        base,
    } = digits;
    if out.len() != VECTOR || width == 0 || !are_small(width, base) {
        return two_steps(digits, f, e, out);
    }
    // 1.5 * 2^52: an integer below 2^51, added to its bits, is added to the number.
    let large = 6_755_399_441_055_744.0f64;
    let base = base.wrapping_add(large.to_bits());
    let (large, f, e) = (_mm256_set1_pd(large), _mm256_set1_pd(f), _mm256_set1_pd(e));
    rows_avx2(packed, width, base, |i, found| {
        let found = _mm256_sub_pd(_mm256_castsi256_pd(found), large);
        let found = _mm256_mul_pd(_mm256_mul_pd(found, f), e);
        // SAFETY: 4 values from `i` on are among the 1,024, of 8 or 4 bytes.
        unsafe {
            let to = out.as_mut_ptr().add(i);
            if T::BYTES == 8 {
                _mm256_storeu_pd(to.cast(), found);
            } else {
                _mm_storeu_ps(to.cast(), _mm256_cvtpd_ps(found));
            }
        }
    })
}

/// Whether all digits of `width` bits above `base` are below 2^51 in magnitude.
#[cfg(target_arch = "x86_64")]
fn are_small(width: u32, base: u64) -> bool {
    let base = base.cast_signed();
    width < 51 && base >= -(1 << 51) && base.saturating_add(1 << width) <= 1 << 51
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    #[test]
    fn every_level_gives_the_same_bits() {
        let mut rng = Rng(0x5eed);
        for len in [0, 1, 7, 8, 9, 100, 1024] {
            let shift = rng.below(60) as u32;
            let digits: Vec<u64> = (0..len)
                .map(|_| (rng.next() as i64 >> shift) as u64)
                .collect();
            for (f, e) in [(1.0, 1.0), (100.0, 1e-5), (1e18, 1e-18), (f64::MAX, 10.0)] {
                let (mut wide, mut narrow) = (vec![0u64; len], vec![0u32; len]);
                multiply(&digits, f, e, &mut wide);
                multiply(&digits, f, e, &mut narrow);
                on_every_level(|| {
                    let (mut w, mut n) = (vec![1; len], vec![1; len]);
                    decimals_f64(&digits, f, e, &mut w);
                    decimals_f32(&digits, f, e, &mut n);
                    assert!(w == wide && n == narrow);
                });
            }
        }
    }

    /// Packed digits as both floats, against those of unpacked digits.
    fn agree(packed: Packed<'_, u64>, f: f64, e: f64) {
        let mut digits = vec![0; VECTOR];
        assert!(unpack(
            packed.packed,
            packed.width,
            packed.base,
            &mut digits
        ));
        let (mut wide, mut narrow) = (vec![0u64; VECTOR], vec![0u32; VECTOR]);
        multiply(&digits, f, e, &mut wide);
        multiply(&digits, f, e, &mut narrow);
        let longer = Packed {
            width: packed.width + 1,
            ..packed
        };
        on_every_level(|| {
            let (mut w, mut n) = (vec![1; VECTOR], vec![1; VECTOR]);
            assert!(unpack_decimals_f64(packed, f, e, &mut w));
            assert!(unpack_decimals_f32(packed, f, e, &mut n));
            assert!(w == wide && n == narrow, "{packed:?}");
            assert!(!unpack_decimals_f64(packed, f, e, &mut w[1..]));
            assert!(!unpack_decimals_f32(packed, f, e, &mut n[1..]));
            assert!(!unpack_decimals_f64(longer, f, e, &mut w));
            assert!(!unpack_decimals_f32(longer, f, e, &mut n));
        });
    }

    #[test]
    fn packed_digits_give_the_same_bits() {
        let mut rng = Rng(0x5eed);
        for width in 0..=64 {
            let near = (1u64 << 51) - (1u64 << width.min(50));
            for base in [0, 1, rng.next(), (-(1i64 << 51)) as u64, near, 1 << 51] {
                let values: Vec<u64> = (0..VECTOR)
                    .map(|_| rng.next() | rng.next() >> (i64::from(rng.next() as u8) >> 2))
                    .collect();
                // One byte in front misaligns the words.
                let mut packed = vec![9];
                assert!(crate::pack(&values, width, &mut packed));
                let packed = Packed {
                    packed: &packed[1..],
                    width,
                    base,
                };
                for (f, e) in [(1.0, 1.0), (100.0, 1e-5), (f64::MAX, 10.0)] {
                    agree(packed, f, e);
                }
            }
        }
    }
}
