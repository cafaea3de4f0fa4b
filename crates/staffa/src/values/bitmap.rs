//! A bitmap: validity, booleans, selections. Bit `i` is bit `i % 64` of word `i / 64`; bits past
//! the end are 0.

use arrow_buffer::bit_iterator::BitSliceIterator;
use staffa_kernels::{
    VECTOR, as_bytes, count_set, gather_bits, positions, ranks_of_set, scatter_bits, select_ranks,
};

/// An owned bitmap of `len` bits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// `len` bits, all of them `value`.
    pub fn filled(len: usize, value: bool) -> Self {
        let mut out = Self {
            words: vec![if value { u64::MAX } else { 0 }; len.div_ceil(64)],
            len,
        };
        out.clear_tail();
        out
    }

    /// From words; bits past `len` are cleared, missing words are 0.
    pub fn from_words(mut words: Vec<u64>, len: usize) -> Self {
        words.resize(len.div_ceil(64), 0);
        let mut out = Self { words, len };
        out.clear_tail();
        out
    }

    /// From little-endian bytes, beginning at bit `offset`; missing bytes are 0.
    pub fn from_bytes(bytes: &[u8], offset: usize, len: usize) -> Self {
        let shift = offset % 8;
        let end = bytes.len().min((offset + len).div_ceil(8));
        let bytes = bytes.get(offset / 8..end).unwrap_or_default();
        let (whole, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        let words = whole.iter().chain([&last]);
        let words = words.map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let all = Self::from_words(words, shift + len);
        if shift == 0 {
            return all;
        }
        all.slice(shift, len)
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bit `i`; false past the end.
    pub fn get(&self, i: usize) -> bool {
        i < self.len
            && self
                .words
                .get(i / 64)
                .is_some_and(|w| w >> (i % 64) & 1 == 1)
    }

    /// Sets bit `i`; nothing past the end.
    pub fn set(&mut self, i: usize, value: bool) {
        if i < self.len
            && let Some(word) = self.words.get_mut(i / 64)
        {
            *word = *word & !(1 << (i % 64)) | u64::from(value) << (i % 64);
        }
    }

    /// Number of set bits.
    pub fn count_ones(&self) -> usize {
        count_set(&self.words)
    }

    /// The words; bits past the end are 0.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words; bits past the end are 0.
    pub fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Bits `offset..offset + len`; those past the end are 0.
    #[must_use]
    pub fn slice(&self, offset: usize, len: usize) -> Self {
        let shift = offset % 64;
        let words = self.words.get(offset / 64..).unwrap_or_default();
        let count = len.div_ceil(64);
        if shift == 0 {
            return Self::from_words(words.iter().take(count).copied().collect(), len);
        }
        let next = words.iter().skip(1).chain([&0]);
        let word = |(low, high): (&u64, &u64)| low >> shift | high << (64 - shift);
        Self::from_words(words.iter().zip(next).take(count).map(word).collect(), len)
    }

    /// Positions of the set bits, ascending, all at once: faster than [`ones`](Self::ones).
    pub fn positions(&self) -> Vec<u32> {
        positions(&self.words, 0)
    }

    /// Positions of the set bits with these ranks, which ascend; `None` where a rank is not below
    /// the number of set bits.
    pub fn nth(&self, ranks: &[u32]) -> Option<Vec<u32>> {
        let mut positions = vec![0; ranks.len()];
        select_ranks(&self.words, ranks, &mut positions).then_some(positions)
    }

    /// The ranks of those of these rows, which ascend, whose bit is set.
    pub fn ranks(&self, rows: &[u32]) -> Vec<u32> {
        ranks_of_set(&self.words, rows)
    }

    /// Number of set bits in `range`; there are none past the end.
    pub fn count_of(&self, range: std::ops::Range<u32>) -> u32 {
        let end = self.len.min(range.end as usize);
        let (words, low, high) = match span(range.start as usize, end) {
            Some((words, low, high)) => (self.words.get(words), low, high),
            None => return 0,
        };
        match words {
            Some([word]) => (word & low & high).count_ones(),
            Some([first, between @ .., last]) => {
                let between: u32 = between.iter().map(|word| word.count_ones()).sum();
                (first & low).count_ones() + between + (last & high).count_ones()
            }
            _ => 0,
        }
    }

    /// The words of vector `v`.
    pub fn vector(&self, v: usize) -> &[u64] {
        let words = self.words.get(v * (VECTOR / 64)..).unwrap_or_default();
        words.get(..VECTOR / 64).unwrap_or(words)
    }

    /// The bits where `places`, which has the same length, has set bits, one after another.
    #[must_use]
    pub fn gathered(&self, places: &Self) -> Self {
        let mut words = vec![0; places.count_ones().div_ceil(64) + 1];
        let len = gather_bits(&self.words, &places.words, &mut words);
        Self::from_words(words, len)
    }

    /// Positions of the set bits, ascending.
    pub fn ones(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            std::iter::successors((word != 0).then_some(word), |w| {
                Some(w & (w - 1)).filter(|w| *w != 0)
            })
            .map(move |w| i as u32 * 64 + w.trailing_zeros())
        })
    }

    /// The bits, in order, where `places` has set bits; the other places are 0.
    #[must_use]
    pub fn scattered(&self, places: &Self) -> Self {
        let mut words = vec![0; places.words.len()];
        scatter_bits(&self.words, &places.words, &mut words);
        Self::from_words(words, places.len())
    }

    /// Stretches of set bits, ascending.
    pub fn runs(&self) -> impl Iterator<Item = std::ops::Range<u64>> + '_ {
        BitSliceIterator::new(as_bytes(&self.words), 0, self.len)
            .map(|(start, end)| start as u64..end as u64)
    }

    /// Sets the bits of `range`; nothing past the end.
    pub fn set_range(&mut self, range: std::ops::Range<usize>) {
        let Some((words, low, high)) = span(range.start, range.end.min(self.len)) else {
            return;
        };
        match self.words.get_mut(words) {
            Some([word]) => *word |= low & high,
            Some([first, between @ .., last]) => {
                *first |= low;
                between.fill(u64::MAX);
                *last |= high;
            }
            _ => {}
        }
    }

    /// Whether no bit is set.
    pub fn is_zero(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    fn zip(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self::from_words(
            self.words
                .iter()
                .zip(&other.words)
                .map(|(a, b)| of(*a, *b))
                .collect(),
            self.len,
        )
    }

    /// The bits that both have; both have the same length.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// The bits that either has; both have the same length.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// The bits that the other has not; both have the same length.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    /// The bits in which both differ; both have the same length.
    #[must_use]
    pub fn differing(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }

    /// Appends another bitmap.
    pub fn extend(&mut self, other: &Self) {
        let shift = self.len % 64;
        if shift == 0 {
            self.words.extend_from_slice(&other.words);
        } else {
            for &word in &other.words {
                if let Some(last) = self.words.last_mut() {
                    *last |= word << shift;
                }
                self.words.push(word >> (64 - shift));
            }
        }
        self.len += other.len;
        self.words.truncate(self.len.div_ceil(64));
    }

    fn clear_tail(&mut self) {
        if !self.len.is_multiple_of(64)
            && let Some(last) = self.words.last_mut()
        {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }
}

/// The words of bits `start..end`, and which bits of the first and of the last word are among them;
/// `None` for an empty range.
fn span(start: usize, end: usize) -> Option<(std::ops::RangeInclusive<usize>, u64, u64)> {
    let last = end.checked_sub(1).filter(|last| start <= *last)?;
    let (low, high) = (u64::MAX << (start % 64), u64::MAX >> (63 - last % 64));
    Some((start / 64..=last / 64, low, high))
}

impl FromIterator<bool> for Bitmap {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Self {
        let (mut words, mut len) = (Vec::new(), 0);
        for bit in bits {
            if len % 64 == 0 {
                words.push(0);
            }
            if let Some(last) = words.last_mut() {
                *last |= u64::from(bit) << (len % 64);
            }
            len += 1;
        }
        Self { words, len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_agree_with_single_bits() {
        for share in [0, 1, 20, 31, 32] {
            let bits: Vec<bool> = (0..700u32)
                .map(|i| i.wrapping_mul(2_654_435_761) >> 27 < share)
                .collect();
            let all: Bitmap = bits.iter().copied().collect();
            let mut again = Bitmap::filled(700, false);
            let mut before = None;
            for run in all.runs() {
                assert!(run.start < run.end && before.is_none_or(|end| end < run.start));
                before = Some(run.end);
                again.set_range(run.start as usize..run.end as usize);
            }
            assert_eq!(again, all);
        }
    }

    #[test]
    fn set_bits_are_found_by_their_number() {
        for share in [1, 20, 32] {
            let all: Bitmap = (0..700u32)
                .map(|i| i.wrapping_mul(2_654_435_761) >> 27 < share)
                .collect();
            let ones: Vec<u32> = all.ones().collect();
            assert_eq!(all.positions(), ones);
            for step in [1, 2, 7, 150] {
                let numbers: Vec<u32> = (0..ones.len() as u32).step_by(step).collect();
                let expected: Vec<u32> = ones.iter().copied().step_by(step).collect();
                assert_eq!(all.nth(&numbers), Some(expected));
            }
            assert_eq!(all.nth(&[0, ones.len() as u32]), None);
        }
        assert_eq!(Bitmap::filled(0, false).nth(&[]), Some(Vec::new()));
    }

    #[test]
    fn counts_and_gathered_bits_agree_with_single_bits() {
        let bits =
            |seed: u32| (0..1000u32).map(move |i| (i + seed).wrapping_mul(2_654_435_761) >> 28 < 9);
        let all: Bitmap = bits(0).collect();
        for (start, end) in [
            (0, 1000),
            (0, 0),
            (7, 7),
            (64, 128),
            (63, 65),
            (1, 63),
            (5, 640),
            (999, 1000),
        ] {
            let expected = (start..end).filter(|i| all.get(*i as usize)).count();
            assert_eq!(all.count_of(start..end), expected as u32, "{start}..{end}");
        }
        for places in [
            bits(3).collect(),
            Bitmap::filled(1000, true),
            Bitmap::filled(1000, false),
        ] {
            let expected: Bitmap = places.ones().map(|i| all.get(i as usize)).collect();
            assert_eq!(all.gathered(&places), expected);
            assert_eq!(expected.scattered(&places), all.and(&places));
        }
    }

    #[test]
    fn slices_and_appends_agree_with_single_bits() {
        let bits: Vec<bool> = (0..1000u32)
            .map(|i| i.wrapping_mul(2_654_435_761) >> 28 < 5)
            .collect();
        let all: Bitmap = bits.iter().copied().collect();
        let bytes: Vec<u8> = all.words().iter().flat_map(|w| w.to_le_bytes()).collect();
        for (offset, len) in [
            (0, 1000),
            (1, 999),
            (63, 130),
            (64, 64),
            (100, 0),
            (999, 1),
            (7, 65),
        ] {
            let expected: Bitmap = bits[offset..offset + len].iter().copied().collect();
            assert_eq!(all.slice(offset, len), expected);
            assert_eq!(Bitmap::from_bytes(&bytes, offset, len), expected);
            let mut joined = all.slice(0, offset);
            joined.extend(&expected);
            assert_eq!(joined, all.slice(0, offset + len));
            let ones: Vec<u32> = (0..len as u32)
                .filter(|i| bits[offset + *i as usize])
                .collect();
            assert_eq!(expected.ones().collect::<Vec<_>>(), ones);
            assert_eq!(expected.count_ones(), ones.len());
        }
    }
}
