//! Writing of Arrow batches; the file appears whole or not at all.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatchReader, PySchema};
use staffa::{Cancel, Error, Profile, Result, WriteOptions, WriteSummary};
use staffa_lake::table::{self, Folder, TableOptions, TableSummary};
use staffa_lake::{Location, ObjectWriter};

use crate::errors::{invalid, run, run_attached, run_interruptibly};

/// The options of a file, as `python/staffa/_options.py` checks them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct Options {
    profile: String,
    column_profiles: Vec<(String, String)>,
    access: String,
    encodings: Vec<(String, String)>,
    max_error: Vec<(String, f64)>,
    without: Vec<String>,
    edition: Option<String>,
    sort_order: Vec<String>,
    chunk_statistics: bool,
    row_group_rows: Option<usize>,
    threads: Option<usize>,
    derived_columns: bool,
    verify: bool,
    overwrite: bool,
}

impl Options {
    fn into_write_options(self) -> Result<WriteOptions> {
        let of_column = |(column, name): (String, String)| Ok((column, name.parse()?));
        let profiles: Result<_> = self.column_profiles.into_iter().map(of_column).collect();
        let keys = self.sort_order.iter().map(|key| key.parse());
        let mut options = WriteOptions::default();
        options.profile = self.profile.parse()?;
        options.column_profiles = profiles?;
        options.access = self.access.parse()?;
        options.encodings = self.encodings;
        options.max_error = self.max_error;
        options.without = self.without;
        options.edition = self.edition.map(|name| name.parse()).transpose()?;
        options.sort_order = keys.collect::<Result<_>>()?;
        options.chunk_statistics = self.chunk_statistics;
        options.row_group_rows = self.row_group_rows.unwrap_or(options.row_group_rows);
        options.threads = self.threads;
        options.derived_columns = self.derived_columns;
        options.verify = self.verify;
        options.overwrite = self.overwrite;
        Ok(options)
    }
}

/// A file of the local disk, or an object.
enum Output {
    Local(staffa::Writer),
    Object(ObjectWriter),
}

impl Output {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Local(writer) => writer.write(batch),
            Self::Object(writer) => writer.write(batch),
        }
    }

    fn finish(self, metadata: Vec<(String, Vec<u8>)>) -> Result<WriteSummary> {
        match self {
            Self::Local(mut writer) => {
                for (key, value) in metadata {
                    writer.set_metadata(key, value);
                }
                writer.finish()
            }
            Self::Object(mut writer) => {
                for (key, value) in metadata {
                    writer.set_metadata(key, value);
                }
                writer.finish()
            }
        }
    }
}

/// A file in the making. Dropped before it is finished, it leaves nothing behind.
#[pyclass(frozen, module = "staffa._staffa")]
pub(crate) struct Writer {
    /// None after the file is finished or given up.
    writer: Mutex<Option<Output>>,
    cancel: Cancel,
    /// Bytes of all batches so far, from which on another thread writes.
    bytes: AtomicUsize,
    /// Whether few bytes are soon written: not with the profile `small`, nor to an object store.
    is_quick: bool,
}

/// Fewer bytes are mostly written before a thread that waits would look for Ctrl-C: another thread only costs time.
const SMALL: usize = 1 << 18;

/// Bytes of a batch, or more than are few where its rows may have more than its buffers.
fn bytes_of(batch: &RecordBatch) -> usize {
    let schema = batch.schema();
    let repeats = schema.flattened_fields().into_iter().any(|field| {
        use DataType::{BinaryView, Dictionary, LargeListView, ListView, RunEndEncoded, Utf8View};
        let ty = field.data_type();
        matches!(
            ty,
            Dictionary(..)
                | RunEndEncoded(..)
                | Utf8View
                | BinaryView
                | ListView(_)
                | LargeListView(_)
        )
    });
    let rows = batch.num_rows().saturating_mul(8);
    if repeats {
        SMALL
    } else {
        batch.get_array_memory_size().max(rows)
    }
}

#[pymethods]
impl Writer {
    /// Starts a file with this schema.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, schema: PySchema, options: Options) -> PyResult<Self> {
        run(py, || {
            let options = options.into_write_options()?;
            let is_small = options.profile == Profile::Small;
            let (cancel, schema) = (options.cancel.clone(), schema.into_inner());
            let writer = match path.to_str().filter(|text| staffa_lake::is_url(text)) {
                Some(url) => {
                    let location = Location::parse(url)?;
                    Output::Object(ObjectWriter::new(&location, schema, options)?)
                }
                None => Output::Local(staffa::Writer::create(&path, schema, options)?),
            };
            Ok(Self {
                is_quick: matches!(writer, Output::Local(_)) && !is_small,
                writer: Mutex::new(Some(writer)),
                cancel,
                bytes: AtomicUsize::new(0),
            })
        })
    }

    /// Adds the rows of an Arrow stream, which is read whole before.
    fn write(&self, py: Python<'_>, batches: &Bound<'_, PyAny>) -> PyResult<()> {
        let batches = read(py, batches)?;
        let bytes = batches.iter().map(bytes_of).sum();
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.run(py, move || write_all(batches, self.lock(), Output::write))
    }

    /// Finishes the file with these keys and values of the user; returns rows, row groups, bytes as Arrow and
    /// bytes of the file.
    fn finish(
        &self,
        py: Python<'_>,
        metadata: Vec<(String, Vec<u8>)>,
    ) -> PyResult<(u64, usize, u64, u64)> {
        let summary = self.run(py, || {
            self.lock().take().ok_or_else(closed)?.finish(metadata)
        })?;
        Ok((
            summary.rows,
            summary.row_groups,
            summary.arrow_bytes,
            summary.file_bytes,
        ))
    }

    /// Gives the file up; nothing stays of it.
    fn abort(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }

    /// Bytes that were written so far.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> u64 {
        let written = |writer: &Output| match writer {
            Output::Local(writer) => writer.bytes_written(),
            Output::Object(writer) => writer.bytes_written(),
        };
        py.detach(|| self.lock().as_ref().map_or(0, written))
    }
}

impl Writer {
    /// Works on another thread while this one looks for Ctrl-C, unless there is little to do.
    fn run<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
        if self.is_quick && self.bytes.load(Ordering::Relaxed) < SMALL {
            run(py, work)
        } else {
            run_interruptibly(py, &self.cancel, work)
        }
    }

    /// Locked without the GIL: the holder of the lock may wait for the GIL.
    fn lock(&self) -> MutexGuard<'_, Option<Output>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds batches to the writer behind a lock. They are dropped here, without the GIL.
fn write_all<W>(
    batches: Vec<RecordBatch>,
    mut writer: MutexGuard<'_, Option<W>>,
    write: impl Fn(&mut W, &RecordBatch) -> Result<()>,
) -> Result<()> {
    let writer = writer.as_mut().ok_or_else(closed)?;
    batches.iter().try_for_each(|batch| {
        check(batch)?;
        write(writer, batch)
    })
}

/// Files of a folder in the making. Dropped before they are finished, they leave nothing behind.
#[pyclass(frozen, module = "staffa._staffa")]
pub(crate) struct TableWriter {
    writer: Mutex<Option<table::TableWriter>>,
    cancel: Cancel,
}

#[pymethods]
impl TableWriter {
    /// Starts files of this schema in a folder, which may be a URL.
    #[new]
    #[expect(
        clippy::too_many_arguments,
        reason = "the keyword arguments of the Python function"
    )]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        schema: PySchema,
        partition_by: Vec<String>,
        rows_per_file: Option<u64>,
        max_open_files: usize,
        options: Options,
        metadata: Vec<(String, Vec<u8>)>,
    ) -> PyResult<Self> {
        run(py, || {
            let mut table = TableOptions::default();
            table.options = options.into_write_options()?;
            table.options.metadata = metadata.into_iter().collect();
            table.partition_by = partition_by;
            table.rows_per_file = rows_per_file;
            table.max_open_files = max_open_files;
            let cancel = table.options.cancel.clone();
            let folder = Folder::new(&folder)?;
            let writer = table::TableWriter::new(&folder, &schema.into_inner(), table)?;
            Ok(Self {
                writer: Mutex::new(Some(writer)),
                cancel,
            })
        })
    }

    /// Adds the rows of an Arrow stream, which is read whole before.
    fn write(&self, py: Python<'_>, batches: &Bound<'_, PyAny>) -> PyResult<()> {
        let batches = read(py, batches)?;
        run_interruptibly(py, &self.cancel, move || {
            write_all(batches, self.lock(), table::TableWriter::write)
        })
    }

    /// Makes the files visible; returns their paths, rows, bytes, and the names of their folders.
    fn finish(&self, py: Python<'_>) -> PyResult<(Vec<OsString>, u64, u64, Vec<String>)> {
        let written = run_interruptibly(py, &self.cancel, || {
            self.lock().take().ok_or_else(closed)?.finish()
        })?;
        let TableSummary {
            files,
            rows,
            file_bytes,
            folders,
            ..
        } = written;
        let files = files.into_iter().map(PathBuf::into_os_string).collect();
        Ok((files, rows, file_bytes, folders))
    }

    /// Gives the files up; nothing stays of them.
    fn abort(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }
}

impl TableWriter {
    fn lock(&self) -> MutexGuard<'_, Option<table::TableWriter>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The batches of an Arrow stream.
fn read(py: Python<'_>, batches: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let failed = |error: &dyn Display| invalid(py, &format!("the input failed: {error}"));
    let mut batches: Vec<RecordBatch> = run_attached(py, || {
        let reader = batches.extract::<PyRecordBatchReader>()?.into_reader()?;
        reader.collect::<Result<_, _>>().map_err(|e| failed(&e))
    })?;
    // An imported empty slice has offsets into a buffer that is dropped, which the check would refuse.
    batches.retain(|batch| batch.num_rows() > 0);
    Ok(batches)
}

fn closed() -> Error {
    Error::invalid("this writer is closed")
}

/// The names of all encodings, each with a one-line description.
#[pyfunction]
pub(crate) fn encodings(py: Python<'_>) -> PyResult<Vec<(&'static str, &'static str)>> {
    run(py, || {
        Ok(staffa::encodings()
            .into_iter()
            .map(|encoding| (encoding.name, encoding.about))
            .collect())
    })
}

/// Checks offsets, UTF-8 and dictionary keys before they are stored: Arrow's C interface does not.
fn check(batch: &RecordBatch) -> Result<()> {
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        staffa::validate_array(&column.to_data()).map_err(|error| {
            Error::invalid(format!(
                "column {:?} holds invalid data: {error}",
                field.name()
            ))
        })?;
    }
    Ok(())
}
