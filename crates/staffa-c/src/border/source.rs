//! Bytes that the host reads: a file by its callbacks, or memory that it lends.

use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::io;
use std::mem::offset_of;
use std::ops::Range;
use std::path::PathBuf;
use std::ptr;

use bytes::Bytes;
use staffa::{Error, Result};

use super::arguments::{Versioned, text, versioned};
use super::error::{StaffaCode, quietly};

/// A range of bytes of a file.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaffaRange {
    /// The first byte.
    pub offset: u64,
    /// Their number.
    pub len: u64,
}

/// A file whose bytes the host reads. Callbacks are called by the threads that read: by one at a time, and
/// the one that called the library, unless several threads use the file or a scan has threads of its own.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StaffaSource {
    /// `sizeof(StaffaSource)`.
    pub size: usize,
    /// The first argument of every callback.
    pub context: *mut c_void,
    /// The file's name in messages: a path or a URL, without secrets. It is copied.
    pub name: *const c_char,
    /// Bytes of the file.
    pub len: u64,
    /// Reads `len` bytes at `offset`, which lie within the file, into `out`. Returns the number of bytes;
    /// fewer than `len` are an error. A negative number is an error too: `-STAFFA_CODE_CANCELLED`, `-STAFFA_CODE_IO`.
    pub read: Option<
        unsafe extern "C-unwind" fn(
            context: *mut c_void,
            offset: u64,
            len: u64,
            out: *mut u8,
        ) -> i64,
    >,
    /// Ranges that will be read next, ascending, none of them twice: a hint to fetch them together and ahead
    /// of time. May be NULL.
    pub begin: Option<
        unsafe extern "C-unwind" fn(context: *mut c_void, ranges: *const StaffaRange, count: usize),
    >,
    /// Why the last `read` of this thread failed, or NULL; the text is copied at once. May be NULL.
    pub last_error: Option<unsafe extern "C-unwind" fn(context: *mut c_void) -> *const c_char>,
    /// Frees the context. Called once, after the last file, scan and stream that uses it is freed, or by the
    /// call that failed to open the file. May be NULL.
    pub release: Option<unsafe extern "C-unwind" fn(context: *mut c_void)>,
}

// SAFETY: `repr(C)`, begins with the size; zeros are NULL, 0 and no callback.
unsafe impl Versioned for StaffaSource {
    const FIRST: usize = offset_of!(StaffaSource, release) + size_of::<usize>();
}

/// A file that the host reads.
pub(super) struct HostSource {
    source: StaffaSource,
    read: unsafe extern "C-unwind" fn(*mut c_void, u64, u64, *mut u8) -> i64,
    name: String,
    _release: Release,
}

/// Frees a context of the host when it is dropped.
pub(super) struct Release {
    pub context: *mut c_void,
    pub release: Option<unsafe extern "C-unwind" fn(context: *mut c_void)>,
}

// SAFETY: the header asks of the host that its callbacks may be called from any thread; the context is
// handed to them alone.
unsafe impl Send for Release {}
// SAFETY: as above.
unsafe impl Sync for Release {}
// SAFETY: as above.
unsafe impl Send for HostSource {}
// SAFETY: as above.
unsafe impl Sync for HostSource {}

impl Drop for Release {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the host's function with the host's context, called once.
            quietly(|| unsafe { release(self.context) });
        }
    }
}

impl fmt::Debug for HostSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostSource").field(&self.name).finish()
    }
}

impl HostSource {
    /// Takes the context over: from here on it is released once, whatever comes.
    pub unsafe fn new(pointer: *const StaffaSource) -> Result<Self> {
        // SAFETY: the caller's.
        let source = unsafe { versioned(pointer, "source") }?;
        let release = Release {
            context: source.context,
            release: source.release,
        };
        let read = source.read;
        let read = read.ok_or_else(|| Error::invalid("source: read: NULL"))?;
        Ok(Self {
            // SAFETY: the caller's.
            name: unsafe { text(source.name, "source: name") }?.to_owned(),
            source,
            read,
            _release: release,
        })
    }

    /// Why a read failed that returned `code`.
    fn failed(&self, code: i64) -> Error {
        if code == -i64::from(StaffaCode::Cancelled as i32) {
            return Error::Cancelled;
        }
        // SAFETY: the host's function with the host's context.
        let text = self
            .source
            .last_error
            .map(|get| unsafe { get(self.source.context) });
        let text = text.filter(|text| !text.is_null());
        let text = text.map_or_else(
            || format!("the host's read failed with {code}"),
            // SAFETY: a text of the host, which lives until its next callback.
            |text| {
                unsafe { CStr::from_ptr(text) }
                    .to_string_lossy()
                    .into_owned()
            },
        );
        Error::io(PathBuf::from(&self.name), io::Error::other(text))
    }
}

impl staffa::Source for HostSource {
    fn len(&self) -> u64 {
        self.source.len
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let len = range.end.saturating_sub(range.start);
        let no_memory = || Error::limit(format!("no memory for {len} bytes"));
        let count = usize::try_from(len).map_err(|_| no_memory())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(count).map_err(|_| no_memory())?;
        bytes.resize(count, 0);
        if count == 0 {
            return Ok(bytes.into());
        }
        // SAFETY: the host's function with the host's context, and memory of `len` bytes.
        let read =
            unsafe { (self.read)(self.source.context, range.start, len, bytes.as_mut_ptr()) };
        match u64::try_from(read) {
            Err(_) => Err(self.failed(read)),
            Ok(read) if read == len => Ok(bytes.into()),
            Ok(read) => Err(Error::truncated(format!(
                "{len} bytes at {} expected, the host's read gave {read}",
                range.start
            ))
            .at(|place| place.path = Some(PathBuf::from(&self.name)))),
        }
    }

    fn begin(&self, ranges: &[Range<u64>]) {
        let Some(begin) = self.source.begin else {
            return;
        };
        let ranges = ranges.iter().map(|range| StaffaRange {
            offset: range.start,
            len: range.end.saturating_sub(range.start),
        });
        let ranges: Vec<StaffaRange> = ranges.collect();
        // SAFETY: the host's function with the host's context, and as many ranges as it is told.
        unsafe { begin(self.source.context, ranges.as_ptr(), ranges.len()) };
    }
}

/// Memory that the host lends until `release`.
pub(super) struct HostBytes {
    pub data: *const u8,
    pub len: usize,
    /// Dropped last.
    #[expect(dead_code, reason = "its drop is what it is for")]
    pub release: Release,
}

// SAFETY: the header asks of the host that nobody writes the memory before it is released.
unsafe impl Send for HostBytes {}

impl AsRef<[u8]> for HostBytes {
    fn as_ref(&self) -> &[u8] {
        let data = if self.len == 0 {
            ptr::NonNull::dangling().as_ptr()
        } else {
            self.data
        };
        // SAFETY: checked by `slice` when it was lent; alive until `_release` is dropped.
        unsafe { std::slice::from_raw_parts(data, self.len) }
    }
}
