//! The parts of a file in a remote store: requested as the scan plans them, ahead of the batches.
//!
//! ```text
//! Steps -> needs ranges -> requests, in order -> bytes -> Steps -> batches
//! ```

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::object_store::path::Path;
use staffa::{File, Predicate, Scan, Step, Steps};

use crate::batches::Wanted;
use crate::dynamic::{DynamicFilters, LaterFilters};
use crate::files;
use crate::metrics::Counters;
use crate::objects::{Object, Requests};
use crate::parts::{Cut, count_parts, filtered, scan_of};
use crate::plan::FilePlan;

/// Bytes that all partitions together ask for ahead of the batches, and the least of one.
const AHEAD_BYTES: u64 = 128 << 20;
const LEAST_AHEAD_BYTES: u64 = 8 << 20;

/// The parts of one file, whose bytes are requested.
pub(crate) struct RemoteParts {
    file: File,
    location: Path,
    steps: Steps,
    requests: Requests,
    predicate: Vec<Predicate>,
    /// Parts that are not counted yet: which of them are skipped is known once zone maps are read.
    uncounted: Option<Cut>,
    counters: Counters,
}

impl RemoteParts {
    pub fn new(
        file: &File,
        object: Arc<Object>,
        plan: FilePlan,
        wanted: &Wanted,
        counters: Counters,
    ) -> Result<Self> {
        let location = object.meta().location.clone();
        let place = |e| files::error(&location, e);
        let partitions = wanted.partitions.max(1) as u64;
        let prefetch_bytes = (AHEAD_BYTES / partitions).max(LEAST_AHEAD_BYTES);
        let scan = scan_of(file, &plan, wanted).prefetch_bytes(prefetch_bytes);
        let cut = Cut::new(&scan, file, &plan, wanted).map_err(place)?;
        let mut splits = cut.splits(&[]).map_err(place)?;
        if wanted.reversed {
            splits.reverse();
        }
        let mut predicate = plan.predicate;
        let mut later = None;
        if !plan.dynamic.is_empty() {
            let filters = DynamicFilters::new(plan.dynamic, plan.schema, &counters);
            let (predicates, filters) = LaterFilters::new(filters)?;
            predicate.extend(predicates);
            later = Some(filters);
        }
        let mut planned = filtered(scan, predicate.clone());
        if let Some(filters) = later {
            planned = with_test(planned, filters);
        }
        if let (Some(limit), None) = (wanted.limit, &plan.residual) {
            planned = planned.limit(limit as u64);
        }
        let steps = planned.several_splits(splits).steps();
        Ok(Self {
            file: file.clone(),
            steps: steps.map_err(place)?,
            location,
            requests: Requests::new(object, wanted.permits.clone()),
            predicate,
            uncounted: Some(cut),
            counters,
        })
    }

    /// The next rows that pass the filters, as they are decoded.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let timer = self.counters.decode_time.timer();
            let step = self.steps.next();
            drop(timer);
            match step.map_err(|e| files::error(&self.location, e))? {
                Step::Needs(ranges) => {
                    ranges
                        .into_iter()
                        .for_each(|range| self.requests.begin(range));
                }
                Step::Wait => self.wait().await?,
                Step::Batch(batch) => {
                    self.count()?;
                    return Ok(Some(batch));
                }
                Step::Done => {
                    self.count()?;
                    return Ok(None);
                }
                step => {
                    let what = format!("a step of a scan that is not known: {step:?}");
                    return Err(DataFusionError::Internal(what));
                }
            }
        }
    }

    /// Waits for the next answer.
    async fn wait(&mut self) -> Result<()> {
        let timer = self.counters.wait_time.timer();
        let answer = self.requests.next().await;
        drop(timer);
        self.requests.count(&self.counters);
        let Some((range, bytes)) = answer? else {
            let what = "a scan that waits for no request".to_owned();
            return Err(DataFusionError::Internal(what));
        };
        let given = self.steps.give(&range, bytes);
        given.map_err(|e| files::error(&self.location, e))
    }

    /// Counts the parts, once their zone maps were read.
    fn count(&mut self) -> Result<()> {
        let Some(cut) = self.uncounted.take() else {
            return Ok(());
        };
        let place = |e| files::error(&self.location, e);
        let all = cut.splits(&[]).map_err(place)?;
        let matching = cut.splits(&self.predicate).map_err(place)?;
        count_parts(&self.file, &all, &matching, &self.counters);
        Ok(())
    }
}

/// The scan with what dynamic filters say when each of its rows is tested.
fn with_test(scan: Scan, filters: LaterFilters) -> Scan {
    let columns = filters.columns();
    if columns.is_empty() {
        return scan;
    }
    let filters = Mutex::new(filters);
    scan.test(columns, move |batch| {
        let mut filters = filters.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = filters.keep(batch);
        kept.map_err(|e| staffa::Error::invalid(format!("a dynamic filter: {e}")))
    })
}
