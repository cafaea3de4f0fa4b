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
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod ends;

use std::sync::OnceLock;

use ends::Ends;
use staffa_kernels::{BytesDict, VECTOR};

use super::codes;
use super::common::{count_of, node, places, strings};
use crate::decode::{
    Aggregator, AnyDecoder, Appended, BitsDecoder, BytesDecoder, Decodable, Decoder,
    DictionaryStrings, Integer, LazyStrings, LazyWords, OpenContext, Range, Scratch,
    StringAggregator, StringTest, aggregate_runs, aggregate_strings, by_vector, filter_runs,
    get_or_try_init, many, no_row, take_vectors,
};
use crate::encode::{Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{Bitmap, Kind, OwnedValues, PhysicalType, Values, for_words, vector_len};

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
        let values = match runs(values, ends)? {
            None => 1,
            Some(runs) => chooser.estimate_child(runs.borrow(), stats.kind())?,
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
            let first = cursor.u8()?;
            cursor.finish("first bit")?;
            if first > 1 {
                return Err(Error::corrupt(format!("0 or 1 expected, found {first}")));
            }
            let ends = Ends::open(node, 0, cx)?;
            return Ok(AnyDecoder::Bits(Box::new(BitRuns {
                first: first == 1,
                ends,
            })));
        }
        node.expect_children(2)?;
        node.cursor().finish("payload")?;
        let runs = Ends::open(node, 1, cx)?;
        if node.ty == PhysicalType::Bytes {
            let child = node.child(0, "values", PhysicalType::Bytes, runs.count())?;
            let values = LazyStrings::open(child, cx, "values")?;
            return strings(ByteRuns {
                values,
                ids: OnceLock::new(),
                runs,
                len: node.len,
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

/// The value of every run; `None` for bits, which alternate.
fn runs(values: Values<'_>, ends: &[u32]) -> Result<Option<OwnedValues>> {
    if matches!(values, Values::Bits(_)) {
        return Ok(None);
    }
    let last = |end: &u32| {
        end.checked_sub(1)
            .ok_or_else(|| Error::internal("a run of no rows"))
    };
    let rows = ends.iter().map(last).collect::<Result<Vec<_>>>()?;
    OwnedValues::take(values, &rows).map(Some)
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

    fn filter(&self, range: &Range<T>, _: &mut Scratch) -> Result<Bitmap>
    where
        T: Integer,
    {
        let passing = range.of_values(self.values.all()?);
        Ok(filter_runs(
            (0..passing.len()).map(|run| passing.get(run)),
            self.runs.all()?,
            self.len,
        ))
    }

    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
        cx: &mut Scratch,
    ) -> Result<()> {
        aggregate_runs(self, (self.values.all()?, self.runs.all()?), rows, into, cx)
    }
}

struct ByteRuns<'a> {
    values: LazyStrings<'a>,
    /// The numbers of all runs: 0, 1, 2...
    ids: OnceLock<Vec<u32>>,
    runs: Ends<'a>,
    len: usize,
}

impl DictionaryStrings for ByteRuns<'_> {
    fn strings(&self) -> Result<&BytesDict> {
        self.values.all()
    }

    fn codes(&self, v: usize, _: &mut Scratch, out: &mut [u32]) -> Result<()> {
        let ids = get_or_try_init(&self.ids, || Ok((0..self.runs.count() as u32).collect()))?;
        self.runs.fill(ids, v, out)
    }
}

impl BytesDecoder for ByteRuns<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn dictionary(&self) -> Option<&dyn DictionaryStrings> {
        Some(self)
    }

    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        codes::vector_bytes(self, self.len, v, cx)
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

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        if !many(rows) {
            return self.values.take(&self.runs.runs(rows, cx)?, cx, out);
        }
        let mut runs = Vec::with_capacity(rows.len());
        let mut buffer = cx.take_u32();
        for (v, rows) in by_vector(rows) {
            let ids = places(&mut buffer, vector_len(self.len, v))?;
            self.codes(v, cx, ids)?;
            for row in rows {
                let run = ids.get(*row as usize % VECTOR);
                runs.push(*run.ok_or_else(|| no_row(*row, self.len))?);
            }
        }
        cx.give_u32(buffer);
        self.values.take(&runs, cx, out)
    }

    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        most: usize,
        into: &mut dyn StringAggregator,
        cx: &mut Scratch,
    ) -> Result<()> {
        if rows.is_some() {
            return aggregate_strings(self, rows, most, into, cx);
        }
        let (values, mut start) = (self.values.all()?, 0);
        for (run, end) in self.runs.all()?.iter().enumerate() {
            let value = values
                .get(run)
                .ok_or_else(|| Error::internal("fewer values than runs"))?;
            into.string(value, end - start)?;
            start = *end;
        }
        Ok(())
    }

    fn filter(&self, test: &StringTest<'_>, _: usize, cx: &mut Scratch) -> Result<Bitmap> {
        let passing = self.values.filter(test, cx)?;
        Ok(filter_runs(
            (0..passing.len()).map(|run| passing.get(run)),
            self.runs.all()?,
            self.len,
        ))
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
