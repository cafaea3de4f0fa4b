//! Run-end: each run is stored once, as (value, end).
//!
//! ```text
//! words, byte strings: child: values | child: ends (u32, strictly increasing, the last = values of the node)
//! bits:                payload = first bit: u8 | child: ends; the bits alternate
//! ```
//!
//! Run-length encoding (BtrBlocks, section 2.2) with ends, not lengths: a vector finds its first run by binary search.
//! The ends are decoded at `open`; the values when more than a few are wanted, or some for the second time.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::OnceLock;
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
use crate::later::{LaterStrings, LaterWords, made};
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
            let values = LaterStrings::open(child, cx, "values")?;
            let (ids, runs) = (OnceLock::new(), Ends::new(ends));
            return Ok(AnyDecoder::Bytes(Box::new(ByteRuns { values, ids, runs, len: node.len })));
        }
        for_words!(node.ty, T => {
            let values = LaterWords::<T>::open(node.child(0, "values", node.ty, ends.len())?, cx, "values")?;
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

struct WordRuns<'a, T> {
    values: LaterWords<'a, T>,
    runs: Ends,
    len: usize,
}

impl<T: Physical> Decoder<T> for WordRuns<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        self.runs.fill(self.values.all()?, v, out)
    }

    fn gather(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        if many(rows) {
            return gather_vectors(self, rows, cx, out);
        }
        let runs = runs_of(rows, &self.runs.ends);
        if self.values.gather(&runs, cx, out)? { Ok(()) } else { Err(no_row_of(rows, self.len)) }
    }

    fn select(&self, range: &Range<T>, _: &mut Scratch) -> Result<Bitmap>
    where
        T: Integer,
    {
        let passing = range.of_values(self.values.all()?);
        Ok(select_runs((0..passing.len()).map(|run| passing.get(run)), &self.runs.ends, self.len))
    }

    fn fold(&self, rows: Option<&Bitmap>, into: &mut dyn Fold<T>, cx: &mut Scratch) -> Result<()> {
        fold_runs(self, (self.values.all()?, &self.runs.ends), rows, into, cx)
    }
}

/// The run of every row.
fn runs_of(rows: &[u32], ends: &[u32]) -> Vec<u32> {
    let mut run = 0;
    let next = rows.iter().map(|row| {
        // The next one is near where many rows are wanted, else anywhere.
        let rest = ends.get(run..).unwrap_or_default();
        let near = rest.iter().take(8).position(|end| row < end);
        run += near.unwrap_or_else(|| rest.partition_point(|end| end <= row));
        run as u32
    });
    next.collect()
}

/// The error for rows of which one is not there.
fn no_row_of(rows: &[u32], len: usize) -> Error {
    no_row(rows.last().copied().unwrap_or(0), len)
}

struct ByteRuns<'a> {
    values: LaterStrings<'a>,
    /// The number of each run.
    ids: OnceLock<Vec<u32>>,
    runs: Ends,
    len: usize,
}

impl ByteRuns<'_> {
    /// The run of each row of vector `v`.
    fn runs(&self, v: usize, out: &mut [u32]) -> Result<()> {
        let ids = made(&self.ids, || Ok((0..self.runs.ends.len() as u32).collect()))?;
        self.runs.fill(ids, v, out)
    }

    fn with_ids<R>(&self, v: usize, cx: &mut Scratch, f: impl FnOnce(&[u32]) -> Option<R>) -> Result<R> {
        let mut buffer = cx.take_u32();
        let ids = buffer.get_mut(..vector_len(self.len, v)).unwrap_or_default();
        let result = self.runs(v, ids).map(|()| f(ids));
        cx.give_u32(buffer);
        result?.ok_or_else(|| Error::corrupt("strings longer than declared"))
    }
}

impl CodedStrings for ByteRuns<'_> {
    fn strings(&self) -> Result<&BytesDict> {
        self.values.all()
    }

    fn codes(&self, v: usize, _: &mut Scratch, out: &mut [u32]) -> Result<()> {
        self.runs(v, out)
    }
}

impl BytesDecoder for ByteRuns<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn coded(&self) -> Option<&dyn CodedStrings> {
        Some(self)
    }

    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        let values = self.values.all()?;
        self.with_ids(v, cx, |ids| values.gathered_bytes(ids)).map(|bytes| bytes as usize)
    }

    fn vector(&self, v: usize, cx: &mut Scratch, lengths: &mut [u32], out: &mut [u8]) -> Result<usize> {
        let values = self.values.all()?;
        self.with_ids(v, cx, |ids| values.gather(ids, lengths, out))
    }

    fn gather(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        if !many(rows) {
            return self.values.gather(&runs_of(rows, &self.runs.ends), cx, out);
        }
        let mut runs = Vec::with_capacity(rows.len());
        let mut buffer = cx.take_u32();
        for (v, rows) in by_vector(rows) {
            let ids = buffer.get_mut(..vector_len(self.len, v)).unwrap_or_default();
            self.runs(v, ids)?;
            runs.extend(rows.iter().filter_map(|row| ids.get(*row as usize % VECTOR)));
        }
        cx.give_u32(buffer);
        if runs.len() < rows.len() {
            return Err(no_row_of(rows, self.len));
        }
        self.values.gather(&runs, cx, out)
    }

    fn fold(&self, rows: Option<&Bitmap>, most: usize, into: &mut dyn FoldStrings, cx: &mut Scratch) -> Result<()> {
        if rows.is_some() {
            return fold_strings(self, rows, most, into, cx);
        }
        let (values, mut start) = (self.values.all()?, 0);
        for (run, end) in self.runs.ends.iter().enumerate() {
            into.string(values.get(run).unwrap_or_default(), end - start)?;
            start = *end;
        }
        Ok(())
    }

    fn select(&self, test: &StringTest<'_>, _: usize, cx: &mut Scratch) -> Result<Bitmap> {
        let passing = self.values.select(test, cx)?;
        Ok(select_runs((0..passing.len()).map(|run| passing.get(run)), &self.runs.ends, self.len))
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
