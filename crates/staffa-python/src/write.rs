//! Writing of Arrow batches; the file appears whole or not at all.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::{Array, RecordBatch};
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatchReader, PySchema};
use staffa::{Cancel, Error, Result, WriteOptions};

use crate::errors::{invalid, run, run_attached, run_interruptibly};

/// A file in the making. Dropped before it is finished, it leaves nothing behind.
#[pyclass(frozen, module = "staffa._staffa")]
pub(crate) struct Writer {
    /// None after the file is finished or given up.
    writer: Mutex<Option<staffa::Writer>>,
    cancel: Cancel,
}

#[pymethods]
impl Writer {
    /// Starts a file with this schema.
    #[new]
    #[pyo3(signature = (path, schema, profile, column_profiles, access, encodings, max_error, without, edition, sort_order, chunk_statistics, row_group_rows, threads, relate, verify, overwrite))]
    #[expect(
        clippy::too_many_arguments,
        clippy::fn_params_excessive_bools,
        reason = "the keyword arguments of the Python function"
    )]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        schema: PySchema,
        profile: &str,
        column_profiles: Vec<(String, String)>,
        access: &str,
        encodings: Vec<(String, String)>,
        max_error: Vec<(String, f64)>,
        without: Vec<String>,
        edition: Option<String>,
        sort_order: Vec<String>,
        chunk_statistics: bool,
        row_group_rows: Option<usize>,
        threads: Option<usize>,
        relate: bool,
        verify: bool,
        overwrite: bool,
    ) -> PyResult<Self> {
        run(py, || {
            let of_column = |(column, name): (String, String)| Ok((column, name.parse()?));
            let profiles: Result<_> = column_profiles.into_iter().map(of_column).collect();
            let mut options = WriteOptions::default();
            options.profile = profile.parse()?;
            options.column_profiles = profiles?;
            options.access = access.parse()?;
            options.encodings = encodings;
            options.max_error = max_error;
            options.without = without;
            options.edition = edition.map(|name| name.parse()).transpose()?;
            options.sort_order = sort_order
                .iter()
                .map(|key| key.parse())
                .collect::<Result<_>>()?;
            options.chunk_statistics = chunk_statistics;
            options.row_group_rows = row_group_rows.unwrap_or(options.row_group_rows);
            options.threads = threads;
            options.relate = relate;
            options.verify = verify;
            options.overwrite = overwrite;
            let cancel = options.cancel.clone();
            let writer = staffa::Writer::create(&path, schema.into_inner(), options)?;
            Ok(Self {
                writer: Mutex::new(Some(writer)),
                cancel,
            })
        })
    }

    /// Adds the rows of an Arrow stream, which is read whole before.
    fn write(&self, py: Python<'_>, batches: &Bound<'_, PyAny>) -> PyResult<()> {
        let failed = |error: &dyn Display| invalid(py, &format!("the input failed: {error}"));
        let mut batches: Vec<RecordBatch> = run_attached(py, || {
            let reader = batches.extract::<PyRecordBatchReader>()?.into_reader()?;
            reader.collect::<Result<_, _>>().map_err(|e| failed(&e))
        })?;
        // An imported empty slice has offsets into a buffer that is dropped, which the check would refuse.
        batches.retain(|batch| batch.num_rows() > 0);
        run_interruptibly(py, &self.cancel, || {
            let mut writer = self.lock();
            let writer = writer.as_mut().ok_or_else(closed)?;
            batches.iter().try_for_each(|batch| {
                check(batch)?;
                writer.write(batch)
            })
        })
    }

    /// Finishes the file with these keys and values of the user; returns rows, row groups, bytes as Arrow and
    /// bytes of the file.
    fn finish(
        &self,
        py: Python<'_>,
        metadata: Vec<(String, Vec<u8>)>,
    ) -> PyResult<(u64, usize, u64, u64)> {
        let summary = run_interruptibly(py, &self.cancel, || {
            let mut writer = self.lock().take().ok_or_else(closed)?;
            for (key, value) in metadata {
                writer.set_metadata(key, value);
            }
            writer.finish()
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
        let written = |writer: &staffa::Writer| writer.bytes_written();
        py.detach(|| self.lock().as_ref().map_or(0, written))
    }
}

impl Writer {
    /// Locked without the GIL: the holder of the lock may wait for the GIL.
    fn lock(&self) -> MutexGuard<'_, Option<staffa::Writer>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        column.to_data().validate_full().map_err(|error| {
            Error::invalid(format!(
                "column {:?} holds invalid data: {error}",
                field.name()
            ))
        })?;
    }
    Ok(())
}
