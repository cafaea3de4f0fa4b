//! Values moved to the places of those that are not NULL: the last step of a block that stores none
//! for NULLs.
//!
//!   out[i] = validity bit i ? the next of the first `count` values : 0
//!
//! In place, from the end: a value moves up or stays.

use crate::simd::dispatch::dispatch;
use crate::simd::filter::ones;
use crate::word::Word;
#[cfg(target_arch = "x86_64")]
#[allow(clippy::wildcard_imports)] // As everybody does.
use std::arch::x86_64::*;

/// Moves the first `count` values of `out` to the places whose bit of `validity` is set; the others
/// become 0.
///
/// `false`, with nothing moved, where not exactly `count` of the first `out.len()` bits are set.
///
/// ```
/// let mut out = [7u32, 8, 9, 1, 2];
/// assert!(staffa_kernels::expand(&mut out, 3, &[0b11001]));
/// assert_eq!(out, [7, 0, 0, 8, 9]);
/// ```
#[must_use]
pub fn expand<T: Word>(out: &mut [T], count: usize, validity: &[u64]) -> bool {
    if ones(validity, out.len()) != Some(count) {
        return false;
    }
    expand_words(out, count, validity);
    true
}

dispatch! {
    fn expand_words<T: Word>(out: &mut [T], count: usize, validity: &[u64])
        = scalar, avx2: scalar, avx512: expand_avx512;
}

#[inline(always)]
fn scalar<T: Word>(out: &mut [T], count: usize, validity: &[u64]) {
    let len = out.len();
    let whole = len / 64 * 64;
    let from = one_by_one(out, whole..len, count, validity);
    whole_words(out, from, validity);
}

/// The places of `range`, the last first; returns how many values are left.
#[inline(always)]
fn one_by_one<T: Word>(
    out: &mut [T],
    range: std::ops::Range<usize>,
    mut from: usize,
    validity: &[u64],
) -> usize {
    for i in range.rev() {
        let valid = validity[i / 64] >> (i % 64) & 1 == 1;
        from -= usize::from(valid);
        out[i] = if valid { out[from] } else { T::default() };
    }
    from
}

/// The places of all words of validity that are wholly used, the last first.
#[inline(always)]
fn whole_words<T: Word>(out: &mut [T], mut from: usize, validity: &[u64]) {
    for w in (0..out.len() / 64).rev() {
        let start = w * 64;
        // What is left stands where it belongs.
        if from == start + 64 {
            return;
        }
        match validity[w].count_ones() {
            0 => out[start..start + 64].fill(T::default()),
            64 => {
                from -= 64;
                out.copy_within(from..from + 64, start);
            }
            _ => from = one_by_one(out, start..start + 64, from, validity),
        }
    }
}

/// Words of 32 and 64 bits: a register of places at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn expand_avx512<T: Word>(out: &mut [T], count: usize, validity: &[u64]) {
    if T::BYTES != 4 && T::BYTES != 8 {
        return scalar(out, count, validity);
    }
    let (len, lanes) = (out.len(), 64 / T::BYTES);
    let whole = len / 64 * 64;
    let mut from = one_by_one(out, whole..len, count, validity);
    for start in (0..whole).step_by(lanes).rev() {
        // What is left stands where it belongs.
        if from == start + lanes {
            return;
        }
        let mask = validity[start / 64] >> (start % 64);
        let mask = if lanes == 16 {
            mask & 0xffff
        } else {
            mask & 0xff
        };
        from -= mask.count_ones() as usize;
        let values = &mut out[..start + lanes];
        // SAFETY: `from` values belong to places before `start`, so it is at most `start`: the load
        // and the store of 64 bytes end within `values`.
        unsafe {
            let base = values.as_mut_ptr();
            let packed = _mm512_loadu_si512(base.add(from).cast());
            let placed = if lanes == 16 {
                _mm512_maskz_expand_epi32(mask as u16, packed)
            } else {
                _mm512_maskz_expand_epi64(mask as u8, packed)
            };
            _mm512_storeu_si512(base.add(start).cast(), placed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;
    use crate::word::U256;

    fn agrees<T: Word>(rng: &mut Rng) {
        for len in [0usize, 1, 15, 16, 63, 64, 65, 200, 1000, 1024] {
            for share in [0, 1, 8, 15, 16] {
                let bits: Vec<bool> = (0..len)
                    .map(|i| rng.below(16) < share || share == 1 && i / 64 == 1)
                    .collect();
                let mut validity = vec![0u64; len.div_ceil(64)];
                bits.iter()
                    .enumerate()
                    .for_each(|(i, bit)| validity[i / 64] |= u64::from(*bit) << (i % 64));
                let bytes: Vec<u8> = (0..len * T::BYTES).map(|_| rng.next() as u8).collect();
                let values: Vec<T> = bytes
                    .chunks(T::BYTES)
                    .map(|bytes| T::read_le(bytes).unwrap())
                    .collect();
                let mut next = values.iter().copied();
                let expected: Vec<T> = bits
                    .iter()
                    .map(|bit| {
                        if *bit {
                            next.next().unwrap()
                        } else {
                            T::default()
                        }
                    })
                    .collect();
                let count = len - next.count();
                let mut out = values.clone();
                assert!(expand(&mut out, count, &validity));
                assert_eq!(out, expected, "{len} {share}");
                // Bits past the last place count for nothing.
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
    fn expand_agrees_with_putting_values_one_by_one() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            agrees::<u8>(&mut rng);
            agrees::<u16>(&mut rng);
            agrees::<u32>(&mut rng);
            agrees::<u64>(&mut rng);
            agrees::<u128>(&mut rng);
            agrees::<U256>(&mut rng);
        });
    }

    #[test]
    fn other_counts_are_refused() {
        on_every_level(|| {
            for (count, validity) in [
                (3, vec![0b11u64]),
                (1, vec![0b11]),
                (2, vec![]),
                (6, vec![u64::MAX]),
            ] {
                let mut out = [1u32, 2, 3, 4, 5];
                assert!(!expand(&mut out, count, &validity), "{count}");
                assert_eq!(out, [1, 2, 3, 4, 5]);
            }
        });
    }
}
