//! Writing: paths and sinks, batches and streams; what goes wrong leaves nothing half behind.

use std::ffi::{CString, c_char, c_void};
use std::mem::{size_of, zeroed};
use std::ptr;
use std::slice::from_raw_parts;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, StructArray};
use arrow_schema::{ArrowError, Schema};
use staffa::File;
use staffa_c::border::*;

use crate::calls::*;

fn schema_of(schema: &Schema) -> FFI_ArrowSchema {
    FFI_ArrowSchema::try_from(schema).unwrap()
}

fn array_of(batch: &RecordBatch) -> FFI_ArrowArray {
    FFI_ArrowArray::new(&StructArray::from(batch.clone()).to_data())
}

fn summary() -> StaffaWriteSummary {
    StaffaWriteSummary {
        size: size_of::<StaffaWriteSummary>(),
        ..unsafe { zeroed() }
    }
}

fn set(options: *mut StaffaOptions, key: &str, value: &str) {
    let (key, value) = (c(key), c(value));
    ok(|e| unsafe { staffa_options_set(options, key.as_ptr(), value.as_ptr(), e) });
}

fn create(path: &CString, schema: &Schema, options: *const StaffaOptions) -> *mut StaffaWriter {
    let mut schema = schema_of(schema);
    let writer = made(|writer, e| unsafe {
        let schema = &raw mut schema;
        staffa_writer_create(path.as_ptr(), schema, options, ptr::null(), writer, e)
    });
    assert!(schema.release.is_none());
    writer
}

fn write(writer: *mut StaffaWriter, batch: &RecordBatch) -> (StaffaCode, String) {
    let mut array = array_of(batch);
    let result = call(|e| unsafe { staffa_writer_write(writer, &raw mut array, e) });
    assert!(array.is_released());
    result
}

#[test]
fn a_file_is_written_batch_by_batch_with_options() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.staffa");
    let name = c(path.to_str().unwrap());
    let batch = table(30_000);
    unsafe {
        let options = staffa_options_new();
        set(options, "row_group_rows", "10000");
        set(options, "sort_order", "n");
        set(options, "without", "zstd");
        set(options, "without", "pco");
        let (column, key, value) = (c("n"), c("encoding"), c("plain"));
        let (column, key, value) = (column.as_ptr(), key.as_ptr(), value.as_ptr());
        ok(|e| staffa_options_set_column(options, column, key, value, e));
        let writer = create(&name, &batch.schema(), options);
        staffa_options_free(options);
        for first in (0..30_000).step_by(7500) {
            assert_eq!(write(writer, &batch.slice(first, 7500)).0, StaffaCode::Ok);
        }
        let key = c("source");
        ok(|e| staffa_writer_set_metadata(writer, key.as_ptr(), b"a\0b".as_ptr(), 3, e));
        assert!(!path.exists());
        let mut summary = summary();
        ok(|e| staffa_writer_finish(writer, &raw mut summary, e));
        assert_eq!((summary.rows, summary.row_groups), (30_000, 3));
        assert_eq!(summary.file_bytes, path.metadata().unwrap().len());
        assert_eq!(staffa_writer_bytes(writer), summary.file_bytes);
        fails(StaffaCode::InvalidArgument, "finished", |e| {
            staffa_writer_finish(writer, ptr::null_mut(), e)
        });
        assert_eq!(write(writer, &batch).0, StaffaCode::InvalidArgument);
        staffa_writer_free(writer);
    }
    let file = File::open(&path).unwrap();
    assert_eq!(file.sort_order().unwrap()[0].column, "n");
    assert_eq!(file.metadata().unwrap()["source"], b"a\0b");
    assert!(
        file.explain().unwrap()[0]
            .blocks
            .iter()
            .all(|block| format!("{block:?}").contains("plain"))
    );
    assert_eq!(rows_of_library(file.scan()), batch);
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
}

#[test]
fn a_writer_that_is_freed_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let name = c(folder.path().join("a.staffa").to_str().unwrap());
    let batch = table(1000);
    let writer = create(&name, &batch.schema(), ptr::null());
    assert_eq!(write(writer, &batch).0, StaffaCode::Ok);
    unsafe { staffa_writer_free(writer) };
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_refused_batch_leaves_the_writer_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.staffa");
    let name = c(path.to_str().unwrap());
    let batch = table(1000);
    let options = staffa_options_new();
    set(options, "sort_order", "n");
    let writer = create(&name, &batch.schema(), options);
    assert_eq!(write(writer, &batch).0, StaffaCode::Ok);
    let (code, text) = write(writer, &batch);
    assert_eq!(code, StaffaCode::InvalidValue, "{text}");
    let (code, text) = write(writer, &batch.project(&[0]).unwrap());
    assert_eq!(code, StaffaCode::InvalidArgument, "{text}");
    unsafe {
        ok(|e| staffa_writer_finish(writer, ptr::null_mut(), e));
        staffa_writer_free(writer);
        staffa_options_free(options);
    }
    assert_eq!(File::open(&path).unwrap().num_rows(), 1000);
}

#[test]
fn options_of_writing_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.staffa");
    let name = c(path.to_str().unwrap());
    for (key, value) in [
        ("profile", "quick"),
        ("threads", "-1"),
        ("leaves", "3"),
        ("verify", "yes"),
    ] {
        let options = staffa_options_new();
        set(options, key, value);
        let mut schema = schema_of(&table(1).schema());
        let mut writer = ptr::null_mut();
        fails(StaffaCode::InvalidArgument, key, |e| unsafe {
            let schema = &raw mut schema;
            staffa_writer_create(
                name.as_ptr(),
                schema,
                options,
                ptr::null(),
                &raw mut writer,
                e,
            )
        });
        assert!(writer.is_null() && schema.release.is_none());
        unsafe { staffa_options_free(options) };
    }
    std::fs::write(&path, "mine").unwrap();
    let options = staffa_options_new();
    set(options, "overwrite", "false");
    let mut schema = schema_of(&table(1).schema());
    let mut writer = ptr::null_mut();
    let (code, _) = call(|e| unsafe {
        let schema = &raw mut schema;
        staffa_writer_create(
            name.as_ptr(),
            schema,
            options,
            ptr::null(),
            &raw mut writer,
            e,
        )
    });
    assert_ne!(code, StaffaCode::Ok);
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    unsafe { staffa_options_free(options) };
}

#[test]
fn a_stream_is_written_and_its_error_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.staffa");
    let name = c(path.to_str().unwrap());
    let batch = table(2000);
    let wrong = || Err(ArrowError::ComputeError("the host's own".into()));
    let writer = create(&name, &batch.schema(), ptr::null());
    for (last, code) in [
        (Ok(batch.slice(1000, 1000)), StaffaCode::Ok),
        (wrong(), StaffaCode::Arrow),
    ] {
        let batches = RecordBatchIterator::new([Ok(batch.slice(0, 1000)), last], batch.schema());
        let mut stream = FFI_ArrowArrayStream::new(Box::new(batches));
        let (found, text) =
            call(|e| unsafe { staffa_writer_write_stream(writer, &raw mut stream, e) });
        assert_eq!(found, code, "{text}");
        assert!(code == StaffaCode::Ok || text.contains("the host's own"));
        assert!(stream.release.is_none());
    }
    let mut released = FFI_ArrowArrayStream::empty();
    fails(StaffaCode::InvalidArgument, "released", |e| unsafe {
        staffa_writer_write_stream(writer, &raw mut released, e)
    });
    unsafe {
        ok(|e| staffa_writer_finish(writer, ptr::null_mut(), e));
        staffa_writer_free(writer);
    }
    assert_eq!(File::open(&path).unwrap().num_rows(), 3000);
}

#[test]
fn a_writer_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let name = c(folder.path().join("a.staffa").to_str().unwrap());
    let batch = table(1000);
    unsafe {
        let cancel = staffa_cancel_new();
        let mut schema = schema_of(&batch.schema());
        let writer = made(|writer, e| {
            staffa_writer_create(
                name.as_ptr(),
                &raw mut schema,
                ptr::null(),
                cancel,
                writer,
                e,
            )
        });
        assert_eq!(write(writer, &batch).0, StaffaCode::Ok);
        staffa_cancel_set(cancel);
        staffa_cancel_free(cancel);
        fails(StaffaCode::Cancelled, "", |e| {
            staffa_writer_finish(writer, ptr::null_mut(), e)
        });
        staffa_writer_free(writer);
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    Work,
    Fail,
    Cancel,
    Panic,
    FailFlush,
}

struct Host {
    then: Then,
    /// Bytes after which it goes wrong.
    after: usize,
    text: CString,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    bytes: Mutex<Vec<u8>>,
    flushed: AtomicUsize,
    released: AtomicUsize,
    failed: AtomicUsize,
}

unsafe extern "C-unwind" fn host_write(context: *mut c_void, bytes: *const u8, len: usize) -> i32 {
    let host = unsafe { &*context.cast::<Host>() };
    let mut all = host.seen.bytes.lock().unwrap();
    let wrong = !matches!(host.then, Then::Work | Then::FailFlush);
    if wrong && all.len() + len > host.after {
        host.seen.failed.fetch_add(1, Ordering::SeqCst);
        drop(all);
        match host.then {
            Then::Cancel => return StaffaCode::Cancelled as i32,
            Then::Panic => panic!("the host's own"),
            _ => return StaffaCode::Io as i32,
        }
    }
    all.extend_from_slice(unsafe { from_raw_parts(bytes, len) });
    0
}

unsafe extern "C-unwind" fn host_flush(context: *mut c_void) -> i32 {
    let host = unsafe { &*context.cast::<Host>() };
    host.seen.flushed.fetch_add(1, Ordering::SeqCst);
    if host.then == Then::FailFlush { 77 } else { 0 }
}

unsafe extern "C-unwind" fn host_error(context: *mut c_void) -> *const c_char {
    unsafe { &*context.cast::<Host>() }.text.as_ptr()
}

unsafe extern "C-unwind" fn host_release(context: *mut c_void) {
    let host = unsafe { Box::from_raw(context.cast::<Host>()) };
    host.seen.released.fetch_add(1, Ordering::SeqCst);
}

fn to_sink(
    then: Then,
    after: usize,
    batches: &[RecordBatch],
) -> (Arc<Seen>, Vec<(StaffaCode, String)>) {
    let seen = Arc::new(Seen::default());
    let name = c("queue/7");
    let host = Box::new(Host {
        then,
        after,
        text: c("the pipe is full"),
        seen: seen.clone(),
    });
    let sink = StaffaSink {
        size: size_of::<StaffaSink>(),
        context: Box::into_raw(host).cast(),
        name: name.as_ptr(),
        write: Some(host_write),
        flush: Some(host_flush),
        last_error: Some(host_error),
        release: Some(host_release),
    };
    let options = staffa_options_new();
    set(options, "row_group_rows", "100000");
    let mut schema = schema_of(&batches[0].schema());
    let mut writer = ptr::null_mut();
    let mut codes = vec![call(|e| unsafe {
        staffa_writer_create_sink(
            &sink,
            &raw mut schema,
            options,
            ptr::null(),
            &raw mut writer,
            e,
        )
    })];
    unsafe { staffa_options_free(options) };
    codes.extend(batches.iter().map(|batch| write(writer, batch)));
    codes.push(call(|e| unsafe {
        staffa_writer_finish(writer, ptr::null_mut(), e)
    }));
    unsafe { staffa_writer_free(writer) };
    (seen, codes)
}

/// Values that do not shrink, so that each row group is written as it is full.
fn random(rows: usize) -> RecordBatch {
    let mut random = crate::arrays::Random(5);
    let n: Int64Array = (0..rows)
        .map(|_| random.below(usize::MAX) as i64)
        .collect::<Vec<_>>()
        .into();
    RecordBatch::try_from_iter([("n", Arc::new(n) as ArrayRef)]).unwrap()
}

#[test]
fn a_sink_gets_the_bytes_of_the_file() {
    let batch = random(400_000);
    let batches = [batch.slice(0, 150_000), batch.slice(150_000, 250_000)];
    let (seen, codes) = to_sink(Then::Work, 0, &batches);
    assert!(
        codes.iter().all(|(code, _)| *code == StaffaCode::Ok),
        "{codes:?}"
    );
    let file = File::from_bytes(seen.bytes.lock().unwrap().clone()).unwrap();
    assert_eq!(rows_of_library(file.scan()), batch);
    assert_eq!(seen.flushed.load(Ordering::SeqCst), 1);
    assert_eq!(seen.released.load(Ordering::SeqCst), 1);
}

#[test]
fn a_sink_that_fails_ends_the_writer() {
    let batch = random(400_000);
    let batches = [batch.slice(0, 150_000), batch.slice(150_000, 250_000)];
    let wrongs = [
        (Then::Fail, StaffaCode::Io, "queue/7: the pipe is full"),
        (Then::FailFlush, StaffaCode::Io, "queue/7: the pipe is full"),
        (Then::Cancel, StaffaCode::Cancelled, "cancelled"),
        (Then::Panic, StaffaCode::Internal, "the host's own"),
    ];
    for (then, code, part) in wrongs {
        for after in [0, 1 << 20, 3 << 20] {
            let (seen, codes) = to_sink(then, after, &batches);
            let (found, text) = codes
                .iter()
                .find(|(code, _)| *code != StaffaCode::Ok)
                .unwrap();
            assert_eq!(*found, code, "{text}");
            assert!(text.contains(part), "{text}");
            assert_ne!(codes.last().unwrap().0, StaffaCode::Ok);
            // Nothing is written behind a failure, and no half file is a file.
            assert!(seen.failed.load(Ordering::SeqCst) <= 1);
            assert!(
                then == Then::FailFlush
                    || File::from_bytes(seen.bytes.lock().unwrap().clone()).is_err()
            );
            assert_eq!(seen.released.load(Ordering::SeqCst), 1);
        }
    }
}
