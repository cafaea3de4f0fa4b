//! Dictionary codes to values: `out[i] = dict[codes[i]]`.
//!
//! Codes come from the file. Their maximum is found first, in a pass of its own that vectorises; the
//! copying loop then needs no check. Two registers hold a small dictionary, such as one of lengths:
//! a permutation of them is many values at once.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::avx512::{is_wide, lanes};
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
    // Fewer codes are not worth filling the registers.
    if dict.len() <= SMALL && codes.len() > SMALL && permute(dict, codes, out) {
        return true;
    }
    for (out, &code) in out.iter_mut().zip(codes) {
        // SAFETY: no code is above the maximum, and that is below the length.
        *out = unsafe { *dict.get_unchecked(code as usize) };
    }
    true
}

/// Most words of 32 bits in two registers of AVX-512.
const SMALL: usize = 32;

dispatch! {
    /// Looks up codes, all of them below the length of the dictionary, in two registers; `false` where
    /// these do not hold it.
    fn permute<T: Word>(dict: &[T], codes: &[u32], out: &mut [T]) -> bool
        = permute_base, avx2: permute_avx2, avx512: permute_avx512;
}

#[inline(always)]
fn permute_base<T: Word>(_: &[T], _: &[u32], _: &mut [T]) -> bool {
    false
}

/// One code at a time.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn last_codes<T: Word>(dict: &[T], codes: &[u32], out: &mut [T]) -> bool {
    let places = out.iter_mut().zip(codes);
    places.for_each(|(place, code)| *place = dict[*code as usize]);
    true
}

/// Dictionaries of up to 16 words of 32 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn permute_avx2<T: Word>(dict: &[T], codes: &[u32], out: &mut [T]) -> bool {
    let mut held = [T::default(); 16];
    if T::BYTES != 4 || dict.len() > held.len() {
        return false;
    }
    held[..dict.len()].copy_from_slice(dict);
    let (codes, last) = codes.as_chunks::<8>();
    let (places, rest) = out.as_chunks_mut::<8>();
    // SAFETY: 16 words of 32 bits have 64 bytes, eight codes and eight places 32.
    unsafe {
        let low = _mm256_loadu_si256(held.as_ptr().cast());
        let high = _mm256_loadu_si256(held.as_ptr().add(8).cast());
        for (codes, places) in codes.iter().zip(places) {
            let codes = _mm256_loadu_si256(codes.as_ptr().cast());
            let low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, codes));
            let high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, codes));
            // Bit 3 of a code selects the register.
            let is_high = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(codes));
            let words = _mm256_castps_si256(_mm256_blendv_ps(low, high, is_high));
            _mm256_storeu_si256(places.as_mut_ptr().cast(), words);
        }
    }
    last_codes(dict, last, rest)
}

/// Dictionaries of up to 32 words of 32 bits, or 16 of 64.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2")]
#[inline]
fn permute_avx512<T: Word>(dict: &[T], codes: &[u32], out: &mut [T]) -> bool {
    if !is_wide::<T>() || dict.len() > 2 * lanes::<T>() {
        return false;
    }
    let mut held = [T::default(); SMALL];
    held[..dict.len()].copy_from_slice(dict);
    // SAFETY: 32 words of 32 bits or more have two registers.
    let [low, high] = unsafe {
        let held = held.as_ptr().cast::<__m512i>();
        [_mm512_loadu_si512(held), _mm512_loadu_si512(held.add(1))]
    };
    let mut steps = codes.chunks_exact(lanes::<T>());
    let mut places = out.chunks_exact_mut(lanes::<T>());
    for (codes, places) in steps.by_ref().zip(places.by_ref()) {
        // SAFETY: there are 16 codes for words of 32 bits, eight for words of 64; the places have 64
        // bytes.
        unsafe {
            let words = if T::BYTES == 4 {
                let codes = _mm512_loadu_si512(codes.as_ptr().cast());
                _mm512_permutex2var_epi32(low, codes, high)
            } else {
                let codes = _mm256_loadu_si256(codes.as_ptr().cast());
                _mm512_permutex2var_epi64(low, _mm512_cvtepu32_epi64(codes), high)
            };
            _mm512_storeu_si512(places.as_mut_ptr().cast(), words);
        }
    }
    last_codes(dict, steps.remainder(), places.into_remainder())
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
            for entries in [0, 1, 3, 8, 16, 17, 32, 33, 1000] {
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
