//! Keys and values that are stored with a table.

use std::ffi::{CString, c_char};

use super::arguments::{borrowed, give, item, place, take};
use super::error::{StaffaCode, StaffaError, guard};
use super::file::StaffaFile;

/// The keys and values that the writer's user gave a file.
#[derive(Debug)]
pub struct StaffaMetadata(Vec<(CString, Vec<u8>)>);

/// The keys and values of a file. A key that holds a NUL, which C cannot have, is left out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_file_metadata(
    file: *const StaffaFile,
    metadata: *mut *mut StaffaMetadata,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            give(metadata, "metadata", || {
                let all = borrowed(file, "file")?.0.metadata()?.into_iter();
                let entry = |(key, value)| Some((CString::new(key).ok()?, value));
                Ok(StaffaMetadata(all.filter_map(entry).collect()))
            })
        })
    }
}

/// Number of keys; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_metadata_len(metadata: *const StaffaMetadata) -> usize {
    // SAFETY: the contract of `mod.rs`.
    unsafe { borrowed(metadata, "metadata") }.map_or(0, |metadata| metadata.0.len())
}

/// A key and its value, in the order of the keys; both live as long as the handle. The value is any bytes,
/// without a NUL behind them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_metadata_get(
    metadata: *const StaffaMetadata,
    index: usize,
    key: *mut *const c_char,
    value: *mut *const u8,
    value_len: *mut usize,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let all = &borrowed(metadata, "metadata")?.0;
            let (k, v) = item(all, index, "key")?;
            place(key, "key")?.write(k.as_ptr());
            place(value, "value")?.write(v.as_ptr());
            place(value_len, "value_len")?.write(v.len());
            Ok(())
        })
    }
}

/// Frees metadata; NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_metadata_free(metadata: *mut StaffaMetadata) {
    // SAFETY: the contract of `mod.rs`.
    drop(unsafe { take(metadata) });
}
