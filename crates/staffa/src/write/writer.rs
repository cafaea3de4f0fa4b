//! The writer: record batches in, the bytes of a file out.
//!
//! ```text
//! RecordBatch -> row group -> leaves -> chunks (columns and blocks in parallel) -> sink
//!                                                        AtomicFile: temporary file -> sync -> rename
//! ```
//!
//! Memory is bounded by one row group and its encoding, and by the column indexes (some 50 bytes
//! per block).

use std::fmt;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::encoder::Encoder;
use super::plan::Plan;
use super::{AtomicFile, WriteOptions};
use crate::error::{Error, Result};

/// Bytes that are gathered before they go to the sink.
const BUFFER_BYTES: usize = 1 << 20;

/// Writes a table to a file that appears whole or not at all ([`create`](Writer::create)), or to any
/// sink: memory, a socket, a pipe ([`new`](Writer::new)). [`finish`](Self::finish) or
/// [`into_inner`](Self::into_inner) end it.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
/// let path = std::env::temp_dir().join("staffa-writer-example.staffa");
/// let mut writer = staffa::Writer::create(&path, batch.schema(), staffa::WriteOptions::default())?;
/// writer.write(&batch)?;
/// let written = writer.finish()?;
/// assert_eq!(written.rows, 1000);
/// assert_eq!(staffa::File::open(&path)?.num_rows(), 1000);
/// # std::fs::remove_file(path)?;
/// # Ok(())
/// # }
/// ```
pub struct Writer<W: Write = AtomicFile> {
    encoder: Encoder<BufWriter<W>>,
    /// What the sink does behind the last byte, once.
    commit: fn(&mut W) -> Result<()>,
    /// The file, for errors.
    path: Option<PathBuf>,
}

impl<W: Write + Send> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("path", &self.path)
            .field("bytes_written", &self.bytes_written())
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// Begins a file of this schema under a temporary name beside its path; [`finish`](Self::finish)
    /// syncs and renames it. A writer dropped before that leaves nothing behind.
    pub fn create(
        path: impl AsRef<Path>,
        schema: SchemaRef,
        options: WriteOptions,
    ) -> Result<Self> {
        let overwrite = options.overwrite;
        let path = AtomicFile::target(path.as_ref(), overwrite)?;
        let plan = Plan::new(schema, options)?;
        let file = AtomicFile::create(path.clone(), overwrite)?;
        Self::begin(file, plan, AtomicFile::commit, Some(path))
    }
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file of this schema in a sink, which needs no buffer of its own. A writer dropped
    /// before [`finish`](Self::finish) leaves the sink with the start of a file, which readers refuse.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{Int64Array, RecordBatch};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
    /// let mut writer = staffa::Writer::new(Vec::new(), batch.schema(), staffa::WriteOptions::default())?;
    /// writer.write(&batch)?;
    /// let bytes: Vec<u8> = writer.into_inner()?;
    /// assert_eq!(staffa::File::from_bytes(bytes)?.num_rows(), 1000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(sink: W, schema: SchemaRef, options: WriteOptions) -> Result<Self> {
        Self::begin(sink, Plan::new(schema, options)?, |_| Ok(()), None)
    }

    fn begin(
        sink: W,
        plan: Plan,
        commit: fn(&mut W) -> Result<()>,
        path: Option<PathBuf>,
    ) -> Result<Self> {
        let sink = BufWriter::with_capacity(BUFFER_BYTES, sink);
        let encoder = Encoder::new(sink, plan).map_err(|e| at_path(e, path.as_deref()))?;
        Ok(Self {
            encoder,
            commit,
            path,
        })
    }

    /// Adds rows; each full row group is encoded and written. After an error by which rows were lost, this
    /// and [`finish`](Self::finish) refuse to go on.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = self.encoder.write(batch);
        written.map_err(|e| at_path(e, self.path.as_deref()))
    }

    /// Sets the value of a key of the user; until the file is finished, as often as wanted. Readers
    /// have it by [`File::metadata`](crate::File::metadata).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
    /// # let path = std::env::temp_dir().join("staffa-metadata-example.staffa");
    /// let mut writer = staffa::Writer::create(&path, batch.schema(), staffa::WriteOptions::default())?;
    /// writer.write(&batch)?;
    /// writer.set_metadata("batches", "1");
    /// writer.finish()?;
    /// assert_eq!(staffa::File::open(&path)?.metadata()?["batches"], b"1");
    /// # std::fs::remove_file(path)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_metadata(&mut self, key: impl Into<String>, value: impl Into<Vec<u8>>) {
        self.encoder.set_metadata(key.into(), value.into());
    }

    /// Bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.encoder.bytes_written()
    }

    /// Writes the last row group and the footer, and flushes the sink; a file is synced and gets its
    /// name.
    pub fn finish(self) -> Result<WriteSummary> {
        self.into_parts().map(|(_, summary)| summary)
    }

    /// As [`finish`](Self::finish), and returns the sink.
    pub fn into_inner(self) -> Result<W> {
        self.into_parts().map(|(sink, _)| sink)
    }

    /// As [`finish`](Self::finish), and returns the sink too.
    pub fn into_parts(self) -> Result<(W, WriteSummary)> {
        let path = self.path.as_deref();
        let (sink, summary) = self.encoder.finish().map_err(|e| at_path(e, path))?;
        // Flushed by the encoder: nothing is left to write.
        let sink = sink.into_inner().map_err(|e| e.into_error().into());
        let mut sink = sink.map_err(|e| at_path(e, path))?;
        (self.commit)(&mut sink)?;
        Ok((sink, summary))
    }
}

/// Adds the file's path to an error of the system.
fn at_path(error: Error, path: Option<&Path>) -> Error {
    match (error, path) {
        (Error::Io { path: None, source }, Some(path)) => Error::io(path, source),
        (other, _) => other,
    }
}

/// The sizes of a file that was written.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct WriteSummary {
    /// Rows of the table.
    pub rows: u64,
    /// Row groups of the file.
    pub row_groups: usize,
    /// Bytes of its rows in Arrow memory: see [`arrow_bytes`](crate::arrow_bytes).
    pub arrow_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

/// Writes a table to a file in memory.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
/// let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
/// assert!(bytes.len() < 500);
/// # Ok(())
/// # }
/// ```
pub fn to_bytes(
    schema: SchemaRef,
    batches: &[RecordBatch],
    options: WriteOptions,
) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new(Vec::new(), Plan::new(schema, options)?)?;
    batches.iter().try_for_each(|batch| encoder.write(batch))?;
    Ok(encoder.finish()?.0)
}
