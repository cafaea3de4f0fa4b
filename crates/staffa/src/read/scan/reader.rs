//! The reader of a scan: tasks in the order of the file, decoded ahead of time, cut into batches.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::blocking::BlockingSteps;
use super::plan::ScanPlan;
use super::queue::TaskQueue;
use crate::error::Result;
use crate::limits::Threads;
use crate::read::File;
use crate::read::prefetch::Prefetch;

/// The batches of a [`Scan`](super::Scan).
#[derive(Debug)]
pub struct Reader {
    /// Schema of the batches.
    pub(super) schema: SchemaRef,
    pub(super) tasks: Tasks,
}

/// Where batches come from.
#[derive(Debug)]
pub(super) enum Tasks {
    Local(Box<LocalTasks>),
    /// Of a file that is elsewhere.
    Source(Box<BlockingSteps>),
}

/// Tasks of a file that can be read at any place at any time.
#[derive(Debug)]
pub(super) struct LocalTasks {
    pub file: File,
    pub plan: Arc<ScanPlan>,
    pub threads: Threads,
    /// Tasks in flight.
    pub prefetch: Prefetch<Result<Option<RecordBatch>>>,
    /// Most bytes of tasks in flight.
    pub read_ahead: usize,
    /// Bytes of the largest task so far.
    pub task_bytes: usize,
    pub queue: TaskQueue,
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
}

impl LocalTasks {
    /// The next batch.
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.queue.next_batch() {
                return Ok(Some(batch));
            }
            if self.queue.has_enough() {
                self.end();
            }
            if !self.advance()? {
                return Ok(None);
            }
        }
    }

    /// Takes in what the next task gives; false where there is none.
    fn advance(&mut self) -> Result<bool> {
        let threads = self.threads.count();
        if threads < 2 {
            let Some(task) = self.queue.next_task() else {
                return Ok(false);
            };
            let decoded = self.threads.run(|| self.plan.read(&self.file, task))?;
            decoded.into_iter().for_each(|batch| self.queue.put(batch));
            return Ok(true);
        }
        self.begin(1);
        let Some(decoded) = self.prefetch.take() else {
            return Ok(false);
        };
        let decoded = decoded?;
        let bytes = decoded.as_ref();
        let bytes = bytes.map_or(0, RecordBatch::get_array_memory_size);
        self.task_bytes = self.task_bytes.max(bytes);
        // One more each time, for callers that want only the first rows.
        let most = (self.prefetch.taken() as usize).min(threads);
        self.begin(most.min(self.read_ahead / self.task_bytes.max(1)));
        decoded.into_iter().for_each(|batch| self.queue.put(batch));
        Ok(true)
    }

    /// Begins tasks until `tasks` are in flight.
    fn begin(&mut self, tasks: usize) {
        while self.prefetch.in_flight() < tasks {
            let Some(task) = self.queue.next_task() else {
                return;
            };
            let (plan, file) = (self.plan.clone(), self.file.clone());
            let pool = self.threads.pool();
            self.prefetch.begin(pool, move || plan.read(&file, task));
        }
    }

    /// Ends the scan.
    fn end(&mut self) {
        self.queue.end();
        self.prefetch = Prefetch::new(true);
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.tasks {
            // No batch comes after an error: half a table is not a table.
            Tasks::Local(tasks) => tasks.next().inspect_err(|_| tasks.end()),
            Tasks::Source(steps) => steps.next(),
        };
        next.transpose()
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
