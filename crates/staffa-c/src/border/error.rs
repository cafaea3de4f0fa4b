//! Errors of C: a code, and a handle with the text for those who want it.

use std::any::Any;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use staffa::{Error, Result};

use super::arguments::{c_text, take};
use crate::error::code_of;

/// What a function returns: `STAFFA_CODE_OK`, or why it failed.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaffaCode {
    /// It worked.
    Ok = 0,
    /// Bytes that no Staffa writer makes: a checksum or a structure does not hold.
    Corrupt = 1,
    /// Bytes that end too early.
    Truncated = 2,
    /// A type, a format version or an encoding that this release does not know.
    Unsupported = 3,
    /// More than the limits allow, or than the format can hold.
    Limit = 4,
    /// A mistake in Staffa, please report it.
    Internal = 5,
    /// A request that makes no sense: NULL, an unknown column, a row out of range.
    InvalidArgument = 6,
    /// Rows given to a writer that their types or the declared order rule out.
    InvalidValue = 7,
    /// A cancel flag was set, or a callback cancelled.
    Cancelled = 8,
    /// A read or a write that the system or a callback refused.
    Io = 9,
    /// An error of Arrow: offsets too large for a type, for example.
    Arrow = 10,
}

/// Why a function failed: a code and a text. Made where the caller passes a place for it, and freed by
/// `staffa_error_free`.
#[derive(Debug)]
pub struct StaffaError {
    code: StaffaCode,
    text: CString,
}

/// The version of this library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn staffa_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// The version of the functions and structs of this library. It grows when one is removed or changed, not
/// when one is added; it equals `STAFFA_ABI_VERSION` of the header that fits.
#[unsafe(no_mangle)]
pub extern "C" fn staffa_abi_version() -> u32 {
    STAFFA_ABI_VERSION
}

/// The version of the interface that this header describes; compare it with `staffa_abi_version()`.
pub const STAFFA_ABI_VERSION: u32 = 1;

/// The code of an error; `STAFFA_CODE_OK` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_error_code(error: *const StaffaError) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe { error.as_ref() }.map_or(StaffaCode::Ok, |error| error.code)
}

/// The text of an error: where, what was found, what was expected; "" for NULL. It lives as long as the
/// error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_error_message(error: *const StaffaError) -> *const c_char {
    // SAFETY: the contract of `mod.rs`.
    let error = unsafe { error.as_ref() };
    error.map_or(c"".as_ptr(), |error| error.text.as_ptr())
}

/// Frees an error; NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_error_free(error: *mut StaffaError) {
    // SAFETY: the contract of `mod.rs`.
    drop(unsafe { take(error) });
}

/// Runs the work of a function: a panic becomes an error, and the error goes to the caller.
///
/// After success `*place` is NULL. The work may leave values half changed only where nothing looks at
/// them again, as `writer.rs` does.
pub(super) unsafe fn guard(
    place: *mut *mut StaffaError,
    work: impl FnOnce() -> Result<()>,
) -> StaffaCode {
    let result = caught(work);
    let (code, error) = match result {
        Ok(()) => (StaffaCode::Ok, ptr::null_mut()),
        Err(error) => {
            let code = code_of(&error);
            let text = c_text(&error.to_string());
            let wanted = !place.is_null() && place.is_aligned();
            let new = || Box::into_raw(Box::new(StaffaError { code, text }));
            (code, if wanted { new() } else { ptr::null_mut() })
        }
    };
    if !place.is_null() && place.is_aligned() {
        // SAFETY: the contract of `mod.rs`; what was there before is not read.
        unsafe { place.write(error) };
    }
    code
}

/// The result of work, or its panic as an error.
pub(super) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|panic| Err(Error::internal(format!("panic: {}", text_of(&*panic)))))
}

/// Work that nothing waits for the result of, such as a release: a panic ends here.
pub(super) fn quietly(work: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(work));
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a text")
}
