//! Sorting of a table within a limit of memory.
//!
//! ```text
//! batches -> runs of at most a third of the limit, sorted, written to temporary files -> merged, batch by batch
//! ```
//!
//! A table that fits is sorted in memory, without files.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_cast::cast;
use arrow_row::{OwnedRow, RowConverter, SortField};
use arrow_schema::{DataType, Schema, SchemaRef, SortOptions};
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave_record_batch;
use arrow_select::take::take_record_batch;
use staffa::{Error, File, Reader, Result, SortKey, WriteOptions, Writer};
use tempfile::TempDir;

use super::widen::decoded;

/// Rows of a merged batch.
const BATCH_ROWS: usize = 8192;

/// Sorts batches by keys; holds at most about `memory` bytes of them.
pub(super) struct Sorter {
    schema: SchemaRef,
    keys: Keys,
    memory: u64,
    waiting: Vec<RecordBatch>,
    waiting_bytes: u64,
    runs: Vec<File>,
    /// Of the runs, once there is one.
    folder: Option<TempDir>,
}

/// Rows of the key columns that compare as bytes.
struct Keys {
    columns: Vec<usize>,
    rows: RowConverter,
}

impl Keys {
    fn new(schema: &Schema, keys: &[SortKey]) -> Result<Self> {
        let (mut columns, mut fields) = (Vec::new(), Vec::new());
        for key in keys {
            let Some((at, field)) = schema.column_with_name(&key.column) else {
                return Err(Error::invalid(format!(
                    "sort: there is no column {:?}",
                    key.column
                )));
            };
            let ty = decoded(field.data_type());
            if ty.is_nested() {
                return Err(Error::invalid(format!(
                    "sort: column {:?} must have numbers, booleans, times, strings or binaries, found {ty}",
                    key.column
                )));
            }
            let order = SortOptions {
                descending: key.descending,
                nulls_first: key.nulls_first,
            };
            columns.push(at);
            fields.push(SortField::new_with_options(ty.clone(), order));
        }
        Ok(Self {
            columns,
            rows: RowConverter::new(fields)?,
        })
    }

    fn of(&self, batch: &RecordBatch) -> Result<arrow_row::Rows> {
        let column = |at: &usize| {
            Ok(normalized(&cast(
                batch.column(*at),
                decoded(batch.column(*at).data_type()),
            )?))
        };
        let columns = self
            .columns
            .iter()
            .map(column)
            .collect::<Result<Vec<_>>>()?;
        Ok(self.rows.convert_columns(&columns)?)
    }

    /// The rows in order; equal ones as they came.
    fn sorted(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = self.of(batch)?;
        let mut order: Vec<u64> = (0..batch.num_rows() as u64).collect();
        order.sort_by(|a, b| rows.row(*a as usize).cmp(&rows.row(*b as usize)));
        Ok(take_record_batch(batch, &UInt64Array::from(order))?)
    }
}

/// Floats of which -0.0 and 0.0, and all NaNs, are one value, as the declared order has them.
fn normalized(column: &ArrayRef) -> ArrayRef {
    macro_rules! floats {
        ($ty:ty, $native:ty) => {{
            let one = |value: $native| {
                if value.is_nan() {
                    <$native>::NAN
                } else {
                    value + <$native>::default()
                }
            };
            Arc::new(column.as_primitive::<$ty>().unary::<_, $ty>(one))
        }};
    }
    match column.data_type() {
        DataType::Float16 => {
            type Half = <Float16Type as arrow_array::ArrowPrimitiveType>::Native;
            floats!(Float16Type, Half)
        }
        DataType::Float32 => floats!(Float32Type, f32),
        DataType::Float64 => floats!(Float64Type, f64),
        _ => column.clone(),
    }
}

impl Sorter {
    pub(super) fn new(schema: SchemaRef, keys: &[SortKey], memory: u64) -> Result<Self> {
        Ok(Self {
            keys: Keys::new(&schema, keys)?,
            schema,
            memory,
            waiting: Vec::new(),
            waiting_bytes: 0,
            runs: Vec::new(),
            folder: None,
        })
    }

    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.waiting_bytes += batch.get_array_memory_size() as u64;
        self.waiting.push(batch);
        // All of them in one batch are a copy, and the sorted ones another.
        if self.waiting_bytes > self.memory / 3 {
            self.write_run()?;
        }
        Ok(())
    }

    /// The rows that wait, sorted.
    fn sort_waiting(&mut self) -> Result<RecordBatch> {
        let batch = concat_batches(&self.schema, &self.waiting)?;
        self.waiting.clear();
        self.waiting_bytes = 0;
        self.keys.sorted(&batch)
    }

    fn write_run(&mut self) -> Result<()> {
        let sorted = self.sort_waiting()?;
        let folder = if let Some(folder) = self.folder.take() {
            folder
        } else {
            let folder = tempfile::Builder::new().prefix(".staffa-").tempdir();
            folder.map_err(|e| Error::io("a temporary folder", e))?
        };
        let path = folder.path().join(self.runs.len().to_string());
        self.folder = Some(folder);
        let options = WriteOptions::new()
            .profile(staffa::Profile::Fast)
            .derived_columns(false);
        let mut writer = Writer::create(&path, self.schema.clone(), options)?;
        writer.write(&sorted)?;
        writer.finish()?;
        self.runs.push(File::open(&path)?);
        Ok(())
    }

    /// Hands all rows on in order.
    pub(super) fn finish(mut self, each: &mut dyn FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        if self.runs.is_empty() {
            let sorted = self.sort_waiting()?;
            for start in (0..sorted.num_rows()).step_by(BATCH_ROWS) {
                each(&sorted.slice(start, BATCH_ROWS.min(sorted.num_rows() - start)))?;
            }
            return Ok(());
        }
        if !self.waiting.is_empty() {
            self.write_run()?;
        }
        let readers = self
            .runs
            .iter()
            .map(|run| run.scan().batch_rows(BATCH_ROWS).reader());
        let readers = readers.collect::<Result<Vec<_>>>()?;
        Merge::new(&self.keys, readers)?.run(each)
    }
}

/// Runs that are merged.
struct Merge<'k> {
    keys: &'k Keys,
    readers: Vec<Reader>,
    /// The current batch of each run, and its keys.
    current: Vec<Option<(RecordBatch, arrow_row::Rows)>>,
    /// The next row of each run that has one: of equal ones that of the first run.
    next: BinaryHeap<Reverse<(OwnedRow, usize, usize)>>,
}

impl<'k> Merge<'k> {
    fn new(keys: &'k Keys, readers: Vec<Reader>) -> Result<Self> {
        let mut merge = Self {
            keys,
            current: readers.iter().map(|_| None).collect(),
            readers,
            next: BinaryHeap::new(),
        };
        for run in 0..merge.readers.len() {
            merge.read(run)?;
        }
        Ok(merge)
    }

    /// Reads the next batch of a run.
    fn read(&mut self, run: usize) -> Result<()> {
        let reader = self.readers.get_mut(run);
        let batch = reader.and_then(Iterator::next).transpose()?;
        let read = match batch {
            Some(batch) => {
                let rows = self.keys.of(&batch)?;
                self.next.push(Reverse((rows.row(0).owned(), run, 0)));
                Some((batch, rows))
            }
            None => None,
        };
        if let Some(current) = self.current.get_mut(run) {
            *current = read;
        }
        Ok(())
    }

    fn run(mut self, each: &mut dyn FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let mut taken: Vec<(usize, usize)> = Vec::with_capacity(BATCH_ROWS);
        while let Some(Reverse((_, run, row))) = self.next.pop() {
            taken.push((run, row));
            let current = self.current.get(run).and_then(Option::as_ref);
            let (batch, rows) = current.ok_or_else(|| Error::internal("a run without rows"))?;
            let is_last = row + 1 == batch.num_rows();
            if !is_last {
                self.next
                    .push(Reverse((rows.row(row + 1).owned(), run, row + 1)));
            }
            // Rows that were taken are in batches that are still there.
            if is_last || taken.len() == BATCH_ROWS {
                self.hand_on(&mut taken, each)?;
            }
            if is_last {
                self.read(run)?;
            }
        }
        self.hand_on(&mut taken, each)
    }

    fn hand_on(
        &self,
        taken: &mut Vec<(usize, usize)>,
        each: &mut dyn FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        if taken.is_empty() {
            return Ok(());
        }
        let mut batches = Vec::new();
        let mut places = vec![None; self.current.len()];
        for (run, current) in self.current.iter().enumerate() {
            if let (Some((batch, _)), Some(place)) = (current, places.get_mut(run)) {
                *place = Some(batches.len());
                batches.push(batch);
            }
        }
        let place = |(run, row): &(usize, usize)| {
            let place = places.get(*run).copied().flatten();
            Ok((
                place.ok_or_else(|| Error::internal("a row of a run that ended"))?,
                *row,
            ))
        };
        let indices = taken.iter().map(place).collect::<Result<Vec<_>>>()?;
        taken.clear();
        each(&interleave_record_batch(&batches, &indices)?)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int64Type;
    use arrow_array::{Float64Array, Int64Array};

    use super::*;

    #[test]
    fn rows_are_sorted_in_memory_or_by_runs() {
        let mix = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as i64 % 500;
        let batch = |from: u64| {
            let rows = from..from + 1000;
            let keys = rows.clone().map(|i| (i % 7 > 0).then(|| mix(i)));
            RecordBatch::try_from_iter([
                ("k", Arc::new(keys.collect::<Int64Array>()) as ArrayRef),
                (
                    "row",
                    Arc::new(Int64Array::from_iter_values(rows.map(|i| i as i64))) as ArrayRef,
                ),
            ])
            .unwrap()
        };
        let sorted = |memory| {
            let key = "k desc".parse().unwrap();
            let mut sorter = Sorter::new(batch(0).schema(), &[key], memory).unwrap();
            (0..40).for_each(|i| sorter.push(batch(i * 1000)).unwrap());
            let runs = sorter.runs.len();
            let mut out = Vec::new();
            sorter
                .finish(&mut |batch| {
                    out.push(batch.clone());
                    Ok(())
                })
                .unwrap();
            (concat_batches(&batch(0).schema(), &out).unwrap(), runs)
        };
        let (all, runs) = sorted(1 << 30);
        assert_eq!((all.num_rows(), runs), (40_000, 0));
        let (merged, runs) = sorted(200 << 10);
        assert!(runs > 3, "{runs}");
        assert_eq!(merged, all, "also the order of equal keys");
        let keys = all.column(0).as_primitive::<Int64Type>();
        let pairs = keys.iter().zip(keys.iter().skip(1));
        for (before, after) in pairs {
            assert!(before.is_none() && after.is_none() || before.is_some() && after <= before);
        }
    }

    #[test]
    fn zeros_and_nans_are_one_value() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, 0.0, f64::NAN, -f64::NAN]));
        let found = normalized(&floats);
        let bits: Vec<u64> = found
            .as_primitive::<Float64Type>()
            .values()
            .iter()
            .map(|v| v.to_bits())
            .collect();
        assert_eq!((bits[0], bits[2]), (bits[1], bits[3]));
    }
}
