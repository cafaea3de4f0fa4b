//! Values to bits: which lie in a range or in a set.
//!
//!   bit i = (values[i] - low) mod 2^BITS <= span
//!
//! One subtraction and one comparison serve every comparison with a literal, of signed and of
//! unsigned values. Floats are brought into the order of unsigned integers first.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::avx2;
#[cfg(target_arch = "x86_64")]
use super::avx512::{at_most, lanes, splat, sub};
use super::dispatch::dispatch;
use crate::word::Int;

dispatch! {
    /// Sets bit `i % 64` of `out[i / 64]` where `values[i]` is from `low` to `low + span`, both
    /// included and both modulo 2^BITS; clears it elsewhere, and the bits past the last value.
    /// Values past the end of `out` are passed over.
    ///
    /// ```
    /// let mut out = [0];
    /// staffa_kernels::in_range(&[5u8, 250, 255, 3], 250, 9, &mut out);
    /// assert_eq!(out, [0b1110]);
    /// ```
    pub fn in_range<T: Int>(values: &[T], low: T, span: T, out: &mut [u64])
        = scalar, avx2: range_avx2, avx512: range_avx512;
}

#[inline(always)]
fn scalar<T: Int>(values: &[T], low: T, span: T, out: &mut [u64]) {
    for (word, values) in out.iter_mut().zip(values.chunks(64)) {
        // A loop that makes bytes vectorises.
        let mut inside = [0u8; 64];
        for (byte, value) in inside.iter_mut().zip(values) {
            *byte = u8::from(value.wrapping_sub(low) <= span);
        }
        // Then eight bytes of 0 or 1 become eight bits.
        *word = 0;
        for (i, bytes) in inside.as_chunks::<8>().0.iter().enumerate() {
            let bits = u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            *word |= bits << (i * 8);
        }
    }
}

/// A register at a time; the comparison gives ones for each value in the range.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn range_avx2<T: Int>(values: &[T], low: T, span: T, out: &mut [u64]) {
    let (lows, spans) = (avx2::splat(low), avx2::splat(span));
    let (whole, rest) = values.as_chunks::<64>();
    let (words, last) = out.split_at_mut(whole.len().min(out.len()));
    for (word, values) in words.iter_mut().zip(whole) {
        *word = avx2::bits_of::<T>(|i| {
            let part = &values[i * (32 / T::BYTES)..][..32 / T::BYTES];
            // SAFETY: the part has 32 bytes.
            let x = unsafe { _mm256_loadu_si256(part.as_ptr().cast()) };
            avx2::at_most::<T>(avx2::sub::<T>(x, lows), spans)
        });
    }
    scalar(rest, low, span, last);
}

/// A register at a time; the comparison gives a bit for each value.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn range_avx512<T: Int>(values: &[T], low: T, span: T, out: &mut [u64]) {
    let (lows, spans) = (splat(low), splat(span));
    let (whole, rest) = values.as_chunks::<64>();
    let (words, last) = out.split_at_mut(whole.len().min(out.len()));
    for (word, values) in words.iter_mut().zip(whole) {
        *word = 0;
        for (i, part) in values.chunks_exact(lanes::<T>()).enumerate() {
            // SAFETY: the part has 64 bytes.
            let x = unsafe { _mm512_loadu_si512(part.as_ptr().cast()) };
            *word |= at_most::<T>(sub::<T>(x, lows), spans) << (i * lanes::<T>());
        }
    }
    scalar(rest, low, span, last);
}

dispatch! {
    /// Sets bit `i % 64` of `out[i / 64]` where bit `values[i]` of `set` is set; clears it
    /// elsewhere, and the bits past the last value. Bits past the end of the set count as clear;
    /// values past the end of `out` are passed over.
    ///
    /// ```
    /// let mut out = [0];
    /// staffa_kernels::in_set(&[5, 63, 64, 0, u32::MAX], &[1 << 5 | 1 << 63], &mut out);
    /// assert_eq!(out, [0b00011]);
    /// ```
    pub fn in_set<>(values: &[u32], set: &[u64], out: &mut [u64])
        = set_scalar, avx2: set_avx2, avx512: set_avx512;
}

#[inline(always)]
fn set_scalar(values: &[u32], set: &[u64], out: &mut [u64]) {
    for (word, values) in out.iter_mut().zip(values.chunks(64)) {
        let bit = |value: &u32| {
            set.get(*value as usize / 64)
                .map_or(0, |word| word >> (value % 64) & 1)
        };
        *word = values
            .iter()
            .rev()
            .fold(0, |word, value| word << 1 | bit(value));
    }
}

/// Eight values at a time. A set of up to 256 bits is held in a register; words of a larger set are
/// gathered.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn set_avx2(values: &[u32], set: &[u64], out: &mut [u64]) {
    const SMALL: usize = 4;
    if set.is_empty() {
        return set_scalar(values, set, out);
    }
    let mut small = [0u64; SMALL];
    let held = set.len().min(SMALL);
    small[..held].copy_from_slice(&set[..held]);
    // SAFETY: `small` has 32 bytes.
    let small = unsafe { _mm256_loadu_si256(small.as_ptr().cast()) };
    // The largest value within the set; a set of 2^32 bits or more has room for all.
    let most = (set.len() as u64 * 64).min(1 << 32).wrapping_sub(1) as u32;
    let most = avx2::splat(most);
    let (whole, rest) = values.as_chunks::<64>();
    let (chunks, last) = out.split_at_mut(whole.len().min(out.len()));
    for (word, values) in chunks.iter_mut().zip(whole) {
        *word = avx2::bits_of::<u32>(|i| {
            let part = &values[i * 8..][..8];
            // SAFETY: the part has 32 bytes.
            let x = unsafe { _mm256_loadu_si256(part.as_ptr().cast()) };
            let there = avx2::at_most::<u32>(x, most);
            let place = _mm256_srli_epi32::<5>(x);
            let words = if set.len() <= SMALL {
                _mm256_and_si256(_mm256_permutevar8x32_epi32(small, place), there)
            } else {
                // SAFETY: places of values within the set are below twice its length, its length in
                // words of 32 bits; they are below 2^27, so none is negative.
                unsafe {
                    _mm256_mask_i32gather_epi32::<4>(
                        _mm256_setzero_si256(),
                        set.as_ptr().cast(),
                        place,
                        there,
                    )
                }
            };
            // The bit of the value moves to the top, which alone counts.
            let bit = _mm256_and_si256(x, _mm256_set1_epi32(31));
            _mm256_sllv_epi32(words, _mm256_sub_epi32(_mm256_set1_epi32(31), bit))
        });
    }
    set_scalar(rest, set, last);
}

/// Sixteen values at a time. A set of up to 1,024 bits is held in two registers; words of a larger
/// set are gathered.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn set_avx512(values: &[u32], set: &[u64], out: &mut [u64]) {
    const SMALL: usize = 16;
    let mut small = [0u64; SMALL];
    let held = set.len().min(SMALL);
    small[..held].copy_from_slice(&set[..held]);
    // SAFETY: `small` has 128 bytes.
    let (low, high) = unsafe {
        (
            _mm512_loadu_si512(small.as_ptr().cast()),
            _mm512_loadu_si512(small.as_ptr().add(8).cast()),
        )
    };
    // The largest value within the set; a set of 2^32 bits or more has room for all.
    let most = (set.len() as u64 * 64).min(1 << 32).wrapping_sub(1) as u32;
    let (whole, rest) = values.as_chunks::<64>();
    let (chunks, last) = out.split_at_mut(whole.len().min(out.len()));
    for (word, values) in chunks.iter_mut().zip(whole) {
        *word = 0;
        for (i, part) in values.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: the part has 64 bytes.
            let x = unsafe { _mm512_loadu_si512(part.as_ptr().cast()) };
            let there = if set.is_empty() {
                0
            } else {
                _mm512_cmple_epu32_mask(x, _mm512_set1_epi32(most as i32))
            };
            let place = _mm512_srli_epi32::<5>(x);
            let words = if set.len() <= SMALL {
                _mm512_permutex2var_epi32(low, place, high)
            } else {
                // SAFETY: places of values within the set are below twice its length, its length in
                // words of 32 bits; they are below 2^27, so none is negative.
                unsafe {
                    _mm512_mask_i32gather_epi32::<4>(
                        _mm512_setzero_si512(),
                        there,
                        place,
                        set.as_ptr().cast(),
                    )
                }
            };
            let bits = _mm512_sllv_epi32(
                _mm512_set1_epi32(1),
                _mm512_and_si512(x, _mm512_set1_epi32(31)),
            );
            *word |= u64::from(_mm512_mask_test_epi32_mask(there, words, bits)) << (i * 16);
        }
    }
    set_scalar(rest, set, last);
}

dispatch! {
    /// Maps the bits of IEEE floats of any width to unsigned integers in the order of `total_cmp`.
    ///
    /// ```
    /// let mut values = [1.5f32, -0.0, 0.0, -2.0].map(f32::to_bits);
    /// staffa_kernels::order_floats(&mut values);
    /// assert!(values[3] < values[1] && values[1] < values[2] && values[2] < values[0]);
    /// ```
    pub fn order_floats<T: Int>(values: &mut [T]) = order_body;
}

#[inline(always)]
fn order_body<T: Int>(values: &mut [T]) {
    let top = T::from_u64(1 << (T::BITS - 1));
    for value in values {
        // All bits of negative values are flipped, and the sign of others.
        let flipped = if *value >= top { T::MAX } else { top };
        *value = T::from_u64(value.to_u64() ^ flipped.to_u64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::{for_ints, on_every_level};
    use crate::testing::Rng;

    fn agree<T: Int>() {
        let mut rng = Rng(0x7a6e);
        for len in (0..70).chain([127, 128, 129, 1000, 1024]) {
            let values: Vec<T> = (0..len)
                .map(|_| T::from_u64(rng.next() >> rng.below(64)))
                .collect();
            for _ in 0..6 {
                let low = match values.get(rng.below(2 * len)) {
                    Some(value) => *value,
                    None => T::from_u64(rng.next()),
                };
                let span =
                    [T::ZERO, T::MAX, T::from_u64(rng.next() >> rng.below(64))][rng.below(3)];
                let mut out = vec![u64::MAX; len.div_ceil(64)];
                in_range(&values, low, span, &mut out);
                for i in 0..out.len() * 64 {
                    let expected = values.get(i).is_some_and(|v| v.wrapping_sub(low) <= span);
                    assert_eq!(out[i / 64] >> (i % 64) & 1 == 1, expected, "{i} of {len}");
                }
            }
        }
    }

    #[test]
    fn agrees_with_one_comparison_at_a_time() {
        for_ints!(agree);
    }

    #[test]
    fn members_of_a_set_agree_with_one_at_a_time() {
        on_every_level(|| {
            let mut rng = Rng(0x5e7);
            for words in [0, 1, 2, 4, 5, 15, 16, 17, 300] {
                let set: Vec<u64> = (0..words).map(|_| rng.next()).collect();
                for len in [0usize, 1, 63, 64, 65, 130, 1000, 1024] {
                    let bits = words * 64;
                    let value = |rng: &mut Rng| match rng.below(20) {
                        0 => rng.next() as u32,
                        1 => u32::MAX - rng.below(3) as u32,
                        2 => (bits + rng.below(70)) as u32,
                        _ => rng.below(bits) as u32,
                    };
                    let values: Vec<u32> = (0..len).map(|_| value(&mut rng)).collect();
                    let (mut out, mut expected) =
                        (vec![u64::MAX; len.div_ceil(64)], vec![0; len.div_ceil(64)]);
                    in_set(&values, &set, &mut out);
                    set_scalar(&values, &set, &mut expected);
                    assert_eq!(out, expected, "{len} values, {words} words");
                    for (i, value) in values.iter().enumerate() {
                        let is = set
                            .get(*value as usize / 64)
                            .is_some_and(|word| word >> (value % 64) & 1 == 1);
                        assert_eq!(out[i / 64] >> (i % 64) & 1 == 1, is, "{value} of {bits}");
                    }
                }
            }
        });
    }

    #[test]
    fn floats_are_ordered_as_by_total_cmp() {
        on_every_level(|| {
            let mut rng = Rng(0xf10a);
            let mut values: Vec<f64> = (0..999).map(|_| f64::from_bits(rng.next())).collect();
            values.extend([
                0.0,
                -0.0,
                f64::NAN,
                -f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::MIN,
                f64::MAX,
            ]);
            let mut ordered: Vec<u64> = values.iter().map(|v| v.to_bits()).collect();
            order_floats(&mut ordered);
            for i in 0..values.len() {
                for j in (i..values.len()).step_by(7) {
                    assert_eq!(values[i].total_cmp(&values[j]), ordered[i].cmp(&ordered[j]));
                }
            }
        });
    }
}
