//! Columns as Arrow's run-end encoded arrays: a value, and the row at which its run ends.
//!
//! ```text
//! blocks of the rows -> values in order, from their encodings: runs as they are stored, else one by one
//!                    -> equal neighbours merged, NULLs between them, cut to the rows, blocks joined
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, RunArray, UInt32Array};
use arrow_buffer::Buffer;
use arrow_ord::partition::partition;
use arrow_schema::{DataType, Field, Schema};
use arrow_select::take::take;
use staffa_kernels::as_bytes;

use super::chunk_reader::{ChunkReader, Keep};
use super::dictionary::{with_types, without_views};
use super::slots::typed;
use crate::arrow::{self, leaf_array};
use crate::decode::{Aggregator, AnyDecoder, Block, Decodable, Needs, Scratch, StringAggregator};
use crate::error::{Error, Result};
use crate::values::{Bitmap, DecodedValues, StringsBuf, for_words};

/// The schema with these columns as runs with ends of 32 bits: plain columns of any type that is
/// not nested.
pub(crate) fn with_run_ends(schema: &Schema, names: &[String]) -> Result<Schema> {
    with_types(schema, names, |name, ty| {
        Ok(match ty {
            DataType::RunEndEncoded(..) => ty.clone(),
            ty if ty.is_nested() || matches!(ty, DataType::Null | DataType::Dictionary(..)) => {
                return Err(Error::invalid(format!(
                    "column {name:?}: a column that is not nested can be read as runs, not {ty}"
                )));
            }
            ty => {
                // The field names of Arrow's constructors.
                let ends = Field::new("run_ends", DataType::Int32, false);
                let values = Field::new("values", without_views(ty), true);
                DataType::RunEndEncoded(Arc::new(ends), Arc::new(values))
            }
        })
    })
}

/// Plain values cast to runs.
pub(crate) fn cast_to_runs(plain: &ArrayRef) -> Result<ArrayRef> {
    check_rows(plain.len())?;
    let parts = partition(std::slice::from_ref(plain))?.ranges();
    let starts: Vec<u32> = parts.iter().map(|part| part.start as u32).collect();
    let ends = parts.iter().map(|part| part.end as i32).collect();
    let field = Field::new("", plain.data_type().clone(), true);
    runs(ends, &arrow::take(&field, plain, &starts)?)
}

/// Checks that the ends of runs over so many rows have 32 bits.
fn check_rows(rows: usize) -> Result<()> {
    let too_many = |_| Error::limit(format!("{rows} rows in runs with ends of 32 bits"));
    i32::try_from(rows).map(drop).map_err(too_many)
}

fn runs(ends: Vec<i32>, values: &ArrayRef) -> Result<ArrayRef> {
    Ok(Arc::new(RunArray::<Int32Type>::try_new(
        &Int32Array::from(ends),
        values,
    )?))
}

/// Rows of a flat leaf as runs; `None` where its blocks hold values of another type.
pub(super) fn read_runs(
    reader: &ChunkReader<'_>,
    values: &DataType,
    rows: &Range<usize>,
) -> Result<Option<ArrayRef>> {
    let other = matches!(values, DataType::Boolean | DataType::FixedSizeBinary(_));
    let Some(ty) = reader.leaf.ty.filter(|_| !other) else {
        return Ok(None);
    };
    let found = for_words!(ty,
        T => runs_of(reader, values, rows, Runs::<Vec<T>>::default())?,
        _ => runs_of(reader, values, rows, Runs { values: StringsBuf::new(), of_block: Vec::new() })?);
    Ok(Some(found))
}

fn runs_of<V>(
    reader: &ChunkReader<'_>,
    ty: &DataType,
    rows: &Range<usize>,
    mut found: Runs<V>,
) -> Result<ArrayRef>
where
    Runs<V>: RunValues,
{
    check_rows(rows.len())?;
    let blocks = reader.blocks_of(rows);
    let mut out = RowRuns {
        wanted: rows.clone(),
        at: blocks.start * reader.block_rows(),
        ..RowRuns::default()
    };
    for number in blocks {
        let opened = reader.open_block(number, Keep::Nothing)?;
        let added = opened.with(|block| {
            found.of_block.clear();
            if let Some(values) = &block.values {
                found.aggregate(values, block.string_bytes)?;
            }
            out.push_block(block, &found.of_block)
        });
        added.map_err(|e| e.at(|p| p.block = Some(number)))?;
    }
    let RowRuns { values, ends, .. } = out;
    let all = found.array(ty)?;
    let values = if values.iter().copied().eq((0..all.len() as u32).map(Some)) {
        all
    } else {
        take(&all, &UInt32Array::from(values), None)?
    };
    runs(ends, &values)
}

/// Values of blocks in the order of rows, of equal neighbours one.
#[derive(Default)]
struct Runs<V> {
    values: V,
    /// Runs of the current block: position of the value, number of values.
    of_block: Vec<(u32, u32)>,
}

/// Takes in the values of blocks.
trait RunValues {
    /// Appends the values of a block.
    fn aggregate(&mut self, values: &AnyDecoder<'_>, string_bytes: usize) -> Result<()>;
    /// All values.
    fn array(self, ty: &DataType) -> Result<ArrayRef>;
}

impl<V> Runs<V> {
    /// Appends a run of the value at a position.
    fn push(&mut self, position: usize, count: u32) {
        match self.of_block.last_mut() {
            Some((last, all)) if *last as usize == position => *all += count,
            _ => self.of_block.push((position as u32, count)),
        }
    }
}

impl<T: Decodable> Runs<Vec<T>> {
    fn word(&mut self, value: T, count: u32) {
        if self.values.last() != Some(&value) {
            self.values.push(value);
        }
        self.push(self.values.len() - 1, count);
    }
}

impl<T: Decodable> Aggregator<T> for Runs<Vec<T>> {
    fn needs(&self) -> Needs {
        Needs::InOrder
    }

    fn values(&mut self, values: &[T]) -> Result<()> {
        for run in values.chunk_by(|a, b| a == b) {
            if let Some(value) = run.first() {
                self.word(*value, run.len() as u32);
            }
        }
        Ok(())
    }

    fn runs(&mut self, values: &[T], counts: &[u32]) -> Result<()> {
        let runs = values.iter().zip(counts);
        runs.for_each(|(value, count)| self.word(*value, *count));
        Ok(())
    }

    fn sum(&mut self, _: i128) -> Result<()> {
        Err(Error::internal("runs have no sum"))
    }
}

impl<T: Decodable> RunValues for Runs<Vec<T>> {
    fn aggregate(&mut self, values: &AnyDecoder<'_>, _: usize) -> Result<()> {
        typed::<T>(values)?.aggregate(None, self, &mut Scratch::default())
    }

    fn array(self, ty: &DataType) -> Result<ArrayRef> {
        let values = Buffer::from(as_bytes(&self.values));
        leaf_array(ty, DecodedValues::Words(T::TYPE, values), None)
    }
}

impl StringAggregator for Runs<StringsBuf> {
    fn in_order(&self) -> bool {
        true
    }

    fn string(&mut self, string: &[u8], count: u32) -> Result<()> {
        let strings = self.values.as_strings();
        let count_before = strings.len();
        let last = count_before.checked_sub(1).map(|last| strings.get(last));
        if last == Some(string) {
            self.push(count_before - 1, count);
            return Ok(());
        }
        if u32::try_from(self.values.data.len() + string.len()).is_err() {
            return Err(Error::limit("runs of strings of more than 4 GiB"));
        }
        self.values.push(string);
        self.push(count_before, count);
        Ok(())
    }
}

impl RunValues for Runs<StringsBuf> {
    fn aggregate(&mut self, values: &AnyDecoder<'_>, string_bytes: usize) -> Result<()> {
        let AnyDecoder::Bytes(decoder) = values else {
            return Err(Error::corrupt("byte strings expected"));
        };
        decoder.aggregate(None, string_bytes, self, &mut Scratch::default())
    }

    fn array(self, ty: &DataType) -> Result<ArrayRef> {
        let StringsBuf { offsets, data } = self.values;
        let large = i32::try_from(data.len()).is_err();
        let offsets = if large {
            Buffer::from_vec(offsets.into_iter().map(i64::from).collect())
        } else {
            Buffer::from_vec(offsets)
        };
        let data = Buffer::from_vec(data);
        leaf_array(
            ty,
            DecodedValues::Bytes {
                large,
                offsets,
                data,
            },
            None,
        )
    }
}

/// Runs of rows.
#[derive(Default)]
struct RowRuns {
    /// Selected rows of the row group.
    wanted: Range<usize>,
    /// The next row.
    at: usize,
    /// Position of the value of each run, or NULL.
    values: Vec<Option<u32>>,
    /// End of each run, from the first wanted row on.
    ends: Vec<i32>,
}

impl RowRuns {
    /// Appends rows of one value, or NULLs.
    fn push(&mut self, value: Option<u32>, rows: usize) {
        self.at += rows;
        let (start, end) = (self.wanted.start, self.at.min(self.wanted.end));
        if end <= start.max(self.at - rows) {
            return;
        }
        let end = (end - start) as i32;
        match (self.values.last(), self.ends.last_mut()) {
            (Some(last), Some(last_end)) if *last == value => *last_end = end,
            _ => {
                self.values.push(value);
                self.ends.push(end);
            }
        }
    }

    /// Appends the rows of a block, whose values are these runs.
    fn push_block(&mut self, block: &Block<'_>, runs: &[(u32, u32)]) -> Result<()> {
        let Some(validity) = &block.validity else {
            let runs = runs.iter();
            runs.for_each(|(value, count)| self.push(Some(*value), *count as usize));
            return Ok(());
        };
        // NULLs may have values, which mean nothing.
        let valued = !block.compacted && block.values.is_some();
        let (mut runs, mut value, mut left) = (runs.iter(), 0, 0);
        for (valid, mut rows) in stretches(validity) {
            if !valid && !valued {
                self.push(None, rows);
                continue;
            }
            while rows > 0 {
                if left == 0 {
                    let fewer = || Error::internal("fewer values than rows");
                    let &(next, count) = runs.next().ok_or_else(fewer)?;
                    (value, left) = (next, count as usize);
                }
                let own = rows.min(left);
                self.push(valid.then_some(value), own);
                (rows, left) = (rows - own, left - own);
            }
        }
        Ok(())
    }
}

/// Stretches of rows that are valid, and of NULLs between them: the number of rows of each.
fn stretches(validity: &Bitmap) -> impl Iterator<Item = (bool, usize)> {
    let (mut row, len) = (0, validity.len() as u64);
    let valid = validity.runs().chain(std::iter::once(len..len));
    valid.flat_map(move |valid| {
        let nulls = valid.start - std::mem::replace(&mut row, valid.end);
        [
            (false, nulls as usize),
            (true, (valid.end - valid.start) as usize),
        ]
    })
}
