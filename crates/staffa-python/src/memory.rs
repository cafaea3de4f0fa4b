//! Memory that is kept for the next batch or table.

use pyo3::prelude::*;

use crate::errors::run;

/// Sets how many bytes of freed output memory stay with the process; gives the limit before.
#[pyfunction]
pub(crate) fn set_retained_memory(py: Python<'_>, bytes: usize) -> PyResult<usize> {
    run(py, || Ok(staffa::set_retained_memory(bytes)))
}

/// The bytes of freed output memory that stay with the process now.
#[pyfunction]
pub(crate) fn retained_memory(py: Python<'_>) -> PyResult<usize> {
    run(py, || Ok(staffa::retained_memory()))
}
