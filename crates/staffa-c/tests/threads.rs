//! No thread but the caller's works unless it is asked for: the process has as many after all kinds of work
//! as before. Alone in its program, since other tests have threads.
#![cfg(target_os = "linux")]
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../../staffa/tests/common/arrays.rs"]
#[allow(dead_code, unused_imports)]
mod arrays;
#[path = "c/calls.rs"]
#[allow(dead_code)]
mod calls;

use std::ptr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, StructArray};
use calls::*;
use staffa_c::border::*;

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn work_stays_on_the_callers_thread() {
    // Made by the library itself, with threads.
    let folder = tempfile::tempdir().unwrap();
    let name = c(folder.path().join("a.staffa").to_str().unwrap());
    let batch = table(300_000);
    let before = threads();
    unsafe {
        let mut schema = FFI_ArrowSchema::try_from(batch.schema().as_ref()).unwrap();
        let writer = made(|writer, e| {
            let schema = &raw mut schema;
            staffa_writer_create(name.as_ptr(), schema, ptr::null(), ptr::null(), writer, e)
        });
        let mut array = FFI_ArrowArray::new(&StructArray::from(batch.clone()).to_data());
        ok(|e| staffa_writer_write(writer, &raw mut array, e));
        ok(|e| staffa_writer_finish(writer, ptr::null_mut(), e));
        staffa_writer_free(writer);

        let file = made(|file, e| staffa_file_open(name.as_ptr(), ptr::null(), file, e));
        let scan = scan_of(file);
        let filter = predicate("price < 1000");
        ok(|e| staffa_scan_filter(scan, filter, e));
        assert!(rows_of(scan).num_rows() > 0);
        ok(|e| staffa_file_verify(file, 1, ptr::null_mut(), e));
        let rows: Vec<u64> = (0..100_000).rev().collect();
        let (mut schema, mut array) = (FFI_ArrowSchema::empty(), FFI_ArrowArray::empty());
        ok(|e| {
            let (schema, array) = (&raw mut schema, &raw mut array);
            staffa_file_take(
                file,
                rows.as_ptr(),
                rows.len(),
                ptr::null(),
                0,
                schema,
                array,
                e,
            )
        });
        let statistics = made(|all, e| staffa_file_statistics(file, all, e));
        staffa_statistics_free(statistics);
        let splits = made(|splits, e| staffa_scan_splits(scan, 1, splits, e));
        staffa_splits_free(splits);
        assert_eq!(threads(), before);

        ok(|e| staffa_scan_threads(scan, 2, e));
        let mut stream = stream_of(scan);
        stream.next().unwrap().unwrap();
        assert!(threads() > before);
        drop(stream);
        staffa_predicate_free(filter);
        staffa_scan_free(scan);
        staffa_file_free(file);
    }
}
