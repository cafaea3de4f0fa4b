//! Batches as pyarrow's own, by its own door (`RecordBatch._import_from_c`), with a schema that it
//! has imported before.
//!
//! Through the `PyCapsule` protocol every batch takes its schema along, to be written and read
//! anew.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::{Field, SchemaRef};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// What pyarrow made of the schemas of late, the latest first. Locked with the GIL and for a moment
/// only.
static SCHEMAS: Mutex<Vec<(SchemaRef, Py<PyAny>)>> = Mutex::new(Vec::new());

/// As many schemas are kept,
const KEPT: usize = 8;
/// of at most so many columns, so that what is kept stays small.
const KEPT_COLUMNS: usize = 1000;

/// The batch as a `pyarrow.RecordBatch`, without copying.
pub(crate) fn record_batch<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<Bound<'py, PyAny>> {
    static IMPORT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let schema = schema(py, batch.schema_ref())?;
    let mut array = FFI_ArrowArray::new(&StructArray::from(batch.clone()).to_data());
    // pyarrow moves out what the array holds and marks it as released.
    door(py, &IMPORT, "RecordBatch", "_import_from_c")?.call1((&raw mut array as usize, schema))
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
    door(py, &IMPORT, "Table", "from_batches")?.call1((imported, self::schema(py, schema)?))
}

/// The schema as a `pyarrow.Schema`.
fn schema<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyAny>> {
    static IMPORT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let told = tells_all(schema);
    if told && let Some(known) = known(py, schema) {
        return Ok(known);
    }
    let mut exported = FFI_ArrowSchema::try_from(schema.as_ref())
        .map_err(pyo3_arrow::error::PyArrowError::from)?;
    let imported =
        door(py, &IMPORT, "Schema", "_import_from_c")?.call1((&raw mut exported as usize,))?;
    if told {
        let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
        schemas.truncate(KEPT - 1);
        schemas.insert(0, (schema.clone(), imported.clone().unbind()));
    }
    Ok(imported)
}

/// Whether an equal schema is the same to pyarrow, now and later: extension types may be registered
/// at any time, and that a dictionary is ordered does not count when fields are compared.
fn tells_all(schema: &SchemaRef) -> bool {
    let fields = schema.flattened_fields();
    let plain = |field: &&Field| {
        field.extension_type_name().is_none() && field.dict_is_ordered() != Some(true)
    };
    fields.len() <= KEPT_COLUMNS && fields.iter().all(plain)
}

fn known<'py>(py: Python<'py>, schema: &SchemaRef) -> Option<Bound<'py, PyAny>> {
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    let at = schemas
        .iter()
        .position(|(known, _)| Arc::ptr_eq(known, schema) || known == schema)?;
    schemas[..=at].rotate_right(1);
    schemas
        .first()
        .map(|(_, imported)| imported.bind(py).clone())
}

/// `pyarrow.<class>.<method>`, looked up once.
fn door<'py>(
    py: Python<'py>,
    found: &PyOnceLock<Py<PyAny>>,
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
    found
        .get_or_try_init(py, look_up)
        .map(|door| door.bind(py).clone())
}
