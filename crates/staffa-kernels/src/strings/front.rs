//! Front coding: each string as a prefix of the one before, and a suffix (Witten, Moffat and Bell,
//! Managing Gigabytes, 1999).
//!
//!   string[i] = string[i - 1][..prefixes[i]] + suffix[i]        string[-1] is empty
//!
//! Both parts are copied 16 bytes at a time, past their ends; the next part overwrites the excess.
//! With AVX2 and AVX-512 the string before stays in registers, and the suffix is loaded into them
//! behind the prefix: a read of bytes that two stores have just written would wait for both.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, _bzhi_u64, _mm256_blendv_epi8, _mm256_loadu_si256, _mm256_setzero_si256,
    _mm256_storeu_si256, _mm512_castsi512_si256, _mm512_mask_loadu_epi8, _mm512_maskz_loadu_epi8,
    _mm512_setzero_si512, _mm512_storeu_si512,
};

use crate::simd::dispatch::dispatch;

/// Bytes of one copy.
const WIDE: usize = 16;

dispatch! {
    /// Joins shared prefixes and suffixes to strings, one after another at the start of `out`;
    /// returns the bytes written. `lengths` has the lengths of the suffixes, and then those of the
    /// strings. Bytes behind the strings may be overwritten as well.
    ///
    /// `None` when a prefix is longer than the string before, there are not as many prefixes as
    /// lengths, the suffixes are not as long as their lengths, or `out` is too small; `lengths` and
    /// `out` then hold anything.
    ///
    /// ```
    /// let (mut lengths, mut out) = ([5, 1, 3], [0; 16]);
    /// assert_eq!(staffa_kernels::join_prefixes(&[0, 4, 2], b"islanseas", &mut lengths, &mut out), Some(15));
    /// assert_eq!((&out[..15], lengths), (&b"islanislasiseas"[..], [5, 5, 5]));
    /// ```
    pub fn join_prefixes<>(prefixes: &[u32], suffixes: &[u8], lengths: &mut [u32], out: &mut [u8]) -> Option<usize>
        = scalar, avx2: join_avx2, avx512: join_avx512;
}

#[inline(always)]
fn scalar(prefixes: &[u32], suffixes: &[u8], lengths: &mut [u32], out: &mut [u8]) -> Option<usize> {
    if prefixes.len() != lengths.len() {
        return None;
    }
    let mut places = Places::default();
    for (&prefix, length) in prefixes.iter().zip(lengths) {
        *length = places.join(prefix as usize, *length as usize, suffixes, out)?;
    }
    (places.next == suffixes.len()).then_some(places.at)
}

/// Where the strings of one step begin.
#[derive(Default)]
struct Places {
    /// The string before, in the output.
    before: usize,
    /// The string to be joined, in the output.
    at: usize,
    /// Its suffix, in the input.
    next: usize,
}

impl Places {
    /// Joins the next string; returns its length.
    #[inline(always)]
    fn join(
        &mut self,
        prefix: usize,
        suffix: usize,
        suffixes: &[u8],
        out: &mut [u8],
    ) -> Option<u32> {
        let Self { before, at, next } = *self;
        if prefix > at - before {
            return None;
        }
        let end = at + prefix + suffix;
        if end + WIDE <= out.len() && next + suffix + WIDE <= suffixes.len() {
            let mut done = 0;
            while done < prefix {
                let chunk: [u8; WIDE] = *out.get(before + done..)?.first_chunk()?;
                *out.get_mut(at + done..)?.first_chunk_mut()? = chunk;
                done += WIDE;
            }
            done = 0;
            while done < suffix {
                let chunk: &[u8; WIDE] = suffixes.get(next + done..)?.first_chunk()?;
                *out.get_mut(at + prefix + done..)?.first_chunk_mut()? = *chunk;
                done += WIDE;
            }
        } else {
            if end > out.len() {
                return None;
            }
            out.copy_within(before..before + prefix, at);
            out.get_mut(at + prefix..end)?
                .copy_from_slice(suffixes.get(next..next + suffix)?);
        }
        *self = Self {
            before: at,
            at: end,
            next: next + suffix,
        };
        u32::try_from(prefix + suffix).ok()
    }
}

/// Bytes of a register of AVX2.
#[cfg(target_arch = "x86_64")]
const HALF: usize = 32;

/// The first 32 bytes are ones: 32 bytes from `32 - n` on have `n` ones.
#[cfg(target_arch = "x86_64")]
static ONES: [u8; 2 * HALF] = {
    let mut ones = [0; 2 * HALF];
    let mut i = 0;
    while i < HALF {
        ones[i] = 0xff;
        i += 1;
    }
    ones
};

/// `held` up to byte `prefix`, then bytes of `suffixes` from `from + prefix` on; `prefix` is at most
/// 32, and 32 bytes from `from` on are there.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn behind(held: __m256i, prefix: usize, suffixes: &[u8], from: usize) -> __m256i {
    // SAFETY: the caller promises both ranges.
    unsafe {
        let ones = _mm256_loadu_si256(ONES.as_ptr().add(HALF - prefix).cast());
        let new = _mm256_loadu_si256(suffixes.as_ptr().add(from).cast());
        _mm256_blendv_epi8(new, held, ones)
    }
}

/// Strings of up to 64 bytes in two registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn join_avx2(
    prefixes: &[u32],
    suffixes: &[u8],
    lengths: &mut [u32],
    out: &mut [u8],
) -> Option<usize> {
    if prefixes.len() != lengths.len() {
        return None;
    }
    let mut places = Places::default();
    // The first 64 bytes of the string before.
    let mut held = [_mm256_setzero_si256(); 2];
    for (&prefix, length) in prefixes.iter().zip(lengths) {
        let (prefix, suffix) = (prefix as usize, *length as usize);
        let Places { before, at, next } = places;
        let len = prefix + suffix;
        if prefix > at - before || suffix > suffixes.len() - next {
            return None;
        }
        // Where the string would begin, if its prefix stood before its suffix: no string is longer
        // than the suffixes up to it.
        let from = next.wrapping_sub(prefix);
        let wide = if len <= HALF { HALF } else { 2 * HALF };
        let behind_it = suffixes.len().wrapping_sub(from);
        if len <= wide && out.len() - at >= wide && from <= next && behind_it >= wide {
            // SAFETY: `wide` bytes are there from `from` and from `at` on; a prefix of a string of
            // 32 bytes has at most as many.
            unsafe {
                held[0] = behind(held[0], prefix.min(HALF), suffixes, from);
                let to = out.as_mut_ptr().add(at);
                _mm256_storeu_si256(to.cast(), held[0]);
                if len > HALF {
                    let prefix = prefix.saturating_sub(HALF);
                    held[1] = behind(held[1], prefix, suffixes, from + HALF);
                    _mm256_storeu_si256(to.add(HALF).cast(), held[1]);
                }
            }
            places = Places {
                before: at,
                at: at + len,
                next: next + suffix,
            };
            *length = len as u32;
        } else {
            *length = places.join(prefix, suffix, suffixes, out)?;
            let string = out.get(places.before..places.at)?;
            let mut first = [0; 2 * HALF];
            let held_len = string.len().min(2 * HALF);
            first[..held_len].copy_from_slice(&string[..held_len]);
            // SAFETY: both loads take 32 of the 64 bytes.
            unsafe {
                held = [
                    _mm256_loadu_si256(first.as_ptr().cast()),
                    _mm256_loadu_si256(first.as_ptr().add(HALF).cast()),
                ];
            }
        }
    }
    (places.next == suffixes.len()).then_some(places.at)
}

/// Strings of up to 64 bytes in a register.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi2")]
#[inline]
fn join_avx512(
    prefixes: &[u32],
    suffixes: &[u8],
    lengths: &mut [u32],
    out: &mut [u8],
) -> Option<usize> {
    if prefixes.len() != lengths.len() {
        return None;
    }
    // The first 64 bytes of the string before.
    let (mut held, mut places) = (_mm512_setzero_si512(), Places::default());
    for (&prefix, length) in prefixes.iter().zip(lengths) {
        let (prefix, suffix) = (prefix as usize, *length as usize);
        let Places { before, at, next } = places;
        let len = prefix + suffix;
        if prefix > at - before || suffix > suffixes.len() - next {
            return None;
        }
        if len <= 64 && out.len() - at >= 64 {
            let own = _bzhi_u64(u64::MAX, suffix as u32).wrapping_shl(prefix as u32);
            // SAFETY: the load takes bytes `prefix..len` alone, which lie at `next..next + suffix`
            // of the suffixes (none where `suffix` is 0, also where the shift is by 64); the stores
            // have room for 64 bytes.
            unsafe {
                let from = suffixes.as_ptr().wrapping_add(next).wrapping_sub(prefix);
                held = _mm512_mask_loadu_epi8(held, own, from.cast());
                let to = out.as_mut_ptr().add(at);
                if len <= 32 {
                    _mm256_storeu_si256(to.cast(), _mm512_castsi512_si256(held));
                } else {
                    _mm512_storeu_si512(to.cast(), held);
                }
            }
            places = Places {
                before: at,
                at: at + len,
                next: next + suffix,
            };
            *length = len as u32;
        } else {
            *length = places.join(prefix, suffix, suffixes, out)?;
            let string = out.get(places.before..places.at)?;
            // SAFETY: the load takes the string's bytes, 64 at most.
            held = unsafe {
                _mm512_maskz_loadu_epi8(
                    _bzhi_u64(u64::MAX, string.len().min(64) as u32),
                    string.as_ptr().cast(),
                )
            };
        }
    }
    (places.next == suffixes.len()).then_some(places.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    fn agree(rng: &mut Rng, count: usize, longest: usize) {
        let (mut prefixes, mut lengths, mut suffixes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut whole, mut strings, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            let prefix = rng.below(last.len() + 1);
            let len = rng.below(longest + 1);
            let suffix = rng.bytes(len);
            last.truncate(prefix);
            last.extend_from_slice(&suffix);
            whole.extend_from_slice(&last);
            strings.push(last.len() as u32);
            prefixes.push(prefix as u32);
            lengths.push(suffix.len() as u32);
            suffixes.extend(suffix);
        }
        let join = |prefixes: &[u32], suffixes: &[u8], room| {
            let (mut found, mut out) = (lengths.clone(), vec![0; room]);
            join_prefixes(prefixes, suffixes, &mut found, &mut out).map(|len| {
                out.truncate(len);
                (out, found)
            })
        };
        for slack in [0, 1, 16, 64, 100] {
            let joined = join(&prefixes, &suffixes, whole.len() + slack);
            assert_eq!(joined, Some((whole.clone(), strings.clone())));
        }
        if !whole.is_empty() {
            let room = whole.len() + 100;
            assert_eq!(join(&prefixes, &suffixes, whole.len() - 1), None);
            assert_eq!(join(&prefixes[1..], &suffixes, room), None);
            assert_eq!(
                join(&prefixes, &[suffixes.as_slice(), &[0]].concat(), room),
                None
            );
            prefixes[0] = 1;
            assert_eq!(join(&prefixes, &suffixes, room), None);
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for longest in [0, 1, 5, 16, 17, 60, 90] {
                for count in [0, 1, 2, 50] {
                    agree(&mut rng, count, longest);
                }
            }
            let mut out = [0; 9];
            assert_eq!(
                join_prefixes(&[0, u32::MAX], b"ab", &mut [2, 0], &mut out),
                None
            );
            assert_eq!(join_prefixes(&[0], b"ab", &mut [u32::MAX], &mut out), None);
        });
    }
}
