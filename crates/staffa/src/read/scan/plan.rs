//! What a scan does with each task, step by step, and the byte ranges that each step reads.
//!
//! ```text
//! filter: zone maps, the predicate's columns -> rows that match
//! test:   the test's columns in these rows   -> rows that the caller keeps
//! rows:   the other columns in these rows    -> batch
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::filter::{filter, prep_null_mask_filter};

use super::ScanTask;
use super::row_numbers::RowNumbers;
use crate::decode::ChunkSelection;
use crate::error::{Error, Result};
use crate::limits::Cancel;
use crate::predicate::Bound;
use crate::read::File;
use crate::read::admission::Admission;
use crate::read::batch::{RowRange, batch_of, read_batch, read_column};
use crate::read::rows::{GroupSelection, RowReader};
use crate::values::Bitmap;

/// Where more than one row in this many matches, a loose scan decodes all.
const LOOSE: usize = 4;

/// A predicate and the positions of its columns.
#[derive(Debug)]
pub(super) struct Filter {
    pub bound: Bound,
    pub columns: Vec<usize>,
}

/// What the caller runs on columns of the rows that are left.
pub(super) type TestFn = dyn Fn(&RecordBatch) -> Result<BooleanArray> + Send + Sync;

/// A test of the caller and the positions of its columns.
#[derive(Clone)]
pub(super) struct RowTest<C> {
    pub columns: C,
    pub test: Arc<TestFn>,
}

impl<C: fmt::Debug> fmt::Debug for RowTest<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RowTest").field(&self.columns).finish()
    }
}

/// Counts the time of work on a file, where that is wanted.
fn timed<T>(file: &File, work: impl FnOnce() -> T) -> T {
    match &file.reads().metrics {
        Some(metrics) => metrics.work(work),
        None => work(),
    }
}

/// The columns, the filter and the test of every task.
#[derive(Debug)]
pub(super) struct ScanPlan {
    pub columns: Vec<usize>,
    /// All columns, as they are read.
    pub schema: SchemaRef,
    pub filter: Option<Filter>,
    pub test: Option<RowTest<Vec<usize>>>,
    pub loose: bool,
    pub row_numbers: Option<RowNumbers>,
    pub cancel: Cancel,
}

/// Rows of a task that are left.
pub(super) struct Selected {
    task: ScanTask,
    /// A bit for each row of the task; `None` for all.
    rows: Option<Bitmap>,
    /// The test's columns in these rows, by position.
    tested: Vec<(usize, ArrayRef)>,
}

impl Selected {
    /// All rows of a range.
    pub fn all(file: &File, range: RowRange) -> Self {
        Self {
            task: ScanTask::new(file, range),
            rows: None,
            tested: Vec::new(),
        }
    }

    /// Number of rows.
    fn count(&self) -> usize {
        let all = self.task.range.rows.len();
        self.rows.as_ref().map_or(all, Bitmap::count_ones)
    }
}

impl ScanPlan {
    /// Whether rows are left out that only a read can tell.
    pub fn selects(&self) -> bool {
        self.filter.is_some() || self.test.is_some()
    }

    /// Schema of the batches.
    pub fn schema(&self) -> Result<Schema> {
        let schema = self.schema.project(&self.columns)?;
        Ok(match &self.row_numbers {
            Some(numbers) => numbers.schema(&schema),
            None => schema,
        })
    }

    /// All columns that are read.
    pub fn all_columns(&self) -> impl Iterator<Item = usize> + '_ {
        let filtered = self.filter.iter().flat_map(|filter| &filter.columns);
        let tested = self.test.iter().flat_map(|test| &test.columns);
        self.columns.iter().chain(filtered).chain(tested).copied()
    }

    /// All steps of a task; `None` where no row is left.
    pub fn read(&self, file: &File, range: RowRange) -> Result<Option<RecordBatch>> {
        self.rows(&self.test(self.filter(file, range)?)?)
    }

    /// The rows for which the predicate is true.
    pub fn filter(&self, file: &File, range: RowRange) -> Result<Selected> {
        self.cancel.check()?;
        let mut selected = Selected::all(file, range);
        if let Some(filter) = &self.filter {
            let matches = || selected.task.matches(&filter.bound);
            selected.rows = Some(timed(file, matches)?);
        }
        Ok(selected)
    }

    /// Of these the rows that the caller keeps.
    pub fn test(&self, mut selected: Selected) -> Result<Selected> {
        let Some(RowTest { columns, test }) = &self.test else {
            return Ok(selected);
        };
        if selected.count() == 0 {
            return Ok(selected);
        }
        let batch = timed(&selected.task.file, || {
            self.read_columns(columns, &selected)
        })?;
        let kept = test(&batch)?;
        if kept.len() != batch.num_rows() {
            return Err(Error::invalid(format!(
                "a test of {} rows expected, it returned {}",
                batch.num_rows(),
                kept.len()
            )));
        }
        let kept = match kept.nulls() {
            Some(_) => prep_null_mask_filter(&kept),
            None => kept,
        };
        if kept.true_count() < kept.len() {
            let bits = Bitmap::from_bytes(kept.values().values(), kept.offset(), kept.len());
            selected.rows = Some(match &selected.rows {
                Some(rows) => bits.scattered(rows),
                None => bits,
            });
        }
        let columns = columns.iter().zip(batch.columns());
        let wanted = columns.filter(|(column, _)| self.columns.contains(*column));
        let tested = wanted.map(|(column, array)| Ok((*column, filter(array, &kept)?)));
        selected.tested = tested.collect::<Result<_>>()?;
        Ok(selected)
    }

    /// The rows that are left as a batch; `None` where there are none.
    pub fn rows(&self, selected: &Selected) -> Result<Option<RecordBatch>> {
        if selected.count() == 0 && self.selects() {
            return Ok(None);
        }
        self.cancel.check()?;
        let file = &selected.task.file;
        let batch = timed(file, || self.read_columns(&self.columns, selected))?;
        let Some(numbers) = &self.row_numbers else {
            return Ok(Some(batch));
        };
        let (range, rows) = (&selected.task.range, self.rows_to_take(selected));
        numbers.append(&batch, range, rows).map(Some)
    }

    fn read_columns(&self, columns: &[usize], selected: &Selected) -> Result<RecordBatch> {
        let (task, schema) = (&selected.task, &self.schema);
        let tested = |column: usize| {
            let mut tested = selected.tested.iter();
            tested
                .find(|(known, _)| *known == column)
                .map(|(_, array)| array.clone())
        };
        let Some(rows) = self.rows_to_take(selected) else {
            if selected.tested.is_empty() {
                return read_batch(&task.file, columns, schema, &task.range);
            }
            let read = |column| read_column(&task.file, column, schema, &task.range, false);
            let known = |column| tested(column).map_or_else(|| read(column), Ok);
            return batch_of(columns, schema, task.range.rows.len(), known);
        };
        let count = rows.count_ones();
        let rows = ChunkSelection::of_bits(task.range.rows.start as u64, rows.clone());
        let reader = RowReader {
            file: &task.file,
            schema,
            groups: &[GroupSelection::new(task.range.row_group, rows)],
            filtered: Some(&task.opened),
            admission: Admission::None,
        };
        let known = |column| tested(column).map_or_else(|| reader.column(column), Ok);
        batch_of(columns, schema, count, known)
    }

    /// The rows to take out of blocks; `None` where all rows of the task are read.
    fn rows_to_take<'s>(&self, selected: &'s Selected) -> Option<&'s Bitmap> {
        let (count, all) = (selected.count(), selected.task.range.rows.len());
        let rows = selected.rows.as_ref()?;
        // A test is trusted, whatever the filter.
        let loose = self.loose && self.test.is_none();
        (count < all && !(loose && count > all / LOOSE)).then_some(rows)
    }

    /// Adds what [`filter`](Self::filter) reads.
    pub fn add_filter_ranges(
        &self,
        file: &File,
        range: &RowRange,
        out: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let Some(filter) = &self.filter else {
            return Ok(());
        };
        ScanTask::new(file, range.clone()).add_ranges(&filter.bound, out)
    }

    /// Adds what [`test`](Self::test) reads.
    pub fn add_test_ranges(&self, selected: &Selected, out: &mut Vec<Range<u64>>) -> Result<()> {
        let Some(test) = &self.test else {
            return Ok(());
        };
        self.add_ranges(&test.columns, selected, out)
    }

    /// Adds what [`rows`](Self::rows) reads.
    pub fn add_row_ranges(&self, selected: &Selected, out: &mut Vec<Range<u64>>) -> Result<()> {
        let is_tested = |column: &usize| selected.tested.iter().any(|(known, _)| known == column);
        let columns = self.columns.iter().copied();
        let columns: Vec<usize> = columns.filter(|column| !is_tested(column)).collect();
        self.add_ranges(&columns, selected, out)
    }

    fn add_ranges(
        &self,
        columns: &[usize],
        selected: &Selected,
        out: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        if selected.count() == 0 && self.selects() {
            return Ok(());
        }
        let (task, rows) = (&selected.task, self.rows_to_take(selected));
        columns.iter().try_for_each(|column| {
            let (file, range) = (&task.file, &task.range);
            file.add_column_ranges(*column, range, rows, &task.opened, out)
        })
    }
}
