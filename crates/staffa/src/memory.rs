//! Memory that is kept for the next batch: fresh memory costs more than decoding.

/// How many bytes of freed output memory the process keeps for the next batch or table, from now on. What is above goes
/// back to the system at once. Gives the limit before.
///
/// Buffers of 1 KiB and more that were handed out and dropped are kept and used again: page faults, by which the system
/// gives out fresh memory, cost more than decoding. The limit is 64 MiB at first, or what the process has told glibc's
/// malloc to keep, if that is more (`GLIBC_TUNABLES=glibc.malloc.trim_threshold=...` or `MALLOC_TRIM_THRESHOLD_`). Who reads
/// tables one after another that are larger sets it to the size of one of them.
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

/// Bytes of freed output memory that the process keeps now; memory of batches that are still alive is not in it.
pub fn retained_memory() -> usize {
    staffa_kernels::retained_bytes()
}
