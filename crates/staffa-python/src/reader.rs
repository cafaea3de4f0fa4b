//! A stream of record batches: read batch by batch from Python, or exported as an Arrow C stream.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::{ArrowError, Field, FieldRef, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};

use crate::batch::Batch;
use crate::errors::{invalid, panicked, run, run_attached};
use crate::fork::on_own_threads;

/// The batches of a scan.
pub(crate) type Batches = Box<dyn Iterator<Item = staffa::Result<RecordBatch>> + Send>;

const CLOSED: &str = "this reader is closed or was exported already";

/// A stream of record batches that can be read once.
#[pyclass(frozen, module = "staffa._staffa")]
pub(crate) struct Reader {
    schema: SchemaRef,
    batches: Mutex<Option<Batches>>,
}

impl Reader {
    pub(crate) fn new(schema: SchemaRef, batches: Batches) -> Self {
        Self {
            schema,
            batches: Mutex::new(Some(batches)),
        }
    }

    /// Locked without the GIL: the holder of the lock may wait for the GIL.
    fn lock(&self) -> MutexGuard<'_, Option<Batches>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Reader {
    /// The next batch, or None at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let next = run(py, || match self.lock().as_mut() {
            Some(batches) => batches.next().transpose(),
            None => Err(staffa::Error::invalid(CLOSED)),
        })?;
        py.check_signals()?;
        Ok(next.map(Batch))
    }

    /// Closes the reader; closing it again does nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.lock().take()));
    }

    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        py.detach(|| self.lock().is_none())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        run_attached(py, || Ok(to_schema_pycapsule(py, self.schema.as_ref())?))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let Some(batches) = py.detach(|| self.lock().take()) else {
            return Err(invalid(py, CLOSED));
        };
        run_attached(py, || {
            let arrays = ArrayIterator::new(
                Arrays {
                    batches,
                    failed: false,
                },
                row_field(&self.schema),
            );
            Ok(to_stream_pycapsule(py, Box::new(arrays), requested_schema)?)
        })
    }
}

/// Batches as the struct arrays of a C stream. Foreign code calls this: no panic may pass, and no message
/// may hold a NUL byte, which ends a C string.
struct Arrays {
    batches: Batches,
    failed: bool,
}

impl Iterator for Arrays {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let message =
            match catch_unwind(AssertUnwindSafe(|| on_own_threads(|| self.batches.next()))) {
                Ok(None) => return None,
                Ok(Some(Ok(batch))) => return Some(Ok(Arc::new(StructArray::from(batch)))),
                Ok(Some(Err(error))) => error.to_string(),
                Err(payload) => panicked(&*payload),
            };
        self.failed = true;
        Some(Err(ArrowError::ExternalError(
            message.replace('\0', "\\0").into(),
        )))
    }
}

/// The type of the struct arrays; the struct holds the metadata of the schema.
fn row_field(schema: &Schema) -> FieldRef {
    Arc::new(
        Field::new_struct("", schema.fields().clone(), false)
            .with_metadata(schema.metadata().clone()),
    )
}
