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
use arrow_buffer::{Buffer, NullBuffer};
use arrow_ord::partition::partition;
use arrow_schema::{DataType, Field, Schema};
use arrow_select::take::take;
use staffa_kernels::as_bytes;

use super::chunk_reader::ChunkReader;
use super::dictionary::with_types;
use super::slots::typed;
use crate::arrow::{self, boolean_buffer, leaf_array};
use crate::decode::{Aggregator, AnyDecoder, Block, Decodable, Needs, Scratch, StringAggregator};
use crate::error::{Error, Result};
use crate::values::{DecodedValues, StringsBuf, for_words};

/// The schema with these columns as runs with ends of 32 bits: plain columns of any type that is
/// not nested.
pub(crate) fn with_run_ends(schema: &Schema, names: &[String]) -> Result<Schema> {
    with_types(schema, names, |name, ty| {
        Ok(match ty {
            // Few programs know views in runs.
            DataType::Utf8View => run_type(DataType::Utf8),
            DataType::BinaryView => run_type(DataType::Binary),
            DataType::RunEndEncoded(..) => ty.clone(),
            ty if ty.is_nested() || matches!(ty, DataType::Null | DataType::Dictionary(..)) => {
                return Err(Error::invalid(format!(
                    "column {name:?}: a column that is not nested can be read as runs, not {ty}"
                )));
            }
            ty => run_type(ty.clone()),
        })
    })
}

/// The type with the field names of Arrow's constructors.
fn run_type(values: DataType) -> DataType {
    let ends = Field::new("run_ends", DataType::Int32, false);
    DataType::RunEndEncoded(Arc::new(ends), Arc::new(Field::new("values", values, true)))
}

/// Plain values cast to runs.
pub(crate) fn cast_to_runs(plain: &ArrayRef) -> Result<ArrayRef> {
    let parts = partition(std::slice::from_ref(plain))?.ranges();
    let starts: Vec<u32> = parts.iter().map(|part| part.start as u32).collect();
    let ends = parts
        .iter()
        .map(|part| i32::try_from(part.end))
        .collect::<Result<Vec<i32>, _>>();
    let field = Field::new("", plain.data_type().clone(), true);
    runs(
        ends.map_err(|_| too_many(plain.len()))?,
        &arrow::take(&field, plain, &starts)?,
    )
}

fn too_many(rows: usize) -> Error {
    Error::limit(format!("{rows} rows in runs with ends of 32 bits"))
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
    block_rows: usize,
    rows: &Range<usize>,
) -> Result<Option<ArrayRef>> {
    let other = matches!(values, DataType::Boolean | DataType::FixedSizeBinary(_));
    let Some(ty) = reader.leaf.ty.filter(|_| !other) else {
        return Ok(None);
    };
    let found = for_words!(ty,
        T => runs_of(reader, values, block_rows, rows, Words::<T>::default())?,
        _ => runs_of(reader, values, block_rows, rows, Texts::default())?);
    Ok(Some(found))
}

fn runs_of<R: Runs>(
    reader: &ChunkReader<'_>,
    ty: &DataType,
    block_rows: usize,
    rows: &Range<usize>,
    mut found: R,
) -> Result<ArrayRef> {
    let blocks = rows.start / block_rows..rows.end.div_ceil(block_rows);
    let mut out = RowRuns {
        wanted: rows.clone(),
        at: blocks.start * block_rows,
        ..RowRuns::default()
    };
    for number in blocks {
        let opened = reader.open_block(number, false)?;
        let added = opened.with(|block| {
            let first = found.len();
            if let Some(values) = &block.values {
                found.aggregate(values, block.string_bytes)?;
            }
            out.push_block(block, first, &found)
        });
        added.map_err(|e| e.at(|p| p.block = Some(number)))?;
    }
    if i32::try_from(rows.len()).is_err() {
        return Err(too_many(rows.len()));
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

/// Runs of values of blocks, in the order of rows.
trait Runs {
    /// Number of runs.
    fn len(&self) -> usize;
    /// Length of each run.
    fn counts(&self) -> &[u32];
    /// Whether a run has the value of the run before.
    fn repeats(&self, i: usize) -> bool;
    /// Appends the runs of a block.
    fn aggregate(&mut self, values: &AnyDecoder<'_>, string_bytes: usize) -> Result<()>;
    /// The value of each run.
    fn array(self, ty: &DataType) -> Result<ArrayRef>;
}

#[derive(Default)]
struct Words<T> {
    values: Vec<T>,
    counts: Vec<u32>,
    /// First run of the current block, which is not merged with the run before.
    first: usize,
}

impl<T: Decodable> Words<T> {
    fn push(&mut self, value: T, count: u32) {
        let last =
            self.values.last().is_some_and(|last| *last == value) && self.values.len() > self.first;
        if let Some(last) = self.counts.last_mut().filter(|_| last) {
            *last += count;
        } else {
            self.values.push(value);
            self.counts.push(count);
        }
    }
}

impl<T: Decodable> Aggregator<T> for Words<T> {
    fn needs(&self) -> Needs {
        Needs::InOrder
    }

    fn values(&mut self, values: &[T]) -> Result<()> {
        for run in values.chunk_by(|a, b| a == b) {
            if let Some(value) = run.first() {
                self.push(*value, run.len() as u32);
            }
        }
        Ok(())
    }

    fn runs(&mut self, values: &[T], counts: &[u32]) -> Result<()> {
        if values.len() != counts.len() {
            return Err(Error::internal("a count for each run expected"));
        }
        let (Some((first, values)), Some((count, counts))) =
            (values.split_first(), counts.split_first())
        else {
            return Ok(());
        };
        self.push(*first, *count);
        let differ = values.first() != Some(first) && values.array_windows().all(|[a, b]| a != b);
        if differ {
            self.values.extend_from_slice(values);
            self.counts.extend_from_slice(counts);
            return Ok(());
        }
        let runs = values.iter().zip(counts);
        runs.for_each(|(value, count)| self.push(*value, *count));
        Ok(())
    }

    fn sum(&mut self, _: i128) -> Result<()> {
        Ok(())
    }
}

impl<T: Decodable> Runs for Words<T> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn counts(&self) -> &[u32] {
        &self.counts
    }

    fn repeats(&self, i: usize) -> bool {
        i > 0 && self.values.get(i - 1) == self.values.get(i)
    }

    fn aggregate(&mut self, values: &AnyDecoder<'_>, _: usize) -> Result<()> {
        self.first = self.values.len();
        typed::<T>(values)?.aggregate(None, self, &mut Scratch::default())
    }

    fn array(self, ty: &DataType) -> Result<ArrayRef> {
        leaf_array(
            ty,
            DecodedValues::Words(T::TYPE, Buffer::from(as_bytes(&self.values))),
            None,
        )
    }
}

struct Texts {
    strings: StringsBuf,
    counts: Vec<u32>,
    first: usize,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            strings: StringsBuf::new(),
            counts: Vec::new(),
            first: 0,
        }
    }
}

impl StringAggregator for Texts {
    fn in_order(&self) -> bool {
        true
    }

    fn string(&mut self, string: &[u8], count: u32) -> Result<()> {
        let strings = self.strings.as_strings();
        let last = strings.len() > self.first && strings.get(strings.len() - 1) == string;
        match self.counts.last_mut().filter(|_| last) {
            Some(last) => *last += count,
            None if string.len() > (u32::MAX as usize).saturating_sub(self.strings.data.len()) => {
                return Err(Error::limit("runs of strings of more than 4 GiB"));
            }
            None => {
                self.strings.push(string);
                self.counts.push(count);
            }
        }
        Ok(())
    }
}

impl Runs for Texts {
    fn len(&self) -> usize {
        self.counts.len()
    }

    fn counts(&self) -> &[u32] {
        &self.counts
    }

    fn repeats(&self, i: usize) -> bool {
        let strings = self.strings.as_strings();
        i > 0 && i < strings.len() && strings.get(i - 1) == strings.get(i)
    }

    fn aggregate(&mut self, values: &AnyDecoder<'_>, string_bytes: usize) -> Result<()> {
        self.first = self.counts.len();
        let AnyDecoder::Bytes(decoder) = values else {
            return Err(Error::corrupt("byte strings expected"));
        };
        decoder.aggregate(None, string_bytes, self, &mut Scratch::default())
    }

    fn array(self, ty: &DataType) -> Result<ArrayRef> {
        let StringsBuf { offsets, data } = self.strings;
        let large = i32::try_from(data.len()).is_err();
        let offsets = if large {
            Buffer::from_vec(offsets.into_iter().map(i64::from).collect())
        } else {
            Buffer::from_vec(offsets)
        };
        leaf_array(
            ty,
            DecodedValues::Bytes {
                large,
                offsets,
                data: Buffer::from_vec(data),
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
    /// Value of each run, by its number, or NULL.
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
        let same = self.values.last() == Some(&value);
        if let Some(last) = self.ends.last_mut().filter(|_| same) {
            *last = end;
        } else {
            self.values.push(value);
            self.ends.push(end);
        }
    }

    /// Appends the rows of a block, whose runs are those from `first` on.
    fn push_block(&mut self, block: &Block<'_>, first: usize, found: &impl Runs) -> Result<()> {
        // The first run may continue the last one of the block before, or of several.
        let mut own = first;
        while found.repeats(own) {
            own -= 1;
        }
        let value = |i: u32| if i as usize == first { own as u32 } else { i };
        let counts = found.counts().get(first..);
        let counts = counts.ok_or_else(|| Error::internal(format!("no run {first}")))?;
        let mut runs = (first as u32..).map(value).zip(counts.iter().copied());
        let Some(validity) = &block.validity else {
            let whole = self.at >= self.wanted.start && self.at + block.len <= self.wanted.end;
            if let Some((value, count)) = runs.next() {
                self.push(Some(value), count as usize);
            }
            if !whole {
                runs.for_each(|(value, count)| self.push(Some(value), count as usize));
                return Ok(());
            }
            // All rows are wanted, and only the first run can continue one before.
            for (value, count) in runs {
                self.at += count as usize;
                self.values.push(Some(value));
                self.ends.push((self.at - self.wanted.start) as i32);
            }
            return Ok(());
        };
        let (mut value, mut left, mut row) = (0, 0, 0);
        // NULLs may have values, which mean nothing.
        let valued = !block.compacted && block.values.is_some();
        let mut of_rows = |this: &mut Self, mut rows: usize, valid: bool| {
            if !valid && !valued {
                return this.push(None, rows);
            }
            while rows > 0 {
                if left == 0 {
                    let Some((next, count)) = runs.next() else {
                        break;
                    };
                    (value, left) = (next, count as usize);
                }
                let own = rows.min(left);
                this.push(valid.then_some(value), own);
                (rows, left) = (rows - own, left - own);
            }
        };
        for stretch in NullBuffer::new(boolean_buffer(validity.clone())).valid_slices() {
            of_rows(self, stretch.0 - row, false);
            of_rows(self, stretch.1 - stretch.0, true);
            row = stretch.1;
        }
        of_rows(self, block.len - row, false);
        Ok(())
    }
}
