//! The batches of a file or of a range of it, as the plan wants them.
//!
//! ```text
//! parts, read here or requested -> batches -> what is left of the filters -> joined to full batches
//! -> limit -> projection
//! ```

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::arrow::compute::{BatchCoalescer, filter_record_batch};
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;
use datafusion::object_store::path::Path;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::Projector;
use futures::{Stream, stream};
use tokio::sync::Semaphore;

use crate::files::OpenFile;
use crate::metrics::Counters;
use crate::parts::Parts;
use crate::plan::FilePlan;
use crate::remote::RemoteParts;

/// Which rows of a file are wanted, and in which form.
pub(crate) struct Wanted {
    /// Parts that begin in this range of the file.
    pub bytes: Range<u64>,
    pub batch_rows: usize,
    pub limit: Option<usize>,
    /// From the last part to the first.
    pub reversed: bool,
    /// Blocks from the cache of the process, and into it.
    pub cached: bool,
    /// Partitions that read at the same time.
    pub partitions: usize,
    /// Requests that they may make at the same time.
    pub permits: Arc<Semaphore>,
}

/// What gives the rows that pass the filters, as they are decoded.
enum Source {
    Local(Box<Parts>),
    Remote(Box<RemoteParts>),
}

/// The batches of one file. Decoding is done by whoever asks for the next one.
pub(crate) struct Batches {
    source: Source,
    residual: Option<Arc<dyn PhysicalExpr>>,
    projector: Projector,
    /// Joins what filters leave of parts; none where all rows stay.
    coalescer: Option<BatchCoalescer>,
    rows_left: usize,
}

impl Batches {
    pub fn new(
        open: OpenFile,
        location: Path,
        plan: FilePlan,
        wanted: &Wanted,
        counters: Counters,
    ) -> Result<Self> {
        let batch_rows = wanted.batch_rows;
        let is_filtered =
            !plan.predicate.is_empty() || plan.residual.is_some() || !plan.dynamic.is_empty();
        // A batch without columns has nothing to join.
        let is_joined = is_filtered && !plan.columns.is_empty();
        let coalescer = || {
            BatchCoalescer::new(plan.read_schema.clone(), batch_rows)
                .with_biggest_coalesce_batch_size(Some(batch_rows / 2))
        };
        let coalescer = is_joined.then(coalescer);
        let (residual, projector) = (plan.residual.clone(), plan.projector.clone());
        let source = match open.object {
            None => {
                let parts = Parts::new(&open.file, location, plan, wanted, counters)?;
                Source::Local(Box::new(parts))
            }
            Some(object) => {
                let parts = RemoteParts::new(&open.file, object, plan, wanted, counters)?;
                Source::Remote(Box::new(parts))
            }
        };
        Ok(Self {
            source,
            residual,
            projector,
            coalescer,
            rows_left: wanted.limit.unwrap_or(usize::MAX),
        })
    }

    /// The batches as a stream, which ends behind an error.
    pub fn into_stream(self) -> impl Stream<Item = Result<RecordBatch>> + Send {
        stream::unfold(Some(self), |batches| async {
            let mut batches = batches?;
            match batches.advance().await {
                Ok(Some(batch)) => Some((Ok(batch), Some(batches))),
                Ok(None) => None,
                Err(e) => Some((Err(e), None)),
            }
        })
    }

    /// The next batch, projected; `None` at the end.
    async fn advance(&mut self) -> Result<Option<RecordBatch>> {
        while self.rows_left > 0 {
            let ready = self.coalescer.as_mut();
            let mut batch = ready.and_then(BatchCoalescer::next_completed_batch);
            if batch.is_none() {
                batch = match (self.read().await?, &mut self.coalescer) {
                    (Some(read), Some(coalescer)) => {
                        coalescer.push_batch(read)?;
                        continue;
                    }
                    (Some(read), None) => Some(read),
                    (None, Some(coalescer)) if !coalescer.is_empty() => {
                        coalescer.finish_buffered_batch()?;
                        continue;
                    }
                    (None, _) => return Ok(None),
                };
            }
            if let Some(batch) = batch {
                let rows = batch.num_rows().min(self.rows_left);
                self.rows_left -= rows;
                let batch = self.projector.project_batch(&batch.slice(0, rows));
                return batch.map(Some);
            }
        }
        Ok(None)
    }

    /// The next rows that pass all filters.
    async fn read(&mut self) -> Result<Option<RecordBatch>> {
        let batch = match &mut self.source {
            Source::Local(parts) => parts.next()?,
            Source::Remote(parts) => parts.next().await?,
        };
        let filtered = batch.map(|batch| match &self.residual {
            Some(residual) => Ok(filter_record_batch(&batch, &rows_of(residual, &batch)?)?),
            None => Ok(batch),
        });
        filtered.transpose()
    }
}

/// The rows for which an expression is true.
fn rows_of(test: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let array = test.evaluate(batch)?.into_array(batch.num_rows())?;
    Ok(as_boolean_array(&array)?.clone())
}
