//! Exceptions put in their places: of every value that is the escape code, or whose bit is set.
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
    /// Replaces values whose bit of `mask` is set by the next of `exceptions`, and returns the number
    /// of these bits. Values stay past the last exception, as of [`replace_escapes`]; those past the
    /// last word of the mask have no bit.
    ///
    /// ```
    /// let mut values = [1u32, 0, 2, 0];
    /// assert_eq!(staffa_kernels::replace_marked(&mut values, &[0b1010], &[700, 800]), 2);
    /// assert_eq!(values, [1, 700, 2, 800]);
    /// ```
    pub fn replace_marked<T: Word>(values: &mut [T], mask: &[u64], exceptions: &[T]) -> usize
        = marked, avx2: marked, avx512: marked_avx512;
}

/// Replaces the values whose bit is set, of up to 64; returns their number.
#[inline(always)]
fn replace<T: Word>(values: &mut [T], mut mask: u64, exceptions: &[T]) -> usize {
    let mut found = 0;
    while mask != 0 {
        let Some(place) = values.get_mut(mask.trailing_zeros() as usize) else {
            break;
        };
        if let Some(exception) = exceptions.get(found) {
            *place = *exception;
        }
        found += 1;
        mask &= mask - 1;
    }
    found
}

#[inline(always)]
fn marked<T: Word>(values: &mut [T], mask: &[u64], exceptions: &[T]) -> usize {
    let mut found = 0;
    for (places, mask) in values.chunks_mut(64).zip(mask) {
        found += replace(places, *mask, &exceptions[found.min(exceptions.len())..]);
    }
    found
}

/// A register of 32-bit or 64-bit values at a time, while as many exceptions are left to load.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
#[inline]
fn marked_avx512<T: Word>(values: &mut [T], mask: &[u64], exceptions: &[T]) -> usize {
    if !is_wide::<T>() {
        return marked(values, mask, exceptions);
    }
    let (lanes, mut found) = (lanes::<T>(), 0);
    for (places, &bits) in values.chunks_mut(64).zip(mask) {
        let left = &exceptions[found.min(exceptions.len())..];
        if bits == 0 {
            continue;
        }
        if places.len() < 64 || left.len() < 64 {
            found += replace(places, bits, left);
            continue;
        }
        let mut next = 0;
        for start in (0..64).step_by(lanes) {
            let own = (bits >> start & (u64::MAX >> (64 - lanes))) as u16;
            // SAFETY: there are 64 places, and at least 64 exceptions left before these places, of
            // which at most `start` were taken: `lanes` of both are there.
            unsafe {
                let place = places.as_mut_ptr().add(start);
                let x = _mm512_loadu_si512(place.cast());
                let exceptions = _mm512_loadu_si512(left.as_ptr().add(next).cast());
                _mm512_storeu_si512(place.cast(), expand::<T>(x, own, exceptions));
            }
            next += own.count_ones() as usize;
        }
        found += next;
    }
    found
}

#[inline(always)]
fn scalar<T: Int>(values: &mut [T], escape: T, exceptions: &[T]) -> usize {
    let mut found = 0;
    for places in values.chunks_mut(64) {
        let bit = |(i, place): (usize, &T)| u64::from(*place == escape) << i;
        let bits = places.iter().enumerate().map(bit);
        let mask = bits.fold(0, |mask, bit| mask | bit);
        found += replace(places, mask, &exceptions[found.min(exceptions.len())..]);
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
    let (lanes, escapes) = (lanes::<T>(), splat(escape));
    let mut found = 0;
    let mut chunks = values.chunks_exact_mut(lanes);
    for chunk in &mut chunks {
        // SAFETY: the chunk has 64 bytes.
        let x = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
        let mask = equal::<T>(x, escapes);
        if mask == 0 {
            continue;
        }
        let Some(next) = exceptions.get(found..found + lanes) else {
            // The last exceptions.
            found += scalar(chunk, escape, &exceptions[found.min(exceptions.len())..]);
            continue;
        };
        // SAFETY: there are `lanes` exceptions, 64 bytes; and the chunk has 64 bytes.
        unsafe {
            let next = _mm512_loadu_si512(next.as_ptr().cast());
            let replaced = expand::<T>(x, mask, next);
            _mm512_storeu_si512(chunk.as_mut_ptr().cast(), replaced);
        }
        found += mask.count_ones() as usize;
    }
    let exceptions = &exceptions[found.min(exceptions.len())..];
    found + scalar(chunks.into_remainder(), escape, exceptions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::{for_ints, for_words};
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
            }
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        for_ints!(agree);
    }

    fn marked_agree<T: Word>() {
        let mut rng = Rng(0x5eed);
        for len in (0..200).chain([1023, 1024, 1025]) {
            for share in [0, 1, 8, 16] {
                let (bits, mask) = rng.bits(len, share);
                let count = bits.iter().filter(|bit| **bit).count();
                let values: Vec<T> = rng.words(len);
                for held in [count, count / 2, count + 90] {
                    let exceptions: Vec<T> = rng.words(held);
                    let mut next = exceptions.iter();
                    let mut expected = values.clone();
                    for (place, _) in expected.iter_mut().zip(&bits).filter(|(_, bit)| **bit) {
                        *place = next.next().copied().unwrap_or(*place);
                    }
                    let mut out = values.clone();
                    assert_eq!(replace_marked(&mut out, &mask, &exceptions), count);
                    assert_eq!(out, expected, "{len} {share} {held}");
                }
            }
        }
    }

    #[test]
    fn marked_values_agree_with_one_at_a_time() {
        for_words!(marked_agree);
    }
}
