//! Positions of set bits: the rows that a selective filter keeps.
//!
//! A loop over the bits of a word ends at a different bit each time, and a misprediction costs more
//! than the bits. So four positions are written for every word that has any bits; the next word
//! overwrites those past the last bit. With AVX-512, which packs registers, a word of more than four
//! bits takes four times 16 positions.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::dispatch::dispatch;

dispatch! {
    /// Positions of the set bits, ascending and modulo 2^32, where `first` is the position of the
    /// first bit.
    ///
    /// ```
    /// assert_eq!(staffa_kernels::positions(&[0b101, 1 << 63], 10), [10, 12, 137]);
    /// ```
    pub fn positions<>(words: &[u64], first: u32) -> Vec<u32> = by_fours, avx2: by_fours, avx512: by_registers;
}

/// Most positions that a word writes, those past its last bit included.
const MOST: usize = 64;

/// Calls `put(word, position of its first bit, places)` with every word that has set bits. `put`
/// writes at least as many places as the word has set bits.
#[inline(always)]
fn each_word(
    words: &[u64],
    first: u32,
    put: impl Fn(u64, u32, &mut [MaybeUninit<u32>; MOST]),
) -> Vec<u32> {
    let count: usize = words.iter().map(|word| word.count_ones() as usize).sum();
    let mut out = Vec::with_capacity(count + MOST);
    let (room, mut at) = (out.spare_capacity_mut(), 0);
    for (i, &word) in words.iter().enumerate() {
        if word != 0 {
            let Some(places) = room.get_mut(at..).and_then(|room| room.first_chunk_mut()) else {
                break;
            };
            put(word, first.wrapping_add(64 * i as u32), places);
            at += word.count_ones() as usize;
        }
    }
    // SAFETY: each word has written a place for each of its set bits, from where the places of the
    // word before ended.
    unsafe { out.set_len(at) };
    out
}

/// The next four positions of a word; 64 stands for those past its last bit.
#[inline(always)]
fn four(left: &mut u64, start: u32, places: &mut [MaybeUninit<u32>; 4]) {
    for place in places {
        place.write(start.wrapping_add(left.trailing_zeros()));
        *left &= left.wrapping_sub(1);
    }
}

#[inline(always)]
fn by_fours(words: &[u64], first: u32) -> Vec<u32> {
    each_word(words, first, |mut word, start, places| {
        for places in places.as_chunks_mut().0 {
            four(&mut word, start, places);
            if word == 0 {
                break;
            }
        }
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn by_registers(words: &[u64], first: u32) -> Vec<u32> {
    let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    each_word(words, first, |mut word, start, places| {
        let mut left = word;
        four(&mut left, start, &mut places.as_chunks_mut().0[0]);
        if left == 0 {
            return;
        }
        let mut at = 0;
        for part in 0..4 {
            let here = _mm512_add_epi32(
                lanes,
                _mm512_set1_epi32(start.wrapping_add(16 * part) as i32),
            );
            let packed = _mm512_maskz_compress_epi32(word as u16, here);
            // SAFETY: each part adds at most 16 places, so 16 from here on are among the 64.
            unsafe { _mm512_storeu_si512(places.as_mut_ptr().add(at).cast(), packed) };
            at += (word as u16).count_ones() as usize;
            word >>= 16;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    #[test]
    fn agrees_with_the_scalar_twin() {
        let mut rng = Rng(0x5eed);
        for round in 0..200 {
            let share = [0, 1, 30, 300, 990, 1000][round % 6];
            let words = (0..rng.below(40))
                .map(|_| (0..64).fold(0, |w, i| w | u64::from(rng.below(1000) < share) << i));
            let words: Vec<u64> = words.collect();
            let first = [0, 7, u32::MAX - 70][round % 3];
            let set = (0..64 * words.len()).filter(|i| words[i / 64] >> (i % 64) & 1 == 1);
            let expected: Vec<u32> = set.map(|i| first.wrapping_add(i as u32)).collect();
            on_every_level(|| assert_eq!(positions(&words, first), expected));
        }
    }
}
