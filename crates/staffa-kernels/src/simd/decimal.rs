//! Digits back to floats: the last step of ALP and of fixed point.
//!
//!   out[i] = digits[i] * f * e      in doubles, digits being signed; a float of 32 bits is rounded
//!   at the end
//!
//! Of digits in memory it is a plain loop. Packed digits are unpacked, converted and multiplied in
//! the registers, so that they are not stored between: AVX-512 converts 64-bit integers; AVX2 adds
//! them to the bits of a large double, which is exact below 2^51.

use crate::VECTOR;
use crate::simd::bitpack::{Packed, unpack};
#[cfg(target_arch = "x86_64")]
use crate::simd::bitpack::{rows_avx2, rows_avx512};
use crate::simd::dispatch::dispatch;
#[cfg(target_arch = "x86_64")]
#[allow(clippy::wildcard_imports)] // As everybody does.
use std::arch::x86_64::*;

dispatch! {
    /// The bits of `digits[i] * f * e` for as many as there are of both, digits being signed.
    ///
    /// ```
    /// let mut out = [0; 2];
    /// staffa_kernels::decimals_f64(&[1995, -5i64 as u64], 1.0, 0.01, &mut out);
    /// assert_eq!(out.map(f64::from_bits), [19.95, -0.05]);
    /// ```
    pub fn decimals_f64(digits: &[u64], f: f64, e: f64, out: &mut [u64]) = doubles;
}

#[inline(always)]
fn doubles(digits: &[u64], f: f64, e: f64, out: &mut [u64]) {
    for (place, digits) in out.iter_mut().zip(digits) {
        *place = (*digits as i64 as f64 * f * e).to_bits();
    }
}

dispatch! {
    /// [`decimals_f64`], rounded to floats of 32 bits.
    pub fn decimals_f32(digits: &[u64], f: f64, e: f64, out: &mut [u32]) = floats;
}

#[inline(always)]
fn floats(digits: &[u64], f: f64, e: f64, out: &mut [u32]) {
    for (place, digits) in out.iter_mut().zip(digits) {
        *place = ((*digits as i64 as f64 * f * e) as f32).to_bits();
    }
}

#[cfg(target_arch = "x86_64")]
impl Packed<'_, u64> {
    /// Whether all of them are below 2^51, whatever the bits.
    fn are_small(&self) -> bool {
        let base = self.base.cast_signed();
        self.width < 51 && base >= -(1 << 51) && base.saturating_add(1 << self.width) <= 1 << 51
    }
}

dispatch! {
    /// [`unpack`](crate::unpack), then [`decimals_f64`]; `false` where `unpack` is.
    pub fn unpack_decimals_f64<>(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [u64]) -> bool
        = two_steps_f64, avx2: unpack_avx2_f64, avx512: unpack_avx512_f64;
}

dispatch! {
    /// [`unpack`](crate::unpack), then [`decimals_f32`]; `false` where `unpack` is.
    pub fn unpack_decimals_f32<>(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [u32]) -> bool
        = two_steps_f32, avx2: unpack_avx2_f32, avx512: unpack_avx512_f32;
}

/// The plain twin.
#[inline(never)]
fn two_steps_f64(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [u64]) -> bool {
    let mut unpacked = [0; VECTOR];
    let done =
        out.len() == VECTOR && unpack(digits.packed, digits.width, digits.base, &mut unpacked);
    decimals_f64(&unpacked, f, e, out);
    done
}

#[inline(never)]
fn two_steps_f32(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [u32]) -> bool {
    let mut unpacked = [0; VECTOR];
    let done =
        out.len() == VECTOR && unpack(digits.packed, digits.width, digits.base, &mut unpacked);
    decimals_f32(&unpacked, f, e, out);
    done
}

#[cfg(target_arch = "x86_64")]
macro_rules! unpack_avx512 {
    ($name:ident, $word:ty, $two_steps:ident, $store:expr) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        #[inline]
        fn $name(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [$word]) -> bool {
            let Packed {
                packed,
                width,
                base,
            } = digits;
            if out.len() != VECTOR || width == 0 {
                return $two_steps(digits, f, e, out);
            }
            let (f, e) = (_mm512_set1_pd(f), _mm512_set1_pd(e));
            rows_avx512::<u64>(packed, width, base, |i, found| {
                let found = _mm512_mul_pd(_mm512_mul_pd(_mm512_cvtepi64_pd(found), f), e);
                // SAFETY: 8 values from `i` on are among the 1,024.
                unsafe { $store(out.as_mut_ptr().add(i), found) };
            })
        }
    };
}

#[cfg(target_arch = "x86_64")]
unpack_avx512!(unpack_avx512_f64, u64, two_steps_f64, |to: *mut u64, x| {
    _mm512_storeu_pd(to.cast(), x)
});
#[cfg(target_arch = "x86_64")]
unpack_avx512!(unpack_avx512_f32, u32, two_steps_f32, |to: *mut u32, x| {
    _mm256_storeu_ps(to.cast(), _mm512_cvtpd_ps(x));
});

#[cfg(target_arch = "x86_64")]
macro_rules! unpack_avx2 {
    ($name:ident, $word:ty, $two_steps:ident, $store:expr) => {
        #[target_feature(enable = "avx2")]
        #[inline]
        fn $name(digits: Packed<'_, u64>, f: f64, e: f64, out: &mut [$word]) -> bool {
            let Packed {
                packed,
                width,
                base,
            } = digits;
            if out.len() != VECTOR || width == 0 || !digits.are_small() {
                return $two_steps(digits, f, e, out);
            }
            // 1.5 * 2^52: an integer below 2^51, added to its bits, is added to the number.
            let large = 6_755_399_441_055_744.0f64;
            let base = base.wrapping_add(large.to_bits());
            let (large, f, e) = (_mm256_set1_pd(large), _mm256_set1_pd(f), _mm256_set1_pd(e));
            rows_avx2(packed, width, base, |i, found| {
                let found = _mm256_sub_pd(_mm256_castsi256_pd(found), large);
                // SAFETY: 4 values from `i` on are among the 1,024.
                unsafe {
                    $store(
                        out.as_mut_ptr().add(i),
                        _mm256_mul_pd(_mm256_mul_pd(found, f), e),
                    )
                };
            })
        }
    };
}

#[cfg(target_arch = "x86_64")]
unpack_avx2!(unpack_avx2_f64, u64, two_steps_f64, |to: *mut u64, x| {
    _mm256_storeu_pd(to.cast(), x)
});
#[cfg(target_arch = "x86_64")]
unpack_avx2!(unpack_avx2_f32, u32, two_steps_f32, |to: *mut u32, x| {
    _mm_storeu_ps(to.cast(), _mm256_cvtpd_ps(x))
});

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
                let (mut wide, mut narrow) = (vec![0; len], vec![0; len]);
                doubles(&digits, f, e, &mut wide);
                floats(&digits, f, e, &mut narrow);
                on_every_level(|| {
                    let (mut w, mut n) = (vec![1; len], vec![1; len]);
                    decimals_f64(&digits, f, e, &mut w);
                    decimals_f32(&digits, f, e, &mut n);
                    assert!(w == wide && n == narrow);
                });
            }
        }
    }

    #[test]
    fn packed_digits_give_the_same_bits() {
        let mut rng = Rng(0x5eed);
        for width in 0..=64 {
            for base in [
                0,
                1,
                rng.next(),
                (-(1i64 << 51)) as u64,
                (1u64 << 51) - (1u64 << width.min(50)),
                1 << 51,
            ] {
                let values: Vec<u64> = (0..VECTOR)
                    .map(|_| rng.next() | rng.next() >> (i64::from(rng.next() as u8) >> 2))
                    .collect();
                // One byte in front, so that the words are misaligned.
                let mut packed = vec![9];
                assert!(crate::pack(&values, width, &mut packed));
                let mut digits = vec![0; VECTOR];
                assert!(crate::unpack(&packed[1..], width, base, &mut digits));
                let packed = Packed {
                    packed: &packed[1..],
                    width,
                    base,
                };
                for (f, e) in [(1.0, 1.0), (100.0, 1e-5), (f64::MAX, 10.0)] {
                    let (mut wide, mut narrow) = (vec![0; VECTOR], vec![0; VECTOR]);
                    doubles(&digits, f, e, &mut wide);
                    floats(&digits, f, e, &mut narrow);
                    on_every_level(|| {
                        let (mut w, mut n) = (vec![1; VECTOR], vec![1; VECTOR]);
                        assert!(
                            unpack_decimals_f64(packed, f, e, &mut w)
                                && unpack_decimals_f32(packed, f, e, &mut n)
                        );
                        assert!(w == wide && n == narrow, "{width} bits above {base}");
                        assert!(!unpack_decimals_f64(packed, f, e, &mut w[1..]));
                        assert!(!unpack_decimals_f32(packed, f, e, &mut n[1..]));
                        let longer = Packed {
                            width: width + 1,
                            ..packed
                        };
                        assert!(
                            !unpack_decimals_f64(longer, f, e, &mut w)
                                && !unpack_decimals_f32(longer, f, e, &mut n)
                        );
                    });
                }
            }
        }
    }
}
