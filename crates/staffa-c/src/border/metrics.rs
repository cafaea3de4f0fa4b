//! What scans count, and the cache that they may use.

use std::mem::offset_of;
use std::time::Duration;

use staffa::{Cache, ScanMetrics};

use super::arguments::{Versioned, borrowed, borrowed_mut, fill, take};
use super::error::{StaffaCode, StaffaError, guard};
use super::scan::StaffaScan;

/// Counters of the scans that have them: of one, or of all that one query makes. Threads may share them.
#[derive(Debug, Default)]
pub struct StaffaMetrics(ScanMetrics);

/// What was counted so far.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StaffaCounts {
    /// `sizeof(StaffaCounts)`, set by the caller.
    pub size: usize,
    /// Bytes read of blocks and dictionaries; those that opening the file has read do not count.
    pub bytes_read: u64,
    /// Reads of the disk or of memory, and ranges read by the host.
    pub requests: u64,
    /// Nanoseconds of these.
    pub read_nanos: u64,
    /// Nanoseconds of everything else: checks, filters, decoding.
    pub decode_nanos: u64,
    /// Blocks that were needed.
    pub blocks: u64,
    /// Of these the ones found in the cache.
    pub cache_hits: u64,
}

// SAFETY: `repr(C)`, begins with the size, and holds integers.
unsafe impl Versioned for StaffaCounts {
    const FIRST: usize = offset_of!(StaffaCounts, cache_hits) + 8;
}

/// Counters that begin at 0. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn staffa_metrics_new() -> *mut StaffaMetrics {
    Box::into_raw(Box::default())
}

/// Tells what was counted; `counts->size` is set by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_metrics_get(
    metrics: *const StaffaMetrics,
    counts: *mut StaffaCounts,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let found = borrowed(metrics, "metrics")?.0.counts();
            let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            let told = StaffaCounts {
                size: 0,
                bytes_read: found.bytes_read,
                requests: found.requests,
                read_nanos: nanos(found.read_time),
                decode_nanos: nanos(found.decode_time),
                blocks: found.blocks,
                cache_hits: found.cache_hits,
            };
            fill(counts, &told, "counts")
        })
    }
}

/// Frees counters; scans that have them go on. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_metrics_free(metrics: *mut StaffaMetrics) {
    // SAFETY: the contract of `mod.rs`.
    drop(unsafe { take(metrics) });
}

/// Counts what a scan reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_metrics(
    scan: *mut StaffaScan,
    metrics: *const StaffaMetrics,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let metrics = &borrowed(metrics, "metrics")?.0;
            borrowed_mut(scan, "scan")?.change(|scan| scan.metrics(metrics));
            Ok(())
        })
    }
}

/// Whether blocks are taken from the cache of the file, and kept there for the next scan. No by default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_cached(
    scan: *mut StaffaScan,
    on: bool,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            borrowed_mut(scan, "scan")?.change(|scan| scan.cached(on));
            Ok(())
        })
    }
}

/// Sets the most bytes that the cache of the process holds, 256 MiB before that, and returns the most before.
/// Files use it that were opened without `cache_bytes`.
#[unsafe(no_mangle)]
pub extern "C" fn staffa_cache_set_bytes(bytes: u64) -> u64 {
    Cache::process().set_budget(bytes)
}
