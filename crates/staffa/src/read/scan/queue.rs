//! The tasks of a scan in the order of the file, and the batches cut out of what they give.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use arrow_array::RecordBatch;

use crate::read::batch::{RowRange, RowRanges};

/// Tasks to come, and the rows to skip and to return.
#[derive(Debug)]
pub(super) struct TaskQueue {
    /// Rows of the next tasks.
    pub ranges: RowRanges,
    /// Whether rows are counted when they are read: a filter or a test leaves some out.
    pub selects: bool,
    pub batch_rows: usize,
    /// Rows still to be skipped.
    pub skip: u64,
    /// Rows still to be returned; unless `selects`, tasks begun count as returned.
    pub left: u64,
    /// What a task gave, returned batch by batch.
    pub ready: Option<RecordBatch>,
}

impl TaskQueue {
    /// The rows of the next task that is not empty.
    pub fn next_task(&mut self) -> Option<RowRange> {
        while self.left > 0 {
            let mut range = self.ranges.next()?;
            if !self.selects {
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

    /// Whether enough rows were returned.
    pub fn has_enough(&self) -> bool {
        self.left == 0 && self.selects
    }

    /// Takes in the rows of a task, within offset and limit.
    pub fn put(&mut self, batch: RecordBatch) {
        if !self.selects {
            self.ready = Some(batch);
            return;
        }
        let rows = batch.num_rows() as u64;
        let skipped = self.skip.min(rows);
        self.skip -= skipped;
        let kept = (rows - skipped).min(self.left);
        self.left -= kept;
        self.ready = (kept > 0).then(|| batch.slice(skipped as usize, kept as usize));
    }

    /// The next batch of what a task gave.
    pub fn next_batch(&mut self) -> Option<RecordBatch> {
        let batch = self.ready.take()?;
        if batch.num_rows() <= self.batch_rows {
            return Some(batch);
        }
        self.ready = Some(batch.slice(self.batch_rows, batch.num_rows() - self.batch_rows));
        Some(batch.slice(0, self.batch_rows))
    }

    /// Ends the scan.
    pub fn end(&mut self) {
        self.left = 0;
        self.ready = None;
    }
}
