//! Retained memory: freed output memory that is kept for the next batch or table.

use pyo3::prelude::*;

use crate::errors::run;

/// Sets the limit of retained memory in bytes; returns the previous limit.
#[pyfunction]
pub(crate) fn set_retained_memory(py: Python<'_>, bytes: usize) -> PyResult<usize> {
    run(py, || Ok(staffa::set_retained_memory(bytes)))
}

/// The bytes of retained memory now.
#[pyfunction]
pub(crate) fn retained_memory(py: Python<'_>) -> PyResult<usize> {
    run(py, || Ok(staffa::retained_memory()))
}
