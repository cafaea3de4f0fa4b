//! The reader of a scan: tasks in the order of the file, decoded ahead of time, cut into batches.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use rayon::ThreadPool;

use super::ScanTask;
use crate::error::Result;
use crate::predicate::Bound;
use crate::read::File;
use crate::read::batch::{RowRange, RowRanges, read_batch};
use crate::read::prefetch::Prefetch;

/// A predicate and the positions of its columns.
#[derive(Debug)]
pub(super) struct Filter {
    pub bound: Bound,
    pub columns: Vec<usize>,
}

/// The columns and the filter of every task.
#[derive(Debug)]
pub(super) struct ScanPlan {
    pub file: File,
    pub columns: Vec<usize>,
    /// All columns, as they are read.
    pub schema: SchemaRef,
    pub filter: Option<Filter>,
    pub loose: bool,
}

impl ScanPlan {
    fn decode(&self, range: RowRange) -> Result<Option<RecordBatch>> {
        let (file, columns, schema) = (&self.file, &self.columns, &self.schema);
        match &self.filter {
            None => read_batch(file, columns, schema, &range).map(Some),
            Some(Filter { bound, .. }) => {
                ScanTask::new(file, range).read(bound, columns, schema, self.loose)
            }
        }
    }
}

/// The batches of a [`Scan`](super::Scan).
#[derive(Debug)]
pub struct Reader {
    pub(super) plan: Arc<ScanPlan>,
    /// Schema of the batches.
    pub(super) schema: SchemaRef,
    pub(super) pool: Option<ThreadPool>,
    /// Tasks in flight.
    pub(super) prefetch: Prefetch<Result<Option<RecordBatch>>>,
    /// Most bytes of tasks in flight.
    pub(super) read_ahead: usize,
    /// Bytes of the largest task so far.
    pub(super) task_bytes: usize,
    /// Rows of the next tasks.
    pub(super) ranges: RowRanges,
    pub(super) batch_rows: usize,
    /// Rows still to be skipped.
    pub(super) skip: u64,
    /// Rows still to be returned; without a filter tasks in flight count as returned.
    pub(super) left: u64,
    /// A decoded task, returned batch by batch.
    pub(super) ready: Option<RecordBatch>,
}

impl Reader {
    /// Schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Former form of [`ArrowReader::from`].
    #[deprecated(since = "0.1.0", note = "use `Scan::into_reader`")]
    pub fn into_arrow(self) -> Box<dyn RecordBatchReader + Send> {
        Box::new(ArrowReader(self))
    }

    /// The next task that has rows.
    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        let threads = match &self.pool {
            Some(pool) => pool.current_num_threads(),
            None => rayon::current_num_threads(),
        };
        loop {
            if self.left == 0 && self.plan.filter.is_some() {
                self.end();
            }
            let decoded = if threads < 2 {
                let Some(task) = self.next_task() else {
                    return Ok(None);
                };
                match &self.pool {
                    Some(pool) => pool.install(|| self.plan.decode(task)),
                    None => self.plan.decode(task),
                }?
            } else {
                self.begin(1);
                let Some(decoded) = self.prefetch.take() else {
                    return Ok(None);
                };
                let decoded = decoded?;
                let bytes = decoded.as_ref();
                let bytes = bytes.map_or(0, RecordBatch::get_array_memory_size);
                self.task_bytes = self.task_bytes.max(bytes);
                // One more each time, for callers that want only the first rows.
                let most = (self.prefetch.taken() as usize).min(threads);
                self.begin(most.min(self.read_ahead / self.task_bytes.max(1)));
                decoded
            };
            if let Some(batch) = decoded.and_then(|batch| self.cut(batch)) {
                return Ok(Some(batch));
            }
        }
    }

    /// Begins tasks until `tasks` are in flight.
    fn begin(&mut self, tasks: usize) {
        while self.prefetch.in_flight() < tasks {
            let Some(task) = self.next_task() else {
                return;
            };
            let plan = self.plan.clone();
            let pool = self.pool.as_ref();
            self.prefetch.begin(pool, move || plan.decode(task));
        }
    }

    /// The rows of the next task that is not empty.
    fn next_task(&mut self) -> Option<RowRange> {
        while self.left > 0 {
            let mut range = self.ranges.next()?;
            if self.plan.filter.is_none() {
                // Without a filter rows are counted before they are decoded.
                let rows = &mut range.rows;
                let skipped = self.skip.min(rows.len() as u64);
                self.skip -= skipped;
                rows.start += skipped as usize;
                let kept = self.left.min(rows.len() as u64);
                self.left -= kept;
                rows.end = rows.start + kept as usize;
            }
            if !range.rows.is_empty() {
                return Some(range);
            }
        }
        None
    }

    /// Applies offset and limit to the rows of a filter.
    fn cut(&mut self, batch: RecordBatch) -> Option<RecordBatch> {
        if self.plan.filter.is_none() {
            return Some(batch);
        }
        let rows = batch.num_rows() as u64;
        let skipped = self.skip.min(rows);
        self.skip -= skipped;
        let kept = (rows - skipped).min(self.left);
        self.left -= kept;
        (kept > 0).then(|| batch.slice(skipped as usize, kept as usize))
    }

    /// Ends the scan.
    fn end(&mut self) {
        self.left = 0;
        self.prefetch = Prefetch::new(true);
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
                    // No batch comes after an error: half a table is not a table.
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

/// The batches of a [`Scan`](super::Scan) as Arrow's [`RecordBatchReader`]; errors of
/// Arrow are handed on, all others are [`ArrowError::ExternalError`] around an
/// [`Error`](crate::Error).
#[derive(Debug)]
pub struct ArrowReader(Reader);

impl From<Reader> for ArrowReader {
    fn from(reader: Reader) -> Self {
        Self(reader)
    }
}

impl Iterator for ArrowReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|batch| batch.map_err(ArrowError::from))
    }
}

impl RecordBatchReader for ArrowReader {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}
