//! A scan checked against the schema: columns, filter and test by position, the rows to read.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use arrow_schema::SchemaRef;
use hashbrown::HashSet;

use super::plan::{Filter, RowTest, ScanPlan};
use super::queue::TaskQueue;
use super::row_numbers::RowNumbers;
use super::{Scan, Steps, schema_for};
use crate::arrow::with_short_decimals;
use crate::error::{Error, Result};
use crate::limits::Threads;
use crate::predicate::Predicate;
use crate::read::File;
use crate::read::batch::{RowRanges, STEP_ROWS};
use crate::read::dictionary::with_dictionaries;
use crate::read::run_ends::with_run_ends;

impl Scan {
    /// What every form of the scan needs, checked.
    pub(super) fn checked(self) -> Result<CheckedScan> {
        let file = &self.file;
        let plan = self.plan()?;
        let task_rows = if plan.all_columns().all(|column| file.is_flat(column)) {
            self.batch_rows.checked_next_multiple_of(STEP_ROWS)
        } else {
            None
        };
        let task_rows = match task_rows {
            // The blocks of most columns have as many rows, and a dictionary of their own.
            Some(_) if !self.dictionaries.is_empty() => STEP_ROWS,
            rows => rows.unwrap_or(usize::MAX),
        };
        let may_match = match &plan.filter {
            Some(filter) => file.known_may_match(&filter.bound)?,
            None => true,
        };
        let ranges = match (self.splits, self.byte_range) {
            _ if !may_match => RowRanges::within(file, task_rows, []),
            (Some(splits), _) => {
                let ranges = splits.into_iter().map(|split| split.range);
                RowRanges::within(file, task_rows, ranges)
            }
            (None, Some(bytes)) => RowRanges::of_bytes(file, task_rows, &bytes),
            (None, None) => RowRanges::of_file(file, task_rows),
        };
        let queue = TaskQueue {
            ranges,
            selects: plan.selects(),
            batch_rows: self.batch_rows,
            skip: self.offset,
            left: self.limit.unwrap_or(u64::MAX),
            ready: None,
        };
        Ok(CheckedScan {
            schema: Arc::new(plan.schema()?),
            plan,
            queue,
            threads: Threads::new(self.threads)?,
            prefetch_bytes: self.prefetch_bytes,
        })
    }

    /// Columns, filter and test, checked.
    fn plan(&self) -> Result<ScanPlan> {
        let test = self.test.as_ref().map(|test| {
            Ok::<_, Error>(RowTest {
                columns: self.file.column_positions(&test.columns)?,
                test: test.test.clone(),
            })
        });
        let mut plan = ScanPlan {
            schema: self.read_schema()?,
            columns: self.positions()?,
            filter: self.bound_filter()?,
            test: test.transpose()?,
            loose: self.loose,
            row_numbers: None,
            cancel: self.cancel.clone(),
        };
        if let Some(name) = &self.row_numbers {
            let numbers = RowNumbers::new(name, &self.file, &plan.schema()?)?;
            plan.row_numbers = Some(numbers);
        }
        let all: Vec<usize> = plan.all_columns().collect();
        self.file.check_columns(all.iter())?;
        Ok(plan)
    }

    /// Positions of the columns.
    pub(super) fn positions(&self) -> Result<Vec<usize>> {
        match &self.columns {
            Some(names) => self.file.column_positions(names),
            None => Ok((0..self.file.schema().fields().len()).collect()),
        }
    }

    /// The filter, bound to the schema.
    pub(super) fn bound_filter(&self) -> Result<Option<Filter>> {
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
        let dictionaries: HashSet<&String> = self.dictionaries.iter().collect();
        let mut both = self.run_ends.iter();
        if let Some(name) = both.find(|name| dictionaries.contains(name)) {
            return Err(Error::invalid(format!(
                "column {name:?}: as a dictionary or as runs, not as both"
            )));
        }
        let mut schema = schema_for(self.file.schema(), self.types.string_views);
        if !self.dictionaries.is_empty() {
            schema = Arc::new(with_dictionaries(&schema, &self.dictionaries)?);
        }
        if !self.run_ends.is_empty() {
            schema = Arc::new(with_run_ends(&schema, &self.run_ends)?);
        }
        if self.types.short_decimals {
            schema = Arc::new(with_short_decimals(&schema));
        }
        Ok(schema)
    }
}

/// A scan that is checked and has not begun.
pub(super) struct CheckedScan {
    pub plan: ScanPlan,
    /// Of the batches.
    pub schema: SchemaRef,
    pub queue: TaskQueue,
    pub threads: Threads,
    prefetch_bytes: u64,
}

impl CheckedScan {
    pub fn into_steps(self, file: &File) -> Steps {
        let steps = Steps::new(file, self.plan, self.schema, self.queue, self.threads);
        steps.with_prefetch_bytes(self.prefetch_bytes)
    }
}

/// Whether all columns that are read or tested can be read by block.
pub(super) fn is_flat(file: &File, columns: &[usize], filter: Option<&Filter>) -> bool {
    let tested = filter.into_iter().flat_map(|filter| &filter.columns);
    columns
        .iter()
        .chain(tested)
        .all(|column| file.is_flat(*column))
}
