//! What the tests share: calls with their errors, handles that free themselves, tables.

use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_select::concat::concat_batches;
use staffa::WriteOptions;
use staffa_c::border::*;

/// A call, its code and the text of its error.
pub fn call(f: impl FnOnce(*mut *mut StaffaError) -> StaffaCode) -> (StaffaCode, String) {
    let mut error = ptr::null_mut();
    let code = f(&raw mut error);
    unsafe {
        assert_eq!(staffa_error_code(error), code);
        assert_eq!(error.is_null(), code == StaffaCode::Ok);
        let text = CStr::from_ptr(staffa_error_message(error));
        let text = text.to_str().unwrap().to_owned();
        staffa_error_free(error);
        (code, text)
    }
}

/// A call that works.
#[track_caller]
pub fn ok(f: impl FnOnce(*mut *mut StaffaError) -> StaffaCode) {
    let (code, text) = call(f);
    assert_eq!(code, StaffaCode::Ok, "{text}");
}

/// A call that fails with a code, and with a part of a text.
#[track_caller]
pub fn fails(
    expected: StaffaCode,
    part: &str,
    f: impl FnOnce(*mut *mut StaffaError) -> StaffaCode,
) {
    let (code, text) = call(f);
    assert_eq!(code, expected, "{text}");
    assert!(text.contains(part), "{part:?} expected in {text:?}");
}

/// A call that gives a handle.
#[track_caller]
pub fn made<T>(f: impl FnOnce(*mut *mut T, *mut *mut StaffaError) -> StaffaCode) -> *mut T {
    let mut handle = ptr::null_mut();
    ok(|error| f(&raw mut handle, error));
    assert!(!handle.is_null());
    handle
}

pub fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

/// Three columns of `rows` rows, in row groups of 100,000.
pub fn table(rows: i64) -> RecordBatch {
    let price = (0..rows).map(|n| (n % 9973) as f64 / 4.0);
    let name = (0..rows).map(|n| (n % 5 > 0).then(|| format!("name {}", n * 31 % 401)));
    RecordBatch::try_from_iter([
        (
            "n",
            Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef,
        ),
        (
            "price",
            Arc::new(Float64Array::from_iter_values(price)) as ArrayRef,
        ),
        ("name", Arc::new(name.collect::<StringArray>()) as ArrayRef),
    ])
    .unwrap()
}

/// The same with a column of random numbers, which do not shrink: 8 bytes a row.
pub fn large_table(rows: i64) -> RecordBatch {
    let mut random = crate::arrays::Random(5);
    let noise = (0..rows).map(|_| random.below(usize::MAX) as i64);
    let noise: ArrayRef = Arc::new(Int64Array::from_iter_values(noise));
    let table = table(rows);
    let names = table
        .schema_ref()
        .fields()
        .iter()
        .map(|field| field.name().as_str());
    let columns = names
        .zip(table.columns().iter().cloned())
        .chain([("noise", noise)]);
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

pub fn bytes_of(batch: &RecordBatch) -> Vec<u8> {
    let options = WriteOptions::new()
        .row_group_rows(100_000)
        .metadata("key", "value\0more");
    staffa::to_bytes(batch.schema(), std::slice::from_ref(batch), options).unwrap()
}

/// A file in memory, copied.
pub fn open(bytes: &[u8]) -> *mut StaffaFile {
    made(|file, error| unsafe {
        let none = ptr::null_mut();
        staffa_file_open_bytes(
            bytes.as_ptr(),
            bytes.len(),
            None,
            none,
            ptr::null(),
            file,
            error,
        )
    })
}

pub fn scan_of(file: *const StaffaFile) -> *mut StaffaScan {
    made(|scan, error| unsafe { staffa_scan_new(file, scan, error) })
}

pub fn stream_of(scan: *const StaffaScan) -> ArrowArrayStreamReader {
    let mut stream = FFI_ArrowArrayStream::empty();
    ok(|error| unsafe { staffa_scan_stream(scan, &raw mut stream, error) });
    ArrowArrayStreamReader::try_new(stream).unwrap()
}

/// All rows of a scan as one batch.
pub fn rows_of(scan: *const StaffaScan) -> RecordBatch {
    let stream = stream_of(scan);
    let schema = arrow_array::RecordBatchReader::schema(&stream);
    let batches: Vec<RecordBatch> = stream.map(|batch| batch.unwrap()).collect();
    concat_batches(&schema, &batches).unwrap()
}

/// The rows of the library itself.
pub fn rows_of_library(scan: staffa::Scan) -> RecordBatch {
    let reader = scan.reader().unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.unwrap()).collect();
    concat_batches(&schema, &batches).unwrap()
}

/// An array for the library, with its schema.
pub fn exported(array: &dyn Array) -> (FFI_ArrowSchema, FFI_ArrowArray) {
    let schema = FFI_ArrowSchema::try_from(array.data_type()).unwrap();
    (schema, FFI_ArrowArray::new(&array.to_data()))
}

pub fn predicate(text: &str) -> *mut StaffaPredicate {
    let text = c(text);
    made(|predicate, error| unsafe { staffa_predicate_parse(text.as_ptr(), predicate, error) })
}
