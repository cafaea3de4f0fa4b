//! Filters on encoded data: which values of a decoder pass a test, one bit for each.
//!
//! A comparison with a literal is a range of words. A dictionary tests each entry once and filters
//! its codes, runs test each run once, a frame of reference tests a vector once that lies inside or
//! outside of the range. Otherwise a vector is decoded and compared while it is in the L1 cache: so are decimals of
//! 128 bits, unless they are stored as words of 64 bits.

use memchr::memmem::Finder;
use staffa_kernels::{VECTOR, begin_with, in_range, in_set, order_floats, sum_u32};

use super::set::WordSet;
use super::{
    BytesDecoder, Decoder, Integer, Scratch, StringVector, longer_than_declared,
    read_string_vector, vector_places,
};
use crate::error::Result;
use crate::predicate::Compare;
use crate::values::{Bitmap, Kind};

/// Words of a vector's bits.
const WORDS: usize = VECTOR / 64;

/// A comparison with a literal: the words from `low` to `low + span`, modulo 2^BITS, or all others.
#[derive(Debug, Clone, Copy)]
pub struct Range<T> {
    low: T,
    span: T,
    /// Whether the words in the range pass, or those outside.
    inside: bool,
    /// Whether words are floats: the range is one of their order as integers.
    float: bool,
}

impl<T: Integer> Range<T> {
    /// The words of a kind that compare so with `word`.
    pub fn of(op: Compare, word: T, kind: Kind) -> Self {
        let float = kind == Kind::Float;
        let mut value = [word];
        if float {
            order_floats(&mut value);
        }
        let ([value], one) = (value, T::from_u64(1));
        let min = if kind == Kind::Signed {
            T::from_u64(1 << (T::BITS - 1))
        } else {
            T::ZERO
        };
        let max = min.wrapping_sub(one);
        let range = |inside: bool, low: T, high: T| Self {
            low,
            span: high.wrapping_sub(low),
            inside,
            float,
        };
        match op {
            Compare::Eq => range(true, value, value),
            Compare::NotEq => range(false, value, value),
            Compare::LtEq => range(true, min, value),
            Compare::GtEq => range(true, value, max),
            // No word is less than the least, or greater than the greatest.
            Compare::Lt if value == min => range(false, min, max),
            Compare::Gt if value == max => range(false, min, max),
            Compare::Lt => range(true, min, value.wrapping_sub(one)),
            Compare::Gt => range(true, value.wrapping_add(one), max),
        }
    }

    /// The words from `first` to `last`.
    pub fn between(first: T, last: T) -> Self {
        Self {
            low: first,
            span: last.wrapping_sub(first),
            inside: true,
            float: false,
        }
    }

    /// Sets the bits of values that pass; floats are overwritten by their order.
    fn test(&self, values: &mut [T], out: &mut [u64]) {
        if self.float {
            order_floats(values);
        }
        in_range(values, self.low, self.span, out);
        if !self.inside {
            out.iter_mut().for_each(|word| *word = !*word);
        }
    }

    /// Whether all words from `base` to `base + span` pass, or none; `None` where only some may.
    fn decided(&self, base: T, span: T) -> Option<bool> {
        let (first, room) = (base.wrapping_sub(self.low), |from: T, to: T| {
            span <= to.wrapping_sub(from)
        });
        if self.float {
            None
        } else if first <= self.span {
            room(first, self.span).then_some(self.inside)
        } else {
            room(first, T::MAX).then_some(!self.inside)
        }
    }
}

/// A test of words.
#[derive(Debug)]
pub enum WordTest<T> {
    Range(Range<T>),
    Set(WordSet<T>),
}

impl<T: Integer> WordTest<T> {
    /// Sets the bits of values that pass; values are overwritten.
    pub fn test(&self, values: &mut [T], out: &mut [u64]) {
        match self {
            Self::Range(range) => range.test(values, out),
            Self::Set(set) => set.test(values, out),
        }
    }

    /// Which values pass.
    pub fn of_values(&self, values: &[T]) -> Bitmap {
        let mut words = vec![0; values.len().div_ceil(64)];
        self.test(&mut values.to_vec(), &mut words);
        Bitmap::from_words(words, values.len())
    }

    /// Whether all words from `base` to `base + span` pass, or none; `None` where only some may.
    pub fn decided(&self, base: T, span: T) -> Option<bool> {
        match self {
            Self::Range(range) => range.decided(base, span),
            Self::Set(set) => set.decided(base, span),
        }
    }
}

/// [`Decoder::filter`] by whole vectors.
pub fn filter_vectors<T: Integer>(
    decoder: &(impl Decoder<T> + ?Sized),
    test: &WordTest<T>,
    cx: &mut Scratch,
) -> Result<Bitmap> {
    if let Some((values, ends)) = decoder.runs()? {
        let passing = test.of_values(values);
        let passing = (0..passing.len()).map(|run| passing.get(run));
        return Ok(filter_runs(passing, ends, decoder.len()));
    }
    let mut buffer = [T::ZERO; VECTOR];
    bits_by_vector(decoder.len(), |v, words| {
        let values = vector_places(&mut buffer, decoder.len(), v)?;
        decoder.vector(v, cx, values)?;
        test.test(values, words);
        Ok(())
    })
}

/// A bit for each of `len` values, vector by vector; `bits` sets those of a vector.
pub fn bits_by_vector(
    len: usize,
    mut bits: impl FnMut(usize, &mut [u64]) -> Result<()>,
) -> Result<Bitmap> {
    let mut words = vec![0; len.div_ceil(64)];
    words
        .chunks_mut(WORDS)
        .enumerate()
        .try_for_each(|(v, words)| bits(v, words))?;
    Ok(Bitmap::from_words(words, len))
}

/// A test of strings.
pub struct StringTest<'t> {
    /// Whether a string passes.
    pub passes: &'t dyn Fn(&[u8]) -> bool,
    /// The same test of many strings.
    pub bulk: Bulk<'t>,
}

/// A test of many strings at once.
#[derive(Clone, Copy)]
pub enum Bulk<'t> {
    /// Each string by itself.
    Each,
    /// Strings equal to this one.
    Equal(&'t [u8]),
    /// Strings that begin with this one, or do not.
    Begin(&'t [u8], bool),
    /// Strings that contain this one, or do not.
    Contain(&'t Finder<'t>, bool),
}

impl StringTest<'_> {
    /// The length of all strings that pass, where the test knows it.
    fn length(&self) -> Option<u32> {
        // A string of a block is shorter than 4 GiB.
        if let Bulk::Equal(value) = self.bulk {
            u32::try_from(value.len()).ok()
        } else {
            None
        }
    }

    /// Sets the bits of strings that pass; `None` where strings end past the bytes.
    fn of_strings(&self, strings: StringVector<'_>, words: &mut [u64]) -> Option<()> {
        let StringVector { lengths, bytes } = strings;
        let (done, negated) = match self.bulk {
            Bulk::Equal(value) => (begin_with(lengths, bytes, value, true, words), false),
            Bulk::Begin(text, negated) => (begin_with(lengths, bytes, text, false, words), negated),
            Bulk::Contain(finder, negated) if !finder.needle().is_empty() => {
                contain(lengths, bytes, finder, words)?;
                (true, negated)
            }
            Bulk::Each | Bulk::Contain(..) => {
                let mut rest = bytes;
                for (word, lengths) in words.iter_mut().zip(lengths.chunks(64)) {
                    for (i, length) in lengths.iter().enumerate() {
                        let (string, behind) = rest.split_at_checked(*length as usize)?;
                        *word |= u64::from((self.passes)(string)) << i;
                        rest = behind;
                    }
                }
                (true, false)
            }
        };
        if negated {
            words.iter_mut().for_each(|word| *word = !*word);
        }
        done.then_some(())
    }
}

/// Which strings contain a text that is not empty: the bytes of all strings are searched at once, and
/// a match across the end of a string does not count.
fn contain(lengths: &[u32], bytes: &[u8], finder: &Finder<'_>, words: &mut [u64]) -> Option<()> {
    let total = usize::try_from(sum_u32(lengths)).ok()?;
    let bytes = bytes.get(..total)?;
    let (mut i, mut end, mut from) = (0, lengths.first().map_or(0, |length| *length as usize), 0);
    while let Some(found) = finder.find(bytes.get(from..)?) {
        let at = from + found;
        while end <= at {
            i += 1;
            end += *lengths.get(i)? as usize;
        }
        if at + finder.needle().len() <= end {
            *words.get_mut(i / 64)? |= 1 << (i % 64);
            from = end;
        } else {
            from = at + 1;
        }
    }
    Some(())
}

/// [`BytesDecoder::filter`] by whole vectors; a vector without a string of the right length is
/// skipped.
pub fn filter_strings(
    decoder: &(impl BytesDecoder + ?Sized),
    test: &StringTest<'_>,
    max_bytes: usize,
    cx: &mut Scratch,
) -> Result<Bitmap> {
    let candidates = match (test.length(), decoder.lengths()) {
        (Some(length), Some(lengths)) => {
            Some(lengths.filter(&WordTest::Range(Range::between(length, length)), cx)?)
        }
        _ => None,
    };
    let none = |v: usize| {
        candidates
            .as_ref()
            .is_some_and(|found| found.vector(v).iter().all(|word| *word == 0))
    };
    bits_by_vector(decoder.len(), |v, words| {
        if none(v) {
            return Ok(());
        }
        read_string_vector(decoder, v, max_bytes, cx, |strings| {
            test.of_strings(strings, words)
                .ok_or_else(longer_than_declared)
        })
    })
}

/// Which rows have the code of a passing entry; a code past the entries does not pass.
pub fn filter_codes(
    codes: &dyn Decoder<u32>,
    passing: &Bitmap,
    cx: &mut Scratch,
) -> Result<Bitmap> {
    if let Some((codes_of, ends)) = codes.runs()? {
        let passing = codes_of.iter().map(|code| passing.get(*code as usize));
        return Ok(filter_runs(passing, ends, codes.len()));
    }
    let ends = passing.ones().next().zip(passing.ones().last());
    let Some((first, last)) = ends else {
        return Ok(Bitmap::filled(codes.len(), false));
    };
    if (last - first) as usize + 1 == passing.count_ones() {
        return codes.filter(&WordTest::Range(Range::between(first, last)), cx);
    }
    cx.with(VECTOR, |cx, buffer| {
        bits_by_vector(codes.len(), |v, words| {
            let codes_of = vector_places(buffer, codes.len(), v)?;
            codes.vector(v, cx, codes_of)?;
            in_set(codes_of, passing.words(), words);
            Ok(())
        })
    })
}

/// The bits of `len` rows in runs: those of runs that pass are set.
pub fn filter_runs(passing: impl Iterator<Item = bool>, ends: &[u32], len: usize) -> Bitmap {
    let (mut bits, mut start) = (Bitmap::filled(len, false), 0);
    for (passes, &end) in passing.zip(ends) {
        if passes {
            bits.set_range(start..end as usize);
        }
        start = end as usize;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::arrays::Random;

    fn strings_of<'s>(lengths: &'s [u32], bytes: &'s [u8]) -> StringVector<'s> {
        StringVector { lengths, bytes }
    }

    type Passes<'t> = &'t dyn Fn(&[u8]) -> bool;

    /// Each test by its strings one by one and in bulk.
    fn tests_agree(text: &[u8], strings: &[Vec<u8>]) {
        let finder = Finder::new(text);
        let has = |string: &[u8]| finder.find(string).is_some();
        let begins = |string: &[u8]| string.starts_with(text);
        let tests: [(Passes<'_>, Bulk<'_>); 5] = [
            (&|string| string == text, Bulk::Equal(text)),
            (&begins, Bulk::Begin(text, false)),
            (&|string| !begins(string), Bulk::Begin(text, true)),
            (&has, Bulk::Contain(&finder, false)),
            (&|string| !has(string), Bulk::Contain(&finder, true)),
        ];
        let lengths: Vec<u32> = strings.iter().map(|string| string.len() as u32).collect();
        let bytes = strings.concat();
        for (passes, bulk) in tests {
            let test = StringTest { passes, bulk };
            let mut words = vec![0; strings.len().div_ceil(64)];
            let tested = test.of_strings(strings_of(&lengths, &bytes), &mut words);
            tested.unwrap();
            let found = Bitmap::from_words(words, strings.len());
            let expected = strings.iter().map(|string| passes(string));
            assert_eq!(found, expected.collect::<Bitmap>());
        }
        if let Some(fewer) = bytes.get(1..) {
            let bulk = Bulk::Contain(&finder, false);
            let passes = &has;
            let test = StringTest { passes, bulk };
            let mut words = [0; VECTOR / 64];
            let tested = test.of_strings(strings_of(&lengths, fewer), &mut words);
            assert!(tested.is_none());
        }
    }

    #[test]
    fn bulk_tests_agree_with_single_tests() {
        let mut random = Random(11);
        for count in [0, 1, 64, 65, 300, VECTOR] {
            let mut string = || -> Vec<u8> {
                let letters = (0..random.below(7)).map(|_| b"ab"[random.below(2)]);
                letters.collect()
            };
            let strings: Vec<Vec<u8>> = (0..count).map(|_| string()).collect();
            for text in ["", "a", "b", "ab", "aba", "bbbb", "abababa", "c"] {
                tests_agree(text.as_bytes(), &strings);
            }
        }
    }
}
