//! Source: bytes of a file that a program other than this library reads.

use std::fmt::Debug;
use std::ops::Range;

use bytes::Bytes;

use crate::error::Result;

/// Where the bytes of a file come from, if neither from the local disk nor from memory: an object
/// store, a host's own file system. Given to [`File::open_source`](crate::File::open_source).
///
/// Reads block. A reader tells [`begin`](Self::begin) all ranges that it is about to read, so that a
/// source can fetch them together, joined and ahead of time.
///
/// ```
/// # use std::{fs, ops::Range, sync::Arc};
/// # use arrow_array::{Int64Array, RecordBatch};
/// use bytes::Bytes;
///
/// #[derive(Debug)]
/// struct Archive(Bytes);
///
/// impl staffa::Source for Archive {
///     fn len(&self) -> u64 {
///         self.0.len() as u64
///     }
///     fn name(&self) -> &str {
///         "archive/prices.staffa"
///     }
///     fn read(&self, range: Range<u64>) -> staffa::Result<Bytes> {
///         Ok(self.0.slice(range.start as usize..range.end as usize))
///     }
/// }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
/// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
/// let file = staffa::File::open_source(Arc::new(Archive(bytes.into())))?;
/// assert_eq!(file.num_rows(), 1000);
/// # Ok(())
/// # }
/// ```
// A file without bytes is no file: nobody asks whether one is empty.
#[allow(clippy::len_without_is_empty)]
pub trait Source: Send + Sync + Debug {
    /// Bytes of the file.
    fn len(&self) -> u64;

    /// The file's name in messages: a path or a URL, without secrets.
    fn name(&self) -> &str;

    /// Bytes of a range, which lies within the file: all of them, or an error.
    fn read(&self, range: Range<u64>) -> Result<Bytes>;

    /// Bytes at the end of the file that cost nothing to read: opening reads these first, instead of
    /// the last 64 KiB. `None` where none do.
    fn end_bytes(&self) -> Option<u64> {
        None
    }

    /// Ranges that will be read next, ascending, none of them twice. A hint: a read need not be of a
    /// whole range, and may be left out after an error.
    fn begin(&self, ranges: &[Range<u64>]) {
        let _ = ranges;
    }
}
