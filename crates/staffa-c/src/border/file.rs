//! Files: opening, what they say of themselves, rows by number, verification.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_schema::ffi::FFI_ArrowSchema;
use bytes::Bytes;
use staffa::{File, with_threads};

use super::arguments::{Versioned, borrowed, fill, give, path, place, slice, take, texts};
use super::arrow::{batch_out, released_array, released_schema, schema_out};
use super::error::{StaffaCode, StaffaError, guard};
use super::options::{StaffaOptions, open_options};
use super::predicate::StaffaPredicate;
use super::source::{HostBytes, HostSource, Release, StaffaSource};

/// An open file. Threads may share it; scans and streams of it go on after it is freed.
#[derive(Debug)]
pub struct StaffaFile(pub(super) File);

/// What a file is, from its footer.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StaffaFileInfo {
    /// `sizeof(StaffaFileInfo)`, set by the caller.
    pub size: usize,
    /// Rows of the table.
    pub rows: u64,
    /// Row groups.
    pub row_groups: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Whether `id` is set: a writer may leave it out.
    pub has_id: bool,
    /// A hash of the file; files of other bytes have another one.
    pub id: [u8; 16],
}

/// What `staffa_file_verify` has checked.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StaffaVerifyReport {
    /// `sizeof(StaffaVerifyReport)`, set by the caller.
    pub size: usize,
    /// Rows of the table.
    pub rows: u64,
    /// Leaf columns.
    pub leaves: u64,
    /// Blocks.
    pub blocks: u64,
    /// Bytes of the file, all of them covered.
    pub bytes: u64,
    /// Bytes of the table in Arrow memory.
    pub decoded_bytes: u64,
}

// SAFETY: both are `repr(C)`, begin with the size, and hold integers and a bool, for which 0 is a value.
unsafe impl Versioned for StaffaFileInfo {
    const FIRST: usize = offset_of!(StaffaFileInfo, id) + 16;
}
// SAFETY: as above.
unsafe impl Versioned for StaffaVerifyReport {
    const FIRST: usize = offset_of!(StaffaVerifyReport, decoded_bytes) + 8;
}

/// Opens a local file: reads and checks its footer. `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_file_open(
    path: *const c_char,
    options: *const StaffaOptions,
    file: *mut *mut StaffaFile,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            give(file, "file", || {
                let options = open_options(options)?;
                let opened = File::open_with(self::path(path)?, options.limits)?;
                Ok(StaffaFile(options.apply(opened)))
            })
        })
    }
}

/// Opens a file that is in memory. With `release`, the memory is lent: it stays, and nobody writes it, until
/// `release(context)` is called once: after the last file, scan, stream and array that uses it is freed, or
/// by this call if it fails. Without, `data` is copied. `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_file_open_bytes(
    data: *const u8,
    len: usize,
    release: Option<unsafe extern "C-unwind" fn(context: *mut c_void)>,
    context: *mut c_void,
    options: *const StaffaOptions,
    file: *mut *mut StaffaFile,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    let lent = Release { context, release };
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            give(file, "file", || {
                let bytes = slice(data, len, "data")?;
                let options = open_options(options)?;
                let bytes = if lent.release.is_some() {
                    let release = lent;
                    Bytes::from_owner(HostBytes { data, len, release })
                } else {
                    Bytes::copy_from_slice(bytes)
                };
                let opened = File::from_bytes_with(bytes, options.limits)?;
                Ok(StaffaFile(options.apply(opened)))
            })
        })
    }
}

/// Opens a file whose bytes the host reads. The struct is copied; its context belongs to the library from
/// here on, also if the call fails (but for a `source` that is NULL or has no size). `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_file_open_source(
    source: *const StaffaSource,
    options: *const StaffaOptions,
    file: *mut *mut StaffaFile,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let source = Arc::new(HostSource::new(source)?);
            give(file, "file", || {
                let options = open_options(options)?;
                let opened = File::open_source_with(source, options.limits)?;
                Ok(StaffaFile(options.apply(opened)))
            })
        })
    }
}

/// Frees a file; NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_file_free(file: *mut StaffaFile) {
    // SAFETY: the contract of `mod.rs`.
    drop(unsafe { take(file) });
}

/// Tells rows, row groups, bytes and id of a file; `info->size` is set by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_file_info(
    file: *const StaffaFile,
    info: *mut StaffaFileInfo,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let file = &borrowed(file, "file")?.0;
            let id = file.id();
            let found = StaffaFileInfo {
                size: 0,
                rows: file.num_rows(),
                row_groups: file.num_row_groups() as u64,
                bytes: file.nbytes(),
                has_id: id.is_some(),
                id: id.unwrap_or([0; 16]),
            };
            fill(info, &found, "info")
        })
    }
}

/// The schema of the table, which the caller releases.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_file_schema(
    file: *const StaffaFile,
    schema: *mut FFI_ArrowSchema,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let schema = place(schema, "schema")?;
            released_schema(schema);
            schema_out(borrowed(file, "file")?.0.schema(), schema)
        })
    }
}

/// Whether the file can have rows for which a predicate is true, by its footer alone: false is certain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_file_may_match(
    file: *const StaffaFile,
    predicate: *const StaffaPredicate,
    may_match: *mut bool,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let (file, place) = (borrowed(file, "file")?, place(may_match, "may_match")?);
            place.write(true);
            place.write(file.0.may_match(borrowed(predicate, "predicate")?.get())?);
            Ok(())
        })
    }
}

/// Reads rows by number, counted from 0, in any order and with repeats, as one batch in that order, which the
/// caller releases with its schema. `columns` names top-level columns in the order wanted; all for NULL and 0.
/// The calling thread reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_file_take(
    file: *const StaffaFile,
    rows: *const u64,
    row_count: usize,
    columns: *const *const c_char,
    column_count: usize,
    schema: *mut FFI_ArrowSchema,
    array: *mut FFI_ArrowArray,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let (schema, array) = (place(schema, "schema")?, place(array, "array")?);
            released_schema(schema);
            released_array(array);
            let file = &borrowed(file, "file")?.0;
            let mut take = file.take(slice(rows, row_count, "rows")?);
            if !columns.is_null() {
                take = take.columns(texts(columns, column_count, "columns")?);
            }
            batch_out(with_threads(Some(1), || take.read())??, schema, array)
        })
    }
}

/// Reads, checks and decodes everything, with so many threads: 1 for the calling one alone, 0 for all that
/// the process may use. An error is the first thing that is wrong. `report->size` is set by the caller;
/// `report` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_file_verify(
    file: *const StaffaFile,
    threads: usize,
    report: *mut StaffaVerifyReport,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let file = &borrowed(file, "file")?.0;
            let found = with_threads(Some(threads), || file.verify(&mut |_| {}))??;
            if report.is_null() {
                return Ok(());
            }
            let found = StaffaVerifyReport {
                size: 0,
                rows: found.rows,
                leaves: found.leaves,
                blocks: found.blocks,
                bytes: found.bytes,
                decoded_bytes: found.decoded_bytes,
            };
            fill(report, &found, "report")
        })
    }
}
