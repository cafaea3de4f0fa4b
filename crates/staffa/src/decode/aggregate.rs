//! Folds: values made into something small, a sum, an extreme, a set, with no array of them
//! between.
//!
//! An encoding hands out what it has: runs as they are, the entries of a dictionary and how often
//! each is there, the sum of packed words above a base. By default vectors are decoded, and what is
//! wanted of them is handed out while it is in the L1 cache; or single values are read, where few
//! are wanted.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{VECTOR, gather, sum, sum_packed};

use super::{Appended, BytesDecoder, Decodable, Decoder, DictionaryStrings, Integer, Scratch};
use crate::error::{Error, Result};
use crate::values::{Bitmap, Kind, vector_len};

/// Of so many rows one must be wanted for its vector to be decoded; see [`gather`](crate::decode::take).
const FEW: usize = 32;

/// Runs shorter than that on average are decoded where only some rows are wanted.
const SHORT: usize = 8;

/// What values are wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// All of them, in the order of their rows.
    InOrder,
    /// All of them, those that are equal together if need be.
    AnyOrder,
    /// Each once at least: how often they are there does not matter.
    Once,
    /// Their sum as integers of this kind.
    Sum(Kind),
}

/// What values are made into.
pub trait Aggregator<T> {
    /// What they are wanted for.
    fn needs(&self) -> Needs;

    /// More values.
    fn values(&mut self, values: &[T]) -> Result<()>;

    /// More values, each so many times, and at least once.
    fn runs(&mut self, values: &[T], counts: &[u32]) -> Result<()>;

    /// The sum of more values, where that is what is wanted.
    fn sum(&mut self, sum: i128) -> Result<()>;
}

/// What strings are made into.
pub trait StringAggregator {
    /// Whether all must come, in the order of their rows. Else each is wanted once at least.
    fn in_order(&self) -> bool;

    /// One more, so many times.
    fn string(&mut self, string: &[u8], count: u32) -> Result<()>;
}

/// The sum of integers of this kind.
pub fn sum_of<T: Integer>(values: &[T], kind: Kind) -> i128 {
    let flip = if kind == Kind::Signed {
        1u64 << (T::BITS - 1)
    } else {
        0
    };
    // Far fewer than 2^63 values of at most 64 bits.
    sum(values, T::from_u64(flip)) as i128 - values.len() as i128 * i128::from(flip)
}

/// A word as an integer of this kind.
pub fn integer<T: Integer>(word: T, kind: Kind) -> i128 {
    let (word, unused) = (word.to_u64(), 64 - T::BITS);
    if kind == Kind::Signed {
        i128::from((word << unused).cast_signed() >> unused)
    } else {
        i128::from(word)
    }
}

/// The sum of a packed vector's values above a base, as integers of this kind, where none of them
/// can wrap around.
pub fn sum_above<T: Integer>(packed: &[u8], width: u32, base: T, kind: Kind) -> Option<i128> {
    let sum = i128::from(sum_packed::<T>(packed, width)?);
    let base = integer(base, kind);
    let past = 1i128
        << if kind == Kind::Signed {
            T::BITS - 1
        } else {
            T::BITS
        };
    (base + (1i128 << width) <= past).then(|| base * VECTOR as i128 + sum)
}

/// [`Decoder::fold`] by whole vectors, or by single values where few are wanted.
pub fn aggregate_vectors<T: Copy + Default>(
    decoder: &(impl Decoder<T> + ?Sized),
    rows: Option<&Bitmap>,
    into: &mut dyn Aggregator<T>,
    cx: &mut Scratch,
) -> Result<()> {
    let len = decoder.len();
    if let Some(some) = rows.filter(|rows| rows.count_ones() < len / FEW) {
        let some = some.positions();
        let mut values = vec![T::default(); some.len()];
        decoder.take(&some, cx, &mut values)?;
        return into.values(&values);
    }
    let mut buffer = [T::default(); VECTOR];
    for v in 0..len.div_ceil(VECTOR) {
        let n = vector_len(len, v);
        let wanted = rows.map(|rows| rows.vector(v));
        let count = wanted.map_or(n, |words| {
            words.iter().map(|word| word.count_ones() as usize).sum()
        });
        if count == 0 {
            continue;
        }
        let values = buffer.get_mut(..n).unwrap_or_default();
        decoder.vector(v, cx, values)?;
        if let Some(words) = wanted.filter(|_| count < n) {
            compact(values, words);
        }
        into.values(values.get(..count).unwrap_or_default())?;
    }
    Ok(())
}

/// Moves the values whose bit is set to the front.
fn compact<T: Copy>(values: &mut [T], words: &[u64]) {
    let mut at = 0;
    for (start, &word) in (0..).step_by(64).zip(words) {
        let mut left = word;
        if word.count_zeros() < 16 {
            // Whole stretches.
            while left != 0 {
                let first = left.trailing_zeros();
                let len = (left >> first).trailing_ones();
                let from = start + first as usize;
                let stretch = from..values.len().min(from + len as usize);
                if !stretch.is_empty() {
                    values.copy_within(stretch, at);
                }
                at += len as usize;
                left = if first + len < 64 {
                    left & u64::MAX << (first + len)
                } else {
                    0
                };
            }
            continue;
        }
        while left != 0 {
            let value = values.get(start + left.trailing_zeros() as usize).copied();
            if let (Some(place), Some(value)) = (values.get_mut(at), value) {
                *place = value;
            }
            at += 1;
            left &= left - 1;
        }
    }
}

/// [`Decoder::fold`] of runs up to these ends: run by run, unless so many are asked for by row that
/// vectors take less.
pub fn aggregate_runs<T: Copy + Default>(
    decoder: &impl Decoder<T>,
    (values, ends): (&[T], &[u32]),
    rows: Option<&Bitmap>,
    into: &mut dyn Aggregator<T>,
    cx: &mut Scratch,
) -> Result<()> {
    let mut counts = [0; VECTOR];
    let mut start = 0;
    let Some(rows) = rows else {
        for (values, ends) in values.chunks(VECTOR).zip(ends.chunks(VECTOR)) {
            for (count, end) in counts.iter_mut().zip(ends) {
                *count = end - start;
                start = *end;
            }
            into.runs(values, counts.get(..ends.len()).unwrap_or_default())?;
        }
        return Ok(());
    };
    if ends.len() * SHORT > decoder.len() || rows.count_ones() < ends.len() {
        return aggregate_vectors(decoder, Some(rows), into, cx);
    }
    let (mut some, mut counts) = (Vec::with_capacity(VECTOR), Vec::with_capacity(VECTOR));
    for (values, ends) in values.chunks(VECTOR).zip(ends.chunks(VECTOR)) {
        some.clear();
        counts.clear();
        for (value, end) in values.iter().zip(ends) {
            let count = rows.count_of(start..*end);
            if count > 0 {
                some.push(*value);
                counts.push(count);
            }
            start = *end;
        }
        into.runs(&some, &counts)?;
    }
    Ok(())
}

/// How often every code is there, or once where it is.
struct Histogram {
    counts: Vec<u32>,
    once: bool,
}

impl Histogram {
    fn add(&mut self, code: u32, count: u32) -> Result<()> {
        let codes = self.counts.len();
        let place = self
            .counts
            .get_mut(code as usize)
            .ok_or_else(|| past(code, codes))?;
        *place = if self.once { 1 } else { *place + count };
        Ok(())
    }
}

fn past(code: u32, len: usize) -> Error {
    Error::corrupt(format!("codes below {len} expected, found {code}"))
}

impl Aggregator<u32> for Histogram {
    fn needs(&self) -> Needs {
        if self.once {
            Needs::Once
        } else {
            Needs::AnyOrder
        }
    }

    fn values(&mut self, codes: &[u32]) -> Result<()> {
        codes.iter().try_for_each(|code| self.add(*code, 1))
    }

    fn runs(&mut self, codes: &[u32], counts: &[u32]) -> Result<()> {
        codes
            .iter()
            .zip(counts)
            .try_for_each(|(code, count)| self.add(*code, *count))
    }

    fn sum(&mut self, _: i128) -> Result<()> {
        Ok(())
    }
}

/// Codes to their values, in the order of the rows.
struct Translated<'f, T> {
    dictionary: &'f [T],
    into: &'f mut dyn Aggregator<T>,
}

impl<T: Decodable> Translated<'_, T> {
    fn translate(&self, codes: &[u32]) -> Result<Vec<T>> {
        let mut values = vec![T::default(); codes.len()];
        let worst = || codes.iter().max().copied().unwrap_or(0);
        let done = gather(self.dictionary, codes, &mut values);
        done.then_some(values)
            .ok_or_else(|| past(worst(), self.dictionary.len()))
    }
}

impl<T: Decodable> Aggregator<u32> for Translated<'_, T> {
    fn needs(&self) -> Needs {
        Needs::InOrder
    }

    fn values(&mut self, codes: &[u32]) -> Result<()> {
        let values = self.translate(codes)?;
        self.into.values(&values)
    }

    fn runs(&mut self, codes: &[u32], counts: &[u32]) -> Result<()> {
        let values = self.translate(codes)?;
        self.into.runs(&values, counts)
    }

    fn sum(&mut self, _: i128) -> Result<()> {
        Ok(())
    }
}

/// Values of a dictionary, by how often each code is there where their order does not matter.
pub fn aggregate_codes<T: Decodable>(
    codes: &dyn Decoder<u32>,
    dictionary: &[T],
    rows: Option<&Bitmap>,
    into: &mut dyn Aggregator<T>,
    cx: &mut Scratch,
) -> Result<()> {
    let wanted = rows.map_or(codes.len(), Bitmap::count_ones);
    // Values of a vector are added up before as many codes are counted.
    if matches!(into.needs(), Needs::InOrder | Needs::Sum(_)) || dictionary.len() > wanted {
        return codes.aggregate(rows, &mut Translated { dictionary, into }, cx);
    }
    let mut found = Histogram {
        counts: vec![0; dictionary.len()],
        once: into.needs() == Needs::Once,
    };
    codes.aggregate(rows, &mut found, cx)?;
    let there = dictionary
        .iter()
        .zip(found.counts)
        .filter(|(_, count)| *count > 0);
    let (values, counts): (Vec<T>, Vec<u32>) = there.map(|(value, count)| (*value, count)).unzip();
    into.runs(&values, &counts)
}

/// Strings, of which those of a block take `most` bytes: those of its dictionary, where it has one,
/// else out of vectors.
pub fn aggregate_strings(
    decoder: &(impl BytesDecoder + ?Sized),
    rows: Option<&Bitmap>,
    most: usize,
    into: &mut dyn StringAggregator,
    cx: &mut Scratch,
) -> Result<()> {
    let len = decoder.len();
    if let Some(some) = rows.filter(|rows| rows.count_ones() < len / FEW) {
        let mut out = Appended::default();
        out.allow(most);
        decoder.take(&some.positions(), cx, &mut out)?;
        let lengths = std::mem::take(&mut out.lengths);
        let data = out.into_data()?;
        return each_string(&lengths, data.as_slice(), None, into);
    }
    if let Some(coded) = decoder.dictionary() {
        return fold_coded(coded, len, rows, into, cx);
    }
    for v in 0..len.div_ceil(VECTOR) {
        let wanted = rows.map(|rows| rows.vector(v));
        if wanted.is_some_and(|words| words.iter().all(|word| *word == 0)) {
            continue;
        }
        let size = decoder.vector_bytes(v, cx)?;
        if size > most {
            return Err(Error::corrupt(format!(
                "strings of at most {most} bytes expected, found {size}"
            )));
        }
        let (mut bytes, mut buffer) = (cx.take_bytes(size), cx.take_u32());
        let lengths = buffer.get_mut(..vector_len(len, v)).unwrap_or_default();
        decoder.vector(v, cx, lengths, &mut bytes)?;
        each_string(lengths, &bytes, wanted, into)?;
        cx.give_bytes(bytes);
        cx.give_u32(buffer);
    }
    Ok(())
}

/// Strings that lie one after another, all or those whose bit is set.
fn each_string(
    lengths: &[u32],
    mut rest: &[u8],
    words: Option<&[u64]>,
    into: &mut dyn StringAggregator,
) -> Result<()> {
    for (i, length) in lengths.iter().enumerate() {
        let Some((string, others)) = rest.split_at_checked(*length as usize) else {
            return Err(Error::corrupt("strings longer than declared"));
        };
        rest = others;
        if words.is_none_or(|words| {
            words
                .get(i / 64)
                .is_some_and(|word| word >> (i % 64) & 1 == 1)
        }) {
            into.string(string, 1)?;
        }
    }
    Ok(())
}

/// Strings by their codes.
fn fold_coded(
    coded: &dyn DictionaryStrings,
    len: usize,
    rows: Option<&Bitmap>,
    into: &mut dyn StringAggregator,
    cx: &mut Scratch,
) -> Result<()> {
    let strings = coded.strings()?;
    let string = |code: u32| {
        strings
            .get(code as usize)
            .ok_or_else(|| past(code, strings.len()))
    };
    let mut there = Bitmap::filled(strings.len(), false);
    // A code, and how often it has been there.
    let mut run: Option<(u32, u32)> = None;
    let mut codes = cx.take_u32();
    for v in 0..len.div_ceil(VECTOR) {
        let wanted = rows.map(|rows| rows.vector(v));
        if wanted.is_some_and(|words| words.iter().all(|word| *word == 0)) {
            continue;
        }
        let codes = codes.get_mut(..vector_len(len, v)).unwrap_or_default();
        coded.codes(v, cx, codes)?;
        for (i, code) in codes.iter().enumerate() {
            let skipped = wanted.is_some_and(|words| {
                words
                    .get(i / 64)
                    .is_none_or(|word| word >> (i % 64) & 1 == 0)
            });
            match &mut run {
                _ if skipped => {}
                Some((before, count)) if before == code => *count += 1,
                before => {
                    let done = before.replace((*code, 1)).filter(|_| into.in_order());
                    done.map_or(Ok(()), |(code, count)| into.string(string(code)?, count))?;
                    string(*code)?;
                    there.set(*code as usize, true);
                }
            }
        }
    }
    cx.give_u32(codes);
    if into.in_order() {
        return run.map_or(Ok(()), |(code, count)| into.string(string(code)?, count));
    }
    there
        .ones()
        .try_for_each(|code| into.string(string(code)?, 1))
}
