//! Columns handed out as runs: a value, and the row at which it ends.
//!
//! ```text
//! blocks under the rows -> what their encodings hand out in order: runs as they are stored, else values one by one
//!                       -> equal neighbours put together, NULLs between them, cut to the rows, blocks joined
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, RunArray, UInt32Array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_ord::partition::partition;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use arrow_select::take::take;
use staffa_kernels::as_bytes;

use super::File;
use crate::arrow::{self, boolean_buffer, leaf_array};
use crate::decode::{
    Aggregator, AnyDecoder, Block, Decodable, Decoder, Needs, Scratch, StringAggregator,
};
use crate::error::{Error, Result};
use crate::values::{DecodedValues, StringsBuf, for_words};

/// The schema with these columns as runs with ends of 32 bits: plain columns of any type that is
/// not nested.
pub(crate) fn with_run_ends(schema: &Schema, names: &[String]) -> Result<Schema> {
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    for name in names {
        let field = fields.iter_mut().find(|field| field.name() == name);
        let field = field.ok_or_else(|| crate::arrow::unknown_column(name, schema))?;
        let values = match field.data_type() {
            // Few programs know views in runs.
            DataType::Utf8View => DataType::Utf8,
            DataType::BinaryView => DataType::Binary,
            DataType::RunEndEncoded(..) => continue,
            ty if ty.is_nested() || matches!(ty, DataType::Null | DataType::Dictionary(..)) => {
                let expected = "columns of values that are not nested are handed out as runs";
                return Err(Error::invalid(format!(
                    "column {name:?}: {expected}, it has {ty}"
                )));
            }
            ty => ty.clone(),
        };
        *field = Arc::new(field.as_ref().clone().with_data_type(run_type(values)));
    }
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// As Arrow's constructors have it.
fn run_type(values: DataType) -> DataType {
    let ends = Field::new("run_ends", DataType::Int32, false);
    DataType::RunEndEncoded(Arc::new(ends), Arc::new(Field::new("values", values, true)))
}

/// Plain values with runs made for them.
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

impl File {
    /// Rows of a flat leaf as runs; `None` where its blocks do not hand values of this type out.
    pub(crate) fn run_rows(
        &self,
        leaf: usize,
        values: &DataType,
        row_group: usize,
        rows: &Range<usize>,
    ) -> Result<Option<ArrayRef>> {
        let ty = self.leaf(leaf)?.ty;
        let Some(ty) =
            ty.filter(|_| !matches!(values, DataType::Boolean | DataType::FixedSizeBinary(_)))
        else {
            return Ok(None);
        };
        let found = for_words!(ty, T => self.runs_of(leaf, values, row_group, rows, Words::<T>::default())?,
            _ => self.runs_of(leaf, values, row_group, rows, Texts::default())?);
        Ok(Some(found))
    }

    fn runs_of<R: Runs>(
        &self,
        leaf: usize,
        ty: &DataType,
        row_group: usize,
        rows: &Range<usize>,
        mut found: R,
    ) -> Result<ArrayRef> {
        let block_rows = self.footer().block_rows.max(1) as usize;
        let mut out = Joined {
            wanted: rows.clone(),
            at: rows.start / block_rows * block_rows,
            ..Joined::default()
        };
        for number in rows.start / block_rows..rows.end.div_ceil(block_rows) {
            let opened = self.opened(leaf, row_group, number)?;
            let added = opened.with(|block| {
                let first = found.len();
                if let Some(values) = &block.values {
                    found.aggregate(values, block.string_bytes)?;
                }
                out.block(block, first, &found);
                Ok(())
            });
            added.map_err(|e: Error| e.at(|p| p.block = Some(number)))?;
        }
        if i32::try_from(rows.len()).is_err() {
            return Err(too_many(rows.len()));
        }
        let Joined { values, ends, .. } = out;
        let all = found.array(ty)?;
        let values = if values.iter().copied().eq((0..all.len() as u32).map(Some)) {
            all
        } else {
            take(&all, &UInt32Array::from(values), None)?
        };
        runs(ends, &values)
    }
}

/// Values of blocks with how often each is there, in the order of rows.
trait Runs {
    /// How many there are.
    fn len(&self) -> usize;
    fn counts(&self) -> &[u32];
    /// Whether this one is the same as the one before.
    fn again(&self, i: usize) -> bool;
    /// Those of one block more.
    fn aggregate(&mut self, values: &AnyDecoder<'_>, string_bytes: usize) -> Result<()>;
    /// All values.
    fn array(self, ty: &DataType) -> Result<ArrayRef>;
}

#[derive(Default)]
struct Words<T> {
    values: Vec<T>,
    counts: Vec<u32>,
    /// Where the block at hand begins: its first value does not add to the last one before it.
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
        values.chunk_by(|a, b| a == b).for_each(|run| {
            run.first()
                .into_iter()
                .for_each(|value| self.push(*value, run.len() as u32));
        });
        Ok(())
    }

    fn runs(&mut self, values: &[T], counts: &[u32]) -> Result<()> {
        let (Some((first, others)), Some((count, other_counts))) =
            (values.split_first(), counts.split_first())
        else {
            return Ok(());
        };
        self.push(*first, *count);
        if values.len() == counts.len() && values.array_windows().all(|[a, b]| a != b) {
            self.values.extend_from_slice(others);
            self.counts.extend_from_slice(other_counts);
            return Ok(());
        }
        others
            .iter()
            .zip(other_counts)
            .for_each(|(value, count)| self.push(*value, *count));
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

    fn again(&self, i: usize) -> bool {
        i > 0 && self.values.get(i - 1) == self.values.get(i)
    }

    fn aggregate(&mut self, values: &AnyDecoder<'_>, _: usize) -> Result<()> {
        self.first = self.values.len();
        let decoder: &dyn Decoder<T> = T::peek(values)
            .ok_or_else(|| Error::corrupt(format!("values of {:?} expected", T::TYPE)))?;
        decoder.aggregate(None, self, &mut Scratch::default())
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

    fn again(&self, i: usize) -> bool {
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

/// Runs of rows out of runs of values.
#[derive(Default)]
struct Joined {
    /// Rows of the row group.
    wanted: Range<usize>,
    /// The next row.
    at: usize,
    /// For each run, which value it is of, or NULL.
    values: Vec<Option<u32>>,
    /// Where it ends, from the first row wanted on.
    ends: Vec<i32>,
}

impl Joined {
    /// So many rows of a value, or NULLs.
    fn push(&mut self, value: Option<u32>, rows: usize) {
        self.at += rows;
        let (start, end) = (self.wanted.start, self.at.min(self.wanted.end));
        if end <= start.max(self.at - rows) {
            return;
        }
        let end = (end - start) as i32;
        if let Some(last) = self
            .ends
            .last_mut()
            .filter(|_| self.values.last() == Some(&value))
        {
            *last = end;
        } else {
            self.values.push(value);
            self.ends.push(end);
        }
    }

    /// The rows of a block, whose values are those from `first` on.
    fn block(&mut self, block: &Block<'_>, first: usize, found: &impl Runs) {
        // The first value may go on from the block before, or from several.
        let mut own = first;
        while found.again(own) {
            own -= 1;
        }
        let value = |i: u32| if i as usize == first { own as u32 } else { i };
        let mut runs = (first as u32..)
            .map(value)
            .zip(found.counts().iter().skip(first).copied());
        let Some(validity) = &block.validity else {
            // The first may go on. Of a block whose rows are all wanted no other one does.
            let whole = self.at >= self.wanted.start && self.at + block.len <= self.wanted.end;
            runs.by_ref()
                .take(1)
                .for_each(|(value, count)| self.push(Some(value), count as usize));
            if !whole {
                return runs.for_each(|(value, count)| self.push(Some(value), count as usize));
            }
            for (value, count) in runs {
                self.at += count as usize;
                self.values.push(Some(value));
                self.ends.push((self.at - self.wanted.start) as i32);
            }
            return;
        };
        let (mut value, mut left, mut row) = (0, 0, 0);
        // Of NULLs there may be values, which mean nothing.
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
    }
}
