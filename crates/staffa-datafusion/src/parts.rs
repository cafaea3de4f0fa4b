//! The parts of a local file: cut, pruned by zone maps, read one by one.
//!
//! ```text
//! parts of 65,536 rows that begin in the range -> zone maps -> predicate and test, with what dynamic
//! filters say by now -> batches
//! ```

use std::collections::VecDeque;
use std::ops::Range;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::object_store::path::Path;
use datafusion::physical_expr::utils::collect_columns;
use staffa::{File, Predicate, Reader, Scan, Split};

use crate::batches::Wanted;
use crate::dynamic::{DynamicFilters, PartFilter};
use crate::files;
use crate::metrics::Counters;
use crate::plan::FilePlan;

/// Rows of a part where no column is nested: those of the largest block.
const PART_ROWS: usize = 65_536;

/// The parts of one file, decoded on the thread that asks for the next batch.
pub(crate) struct Parts {
    location: Path,
    /// Columns and form of every part.
    scan: Scan,
    predicate: Vec<Predicate>,
    dynamic: DynamicFilters,
    splits: VecDeque<Split>,
    reader: Option<Reader>,
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
        let scan = scan_of(file, &plan, wanted);
        let cut = || {
            let cut = Cut::new(&scan, file, &plan, wanted)?;
            let (all, mut matching) = (cut.splits(&[])?, cut.splits(&plan.predicate)?);
            count_parts(file, &all, &matching, &counters);
            if wanted.reversed {
                matching.reverse();
            }
            Ok(matching.into())
        };
        Ok(Self {
            splits: cut().map_err(|e| files::error(&location, e))?,
            location,
            scan,
            predicate: plan.predicate,
            dynamic: DynamicFilters::new(plan.dynamic, plan.schema, &counters),
            reader: None,
            counters,
        })
    }

    /// The next rows that pass the filters, as they are decoded.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        let place = |e| files::error(&self.location, e);
        let timer = self.counters.decode_time.clone();
        let _timer = timer.timer();
        loop {
            if let Some(reader) = &mut self.reader {
                let Some(batch) = reader.next().transpose().map_err(place)? else {
                    self.reader = None;
                    self.dynamic.end_part();
                    continue;
                };
                self.dynamic.kept(batch.num_rows());
                return Ok(Some(batch));
            }
            let Some(split) = self.splits.pop_front() else {
                return Ok(None);
            };
            let part = if self.dynamic.is_empty() {
                PartFilter::default()
            } else {
                self.dynamic.begin_part(split.num_rows())?
            };
            let mut predicate = self.predicate.clone();
            predicate.extend(part.predicates);
            let mut scan = filtered(self.scan.clone(), predicate).split(split);
            if let Some(test) = part.test {
                let columns = test.columns.clone();
                scan = scan.test(columns, move |batch| Ok(test.keep(batch)));
            }
            self.reader = Some(scan.reader().map_err(place)?);
        }
    }
}

/// The columns of a plan, as they are read.
pub(crate) fn scan_of(file: &File, plan: &FilePlan, wanted: &Wanted) -> Scan {
    let scan = file.scan().here().string_views(plan.views);
    let scan = scan.cached(wanted.cached);
    scan.columns(&plan.columns).batch_rows(wanted.batch_rows)
}

/// Only rows for which all predicates are true.
pub(crate) fn filtered(scan: Scan, mut predicate: Vec<Predicate>) -> Scan {
    match predicate.len() {
        0 => scan,
        1 => predicate.pop().map_or(scan.clone(), |one| scan.filter(one)),
        _ => scan.filter(Predicate::And(predicate)),
    }
}

/// How a file is cut into parts, and which of them are wanted.
pub(crate) struct Cut {
    file: File,
    /// With all columns that are read or tested: whether one is nested decides the size of parts.
    scan: Scan,
    bytes: Range<u64>,
}

impl Cut {
    pub fn new(scan: &Scan, file: &File, plan: &FilePlan, wanted: &Wanted) -> staffa::Result<Self> {
        let mut positions = Vec::new();
        for predicate in &plan.predicate {
            positions.extend(predicate.column_positions(&plan.schema)?);
        }
        let dynamic = plan.dynamic.iter().flat_map(collect_columns);
        positions.extend(dynamic.map(|column| column.index()));
        let mut columns = plan.columns.clone();
        for position in positions {
            let name = plan.schema.fields().get(position).map(|field| field.name());
            columns.extend(name.filter(|name| !columns.contains(name)).cloned());
        }
        Ok(Self {
            file: file.clone(),
            scan: scan.clone().columns(columns),
            bytes: wanted.bytes.clone(),
        })
    }

    /// The parts that begin within the range of bytes, and in which a row may pass the predicate by
    /// the zone maps that are at hand.
    ///
    /// Rows are taken to lie evenly in the file: ranges without a gap then have each part once,
    /// whatever the bytes of row groups are.
    pub fn splits(&self, predicate: &[Predicate]) -> staffa::Result<Vec<Split>> {
        let (rows, bytes) = (self.file.num_rows().max(1), self.file.nbytes());
        let mut first_row = 0;
        let mut wanted = self.scan.splits(PART_ROWS)?;
        // Some of all parts, in the same order.
        let mut matching = match predicate {
            [] => None,
            some => {
                let scan = filtered(self.scan.clone(), some.to_vec());
                Some(scan.splits(PART_ROWS)?.into_iter().peekable())
            }
        };
        wanted.retain(|split| {
            let begin = u128::from(bytes) * first_row / u128::from(rows);
            first_row += split.num_rows() as u128;
            let matches = matching
                .as_mut()
                .is_none_or(|matching| matching.next_if_eq(split).is_some());
            matches && begin >= u128::from(self.bytes.start) && begin < u128::from(self.bytes.end)
        });
        Ok(wanted)
    }
}

/// Counts the parts that are read, and those that are not.
pub(crate) fn count_parts(file: &File, all: &[Split], matching: &[Split], counters: &Counters) {
    let rows = |splits: &[Split]| splits.iter().map(Split::num_rows).sum::<usize>();
    let (total, read) = (rows(all), rows(matching));
    counters.parts_read.add(matching.len());
    counters.parts_skipped.add(all.len() - matching.len());
    counters.rows_scanned.add(read);
    counters.rows_skipped.add(total - read);
    count_skipped_bytes(file, total - read, counters);
}

/// Counts the bytes of rows that are skipped, as if all rows had as many.
pub(crate) fn count_skipped_bytes(file: &File, rows: usize, counters: &Counters) {
    let bytes = u128::from(file.nbytes()) * rows as u128 / u128::from(file.num_rows().max(1));
    counters.bytes_skipped.add(bytes as usize);
}
