//! Arguments of C: nothing is followed before it is checked.

use std::ffi::{CStr, CString, c_char};
use std::mem::{MaybeUninit, size_of};
use std::path::PathBuf;
use std::ptr;

use staffa::{Error, Result};

fn null(what: &str) -> Error {
    Error::invalid(format!("{what}: NULL"))
}

fn checked<T>(pointer: *const T, what: &str) -> Result<()> {
    if pointer.is_null() {
        return Err(null(what));
    }
    if !pointer.is_aligned() {
        return Err(Error::invalid(format!("{what}: a misaligned pointer")));
    }
    Ok(())
}

/// What a pointer of the caller points to.
pub(super) unsafe fn borrowed<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    checked(pointer, what)?;
    // SAFETY: the contract of `mod.rs`.
    Ok(unsafe { &*pointer })
}

/// The same, to be changed.
pub(super) unsafe fn borrowed_mut<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T> {
    checked(pointer, what)?;
    // SAFETY: the contract of `mod.rs`.
    Ok(unsafe { &mut *pointer })
}

/// A place of the caller for a result, which may be uninitialised.
pub(super) unsafe fn place<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut MaybeUninit<T>> {
    checked(pointer, what)?;
    // SAFETY: the contract of `mod.rs`; nothing is read through a `MaybeUninit`.
    Ok(unsafe { &mut *pointer.cast() })
}

/// Items of the caller; NULL where there are none.
pub(super) unsafe fn slice<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    checked(pointer, what)?;
    if count
        .checked_mul(size_of::<T>())
        .is_none_or(|bytes| bytes > isize::MAX as usize)
    {
        return Err(Error::invalid(format!("{what}: {count} items")));
    }
    // SAFETY: the contract of `mod.rs`, for a length that memory can have.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Bytes up to a NUL.
unsafe fn bytes<'a>(pointer: *const c_char, what: &str) -> Result<&'a [u8]> {
    checked(pointer, what)?;
    // SAFETY: the contract of `mod.rs`: a `const char *` ends with a NUL.
    Ok(unsafe { CStr::from_ptr(pointer) }.to_bytes())
}

/// Text in UTF-8 up to a NUL.
pub(super) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str> {
    // SAFETY: the caller's.
    let bytes = unsafe { bytes(pointer, what) }?;
    let wrong = |e| Error::invalid(format!("{what}: UTF-8 expected: {e}"));
    std::str::from_utf8(bytes).map_err(wrong)
}

/// Several texts.
pub(super) unsafe fn texts<'a>(
    pointer: *const *const c_char,
    count: usize,
    what: &str,
) -> Result<Vec<&'a str>> {
    // SAFETY: the caller's, for the list and for each text.
    let all = unsafe { slice(pointer, count, what) }?;
    all.iter().map(|one| unsafe { text(*one, what) }).collect()
}

/// A path: on Unix any bytes, elsewhere UTF-8.
pub(super) unsafe fn path(pointer: *const c_char) -> Result<PathBuf> {
    #[cfg(unix)]
    {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: the caller's.
        let bytes = unsafe { bytes(pointer, "path") }?;
        Ok(PathBuf::from(OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    {
        // SAFETY: the caller's.
        unsafe { text(pointer, "path") }.map(PathBuf::from)
    }
}

/// A struct that begins with its size in bytes (`size_t size`), of which later versions have more
/// fields, and in which zeros mean nothing.
///
/// # Safety
///
/// `repr(C)`, the first field is a `usize`, and all zeros are a value.
pub(super) unsafe trait Versioned: Copy {
    /// The size that the first version had.
    const FIRST: usize;
}

/// The caller's size of a struct.
unsafe fn size_of_struct<T: Versioned>(pointer: *const T, what: &str) -> Result<usize> {
    checked(pointer, what)?;
    // SAFETY: the contract of `mod.rs`; of every version the first field is the size.
    let size = unsafe { *pointer.cast::<usize>() };
    if size < T::FIRST {
        let expected = T::FIRST;
        return Err(Error::invalid(format!(
            "{what}: a size of {expected} bytes or more expected, found {size}: is `size` set?"
        )));
    }
    Ok(size.min(size_of::<T>()))
}

/// A struct of the caller, in which fields that the caller's version lacks are zero.
pub(super) unsafe fn versioned<T: Versioned>(pointer: *const T, what: &str) -> Result<T> {
    // SAFETY: the caller's.
    let size = unsafe { size_of_struct(pointer, what) }?;
    let mut own = MaybeUninit::<T>::zeroed();
    // SAFETY: `size` bytes of both; zeros are a value of the rest (`Versioned`).
    unsafe {
        ptr::copy_nonoverlapping(pointer.cast::<u8>(), own.as_mut_ptr().cast(), size);
        Ok(own.assume_init())
    }
}

/// Fills a struct of the caller as far as the caller's version knows it; its size stays.
pub(super) unsafe fn fill<T: Versioned>(pointer: *mut T, value: &T, what: &str) -> Result<()> {
    // SAFETY: the caller's.
    let size = unsafe { size_of_struct(pointer, what) }?;
    let first = size_of::<usize>();
    // SAFETY: `size` bytes of both, behind the field of the size; `value` is no part of the caller's
    // memory.
    unsafe {
        let from = ptr::from_ref(value).cast::<u8>().add(first);
        ptr::copy_nonoverlapping(from, pointer.cast::<u8>().add(first), size - first);
    }
    Ok(())
}

/// Gives a new handle to the caller.
pub(super) unsafe fn give<T>(
    place: *mut *mut T,
    what: &str,
    handle: impl FnOnce() -> Result<T>,
) -> Result<()> {
    // SAFETY: the caller's.
    let place = unsafe { self::place(place, what) }?;
    place.write(ptr::null_mut());
    place.write(Box::into_raw(Box::new(handle()?)));
    Ok(())
}

/// Takes a handle back; nothing for NULL.
pub(super) unsafe fn take<T>(handle: *mut T) -> Option<Box<T>> {
    // SAFETY: the contract of `mod.rs`: made by `give` and not freed.
    (!handle.is_null()).then(|| unsafe { Box::from_raw(handle) })
}

/// An item of a list by its index.
pub(super) fn item<'a, T>(items: &'a [T], index: usize, what: &str) -> Result<&'a T> {
    let count = items.len();
    let missing = || Error::invalid(format!("{what} {index}: out of range, there are {count}"));
    items.get(index).ok_or_else(missing)
}

/// Text of the library for C.
pub(super) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\\0")).unwrap_or_default()
}
