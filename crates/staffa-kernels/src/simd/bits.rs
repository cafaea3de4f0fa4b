//! Bits to and from the places that other bits mark, 64 at a time.
//!
//!   gather   the bits at the marked places, one after another (PEXT)
//!   scatter  bits, one after another, to the marked places (PDEP)

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_pdep_u64, _pext_u64};

use super::dispatch::dispatch;

dispatch! {
    /// Writes the bits of `bits` at the places that are set in `places` to `out`, one after another,
    /// and returns their number. `out` must be 0, and have a word more than the bits need.
    ///
    /// ```
    /// let mut out = [0; 2];
    /// assert_eq!(staffa_kernels::gather_bits(&[0b1010], &[0b1110], &mut out), 3);
    /// assert_eq!(out, [0b101, 0]);
    /// ```
    pub fn gather_bits<>(bits: &[u64], places: &[u64], out: &mut [u64]) -> usize
        = gather_scalar, avx2: gather_bmi, avx512: gather_bmi;
}

dispatch! {
    /// Writes bits, one after another, to the places of `out` that are set in `places`; 0 to the
    /// others, and past the last bit.
    ///
    /// ```
    /// let mut out = [0];
    /// staffa_kernels::scatter_bits(&[0b101], &[0b1110], &mut out);
    /// assert_eq!(out, [0b1010]);
    /// ```
    pub fn scatter_bits<>(bits: &[u64], places: &[u64], out: &mut [u64])
        = scatter_scalar, avx2: scatter_bmi, avx512: scatter_bmi;
}

/// The number of set bits among the first `len`; `None` where there are fewer bits.
pub(super) fn count_ones(mask: &[u64], len: usize) -> Option<usize> {
    let whole = mask.get(..len / 64)?.iter().map(|word| word.count_ones());
    let rest = match len % 64 {
        0 => 0,
        bits => (mask.get(len / 64)? & !(u64::MAX << bits)).count_ones(),
    };
    Some((whole.sum::<u32>() + rest) as usize)
}

#[inline(always)]
fn gather_with(
    bits: &[u64],
    places: &[u64],
    out: &mut [u64],
    word: impl Fn(u64, u64) -> u64,
) -> usize {
    let mut len = 0;
    for (bits, places) in bits.iter().zip(places) {
        let (gathered, at, shift) = (word(*bits, *places), len / 64, len % 64);
        if let Some([low, high]) = out.get_mut(at..at + 2) {
            *low |= gathered << shift;
            *high |= gathered >> 1 >> (63 - shift);
        }
        len += places.count_ones() as usize;
    }
    len
}

#[inline(always)]
fn scatter_with(bits: &[u64], places: &[u64], out: &mut [u64], word: impl Fn(u64, u64) -> u64) {
    let mut at = 0;
    for (out, places) in out.iter_mut().zip(places) {
        let (first, shift) = (at / 64, at % 64);
        let low = bits.get(first).map_or(0, |word| word >> shift);
        let high = bits
            .get(first + 1)
            .map_or(0, |word| word << 1 << (63 - shift));
        *out = word(low | high, *places);
        at += places.count_ones() as usize;
    }
}

#[inline(always)]
fn gather_scalar(bits: &[u64], places: &[u64], out: &mut [u64]) -> usize {
    gather_with(bits, places, out, |bits, places| {
        let (mut gathered, mut left) = (0, bits & places);
        while left != 0 {
            let below = (1 << left.trailing_zeros()) - 1;
            gathered |= 1 << (places & below).count_ones();
            left &= left - 1;
        }
        gathered
    })
}

#[inline(always)]
fn scatter_scalar(bits: &[u64], places: &[u64], out: &mut [u64]) {
    scatter_with(bits, places, out, |mut bits, places| {
        let (mut scattered, mut left) = (0, places);
        while left != 0 && bits != 0 {
            scattered |= (left & left.wrapping_neg()) * (bits & 1);
            bits >>= 1;
            left &= left - 1;
        }
        scattered
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2,popcnt")]
#[inline]
fn gather_bmi(bits: &[u64], places: &[u64], out: &mut [u64]) -> usize {
    gather_with(bits, places, out, |bits, places| _pext_u64(bits, places))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2,popcnt")]
#[inline]
fn scatter_bmi(bits: &[u64], places: &[u64], out: &mut [u64]) {
    scatter_with(bits, places, out, |bits, places| _pdep_u64(bits, places));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    #[test]
    fn agree_with_single_bits() {
        on_every_level(|| {
            let mut rng = Rng(0xb175);
            for round in 0..200 {
                let mut words = |len: usize| -> Vec<u64> {
                    let word = |rng: &mut Rng| match rng.below(4) {
                        0 => 0,
                        1 => u64::MAX,
                        2 => rng.next() & rng.next() & rng.next(),
                        _ => rng.next(),
                    };
                    (0..len).map(|_| word(&mut rng)).collect()
                };
                let (bits, places) = (words(round % 20), words(round % 20));
                let set = |words: &[u64], i: usize| words[i / 64] >> (i % 64) & 1 == 1;
                let expected: Vec<bool> = (0..bits.len() * 64)
                    .filter(|i| set(&places, *i))
                    .map(|i| set(&bits, i))
                    .collect();
                let mut out = vec![0; expected.len() / 64 + 2];
                assert_eq!(gather_bits(&bits, &places, &mut out), expected.len());
                assert!(
                    expected
                        .iter()
                        .enumerate()
                        .all(|(i, bit)| set(&out, i) == *bit)
                );
                let ones = expected.iter().filter(|bit| **bit).count();
                assert_eq!(
                    out.iter()
                        .map(|word| word.count_ones() as usize)
                        .sum::<usize>(),
                    ones
                );
                let mut back = vec![7; bits.len()];
                scatter_bits(&out, &places, &mut back);
                assert!(
                    back.iter()
                        .zip(bits.iter().zip(&places))
                        .all(|(back, (a, b))| *back == a & b)
                );
            }
        });
    }
}
