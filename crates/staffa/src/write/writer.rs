//! The writer: record batches in, a file that appears whole or not at all.
//!
//! ```text
//! RecordBatch -> row group -> leaves -> chunks (columns and blocks in parallel) -> temporary file -> sync -> rename
//! ```
//!
//! Memory is bounded by one row group and its encoding, and by the column indexes (some 120 bytes
//! per block).

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tempfile::NamedTempFile;

use super::encoder::Encoder;
use super::plan::Plan;
use super::{WriteOptions, WriteSummary};
use crate::error::{Error, Result};

/// Writes a file under a temporary name beside its path; [`finish`](Self::finish) syncs and renames
/// it. A writer dropped before that leaves nothing behind.
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
pub struct Writer {
    encoder: Encoder<BufWriter<NamedTempFile>>,
    path: PathBuf,
    overwrite: bool,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("path", &self.path)
            .field("bytes_written", &self.bytes_written())
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// Begins a file of this schema.
    pub fn create(
        path: impl AsRef<Path>,
        schema: SchemaRef,
        options: WriteOptions,
    ) -> Result<Self> {
        // A link stays, and the file that it points to is written.
        let path = fs::canonicalize(&path).unwrap_or_else(|_| path.as_ref().to_owned());
        let overwrite = options.overwrite;
        if path.is_dir() {
            return Err(Error::io(&path, io::ErrorKind::IsADirectory.into()));
        }
        if path.exists() && !path.is_file() {
            return Err(Error::invalid(format!(
                "{} is no ordinary file, and a Staffa file is written whole",
                path.display()
            )));
        }
        if !overwrite && path.exists() {
            return Err(exists(&path));
        }
        let plan = Plan::new(schema, options)?;
        let folder = path
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".staffa-").suffix(".tmp");
        #[cfg(unix)]
        {
            // As for any new file: the process's mask restricts them.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder
            .tempfile_in(folder)
            .map_err(|e| Error::io(&path, e))?;
        if let Ok(replaced) = fs::metadata(&path) {
            let kept = file.as_file().set_permissions(replaced.permissions());
            kept.map_err(|e| Error::io(&path, e))?;
        }
        let sink = BufWriter::with_capacity(1 << 20, file);
        let encoder = Encoder::new(sink, plan).map_err(|e| at_path(e, &path))?;
        Ok(Self {
            encoder,
            path,
            overwrite,
        })
    }

    /// Adds rows; each full row group is encoded and written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.encoder
            .write(batch)
            .map_err(|e| at_path(e, &self.path))
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

    /// Writes the last row group and the footer, syncs, and gives the file its name.
    pub fn finish(self) -> Result<WriteSummary> {
        let Self {
            encoder,
            path,
            overwrite,
        } = self;
        let (sink, summary) = encoder.finish().map_err(|e| at_path(e, &path))?;
        let file = sink
            .into_inner()
            .map_err(|e| Error::io(&path, e.into_error()))?;
        file.as_file().sync_all().map_err(|e| Error::io(&path, e))?;
        let persisted = if overwrite {
            file.persist(&path)
        } else {
            file.persist_noclobber(&path)
        };
        persisted.map_err(|e| match e.error.kind() {
            io::ErrorKind::AlreadyExists => exists(&path),
            _ => Error::io(&path, e.error),
        })?;
        sync_folder(&path);
        Ok(summary)
    }
}

fn exists(path: &Path) -> Error {
    Error::io(
        path,
        io::Error::new(
            io::ErrorKind::AlreadyExists,
            "the file exists and is not to be replaced",
        ),
    )
}

/// Adds the file's path to an error of the system.
fn at_path(error: Error, path: &Path) -> Error {
    match error {
        Error::Io { path: None, source } => Error::io(path, source),
        other => other,
    }
}

/// Makes the new name durable, where the system can.
fn sync_folder(path: &Path) {
    #[cfg(unix)]
    if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        // The contents are safe already; a folder that cannot be opened only delays the name.
        let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
    }
    #[cfg(not(unix))]
    let _ = path;
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
