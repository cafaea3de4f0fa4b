//! Options, as keys and values.

use std::ffi::c_char;

use staffa::Result;

use super::arguments::{borrowed, borrowed_mut, take, text};
use super::error::{StaffaCode, StaffaError, guard};
use crate::options::{OpenOptions, Options};

/// Options as keys and values: of opening a file, of writing one. Keys and values are checked where the
/// options are used; the guide lists them.
#[derive(Debug, Default)]
pub struct StaffaOptions(pub(super) Options);

/// New options, all of which are the defaults. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn staffa_options_new() -> *mut StaffaOptions {
    Box::into_raw(Box::default())
}

/// Sets an option. `without` and `sort_order` gather values; of other keys the last value counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_options_set(
    options: *mut StaffaOptions,
    key: *const c_char,
    value: *const c_char,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let options = borrowed_mut(options, "options")?;
            options
                .0
                .set(None, text(key, "key")?, text(value, "value")?);
            Ok(())
        })
    }
}

/// Sets an option of one column, by its name or by the path of a leaf.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_options_set_column(
    options: *mut StaffaOptions,
    column: *const c_char,
    key: *const c_char,
    value: *const c_char,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let options = borrowed_mut(options, "options")?;
            let column = text(column, "column")?;
            options
                .0
                .set(Some(column), text(key, "key")?, text(value, "value")?);
            Ok(())
        })
    }
}

/// Frees options; NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_options_free(options: *mut StaffaOptions) {
    // SAFETY: the contract of `mod.rs`.
    drop(unsafe { take(options) });
}

/// Options of opening; the defaults for NULL.
pub(super) unsafe fn open_options(options: *const StaffaOptions) -> Result<OpenOptions> {
    if options.is_null() {
        return Ok(OpenOptions::default());
    }
    // SAFETY: the caller's.
    unsafe { borrowed(options, "options") }?.0.for_open()
}
