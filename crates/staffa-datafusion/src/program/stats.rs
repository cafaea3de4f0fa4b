//! What a query read and skipped.

use std::io::{self, Write};
use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricValue;

use super::Result;

/// Prints the sums over all scans of a plan that ran: one `name: number` a line.
pub fn print(plan: &dyn ExecutionPlan, rows: usize, elapsed: Duration) -> Result<()> {
    let mut out = io::stderr().lock();
    writeln!(out, "rows: {rows}")?;
    for (name, what) in [
        ("rows_scanned", "rows read or tested"),
        ("rows_skipped", "rows skipped"),
        ("parts_read", "parts of row groups read"),
        ("parts_skipped", "parts of row groups skipped"),
        ("files_skipped", "files skipped"),
        ("bytes_skipped", "bytes skipped (about)"),
        ("requests", "requests to object stores"),
        ("bytes_read", "bytes of their answers"),
    ] {
        writeln!(out, "{what}: {}", sum(plan, name))?;
    }
    for (name, what) in [
        ("wait_time", "time waited for answers"),
        ("decode_time", "time to decode"),
    ] {
        let time = Duration::from_nanos(sum(plan, name) as u64);
        writeln!(out, "{what}: {:.3} s", time.as_secs_f64())?;
    }
    writeln!(out, "time: {:.3} s", elapsed.as_secs_f64())?;
    Ok(())
}

/// The sum of a metric over a plan.
fn sum(plan: &dyn ExecutionPlan, name: &str) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.sum_by_name(name));
    let own = own.as_ref().map_or(0, MetricValue::as_usize);
    let children = plan.children().into_iter();
    own + children
        .map(|child| sum(child.as_ref(), name))
        .sum::<usize>()
}
