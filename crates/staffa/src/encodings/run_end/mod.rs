//! Run-end: each run is stored once, as (value, end).
//!
//! ```text
//! words, byte strings: child: values | child: ends (u32, strictly increasing, the last = values of the node)
//! bits:                payload = first bit: u8 | child: ends; the bits alternate
//! ```
//!
//! Run-length encoding (BtrBlocks, section 2.2) with ends, not lengths: a vector finds its first run
//! by binary search. Values are lazy: decoded when more than a few are wanted, or a few for the
//! second time.

mod ends;

use ends::Ends;

use super::codes::CodedStrings;
use super::prelude::*;
use crate::decode::{
    BitsDecoder, Entries, LazyStrings, LazyWords, Runs, filter_runs, many, take_vectors,
};
use crate::encode::Coded;
use crate::values::{OwnedValues, for_words};

/// Of runs of strings, one in so many may have the string of another.
const MOST_REPEATED: usize = 10;

/// See the [module](self).
pub struct RunEnd;

impl Encoding for RunEnd {
    fn info(&self) -> &Info {
        &Info {
            id: 5,
            name: "run_end",
            about: "each run of equal values once, with the row at which it ends",
            child_names: &["values", "ends"],
            decode_picos: 100,
            bits: crate::encode::Bits::Once,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, _: PhysicalType, _: Kind) -> bool {
        true
    }

    /// Runs of at least 2 rows on average (BtrBlocks, section 3.1); of bits at least 16, or 6 where
    /// lists of their lengths repeat.
    fn is_viable(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        let average = |least| stats.runs() > 1 && stats.runs() * least <= values.len();
        match values {
            Values::Bits(_) => average(16) || average(6) && stats.sequences().is_some(),
            _ => average(2),
        }
    }

    /// Strings whose runs hardly repeat: others are smaller as runs of codes.
    fn may_beat_dictionary(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        let repeated = |coded: &Coded| stats.runs().saturating_sub(coded.firsts.len());
        let hardly_repeat = |repeated| repeated * MOST_REPEATED <= stats.runs();
        !matches!(values, Values::Bytes(_))
            || stats.dictionary().map(repeated).is_none_or(hardly_repeat)
    }

    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let ends = stats.ends();
        let mut ends_bytes = chooser.estimate_child(Values::U32(ends), Kind::Unsigned)?;
        if matches!(values, Values::Bits(_)) && stats.sequences().is_some() {
            // A sample of ends does not show that their deltas repeat.
            let below = chooser.below(&super::delta::Delta);
            let deltas = ends.array_windows().map(|[a, b]| b - a);
            let deltas: Vec<u32> = std::iter::once(0).chain(deltas).collect();
            let deltas = below.estimate_child(Values::U32(&deltas), Kind::Signed)?;
            ends_bytes = ends_bytes.min(deltas);
        }
        let values = match values {
            Values::Bits(_) => 1,
            words => chooser.estimate_taken(words, &last_rows(ends)?, stats.kind())?,
        };
        Ok(Some(8 + ends_bytes + values))
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        let ends = stats.ends();
        let (mut payload, mut children) = (Vec::new(), Vec::new());
        match (values, runs(values, ends)?) {
            (_, Some(runs)) => children.push(chooser.child(runs.borrow(), stats.kind())?),
            (Values::Bits(bits), None) => payload.push(u8::from(bits.get(0))),
            (_, None) => return Ok(None),
        }
        children.push(chooser.child(Values::U32(ends), Kind::Unsigned)?);
        node(self, values, payload, children)
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        if node.ty == PhysicalType::Bits {
            node.expect_children(1)?;
            let mut cursor = node.cursor();
            let first = read_flag(&mut cursor)?;
            cursor.finish("first bit")?;
            let ends = Ends::open(node, 0, cx)?;
            return Ok(AnyDecoder::Bits(Box::new(BitRuns { first, ends })));
        }
        node.expect_children(2)?;
        node.cursor().finish("payload")?;
        let runs = Ends::open(node, 1, cx)?;
        if node.ty == PhysicalType::Bytes {
            let child = node.child(0, "values", PhysicalType::Bytes, runs.count())?;
            let numbers = Box::new(Numbers(runs.count()));
            return strings(CodedStrings {
                strings: Entries::Own(LazyStrings::open(child, cx, "values")?),
                codes: Box::new(WordRuns {
                    values: LazyWords::of(numbers, "numbers of runs"),
                    runs,
                    len: node.len,
                }),
            });
        }
        for_words!(node.ty, T => {
            let values = LazyWords::<T>::open(node.child(0, "values", node.ty, runs.count())?, cx, "values")?;
            Ok(T::wrap(Box::new(WordRuns { values, runs, len: node.len })))
        }, _ => Err(Error::corrupt("no such type")))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        count_of(node, node.children.len().saturating_sub(1), "runs")
    }
}

/// The last row of every run.
fn last_rows(ends: &[u32]) -> Result<Vec<u32>> {
    let last = |end: &u32| {
        end.checked_sub(1)
            .ok_or_else(|| Error::internal("a run of no rows"))
    };
    ends.iter().map(last).collect()
}

/// The value of every run; `None` for bits, which alternate.
fn runs(values: Values<'_>, ends: &[u32]) -> Result<Option<OwnedValues>> {
    if matches!(values, Values::Bits(_)) {
        return Ok(None);
    }
    OwnedValues::take(values, &last_rows(ends)?).map(Some)
}

struct WordRuns<'a, T> {
    values: LazyWords<'a, T>,
    runs: Ends<'a>,
    len: usize,
}

impl<T: Decodable> Decoder<T> for WordRuns<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        self.runs.fill(self.values.all()?, v, out)
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        if many(rows) {
            return take_vectors(self, rows, cx, out);
        }
        let runs = self.runs.runs(rows, cx)?;
        if self.values.take(&runs, cx, out)? {
            Ok(())
        } else {
            Err(Error::internal("fewer values than runs"))
        }
    }

    fn runs(&self) -> Result<Option<Runs<'_, T>>> {
        Ok(Some((self.values.all()?, self.runs.all()?)))
    }
}

/// The numbers of runs: 0, 1, 2...
struct Numbers(usize);

impl Decoder<u32> for Numbers {
    fn len(&self) -> usize {
        self.0
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [u32]) -> Result<()> {
        let numbers = (v * VECTOR) as u32..;
        out.iter_mut()
            .zip(numbers)
            .for_each(|(place, number)| *place = number);
        Ok(())
    }
}

struct BitRuns<'a> {
    first: bool,
    ends: Ends<'a>,
}

impl BitsDecoder for BitRuns<'_> {
    fn bits(&self) -> Result<Bitmap> {
        let mut value = !self.first;
        let values = std::iter::from_fn(|| {
            value = !value;
            Some(value)
        });
        Ok(filter_runs(values, self.ends.all()?, self.ends.rows))
    }
}

crate::conformance!(RunEnd);

#[cfg(test)]
mod tests;
