//! The steps of a pickled expression of pyarrow: an IPC file, in whose metadata they stand in order.
//!
//! Arrow's readers, here and in Python, keep one value of each key.

use arrow_ipc::reader::read_footer_length;
use arrow_ipc::root_as_footer;
use pyo3::prelude::*;
use staffa::Error;

use crate::errors::run;

/// Bytes behind the footer: its length and the magic.
const END: usize = 10;

/// The keys and values, in order, of the metadata of an IPC file.
#[pyfunction]
pub(crate) fn expression_steps(py: Python<'_>, pickled: &[u8]) -> PyResult<Vec<(String, String)>> {
    run(py, || {
        steps(pickled).ok_or_else(|| Error::invalid("a pickled expression expected"))
    })
}

fn steps(pickled: &[u8]) -> Option<Vec<(String, String)>> {
    let (rest, end) = pickled.split_last_chunk::<END>()?;
    let start = rest.len().checked_sub(read_footer_length(*end).ok()?)?;
    let footer = root_as_footer(rest.get(start..)?).ok()?;
    let metadata = footer.schema()?.custom_metadata()?;
    metadata
        .iter()
        .map(|step| Some((step.key()?.to_owned(), step.value()?.to_owned())))
        .collect()
}
