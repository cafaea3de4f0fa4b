//! Front coding: each string as a prefix of the one before, and a suffix (Witten, Moffat and Bell,
//! Managing Gigabytes, 1999).
//!
//!   string[i] = string[i - 1][..prefixes[i]] + suffix[i]        string[-1] is empty
//!
//! Both parts are copied 16 bytes at a time, past their ends; the next part overwrites the excess.
//! With AVX2 and AVX-512 the string before stays in registers, and the suffix is loaded into them
//! behind the prefix: a read of bytes that two stores have just written would wait for both. Eight
//! strings are checked at once.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256i, __m512i, _bzhi_u32, _bzhi_u64, _mm256_add_epi32, _mm256_and_si256, _mm256_blend_epi32,
    _mm256_blendv_epi8, _mm256_cmpeq_epi32, _mm256_loadu_si256, _mm256_mask_loadu_epi8,
    _mm256_min_epu32, _mm256_movemask_epi8, _mm256_permutevar8x32_epi32, _mm256_set1_epi32,
    _mm256_setr_epi32, _mm256_setzero_si256, _mm256_storeu_si256, _mm512_castsi256_si512,
    _mm512_castsi512_si256, _mm512_mask_loadu_epi8, _mm512_maskz_loadu_epi8, _mm512_setzero_si512,
    _mm512_storeu_si512,
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
#[derive(Default, Clone, Copy)]
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
        *self = self.advanced(prefix + suffix, suffix);
        u32::try_from(prefix + suffix).ok()
    }

    /// The places of the next string, after one of `len` bytes.
    #[inline(always)]
    fn advanced(self, len: usize, suffix: usize) -> Self {
        Self {
            before: self.at,
            at: self.at + len,
            next: self.next + suffix,
        }
    }
}

/// Bytes of a register of AVX2.
#[cfg(target_arch = "x86_64")]
const HALF: usize = 32;

/// Strings that are checked together: with AVX-512 the checks take as long as the copies do.
#[cfg(target_arch = "x86_64")]
const TOGETHER: usize = 8;

/// The lengths of strings that follow one of `before` bytes, where no string has more than `most`
/// bytes, and no prefix more than the string before it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn lengths_up_to(
    most: usize,
    before: usize,
    prefixes: &[u32; TOGETHER],
    suffixes: &[u32; TOGETHER],
) -> Option<[u32; TOGETHER]> {
    let mut lengths = [0; TOGETHER];
    // SAFETY: eight words of 32 bits have 32 bytes.
    let (prefix, suffix) = unsafe {
        (
            _mm256_loadu_si256(prefixes.as_ptr().cast()),
            _mm256_loadu_si256(suffixes.as_ptr().cast()),
        )
    };
    let most = _mm256_set1_epi32(most as i32);
    let length = _mm256_add_epi32(prefix, suffix);
    let each_before = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    let each_before = _mm256_permutevar8x32_epi32(length, each_before);
    let before = before.min(i32::MAX as usize) as i32;
    let before = _mm256_blend_epi32::<1>(each_before, _mm256_set1_epi32(before));
    let at_most = |a, b| _mm256_cmpeq_epi32(_mm256_min_epu32(a, b), a);
    // A sum wraps around only if the prefix has 2^32 - most or more: that of the first string is
    // then longer than `before`, which is cut for that, and that of another than `most`.
    let are_short = _mm256_and_si256(at_most(length, most), at_most(suffix, most));
    let all = _mm256_and_si256(are_short, at_most(prefix, before));
    if _mm256_movemask_epi8(all) != -1 {
        return None;
    }
    // SAFETY: as above.
    unsafe { _mm256_storeu_si256(lengths.as_mut_ptr().cast(), length) };
    Some(lengths)
}

/// Whether `room` bytes hold parts of these lengths and `slack` bytes more. None of the lengths may
/// exceed `most`: [`lengths_up_to`] has found that.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fits(lengths: &[u32; TOGETHER], most: usize, slack: usize, room: usize) -> bool {
    room >= TOGETHER * most + slack
        || room >= lengths.iter().map(|length| *length as usize).sum::<usize>() + slack
}

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

/// `held` up to byte `prefix`, then the bytes from `from + prefix` on.
///
/// # Safety
/// `prefix` must be at most 32, and 32 bytes valid for reads at `from`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn with_suffix_avx2(held: __m256i, prefix: usize, from: *const u8) -> __m256i {
    // SAFETY: the caller promises both.
    unsafe {
        let ones = _mm256_loadu_si256(ONES.as_ptr().add(HALF - prefix).cast());
        let new = _mm256_loadu_si256(from.cast());
        _mm256_blendv_epi8(new, held, ones)
    }
}

/// Eight strings of up to 32 bytes are joined in one register without further checks, others one by
/// one: those of up to 64 bytes in two registers.
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
    let (together, last) = prefixes.as_chunks::<TOGETHER>();
    let (lengths, last_lengths) = lengths.as_chunks_mut::<TOGETHER>();
    for (prefixes, lengths) in together.iter().zip(lengths) {
        let Places { before, at, next } = places;
        let joined = lengths_up_to(HALF, at - before, prefixes, lengths).filter(|joined| {
            let has_room = fits(joined, HALF, HALF, out.len() - at);
            has_room && fits(lengths, HALF, HALF, suffixes.len() - next)
        });
        let Some(joined) = joined else {
            for (prefix, length) in prefixes.iter().zip(lengths) {
                join_one_avx2(*prefix, length, suffixes, out, &mut held, &mut places)?;
            }
            continue;
        };
        for ((prefix, suffix), joined) in prefixes.iter().zip(lengths.iter()).zip(&joined) {
            let Places { at, next, .. } = places;
            let (prefix, len) = (*prefix as usize, *joined as usize);
            // SAFETY: `lengths_up_to` has found no prefix of more than 32 bytes, and none longer than
            // the string before it, which is no longer than all suffixes up to `next`; by `fits` 32
            // bytes are behind the suffixes in the input, and behind the strings in the output.
            unsafe {
                held[0] = with_suffix_avx2(held[0], prefix, suffixes.as_ptr().add(next - prefix));
                _mm256_storeu_si256(out.as_mut_ptr().add(at).cast(), held[0]);
            }
            places = places.advanced(len, *suffix as usize);
        }
        *lengths = joined;
    }
    for (prefix, length) in last.iter().zip(last_lengths) {
        join_one_avx2(*prefix, length, suffixes, out, &mut held, &mut places)?;
    }
    (places.next == suffixes.len()).then_some(places.at)
}

/// Joins the next string; `length` is that of its suffix, and then its own.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
fn join_one_avx2(
    prefix: u32,
    length: &mut u32,
    suffixes: &[u8],
    out: &mut [u8],
    held: &mut [__m256i; 2],
    places: &mut Places,
) -> Option<()> {
    let (prefix, suffix) = (prefix as usize, *length as usize);
    let Places { before, at, next } = *places;
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
            let from = suffixes.as_ptr().add(from);
            held[0] = with_suffix_avx2(held[0], prefix.min(HALF), from);
            let to = out.as_mut_ptr().add(at);
            _mm256_storeu_si256(to.cast(), held[0]);
            if len > HALF {
                let prefix = prefix.saturating_sub(HALF);
                held[1] = with_suffix_avx2(held[1], prefix, from.add(HALF));
                _mm256_storeu_si256(to.add(HALF).cast(), held[1]);
            }
        }
        *places = places.advanced(len, suffix);
        *length = len as u32;
    } else {
        *length = places.join(prefix, suffix, suffixes, out)?;
        let string = out.get(places.before..places.at)?;
        let mut first = [0; 2 * HALF];
        let held_len = string.len().min(2 * HALF);
        first[..held_len].copy_from_slice(&string[..held_len]);
        // SAFETY: both loads take 32 of the 64 bytes.
        unsafe {
            *held = [
                _mm256_loadu_si256(first.as_ptr().cast()),
                _mm256_loadu_si256(first.as_ptr().add(HALF).cast()),
            ];
        }
    }
    Some(())
}

/// Strings of up to 64 bytes in a register, eight of them without further checks.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,bmi2")]
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
    let (together, last) = prefixes.as_chunks::<TOGETHER>();
    let (lengths, last_lengths) = lengths.as_chunks_mut::<TOGETHER>();
    for (prefixes, lengths) in together.iter().zip(lengths) {
        let Places { before, at, next } = places;
        let up_to = |most| {
            let joined = lengths_up_to(most, at - before, prefixes, lengths)?;
            let has_room = fits(&joined, most, most, out.len() - at);
            (has_room && fits(lengths, most, 0, suffixes.len() - next)).then_some(joined)
        };
        if let Some(joined) = up_to(HALF) {
            let mut short = _mm512_castsi512_si256(held);
            for ((prefix, suffix), joined) in prefixes.iter().zip(lengths.iter()).zip(&joined) {
                let Places { at, next, .. } = places;
                let own = _bzhi_u32(u32::MAX, *suffix).wrapping_shl(*prefix);
                // SAFETY: the load takes bytes `prefix..prefix + suffix` alone, 32 at most (none of an
                // empty suffix, also where the shift wraps around): by `fits` the suffix lies at
                // `next` in the input, and 32 bytes are behind the strings in the output.
                unsafe {
                    let from = suffixes.as_ptr().wrapping_add(next);
                    let from = from.wrapping_sub(*prefix as usize);
                    short = _mm256_mask_loadu_epi8(short, own, from.cast());
                    _mm256_storeu_si256(out.as_mut_ptr().add(at).cast(), short);
                }
                places = places.advanced(*joined as usize, *suffix as usize);
            }
            held = _mm512_castsi256_si512(short);
            *lengths = joined;
        } else if let Some(joined) = up_to(2 * HALF) {
            for ((prefix, suffix), joined) in prefixes.iter().zip(lengths.iter()).zip(&joined) {
                let Places { at, next, .. } = places;
                // SAFETY: string and suffix have 64 bytes at most; by `fits` the suffix lies at `next`
                // in the input, and 64 bytes are behind the strings in the output.
                unsafe {
                    held = with_suffix_avx512(held, *prefix, *suffix, suffixes, next);
                    _mm512_storeu_si512(out.as_mut_ptr().add(at).cast(), held);
                }
                places = places.advanced(*joined as usize, *suffix as usize);
            }
            *lengths = joined;
        } else {
            for (prefix, length) in prefixes.iter().zip(lengths) {
                join_one_avx512(*prefix, length, suffixes, out, &mut held, &mut places)?;
            }
        }
    }
    for (prefix, length) in last.iter().zip(last_lengths) {
        join_one_avx512(*prefix, length, suffixes, out, &mut held, &mut places)?;
    }
    (places.next == suffixes.len()).then_some(places.at)
}

/// `held` up to byte `prefix`, then the `suffix` bytes at `next`.
///
/// # Safety
/// These bytes must be in the suffixes; prefix and suffix must have 64 bytes together at most.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
unsafe fn with_suffix_avx512(
    held: __m512i,
    prefix: u32,
    suffix: u32,
    suffixes: &[u8],
    next: usize,
) -> __m512i {
    let own = _bzhi_u64(u64::MAX, suffix).wrapping_shl(prefix);
    let from = suffixes.as_ptr().wrapping_add(next);
    // SAFETY: the load takes bytes `prefix..prefix + suffix` alone (none of an empty suffix, also
    // where the shift wraps around), which are those that the caller promises.
    unsafe { _mm512_mask_loadu_epi8(held, own, from.wrapping_sub(prefix as usize).cast()) }
}

/// Joins the next string; `length` is that of its suffix, and then its own.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2,bmi2")]
#[inline]
fn join_one_avx512(
    prefix: u32,
    length: &mut u32,
    suffixes: &[u8],
    out: &mut [u8],
    held: &mut __m512i,
    places: &mut Places,
) -> Option<()> {
    let (shared, suffix) = (prefix as usize, *length as usize);
    let Places { before, at, next } = *places;
    let len = shared + suffix;
    if shared > at - before || suffix > suffixes.len() - next {
        return None;
    }
    if len <= 2 * HALF && out.len() - at >= 2 * HALF {
        // SAFETY: the suffix is there, and the store has room for 64 bytes.
        unsafe {
            *held = with_suffix_avx512(*held, prefix, *length, suffixes, next);
            _mm512_storeu_si512(out.as_mut_ptr().add(at).cast(), *held);
        }
        *places = places.advanced(len, suffix);
        *length = len as u32;
    } else {
        *length = places.join(shared, suffix, suffixes, out)?;
        let string = out.get(places.before..places.at)?;
        let bytes = _bzhi_u64(u64::MAX, string.len().min(2 * HALF) as u32);
        // SAFETY: the load takes the string's bytes, 64 at most.
        *held = unsafe { _mm512_maskz_loadu_epi8(bytes, string.as_ptr().cast()) };
    }
    Some(())
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
            for i in (0..count).step_by(7) {
                let (prefix, len) = (prefixes[i], lengths[i]);
                let before = i.checked_sub(1).map_or(0, |before| strings[before]);
                for wrong in [before + 1, u32::MAX, 0_u32.wrapping_sub(len)] {
                    prefixes[i] = wrong;
                    assert!(wrong <= before || join(&prefixes, &suffixes, room).is_none());
                }
                prefixes[i] = prefix;
                for wrong in [
                    suffixes.len() as u32 + 1,
                    u32::MAX,
                    0_u32.wrapping_sub(prefix + 1),
                    0_u32.wrapping_sub(prefix.max(1)),
                ] {
                    let mut found = lengths.clone();
                    found[i] = wrong;
                    let mut out = vec![0; room];
                    assert_eq!(
                        join_prefixes(&prefixes, &suffixes, &mut found, &mut out),
                        None
                    );
                }
            }
        }
    }

    /// Strings of these prefixes and suffixes, joined; bytes far behind them are not touched.
    fn joins(parts: &[(usize, usize)]) {
        let mut rng = Rng(0x5eed);
        let (mut whole, mut suffixes, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for &(prefix, suffix) in parts {
            let suffix = rng.bytes(suffix);
            last.truncate(prefix);
            last.extend_from_slice(&suffix);
            whole.extend_from_slice(&last);
            suffixes.extend(suffix);
        }
        // Nothing behind the suffixes may be read.
        let suffixes = suffixes.into_boxed_slice();
        let prefixes: Vec<u32> = parts.iter().map(|part| part.0 as u32).collect();
        for room in [whole.len(), whole.len() + 40, whole.len() + 700] {
            let mut lengths: Vec<u32> = parts.iter().map(|part| part.1 as u32).collect();
            let mut out = vec![0xaa; room + 100];
            let joined = join_prefixes(&prefixes, &suffixes, &mut lengths, &mut out[..room]);
            assert_eq!(joined, Some(whole.len()), "{parts:?}");
            assert_eq!(&out[..whole.len()], &whole, "{parts:?}");
            assert!(out[room..].iter().all(|byte| *byte == 0xaa));
            let sum = |(prefix, suffix): &(usize, usize)| (prefix + suffix) as u32;
            assert!(
                lengths
                    .iter()
                    .eq(&parts.iter().map(sum).collect::<Vec<_>>())
            );
        }
    }

    #[test]
    fn strings_as_long_as_registers_are_joined() {
        on_every_level(|| {
            for len in [0, 1, 31, 32, 33, 63, 64, 65] {
                for before in [len, len + 1, 32, 64, 70] {
                    // A string that is a prefix, one that shares nothing, and one that shares a part.
                    for prefix in [0, len / 2, len].map(|prefix: usize| prefix.min(before)) {
                        for lane in 0..8 {
                            let mut parts = vec![(0, before); 16];
                            parts[8 + lane] = (prefix, len - prefix);
                            joins(&parts);
                            // After a batch of another width, and before one.
                            parts[..8].fill((0, 3));
                            parts[8..].fill((0, before));
                            parts[8 + lane..].fill((prefix.min(len), len - prefix));
                            if lane > 0 || prefix <= 3 {
                                joins(&parts);
                            }
                            parts.extend([(0, 5); 8]);
                            if lane > 0 || prefix <= 3 {
                                joins(&parts);
                            }
                        }
                    }
                }
            }
        });
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
