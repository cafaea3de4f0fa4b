//! Escapes: every value that is the escape code, or that a bit marks, is replaced by the next
//! exception, in place.
//!
//! A loop that looks for escapes mispredicts at most of them. In a register, one comparison finds
//! them all, and an expansion puts the next exceptions where they belong.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::avx2::{self, EXPANDED, PAIRS, few_lanes, numbers_of_bytes};
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
        = scalar, avx2: replace_avx2, avx512: replace_avx512;
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
        = marked_scalar, avx2: marked_avx2, avx512: marked_avx512;
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
    let all = match len {
        0 => 0,
        len => u64::MAX >> (64 - len.min(64)),
    };
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

/// Up to so many of 64 values are replaced one by one. That takes one mispredicted branch, which costs about as much
/// as replacing by registers.
#[cfg(target_arch = "x86_64")]
const FEW: u32 = 8;

/// 64 values at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn replace_avx2<T: Int>(values: &mut [T], escape: T, exceptions: &[T]) -> usize {
    let escapes = avx2::splat(escape);
    let mut found = 0;
    let (whole, rest) = values.as_chunks_mut::<64>();
    for places in whole {
        let mask = avx2::bits_of::<T>(|i| {
            let part = &places[i * (32 / T::BYTES)..][..32 / T::BYTES];
            // SAFETY: the part has 32 bytes.
            let x = unsafe { _mm256_loadu_si256(part.as_ptr().cast()) };
            avx2::equal::<T>(x, escapes)
        });
        if mask != 0 {
            replace_wide(places, mask, exceptions, &mut found);
        }
    }
    let exceptions = &exceptions[found.min(exceptions.len())..];
    found + scalar(rest, escape, exceptions)
}

/// 64 values at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn marked_avx2<T: Word>(values: &mut [T], marked: &[u64], exceptions: &[T]) -> usize {
    let mut found = 0;
    for (i, places) in values.chunks_mut(64).enumerate() {
        let mask = word_of(marked, i, places.len());
        if mask != 0 {
            replace_wide(places, mask, exceptions, &mut found);
        }
    }
    found
}

/// As [`replace`], where many bits are set by eight values at a time, four of 64 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn replace_wide<T: Word>(places: &mut [T], mut mask: u64, exceptions: &[T], found: &mut usize) {
    let Some(lanes) = few_lanes::<T>().filter(|_| mask.count_ones() > FEW) else {
        return replace(places, mask, exceptions, found);
    };
    let mut chunks = places.chunks_exact_mut(lanes);
    for chunk in &mut chunks {
        let own = (mask & ((1 << lanes) - 1)) as usize;
        mask >>= lanes;
        replace_few(chunk, own, exceptions, found);
    }
    replace(chunks.into_remainder(), mask, exceptions, found);
}

/// Replaces the values of a chunk, `few_lanes` of them, whose bits are set, without a branch for each.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
#[inline]
fn replace_few<T: Word>(chunk: &mut [T], mask: usize, exceptions: &[T], found: &mut usize) {
    let Some(next) = exceptions.get(*found..*found + chunk.len()) else {
        // The last exceptions.
        return replace(chunk, mask as u64, exceptions, found);
    };
    assert!(few_lanes::<T>() == Some(chunk.len()));
    *found += mask.count_ones() as usize;
    // Each value of 64 bits is two of 32.
    let mask = if T::BYTES == 8 { PAIRS[mask] } else { mask };
    let numbers = _mm_cvtsi64_si128(EXPANDED[mask].cast_signed());
    let (next, values) = (next.as_ptr(), chunk.as_mut_ptr());
    // SAFETY: the loads and stores take 8, 16 or 32 bytes: all values of the chunk, and as many exceptions.
    unsafe {
        match T::BYTES {
            1 => {
                let placed = _mm_shuffle_epi8(_mm_loadl_epi64(next.cast()), numbers);
                let old = _mm_loadl_epi64(values.cast());
                _mm_storel_epi64(values.cast(), _mm_blendv_epi8(placed, old, numbers));
            }
            2 => {
                let bytes = numbers_of_bytes(numbers);
                let placed = _mm_shuffle_epi8(_mm_loadu_si128(next.cast()), bytes);
                let old = _mm_loadu_si128(values.cast());
                _mm_storeu_si128(values.cast(), _mm_blendv_epi8(placed, old, bytes));
            }
            _ => {
                // A number with the top bit, of a value that stays, has it in every byte.
                let numbers = _mm256_cvtepi8_epi32(numbers);
                let next = _mm256_loadu_si256(next.cast());
                let placed = _mm256_permutevar8x32_epi32(next, numbers);
                let old = _mm256_loadu_si256(values.cast());
                _mm256_storeu_si256(values.cast(), _mm256_blendv_epi8(placed, old, numbers));
            }
        }
    }
}

/// A register of 32-bit or 64-bit values at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2,popcnt")]
#[inline]
fn replace_avx512<T: Int>(values: &mut [T], escape: T, exceptions: &[T]) -> usize {
    if !is_wide::<T>() {
        return replace_avx2(values, escape, exceptions);
    }
    let escapes = splat(escape);
    let (lanes, mut found) = (lanes::<T>(), 0);
    let (whole, rest) = values.as_chunks_mut::<64>();
    for places in whole {
        let mut mask = 0;
        for (i, part) in places.chunks_exact(lanes).enumerate() {
            // SAFETY: the part has 64 bytes.
            let x = unsafe { _mm512_loadu_si512(part.as_ptr().cast()) };
            mask |= u64::from(equal::<T>(x, escapes)) << (i * lanes);
        }
        if mask != 0 {
            replace_all(places, mask, exceptions, &mut found);
        }
    }
    let exceptions = &exceptions[found.min(exceptions.len())..];
    found + scalar(rest, escape, exceptions)
}

/// A register of 32-bit or 64-bit values at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx2,popcnt")]
#[inline]
fn marked_avx512<T: Word>(values: &mut [T], marked: &[u64], exceptions: &[T]) -> usize {
    if !is_wide::<T>() {
        return marked_avx2(values, marked, exceptions);
    }
    let mut found = 0;
    let (whole, rest) = values.as_chunks_mut::<64>();
    let count = whole.len();
    for (places, &mask) in whole.iter_mut().zip(marked) {
        if mask != 0 {
            replace_all(places, mask, exceptions, &mut found);
        }
    }
    replace(
        rest,
        word_of(marked, count, rest.len()),
        exceptions,
        &mut found,
    );
    found
}

/// Replaces those of 64 values whose bits are set. No register waits for the exceptions of the
/// one before.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
#[inline]
fn replace_all<T: Word>(places: &mut [T; 64], mask: u64, exceptions: &[T], found: &mut usize) {
    let lanes = lanes::<T>();
    let before = |i: usize| (mask & ((1 << (i * lanes)) - 1)).count_ones() as usize;
    let loaded = before(64 / lanes - 1) + lanes;
    let Some(next) = exceptions.get(*found..*found + loaded) else {
        // The last exceptions.
        return replace(places, mask, exceptions, found);
    };
    *found += mask.count_ones() as usize;
    for (i, part) in places.chunks_exact_mut(lanes).enumerate() {
        let own = (mask >> (i * lanes) & (u64::MAX >> (64 - lanes))) as u16;
        // SAFETY: `next` has `lanes` exceptions behind those of the registers before; the part has
        // 64 bytes.
        unsafe {
            let own_next = _mm512_loadu_si512(next.as_ptr().add(before(i)).cast());
            let x = _mm512_loadu_si512(part.as_ptr().cast());
            _mm512_storeu_si512(part.as_mut_ptr().cast(), expand::<T>(x, own, own_next));
        }
    }
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
                marked.push(u64::MAX);
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
