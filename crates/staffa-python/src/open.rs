//! Opening of files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, FieldRef, Schema};
use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use staffa::{Cache, Error, Limits, Result};

use crate::errors::run;
use crate::file::File;
use crate::fork::own_cache;

/// Opens a file: reads and checks its footer.
#[pyfunction]
#[pyo3(signature = (path, cache_bytes=None, cache_decoded=false))]
pub(crate) fn open(
    py: Python<'_>,
    path: PathBuf,
    cache_bytes: Option<u64>,
    cache_decoded: bool,
) -> PyResult<File> {
    run(py, || {
        let limits = limits(cache_decoded);
        let file = match path.to_str().filter(|text| staffa_lake::is_url(text)) {
            Some(url) => staffa_lake::open_with(&staffa_lake::Location::parse(url)?, limits)?,
            None => staffa::File::open_with(&path, limits)?,
        };
        checked(file.with_cache(&cache(cache_bytes)), &path)
    })
}

/// A file whose schema Python can have.
pub(crate) fn checked(file: staffa::File, path: &Path) -> Result<File> {
    let checked = check_names(file.schema());
    checked.map_err(|error| error.at(|place| place.path = Some(path.to_owned())))?;
    Ok(File(file))
}

/// Opens a file that is in memory.
#[pyfunction]
#[pyo3(signature = (bytes, cache_bytes=None, cache_decoded=false))]
pub(crate) fn open_bytes(
    py: Python<'_>,
    bytes: PyBackedBytes,
    cache_bytes: Option<u64>,
    cache_decoded: bool,
) -> PyResult<File> {
    run(py, || {
        let file = staffa::File::from_bytes_with(Bytes::from_owner(bytes), limits(cache_decoded))?;
        check_names(file.schema())?;
        Ok(File(file.with_cache(&cache(cache_bytes))))
    })
}

/// A cache of the file's own if it has a budget, else that of the process.
pub(crate) fn cache(bytes: Option<u64>) -> Cache {
    bytes.map_or_else(own_cache, Cache::new)
}

pub(crate) fn limits(cache_decoded: bool) -> Limits {
    let mut limits = Limits::default();
    limits.cache_decoded = cache_decoded;
    limits
}

/// Refuses names with a NUL byte, on which arrow-rs panics: Arrow's C interface ends names at NUL. Only
/// Rust can read such a table.
fn check_names(schema: &Schema) -> Result<()> {
    // Schemas without a suspect string are not converted: they may have thousands of columns.
    if !schema.fields().iter().any(is_suspect) {
        return Ok(());
    }
    match catch_unwind(AssertUnwindSafe(|| FFI_ArrowSchema::try_from(schema))) {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(Error::unsupported(format!(
            "this schema cannot be exported to Python: {error}"
        ))),
        Err(_) => Err(Error::unsupported(
            "this schema cannot be exported to Python: a name holds a NUL byte",
        )),
    }
}

/// Whether a name in a field has a NUL byte, or its type might not be exported.
fn is_suspect(field: &FieldRef) -> bool {
    field.name().contains('\0') || is_suspect_type(field.data_type())
}

fn is_suspect_type(ty: &DataType) -> bool {
    match ty {
        DataType::Timestamp(_, Some(zone)) => zone.contains('\0'),
        DataType::Null | DataType::Boolean => false,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => is_suspect(item),
        DataType::Struct(fields) => fields.iter().any(is_suspect),
        DataType::Dictionary(key, values) => is_suspect_type(key) || is_suspect_type(values),
        DataType::RunEndEncoded(ends, values) => is_suspect(ends) || is_suspect(values),
        ty => !ty.is_primitive() && !ty.is_string() && !ty.is_binary(),
    }
}
