//! Writing of Arrow streams; the file appears whole or not at all.

use std::path::PathBuf;

use arrow_array::{Array, RecordBatch};
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;
use staffa::{Error, Result, WriteOptions, Writer};

use crate::errors::{run, run_attached};

/// Writes `data`, an Arrow stream, to `path`; returns rows, row groups, bytes as Arrow and bytes of the
/// file.
#[pyfunction]
#[pyo3(signature = (data, path, profile, column_profiles, access, encodings, max_error, without, edition, metadata, sort_order, chunk_statistics, row_group_rows, threads, relate, verify))]
#[expect(
    clippy::too_many_arguments,
    reason = "the keyword arguments of the Python function"
)]
pub(crate) fn write_table(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    path: PathBuf,
    profile: &str,
    column_profiles: Vec<(String, String)>,
    access: &str,
    encodings: Vec<(String, String)>,
    max_error: Vec<(String, f64)>,
    without: Vec<String>,
    edition: Option<String>,
    metadata: Vec<(String, Vec<u8>)>,
    sort_order: Vec<String>,
    chunk_statistics: bool,
    row_group_rows: Option<usize>,
    threads: Option<usize>,
    relate: bool,
    verify: bool,
) -> PyResult<(u64, usize, u64, u64)> {
    let mut options = WriteOptions::default();
    options.profile = run(py, || profile.parse())?;
    let of_column = |(column, name): (String, String)| Ok((column, name.parse()?));
    options.profiles = run(py, || column_profiles.into_iter().map(of_column).collect())?;
    options.access = run(py, || access.parse())?;
    options.encodings = encodings;
    options.max_errors = max_error;
    options.without = without;
    options.edition = run(py, || edition.map(|name| name.parse()).transpose())?;
    options.sort_order = run(py, || sort_order.iter().map(|key| key.parse()).collect())?;
    options.chunk_statistics = chunk_statistics;
    options.row_group_rows = row_group_rows.unwrap_or(options.row_group_rows);
    options.threads = threads;
    options.relate = relate;
    options.verify = verify;

    let mut batches = run_attached(py, || data.extract::<PyRecordBatchReader>()?.into_reader())?;
    let schema = batches.schema();
    let mut writer = run(py, || Writer::create(&path, schema, options))?;
    for (key, value) in metadata {
        writer.set_metadata(key, value);
    }
    // A Python stream acquires the GIL inside `next`.
    while run(py, || match batches.next() {
        None => Ok(false),
        Some(batch) => {
            let batch =
                batch.map_err(|error| Error::invalid(format!("the input failed: {error}")))?;
            // An imported empty slice has offsets into a buffer that is dropped, which the check would
            // refuse.
            if batch.num_rows() > 0 {
                check(&batch)?;
                writer.write(&batch)?;
            }
            Ok(true)
        }
    })? {
        // Ctrl-C drops the writer and its temporary file.
        py.check_signals()?;
    }
    let summary = run(py, || writer.finish())?;
    Ok((
        summary.rows,
        summary.row_groups,
        summary.arrow_bytes,
        summary.file_bytes,
    ))
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
