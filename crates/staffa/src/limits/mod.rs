//! Limits: the most that a reader accepts and allocates, memory kept for reuse, threads, and cancellation.

mod threads;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

#[cfg(test)]
pub(crate) use threads::thread_pool;
pub use threads::with_threads;
pub(crate) use threads::{Threads, both, map_heaviest_first, map_parallel, threads};

/// Limits that a reader checks before it allocates. The defaults suit a service that reads files
/// from anywhere, and are far above the files that the writer makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most bytes of a footer, of a section, of all sections that opening needs, and of a column
    /// index.
    pub metadata_bytes: u64,
    /// Most leaf columns of a file.
    pub leaves: u64,
    /// Most values of one leaf column in one row group.
    pub row_group_values: u64,
    /// Most decoded bytes of one block, of a shared dictionary, and of all blocks of a column chunk
    /// that are decoded together.
    pub block_bytes: u64,
    /// Deepest cascade of encodings, and deepest nesting of types.
    pub depth: u32,
    /// Whether the [`Cache`](crate::Cache) holds the file's blocks decoded instead of encoded.
    /// Single rows of cached blocks, 81 columns of 8 tables: 1.36x faster in the geometric mean
    /// (median 1.14x, long text 43x), for 3.3x the memory.
    pub cache_decoded: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            metadata_bytes: 1 << 30,
            leaves: 1 << 20,
            row_group_values: 1 << 31,
            block_bytes: 4 << 30,
            depth: 64,
            cache_decoded: false,
        }
    }
}

/// A flag that stops work in progress with [`Error::Cancelled`]: a writer whose
/// [`WriteOptions`](crate::WriteOptions) hold it checks it before each column, block and trial of an
/// encoding, a scan ([`Scan::cancel`](crate::Scan::cancel)) before each task.
/// Clones share the flag, and any thread may set it.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let n = Int64Array::from_iter_values(0..1000);
/// # let batch = RecordBatch::try_from_iter([("n", Arc::new(n) as _)])?;
/// let cancel = staffa::Cancel::new();
/// let options = staffa::WriteOptions::new().cancel(cancel.clone());
/// cancel.cancel();
/// let written = staffa::to_bytes(batch.schema(), &[batch], options);
/// assert!(matches!(written, Err(staffa::Error::Cancelled)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag, for good.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// [`Error::Cancelled`] if the flag is set.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::Cancelled);
        }
        Ok(())
    }
}

/// Sets the limit on bytes of freed output memory that stay with the process for the next batch or
/// table, and returns the limit before. Memory above the limit goes back to the system at once.
///
/// Output buffers of 1 KiB and more (in the Python package, what writers work in as well) are used
/// again after they are dropped, since page faults, by which the system gives out fresh memory, cost
/// more than decoding. 64 MiB are kept as they are; the rest, up to the limit, is offered to the
/// system, which takes it when it runs short (`MADV_FREE`: until then it counts as the process's
/// memory). The first limit is 1 GiB; on other systems than Linux nothing is offered, and it is
/// 64 MiB.
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

/// Bytes of freed output memory that stay with the process now, with those offered to the system,
/// without the memory of batches that are still alive.
pub fn retained_memory() -> usize {
    staffa_kernels::retained_bytes()
}
