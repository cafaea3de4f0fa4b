//! Frequency: one value that most rows have, and the others as exceptions (BtrBlocks, section 2.2,
//! after DB2 BLU).
//!
//! ```text
//! words:        payload = the top value: word   | child: mask (bits, set where a row is an exception) | child: exceptions
//! byte strings: payload = the top value: string | the same children
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{BytesDict, BytesDictBuilder, VECTOR, Word as _};

use super::exceptions;
use super::exceptions::{Exceptions, Mask};
use crate::decode::{
    Aggregator, AnyDecoder, Appended, BytesDecoder, Decodable, Decoder, DictionaryStrings, Needs,
    OpenContext, Scratch, StringTest, aggregate_vectors, decode_all_strings, no_row,
};
use crate::encode::{Availability, Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{
    Bitmap, Kind, OwnedValues, Physical, PhysicalType, Values, for_words, rows_where, vector_len,
};

/// See the [module](self).
pub struct Frequency;

impl Encoding for Frequency {
    fn info(&self) -> &Info {
        &Info {
            id: 7,
            name: "frequency",
            about: "the value that most rows have once, a mask of the others, and the others",
            child_names: &["mask", "exceptions"],
            availability: Availability::Slow,
            decode_picos: 200,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty != PhysicalType::Bits
    }

    /// Not where no value has half the rows; then less than half the values are distinct
    /// (BtrBlocks, section 3.1).
    fn is_viable(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        stats
            .top()
            .is_some_and(|(_, rows)| rows < values.len() && rows * 2 >= values.len())
    }

    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let Some((top, _)) = stats.top() else {
            return Ok(None);
        };
        let rows = exceptions(values, top);
        let mask = exceptions::mask(values.len(), &rows, chooser)?.size();
        Ok(Some(
            16 + mask
                + chooser
                    .estimate_child(OwnedValues::take(values, &rows)?.borrow(), stats.kind())?,
        ))
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let Some((top, _)) = stats.top() else {
            return Ok(None);
        };
        let rows = exceptions(values, top);
        let mut payload = Vec::new();
        match values {
            Values::Bits(_) => return Ok(None),
            Values::Bytes(strings) => payload.extend_from_slice(strings.get(top as usize)),
            words => for_words!(words.physical_type(), T => {
                let words = T::slice(words).unwrap_or_default();
                words.get(top as usize).copied().unwrap_or_default().write_le(&mut payload);
            }, _ => return Ok(None)),
        }
        let mask = exceptions::mask(values.len(), &rows, chooser)?;
        let exceptions = chooser.child(OwnedValues::take(values, &rows)?.borrow(), stats.kind())?;
        let (ty, len) = (values.physical_type(), values.len());
        Ok(Some(Node {
            encoding: 7,
            ty,
            len,
            payload,
            children: vec![mask, exceptions],
        }))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(2)?;
        if node.ty == PhysicalType::Bytes {
            let mask = Mask::open(node, 0, cx)?;
            let child = node.child(1, "exceptions", node.ty, mask.count())?;
            cx.budget.take((child.len as u64 + 1) * 4, "exceptions")?;
            let decoder = cx.open_bytes(child)?;
            if decoder.len() != child.len {
                return Err(Error::corrupt(format!(
                    "{} exceptions expected, found {}",
                    child.len,
                    decoder.len()
                )));
            }
            if let Some(coded) = decoder.dictionary() {
                return FrequentBytes::of_codes(node.payload, coded, mask, cx)
                    .map(|f| AnyDecoder::Bytes(Box::new(f)));
            }
            let all = decode_all_strings(decoder.as_ref(), &mut cx.budget, "exceptions")?;
            cx.budget.take(
                (node.payload.len() + all.contents().len()) as u64,
                "exceptions",
            )?;
            let values = behind(node.payload, &all)?;
            return Ok(AnyDecoder::Bytes(Box::new(FrequentBytes {
                values,
                mask,
                codes: None,
            })));
        }
        for_words!(node.ty, T => {
            let mut cursor = node.cursor();
            let top = T::read_le(cursor.bytes(T::BYTES)?).unwrap_or_default();
            cursor.finish("top value")?;
            Ok(T::wrap(Box::new(FrequentWords { top, exceptions: Exceptions::open(node, 0, 1, cx)? })))
        }, _ => Err(Error::corrupt("frequency holds no bits")))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        node.children
            .get(1)
            .map(|exceptions| format!("{} exceptions", exceptions.len))
            .unwrap_or_default()
    }
}

/// A string and others behind it.
fn behind(top: &[u8], others: &BytesDict) -> Result<BytesDict> {
    let no_memory = || Error::limit("exceptions: no memory for their strings");
    let mut all = BytesDictBuilder::new(others.len() + 1, top.len() + others.contents().len())
        .ok_or_else(no_memory)?;
    let lengths: Vec<u32> = others.ranges().map(|range| range.len() as u32).collect();
    let mut put = |bytes: &[u8], lengths: &[u32]| {
        let Some(room) = all.room().get_mut(..bytes.len()) else {
            return false;
        };
        room.copy_from_slice(bytes);
        all.push(lengths)
    };
    // Below 4 GiB: it has been refused otherwise.
    let done = put(top, &[top.len() as u32]) && put(others.contents(), &lengths);
    done.then(|| all.finish()).flatten().ok_or_else(no_memory)
}

/// Rows with another value than that of row `top`.
fn exceptions(values: Values<'_>, top: u32) -> Vec<u32> {
    match values {
        Values::Bits(_) => Vec::new(),
        Values::Bytes(strings) => {
            let top = strings.get(top as usize);
            rows_where((0..strings.len()).map(|row| strings.get(row) != top))
        }
        words => for_words!(words.physical_type(), T => {
            let words = T::slice(words).unwrap_or_default();
            let top = words.get(top as usize).copied().unwrap_or_default();
            rows_where(words.iter().map(|word| *word != top))
        }, _ => Vec::new()),
    }
}

struct FrequentWords<'a, T> {
    top: T,
    exceptions: Exceptions<'a, T>,
}

impl<T: Decodable> Decoder<T> for FrequentWords<'_, T> {
    fn len(&self) -> usize {
        self.exceptions.len()
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        out.fill(self.top);
        self.exceptions.apply(v, out)
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        out.fill(self.top);
        self.exceptions.apply_at(rows, cx, out)
    }

    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
        cx: &mut Scratch,
    ) -> Result<()> {
        if into.needs() == Needs::InOrder {
            return aggregate_vectors(self, rows, into, cx);
        }
        let count = self.exceptions.aggregate(rows, into)?.count_ones();
        if count > 0 {
            into.runs(&[self.top], &[count as u32])
        } else {
            Ok(())
        }
    }
}

/// Strings: the top value is entry 0 of a dictionary, the exceptions follow: each in row order, or
/// their own dictionary.
struct FrequentBytes {
    values: BytesDict,
    mask: Mask,
    /// The exceptions' entries, where they are not in row order.
    codes: Option<Vec<u32>>,
}

impl FrequentBytes {
    /// Of exceptions that have a dictionary.
    fn of_codes(
        top: &[u8],
        exceptions: &dyn DictionaryStrings,
        mask: Mask,
        cx: &mut OpenContext<'_>,
    ) -> Result<Self> {
        let strings = exceptions.strings()?;
        let bytes = strings.contents().len() + top.len();
        cx.budget.take(
            (strings.len() as u64 + 2) * 4 + 2 * bytes as u64,
            "exceptions",
        )?;
        let values = behind(top, strings)?;
        let mut codes = vec![0; mask.count()];
        let mut scratch = Scratch::default();
        for (v, codes) in codes.chunks_mut(VECTOR).enumerate() {
            exceptions.codes(v, &mut scratch, codes)?;
            if let Some(code) = codes.iter().find(|code| **code as usize >= strings.len()) {
                return Err(Error::corrupt(format!(
                    "codes below {} expected, found {code}",
                    strings.len()
                )));
            }
            codes.iter_mut().for_each(|code| *code += 1);
        }
        Ok(Self {
            values,
            mask,
            codes: Some(codes),
        })
    }

    /// The entry of an exception.
    fn entry(&self, exception: usize) -> u32 {
        match &self.codes {
            Some(codes) => codes.get(exception).copied().unwrap_or(0),
            None => exception as u32 + 1,
        }
    }

    fn with_codes<R>(
        &self,
        v: usize,
        cx: &mut Scratch,
        f: impl FnOnce(&[u32]) -> Option<R>,
    ) -> Result<R> {
        let mut buffer = cx.take_u32();
        let codes = buffer
            .get_mut(..vector_len(self.mask.len(), v))
            .unwrap_or_default();
        self.fill(v, codes);
        let result = f(codes).ok_or_else(|| Error::corrupt("strings longer than declared"));
        cx.give_u32(buffer);
        result
    }

    fn fill(&self, v: usize, codes: &mut [u32]) {
        let (before, words) = self.mask.vector(v);
        let Some(entries) = &self.codes else {
            let mut next = before as u32 + 1;
            for (word, places) in words.iter().zip(codes.chunks_mut(64)) {
                for (i, place) in places.iter_mut().enumerate() {
                    let set = (word >> i & 1) as u32;
                    *place = next * set;
                    next += set;
                }
            }
            return;
        };
        codes.fill(0);
        let mut entries = entries.get(before..).unwrap_or_default().iter();
        for (word, places) in words.iter().zip(codes.chunks_mut(64)) {
            let mut left = *word;
            while left != 0 {
                if let (Some(place), Some(entry)) = (
                    places.get_mut(left.trailing_zeros() as usize),
                    entries.next(),
                ) {
                    *place = *entry;
                }
                left &= left - 1;
            }
        }
    }
}

impl DictionaryStrings for FrequentBytes {
    fn strings(&self) -> Result<&BytesDict> {
        Ok(&self.values)
    }

    fn codes(&self, v: usize, _: &mut Scratch, out: &mut [u32]) -> Result<()> {
        self.fill(v, out);
        Ok(())
    }
}

impl BytesDecoder for FrequentBytes {
    fn len(&self) -> usize {
        self.mask.len()
    }

    fn dictionary(&self) -> Option<&dyn DictionaryStrings> {
        Some(self)
    }

    fn filter(&self, test: &StringTest<'_>, _: usize, cx: &mut Scratch) -> Result<Bitmap> {
        let passing: Vec<bool> = (0..self.values.len())
            .map(|i| self.values.get(i).is_some_and(test.passes))
            .collect();
        let mut found = Bitmap::default();
        let mut buffer = cx.take_u32();
        for v in 0..self.mask.len().div_ceil(VECTOR) {
            let codes = buffer
                .get_mut(..vector_len(self.mask.len(), v))
                .unwrap_or_default();
            self.fill(v, codes);
            found.extend(
                &codes
                    .iter()
                    .map(|code| passing.get(*code as usize).copied().unwrap_or(false))
                    .collect(),
            );
        }
        cx.give_u32(buffer);
        Ok(found)
    }

    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        self.with_codes(v, cx, |codes| self.values.gathered_bytes(codes))
            .map(|bytes| bytes as usize)
    }

    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        self.with_codes(v, cx, |codes| self.values.gather(codes, lengths, out))
    }

    fn take(&self, rows: &[u32], _: &mut Scratch, out: &mut Appended) -> Result<()> {
        let code = |row: &u32| {
            self.mask
                .rank(*row as usize)
                .map_or(0, |exception| self.entry(exception))
        };
        let codes: Vec<u32> = rows.iter().map(code).collect();
        let bytes = self.values.gathered_bytes(&codes);
        let bytes =
            bytes.ok_or_else(|| no_row(rows.last().copied().unwrap_or(0), self.mask.len()))?;
        out.push_all(codes.len(), bytes as usize, |lengths, out| {
            self.values.gather(&codes, lengths, out)
        })
    }
}

crate::conformance!(Frequency);
