//! Memory that is kept for the next batch: fresh memory costs more than decoding.

/// How many bytes of freed output memory stay with the process for the next batch or table, from
/// now on. What is above goes back to the system at once. Gives the limit before.
///
/// Buffers of 1 KiB and more that were handed out and dropped are kept and used again: page faults,
/// by which the system gives out fresh memory, cost more than decoding. 64 MiB of them are the
/// process's own; the rest, up to the limit, are offered to the system, which takes them when it
/// runs short (`MADV_FREE`: until then they count as the process's memory). The limit is 1 GiB at
/// first. Where the process has told glibc's malloc to keep more than 64 MiB
/// (`GLIBC_TUNABLES=glibc.malloc.trim_threshold=...` or `MALLOC_TRIM_THRESHOLD_`), as much is its
/// own, and no less is the limit. On other systems than Linux nothing is offered, and the limit is
/// 64 MiB at first.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let n = Int64Array::from_iter_values(0..65_536);
/// # let batch = RecordBatch::try_from_iter([("n", Arc::new(n) as _)])?;
/// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
/// let file = staffa::File::from_bytes(bytes)?;
/// let before = staffa::set_retained_memory(1 << 30);
/// for batch in file.scan().reader()? {
///     drop(batch?);
/// }
/// assert!(staffa::retained_memory() >= 65_536 * 8);
///
/// assert_eq!(staffa::set_retained_memory(before), 1 << 30);
/// # Ok(())
/// # }
/// ```
pub fn set_retained_memory(bytes: usize) -> usize {
    staffa_kernels::set_retained_limit(bytes)
}

/// Bytes of freed output memory that stay with the process now, those offered to the system
/// included; memory of batches that are still alive is not in it.
pub fn retained_memory() -> usize {
    staffa_kernels::retained_bytes()
}
