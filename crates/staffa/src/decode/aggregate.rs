//! Aggregation: the values of a decoder go into something small (a sum, an extreme, a set) without an
//! array of them between.
//!
//! An encoding hands out what it has: runs as they are, the entries of a dictionary and how often
//! each occurs, the sum of packed words above a base. By default vectors are decoded and their
//! selected values handed out while they are in the L1 cache; few selected values are read by
//! themselves.

use staffa_kernels::{BytesDict, VECTOR, Word, filter, gather, sum, sum_packed};

use super::{
    Appended, BytesDecoder, Decodable, Decoder, DictionaryStrings, Integer, Runs, Scratch,
    StringVector, no_code, read_string_vector, vector_places,
};
use crate::error::{Error, Result};
use crate::values::{Bitmap, Kind, vector_len};

/// Fewer selected rows than one in this many are read singly; see [`take`](super::take).
const FEW: usize = 32;

/// Runs shorter than this on average are decoded where only some rows are selected.
const SHORT: usize = 8;

/// What an aggregator needs of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// All values, in the order of their rows.
    InOrder,
    /// All values in any order; equal ones may come together.
    AnyOrder,
    /// Each distinct value, once or more often.
    Once,
    /// The sum of the values as integers of this kind.
    Sum(Kind),
}

/// Takes in values.
pub trait Aggregator<T> {
    /// What it needs of them.
    fn needs(&self) -> Needs;

    /// Takes in values.
    fn values(&mut self, values: &[T]) -> Result<()>;

    /// Takes in values, each as often as its count says, which is at least 1.
    fn runs(&mut self, values: &[T], counts: &[u32]) -> Result<()>;

    /// Takes in the sum of values; only for [`Needs::Sum`].
    fn sum(&mut self, sum: i128) -> Result<()>;
}

/// Takes in strings.
pub trait StringAggregator {
    /// Whether all strings must come, in the order of their rows; else each distinct one once or
    /// more often.
    fn in_order(&self) -> bool;

    /// Takes in a string, `count` times.
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

/// [`Decoder::aggregate`] by runs where there are some, else by whole vectors, or by single values
/// where few rows are selected.
pub fn aggregate_vectors<T: Word>(
    decoder: &(impl Decoder<T> + ?Sized),
    rows: Option<&Bitmap>,
    into: &mut dyn Aggregator<T>,
    cx: &mut Scratch,
) -> Result<()> {
    let len = decoder.len();
    if let Some(runs) = decoder.runs()?
        && rows.is_none_or(|rows| suits_runs(rows, runs.1.len()))
    {
        return aggregate_runs(runs, rows, into);
    }
    if let Some(rows) = few(rows, len) {
        let mut values = vec![T::default(); rows.len()];
        decoder.take(&rows, cx, &mut values)?;
        return into.values(&values);
    }
    let (mut buffer, mut kept) = ([T::default(); VECTOR], [T::default(); VECTOR]);
    for (v, selected) in vectors(rows, len) {
        let values = vector_places(&mut buffer, len, v)?;
        decoder.vector(v, cx, values)?;
        match selected {
            None => into.values(values)?,
            Some(bits) => {
                let count = filter(values, bits, &mut kept);
                let kept = count.and_then(|count| kept.get(..count));
                into.values(kept.ok_or_else(fewer_bits)?)?;
            }
        }
    }
    Ok(())
}

/// Whether selected rows are handed out run by run, rather than by vectors.
fn suits_runs(rows: &Bitmap, runs: usize) -> bool {
    runs * SHORT <= rows.len() && rows.count_ones() >= runs
}

fn fewer_bits() -> Error {
    Error::internal("fewer bits than rows")
}

/// The selected rows, where they are few among `len`.
fn few(rows: Option<&Bitmap>, len: usize) -> Option<Vec<u32>> {
    rows.filter(|rows| rows.count_ones() < len / FEW)
        .map(Bitmap::positions)
}

/// Each vector of `len` values that has selected rows: its number, and a bit for each of its rows
/// where not all are selected.
fn vectors(rows: Option<&Bitmap>, len: usize) -> impl Iterator<Item = (usize, Option<&[u64]>)> {
    (0..len.div_ceil(VECTOR)).filter_map(move |v| {
        let Some(bits) = rows.map(|rows| rows.vector(v)) else {
            return Some((v, None));
        };
        let count: usize = bits.iter().map(|word| word.count_ones() as usize).sum();
        (count > 0).then_some((v, Some(bits).filter(|_| count < vector_len(len, v))))
    })
}

/// Whether row `i` of a vector is selected.
fn is_selected(bits: Option<&[u64]>, i: usize) -> Result<bool> {
    bits.map_or(Ok(true), |bits| {
        let word = bits.get(i / 64).ok_or_else(fewer_bits)?;
        Ok(word >> (i % 64) & 1 == 1)
    })
}

/// Aggregates runs: all of them, or as many rows of each as are selected.
fn aggregate_runs<T: Word>(
    (values, ends): Runs<'_, T>,
    rows: Option<&Bitmap>,
    into: &mut dyn Aggregator<T>,
) -> Result<()> {
    let (mut selected, mut counts) = (Vec::with_capacity(VECTOR), Vec::with_capacity(VECTOR));
    let mut start = 0;
    for (values, ends) in values.chunks(VECTOR).zip(ends.chunks(VECTOR)) {
        selected.clear();
        counts.clear();
        for (value, end) in values.iter().zip(ends) {
            let count = rows.map_or(end - start, |rows| rows.count_of(start..*end));
            if count > 0 {
                selected.push(*value);
                counts.push(count);
            }
            start = *end;
        }
        into.runs(&selected, &counts)?;
    }
    Ok(())
}

/// How often each code occurs, or 1 for each that does.
struct Histogram {
    counts: Vec<u32>,
    once: bool,
}

impl Histogram {
    fn add(&mut self, code: u32, count: u32) -> Result<()> {
        let codes = self.counts.len();
        let total = self
            .counts
            .get_mut(code as usize)
            .ok_or_else(|| no_code(&[code], codes))?;
        *total = if self.once { 1 } else { *total + count };
        Ok(())
    }
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
        Err(no_sum())
    }
}

fn no_sum() -> Error {
    Error::internal("codes have no sum")
}

/// Hands on the entries of codes, in the order of the rows.
struct Translated<'f, T> {
    dictionary: &'f [T],
    into: &'f mut dyn Aggregator<T>,
}

impl<T: Decodable> Translated<'_, T> {
    fn translate(&self, codes: &[u32]) -> Result<Vec<T>> {
        let mut values = vec![T::default(); codes.len()];
        let found = gather(self.dictionary, codes, &mut values);
        found
            .then_some(values)
            .ok_or_else(|| no_code(codes, self.dictionary.len()))
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
        Err(no_sum())
    }
}

/// [`Decoder::aggregate`] of a dictionary: its entries and how often each occurs, where the order of
/// values does not matter.
pub fn aggregate_codes<T: Decodable>(
    codes: &dyn Decoder<u32>,
    dictionary: &[T],
    rows: Option<&Bitmap>,
    into: &mut dyn Aggregator<T>,
    cx: &mut Scratch,
) -> Result<()> {
    let selected = rows.map_or(codes.len(), Bitmap::count_ones);
    // A vector of values is added up faster than its codes are counted.
    if matches!(into.needs(), Needs::InOrder | Needs::Sum(_)) || dictionary.len() > selected {
        return codes.aggregate(rows, &mut Translated { dictionary, into }, cx);
    }
    let mut histogram = Histogram {
        counts: vec![0; dictionary.len()],
        once: into.needs() == Needs::Once,
    };
    codes.aggregate(rows, &mut histogram, cx)?;
    let (values, counts): (Vec<T>, Vec<u32>) = dictionary
        .iter()
        .zip(histogram.counts)
        .filter(|(_, count)| *count > 0)
        .unzip();
    into.runs(&values, &counts)
}

/// [`BytesDecoder::aggregate`] by the entries of a dictionary where there is one, else by whole
/// vectors, or by single strings where few rows are selected.
pub fn aggregate_strings(
    decoder: &(impl BytesDecoder + ?Sized),
    rows: Option<&Bitmap>,
    max_bytes: usize,
    into: &mut dyn StringAggregator,
    cx: &mut Scratch,
) -> Result<()> {
    let len = decoder.len();
    if let Some(rows) = few(rows, len) {
        let mut found = Appended::default();
        found.allow(max_bytes);
        decoder.take(&rows, cx, &mut found)?;
        let (lengths, data) = found.into_parts()?;
        let strings = StringVector {
            lengths: &lengths,
            bytes: data.as_slice(),
        };
        return strings.iter().try_for_each(|s| into.string(s?, 1));
    }
    if let Some(dictionary) = decoder.dictionary() {
        return aggregate_dictionary(dictionary, rows, into, cx);
    }
    vectors(rows, len).try_for_each(|(v, selected)| {
        read_string_vector(decoder, v, max_bytes, cx, |strings| {
            for (i, string) in strings.iter().enumerate() {
                let string = string?;
                if is_selected(selected, i)? {
                    into.string(string, 1)?;
                }
            }
            Ok(())
        })
    })
}

/// Hands on the strings of codes, in the order of the rows.
struct TranslatedStrings<'f> {
    dictionary: &'f BytesDict,
    into: &'f mut dyn StringAggregator,
}

impl TranslatedStrings<'_> {
    fn string(&mut self, code: u32, count: u32) -> Result<()> {
        let string = self.dictionary.get(code as usize);
        let string = string.ok_or_else(|| no_code(&[code], self.dictionary.len()))?;
        self.into.string(string, count)
    }
}

impl Aggregator<u32> for TranslatedStrings<'_> {
    fn needs(&self) -> Needs {
        Needs::InOrder
    }

    fn values(&mut self, codes: &[u32]) -> Result<()> {
        let mut runs = codes.chunk_by(|a, b| a == b);
        runs.try_for_each(|run| match run {
            [code, ..] => self.string(*code, run.len() as u32),
            [] => Ok(()),
        })
    }

    fn runs(&mut self, codes: &[u32], counts: &[u32]) -> Result<()> {
        let mut runs = codes.iter().zip(counts);
        runs.try_for_each(|(code, count)| self.string(*code, *count))
    }

    fn sum(&mut self, _: i128) -> Result<()> {
        Err(no_sum())
    }
}

/// Strings of a dictionary: runs of equal codes where order matters, else each entry that occurs.
fn aggregate_dictionary(
    dictionary: &dyn DictionaryStrings,
    rows: Option<&Bitmap>,
    into: &mut dyn StringAggregator,
    cx: &mut Scratch,
) -> Result<()> {
    let (codes, strings) = (dictionary.decoder(), dictionary.strings()?);
    let in_order = into.in_order();
    let mut translated = TranslatedStrings {
        dictionary: strings,
        into,
    };
    if in_order {
        return codes.aggregate(rows, &mut translated, cx);
    }
    let mut histogram = Histogram {
        counts: vec![0; strings.len()],
        once: true,
    };
    codes.aggregate(rows, &mut histogram, cx)?;
    let mut found = (0..).zip(histogram.counts).filter(|(_, count)| *count > 0);
    found.try_for_each(|(code, _)| translated.string(code, 1))
}
