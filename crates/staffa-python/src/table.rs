//! Tables of several files: which files, keys in the names of folders, one schema, filters of a file.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PySchema};
use staffa_lake::table::{self, Folded, Folder, KeyColumns};

use crate::batch::Batch;
use crate::errors::{run, run_attached};
use crate::file::File;
use crate::open::{cache, checked, limits};
use crate::predicate::{predicate, tuple};

/// A file that was found.
#[pyclass(frozen, module = "staffa._staffa")]
pub(crate) struct TableFile(table::TableFile);

#[pymethods]
impl TableFile {
    #[getter]
    /// As text: `pathlib` would make one slash of the two of a URL.
    fn path(&self) -> OsString {
        self.0.path().into()
    }

    /// The names of all folders of the path.
    #[getter]
    fn folders(&self) -> Vec<String> {
        self.0.folders()
    }

    /// The names of the folders below the one that was searched.
    #[getter]
    fn folders_below(&self) -> Vec<String> {
        self.0.folders_below()
    }

    /// Removes the file.
    fn remove(&self, py: Python<'_>) -> PyResult<()> {
        run(py, || self.0.remove())
    }

    /// Opens the file: without a request where the index of its folder knows it.
    fn open(&self, py: Python<'_>) -> PyResult<File> {
        run(py, || {
            let file = self.0.open(limits(false))?;
            checked(file.with_cache(&cache(None)), self.0.path())
        })
    }
}

/// The Staffa files that a path, a folder, a pattern or a URL names, in order.
#[pyfunction]
pub(crate) fn find(py: Python<'_>, path: PathBuf) -> PyResult<Vec<TableFile>> {
    run(py, || {
        let mut found = table::find(&path, &table::is_staffa)?;
        found.read_index();
        Ok(found.files.into_iter().map(TableFile).collect())
    })
}

/// Moves files out of a hidden folder to the same places below a table's folder; returns their paths.
#[pyfunction]
pub(crate) fn publish(
    py: Python<'_>,
    hidden: PathBuf,
    table: PathBuf,
    files: Vec<PathBuf>,
) -> PyResult<Vec<OsString>> {
    let files = run(py, || {
        table::publish(&Folder::new(&hidden)?, &Folder::new(&table)?, &files)
    })?;
    Ok(files.into_iter().map(PathBuf::into_os_string).collect())
}

/// Removes a hidden folder and all that is in it.
#[pyfunction]
pub(crate) fn discard(py: Python<'_>, hidden: PathBuf) -> PyResult<()> {
    run(py, || table::discard(&Folder::new(&hidden)?))
}

/// The keys in the names of folders, a row for each file: integers where all are, else text, or all
/// of them text.
#[pyfunction]
#[pyo3(signature = (files, text=false))]
pub(crate) fn hive_keys(py: Python<'_>, files: Vec<Vec<String>>, text: bool) -> PyResult<Batch> {
    run(py, || {
        let keys = files
            .iter()
            .map(|file| table::keys(file.iter().map(String::as_str)));
        let keys: Vec<_> = keys.collect();
        let columns = KeyColumns::of(&keys, &|_| false, &|_| text);
        Ok(Batch(columns.rows(0..files.len())?))
    })
}

/// The union of schemas as a batch without rows; or a column whose types have none in common, and the
/// positions of two schemas that have it.
#[pyfunction]
pub(crate) fn unify(py: Python<'_>, schemas: Vec<PySchema>) -> PyResult<Py<PyAny>> {
    let schemas = schemas
        .into_iter()
        .map(|schema| (String::new(), schema.into_inner()));
    let schemas: Vec<_> = schemas.collect();
    match table::unify(&schemas) {
        Ok(schema) => Batch(RecordBatch::new_empty(Arc::new(schema))).into_py_any(py),
        Err(conflict) => {
            let [first, second] = conflict.files;
            (conflict.column, first, second).into_py_any(py)
        }
    }
}

/// What is left of a predicate for a file with constant columns, a batch of one row: a predicate of
/// the other columns, or whether all rows match or none.
#[pyfunction]
pub(crate) fn fold<'py>(
    py: Python<'py>,
    filter: &Bound<'py, PyAny>,
    constants: PyRecordBatch,
) -> PyResult<Bound<'py, PyAny>> {
    let filter = run_attached(py, || predicate(filter))?;
    let constants = constants.into_inner();
    match run(py, || table::fold(&filter, &constants, &|_| true))? {
        Folded::Never => false.into_bound_py_any(py),
        Folded::Always => true.into_bound_py_any(py),
        Folded::Rest { by, .. } => Ok(tuple(py, &by)?.into_any()),
        Folded::Unknown => Ok(tuple(py, &filter)?.into_any()),
    }
}
