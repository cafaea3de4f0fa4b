//! Dictionary: distinct values once, and a code for every row.
//!
//! ```text
//! payload = 0: u8             | child: codes (u32) | child: values     the block's own dictionary
//! payload = 1: u8, part: u8   | child: codes (u32)                     a shared part of the column chunk
//! ```
//!
//! Codes are given in the order of first occurrence: where the same list of values comes again and
//! again, its codes follow one another, which delta and frame of reference take up. Strings may be
//! sorted instead, where that is smaller: sorted strings resemble their neighbours; or the most
//! frequent values come first, so that the rare ones are exceptions among the codes. Distinct
//! values are counted exactly, never judged from a sample.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{BytesDict, gather};

use super::escape::Escape;
use super::front_coding;
use super::front_coding::FrontCoding;
use crate::decode::{
    Aggregator, AnyDecoder, Appended, BytesDecoder, Decodable, Decoder, DictionaryStrings, Entries,
    Integer, LazyStrings, LazyWords, OpenContext, Range, Scratch, SharedDictionary, StringTest,
    aggregate_codes, filter_codes, no_code,
};
use crate::encode::{Chooser, Coded, Encoding, Info, Sorted, Stats, rough_bytes};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{
    Bitmap, Kind, OwnedValues, PhysicalType, Strings, Values, for_words, vector_len,
};

/// Bytes of distinct strings from which on it is tried to sort them.
const SORTED_BYTES: usize = 512;

/// Codes by frequency must save such a part: in the order of first occurrence columns of one domain
/// have the same codes, by which one tells the other.
const BY_FREQUENCY: usize = 7;

/// See the [module](self).
pub struct Dictionary;

impl Encoding for Dictionary {
    fn info(&self) -> &Info {
        &Info {
            id: 6,
            name: "dictionary",
            about: "distinct values once, a code for every row; of a block, or shared by a row group",
            child_names: &["codes", "values"],
            decode_picos: 350,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty != PhysicalType::Bits
    }

    fn is_viable(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        stats
            .dictionary()
            .is_some_and(|d| d.firsts.len() > 1 && d.firsts.len() < values.len())
    }

    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let Some(coded) = stats.dictionary() else {
            return Ok(None);
        };
        let bytes = match reordered(values, stats, chooser)? {
            Some((_, Some(bytes))) => *bytes,
            Some((sorted, None)) => size(values, stats.kind(), sorted, chooser)?,
            None => size(values, stats.kind(), coded, chooser)?,
        };
        Ok(Some(8 + bytes))
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let Some(coded) = stats.dictionary() else {
            return Ok(None);
        };
        let coded = reordered(values, stats, chooser)?.map_or(coded, |(sorted, _)| sorted);
        let codes = chooser.child(Values::U32(&coded.codes), Kind::Unsigned)?;
        let dictionary = OwnedValues::of(values, &coded.firsts);
        let dictionary = chooser.child(dictionary.borrow(), stats.kind())?;
        let (ty, len) = (values.physical_type(), values.len());
        Ok(Some(Node {
            encoding: 6,
            ty,
            len,
            payload: vec![0],
            children: vec![codes, dictionary],
        }))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        let mut cursor = node.cursor();
        let shared = match cursor.u8()? {
            0 => None,
            1 => Some(cx.shared_dictionary(usize::from(cursor.u8()?))?),
            other => {
                return Err(Error::corrupt(format!(
                    "dictionary of kind 0 or 1 expected, found {other}"
                )));
            }
        };
        cursor.finish("payload")?;
        node.expect_children(if shared.is_some() { 1 } else { 2 })?;
        let codes = cx.open_words::<u32>(node.child(0, "codes", PhysicalType::U32, node.len)?)?;
        shared.map(|part| part.expect(node.ty)).transpose()?;
        if node.ty == PhysicalType::Bytes {
            let values = match shared {
                Some(part) => Entries::Shared(part),
                None => Entries::Own(LazyStrings::open(
                    node.any_child(1, "values")?,
                    cx,
                    "values",
                )?),
            };
            return Ok(AnyDecoder::Bytes(Box::new(CodedBytes { codes, values })));
        }
        for_words!(node.ty, T => {
            let values = match shared {
                Some(part) => Entries::Shared(part),
                None => Entries::Own(LazyWords::open(node.any_child(1, "values")?, cx, "values")?),
            };
            Ok(T::wrap(Box::new(CodedWords { codes, values })))
        }, _ => Err(Error::corrupt("a dictionary holds no bits")))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        match node.children.get(1) {
            Some(values) => format!("{} distinct", values.len),
            None => "shared".into(),
        }
    }
}

/// The same strings sorted, where they and their codes are likely to be smaller so: what sorted
/// neighbours share is not stored, but codes no longer follow one another as strings do.
fn sorted(strings: Strings<'_>, coded: &Coded) -> Option<Coded> {
    let mean = strings.contents().len() / strings.len().max(1);
    if coded.firsts.len() * mean.max(1) < SORTED_BYTES {
        return None;
    }
    // The first bytes as a number: most pairs are told apart by them.
    let head = |string: &[u8]| {
        let mut bytes = [0; 8];
        bytes
            .iter_mut()
            .zip(string)
            .for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(bytes)
    };
    let sorted = coded.sorted_by(|row| {
        let string = strings.get(row as usize);
        (head(string), string)
    });
    let (mut all, mut rest) = (0, 0);
    let mut before: &[u8] = &[];
    for row in &sorted.firsts {
        let string = strings.get(*row as usize);
        all += string.len();
        rest += string.len() - front_coding::shared(before, string);
        before = string;
    }
    // Text takes some 0.38 of its bytes, what remains without its beginnings a little more, a
    // prefix half a byte.
    let as_found = all as f64 * 0.38 + rough_bytes(Values::U32(&coded.codes)) as f64;
    let size = rest as f64 * 0.40
        + coded.firsts.len() as f64 * 0.45
        + rough_bytes(Values::U32(&sorted.codes)) as f64;
    (size < as_found * 0.97).then_some(sorted)
}

/// About what codes and values take.
fn size(values: Values<'_>, kind: Kind, coded: &Coded, chooser: &Chooser<'_>) -> Result<usize> {
    let codes = chooser.estimate_child(Values::U32(&coded.codes), Kind::Unsigned)?;
    Ok(codes + chooser.estimate_child(OwnedValues::of(values, &coded.firsts).borrow(), kind)?)
}

/// Codes in another order, and about what they and their values take, where that is less than as
/// they are found: of sorted strings, or by frequency. Not in a trial; where another block of the
/// chunk is an example, as there.
fn reordered<'s>(
    values: Values<'_>,
    stats: &'s Stats<'_>,
    chooser: &Chooser<'_>,
) -> Result<Option<&'s Sorted>> {
    let Some(coded) = stats.dictionary() else {
        return Ok(None);
    };
    if chooser.is_trial() {
        return Ok(None);
    }
    if stats.sorted.get().is_none() {
        let hint = chooser.hinted(0).zip(chooser.hinted(1));
        let other = match values {
            Values::Bytes(strings)
                if chooser.offers(&FrontCoding)
                    && hint.is_none_or(|(_, values)| values == FrontCoding.info().id) =>
            {
                sorted(strings, coded)
            }
            _ => None,
        };
        let must_encode = hint.is_some_and(|(codes, _)| codes == Escape.info().id);
        let other = other.or_else(|| {
            chooser
                .offers(&Escape)
                .then(|| by_frequency(coded, must_encode))
                .flatten()
        });
        let found = match other {
            Some(other) if hint.is_some() => Some((other, None)),
            Some(other) => {
                let bytes = size(values, stats.kind(), &other, chooser)?;
                (bytes < size(values, stats.kind(), coded, chooser)?)
                    .then_some((other, Some(bytes)))
            }
            None => None,
        };
        let _ = stats.sorted.set(found);
    }
    Ok(stats.sorted.get().and_then(Option::as_ref))
}

/// The same values with codes by frequency, where few of them are most: these then have narrow
/// codes, and the others are exceptions (PDICT).
fn by_frequency(coded: &Coded, must_encode: bool) -> Option<Coded> {
    let distinct = coded.firsts.len();
    if distinct < 16 || distinct > coded.codes.len() / 3 {
        return None;
    }
    let counts = coded.counts();
    if !must_encode {
        let mut sorted = counts.clone();
        sorted.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let (rows, full) = (
            coded.codes.len(),
            usize::BITS - (distinct - 1).leading_zeros(),
        );
        let (mut held, mut next, mut bits) = (0, 0, rows * full as usize);
        for width in 1..full {
            held += sorted
                .get(next..(1 << width) - 1)
                .unwrap_or_default()
                .iter()
                .sum::<u32>() as usize;
            next = (1 << width) - 1;
            let each = (full as usize).min(16 + 8 * (full as usize).div_ceil(8));
            bits = bits.min(rows * width as usize + (rows - held) * each);
        }
        if (bits + bits / BY_FREQUENCY) / 8 > rough_bytes(Values::U32(&coded.codes)) {
            return None;
        }
    }
    let count = |row: u32| {
        coded
            .codes
            .get(row as usize)
            .and_then(|code| counts.get(*code as usize))
            .copied()
    };
    Some(coded.sorted_by(|row| std::cmp::Reverse(count(row))))
}

/// A node whose values are shared part `part` of the chunk.
pub(crate) fn shared_node(
    values: Values<'_>,
    codes: &[u32],
    part: u8,
    chooser: &Chooser<'_>,
) -> Result<Node> {
    let codes = chooser.child(Values::U32(codes), Kind::Unsigned)?;
    let (ty, len) = (values.physical_type(), values.len());
    Ok(Node {
        encoding: 6,
        ty,
        len,
        payload: vec![1, part],
        children: vec![codes],
    })
}

struct CodedWords<'a, T> {
    codes: Box<dyn Decoder<u32> + 'a>,
    values: Entries<'a, SharedDictionary, LazyWords<'a, T>>,
}

impl<T: Decodable> CodedWords<'_, T> {
    fn all(&self) -> Result<&[T]> {
        match &self.values {
            Entries::Shared(part) => part.words::<T>(),
            Entries::Own(values) => values.all(),
        }
    }
}

impl<T: Decodable> Decoder<T> for CodedWords<'_, T> {
    fn len(&self) -> usize {
        self.codes.len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let mut buffer = cx.take_u32();
        let codes = buffer.get_mut(..out.len()).unwrap_or_default();
        self.codes.vector(v, cx, codes)?;
        let values = self.all()?;
        if !gather(values, codes, out) {
            return Err(no_code(codes, values.len()));
        }
        cx.give_u32(buffer);
        Ok(())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let mut codes = vec![0; rows.len()];
        self.codes.take(rows, cx, &mut codes)?;
        let found = match &self.values {
            Entries::Shared(part) => part.take_words(&codes, cx, out)?,
            Entries::Own(values) => values.take(&codes, cx, out)?,
        };
        if found {
            Ok(())
        } else {
            Err(no_code(&codes, self.all()?.len()))
        }
    }

    fn filter(&self, range: &Range<T>, cx: &mut Scratch) -> Result<Bitmap>
    where
        T: Integer,
    {
        filter_codes(self.codes.as_ref(), &range.of_values(self.all()?), cx)
    }

    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
        cx: &mut Scratch,
    ) -> Result<()> {
        aggregate_codes(self.codes.as_ref(), self.all()?, rows, into, cx)
    }
}

struct CodedBytes<'a> {
    codes: Box<dyn Decoder<u32> + 'a>,
    values: Entries<'a, SharedDictionary, LazyStrings<'a>>,
}

impl CodedBytes<'_> {
    fn with_codes<R>(
        &self,
        v: usize,
        cx: &mut Scratch,
        f: impl FnOnce(&BytesDict, &[u32]) -> Option<R>,
    ) -> Result<R> {
        let values = self.strings()?;
        let mut buffer = cx.take_u32();
        let codes = buffer
            .get_mut(..vector_len(self.codes.len(), v))
            .unwrap_or_default();
        self.codes.vector(v, cx, codes)?;
        let result = f(values, codes).ok_or_else(|| {
            let worst = codes.iter().max().copied().unwrap_or(0) as usize;
            if worst >= values.len() {
                no_code(codes, values.len())
            } else {
                Error::corrupt("strings longer than declared")
            }
        });
        cx.give_u32(buffer);
        result
    }
}

impl DictionaryStrings for CodedBytes<'_> {
    fn strings(&self) -> Result<&BytesDict> {
        match &self.values {
            Entries::Shared(part) => part.strings(),
            Entries::Own(values) => values.all(),
        }
    }

    fn shared(&self) -> bool {
        matches!(self.values, Entries::Shared(_))
    }

    fn codes(&self, v: usize, cx: &mut Scratch, out: &mut [u32]) -> Result<()> {
        self.codes.vector(v, cx, out)
    }
}

impl BytesDecoder for CodedBytes<'_> {
    fn len(&self) -> usize {
        self.codes.len()
    }

    fn dictionary(&self) -> Option<&dyn DictionaryStrings> {
        Some(self)
    }

    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        self.with_codes(v, cx, BytesDict::gathered_bytes)
            .map(|bytes| bytes as usize)
    }

    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        self.with_codes(v, cx, |values, codes| values.gather(codes, lengths, out))
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        let mut codes = vec![0; rows.len()];
        self.codes.take(rows, cx, &mut codes)?;
        match &self.values {
            Entries::Shared(part) => part.take_strings(&codes, cx, out),
            Entries::Own(values) => values.take(&codes, cx, out),
        }
    }

    fn filter(&self, test: &StringTest<'_>, _: usize, cx: &mut Scratch) -> Result<Bitmap> {
        let passing = match &self.values {
            Entries::Shared(part) => {
                let values = part.strings()?;
                (0..values.len())
                    .map(|i| values.get(i).is_some_and(test.passes))
                    .collect()
            }
            Entries::Own(values) => values.filter(test, cx)?,
        };
        filter_codes(self.codes.as_ref(), &passing, cx)
    }
}

crate::conformance!(Dictionary);
