//! What a scan counts, for `EXPLAIN ANALYZE`.

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};

/// Files skipped unopened or for what they lack, parts (65,536 rows, or a row group) read and
/// skipped, the rows of parts that are read, time to decode.
#[derive(Debug, Clone)]
pub(crate) struct Counters {
    pub files_skipped: Count,
    pub parts_read: Count,
    pub parts_skipped: Count,
    pub rows_skipped: Count,
    pub rows_scanned: Count,
    pub decode_time: Time,
}

impl Counters {
    pub fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let counter = |name| MetricBuilder::new(metrics).counter(name, partition);
        Self {
            files_skipped: counter("files_skipped"),
            parts_read: counter("parts_read"),
            parts_skipped: counter("parts_skipped"),
            rows_skipped: counter("rows_skipped"),
            rows_scanned: counter("rows_scanned"),
            decode_time: MetricBuilder::new(metrics).subset_time("decode_time", partition),
        }
    }
}
