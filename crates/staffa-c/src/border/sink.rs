//! Bytes that the host writes.

use std::ffi::{CStr, c_char, c_void};
use std::io::{self, Write};
use std::mem::offset_of;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use staffa::{Error, Result};

use super::arguments::{Versioned, text, versioned};
use super::error::StaffaCode;
use super::source::Release;

/// Where the bytes of a new file go. They come in order; the file is whole once `staffa_writer_finish` has
/// returned `STAFFA_CODE_OK`. Callbacks are called by the thread that called the library.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StaffaSink {
    /// `sizeof(StaffaSink)`.
    pub size: usize,
    /// The first argument of every callback.
    pub context: *mut c_void,
    /// The file's name in messages: a path or a URL, without secrets. It is copied.
    pub name: *const c_char,
    /// Takes all of `len` bytes. Returns 0; any other number is an error: `STAFFA_CODE_CANCELLED`, `STAFFA_CODE_IO`.
    pub write: Option<
        unsafe extern "C-unwind" fn(context: *mut c_void, bytes: *const u8, len: usize) -> i32,
    >,
    /// Called once behind the last byte, before `staffa_writer_finish` returns; 0, or an error. May be NULL.
    pub flush: Option<unsafe extern "C-unwind" fn(context: *mut c_void) -> i32>,
    /// Why the last callback failed, or NULL; the text is copied at once. May be NULL.
    pub last_error: Option<unsafe extern "C-unwind" fn(context: *mut c_void) -> *const c_char>,
    /// Frees the context. Called once: when the writer is finished, has failed or is freed, or by the call
    /// that failed to make it. May be NULL.
    pub release: Option<unsafe extern "C-unwind" fn(context: *mut c_void)>,
}

// SAFETY: `repr(C)`, begins with the size; zeros are NULL, 0 and no callback.
unsafe impl Versioned for StaffaSink {
    const FIRST: usize = offset_of!(StaffaSink, release) + size_of::<usize>();
}

/// A sink of the host.
pub(super) struct HostSink {
    sink: StaffaSink,
    write: unsafe extern "C-unwind" fn(*mut c_void, *const u8, usize) -> i32,
    name: String,
    /// Set once nothing more may be written: after a failure, and when the writer is given up.
    closed: Arc<AtomicBool>,
    _release: Release,
}

// SAFETY: the header asks of the host that a writer may move between threads; the context is handed to
// the callbacks alone.
unsafe impl Send for HostSink {}

impl HostSink {
    /// Takes the context over: from here on it is released once, whatever comes.
    pub unsafe fn new(pointer: *const StaffaSink) -> Result<Self> {
        // SAFETY: the caller's.
        let sink = unsafe { versioned(pointer, "sink") }?;
        let release = Release {
            context: sink.context,
            release: sink.release,
        };
        let write = sink.write;
        let write = write.ok_or_else(|| Error::invalid("sink: write: NULL"))?;
        Ok(Self {
            // SAFETY: the caller's.
            name: unsafe { text(sink.name, "sink: name") }?.to_owned(),
            sink,
            write,
            closed: Arc::default(),
            _release: release,
        })
    }

    /// The end of the file: the host's flush.
    pub fn end(&self) -> Result<()> {
        let Some(flush) = self.sink.flush else {
            return Ok(());
        };
        // SAFETY: the host's function with the host's context.
        let code = unsafe { flush(self.sink.context) };
        self.checked(code, "flush")
            .map_err(|e| self.named(e.into()))
    }

    fn checked(&self, code: i32, what: &str) -> io::Result<()> {
        if code == 0 {
            return Ok(());
        }
        if code.unsigned_abs() == (StaffaCode::Cancelled as i32).unsigned_abs() {
            return Err(io::Error::other(Cancelled));
        }
        // SAFETY: the host's function with the host's context.
        let text = self
            .sink
            .last_error
            .map(|get| unsafe { get(self.sink.context) });
        let text = text.filter(|text| !text.is_null());
        Err(io::Error::other(text.map_or_else(
            || format!("the host's {what} failed with {code}"),
            // SAFETY: a text of the host, which lives until its next callback.
            |text| {
                unsafe { CStr::from_ptr(text) }
                    .to_string_lossy()
                    .into_owned()
            },
        )))
    }

    /// An error of a callback with the name of the file, or as the cancellation that it is.
    pub fn named(&self, error: Error) -> Error {
        named(&self.name, error)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The flag that ends all writing: buffered bytes do not reach the host any more.
    pub fn closed(&self) -> Arc<AtomicBool> {
        self.closed.clone()
    }
}

/// See [`HostSink::named`].
pub(super) fn named(name: &str, error: Error) -> Error {
    match error {
        Error::Io { source, .. } if is_cancellation(&source) => Error::Cancelled,
        Error::Io { path: None, source } => Error::io(PathBuf::from(name), source),
        other => other,
    }
}

fn is_cancellation(error: &io::Error) -> bool {
    let own = error
        .get_ref()
        .and_then(|own| own.downcast_ref::<Cancelled>());
    own.is_some()
}

/// A callback cancelled.
#[derive(Debug)]
struct Cancelled;

impl std::fmt::Display for Cancelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Cancelled {}

impl Write for HostSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if self.closed.load(Ordering::Relaxed) {
            return Err(io::Error::other("the writer was given up"));
        }
        // SAFETY: the host's function with the host's context, and as many bytes as it is told.
        let code = unsafe { (self.write)(self.sink.context, bytes.as_ptr(), bytes.len()) };
        let written = self.checked(code, "write").map(|()| bytes.len());
        written.inspect_err(|_| self.closed.store(true, Ordering::Relaxed))
    }

    /// The host's own flush comes behind the last byte.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
