//! Frequency: one value that most rows have, and the others as exceptions (BtrBlocks, section 2.2,
//! after DB2 BLU).
//!
//! ```text
//! words:        payload = the top value: word   | child: mask (bits, set where a row is an exception) | child: exceptions
//! byte strings: payload = the top value: string | the same children
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{BytesDict, BytesDictBuilder, VECTOR, Word as _};

use super::common::{count_of, node, places, read_word, strings};
use super::exceptions::{Exceptions, Mask};
use super::{codes, exceptions};
use crate::decode::{
    Aggregator, AnyDecoder, Appended, BytesDecoder, Decodable, Decoder, DictionaryStrings, Needs,
    OpenContext, Scratch, StringTest, aggregate_vectors, decode_all_strings, no_code,
};
use crate::encode::{Availability, Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{
    Bitmap, Kind, OwnedValues, PhysicalType, Values, for_values, for_words, rows_where, vector_len,
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

    /// One value has at least half the rows (BtrBlocks, section 3.1).
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
        let missing = || Error::internal(format!("a top value at row {top} expected"));
        for_values!(values,
            words(words) => words.get(top as usize).ok_or_else(missing)?.write_le(&mut payload),
            bits(_) => return Ok(None),
            bytes(strings) => payload.extend_from_slice(strings.get(top as usize)),
        );
        let mask = exceptions::mask(values.len(), &rows, chooser)?;
        let exceptions = chooser.child(OwnedValues::take(values, &rows)?.borrow(), stats.kind())?;
        node(self, values, payload, vec![mask, exceptions])
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(2)?;
        if node.ty == PhysicalType::Bytes {
            return strings(FrequentBytes::open(node, cx)?);
        }
        for_words!(node.ty, T => {
            let mut cursor = node.cursor();
            let top = read_word::<T>(&mut cursor)?;
            cursor.finish("top value")?;
            Ok(T::wrap(Box::new(FrequentWords { top, exceptions: Exceptions::open(node, 0, 1, cx)? })))
        }, _ => Err(Error::corrupt("frequency holds no bits")))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        count_of(node, 1, "exceptions")
    }
}

/// The dictionary of a string and others behind it.
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
    // Below 4 GiB: more would have been refused.
    let done = put(top, &[top.len() as u32]) && put(others.contents(), &lengths);
    done.then(|| all.finish()).flatten().ok_or_else(no_memory)
}

/// Rows with another value than that of row `top`.
fn exceptions(values: Values<'_>, top: u32) -> Vec<u32> {
    for_values!(values,
        words(words) => {
            let top = words.get(top as usize);
            rows_where(words.iter().map(|word| Some(word) != top))
        },
        bits(_) => Vec::new(),
        bytes(strings) => {
            let top = strings.get(top as usize);
            rows_where((0..strings.len()).map(|row| strings.get(row) != top))
        },
    )
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
        match self.exceptions.aggregate(rows, into)?.count_ones() {
            0 => Ok(()),
            count => into.runs(&[self.top], &[count as u32]),
        }
    }
}

/// Strings by codes: the top value is code 0, and the exceptions have the codes behind it, in row
/// order or by their own dictionary.
struct FrequentBytes {
    values: BytesDict,
    mask: Mask,
    /// Codes of the exceptions, where these are not in row order.
    codes: Option<Vec<u32>>,
}

impl FrequentBytes {
    fn open<'a>(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<Self> {
        let mask = Mask::open(node, 0, cx)?;
        let child = node.child(1, "exceptions", node.ty, mask.count())?;
        cx.budget.take((child.len as u64 + 1) * 4, "exceptions")?;
        let decoder = cx.open_bytes(child)?;
        let (expected, found) = (child.len, decoder.len());
        if found != expected {
            return Err(Error::corrupt(format!(
                "{expected} exceptions expected, found {found}"
            )));
        }
        if let Some(dictionary) = decoder.dictionary() {
            return Self::of_dictionary(node.payload, dictionary, mask, cx);
        }
        let all = decode_all_strings(decoder.as_ref(), &mut cx.budget, "exceptions")?;
        let bytes = node.payload.len() + all.contents().len();
        cx.budget.take(bytes as u64, "exceptions")?;
        Ok(Self {
            values: behind(node.payload, &all)?,
            mask,
            codes: None,
        })
    }

    /// With exceptions that have a dictionary.
    fn of_dictionary(
        top: &[u8],
        exceptions: &dyn DictionaryStrings,
        mask: Mask,
        cx: &mut OpenContext<'_>,
    ) -> Result<Self> {
        let strings = exceptions.strings()?;
        let bytes = (strings.contents().len() + top.len()) as u64;
        cx.budget
            .take((strings.len() as u64 + 2) * 4 + 2 * bytes, "exceptions")?;
        let values = behind(top, strings)?;
        let mut codes = vec![0; mask.count()];
        let mut scratch = Scratch::default();
        for (v, codes) in codes.chunks_mut(VECTOR).enumerate() {
            exceptions.codes(v, &mut scratch, codes)?;
            if codes.iter().any(|code| *code as usize >= strings.len()) {
                return Err(no_code(codes, strings.len()));
            }
            codes.iter_mut().for_each(|code| *code += 1);
        }
        Ok(Self {
            values,
            mask,
            codes: Some(codes),
        })
    }

    /// The code of a row.
    fn code(&self, row: u32) -> Result<u32> {
        match (self.mask.rank(row as usize), &self.codes) {
            (None, _) => Ok(0),
            (Some(exception), None) => Ok(exception as u32 + 1),
            (Some(exception), Some(codes)) => {
                let code = codes.get(exception).copied();
                code.ok_or_else(|| Error::internal("more exceptions than codes"))
            }
        }
    }
}

impl DictionaryStrings for FrequentBytes {
    fn strings(&self) -> Result<&BytesDict> {
        Ok(&self.values)
    }

    fn codes(&self, v: usize, _: &mut Scratch, out: &mut [u32]) -> Result<()> {
        if let Some(codes) = &self.codes {
            out.fill(0);
            return self.mask.patch(v, codes, out);
        }
        let missing = || Error::internal(format!("vector {v} of the mask expected"));
        let (before, words) = self.mask.vector(v).ok_or_else(missing)?;
        let mut next = before as u32 + 1;
        for (word, places) in words.iter().zip(out.chunks_mut(64)) {
            for (i, place) in places.iter_mut().enumerate() {
                let set = (word >> i & 1) as u32;
                *place = next * set;
                next += set;
            }
        }
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
        let passing = codes::passing(&self.values, test);
        let mut found = Bitmap::default();
        let mut buffer = cx.take_u32();
        for v in 0..self.mask.len().div_ceil(VECTOR) {
            let codes = places(&mut buffer, vector_len(self.mask.len(), v))?;
            self.codes(v, cx, codes)?;
            found.extend(
                &codes
                    .iter()
                    .map(|code| passing.get(*code as usize))
                    .collect(),
            );
        }
        cx.give_u32(buffer);
        Ok(found)
    }

    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        codes::vector_bytes(self, self.mask.len(), v, cx)
    }

    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        codes::vector(self, v, cx, lengths, out)
    }

    fn take(&self, rows: &[u32], _: &mut Scratch, out: &mut Appended) -> Result<()> {
        let codes = rows
            .iter()
            .map(|row| self.code(*row))
            .collect::<Result<Vec<_>>>()?;
        let bytes = self.values.gathered_bytes(&codes);
        let bytes = bytes.ok_or_else(|| no_code(&codes, self.values.len()))?;
        out.push_all(codes.len(), bytes as usize, |lengths, out| {
            self.values.gather(&codes, lengths, out)
        })
    }
}

crate::conformance!(Frequency);
