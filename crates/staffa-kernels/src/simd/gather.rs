//! Dictionary codes to values: `out[i] = dict[codes[i]]`.
//!
//! Codes come from the file. Their maximum is found first, in a pass of its own that vectorises; the
//! copying loop then needs no check.

use super::dispatch::dispatch;
use crate::word::{Word, precompiled};

precompiled! {
    /// `out[i] = dict[codes[i]]`; `false` when a code is out of range (then `out` holds anything) or
    /// the lengths differ.
    ///
    /// ```
    /// let mut out = [0u64; 3];
    /// assert!(staffa_kernels::gather(&[10, 20], &[1, 0, 1], &mut out));
    /// assert_eq!(out, [20, 10, 20]);
    /// assert!(!staffa_kernels::gather(&[10, 20], &[1, 2, 1], &mut out));
    /// ```
    pub fn gather<'a, T: Word>(dict: &'a [T], codes: &'a [u32], out: &'a mut [T]) -> bool
        = gather_words;
}

dispatch! {
    /// The largest value; 0 where there are none.
    pub fn max_u32(values: &[u32]) -> u32 = max_body;
}

#[inline(always)]
fn max_body(values: &[u32]) -> u32 {
    values.iter().fold(0, |max, &v| max.max(v))
}

/// Compiled for the baseline only: the gathers of AVX-512 take a quarter longer than single loads
/// (Zen 5).
fn gather_words<T: Word>(dict: &[T], codes: &[u32], out: &mut [T]) -> bool {
    if codes.len() != out.len() {
        return false;
    }
    if !codes.is_empty() && max_u32(codes) as usize >= dict.len() {
        return false;
    }
    for (out, &code) in out.iter_mut().zip(codes) {
        // SAFETY: no code is above the maximum, and that is below the length.
        *out = unsafe { *dict.get_unchecked(code as usize) };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::for_words;
    use crate::testing::Rng;

    fn scalar<T: Word>(dict: &[T], codes: &[u32]) -> Option<Vec<T>> {
        codes
            .iter()
            .map(|&c| dict.get(c as usize).copied())
            .collect()
    }

    fn agree<T: Word>() {
        let mut rng = Rng(0x5eed);
        for len in (0..70).chain([1000, 1024, 4099]) {
            for entries in [0, 1, 3, 1000] {
                let dict: Vec<T> = rng.words(entries);
                let mut codes: Vec<u32> = (0..len).map(|_| rng.below(entries) as u32).collect();
                let mut out = vec![T::default(); len];
                let expected = scalar(&dict, &codes);
                assert_eq!(gather(&dict, &codes, &mut out), expected.is_some());
                assert!(expected.is_none_or(|e| e == out));
                assert_eq!(max_u32(&codes), codes.iter().copied().fold(0, u32::max));
                if len > 0 {
                    for wrong in [entries as u32, u32::MAX, 1 << 31] {
                        codes[rng.below(len)] = wrong;
                        assert!(!gather(&dict, &codes, &mut out));
                    }
                    assert!(!gather(&dict, &codes[1..], &mut out));
                }
            }
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        for_words!(agree);
    }
}
