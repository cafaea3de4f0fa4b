//! The digits of a block of numbers: 16 digits a number, the last digit in the last byte.
//!
//! Plain loops over arrays, each of which halves what is left of a number: fours of digits, pairs of
//! digits, digits.

use crate::word::{as_bytes, as_bytes_mut};

/// Numbers of a block.
pub(super) const BLOCK: usize = 64;
/// Digits of a number.
pub(super) const DIGITS: usize = 16;
/// The first number of more than eight decimal digits, and of more than sixteen.
pub(super) const EIGHT: u64 = 100_000_000;
pub(super) const SIXTEEN: u64 = EIGHT * EIGHT;

/// Most blocks of rows that have several templates; a writer gives a row at most 13 slots.
pub(super) const MOST_BLOCKS: usize = 16;

/// Of each of the first blocks, how many numbers rows have taken: a byte each, of two words, which stay in registers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Places([u64; 2]);

impl Places {
    /// One number of each of the first `count` blocks.
    pub(super) fn one_of(count: usize) -> Self {
        let word = |first| {
            let blocks = (first..count.min(first + MOST_BLOCKS / 2)).map(|block| block - first);
            blocks.fold(0, |word, block| word | 1 << (8 * block))
        };
        Self([0, MOST_BLOCKS / 2].map(word))
    }

    /// The numbers taken of a block, at most 64; `None` behind the first blocks.
    #[inline(always)]
    pub(super) fn of(self, block: usize) -> Option<usize> {
        let [first, second] = self.0;
        let word = if block < MOST_BLOCKS / 2 {
            first
        } else {
            second
        };
        (block < MOST_BLOCKS).then_some((word >> (8 * block % 64)) as usize & 0xff)
    }

    /// Takes what a row takes.
    #[inline(always)]
    pub(super) fn advance(&mut self, by: Self) {
        for (word, taken) in self.0.iter_mut().zip(by.0) {
            *word = word.wrapping_add(taken);
        }
    }
}

/// The digits of up to 64 numbers.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) digits: [[u64; 2]; BLOCK],
    /// How many digits each number needs, less one, where they were counted.
    pub(super) more: [u8; BLOCK],
}

impl Block {
    pub(super) const EMPTY: Self = Self {
        digits: [[0; 2]; BLOCK],
        more: [0; BLOCK],
    };

    /// How many digits a number needs, less one.
    #[inline(always)]
    pub(super) fn index(&self, row: usize) -> usize {
        usize::from(self.more[row]) % DIGITS
    }

    /// The most digits that one of the first numbers needs, less one.
    #[inline(always)]
    pub(super) fn most(&self, numbers: usize) -> u8 {
        let more = self.more.iter().take(numbers);
        more.fold(0, |most, more| most.max(*more))
    }

    /// The digits of numbers, and if asked for how many each needs; `false` where one has more than sixteen.
    #[inline(always)]
    pub(super) fn decimal(&mut self, values: &[u64; BLOCK], counts: bool) -> bool {
        let bits = values.iter().fold(0, |all, value| all | value);
        let (mut low, mut high) = ([0u32; BLOCK], [0u32; BLOCK]);
        // 2^26 has eight digits, 2^27 nine.
        if bits < 1 << 26 || values.iter().all(|value| *value < EIGHT) {
            for (low, value) in low.iter_mut().zip(values) {
                *low = *value as u32;
            }
            let low_digits = digits8(&low);
            let zeros = u64::from_le_bytes([b'0'; 8]);
            for (digits, low) in self.digits.iter_mut().zip(low_digits) {
                *digits = [zeros, low];
            }
            if counts {
                more8(&low, &mut self.more);
            }
            return true;
        }
        if values.iter().any(|value| *value >= SIXTEEN) {
            return false;
        }
        if bits >> 32 == 0 {
            // Words of 32 bits are divided in registers.
            for ((low, high), value) in low.iter_mut().zip(&mut high).zip(values) {
                let value = *value as u32;
                *high = value / EIGHT as u32;
                *low = value - *high * EIGHT as u32;
            }
        } else {
            for ((low, high), value) in low.iter_mut().zip(&mut high).zip(values) {
                (*high, *low) = ((value / EIGHT) as u32, (value % EIGHT) as u32);
            }
        }
        let halves = digits8(&high).into_iter().zip(digits8(&low));
        for (digits, (high, low)) in self.digits.iter_mut().zip(halves) {
            *digits = [high, low];
        }
        if counts {
            let mut of_high = [0; BLOCK];
            more8(&high, &mut of_high);
            more8(&low, &mut self.more);
            for ((more, of_high), high) in self.more.iter_mut().zip(of_high).zip(high) {
                *more = if high > 0 { of_high + 8 } else { *more };
            }
        }
        true
    }

    #[inline(always)]
    pub(super) fn hex(&mut self, values: &[u64; BLOCK], letters: u8) {
        let ordered = values.map(u64::swap_bytes);
        let mut nibbles = [0u16; 8 * BLOCK];
        for (nibbles, byte) in nibbles.iter_mut().zip(as_bytes(&ordered)) {
            let byte = u16::from(*byte);
            *nibbles = byte >> 4 | (byte & 15) << 8;
        }
        let text = as_bytes_mut(self.digits.as_flattened_mut()).iter_mut();
        for (text, nibble) in text.zip(as_bytes(&nibbles)) {
            *text = nibble + b'0' + if *nibble > 9 { letters } else { 0 };
        }
        self.more.fill(DIGITS as u8 - 1);
    }
}

/// The low and the high half of each word.
#[inline(always)]
fn halfwords(words: &[u32]) -> impl Iterator<Item = u16> + '_ {
    let halves = as_bytes(words).as_chunks().0;
    halves.iter().map(|half| u16::from_le_bytes(*half))
}

/// The eight digits of each number below 10^8, the first in the lowest byte.
#[inline(always)]
fn digits8(values: &[u32; BLOCK]) -> [u64; BLOCK] {
    let mut fours = [0u32; BLOCK];
    for (fours, value) in fours.iter_mut().zip(values) {
        let first = value / 10_000;
        *fours = first | (value - first * 10_000) << 16;
    }
    let mut pairs = [0u32; 2 * BLOCK];
    for (pairs, four) in pairs.iter_mut().zip(halfwords(&fours)) {
        let four = u32::from(four);
        // A little more than 1 / 100, exact below 10^4.
        let first = (four * 5_243) >> 19;
        *pairs = first | (four - first * 100) << 16;
    }
    let mut out = [0u64; BLOCK];
    let mut text = [0u16; 4 * BLOCK];
    for (text, pair) in text.iter_mut().zip(halfwords(&pairs)) {
        // A little more than 1 / 10, exact below 100.
        let first = (pair * 103) >> 10;
        *text = (first | (pair - first * 10) << 8) + 0x3030;
    }
    let texts = as_bytes(&text).as_chunks().0;
    for (out, text) in out.iter_mut().zip(texts) {
        *out = u64::from_le_bytes(*text);
    }
    out
}

/// The number of digits of each number below 10^8, less one.
#[inline(always)]
fn more8(values: &[u32; BLOCK], more: &mut [u8; BLOCK]) {
    // Counted in words as wide as the numbers, which compare in registers.
    let mut counts = [0u32; BLOCK];
    for most in [9, 99, 999, 9_999, 99_999, 999_999, 9_999_999] {
        for (count, value) in counts.iter_mut().zip(values) {
            *count += u32::from(*value > most);
        }
    }
    for (more, count) in more.iter_mut().zip(counts) {
        *more = count as u8;
    }
}
