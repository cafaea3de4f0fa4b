//! Scans: columns, filter, form of the batches, and the stream of them.

use std::ffi::c_char;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ffi::FFI_ArrowSchema;
use staffa::{Cancel, File, Result, Scan, Split};

use super::arguments::{borrowed, borrowed_mut, give, place, take, text, texts};
use super::arrow::{released_schema, schema_out, stream_out};
use super::error::{StaffaCode, StaffaError, guard};
use super::file::StaffaFile;
use super::predicate::StaffaPredicate;

/// What to read of a file, and how. One thread at a time uses it. It begins with all columns, all rows in
/// the order of the file, batches of at most 65,536 rows, and the calling thread alone.
#[derive(Debug)]
pub struct StaffaScan {
    pub(super) file: File,
    scan: Scan,
    /// Rows that it is restricted to, if it is.
    pub(super) splits: Vec<Split>,
}

/// A flag that stops scans and writers, which any thread may set.
#[derive(Debug, Default)]
pub struct StaffaCancel(pub(super) Cancel);

impl StaffaScan {
    /// Changes the scan.
    pub(super) fn change(&mut self, change: impl FnOnce(Scan) -> Scan) {
        self.scan = change(self.scan.clone());
    }

    /// The scan with its splits.
    pub(super) fn whole(&self) -> Scan {
        let scan = self.scan.clone();
        if self.splits.is_empty() {
            scan
        } else {
            scan.several_splits(self.splits.iter().cloned())
        }
    }
}

/// A flag that is not set. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn staffa_cancel_new() -> *mut StaffaCancel {
    Box::into_raw(Box::default())
}

/// Sets a flag, for good; NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_cancel_set(cancel: *const StaffaCancel) {
    // SAFETY: the contract of `mod.rs`.
    if let Ok(cancel) = unsafe { borrowed(cancel, "cancel") } {
        cancel.0.cancel();
    }
}

/// Frees a flag; scans and writers that have it go on. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_cancel_free(cancel: *mut StaffaCancel) {
    // SAFETY: the contract of `mod.rs`.
    drop(unsafe { take(cancel) });
}

/// A scan of a file, which it keeps open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_new(
    file: *const StaffaFile,
    scan: *mut *mut StaffaScan,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            give(scan, "scan", || {
                let file = borrowed(file, "file")?.0.clone();
                Ok(StaffaScan {
                    scan: file.scan().here(),
                    splits: Vec::new(),
                    file,
                })
            })
        })
    }
}

/// Changes a scan.
unsafe fn change(
    scan: *mut StaffaScan,
    error: *mut *mut StaffaError,
    change: impl FnOnce(Scan) -> Result<Scan>,
) -> StaffaCode {
    // SAFETY: the caller's.
    unsafe {
        guard(error, || {
            let own = borrowed_mut(scan, "scan")?;
            own.scan = change(own.scan.clone())?;
            Ok(())
        })
    }
}

/// Top-level columns by name, in the order wanted; none where `count` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_columns(
    scan: *mut StaffaScan,
    columns: *const *const c_char,
    count: usize,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        change(scan, error, |scan| {
            Ok(scan.columns(texts(columns, count, "columns")?))
        })
    }
}

/// Only rows for which a predicate is true, which is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_filter(
    scan: *mut StaffaScan,
    predicate: *const StaffaPredicate,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        change(scan, error, |scan| {
            Ok(scan.filter(borrowed(predicate, "predicate")?.get().clone()))
        })
    }
}

/// Whether rows for which the predicate is not true may come too: for engines that test again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_loose(
    scan: *mut StaffaScan,
    on: bool,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe { change(scan, error, |scan| Ok(scan.loose(on))) }
}

/// Largest number of rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_limit(
    scan: *mut StaffaScan,
    rows: u64,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe { change(scan, error, |scan| Ok(scan.limit(rows))) }
}

/// Skips the first rows, of those that the predicate keeps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_offset(
    scan: *mut StaffaScan,
    rows: u64,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe { change(scan, error, |scan| Ok(scan.offset(rows))) }
}

/// Largest number of rows of a batch; 65,536 by default. A batch never spans row groups.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_batch_rows(
    scan: *mut StaffaScan,
    rows: usize,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe { change(scan, error, |scan| Ok(scan.batch_rows(rows))) }
}

/// Threads that decode, ahead of the caller: 1, the default, for the one that asks for batches and no other;
/// 0 for all that the process may use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_threads(
    scan: *mut StaffaScan,
    threads: usize,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe { change(scan, error, |scan| Ok(scan.threads(Some(threads)))) }
}

/// Whether rows come in the order of the file, which is the default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_ordered(
    scan: *mut StaffaScan,
    on: bool,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe { change(scan, error, |scan| Ok(scan.ordered(on))) }
}

/// Strings and binaries as views.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_string_views(
    scan: *mut StaffaScan,
    on: bool,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe { change(scan, error, |scan| Ok(scan.string_views(on))) }
}

/// Columns of strings or binaries to read as dictionaries with keys of 32 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_dictionaries(
    scan: *mut StaffaScan,
    columns: *const *const c_char,
    count: usize,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        change(scan, error, |scan| {
            Ok(scan.dictionaries(texts(columns, count, "columns")?))
        })
    }
}

/// Appends a column of this name with the number of each row in the table, from 0, as int64.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_row_numbers(
    scan: *mut StaffaScan,
    name: *const c_char,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        change(
            scan,
            error,
            |scan| Ok(scan.row_numbers(text(name, "name")?)),
        )
    }
}

/// Only the row groups that begin within a range of bytes, by an estimate from their rows: for engines that
/// cut files into ranges. Ranges that together cover the file read each row once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_byte_range(
    scan: *mut StaffaScan,
    offset: u64,
    len: u64,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        change(scan, error, |scan| {
            Ok(scan.byte_range(offset..offset.saturating_add(len)))
        })
    }
}

/// Ends streams of the scan with `STAFFA_CODE_CANCELLED` (in a stream: EINVAL, "cancelled") once the flag is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_cancel(
    scan: *mut StaffaScan,
    cancel: *const StaffaCancel,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        change(scan, error, |scan| {
            Ok(scan.cancel(borrowed(cancel, "cancel")?.0.clone()))
        })
    }
}

/// The schema of the batches, which the caller releases.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_schema(
    scan: *const StaffaScan,
    schema: *mut FFI_ArrowSchema,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let place = place(schema, "schema")?;
            released_schema(place);
            // Nothing is read before the first batch.
            schema_out(
                &borrowed(scan, "scan")?.whole().here().reader()?.schema(),
                place,
            )
        })
    }
}

/// Begins the scan: a stream of Arrow's C interface, which the caller releases, on any thread, also after scan
/// and file are freed. A scan may be begun several times. An error ends a stream: half a table is no table.
/// Its codes are EIO, ENOMEM (a limit), ENOSYS (unsupported) and EINVAL, its text says what and where.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_stream(
    scan: *const StaffaScan,
    stream: *mut FFI_ArrowArrayStream,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let place = place(stream, "stream")?;
            place.write(FFI_ArrowArrayStream::empty());
            stream_out(borrowed(scan, "scan")?.whole().reader()?, place)
        })
    }
}

/// Frees a scan; streams of it go on. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_free(scan: *mut StaffaScan) {
    // SAFETY: the contract of `mod.rs`.
    drop(unsafe { take(scan) });
}
