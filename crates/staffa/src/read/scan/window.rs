//! Windows of a scan in steps: the tasks of one row group, stage by stage.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::VecDeque;
use std::ops::Range;

use super::plan::{ScanPlan, Selected};
use crate::error::Result;
use crate::read::File;
use crate::read::batch::RowRange;
use crate::read::ranges::joined;

/// Tasks of one row group.
pub(super) struct Window {
    pub stage: Stage,
    pub row_group: usize,
    /// All ranges that it reads, of this stage and those before.
    pub ranges: Vec<Range<u64>>,
    /// Bytes of these, each once.
    pub bytes: u64,
    /// Whether all of them are there.
    pub is_there: bool,
}

/// What a window does once its ranges are there.
pub(super) enum Stage {
    Filter(Vec<RowRange>),
    Test(Vec<Selected>),
    Rows(VecDeque<Selected>),
}

/// Bytes of ranges, each byte once.
pub(super) fn bytes_of(ranges: &[Range<u64>]) -> u64 {
    let joined = joined(ranges.to_vec(), 0);
    joined.iter().map(|range| range.end - range.start).sum()
}

impl Window {
    pub fn new(stage: Stage, row_group: usize, ranges: Vec<Range<u64>>) -> Self {
        Self {
            stage,
            row_group,
            bytes: bytes_of(&ranges),
            ranges,
            is_there: false,
        }
    }

    /// Goes on to the next stage, whose ranges are added; false where batches come next.
    pub fn advance(&mut self, plan: &ScanPlan, file: &File) -> Result<bool> {
        self.stage = match &mut self.stage {
            Stage::Filter(tasks) => {
                let tasks = std::mem::take(tasks).into_iter();
                let selected = tasks.map(|range| plan.filter(file, range));
                let selected: Vec<Selected> = selected.collect::<Result<_>>()?;
                for task in &selected {
                    plan.add_test_ranges(task, &mut self.ranges)?;
                }
                Stage::Test(selected)
            }
            Stage::Test(tasks) => {
                let tasks = std::mem::take(tasks).into_iter();
                let tested = tasks.map(|task| plan.test(task));
                let tested: VecDeque<Selected> = tested.collect::<Result<_>>()?;
                for task in &tested {
                    plan.add_row_ranges(task, &mut self.ranges)?;
                }
                Stage::Rows(tested)
            }
            Stage::Rows(_) => return Ok(false),
        };
        (self.bytes, self.is_there) = (bytes_of(&self.ranges), false);
        Ok(true)
    }
}
