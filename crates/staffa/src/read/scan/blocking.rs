//! A scan in steps whose bytes a source reads, for callers that wait.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::steps::{Step, Steps};
use crate::error::{Error, Result};
use crate::format::Source;

/// Steps whose bytes a source reads.
#[derive(Debug)]
pub(super) struct BlockingSteps {
    pub steps: Steps,
    pub source: Arc<dyn Source>,
    /// Ranges that the source was told, in the order in which they are read.
    pub begun: VecDeque<Range<u64>>,
}

impl BlockingSteps {
    /// The next batch.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match self.steps.next()? {
                Step::Batch(batch) => return Ok(Some(batch)),
                Step::Done => return Ok(None),
                Step::Needs(ranges) => {
                    self.source.begin(&ranges);
                    self.begun.extend(ranges);
                }
                Step::Wait => self.read()?,
            }
        }
    }

    /// Reads the next range that the source was told.
    fn read(&mut self) -> Result<()> {
        let missing = || Error::internal("a scan that waits for nothing");
        let range = self.begun.pop_front().ok_or_else(missing)?;
        let read = || self.source.read(range.clone());
        let read = match self.steps.metrics() {
            Some(metrics) => metrics.wait(read),
            None => read(),
        };
        let read = read.and_then(|bytes| self.steps.give(&range, bytes));
        read.inspect_err(|_| self.steps.end())
    }
}
