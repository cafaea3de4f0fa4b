//! Random values for tests.

use crate::word::Word;

/// xorshift64*: random enough for values, and the same on every run.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number in `0..bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound.max(1)
    }

    /// Random bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    /// Random words.
    pub(crate) fn words<T: Word>(&mut self, len: usize) -> Vec<T> {
        let bytes = self.bytes(len * T::BYTES);
        bytes
            .chunks(T::BYTES)
            .map(|word| T::read_le(word).unwrap())
            .collect()
    }

    /// Bits of which `share` in 16 are set (a share of 1 sets the whole second word as well), and
    /// the same bits in words.
    pub(crate) fn bits(&mut self, len: usize, share: usize) -> (Vec<bool>, Vec<u64>) {
        let bits: Vec<bool> = (0..len)
            .map(|i| self.below(16) < share || share == 1 && i / 64 == 1)
            .collect();
        let mut words = vec![0u64; len.div_ceil(64)];
        for (i, bit) in bits.iter().enumerate() {
            words[i / 64] |= u64::from(*bit) << (i % 64);
        }
        (bits, words)
    }
}
