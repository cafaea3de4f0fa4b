//! A scan in steps, for callers that fetch bytes themselves: what it needs next, or the next batch.
//!
//! ```text
//! indexes of the columns -> for each window (the tasks of one row group), several ahead:
//!     the predicate's columns -> the test's, in rows that are left -> the others, in rows that are left -> batches
//! ```
//!
//! Windows that together need less than 1 MiB ask for everything at once. Ranges are joined over
//! gaps of 1 MiB and cut at 16 MiB; no byte is asked for twice while a window needs it.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::ScanTask;
use super::pace::Pace;
use super::plan::{ScanPlan, Selected};
use super::queue::TaskQueue;
use super::requests::Requests;
use super::window::{Stage, Window, bytes_of};
use crate::error::{Error, Result};
use crate::format::Fetched;
use crate::limits::Threads;
use crate::read::File;
use crate::read::batch::RowRange;
use crate::read::metrics::{ScanMetrics, ScanReads};

/// Bytes that windows may need ahead of the batches, at most.
pub(super) const AHEAD_BYTES: u64 = 128 << 20;
/// Windows that need less than this ask for everything at once.
const AT_ONCE_BYTES: u64 = 1 << 20;

/// What a scan does next; see [`Steps`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Step {
    /// Byte ranges of the file to fetch, in any order, and to [`give`](Steps::give). The next step may
    /// be asked for before they are there.
    Needs(Vec<Range<u64>>),
    /// Nothing can be done before some of the bytes that were asked for are there.
    Wait,
    /// Rows.
    Batch(RecordBatch),
    /// There are no more rows.
    Done,
}

/// A scan in steps, made by [`Scan::steps`](super::Scan::steps): the caller fetches bytes, as it
/// likes and ahead of time; nothing else is read. Bytes are decoded within [`next`](Self::next).
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..200_000)) as _)])?;
/// # let bytes = bytes::Bytes::from(staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?);
/// use staffa::{OpenStep, Opening, Step};
///
/// // A file of which only the name and the length are known.
/// let mut opening = Opening::new("s3://bucket/n.staffa", bytes.len() as u64);
/// let file = loop {
///     match opening.next()? {
///         OpenStep::Opened(file) => break file,
///         OpenStep::Needs(range) => {
///             opening.give(&range, bytes.slice(range.start as usize..range.end as usize))?;
///         }
///         _ => unreachable!(),
///     }
/// };
/// let mut steps = file.scan().columns(["n"]).filter("n < 10".parse()?).steps()?;
/// let mut rows = 0;
/// loop {
///     match steps.next()? {
///         Step::Needs(ranges) => {
///             for range in ranges {
///                 steps.give(&range, bytes.slice(range.start as usize..range.end as usize))?;
///             }
///         }
///         Step::Batch(batch) => rows += batch.num_rows(),
///         Step::Done => break,
///         _ => unreachable!(),
///     }
/// }
/// assert_eq!(rows, 10);
/// # Ok(())
/// # }
/// ```
pub struct Steps {
    /// Read by the ranges that were given.
    file: File,
    plan: Arc<ScanPlan>,
    schema: SchemaRef,
    threads: Threads,
    queue: TaskQueue,
    /// The first task of the next window.
    next_task: Option<RowRange>,
    requests: Requests,
    /// Leaves whose indexes are not all read.
    leaves: Option<BTreeSet<usize>>,
    windows: VecDeque<Window>,
    /// Windows that are done.
    done: usize,
    prefetch_bytes: u64,
    pace: Pace,
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steps")
            .field("plan", &self.plan)
            .field("requests", &self.requests)
            .field("windows", &self.windows.len())
            .finish_non_exhaustive()
    }
}

impl Steps {
    pub(super) fn new(
        file: &File,
        plan: ScanPlan,
        schema: SchemaRef,
        mut queue: TaskQueue,
        threads: Threads,
    ) -> Self {
        let fetched = Arc::new(Fetched::default());
        let by_ranges = Arc::new(file.store().by_ranges(fetched.clone()));
        let next_task = queue.next_task();
        // Where nothing is read, no index is needed either.
        let leaves = next_task
            .as_ref()
            .map(|_| file.leaves_of(plan.all_columns()));
        Self {
            leaves,
            requests: Requests::new(fetched, file.store().end()),
            file: file.with_store(by_ranges).with_reads(ScanReads {
                pins: Some(Arc::default()),
                ..file.reads().clone()
            }),
            plan: Arc::new(plan),
            schema,
            threads,
            next_task,
            queue,
            windows: VecDeque::new(),
            done: 0,
            prefetch_bytes: AHEAD_BYTES,
            pace: Pace::default(),
        }
    }

    /// Other bytes that windows may need ahead of the batches.
    pub(super) fn with_prefetch_bytes(mut self, bytes: u64) -> Self {
        self.prefetch_bytes = bytes;
        self
    }

    /// Schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Bytes of a range that was asked for, all of them.
    pub fn give(&mut self, range: &Range<u64>, bytes: Bytes) -> Result<()> {
        let place = self.file.store().path();
        self.pace.add(bytes.len() as u64);
        if let Some(metrics) = self.metrics() {
            metrics.count_request(bytes.len());
        }
        let given = self.requests.give(range, bytes);
        given.map_err(|e| e.at(|p| p.path = place.map(Into::into)))
    }

    /// The next step. After an error there is none but [`Step::Done`].
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Step> {
        let step = self.step();
        match &step {
            Ok(Step::Needs(_)) => self.pace.begin(),
            Ok(_) => {}
            Err(_) => self.end(),
        }
        step
    }

    fn step(&mut self) -> Result<Step> {
        loop {
            if self.queue.has_enough() && self.queue.ready.is_none() {
                self.end();
            }
            if let Some(step) = self.read_indexes()? {
                return Ok(step);
            }
            self.plan_ahead()?;
            self.advance()?;
            // All tasks are begun in order: the last request may go on in the next window.
            let hold = !self.plan.selects() && self.next_task.is_some() && self.windows.len() > 1;
            let requests = self.requests.send(hold);
            if !requests.is_empty() {
                return Ok(Step::Needs(requests));
            }
            if let Some(batch) = self.queue.next_batch() {
                return Ok(Step::Batch(batch));
            }
            let Some(first) = self.windows.front_mut() else {
                return Ok(Step::Done);
            };
            if !first.is_there {
                if self.requests.is_waiting() {
                    return Ok(Step::Wait);
                }
                return Ok(Step::Needs(self.requests.send(false)));
            }
            let Stage::Rows(tasks) = &mut first.stage else {
                return Err(Error::internal("a window that did not advance"));
            };
            if let Some(task) = tasks.pop_front() {
                let batch = self.threads.run(|| self.plan.rows(&task))?;
                batch.into_iter().for_each(|batch| self.queue.put(batch));
            } else {
                self.windows.pop_front();
                self.done += 1;
                self.unpin();
                // The next window may need the same shared dictionaries.
                self.plan_ahead()?;
                let needed = self.windows.iter().flat_map(|window| &window.ranges);
                self.requests.release(needed);
            }
        }
    }

    /// Reads the indexes of the columns and of their sources; the step to take before they are there.
    fn read_indexes(&mut self) -> Result<Option<Step>> {
        let Some(leaves) = &self.leaves else {
            return Ok(None);
        };
        loop {
            let missing = self.file.missing_indexes(leaves)?;
            if missing.is_empty() {
                self.leaves = None;
                return Ok(None);
            }
            let ranges = self.file.index_ranges(&missing);
            if !self.requests.are_there(&ranges) {
                self.requests.want(&ranges);
                let requests = self.requests.send(false);
                return Ok(Some(if requests.is_empty() {
                    Step::Wait
                } else {
                    Step::Needs(requests)
                }));
            }
            missing
                .iter()
                .try_for_each(|leaf| self.file.index(*leaf).map(drop))?;
        }
    }

    /// Plans windows as long as they fit in memory; those of a limit one by one, as rows may be enough.
    fn plan_ahead(&mut self) -> Result<()> {
        let limited = self.plan.selects() && self.queue.left != u64::MAX;
        let most_ahead = self.pace.ahead(self.prefetch_bytes);
        while self.next_task.is_some() {
            let ahead: u64 = self.windows.iter().map(|window| window.bytes).sum();
            let most = if limited { self.done + 1 } else { usize::MAX };
            let enough =
                ahead >= most_ahead || self.windows.len() >= most || self.is_cached_ahead();
            if !self.windows.is_empty() && enough {
                return Ok(());
            }
            let window = self.next_window()?;
            self.requests.want(&window.ranges);
            self.windows.push_back(window);
        }
        Ok(())
    }

    /// Whether row groups that need no bytes are ahead: what the cache has of more would only be held.
    fn is_cached_ahead(&self) -> bool {
        let idle = |window: &&Window| window.bytes == 0;
        self.file.reads().cached && self.windows.iter().filter(idle).count() > 1
    }

    /// The tasks of the next row group.
    fn next_window(&mut self) -> Result<Window> {
        let mut tasks: Vec<RowRange> = Vec::new();
        while let Some(task) = self.next_task.take() {
            if tasks
                .last()
                .is_some_and(|last| last.row_group != task.row_group)
            {
                self.next_task = Some(task);
                break;
            }
            tasks.push(task);
            self.next_task = self.queue.next_task();
        }
        let row_group = tasks.first().map_or(usize::MAX, |task| task.row_group);
        let (plan, file) = (&self.plan, &self.file);
        let all = |tasks: &[RowRange]| -> Vec<Selected> {
            let tasks = tasks.iter();
            tasks
                .map(|range| Selected::all(file, range.clone()))
                .collect()
        };
        if !plan.selects() {
            let mut ranges = Vec::new();
            let tasks = all(&tasks);
            for task in &tasks {
                plan.add_row_ranges(task, &mut ranges)?;
            }
            return Ok(Window::new(Stage::Rows(tasks.into()), row_group, ranges));
        }
        if let Some(filter) = &plan.filter {
            let may_match =
                |range: &RowRange| ScanTask::new(file, range.clone()).may_match(&filter.bound);
            tasks.retain(may_match);
        }
        let mut ranges = Vec::new();
        for range in &tasks {
            plan.add_filter_ranges(file, range, &mut ranges)?;
        }
        let mut at_once = ranges.clone();
        for selected in all(&tasks) {
            plan.add_test_ranges(&selected, &mut at_once)?;
            plan.add_row_ranges(&selected, &mut at_once)?;
        }
        // Where the cache has all that the filter reads, nothing is gained by asking for rows before it is known which.
        let filters_now = self.file.reads().cached && ranges.is_empty();
        if !filters_now && bytes_of(&at_once) < AT_ONCE_BYTES {
            ranges = at_once;
        }
        Ok(Window::new(Stage::Filter(tasks), row_group, ranges))
    }

    /// Takes windows whose bytes are there to the next stage.
    fn advance(&mut self) -> Result<()> {
        for window in &mut self.windows {
            loop {
                window.is_there = window.is_there || self.requests.are_there(&window.ranges);
                let (plan, file) = (&self.plan, &self.file);
                if !window.is_there || !self.threads.run(|| window.advance(plan, file))? {
                    break;
                }
                self.requests.want(&window.ranges);
            }
        }
        Ok(())
    }

    /// The counters of the scan.
    pub(super) fn metrics(&self) -> Option<&ScanMetrics> {
        self.file.reads().metrics.as_ref()
    }

    /// Lets go what the cache had for row groups that are done.
    fn unpin(&self) {
        if let Some(pins) = &self.file.reads().pins {
            let windows = &self.windows;
            pins.retain(|row_group| windows.iter().any(|window| window.row_group == row_group));
        }
    }

    /// Ends the scan.
    pub(super) fn end(&mut self) {
        self.queue.end();
        self.leaves = None;
        self.next_task = None;
        self.windows.clear();
        self.unpin();
    }
}
