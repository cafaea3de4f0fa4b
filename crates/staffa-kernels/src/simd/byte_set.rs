//! The bytes that occur in a text.
//!
//! A text has few of the 256, and has shown most of them soon. A register tells whether 32 bytes are known already: the
//! low half of a byte looks up a mask of the high halves that it comes with.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::dispatch::dispatch;

/// Some of the 256 bytes.
///
/// ```
/// let mut bytes = staffa_kernels::ByteSet::default();
/// bytes.extend(b"banana");
/// assert_eq!(bytes.iter().collect::<Vec<u8>>(), b"abn");
/// ```
#[derive(Debug, Clone)]
pub struct ByteSet {
    has: [bool; 256],
}

impl Default for ByteSet {
    fn default() -> Self {
        Self { has: [false; 256] }
    }
}

impl ByteSet {
    /// Adds the bytes of a text.
    #[inline]
    pub fn extend(&mut self, text: &[u8]) {
        extend(self, text);
    }

    /// The bytes, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        let bytes = (0..=u8::MAX).zip(self.has);
        bytes.filter(|(_, has)| *has).map(|(byte, _)| byte)
    }

    /// By the low half of a byte, the high halves below 8 with which it is in the set, a bit for each; and those from 8
    /// on.
    #[cfg(target_arch = "x86_64")]
    fn halves(&self) -> [[u8; 16]; 2] {
        let mut halves = [[0; 16]; 2];
        for byte in self.iter() {
            let (high, low) = (byte >> 4, usize::from(byte & 15));
            halves[usize::from(high >> 3)][low] |= 1 << (high & 7);
        }
        halves
    }
}

dispatch! {
    fn extend<>(set: &mut ByteSet, text: &[u8]) = scalar, avx2: extend_avx2, avx512: extend_avx2;
}

#[inline(always)]
fn scalar(set: &mut ByteSet, text: &[u8]) {
    for byte in text {
        set.has[usize::from(*byte)] = true;
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn extend_avx2(set: &mut ByteSet, text: &[u8]) {
    let (chunks, rest) = text.as_chunks::<32>();
    if chunks.is_empty() {
        return scalar(set, rest);
    }
    let twice = |bytes: [u8; 16]| {
        // SAFETY: 16 bytes are loaded.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
    };
    let low_half = _mm256_set1_epi8(15);
    let bits = twice(std::array::from_fn(|high| 1 << (high & 7)));
    let mut halves = set.halves().map(twice);
    for chunk in chunks {
        // SAFETY: the chunk has 32 bytes.
        let bytes = unsafe { _mm256_loadu_si256(chunk.as_ptr().cast()) };
        let low = _mm256_and_si256(bytes, low_half);
        let high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low_half);
        // The highest bit of a byte is that of its high half.
        let [below, above] = halves.map(|half| _mm256_shuffle_epi8(half, low));
        let known = _mm256_blendv_epi8(below, above, bytes);
        let known = _mm256_and_si256(known, _mm256_shuffle_epi8(bits, high));
        let unknown = _mm256_cmpeq_epi8(known, _mm256_setzero_si256());
        if _mm256_movemask_epi8(unknown) != 0 {
            scalar(set, chunk);
            halves = set.halves().map(twice);
        }
    }
    scalar(set, rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    #[test]
    fn agrees_with_the_scalar_twin() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for distinct in [1, 2, 17, 128, 256] {
                for len in [0, 1, 31, 32, 33, 64, 1000] {
                    let first = rng.below(256);
                    let byte = |rng: &mut Rng| (first + rng.below(distinct)) as u8;
                    let text: Vec<u8> = (0..len).map(|_| byte(&mut rng)).collect();
                    let (mut set, mut expected) = (ByteSet::default(), ByteSet::default());
                    set.extend(&text);
                    scalar(&mut expected, &text);
                    assert_eq!(set.has, expected.has);
                    // Each of the 256 is told from those that the set has.
                    for byte in 0..=u8::MAX {
                        let (mut more, mut expected) = (set.clone(), set.has);
                        more.extend(&[byte; 40]);
                        expected[usize::from(byte)] = true;
                        assert_eq!(more.has, expected);
                    }
                }
            }
        });
    }
}
