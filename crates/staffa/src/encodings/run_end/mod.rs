//! Run-end: each run is stored once, as (value, end).
//!
//! ```text
//! words, byte strings: child: values | child: ends (u32, strictly increasing, the last = values of the node)
//! bits:                payload = first bit: u8 | child: ends; the bits alternate
//! ```
//!
//! Run-length encoding (BtrBlocks, section 2.2) with ends, not lengths: a vector finds its first
//! run by binary search. Values are decoded when more than a few are wanted, or some for the second
//! time.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use staffa_kernels::{BytesDict, PoolVec, VECTOR, ascends, fill_runs};

use crate::decode::{
    Aggregator, AnyDecoder, Appended, BitsDecoder, BytesDecoder, Decodable, Decoder,
    DictionaryStrings, Integer, Lazy, LazyStrings, LazyWords, OpenContext, Range, Scratch,
    StringAggregator, StringTest, aggregate_runs, aggregate_strings, by_vector, decode_all,
    filter_runs, get_or_try_init, many, no_row, take_vectors,
};
use crate::encode::{Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{
    Bitmap, Kind, Physical, PhysicalType, StringsBuf, Values, for_words, vector_len,
};

/// A row is searched for in no fewer vectors of ends than that; in fewer, to decode all takes less.
const SEARCHED: usize = 6;

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

    /// No runs shorter than 2 on average (BtrBlocks, section 3.1); of bits none shorter than 16, or
    /// 6 where lists of their lengths come again.
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
        let lengths = || {
            std::iter::once(0)
                .chain(ends.array_windows().map(|[a, b]| b - a))
                .collect::<Vec<u32>>()
        };
        let mut ends_bytes = chooser.estimate_child(Values::U32(ends), Kind::Unsigned)?;
        if matches!(values, Values::Bits(_)) && stats.sequences().is_some() {
            // A sample of ends shows nothing of their deltas' repeats.
            let below = chooser.below(&super::delta::Delta);
            ends_bytes =
                ends_bytes.min(below.estimate_child(Values::U32(&lengths()), Kind::Signed)?);
        }
        let values = match values {
            Values::Bits(_) => 1,
            Values::Bytes(strings) => {
                let runs: StringsBuf = ends
                    .iter()
                    .map(|&end| strings.get(end as usize - 1))
                    .collect();
                chooser.estimate_child(Values::Bytes(runs.as_strings()), stats.kind())?
            }
            words => for_words!(words.physical_type(), T => {
                let runs = run_values(T::slice(words).unwrap_or_default());
                chooser.estimate_child(T::values(&runs), stats.kind())?
            }, _ => return Ok(None)),
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
        let mut payload = Vec::new();
        let mut children = Vec::new();
        match values {
            Values::Bits(bits) => payload.push(u8::from(bits.get(0))),
            Values::Bytes(strings) => {
                let runs: StringsBuf = ends
                    .iter()
                    .map(|&end| strings.get(end as usize - 1))
                    .collect();
                children.push(chooser.child(Values::Bytes(runs.as_strings()), stats.kind())?);
            }
            words => for_words!(words.physical_type(), T => {
                let runs = run_values(T::slice(words).unwrap_or_default());
                children.push(chooser.child(T::values(&runs), stats.kind())?);
            }, _ => return Ok(None)),
        }
        children.push(chooser.child(Values::U32(ends), Kind::Unsigned)?);
        Ok(Some(Node {
            encoding: 5,
            ty: values.physical_type(),
            len: values.len(),
            payload,
            children,
        }))
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
            return Ok(AnyDecoder::Bytes(Box::new(ByteRuns {
                values,
                ids: OnceLock::new(),
                runs,
                len: node.len,
            })));
        }
        for_words!(node.ty, T => {
            let values = LazyWords::<T>::open(node.child(0, "values", node.ty, runs.count())?, cx, "values")?;
            Ok(T::wrap(Box::new(WordRuns { values, runs, len: node.len })))
        }, _ => Err(Error::corrupt("no such type")))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        node.children
            .last()
            .map(|ends| format!("{} runs", ends.len))
            .unwrap_or_default()
    }
}

/// First value of every run.
fn run_values<T: Decodable>(values: &[T]) -> Vec<T> {
    let changes = values
        .array_windows()
        .filter(|[a, b]| a != b)
        .map(|[_, b]| *b);
    values.first().copied().into_iter().chain(changes).collect()
}

/// Ends of runs.
struct Ends<'a> {
    decoder: Box<dyn Decoder<u32> + 'a>,
    /// Rows of all runs.
    rows: usize,
    all: Lazy<PoolVec<u32>>,
    /// The run that the vector behind the last one begins with: most are asked for in order.
    near: AtomicUsize,
}

impl<'a> Ends<'a> {
    fn open(node: &NodeRef<'a>, child: usize, cx: &mut OpenContext<'a>) -> Result<Self> {
        let child = node.any_child(child, "ends")?;
        cx.budget.take(child.len as u64 * 4, "ends")?;
        let ends = Self {
            decoder: cx.open_words::<u32>(child)?,
            rows: node.len,
            all: Lazy::default(),
            near: AtomicUsize::new(0),
        };
        // There is nothing to save.
        if child.len < SEARCHED * VECTOR {
            ends.all()?;
        }
        Ok(ends)
    }

    /// How many runs there are.
    fn count(&self) -> usize {
        self.decoder.len()
    }

    /// All of them.
    fn all(&self) -> Result<&[u32]> {
        self.all.all(|| self.decoded()).map(|all| &**all)
    }

    fn decoded(&self) -> Result<PoolVec<u32>> {
        let ends = decode_all(self.decoder.as_ref())?;
        if !ascends(&ends)
            && let Some([a, b]) = ends.array_windows().find(|[a, b]| a >= b)
        {
            return Err(Error::corrupt(format!(
                "run ends must increase, found {b} after {a}"
            )));
        }
        let last = ends.last().copied().unwrap_or(0);
        if last as usize != self.rows || ends.first() == Some(&0) {
            return Err(Error::corrupt(format!(
                "runs of {} values expected, found an end at {last}",
                self.rows
            )));
        }
        Ok(ends)
    }

    /// The run of every row.
    fn runs(&self, rows: &[u32], cx: &mut Scratch) -> Result<Vec<u32>> {
        if !self
            .all
            .spared(rows.len() * SEARCHED <= self.count().div_ceil(VECTOR))
        {
            return Ok(runs_of(rows, self.all()?));
        }
        rows.iter().map(|row| self.search(*row, cx)).collect()
    }

    /// The run of a row, by as few vectors of ends as need be: where it is to be expected between
    /// those that were seen, and every other time in the middle, should they be uneven.
    fn search(&self, row: u32, cx: &mut Scratch) -> Result<u32> {
        let mut buffer = cx.take_u32();
        let (mut low, mut high) = (0, self.count().div_ceil(VECTOR));
        let (mut first, mut last) = (0, self.rows as u32);
        let (mut run, mut middle) = (None, false);
        while low < high && first <= row && row < last {
            let expected = low + (row - first) as usize * (high - low) / (last - first) as usize;
            let v = if middle { low.midpoint(high) } else { expected };
            middle = !middle;
            let ends = buffer
                .get_mut(..vector_len(self.count(), v))
                .unwrap_or_default();
            self.decoder.vector(v, cx, ends)?;
            let i = ends.partition_point(|end| *end <= row);
            if i == ends.len() {
                (low, first) = (v + 1, ends.last().copied().unwrap_or(row));
                continue;
            }
            run = Some((v * VECTOR + i) as u32);
            if i > 0 {
                break;
            }
            // The first one of these, unless it ends in the vector before.
            (high, last) = (v, ends.first().copied().unwrap_or(row));
        }
        cx.give_u32(buffer);
        run.ok_or_else(|| no_row(row, self.rows))
    }

    /// Vector `v` of runs of these values.
    fn fill<T: Decodable>(&self, values: &[T], v: usize, out: &mut [T]) -> Result<()> {
        let near = self.near.load(Ordering::Relaxed);
        let Some(next) = fill_runs(values, self.all()?, (v * VECTOR) as u32, near, out) else {
            return Err(Error::corrupt(format!("the runs do not cover vector {v}")));
        };
        self.near.store(next, Ordering::Relaxed);
        Ok(())
    }
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
            Err(no_row_of(rows, self.len))
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
    values: LazyStrings<'a>,
    /// The number of each run.
    ids: OnceLock<Vec<u32>>,
    runs: Ends<'a>,
    len: usize,
}

impl ByteRuns<'_> {
    /// The run of each row of vector `v`.
    fn runs(&self, v: usize, out: &mut [u32]) -> Result<()> {
        let ids = get_or_try_init(&self.ids, || Ok((0..self.runs.count() as u32).collect()))?;
        self.runs.fill(ids, v, out)
    }

    fn with_ids<R>(
        &self,
        v: usize,
        cx: &mut Scratch,
        f: impl FnOnce(&[u32]) -> Option<R>,
    ) -> Result<R> {
        let mut buffer = cx.take_u32();
        let ids = buffer
            .get_mut(..vector_len(self.len, v))
            .unwrap_or_default();
        let result = self.runs(v, ids).map(|()| f(ids));
        cx.give_u32(buffer);
        result?.ok_or_else(|| Error::corrupt("strings longer than declared"))
    }
}

impl DictionaryStrings for ByteRuns<'_> {
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

    fn dictionary(&self) -> Option<&dyn DictionaryStrings> {
        Some(self)
    }

    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        let values = self.values.all()?;
        self.with_ids(v, cx, |ids| values.gathered_bytes(ids))
            .map(|bytes| bytes as usize)
    }

    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        let values = self.values.all()?;
        self.with_ids(v, cx, |ids| values.gather(ids, lengths, out))
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        if !many(rows) {
            return self.values.take(&self.runs.runs(rows, cx)?, cx, out);
        }
        let mut runs = Vec::with_capacity(rows.len());
        let mut buffer = cx.take_u32();
        for (v, rows) in by_vector(rows) {
            let ids = buffer
                .get_mut(..vector_len(self.len, v))
                .unwrap_or_default();
            self.runs(v, ids)?;
            runs.extend(
                rows.iter()
                    .filter_map(|row| ids.get(*row as usize % VECTOR)),
            );
        }
        cx.give_u32(buffer);
        if runs.len() < rows.len() {
            return Err(no_row_of(rows, self.len));
        }
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
            into.string(values.get(run).unwrap_or_default(), end - start)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Budget;
    use crate::encodings::{POOL, opener};
    use crate::format::Cursor;
    use crate::limits::Limits;
    use crate::testing::arrays::Random;

    /// Some rows of runs that have their number as value, asked for once and again; whether they
    /// were searched for.
    fn gathered(ends: &[u32], len: usize, rows: &[u32]) -> Result<(Vec<u32>, bool)> {
        let chooser = Chooser::new(&POOL);
        let numbers: Vec<u32> = (0..ends.len() as u32).collect();
        let children =
            [&numbers, ends].map(|child| chooser.child(Values::U32(child), Kind::Unsigned));
        let children = children.into_iter().collect::<Result<Vec<Node>>>()?;
        let node = Node {
            encoding: 5,
            ty: PhysicalType::U32,
            len,
            payload: Vec::new(),
            children,
        };
        let mut bytes = Vec::new();
        node.write(&mut bytes);
        let node = NodeRef::parse(&mut Cursor::new(&bytes), len, 9)?;
        let opener = opener(Limits::default());
        let mut cx = opener.context(Budget::new(1 << 20), &[], Vec::new());
        let runs = Ends::open(&node, 1, &mut cx)?;
        let values = LazyWords::open(
            node.child(0, "values", PhysicalType::U32, runs.count())?,
            &mut cx,
            "values",
        )?;
        let decoder = WordRuns::<u32> { values, runs, len };
        let (mut cx, mut first, mut second) =
            (Scratch::default(), vec![0; rows.len()], vec![0; rows.len()]);
        decoder.take(rows, &mut cx, &mut first)?;
        let searched = decoder.runs.all.get().is_none();
        decoder.take(rows, &mut cx, &mut second)?;
        assert!(decoder.runs.all.get().is_some() && first == second);
        Ok((first, searched))
    }

    #[test]
    fn few_rows_are_searched_for() {
        let mut random = Random(5);
        for round in 0..60 {
            // Even ones, and some that are long at one end.
            let most = |i: usize| {
                if (round % 3 == 0) == (i < 8000) {
                    12
                } else {
                    2
                }
            };
            let mut len = 0;
            let ends: Vec<u32> = (0..9000 + random.below(3000))
                .map(|i| {
                    len += 1 + random.below(most(i));
                    len as u32
                })
                .collect();
            let edges = [
                0,
                ends[1023] - 1,
                ends[1023],
                ends[2047],
                ends[ends.len() - 2],
                len as u32 - 1,
            ];
            let row = edges
                .get(round)
                .copied()
                .unwrap_or_else(|| random.below(len) as u32);
            let expected = ends.partition_point(|end| *end <= row) as u32;
            assert_eq!(
                gathered(&ends, len, &[row]).unwrap(),
                (vec![expected], true)
            );
            assert!(gathered(&ends, len, &[len as u32]).is_err());
            // Ends that do not ascend: an error when all are decoded, at the latest.
            let mut wrong = ends.clone();
            wrong.swap(random.below(4000), 4000 + random.below(4000));
            assert!(gathered(&wrong, len, &[row]).is_err());
            assert!(gathered(&ends, len + 1, &[row]).is_err());
        }
    }
}

crate::conformance!(RunEnd);
