//! Scans: which columns, which rows, in batches of which size.
//!
//! Row groups and blocks whose zone maps exclude a match are skipped. The predicate's columns are
//! read first, the others only where some row matches.
//!
//! ```text
//! units of rows -> begun by the threads ahead of time, as many as there are threads -> in order -> offset, limit -> batches
//! ```

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::File;
use super::dictionary::with_dictionaries;
use super::filter::ScanTask;
use super::prefetch::Prefetch;
use super::run_ends::with_run_ends;
use crate::arrow::with_string_views;
use crate::error::{Error, Result};
use crate::predicate::{Bound, Predicate};

/// Bytes of batches that wait to be asked for: as many as the pool of memory keeps.
const READ_AHEAD: usize = 64 << 20;

/// `ScanPlan` to read of a file: a builder, made by [`File::scan`].
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
pub struct Split {
    row_group: usize,
    rows: Range<usize>,
}

impl Split {
    /// Rows of it, before any filter.
    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }
}

impl Scan {
    pub(crate) fn new(file: File) -> Self {
        let batch_rows = file.footer().block_rows as usize;
        let (columns, filter, limit) = (None, None, None);
        let (threads, read_ahead, ordered) = (None, READ_AHEAD, true);
        let (offset, string_views) = (0, false);
        let (dictionaries, run_ends) = (Vec::new(), Vec::new());
        Self {
            file,
            columns,
            filter,
            offset,
            limit,
            batch_rows,
            string_views,
            dictionaries,
            run_ends,
            threads,
            read_ahead,
            ordered,
            split: None,
            loose: false,
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

    /// At most so many rows.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Not the first so many rows (of those that the filter keeps).
    #[must_use]
    pub fn offset(mut self, rows: u64) -> Self {
        self.offset = rows;
        self
    }

    /// At most so many rows in a batch; a block's rows by default. A batch never spans row groups.
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

    /// These columns of strings or binaries as dictionaries with keys of 32 bits: as they are
    /// stored, where they are stored so. A batch then has at most a block's rows, unless other
    /// columns are nested, and batches have dictionaries of their own.
    #[must_use]
    pub fn dictionaries<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.dictionaries = columns.into_iter().map(Into::into).collect();
        self
    }

    /// These columns as run-ends of 32 bits, of any type that is not nested: where they are stored
    /// in runs, these are handed out as they are, those of several blocks one after another; else,
    /// and of a filter's rows, runs are made. Views are plain strings in them.
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

    /// Threads to decode with; by default all that the process may use.
    #[must_use]
    pub fn threads(mut self, threads: Option<usize>) -> Self {
        self.threads = threads;
        self
    }

    /// Several threads decode ahead of what is asked for: as many batches as there are threads, if
    /// together they take at most so many bytes (64 MiB by default), going by those before. A batch
    /// larger than that has all threads for itself.
    #[must_use]
    pub fn read_ahead(mut self, bytes: usize) -> Self {
        self.read_ahead = bytes;
        self
    }

    /// Whether the rows come in their order in the file, which is the default. Else whatever is
    /// decoded first comes first, and an offset or a limit behind a filter counts rows as they
    /// come.
    #[must_use]
    pub fn ordered(mut self, on: bool) -> Self {
        self.ordered = on;
        self
    }

    /// The scan cut into parts of about so many rows, in the file's order: for engines that read
    /// with threads of their own. Whole blocks; whole row groups where a column that is read or
    /// tested is nested. Row groups whose zone maps exclude a match are left out.
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
        let file = &self.file;
        let columns = match &self.columns {
            Some(names) => file.column_positions(names)?,
            None => (0..file.schema().fields().len()).collect(),
        };
        let tested = self
            .filter
            .as_ref()
            .map_or_else(Vec::new, Predicate::columns);
        let tested = file.column_positions(&tested)?;
        let block_rows = file.footer().block_rows.max(1) as usize;
        let flat = columns.iter().chain(&tested).all(|c| is_flat(file, *c));
        let step = if flat {
            rows.div_ceil(block_rows).max(1).saturating_mul(block_rows)
        } else {
            usize::MAX
        };
        let bound = self
            .filter
            .as_ref()
            .map(|filter| filter.bind(file.schema()))
            .transpose()?;
        let mut splits = Vec::new();
        for (row_group, &count) in file.footer().row_groups.iter().enumerate() {
            let count = count as usize;
            let mut start = 0;
            while start < count {
                let end = start.saturating_add(step).min(count);
                let unit = ScanTask::new(file, row_group, start..end);
                if bound.as_ref().is_none_or(|bound| unit.may_match(bound)) {
                    splits.push(Split {
                        row_group,
                        rows: start..end,
                    });
                }
                start = end;
            }
        }
        Ok(splits)
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

    /// Rows for which the filter is not true may come too: for engines that test again. Where many
    /// rows of a block match, to decode all of it is cheaper than to pick them.
    #[must_use]
    pub fn loose(mut self, on: bool) -> Self {
        self.loose = on;
        self
    }

    /// Checks columns and filter against the schema, and begins.
    pub fn reader(self) -> Result<Reader> {
        let file = self.file;
        let all = file.schema();
        if let Some(name) = self
            .run_ends
            .iter()
            .find(|name| self.dictionaries.contains(name))
        {
            return Err(Error::invalid(format!(
                "column {name:?}: as a dictionary or as runs, not as both"
            )));
        }
        let read_schema = schema_for(all, self.string_views);
        let read_schema = if self.dictionaries.is_empty() {
            read_schema
        } else {
            Arc::new(with_dictionaries(&read_schema, &self.dictionaries)?)
        };
        let read_schema = if self.run_ends.is_empty() {
            read_schema
        } else {
            Arc::new(with_run_ends(&read_schema, &self.run_ends)?)
        };
        let columns = match &self.columns {
            Some(names) => file.column_positions(names)?,
            None => (0..all.fields().len()).collect(),
        };
        let filter = match &self.filter {
            Some(predicate) => {
                let columns = file.column_positions(&predicate.columns())?;
                Some(Filter {
                    bound: predicate.bind(all)?,
                    columns,
                })
            }
            None => None,
        };
        let build = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = self.threads.filter(|n| *n > 0).map(build).transpose();
        let pool = pool.map_err(|e| Error::invalid(format!("no threads: {e}")))?;
        let schema = Arc::new(read_schema.project(&columns)?);
        let wanted = columns.iter().chain(filter.iter().flat_map(|f| &f.columns));
        let nested = wanted.copied().any(|c| !is_flat(&file, c));
        let unit_rows = if nested {
            usize::MAX
        } else {
            let block_rows = file.footer().block_rows as usize;
            let blocks = if self.dictionaries.is_empty() {
                self.batch_rows.div_ceil(block_rows)
            } else {
                1
            };
            blocks.saturating_mul(block_rows)
        };
        let (skip, left) = (self.offset, self.limit.unwrap_or(u64::MAX));
        let loose = self.loose;
        let what = Arc::new(ScanPlan {
            file,
            columns,
            read_schema,
            filter,
            loose,
        });
        let ahead = Prefetch::new(self.ordered);
        let (batch_rows, most_ahead) = (self.batch_rows, self.read_ahead);
        let (unit_bytes, ready) = (0, None);
        let (next, end) = match self.split {
            Some(Split { row_group, rows }) => ((row_group, rows.start), Some(rows.end)),
            None => ((0, 0), None),
        };
        Ok(Reader {
            what,
            schema,
            pool,
            ahead,
            most_ahead,
            unit_bytes,
            unit_rows,
            batch_rows,
            next,
            end,
            skip,
            left,
            ready,
        })
    }
}

pub(crate) fn is_flat(file: &File, column: usize) -> bool {
    let leaves = file.layout().leaves_of(column);
    leaves.len() <= 1
        && leaves
            .clone()
            .all(|leaf| file.leaf(leaf).is_ok_and(|l| l.flat))
}

#[derive(Debug)]
struct Filter {
    bound: Bound,
    columns: Vec<usize>,
}

/// `ScanPlan` is read of each unit of work.
#[derive(Debug)]
struct ScanPlan {
    file: File,
    columns: Vec<usize>,
    /// Of all columns, with views where they are wanted.
    read_schema: SchemaRef,
    filter: Option<Filter>,
    loose: bool,
}

impl ScanPlan {
    fn decode(&self, group: usize, rows: Range<usize>) -> Result<Option<RecordBatch>> {
        let Some(filter) = &self.filter else {
            return self
                .file
                .batch(&self.columns, &self.read_schema, group, rows)
                .map(Some);
        };
        ScanTask::new(&self.file, group, rows).matching(
            &filter.bound,
            &self.columns,
            &self.read_schema,
            self.loose,
        )
    }
}

/// The batches of a [`Scan`].
#[derive(Debug)]
pub struct Reader {
    what: Arc<ScanPlan>,
    /// Of the batches.
    schema: SchemaRef,
    pool: Option<rayon::ThreadPool>,
    /// Units that were begun.
    ahead: Prefetch<Result<Option<RecordBatch>>>,
    /// Bytes that these may take.
    most_ahead: usize,
    /// Bytes that the largest has taken so far.
    unit_bytes: usize,
    /// Rows that are decoded at once.
    unit_rows: usize,
    batch_rows: usize,
    /// The row group of the next unit, and its first row there.
    next: (usize, usize),
    /// Where a part of one row group ends, if it is one.
    end: Option<usize>,
    /// Rows still to be left out.
    skip: u64,
    /// Rows still to be given: without a filter those of units begun are given.
    left: u64,
    /// `ScanPlan` has been decoded and is given out in batches.
    ready: Option<RecordBatch>,
}

impl Reader {
    /// Schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// As Arrow's reader; errors are [`ArrowError::ExternalError`] around an [`Error`].
    pub fn into_arrow(self) -> Box<dyn RecordBatchReader + Send> {
        let schema = self.schema();
        Box::new(RecordBatchIterator::new(
            self.map(|b| b.map_err(|e| ArrowError::ExternalError(Box::new(e)))),
            schema,
        ))
    }

    /// The next unit that has rows.
    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        let threads = self.pool.as_ref().map_or_else(
            rayon::current_num_threads,
            rayon::ThreadPool::current_num_threads,
        );
        loop {
            if self.left == 0 && self.what.filter.is_some() {
                self.end();
            }
            let unit = if threads < 2 {
                let Some((group, rows)) = self.next_unit() else {
                    return Ok(None);
                };
                match &self.pool {
                    Some(pool) => pool.install(|| self.what.decode(group, rows)),
                    None => self.what.decode(group, rows),
                }?
            } else {
                self.read_ahead(1);
                let Some(unit) = self.ahead.take() else {
                    return Ok(None);
                };
                let unit = unit?;
                self.unit_bytes = unit
                    .as_ref()
                    .map_or(0, RecordBatch::get_array_memory_size)
                    .max(self.unit_bytes);
                // One more each time, for who wants only the first rows.
                let most = (self.ahead.taken() as usize).min(threads);
                self.read_ahead(most.min(self.most_ahead / self.unit_bytes.max(1)));
                unit
            };
            if let Some(batch) = unit.and_then(|batch| self.cut(batch)) {
                return Ok(Some(batch));
            }
        }
    }

    /// Begins units until so many are in flight.
    fn read_ahead(&mut self, units: usize) {
        while self.ahead.in_flight() < units {
            let Some((group, rows)) = self.next_unit() else {
                return;
            };
            let what = self.what.clone();
            self.ahead
                .begin(self.pool.as_ref(), move || what.decode(group, rows));
        }
    }

    /// The row group and the rows of the next unit that is not empty.
    fn next_unit(&mut self) -> Option<(usize, Range<usize>)> {
        while self.left > 0 {
            let (group, start) = self.next;
            let rows = *self.what.file.footer().row_groups.get(group)? as usize;
            let end = self.end.unwrap_or(rows).min(rows);
            if start >= end {
                if self.end.is_some() {
                    return None;
                }
                self.next = (group + 1, 0);
                continue;
            }
            let mut unit = start..start.saturating_add(self.unit_rows).min(end);
            self.next.1 = unit.end;
            if self.what.filter.is_none() {
                // Without a filter rows are counted before they are decoded.
                let skipped = self.skip.min(unit.len() as u64) as usize;
                self.skip -= skipped as u64;
                unit.start += skipped;
                unit.end = unit.end.min(
                    unit.start
                        .saturating_add(usize::try_from(self.left).unwrap_or(usize::MAX)),
                );
                self.left -= unit.len() as u64;
            }
            if !unit.is_empty() {
                return Some((group, unit));
            }
        }
        None
    }

    /// Applies offset and limit to what the filter has kept.
    fn cut(&mut self, batch: RecordBatch) -> Option<RecordBatch> {
        if self.what.filter.is_none() {
            return Some(batch);
        }
        let rows = batch.num_rows() as u64;
        let skipped = self.skip.min(rows);
        self.skip -= skipped;
        let kept = (rows - skipped).min(self.left);
        self.left -= kept;
        (kept > 0).then(|| {
            if kept == rows {
                batch
            } else {
                batch.slice(skipped as usize, kept as usize)
            }
        })
    }

    /// Nothing more comes.
    fn end(&mut self) {
        self.left = 0;
        self.ahead = Prefetch::new(true);
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match self.ready.take() {
            Some(batch) => batch,
            None => match self.advance() {
                Ok(batch) => batch?,
                Err(e) => {
                    // After an error nothing more comes: half a table is not a table.
                    self.end();
                    return Some(Err(e));
                }
            },
        };
        if batch.num_rows() <= self.batch_rows {
            return Some(Ok(batch));
        }
        self.ready = Some(batch.slice(self.batch_rows, batch.num_rows() - self.batch_rows));
        Some(Ok(batch.slice(0, self.batch_rows)))
    }
}

/// The schema with views where strings and binaries are, or as it is.
pub(crate) fn schema_for(schema: &SchemaRef, string_views: bool) -> Arc<Schema> {
    if string_views {
        Arc::new(with_string_views(schema))
    } else {
        schema.clone()
    }
}
