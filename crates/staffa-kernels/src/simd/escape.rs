//! Escapes: every value that is the escape code is replaced by the next exception, in place.
//!
//! A loop that looks for escapes mispredicts at most of them. In a register, one comparison finds
//! them all, and an expansion puts the next exceptions where they belong.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::avx512::{equal, expand, is_wide, lanes, splat};
use super::dispatch::dispatch;
use crate::word::Int;

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

#[inline(always)]
fn scalar<T: Int>(values: &mut [T], escape: T, exceptions: &[T]) -> usize {
    let mut found = 0;
    for places in values.chunks_mut(64) {
        let bit = |(i, place): (usize, &T)| u64::from(*place == escape) << i;
        let bits = places.iter().enumerate().map(bit);
        let mut mask = bits.fold(0, |mask, bit| mask | bit);
        while mask != 0 {
            if let Some(exception) = exceptions.get(found) {
                places[mask.trailing_zeros() as usize] = *exception;
            }
            found += 1;
            mask &= mask - 1;
        }
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
            }
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        for_ints!(agree);
    }
}
