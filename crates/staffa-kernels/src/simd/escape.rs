//! Escapes: every value that is the escape code, or that a bit marks, is replaced by the next
//! exception, in place.
//!
//! A loop that looks for escapes mispredicts at most of them. In a register, one comparison finds
//! them all, and an expansion puts the next exceptions where they belong.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::avx512::{equal, expand, is_wide, lanes, splat};
use super::dispatch::dispatch;
use crate::word::{Int, Word};

dispatch! {
    /// Replaces values that are `escape` by the next of `exceptions`, and returns the number of
    /// escapes. Escapes past the last exception stay, so a caller compares the number with that of
    /// the exceptions.
    ///
    /// ```
    /// let mut values = [1u32, 9, 2, 9];
    /// assert_eq!(staffa_kernels::replace_escapes(&mut values, 9, &[700, 800]), 2);
    /// assert_eq!(values, [1, 700, 2, 800]);
    /// ```
    pub fn replace_escapes<T: Int>(values: &mut [T], escape: T, exceptions: &[T]) -> usize
        = scalar, avx2: scalar, avx512: replace_avx512;
}

dispatch! {
    /// Replaces values whose bit of `marked` is set by the next of `exceptions`, and returns the
    /// number of such values. Those past the last exception stay.
    ///
    /// ```
    /// let mut values = [1u32, 9, 2, 9];
    /// assert_eq!(staffa_kernels::replace_marked(&mut values, &[0b1010], &[700, 800]), 2);
    /// assert_eq!(values, [1, 700, 2, 800]);
    /// ```
    pub fn replace_marked<T: Word>(values: &mut [T], marked: &[u64], exceptions: &[T]) -> usize
        = marked_scalar, avx2: marked_scalar, avx512: marked_avx512;
}

/// Replaces the values of bits that are set; `found` values were replaced before.
#[inline(always)]
fn replace<T: Copy>(places: &mut [T], mut mask: u64, exceptions: &[T], found: &mut usize) {
    while mask != 0 {
        let place = places.get_mut(mask.trailing_zeros() as usize);
        if let (Some(place), Some(exception)) = (place, exceptions.get(*found)) {
            *place = *exception;
        }
        *found += 1;
        mask &= mask - 1;
    }
}

#[inline(always)]
fn scalar<T: Int>(values: &mut [T], escape: T, exceptions: &[T]) -> usize {
    let mut found = 0;
    for places in values.chunks_mut(64) {
        let bit = |(i, place): (usize, &T)| u64::from(*place == escape) << i;
        let mask = places
            .iter()
            .enumerate()
            .map(bit)
            .fold(0, |mask, bit| mask | bit);
        replace(places, mask, exceptions, &mut found);
    }
    found
}

/// The bits of word `i` that belong to `len` values.
#[inline(always)]
fn word_of(marked: &[u64], i: usize, len: usize) -> u64 {
    let all = u64::MAX >> (64 - len.clamp(1, 64));
    marked.get(i).map_or(0, |word| word & all)
}

#[inline(always)]
fn marked_scalar<T: Word>(values: &mut [T], marked: &[u64], exceptions: &[T]) -> usize {
    let mut found = 0;
    for (i, places) in values.chunks_mut(64).enumerate() {
        let mask = word_of(marked, i, places.len());
        replace(places, mask, exceptions, &mut found);
    }
    found
}

/// A register of 32-bit or 64-bit values at a time, while as many exceptions are left to load.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
#[inline]
fn replace_avx512<T: Int>(values: &mut [T], escape: T, exceptions: &[T]) -> usize {
    if !is_wide::<T>() {
        return scalar(values, escape, exceptions);
    }
    let escapes = splat(escape);
    let mut found = 0;
    let mut chunks = values.chunks_exact_mut(lanes::<T>());
    for chunk in &mut chunks {
        // SAFETY: the chunk has 64 bytes.
        let x = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
        replace_lanes(chunk, x, equal::<T>(x, escapes), exceptions, &mut found);
    }
    let exceptions = &exceptions[found.min(exceptions.len())..];
    found + scalar(chunks.into_remainder(), escape, exceptions)
}

/// A register of 32-bit or 64-bit values at a time, while as many exceptions are left to load.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
#[inline]
fn marked_avx512<T: Word>(values: &mut [T], marked: &[u64], exceptions: &[T]) -> usize {
    if !is_wide::<T>() {
        return marked_scalar(values, marked, exceptions);
    }
    let lanes = lanes::<T>();
    let mut found = 0;
    for (i, places) in values.chunks_mut(64).enumerate() {
        let mut mask = word_of(marked, i, places.len());
        let mut chunks = places.chunks_exact_mut(lanes);
        for chunk in &mut chunks {
            let own = (mask & (u64::MAX >> (64 - lanes))) as u16;
            mask >>= lanes;
            if own != 0 {
                // SAFETY: the chunk has 64 bytes.
                let x = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
                replace_lanes(chunk, x, own, exceptions, &mut found);
            }
        }
        replace(chunks.into_remainder(), mask, exceptions, &mut found);
    }
    found
}

/// Replaces the lanes of `x`, which are the values of a chunk, whose bits are set.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
#[inline]
fn replace_lanes<T: Word>(
    chunk: &mut [T],
    x: __m512i,
    mask: u16,
    exceptions: &[T],
    found: &mut usize,
) {
    if mask == 0 {
        return;
    }
    let Some(next) = exceptions.get(*found..*found + lanes::<T>()) else {
        // The last exceptions.
        return replace(chunk, mask.into(), exceptions, found);
    };
    assert!(chunk.len() == lanes::<T>());
    // SAFETY: there are `lanes` exceptions, 64 bytes; and the chunk has 64 bytes.
    unsafe {
        let next = _mm512_loadu_si512(next.as_ptr().cast());
        let replaced = expand::<T>(x, mask, next);
        _mm512_storeu_si512(chunk.as_mut_ptr().cast(), replaced);
    }
    *found += mask.count_ones() as usize;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::for_ints;
    use crate::testing::Rng;

    fn agree<T: Int>() {
        let mut rng = Rng(0x5eed);
        let lens = (0..200).chain([1023, 1024, 1025]);
        for (len, often) in lens.flat_map(|len| [2, 9, 100].map(|often| (len, often))) {
            let escape = T::from_u64(100);
            let value = |rng: &mut Rng| {
                let is_escape = rng.next().is_multiple_of(often);
                if is_escape {
                    escape
                } else {
                    T::from_u64(rng.next() % 100)
                }
            };
            let values: Vec<T> = (0..len).map(|_| value(&mut rng)).collect();
            let count = values.iter().filter(|v| **v == escape).count();
            for held in [count, count / 2, count + 20] {
                let exceptions: Vec<T> = rng.words(held);
                let mut expected = values.clone();
                assert_eq!(scalar(&mut expected, escape, &exceptions), count);
                let mut out = values.clone();
                assert_eq!(replace_escapes(&mut out, escape, &exceptions), count);
                assert!(
                    out == expected,
                    "{len} values, {held} of {count} exceptions"
                );
                // The same by bits, of which those past the values do not count.
                let bit = |(i, value): (usize, &T)| u64::from(*value == escape) << i;
                let word = |values: &[T]| values.iter().enumerate().map(bit).sum();
                let mut marked: Vec<u64> = values.chunks(64).map(word).collect();
                if let Some(last) = marked.last_mut().filter(|_| len % 64 > 0) {
                    *last |= 1 << 63;
                }
                let mut out = values.clone();
                assert_eq!(replace_marked(&mut out, &marked, &exceptions), count);
                assert!(out == expected);
            }
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        for_ints!(agree);
    }
}
