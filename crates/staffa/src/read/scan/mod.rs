//! Scans: which columns, which rows, in batches of which size.
//!
//! Row groups and blocks whose zone maps exclude a match are skipped. The predicate's columns are
//! read first, the others only where some row matches.
//!
//! ```text
//! Scan (builder) -> Reader, ArrowReader: tasks -> decoded ahead by threads -> in order -> offset, limit -> batches
//! ```

mod reader;
mod task;

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
pub use reader::{ArrowReader, Reader};
pub(super) use task::ScanTask;

use self::reader::{Filter, ScanPlan};
use super::File;
use super::batch::{RowRange, RowRanges, STEP_ROWS};
use super::dictionary::with_dictionaries;
use super::prefetch::{Prefetch, thread_pool};
use super::run_ends::with_run_ends;
use crate::arrow::with_string_views;
use crate::error::{Error, Result};
use crate::predicate::Predicate;

/// Bytes of batches decoded ahead of the reader: as many as the pool of memory keeps.
const READ_AHEAD: usize = 64 << 20;

/// A builder for a scan, made by [`File::scan`].
#[derive(Debug, Clone)]
pub struct Scan {
    file: File,
    columns: Option<Vec<String>>,
    filter: Option<Predicate>,
    offset: u64,
    limit: Option<u64>,
    batch_rows: usize,
    string_views: bool,
    dictionaries: Vec<String>,
    run_ends: Vec<String>,
    threads: Option<usize>,
    read_ahead: usize,
    ordered: bool,
    split: Option<Split>,
    loose: bool,
}

/// A share of a scan that can be read by itself: some rows of one row group, made by
/// [`Scan::splits`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split(RowRange);

impl Split {
    /// Its rows, before any filter.
    pub fn num_rows(&self) -> usize {
        self.0.rows.len()
    }
}

impl Scan {
    pub(crate) fn new(file: File) -> Self {
        Self {
            columns: None,
            filter: None,
            offset: 0,
            limit: None,
            batch_rows: STEP_ROWS,
            string_views: false,
            dictionaries: Vec::new(),
            run_ends: Vec::new(),
            threads: None,
            read_ahead: READ_AHEAD,
            ordered: true,
            split: None,
            loose: false,
            file,
        }
    }

    /// Top-level columns by name, in the order wanted; all by default.
    #[must_use]
    pub fn columns<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Only rows for which this is true.
    #[must_use]
    pub fn filter(mut self, predicate: Predicate) -> Self {
        self.filter = Some(predicate);
        self
    }

    /// Largest number of rows.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Skips the first rows (of those that the filter keeps).
    #[must_use]
    pub fn offset(mut self, rows: u64) -> Self {
        self.offset = rows;
        self
    }

    /// Largest number of rows of a batch; 65,536 by default. A batch never spans row groups.
    #[must_use]
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows.max(1);
        self
    }

    /// Strings and binaries as views.
    #[must_use]
    pub fn string_views(mut self, on: bool) -> Self {
        self.string_views = on;
        self
    }

    /// Columns of strings or binaries to read as dictionaries with keys of 32 bits, without a cast
    /// where a dictionary is stored. A batch then has at most the rows of the smallest block of these,
    /// unless other columns are nested, and each batch has its own dictionary.
    #[must_use]
    pub fn dictionaries<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.dictionaries = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Columns of any type that is not nested to read as run-end encoded arrays with ends of 32 bits,
    /// without a cast where runs are stored. Rows of a filter, and columns that are not stored as
    /// runs, are cast. Values that are views become plain strings.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Array, Int64Array, RecordBatch, cast::AsArray, types::Int32Type};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let n = Int64Array::from_iter_values((0..100_000).map(|i| i / 1000));
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(n) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let scan = staffa::File::from_bytes(bytes)?.scan().run_ends(["n"]);
    /// let batch = scan.batch_rows(100_000).reader()?.next().unwrap()?;
    /// let runs = batch.column(0).as_run::<Int32Type>();
    /// assert_eq!((runs.len(), runs.values().len()), (100_000, 100));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn run_ends<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.run_ends = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Number of threads that decode; by default all that the process may use.
    #[must_use]
    pub fn threads(mut self, threads: Option<usize>) -> Self {
        self.threads = threads;
        self
    }

    /// Bytes of batches that threads decode ahead of the reader (64 MiB by default): as many batches
    /// as there are threads, if they fit by the largest so far. All threads work on a batch that is
    /// larger than that.
    #[must_use]
    pub fn read_ahead(mut self, bytes: usize) -> Self {
        self.read_ahead = bytes;
        self
    }

    /// Whether rows come in the order of the file, which is the default. Otherwise batches come as
    /// they are decoded, and an offset or a limit behind a filter counts rows as they come.
    #[must_use]
    pub fn ordered(mut self, on: bool) -> Self {
        self.ordered = on;
        self
    }

    /// The scan cut into splits of about `rows` rows, in the file's order: for engines that read
    /// with threads of their own. Splits are whole blocks; whole row groups where a column that is
    /// read or tested is nested. Splits whose zone maps exclude a match are left out.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..200_000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let scan = staffa::File::from_bytes(bytes)?.scan();
    /// let mut rows = Vec::new();
    /// for split in scan.splits(65_536)? {
    ///     for batch in scan.clone().split(split).reader()? {
    ///         rows.push(batch?.num_rows());
    ///     }
    /// }
    /// assert_eq!(rows, [65_536, 65_536, 65_536, 3_392]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn splits(&self, rows: usize) -> Result<Vec<Split>> {
        let (file, columns, filter) = (&self.file, self.positions()?, self.bound_filter()?);
        let step = if is_flat(file, &columns, filter.as_ref()) {
            rows.max(1).checked_next_multiple_of(STEP_ROWS)
        } else {
            None
        };
        let ranges = RowRanges::of_file(file, step.unwrap_or(usize::MAX));
        let tasks = ranges.map(|range| ScanTask::new(file, range));
        let may_match = |task: &ScanTask<'_>| match &filter {
            Some(filter) => task.may_match(&filter.bound),
            None => true,
        };
        let splits = tasks.filter(may_match);
        Ok(splits.map(|task| Split(task.range)).collect())
    }

    /// Reads only the rows of `split`; offset and limit count within it.
    #[must_use]
    pub fn split(mut self, split: Split) -> Self {
        self.split = Some(split);
        self
    }

    /// The name of [`splits`](Self::splits) before.
    #[deprecated(since = "0.1.0", note = "use `splits`")]
    pub fn parts(&self, rows: usize) -> Result<Vec<Split>> {
        self.splits(rows)
    }

    /// The name of [`split`](Self::split) before.
    #[must_use]
    #[deprecated(since = "0.1.0", note = "use `split`")]
    pub fn part(self, split: Split) -> Self {
        self.split(split)
    }

    /// Whether rows for which the filter is not true may come too: for engines that test again. Where
    /// many rows of a block match, to decode all rows is cheaper than to take some.
    #[must_use]
    pub fn loose(mut self, on: bool) -> Self {
        self.loose = on;
        self
    }

    /// Checks columns and filter against the schema, and begins.
    pub fn reader(self) -> Result<Reader> {
        let read_schema = self.read_schema()?;
        let (columns, filter) = (self.positions()?, self.bound_filter()?);
        let filtered = filter.iter().flat_map(|filter| &filter.columns);
        self.file.check_columns(columns.iter().chain(filtered))?;
        let task_rows = if is_flat(&self.file, &columns, filter.as_ref()) {
            self.batch_rows.checked_next_multiple_of(STEP_ROWS)
        } else {
            None
        };
        let task_rows = match task_rows {
            // The blocks of most columns have as many rows, and a dictionary of their own.
            Some(_) if !self.dictionaries.is_empty() => STEP_ROWS,
            rows => rows.unwrap_or(usize::MAX),
        };
        let ranges = match self.split {
            Some(Split(range)) => RowRanges::within(&self.file, task_rows, range),
            None => RowRanges::of_file(&self.file, task_rows),
        };
        let pool = thread_pool(self.threads)?;
        let schema = Arc::new(read_schema.project(&columns)?);
        let plan = ScanPlan {
            file: self.file,
            columns,
            schema: read_schema,
            filter,
            loose: self.loose,
        };
        Ok(Reader {
            plan: Arc::new(plan),
            schema,
            pool,
            prefetch: Prefetch::new(self.ordered),
            read_ahead: self.read_ahead,
            task_bytes: 0,
            ranges,
            batch_rows: self.batch_rows,
            skip: self.offset,
            left: self.limit.unwrap_or(u64::MAX),
            ready: None,
        })
    }

    /// As [`reader`](Self::reader), as Arrow's [`RecordBatchReader`](arrow_array::RecordBatchReader):
    /// what other libraries of Arrow take.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch, RecordBatchReader};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// fn count(reader: impl RecordBatchReader) -> Result<usize, arrow_schema::ArrowError> {
    ///     assert_eq!(reader.schema().field(0).name(), "n");
    ///     reader.map(|batch| Ok(batch?.num_rows())).sum()
    /// }
    /// let scan = staffa::File::from_bytes(bytes)?.scan();
    /// assert_eq!(count(scan.into_reader()?)?, 1000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_reader(self) -> Result<ArrowReader> {
        self.reader().map(ArrowReader::from)
    }

    /// Positions of the columns.
    fn positions(&self) -> Result<Vec<usize>> {
        match &self.columns {
            Some(names) => self.file.column_positions(names),
            None => Ok((0..self.file.schema().fields().len()).collect()),
        }
    }

    /// The filter, bound to the schema.
    fn bound_filter(&self) -> Result<Option<Filter>> {
        let bind = |predicate: &Predicate| {
            Ok(Filter {
                columns: self.file.tested_columns(predicate)?,
                bound: predicate.bind(self.file.schema())?,
            })
        };
        self.filter.as_ref().map(bind).transpose()
    }

    /// The schema with all columns as they are read.
    fn read_schema(&self) -> Result<SchemaRef> {
        let mut both = self.run_ends.iter();
        if let Some(name) = both.find(|name| self.dictionaries.contains(name)) {
            return Err(Error::invalid(format!(
                "column {name:?}: as a dictionary or as runs, not as both"
            )));
        }
        let mut schema = schema_for(self.file.schema(), self.string_views);
        if !self.dictionaries.is_empty() {
            schema = Arc::new(with_dictionaries(&schema, &self.dictionaries)?);
        }
        if !self.run_ends.is_empty() {
            schema = Arc::new(with_run_ends(&schema, &self.run_ends)?);
        }
        Ok(schema)
    }
}

/// Whether all columns that are read or tested can be read by block.
fn is_flat(file: &File, columns: &[usize], filter: Option<&Filter>) -> bool {
    let tested = filter.into_iter().flat_map(|filter| &filter.columns);
    columns
        .iter()
        .chain(tested)
        .all(|column| file.is_flat(*column))
}

/// The schema with views where strings and binaries are, or as it is.
pub(crate) fn schema_for(schema: &SchemaRef, string_views: bool) -> Arc<Schema> {
    if string_views {
        Arc::new(with_string_views(schema))
    } else {
        schema.clone()
    }
}
