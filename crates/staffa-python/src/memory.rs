//! Memory that stays with the process: freed output memory for the next batch or table, and the cache of
//! opened blocks.

use pyo3::prelude::*;

use crate::errors::run;
use crate::fork::own_cache;

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

/// Sets the budget of the process's cache in bytes; returns the previous budget.
#[pyfunction]
pub(crate) fn set_cache_bytes(py: Python<'_>, bytes: u64) -> PyResult<u64> {
    run(py, || Ok(own_cache().set_budget(bytes)))
}

/// Hits, misses, entries, bytes and budget of the process's cache.
#[pyfunction]
pub(crate) fn cache_info(py: Python<'_>) -> PyResult<(u64, u64, u64, u64, u64)> {
    run(py, || {
        let info = own_cache().info();
        Ok((
            info.hits,
            info.misses,
            info.entries,
            info.bytes,
            info.budget_bytes,
        ))
    })
}
