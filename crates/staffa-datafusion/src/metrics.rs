//! What a scan counts, for `EXPLAIN ANALYZE`.

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};

/// Files skipped unopened or for what they lack; parts (65,536 rows, or a row group) and their rows
/// read and skipped; rows tested by hash tables of joins and the like; estimated bytes of what was skipped; requests to remote stores, their bytes, and
/// the time that a partition waited for them; time to decode.
#[derive(Debug, Clone)]
pub(crate) struct Counters {
    pub files_skipped: Count,
    pub parts_read: Count,
    pub parts_skipped: Count,
    pub rows_skipped: Count,
    pub rows_scanned: Count,
    pub rows_tested: Count,
    pub bytes_skipped: Count,
    pub requests: Count,
    pub bytes_read: Count,
    pub wait_time: Time,
    pub decode_time: Time,
}

impl Counters {
    pub fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let counter = |name| MetricBuilder::new(metrics).counter(name, partition);
        let time = |name| MetricBuilder::new(metrics).subset_time(name, partition);
        Self {
            files_skipped: counter("files_skipped"),
            parts_read: counter("parts_read"),
            parts_skipped: counter("parts_skipped"),
            rows_skipped: counter("rows_skipped"),
            rows_scanned: counter("rows_scanned"),
            rows_tested: counter("rows_tested"),
            bytes_skipped: counter("bytes_skipped"),
            requests: counter("requests"),
            bytes_read: counter("bytes_read"),
            wait_time: time("wait_time"),
            decode_time: time("decode_time"),
        }
    }
}
