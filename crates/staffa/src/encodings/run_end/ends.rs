//! Ends of runs: the run of a row, and vectors filled with runs.

use std::sync::atomic::{AtomicUsize, Ordering};

use staffa_kernels::{PoolVec, ascends, fill_runs};

use super::super::prelude::*;
use crate::decode::{Lazy, decode_all, no_row};

/// A row is searched for in at least as many vectors of ends; of fewer, all are decoded sooner.
const SEARCHED: usize = 6;

/// Ends of runs.
pub(super) struct Ends<'a> {
    decoder: Box<dyn Decoder<u32> + 'a>,
    /// Rows of all runs.
    pub(super) rows: usize,
    pub(super) all: Lazy<PoolVec<u32>>,
    /// First run of the vector behind the last one: most vectors are decoded in order.
    near: AtomicUsize,
}

impl<'a> Ends<'a> {
    pub(super) fn open(node: &NodeRef<'a>, child: usize, cx: &mut OpenContext<'a>) -> Result<Self> {
        let child = node.any_child(child, "ends")?;
        cx.budget.take(child.len as u64 * 4, "ends")?;
        let ends = Self {
            decoder: cx.open_words::<u32>(child)?,
            rows: node.len,
            all: Lazy::default(),
            near: AtomicUsize::new(0),
        };
        // So few that a search would not be faster.
        if child.len < SEARCHED * VECTOR {
            ends.all()?;
        }
        Ok(ends)
    }

    /// How many runs there are.
    pub(super) fn count(&self) -> usize {
        self.decoder.len()
    }

    /// All of them.
    pub(super) fn all(&self) -> Result<&[u32]> {
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
        let (rows, last) = (self.rows, ends.last().copied().unwrap_or(0));
        let is_end = last as usize == rows && ends.first() != Some(&0);
        corrupt_if!(
            !is_end,
            "runs of {rows} values expected, found an end at {last}"
        );
        Ok(ends)
    }

    /// The run of every row.
    pub(super) fn runs(&self, rows: &[u32], cx: &mut Scratch) -> Result<Vec<u32>> {
        if !self
            .all
            .take_few(rows.len() * SEARCHED <= self.count().div_ceil(VECTOR))
        {
            return Ok(runs_of(rows, self.all()?));
        }
        rows.iter().map(|row| self.search(*row, cx)).collect()
    }

    /// The run of a row, by interpolation between the vectors of ends that were decoded, and by
    /// bisection every other time, for uneven runs.
    fn search(&self, row: u32, cx: &mut Scratch) -> Result<u32> {
        let (mut low, mut high) = (0, self.count().div_ceil(VECTOR));
        let (mut first, mut last) = (0, self.rows as u32);
        let (mut run, mut middle) = (None, false);
        while low < high && first <= row && row < last {
            let expected = low + (row - first) as usize * (high - low) / (last - first) as usize;
            let v = if middle { low.midpoint(high) } else { expected };
            middle = !middle;
            let (i, least, most) = cx.with(vector_len(self.count(), v), |cx, ends| {
                self.decoder.vector(v, cx, ends)?;
                let i = ends.partition_point(|end| *end <= row);
                let (least, most) = ends.first().zip(ends.last()).ok_or_else(no_ends)?;
                Ok((Some(i).filter(|i| *i < ends.len()), *least, *most))
            })?;
            match i {
                None => (low, first) = (v + 1, most),
                // The first run of the vector, unless the row is of a run in the vector before.
                Some(0) => (run, high, last) = (Some(v * VECTOR), v, least),
                Some(i) => {
                    run = Some(v * VECTOR + i);
                    break;
                }
            }
        }
        let run = run.ok_or_else(|| no_row(row, self.rows))?;
        Ok(run as u32)
    }

    /// Vector `v`, with these values for the runs.
    pub(super) fn fill<T: Decodable>(&self, values: &[T], v: usize, out: &mut [T]) -> Result<()> {
        let near = self.near.load(Ordering::Relaxed);
        let Some(next) = fill_runs(values, self.all()?, (v * VECTOR) as u32, near, out) else {
            return Err(Error::corrupt(format!("the runs do not cover vector {v}")));
        };
        self.near.store(next, Ordering::Relaxed);
        Ok(())
    }
}

fn no_ends() -> Error {
    Error::internal("a vector of no ends")
}

/// The run of every row.
fn runs_of(rows: &[u32], ends: &[u32]) -> Vec<u32> {
    let mut run = 0;
    let next = rows.iter().map(|row| {
        // Near the last one where many rows are wanted, else anywhere; past all ends for a row
        // past the end.
        let rest = ends.get(run..).unwrap_or_default();
        let near = rest.iter().take(8).position(|end| row < end);
        run += near.unwrap_or_else(|| rest.partition_point(|end| end <= row));
        run as u32
    });
    next.collect()
}
