//! Values whose bit is set, one after another: the rows of a decoded vector that a filter keeps.
//!
//!   out[k] = values[position of the k-th set bit]
//!
//! A wide register is compacted at once (AVX-512). Otherwise compaction is free of branches: write
//! every value, advance only for set bits.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::avx512::{compress, is_wide, lanes, store};
use super::bits::count_ones;
use super::dispatch::dispatch;
use crate::word::Word;

/// Writes the values whose bit of `mask` is set to the start of `out`, and returns their number.
///
/// `None` where `mask` has fewer bits than there are values, or `out` is too small; bits past the
/// last value do not count.
///
/// ```
/// let mut out = [0u32; 2];
/// assert_eq!(staffa_kernels::filter(&[7, 8, 9, 1], &[0b1010], &mut out), Some(2));
/// assert_eq!(out, [8, 1]);
/// ```
pub fn filter<T: Word>(values: &[T], mask: &[u64], out: &mut [T]) -> Option<usize> {
    let count = count_ones(mask, values.len())?;
    filter_words(values, mask, out.get_mut(..count)?);
    Some(count)
}

dispatch! {
    fn filter_words<T: Word>(values: &[T], mask: &[u64], out: &mut [T])
        = scalar, avx2: scalar, avx512: filter_avx512;
}

#[inline(always)]
fn scalar<T: Word>(values: &[T], mask: &[u64], out: &mut [T]) {
    one_by_one(values, mask, 0, out);
}

/// Filters from the value at `from` on, a multiple of 64.
#[inline(always)]
fn one_by_one<T: Word>(values: &[T], mask: &[u64], from: usize, out: &mut [T]) {
    let mut at = 0;
    for (values, word) in values[from..].chunks(64).zip(&mask[from / 64..]) {
        if *word == u64::MAX && values.len() == 64 {
            out[at..at + 64].copy_from_slice(values);
            at += 64;
            continue;
        }
        for (i, value) in values.iter().enumerate() {
            // `out` ends behind the last value of a set bit.
            let Some(place) = out.get_mut(at) else { return };
            *place = *value;
            at += (word >> i & 1) as usize;
        }
    }
}

/// A register of 32-bit or 64-bit values at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn filter_avx512<T: Word>(values: &[T], mask: &[u64], out: &mut [T]) {
    if !is_wide::<T>() {
        return scalar(values, mask, out);
    }
    let (lanes, mut at) = (lanes::<T>(), 0);
    let whole = values.len() / 64 * 64;
    for start in (0..whole).step_by(lanes) {
        let wanted = mask[start / 64] >> (start % 64);
        let wanted = (wanted & (u64::MAX >> (64 - lanes))) as u16;
        let count = wanted.count_ones() as usize;
        let (from, to) = (&values[start..start + lanes], &mut out[at..]);
        assert!(to.len() >= count);
        // A store of all lanes is faster where there is room for it.
        let stored = if to.len() >= lanes { lanes } else { count };
        let stored = (1u32 << stored).wrapping_sub(1) as u16;
        // SAFETY: the load takes the `lanes` values of `from`; the store writes as many to `to` if it
        // has room for them, else the first `count`, for which it has.
        unsafe {
            let loaded = _mm512_loadu_si512(from.as_ptr().cast());
            store(to.as_mut_ptr(), stored, compress::<T>(wanted, loaded));
        }
        at += count;
    }
    one_by_one(values, mask, whole, &mut out[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::for_words;
    use crate::testing::Rng;

    fn agree<T: Word>() {
        let mut rng = Rng(0x5eed);
        for len in [0, 1, 15, 16, 63, 64, 65, 200, 1000, 1024] {
            for share in [0, 1, 8, 15, 16] {
                let (bits, mut words) = rng.bits(len, share);
                let values: Vec<T> = rng.words(len);
                let wanted = values.iter().zip(&bits).filter(|(_, bit)| **bit);
                let expected: Vec<T> = wanted.map(|(value, _)| *value).collect();
                let count = expected.len();
                for room in [0, 1, 100] {
                    let mut out = vec![T::default(); count + room];
                    assert_eq!(filter(&values, &words, &mut out), Some(count));
                    assert_eq!(out[..count], expected, "{len} {share}");
                }
                if count > 0 {
                    let mut out = vec![T::default(); len];
                    assert_eq!(filter(&values, &words, &mut out[..count - 1]), None);
                    assert_eq!(filter(&values, &words[1..], &mut out), None);
                }
                // Bits past the last value do not count.
                if len % 64 > 0 {
                    words[len / 64] |= u64::MAX << (len % 64);
                    let mut out = vec![T::default(); count];
                    assert_eq!(filter(&values, &words, &mut out), Some(count));
                    assert_eq!(out, expected);
                }
            }
        }
    }

    #[test]
    fn agrees_with_one_value_at_a_time() {
        for_words!(agree);
    }
}
