//! The batches of a file or of a range of it, part by part.
//!
//! ```text
//! parts of 65,536 rows that begin in the range -> zone maps -> predicate, with what dynamic filters
//! say by now -> batches -> what is left of the filters -> joined to full batches -> projection
//! ```

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::arrow::compute::{BatchCoalescer, filter_record_batch};
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;
use datafusion::object_store::path::Path;
use datafusion::physical_expr::PhysicalExpr;
use staffa::{File, Predicate, Reader, Scan, Split};

use crate::dynamic::DynamicFilters;
use crate::files;
use crate::metrics::Counters;
use crate::plan::FilePlan;

/// Rows of a part where no column is nested: those of the largest block.
const PART_ROWS: usize = 65_536;

/// Which rows of a file are wanted, and in which form.
pub(crate) struct Wanted {
    /// Parts that begin in this range of the file.
    pub bytes: Range<u64>,
    pub batch_rows: usize,
    pub limit: Option<usize>,
    /// From the last part to the first.
    pub reversed: bool,
}

/// The batches of one file: an iterator, which decodes on the thread that asks for the next one.
pub(crate) struct Parts {
    location: Path,
    /// Columns and form of every part.
    scan: Scan,
    predicate: Vec<Predicate>,
    residual: Option<Arc<dyn PhysicalExpr>>,
    dynamic: DynamicFilters,
    projector: datafusion::physical_expr::projection::Projector,
    splits: VecDeque<Split>,
    reader: Option<Reader>,
    /// Joins what filters leave of parts; none where all rows stay.
    coalescer: Option<BatchCoalescer>,
    rows_left: usize,
    counters: Counters,
}

impl Parts {
    pub fn new(
        file: &File,
        location: Path,
        plan: FilePlan,
        wanted: &Wanted,
        counters: Counters,
    ) -> Result<Self> {
        let batch_rows = wanted.batch_rows;
        let scan = file.scan().here().string_views(plan.views);
        let scan = scan.columns(&plan.columns).batch_rows(batch_rows);
        let splits = wanted_splits(file, &scan, &plan, &wanted.bytes, &counters);
        let mut splits = splits.map_err(|e| files::error(&location, e))?;
        if wanted.reversed {
            splits.make_contiguous().reverse();
        }
        let dynamic = DynamicFilters::new(plan.dynamic, plan.schema);
        let filtered = !plan.predicate.is_empty() || plan.residual.is_some() || !dynamic.is_empty();
        // A batch without columns has nothing to join.
        let joined = filtered && !plan.columns.is_empty();
        let coalescer = || {
            BatchCoalescer::new(plan.read_schema.clone(), batch_rows)
                .with_biggest_coalesce_batch_size(Some(batch_rows / 2))
        };
        Ok(Self {
            location,
            scan,
            predicate: plan.predicate,
            residual: plan.residual,
            dynamic,
            projector: plan.projector,
            splits,
            reader: None,
            coalescer: joined.then(coalescer),
            rows_left: wanted.limit.unwrap_or(usize::MAX),
            counters,
        })
    }

    /// The next batch, projected; `None` at the end.
    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        while self.rows_left > 0 {
            let ready = self.coalescer.as_mut();
            let mut batch = ready.and_then(BatchCoalescer::next_completed_batch);
            if batch.is_none() {
                batch = match (self.read()?, &mut self.coalescer) {
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
                return self
                    .projector
                    .project_batch(&batch.slice(0, rows))
                    .map(Some);
            }
        }
        Ok(None)
    }

    /// The next rows that pass the filters, as they are decoded.
    fn read(&mut self) -> Result<Option<RecordBatch>> {
        let place = |e| files::error(&self.location, e);
        loop {
            if let Some(reader) = &mut self.reader {
                let timer = self.counters.decode_time.timer();
                let read = reader.next().transpose().map_err(place)?;
                drop(timer);
                let Some(batch) = read else {
                    self.reader = None;
                    self.dynamic.end_part();
                    continue;
                };
                self.dynamic.kept(batch.num_rows());
                let batch = match &self.residual {
                    Some(residual) => filter_record_batch(&batch, &rows_of(residual, &batch)?)?,
                    None => batch,
                };
                return Ok(Some(batch));
            }
            let Some(split) = self.splits.pop_front() else {
                return Ok(None);
            };
            self.counters.parts_read.add(1);
            self.counters.rows_scanned.add(split.num_rows());
            let mut predicate = self.predicate.clone();
            predicate.extend(self.dynamic.begin_part(split.num_rows())?);
            let scan = filtered(self.scan.clone(), predicate).split(split);
            self.reader = Some(scan.reader().map_err(place)?);
        }
    }
}

impl Iterator for Parts {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if next.is_err() {
            // Nothing comes after an error.
            self.rows_left = 0;
        }
        next.transpose()
    }
}

/// The rows for which an expression is true.
fn rows_of(test: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let array = test.evaluate(batch)?.into_array(batch.num_rows())?;
    Ok(as_boolean_array(&array)?.clone())
}

fn filtered(scan: Scan, mut predicate: Vec<Predicate>) -> Scan {
    match predicate.len() {
        0 => scan,
        1 => predicate.pop().map_or(scan.clone(), |one| scan.filter(one)),
        _ => scan.filter(Predicate::And(predicate)),
    }
}

/// The parts of a file that begin within a range of its bytes, and in which some row may pass the
/// predicate by their zone maps.
///
/// Rows are taken to lie evenly in the file: ranges without a gap then have each part once, whatever
/// the bytes of row groups are.
fn wanted_splits(
    file: &File,
    scan: &Scan,
    plan: &FilePlan,
    bytes: &Range<u64>,
    counters: &Counters,
) -> staffa::Result<VecDeque<Split>> {
    let (rows, file_bytes) = (u128::from(file.num_rows()), u128::from(file.nbytes()));
    let matching = match &plan.predicate[..] {
        [] => None,
        some => Some(filtered(scan.clone(), some.to_vec()).splits(PART_ROWS)?),
    };
    // Some of all parts, in the same order.
    let mut matching = matching.map(|splits| splits.into_iter().peekable());
    let (mut wanted, mut first_row) = (VecDeque::new(), 0);
    for split in with_tested_columns(scan, plan)?.splits(PART_ROWS)? {
        let begin = first_row * file_bytes / rows.max(1);
        first_row += split.num_rows() as u128;
        let matches = matching
            .as_mut()
            .is_none_or(|matching| matching.next_if_eq(&split).is_some());
        if begin < u128::from(bytes.start) || begin >= u128::from(bytes.end) {
            continue;
        }
        if matches {
            wanted.push_back(split);
        } else {
            counters.parts_skipped.add(1);
            counters.rows_skipped.add(split.num_rows());
        }
    }
    Ok(wanted)
}

/// A scan that is cut into the same parts as one with the filter.
fn with_tested_columns(scan: &Scan, plan: &FilePlan) -> staffa::Result<Scan> {
    let mut columns = plan.columns.clone();
    for predicate in &plan.predicate {
        for position in predicate.column_positions(&plan.schema)? {
            let name = plan.schema.fields().get(position).map(|field| field.name());
            columns.extend(name.filter(|name| !columns.contains(name)).cloned());
        }
    }
    Ok(scan.clone().columns(columns))
}
