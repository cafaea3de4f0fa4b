//! The extension module `staffa._staffa`: the library for Python.
//!
//! It is thin on purpose: defaults, filters by pyarrow expressions and help texts are written in Python
//! (`python/staffa`). Each call here releases the GIL and turns errors and panics into the exceptions of
//! `staffa.errors`.

#![forbid(unsafe_code)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "pyo3 passes arguments by value"
)]

mod batch;
mod disk_cache;
mod errors;
mod expression;
mod file;
mod fork;
mod import;
mod memory;
mod metrics;
mod open;
mod predicate;
mod reader;
mod reports;
mod table;
mod write;

// For its entry point alone, which DuckDB calls: see `scripts/duckdb_extension.py`.
use staffa_duckdb as _;

use pyo3::prelude::*;
use staffa_kernels::SmallPieces;

#[global_allocator]
static ALLOCATOR: SmallPieces = SmallPieces;

/// The extension module.
#[pymodule]
fn _staffa(module: &Bound<'_, PyModule>) -> PyResult<()> {
    fork::imported();
    staffa_lake::ask_while_waiting(errors::no_signal);
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<file::File>()?;
    module.add_class::<reader::Reader>()?;
    module.add_class::<write::Writer>()?;
    module.add_class::<write::TableWriter>()?;
    module.add_class::<batch::Batch>()?;
    module.add_function(wrap_pyfunction!(open::open, module)?)?;
    module.add_class::<table::TableFile>()?;
    module.add_function(wrap_pyfunction!(table::find, module)?)?;
    module.add_function(wrap_pyfunction!(table::publish, module)?)?;
    module.add_function(wrap_pyfunction!(table::discard, module)?)?;
    module.add_function(wrap_pyfunction!(table::hive_keys, module)?)?;
    module.add_function(wrap_pyfunction!(table::unify, module)?)?;
    module.add_function(wrap_pyfunction!(table::fold, module)?)?;
    module.add_function(wrap_pyfunction!(open::open_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(predicate::parse_filter, module)?)?;
    module.add_function(wrap_pyfunction!(expression::expression_steps, module)?)?;
    module.add_function(wrap_pyfunction!(write::encodings, module)?)?;
    module.add_function(wrap_pyfunction!(memory::set_retained_memory, module)?)?;
    module.add_function(wrap_pyfunction!(memory::retained_memory, module)?)?;
    module.add_function(wrap_pyfunction!(memory::set_cache_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(memory::cache_info, module)?)?;
    module.add_class::<metrics::ScanMetrics>()?;
    module.add_function(wrap_pyfunction!(disk_cache::set_disk_cache, module)?)?;
    module.add_function(wrap_pyfunction!(disk_cache::disk_cache_info, module)?)?;
    let flush = wrap_pyfunction!(disk_cache::flush_disk_cache, module)?;
    let at_exit = module.py().import("atexit")?;
    at_exit.call_method1("register", (flush,))?;
    module.add_function(wrap_pyfunction!(cli, module)?)?;
    Ok(())
}

/// The program `staffa` with these arguments, of which the first is its name; the exit code.
#[pyfunction]
fn cli(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| staffa_cli::main(&arguments))
}
