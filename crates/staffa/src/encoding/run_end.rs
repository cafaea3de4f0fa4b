//! Run-end: each run is stored once, as (value, end).
//!
//! ```text
//! words, byte strings: child: values | child: ends (u32, strictly increasing, the last = values of the node)
//! bits:                payload = first bit: u8 | child: ends; the bits alternate
//! ```
//!
//! Run-length encoding (BtrBlocks, section 2.2) with ends, not lengths: a vector finds its first run by binary search.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::atomic::{AtomicUsize, Ordering};

use staffa_kernels::{BytesDict, PoolVec, VECTOR, ascends, fill_runs};

use super::Encoding;
use crate::bitmap::Bitmap;
use crate::choose::{Cascade, Stats};
use crate::decode::{
    AnyDecoder, BitsDecoder, BytesDecoder, CodedStrings, Decoder, Integer, OpenContext, Physical, Scratch, for_words,
    vector_len,
};
use crate::error::{Error, Result};
use crate::fold::{Fold, FoldStrings, fold_runs, fold_strings};
use crate::gather::{Appended, by_vector, gather_vectors, many, no_row};
use crate::node::{Node, NodeRef};
use crate::picked::rows_where;
use crate::select::{Range, StringTest, select_runs};
use crate::values::{Kind, PhysicalType, StringsBuf, Values};

/// See the [module](self).
pub struct RunEnd;

impl Encoding for RunEnd {
    fn id(&self) -> u8 {
        5
    }

    fn name(&self) -> &'static str {
        "run_end"
    }

    fn decode_picos(&self) -> u32 {
        100
    }

    fn about(&self) -> &'static str {
        "each run of equal values once, with the row at which it ends"
    }

    fn roles(&self) -> &'static [&'static str] {
        &["values", "ends"]
    }

    fn accepts(&self, _: PhysicalType, _: Kind) -> bool {
        true
    }

    /// No runs shorter than 2 on average (BtrBlocks, section 3.1); of bits none shorter than 16, or 6 where lists of
    /// their lengths come again.
    fn suits(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        let average = |least| stats.runs() > 1 && stats.runs() * least <= values.len();
        match values {
            Values::Bits(_) => average(16) || average(6) && stats.sequences().is_some(),
            _ => average(2),
        }
    }

    fn estimate(&self, values: Values<'_>, stats: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<usize>> {
        let ends = stats.ends();
        let lengths = || std::iter::once(0).chain(ends.array_windows().map(|[a, b]| b - a)).collect::<Vec<u32>>();
        let mut ends_bytes = cascade.estimate_child(Values::U32(ends), Kind::Unsigned)?;
        if matches!(values, Values::Bits(_)) && stats.sequences().is_some() {
            // A sample of ends shows nothing of their deltas' repeats.
            let below = cascade.below(&super::delta::Delta);
            ends_bytes = ends_bytes.min(below.estimate_child(Values::U32(&lengths()), Kind::Signed)?);
        }
        let values = match values {
            Values::Bits(_) => 1,
            Values::Bytes(strings) => {
                let runs: StringsBuf = ends.iter().map(|&end| strings.get(end as usize - 1)).collect();
                cascade.estimate_child(Values::Bytes(runs.as_strings()), stats.kind())?
            }
            words => for_words!(words.physical_type(), T => {
                let runs = run_values(T::slice(words).unwrap_or_default());
                cascade.estimate_child(T::values(&runs), stats.kind())?
            }, _ => return Ok(None)),
        };
        Ok(Some(8 + ends_bytes + values))
    }

    fn encode(&self, values: Values<'_>, stats: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<Node>> {
        let ends = stats.ends();
        let mut payload = Vec::new();
        let mut children = Vec::new();
        match values {
            Values::Bits(bits) => payload.push(u8::from(bits.get(0))),
            Values::Bytes(strings) => {
                let runs: StringsBuf = ends.iter().map(|&end| strings.get(end as usize - 1)).collect();
                children.push(cascade.child(Values::Bytes(runs.as_strings()), stats.kind())?);
            }
            words => for_words!(words.physical_type(), T => {
                let runs = run_values(T::slice(words).unwrap_or_default());
                children.push(cascade.child(T::values(&runs), stats.kind())?);
            }, _ => return Ok(None)),
        }
        children.push(cascade.child(Values::U32(ends), Kind::Unsigned)?);
        Ok(Some(Node { encoding: 5, ty: values.physical_type(), len: values.len(), payload, children }))
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
            let ends = open_ends(node, 0, cx)?;
            return Ok(AnyDecoder::Bits(Box::new(BitRuns { first: first == 1, ends, len: node.len })));
        }
        node.expect_children(2)?;
        node.cursor().finish("payload")?;
        let ends = open_ends(node, 1, cx)?;
        if node.ty == PhysicalType::Bytes {
            let child = node.child(0, "values", PhysicalType::Bytes, ends.len())?;
            let values = cx.all_strings(child, "values")?;
            let ids = (0..ends.len() as u32).collect();
            return Ok(AnyDecoder::Bytes(Box::new(ByteRuns { values, ids, runs: Ends::new(ends), len: node.len })));
        }
        for_words!(node.ty, T => {
            let values = cx.all_words::<T>(node.child(0, "values", node.ty, ends.len())?, "values")?;
            Ok(T::wrap(Box::new(WordRuns { values, runs: Ends::new(ends), len: node.len })))
        }, _ => Err(Error::corrupt("no such type")))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        node.children.last().map(|ends| format!("{} runs", ends.len)).unwrap_or_default()
    }
}

/// End of every run.
pub(crate) fn run_ends(values: Values<'_>) -> Vec<u32> {
    let len = values.len() as u32;
    let mut ends = match values {
        Values::Bits(bits) => changes(bits),
        Values::Bytes(strings) => {
            (1..len).filter(|&i| strings.get(i as usize) != strings.get(i as usize - 1)).collect()
        }
        words => for_words!(words.physical_type(), T => {
            let words = T::slice(words).unwrap_or_default();
            let mut ends = rows_where(words.iter().zip(words.iter().skip(1)).map(|(a, b)| a != b));
            ends.iter_mut().for_each(|row| *row += 1);
            ends
        }, _ => Vec::new()),
    };
    if len > 0 {
        ends.push(len);
    }
    ends
}

/// Rows whose bit is not that of the row before.
fn changes(bits: &Bitmap) -> Vec<u32> {
    let mut rows = Vec::new();
    let mut before = u64::from(bits.get(0));
    for (start, word) in (0u32..).step_by(64).zip(bits.words()) {
        let mut changed = word ^ (word << 1 | before);
        before = word >> 63;
        while changed != 0 {
            rows.push(start + changed.trailing_zeros());
            changed &= changed - 1;
        }
    }
    while rows.pop_if(|row| *row as usize >= bits.len()).is_some() {}
    rows
}

/// First value of every run.
fn run_values<T: Physical>(values: &[T]) -> Vec<T> {
    let changes = values.array_windows().filter(|[a, b]| a != b).map(|[_, b]| *b);
    values.first().copied().into_iter().chain(changes).collect()
}

fn open_ends<'a>(node: &NodeRef<'a>, child: usize, cx: &mut OpenContext<'a>) -> Result<PoolVec<u32>> {
    let child = node.any_child(child, "ends")?;
    let ends = cx.all_words::<u32>(child, "ends")?;
    if !ascends(&ends)
        && let Some([a, b]) = ends.array_windows().find(|[a, b]| a >= b)
    {
        return Err(Error::corrupt(format!("run ends must increase, found {b} after {a}")));
    }
    let last = ends.last().copied().unwrap_or(0);
    if last as usize != node.len || ends.first() == Some(&0) {
        return Err(Error::corrupt(format!("runs of {} values expected, found an end at {last}", node.len)));
    }
    Ok(ends)
}

/// Ends of runs.
struct Ends {
    ends: PoolVec<u32>,
    /// The run that the vector behind the last one begins with: most are asked for in order.
    near: AtomicUsize,
}

impl Ends {
    fn new(ends: PoolVec<u32>) -> Self {
        Self { ends, near: AtomicUsize::new(0) }
    }

    /// Vector `v` of runs of these values.
    fn fill<T: Physical>(&self, values: &[T], v: usize, out: &mut [T]) -> Result<()> {
        let near = self.near.load(Ordering::Relaxed);
        let Some(next) = fill_runs(values, &self.ends, (v * VECTOR) as u32, near, out) else {
            return Err(Error::corrupt(format!("the runs do not cover vector {v}")));
        };
        self.near.store(next, Ordering::Relaxed);
        Ok(())
    }
}

struct WordRuns<T> {
    values: PoolVec<T>,
    runs: Ends,
    len: usize,
}

impl<T: Physical> Decoder<T> for WordRuns<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        self.runs.fill(&self.values, v, out)
    }

    fn gather(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        if many(rows) {
            return gather_vectors(self, rows, cx, out);
        }
        for ((row, run), place) in runs_of(rows, &self.runs.ends).zip(out) {
            *place = *self.values.get(run).ok_or_else(|| no_row(row, self.len))?;
        }
        Ok(())
    }

    fn select(&self, range: &Range<T>, _: &mut Scratch) -> Result<Bitmap>
    where
        T: Integer,
    {
        let passing = range.of_values(&self.values);
        Ok(select_runs((0..passing.len()).map(|run| passing.get(run)), &self.runs.ends, self.len))
    }

    fn fold(&self, rows: Option<&Bitmap>, into: &mut dyn Fold<T>, cx: &mut Scratch) -> Result<()> {
        fold_runs(self, (&self.values, &self.runs.ends), rows, into, cx)
    }
}

/// Every row with its run.
fn runs_of<'r>(rows: &'r [u32], ends: &'r [u32]) -> impl Iterator<Item = (u32, usize)> {
    let mut run = 0;
    rows.iter().map(move |row| {
        // The next one is near where many rows are wanted, else anywhere.
        let rest = ends.get(run..).unwrap_or_default();
        let near = rest.iter().take(8).position(|end| row < end);
        run += near.unwrap_or_else(|| rest.partition_point(|end| end <= row));
        (*row, run)
    })
}

struct ByteRuns {
    values: BytesDict,
    ids: Vec<u32>,
    runs: Ends,
    len: usize,
}

impl ByteRuns {
    fn with_ids<R>(&self, v: usize, cx: &mut Scratch, f: impl FnOnce(&[u32]) -> Option<R>) -> Result<R> {
        let mut buffer = cx.take_u32();
        let ids = buffer.get_mut(..vector_len(self.len, v)).unwrap_or_default();
        let result = self.runs.fill(&self.ids, v, ids).map(|()| f(ids));
        cx.give_u32(buffer);
        result?.ok_or_else(|| Error::corrupt("strings longer than declared"))
    }
}

impl CodedStrings for ByteRuns {
    fn strings(&self) -> Result<&BytesDict> {
        Ok(&self.values)
    }

    fn codes(&self, v: usize, _: &mut Scratch, out: &mut [u32]) -> Result<()> {
        self.runs.fill(&self.ids, v, out)
    }
}

impl BytesDecoder for ByteRuns {
    fn len(&self) -> usize {
        self.len
    }

    fn coded(&self) -> Option<&dyn CodedStrings> {
        Some(self)
    }

    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        self.with_ids(v, cx, |ids| self.values.gathered_bytes(ids)).map(|bytes| bytes as usize)
    }

    fn vector(&self, v: usize, cx: &mut Scratch, lengths: &mut [u32], out: &mut [u8]) -> Result<usize> {
        self.with_ids(v, cx, |ids| self.values.gather(ids, lengths, out))
    }

    fn gather(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        let mut runs = Vec::with_capacity(rows.len());
        if many(rows) {
            let mut buffer = cx.take_u32();
            for (v, rows) in by_vector(rows) {
                let ids = buffer.get_mut(..vector_len(self.len, v)).unwrap_or_default();
                self.runs.fill(&self.ids, v, ids)?;
                runs.extend(rows.iter().filter_map(|row| ids.get(*row as usize % VECTOR)));
            }
            cx.give_u32(buffer);
        } else {
            runs.extend(runs_of(rows, &self.runs.ends).map(|(_, run)| run as u32));
        }
        let values = &self.values;
        let bytes = values.gathered_bytes(&runs).filter(|_| runs.len() == rows.len());
        let bytes = bytes.ok_or_else(|| no_row(rows.last().copied().unwrap_or(0), self.len))?;
        out.push_all(runs.len(), bytes as usize, |lengths, out| values.gather(&runs, lengths, out))
    }

    fn fold(&self, rows: Option<&Bitmap>, most: usize, into: &mut dyn FoldStrings, cx: &mut Scratch) -> Result<()> {
        if rows.is_some() {
            return fold_strings(self, rows, most, into, cx);
        }
        let mut start = 0;
        for (run, end) in self.runs.ends.iter().enumerate() {
            into.string(self.values.get(run).unwrap_or_default(), end - start)?;
            start = *end;
        }
        Ok(())
    }

    fn select(&self, test: &StringTest<'_>, _: usize, _: &mut Scratch) -> Result<Bitmap> {
        let passing = (0..self.runs.ends.len()).map(|run| self.values.get(run).is_some_and(test.passes));
        Ok(select_runs(passing, &self.runs.ends, self.len))
    }
}

struct BitRuns {
    first: bool,
    ends: PoolVec<u32>,
    len: usize,
}

impl BitsDecoder for BitRuns {
    fn bits(&self) -> Result<Bitmap> {
        let mut value = !self.first;
        let values = std::iter::from_fn(|| {
            value = !value;
            Some(value)
        });
        Ok(select_runs(values, &self.ends, self.len))
    }
}

crate::conformance!(RunEnd);
