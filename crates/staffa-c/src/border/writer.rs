//! Writers: batches of the host to a file, or to a sink of the host.

use std::ffi::c_char;
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::SchemaRef;
use arrow_schema::ffi::FFI_ArrowSchema;
use staffa::{AtomicFile, Error, Result, WriteOptions, WriteSummary, Writer};

use super::arguments::{Versioned, borrowed, borrowed_mut, fill, give, path, slice, take, text};
use super::arrow::{HostStream, array_in, batch_of, schema_in, table_schema};
use super::error::{StaffaCode, StaffaError, caught, guard};
use super::options::StaffaOptions;
use super::scan::StaffaCancel;
use super::sink::{HostSink, StaffaSink, named};
use crate::options::Options;

/// A file that is being written. One thread at a time uses it. Freed before it is finished, it leaves
/// nothing at its path; a sink has got the start of a file, which readers refuse.
pub struct StaffaWriter {
    schema: SchemaRef,
    /// `None` once it is finished or has failed.
    output: Option<Output>,
    bytes: u64,
}

/// A local file, or a sink of the host.
enum Output {
    Local(Box<Writer<AtomicFile>>),
    Host {
        /// Dropped before the writer.
        end: End,
        name: String,
        writer: Box<Writer<HostSink>>,
    },
}

/// Ends all writing to the host when it is dropped: bytes that are still buffered do not reach it.
struct End(Arc<AtomicBool>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The sizes of a file that was written.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StaffaWriteSummary {
    /// `sizeof(StaffaWriteSummary)`, set by the caller.
    pub size: usize,
    /// Rows of the table.
    pub rows: u64,
    /// Row groups.
    pub row_groups: u64,
    /// Bytes of the rows in Arrow memory.
    pub arrow_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

// SAFETY: `repr(C)`, begins with the size, and holds integers.
unsafe impl Versioned for StaffaWriteSummary {
    const FIRST: usize = offset_of!(StaffaWriteSummary, file_bytes) + 8;
}

impl Output {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Local(writer) => writer.write(batch),
            Self::Host { writer, name, .. } => writer.write(batch).map_err(|e| named(name, e)),
        }
    }

    fn set_metadata(&mut self, key: &str, value: &[u8]) {
        match self {
            Self::Local(writer) => writer.set_metadata(key, value),
            Self::Host { writer, .. } => writer.set_metadata(key, value),
        }
    }

    fn bytes_written(&self) -> u64 {
        match self {
            Self::Local(writer) => writer.bytes_written(),
            Self::Host { writer, .. } => writer.bytes_written(),
        }
    }

    /// Writes what is left, and ends the sink of the host.
    fn finish(self) -> Result<WriteSummary> {
        match self {
            Self::Local(writer) => writer.finish(),
            Self::Host { end, name, writer } => {
                let (sink, summary) = writer.into_parts().map_err(|e| named(&name, e))?;
                sink.end()?;
                drop(end);
                Ok(summary)
            }
        }
    }
}

impl StaffaWriter {
    fn new(schema: SchemaRef, output: Output) -> Self {
        Self {
            schema,
            output: Some(output),
            bytes: 0,
        }
    }

    fn output(&mut self) -> Result<&mut Output> {
        let ended = || Error::invalid("writer: it is finished, or has failed");
        self.output.as_mut().ok_or_else(ended)
    }

    /// Adds a batch. What the batch itself rules out leaves the writer as it was; after any other error, and
    /// after a panic, nothing can be trusted, and the writer is given up.
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let output = self.output()?;
        let written = caught(|| output.write(batch));
        self.bytes = output.bytes_written();
        let kept = |e: &Error| matches!(e, Error::InvalidArgument(_) | Error::InvalidValue(_));
        written.inspect_err(|e| {
            if !kept(e) {
                self.output = None;
            }
        })
    }
}

/// Options of writing; the defaults for NULL.
unsafe fn write_options(
    options: *const StaffaOptions,
    cancel: *const StaffaCancel,
) -> Result<WriteOptions> {
    let cancel = if cancel.is_null() {
        None
    } else {
        // SAFETY: the caller's.
        Some(&unsafe { borrowed(cancel, "cancel") }?.0)
    };
    if options.is_null() {
        return Options::default().for_write(cancel);
    }
    // SAFETY: the caller's.
    unsafe { borrowed(options, "options") }?.0.for_write(cancel)
}

/// Begins a local file, which appears at its path, whole, when it is finished. The schema is moved: released,
/// whatever comes. `options` and `cancel` may be NULL. The calling thread encodes, unless the option `threads`
/// says otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_writer_create(
    path: *const c_char,
    schema: *mut FFI_ArrowSchema,
    options: *const StaffaOptions,
    cancel: *const StaffaCancel,
    writer: *mut *mut StaffaWriter,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let schema = schema_in(schema);
            give(writer, "writer", || {
                let (path, schema) = (self::path(path)?, table_schema(&schema?)?);
                let options = write_options(options, cancel)?;
                let begun = Writer::create(path, schema.clone(), options)?;
                Ok(StaffaWriter::new(schema, Output::Local(Box::new(begun))))
            })
        })
    }
}

/// Begins a file whose bytes the host takes. The struct is copied; its context belongs to the library from
/// here on, also if the call fails (but for a `sink` that is NULL or has no size). The rest as for
/// `staffa_writer_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_writer_create_sink(
    sink: *const StaffaSink,
    schema: *mut FFI_ArrowSchema,
    options: *const StaffaOptions,
    cancel: *const StaffaCancel,
    writer: *mut *mut StaffaWriter,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let (schema, sink) = (schema_in(schema), HostSink::new(sink));
            give(writer, "writer", || {
                let (schema, sink) = (table_schema(&schema?)?, sink?);
                let options = write_options(options, cancel)?;
                let (name, end) = (sink.name().to_owned(), End(sink.closed()));
                let begun = Writer::new(sink, schema.clone(), options);
                let writer = Box::new(begun.map_err(|e| named(&name, e))?);
                Ok(StaffaWriter::new(
                    schema,
                    Output::Host { end, name, writer },
                ))
            })
        })
    }
}

/// Adds a batch, a struct array of the schema's columns, which is moved: released, whatever comes. A batch that
/// is refused (`STAFFA_CODE_INVALID_VALUE`, `STAFFA_CODE_INVALID_ARGUMENT`) leaves the writer as it was; any other error
/// ends it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_writer_write(
    writer: *mut StaffaWriter,
    batch: *mut FFI_ArrowArray,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let array = array_in(batch);
            let writer = borrowed_mut(writer, "writer")?;
            writer.output()?;
            let batch = batch_of(array?, &writer.schema)?;
            writer.write(&batch)
        })
    }
}

/// Adds all batches of a stream, which is moved: released, whatever comes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_writer_write_stream(
    writer: *mut StaffaWriter,
    stream: *mut FFI_ArrowArrayStream,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let stream = HostStream::new(stream);
            let writer = borrowed_mut(writer, "writer")?;
            writer.output()?;
            let mut stream = stream?;
            let schema = stream.schema()?;
            while let Some(array) = stream.next()? {
                writer.write(&batch_of(array, &schema)?)?;
            }
            Ok(())
        })
    }
}

/// Sets the value of a key, any bytes; until the file is finished, as often as wanted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_writer_set_metadata(
    writer: *mut StaffaWriter,
    key: *const c_char,
    value: *const u8,
    value_len: usize,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let (key, value) = (text(key, "key")?, slice(value, value_len, "value")?);
            borrowed_mut(writer, "writer")?
                .output()?
                .set_metadata(key, value);
            Ok(())
        })
    }
}

/// Bytes written so far; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_writer_bytes(writer: *const StaffaWriter) -> u64 {
    // SAFETY: the contract of `mod.rs`.
    unsafe { borrowed(writer, "writer") }.map_or(0, |writer| writer.bytes)
}

/// Writes what is left: the file gets its name, or the sink its flush. `summary->size` is set by the caller;
/// `summary` may be NULL. The writer is freed all the same, by `staffa_writer_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_writer_finish(
    writer: *mut StaffaWriter,
    summary: *mut StaffaWriteSummary,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let writer = borrowed_mut(writer, "writer")?;
            writer.output()?;
            let zero = StaffaWriteSummary {
                size: 0,
                rows: 0,
                row_groups: 0,
                arrow_bytes: 0,
                file_bytes: 0,
            };
            if !summary.is_null() {
                // Refused before the file is there.
                fill(summary, &zero, "summary")?;
            }
            let output = writer.output.take();
            let output = output.ok_or_else(|| Error::internal("a writer without an output"))?;
            let written = output.finish()?;
            writer.bytes = written.file_bytes;
            if summary.is_null() {
                return Ok(());
            }
            let told = StaffaWriteSummary {
                rows: written.rows,
                row_groups: written.row_groups as u64,
                arrow_bytes: written.arrow_bytes,
                file_bytes: written.file_bytes,
                ..zero
            };
            fill(summary, &told, "summary")
        })
    }
}

/// Frees a writer; NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_writer_free(writer: *mut StaffaWriter) {
    // SAFETY: the contract of `mod.rs`.
    drop(unsafe { take(writer) });
}
