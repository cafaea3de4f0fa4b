//! Frequency: one value that most rows have, and the others as exceptions (BtrBlocks, section 2.2,
//! after DB2 BLU).
//!
//! ```text
//! words:        payload = the top value: word   | child: mask (bits, set where a row is an exception) | child: exceptions
//! byte strings: payload = the top value: string | the same children
//! ```

use staffa_kernels::{BytesDict, BytesDictBuilder, Word as _};

use super::codes::CodedStrings;
use super::exceptions;
use super::exceptions::{Exceptions, Mask};
use super::prelude::*;
use crate::decode::{
    Aggregator, Entries, LazyStrings, LazyWords, Needs, aggregate_vectors, decode_all,
    decode_all_strings, no_code, words,
};
use crate::values::{OwnedValues, for_values, for_words, rows_where};

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
            bits: crate::encode::Bits::Fewer,
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
        let rows = exceptions(values, stats, top);
        let mask = exceptions::mask(values.len(), &rows, chooser)?.size();
        let exceptions = chooser.estimate_taken(values, &rows, stats.kind())?;
        Ok(Some(16 + mask + exceptions))
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
        let rows = exceptions(values, stats, top);
        let mut payload = Vec::new();
        let missing = || Error::internal(format!("a top value at row {top} expected"));
        for_values!(values,
            words(words) => words.get(top as usize).ok_or_else(missing)?.write_le(&mut payload),
            bits(_) => return Ok(None),
            bytes(strings) => payload.extend_from_slice(strings.at(top as usize)?),
        );
        let mask = exceptions::mask(values.len(), &rows, chooser)?;
        let exceptions = chooser.child(OwnedValues::take(values, &rows)?.borrow(), stats.kind())?;
        node(self, values, payload, vec![mask, exceptions])
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(2)?;
        if node.ty == PhysicalType::Bytes {
            return open_strings(node, cx);
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
fn exceptions(values: Values<'_>, stats: &Stats<'_>, top: u32) -> Vec<u32> {
    if let (Values::Bytes(_), Some(coded)) = (values, stats.known_codes()) {
        // Codes compare faster than strings.
        let top = coded.codes.get(top as usize);
        return rows_where(coded.codes.iter().map(|code| Some(code) != top));
    }
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

impl<T: Decodable> FrequentWords<'_, T> {
    fn read(&self, rows: Rows<'_>, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        out.fill(self.top);
        self.exceptions.patch(rows, cx, out)
    }
}

impl<T: Decodable> Decoder<T> for FrequentWords<'_, T> {
    fn len(&self) -> usize {
        self.exceptions.len()
    }

    read_by_rows!(T);

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
fn open_strings<'a>(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
    let mask = Mask::open(node, 0, cx)?;
    let child = node.child(1, "exceptions", node.ty, mask.count())?;
    cx.budget.take((child.len as u64 + 1) * 4, "exceptions")?;
    let decoder = cx.open_bytes(child)?;
    let (expected, found) = (child.len, decoder.len());
    corrupt_if!(
        found != expected,
        "{expected} exceptions expected, found {found}"
    );
    let (mut codes, all);
    let others = if let Some(dictionary) = decoder.dictionary() {
        let strings = dictionary.strings()?;
        codes = decode_all(dictionary.decoder())?;
        if codes.iter().any(|code| *code as usize >= strings.len()) {
            return Err(no_code(&codes, strings.len()));
        }
        strings
    } else {
        codes = words(found)?;
        codes
            .iter_mut()
            .zip(0..)
            .for_each(|(code, row)| *code = row);
        all = decode_all_strings(decoder.as_ref(), &mut cx.budget, "exceptions")?;
        &all
    };
    codes.iter_mut().for_each(|code| *code += 1);
    let bytes = others.contents().len() + node.payload.len();
    cx.budget
        .take(4 * (others.len() as u64 + 2) + bytes as u64, "exceptions")?;
    let all = behind(node.payload, others)?;
    let values = LazyWords::decoded(codes);
    let exceptions = Exceptions { mask, values };
    strings(CodedStrings {
        codes: Box::new(FrequentWords { top: 0, exceptions }),
        strings: Entries::Own(LazyStrings::decoded(all)),
    })
}

crate::conformance!(Frequency);
