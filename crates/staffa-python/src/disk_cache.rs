//! The cache of object stores on the local disk.

use std::path::PathBuf;

use pyo3::prelude::*;
use staffa_lake::DiskCache;

use crate::errors::run;

/// Keeps what is read from object stores in a folder, of at most so many bytes; without a folder nothing is kept.
#[pyfunction]
pub(crate) fn set_disk_cache(
    py: Python<'_>,
    folder: Option<PathBuf>,
    bytes: Option<u64>,
) -> PyResult<()> {
    run(py, || {
        let bytes = bytes.unwrap_or(DiskCache::DEFAULT_BYTES);
        let cache = folder.map(|folder| DiskCache::new(folder, bytes));
        if let Some(before) = DiskCache::set_process(cache.transpose()?) {
            before.flush();
        }
        Ok(())
    })
}

/// Hits, misses, bytes of each, bytes of the folder and budget; nothing where there is no cache.
#[pyfunction]
pub(crate) fn disk_cache_info(py: Python<'_>) -> PyResult<Option<[u64; 6]>> {
    run(py, || {
        let Some(cache) = DiskCache::process()? else {
            return Ok(None);
        };
        cache.flush();
        let info = cache.info();
        Ok(Some([
            info.hits,
            info.misses,
            info.hit_bytes,
            info.miss_bytes,
            info.bytes,
            info.budget_bytes,
        ]))
    })
}

/// Waits until what was read is written: at the end of the process.
#[pyfunction]
pub(crate) fn flush_disk_cache(py: Python<'_>) {
    py.detach(DiskCache::flush_process);
}
