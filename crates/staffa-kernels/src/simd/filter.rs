//! Values whose bit is set, one after another: the rows of a decoded vector that a filter keeps.
//!
//!   out[k] = values[position of the k-th set bit]
//!
//! A register is compacted at once (AVX2, AVX-512). Otherwise compaction is free of branches: write
//! every value, advance only for set bits.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::avx2::{PAIRS, few_lanes, numbers_of_bytes};
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
        = scalar, avx2: filter_avx2, avx512: filter_avx512;
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

/// For every mask of eight values, from the lowest byte on: the number of the first value whose bit is
/// set, of the second, and so on.
#[cfg(target_arch = "x86_64")]
static COMPACTED: [u64; 256] = compacted();

#[cfg(target_arch = "x86_64")]
const fn compacted() -> [u64; 256] {
    let mut all = [0; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut number, mut place) = (0, 0);
        while number < 8 {
            if mask >> number & 1 == 1 {
                all[mask] |= number << (place * 8);
                place += 1;
            }
            number += 1;
        }
        mask += 1;
    }
    all
}

/// Eight values of up to 32 bits, or four of 64, at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn filter_avx2<T: Word>(values: &[T], mask: &[u64], out: &mut [T]) {
    let Some(lanes) = few_lanes::<T>() else {
        return scalar(values, mask, out);
    };
    let mut at = 0;
    for (chunk, &word) in values.as_chunks::<64>().0.iter().zip(mask) {
        let end = at + word.count_ones() as usize;
        if word == u64::MAX {
            out[at..end].copy_from_slice(chunk);
            at = end;
            continue;
        }
        // Every store takes a place for each lane, the last one from `end` on at most.
        if end + lanes <= out.len() {
            // SAFETY: `out` has `lanes` places from `end` on.
            unsafe { filter_chunk(chunk, word, lanes, out.as_mut_ptr().add(at)) };
        } else {
            let mut last = [T::default(); 64 + 8];
            // SAFETY: there are eight places behind as many as the chunk has values.
            unsafe { filter_chunk(chunk, word, lanes, last.as_mut_ptr()) };
            out[at..end].copy_from_slice(&last[..end - at]);
        }
        at = end;
    }
    one_by_one(values, mask, values.len() / 64 * 64, &mut out[at..]);
}

/// Those of 64 values whose bit of `word` is set, `lanes` values at a time.
///
/// # Safety
/// As many values as bits are set, and `lanes` behind them, must be valid for writes at `to`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
unsafe fn filter_chunk<T: Word>(chunk: &[T; 64], word: u64, lanes: usize, mut to: *mut T) {
    let mut bits = word;
    for part in chunk.chunks_exact(lanes) {
        let mask = (bits & ((1 << lanes) - 1)) as usize;
        bits >>= lanes;
        // SAFETY: the part has `lanes` values; those before took a place for each set bit.
        unsafe {
            filter_lanes(part.as_ptr(), mask, to);
            to = to.add(mask.count_ones() as usize);
        }
    }
}

/// Those of eight values (four of 64 bits) whose bit of `mask` is set, moved to the front; any others
/// behind them.
///
/// # Safety
/// So many values must be valid for reads at `from` and for writes at `to`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn filter_lanes<T: Word>(from: *const T, mask: usize, to: *mut T) {
    // Each value of 64 bits is two of 32.
    let mask = if T::BYTES == 8 { PAIRS[mask] } else { mask };
    let numbers = _mm_cvtsi64_si128(COMPACTED[mask].cast_signed());
    // SAFETY: the loads and stores take 8, 16 or 32 bytes: eight values, or four of 64 bits.
    unsafe {
        match T::BYTES {
            1 => {
                let values = _mm_loadl_epi64(from.cast());
                _mm_storel_epi64(to.cast(), _mm_shuffle_epi8(values, numbers));
            }
            2 => {
                let values = _mm_loadu_si128(from.cast());
                let bytes = numbers_of_bytes(numbers);
                _mm_storeu_si128(to.cast(), _mm_shuffle_epi8(values, bytes));
            }
            _ => {
                let values = _mm256_loadu_si256(from.cast());
                let numbers = _mm256_cvtepu8_epi32(numbers);
                let moved = _mm256_permutevar8x32_epi32(values, numbers);
                _mm256_storeu_si256(to.cast(), moved);
            }
        }
    }
}

/// A register of 32-bit or 64-bit values at a time. The places of the registers of 64 values are
/// counted at once: none waits for the one before.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,popcnt")]
#[inline]
fn filter_avx512<T: Word>(values: &[T], mask: &[u64], out: &mut [T]) {
    if !is_wide::<T>() {
        return filter_avx2(values, mask, out);
    }
    let lanes = lanes::<T>();
    let mut at = 0;
    for (chunk, &word) in values.as_chunks::<64>().0.iter().zip(mask) {
        let out = &mut out[at..];
        let before = |i: usize| (word & ((1 << (i * lanes)) - 1)).count_ones() as usize;
        let has_room = out.len() >= before(64 / lanes - 1) + lanes;
        for (i, from) in chunk.chunks_exact(lanes).enumerate() {
            let wanted = (word >> (i * lanes) & (u64::MAX >> (64 - lanes))) as u16;
            let place = before(i);
            // SAFETY: the load takes the `lanes` values of `from`; the store writes as many where
            // `out` has room for them behind those of the registers before, else no more than are
            // wanted, for which it has.
            unsafe {
                let compacted = compress::<T>(wanted, _mm512_loadu_si512(from.as_ptr().cast()));
                if has_room {
                    _mm512_storeu_si512(out.as_mut_ptr().add(place).cast(), compacted);
                } else {
                    let count = wanted.count_ones() as usize;
                    assert!(out.len() >= place + count);
                    let stored = (1u32 << count).wrapping_sub(1) as u16;
                    store(out.as_mut_ptr().add(place), stored, compacted);
                }
            }
        }
        at += word.count_ones() as usize;
    }
    one_by_one(values, mask, values.len() / 64 * 64, &mut out[at..]);
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
