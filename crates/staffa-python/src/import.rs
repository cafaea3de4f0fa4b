//! Batches as pyarrow's, by `RecordBatch._import_from_c`, with cached schemas.
//!
//! The `PyCapsule` protocol would export and import the schema with every batch.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::{Field, SchemaRef};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The schemas imported last and pyarrow's objects for them, the latest first. Locked with the GIL, and
/// briefly.
static SCHEMAS: Mutex<Vec<(SchemaRef, Py<PyAny>)>> = Mutex::new(Vec::new());

/// Schemas in the cache.
const CACHED: usize = 8;
/// The most columns of a cached schema, so that the cache stays small.
const CACHED_COLUMNS: usize = 1000;

/// The batch as a `pyarrow.RecordBatch`, without copying.
pub(crate) fn record_batch<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<Bound<'py, PyAny>> {
    static IMPORT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let schema = schema(py, batch.schema_ref())?;
    let mut array = FFI_ArrowArray::new(&StructArray::from(batch.clone()).to_data());
    // pyarrow moves the contents out and marks the array as released.
    pyarrow_method(py, &IMPORT, "RecordBatch", "_import_from_c")?
        .call1((&raw mut array as usize, schema))
}

/// The batches, all of this schema, as a `pyarrow.Table`.
pub(crate) fn table<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
    batches: &[RecordBatch],
) -> PyResult<Bound<'py, PyAny>> {
    static IMPORT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let imported: Vec<_> = batches
        .iter()
        .map(|batch| record_batch(py, batch))
        .collect::<PyResult<_>>()?;
    pyarrow_method(py, &IMPORT, "Table", "from_batches")?
        .call1((imported, self::schema(py, schema)?))
}

/// The schema as a `pyarrow.Schema`.
fn schema<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyAny>> {
    static IMPORT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let cacheable = is_cacheable(schema);
    if cacheable && let Some(cached) = cached(py, schema) {
        return Ok(cached);
    }
    let mut exported = FFI_ArrowSchema::try_from(schema.as_ref())
        .map_err(pyo3_arrow::error::PyArrowError::from)?;
    let imported = pyarrow_method(py, &IMPORT, "Schema", "_import_from_c")?
        .call1((&raw mut exported as usize,))?;
    if cacheable {
        let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
        schemas.truncate(CACHED - 1);
        schemas.insert(0, (schema.clone(), imported.clone().unbind()));
    }
    Ok(imported)
}

/// Whether pyarrow always makes the same of an equal schema. Extension types may be registered at any
/// time, and the comparison of fields ignores whether a dictionary is ordered.
fn is_cacheable(schema: &SchemaRef) -> bool {
    let fields = schema.flattened_fields();
    let plain = |field: &&Field| {
        field.extension_type_name().is_none() && field.dict_is_ordered() != Some(true)
    };
    fields.len() <= CACHED_COLUMNS && fields.iter().all(plain)
}

/// The cached schema, which becomes the latest.
fn cached<'py>(py: Python<'py>, schema: &SchemaRef) -> Option<Bound<'py, PyAny>> {
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    let position = schemas
        .iter()
        .position(|(cached, _)| Arc::ptr_eq(cached, schema) || cached == schema)?;
    schemas.get_mut(..=position)?.rotate_right(1);
    schemas
        .first()
        .map(|(_, imported)| imported.bind(py).clone())
}

/// `pyarrow.<class>.<method>`, looked up once per `cell`.
fn pyarrow_method<'py>(
    py: Python<'py>,
    cell: &PyOnceLock<Py<PyAny>>,
    class: &str,
    method: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let look_up = || {
        Ok(py
            .import("pyarrow")?
            .getattr(class)?
            .getattr(method)?
            .unbind())
    };
    cell.get_or_try_init(py, look_up)
        .map(|method| method.bind(py).clone())
}
