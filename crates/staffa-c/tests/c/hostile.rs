//! Arguments that no careful host gives: NULL, misaligned, no UTF-8, arrays that lie; damaged files.

use std::ffi::c_char;
use std::mem::{size_of, zeroed};
use std::ptr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields};
use staffa_c::border::*;

use crate::calls::*;

const NO: StaffaCode = StaffaCode::InvalidArgument;

fn null<T>() -> *mut T {
    ptr::null_mut()
}

#[test]
fn null_is_an_error_of_every_reading_function() {
    let file = open(&bytes_of(&table(10)));
    let scan = scan_of(file);
    unsafe {
        let splits = made(|p, e| staffa_scan_splits(scan, 1, p, e));
        let name = c("n");
        let mut schema = FFI_ArrowSchema::empty();
        let mut array = FFI_ArrowArray::empty();
        let (s, a) = (&raw mut schema, &raw mut array);
        let (mut out_file, mut out_scan, mut may) = (ptr::null_mut(), ptr::null_mut(), false);
        fails(NO, "path: NULL", |e| {
            staffa_file_open(ptr::null(), ptr::null(), &raw mut out_file, e)
        });
        fails(NO, "file: NULL", |e| {
            staffa_file_open(name.as_ptr(), ptr::null(), null(), e)
        });
        fails(NO, "data: NULL", |e| {
            staffa_file_open_bytes(
                ptr::null(),
                5,
                None,
                null(),
                ptr::null(),
                &raw mut out_file,
                e,
            )
        });
        fails(NO, "source: NULL", |e| {
            staffa_file_open_source(ptr::null(), ptr::null(), &raw mut out_file, e)
        });
        fails(NO, "file: NULL", |e| {
            staffa_file_info(ptr::null(), null(), e)
        });
        fails(NO, "info: NULL", |e| staffa_file_info(file, null(), e));
        fails(NO, "schema: NULL", |e| staffa_file_schema(file, null(), e));
        fails(NO, "file: NULL", |e| staffa_file_schema(ptr::null(), s, e));
        fails(NO, "predicate: NULL", |e| {
            staffa_file_may_match(file, ptr::null(), &raw mut may, e)
        });
        fails(NO, "rows: NULL", |e| {
            staffa_file_take(file, ptr::null(), 1, ptr::null(), 0, s, a, e)
        });
        fails(NO, "columns: NULL", |e| {
            staffa_file_take(
                file,
                ptr::null(),
                0,
                [ptr::null::<c_char>()].as_ptr(),
                1,
                s,
                a,
                e,
            )
        });
        fails(NO, "array: NULL", |e| {
            staffa_file_take(file, ptr::null(), 0, ptr::null(), 0, s, null(), e)
        });
        fails(NO, "file: NULL", |e| {
            staffa_file_verify(ptr::null(), 1, null(), e)
        });
        fails(NO, "metadata: NULL", |e| {
            staffa_file_metadata(file, null(), e)
        });
        fails(NO, "metadata: NULL", |e| {
            staffa_metadata_get(ptr::null(), 0, null(), null(), null(), e)
        });
        fails(NO, "statistics: NULL", |e| {
            staffa_file_statistics(file, null(), e)
        });
        fails(NO, "statistics: NULL", |e| {
            staffa_statistics_get(ptr::null(), 0, null(), e)
        });
        fails(NO, "statistics: NULL", |e| {
            staffa_statistics_bounds(ptr::null(), 0, s, a, e)
        });
        fails(NO, "statistics: NULL", |e| {
            staffa_statistics_sort_key(ptr::null(), 0, null(), e)
        });
        fails(NO, "file: NULL", |e| {
            staffa_scan_new(ptr::null(), &raw mut out_scan, e)
        });
        fails(NO, "scan: NULL", |e| staffa_scan_new(file, null(), e));
        fails(NO, "scan: NULL", |e| staffa_scan_limit(null(), 1, e));
        fails(NO, "columns: NULL", |e| {
            staffa_scan_columns(scan, ptr::null(), 1, e)
        });
        fails(NO, "predicate: NULL", |e| {
            staffa_scan_filter(scan, ptr::null(), e)
        });
        fails(NO, "name: NULL", |e| {
            staffa_scan_row_numbers(scan, ptr::null(), e)
        });
        fails(NO, "cancel: NULL", |e| {
            staffa_scan_cancel(scan, ptr::null(), e)
        });
        fails(NO, "stream: NULL", |e| staffa_scan_stream(scan, null(), e));
        fails(NO, "schema: NULL", |e| staffa_scan_schema(scan, null(), e));
        fails(NO, "splits: NULL", |e| {
            staffa_scan_splits(scan, 1, null(), e)
        });
        fails(NO, "split: NULL", |e| {
            staffa_splits_get(splits, 0, null(), e)
        });
        // Where nobody wants the text.
        assert_eq!(staffa_scan_limit(null(), 1, null()), NO);
        assert_eq!(rows_of(scan), table(10));
        assert_eq!(
            staffa_splits_len(ptr::null()) + staffa_metadata_len(ptr::null()),
            0
        );
        assert_eq!(
            staffa_statistics_len(ptr::null()) + staffa_statistics_sort_keys(ptr::null()),
            0
        );
        assert_eq!(staffa_error_code(ptr::null()), StaffaCode::Ok);
        staffa_splits_free(splits);
        staffa_scan_free(scan);
        staffa_file_free(file);
        free_nothing();
    }
}

unsafe fn free_nothing() {
    unsafe {
        staffa_error_free(ptr::null_mut());
        staffa_options_free(ptr::null_mut());
        staffa_cancel_set(ptr::null());
        staffa_cancel_free(ptr::null_mut());
        staffa_file_free(ptr::null_mut());
        staffa_metadata_free(ptr::null_mut());
        staffa_statistics_free(ptr::null_mut());
        staffa_predicate_free(ptr::null_mut());
        staffa_scan_free(ptr::null_mut());
        staffa_splits_free(ptr::null_mut());
        staffa_writer_free(ptr::null_mut());
        staffa_metrics_free(ptr::null_mut());
        assert_eq!(staffa_scan_metrics(null(), ptr::null(), null()), NO);
        assert_eq!(staffa_scan_cached(null(), true, null()), NO);
        assert_eq!(staffa_metrics_get(ptr::null(), null(), null()), NO);
    }
}

#[test]
fn null_is_an_error_of_every_other_function() {
    let (mut p, mut w) = (ptr::null_mut(), ptr::null_mut());
    let (a, mut schema) = (c("a"), FFI_ArrowSchema::empty());
    let s = &raw mut schema;
    unsafe {
        let options = staffa_options_new();
        fails(NO, "options: NULL", |e| {
            staffa_options_set(null(), a.as_ptr(), a.as_ptr(), e)
        });
        fails(NO, "value: NULL", |e| {
            staffa_options_set(options, a.as_ptr(), ptr::null(), e)
        });
        fails(NO, "column: NULL", |e| {
            staffa_options_set_column(options, ptr::null(), a.as_ptr(), a.as_ptr(), e)
        });
        staffa_options_free(options);
        fails(NO, "text: NULL", |e| {
            staffa_predicate_parse(ptr::null(), &raw mut p, e)
        });
        fails(NO, "predicate: NULL", |e| {
            staffa_predicate_parse(a.as_ptr(), null(), e)
        });
        fails(NO, "column: NULL", |e| {
            staffa_predicate_compare_int(ptr::null(), 0, 1, &raw mut p, e)
        });
        fails(NO, "value: NULL", |e| {
            staffa_predicate_compare_text(a.as_ptr(), 0, ptr::null(), &raw mut p, e)
        });
        fails(NO, "array: NULL", |e| {
            staffa_predicate_compare(a.as_ptr(), 0, s, null(), &raw mut p, e)
        });
        fails(NO, "array: NULL", |e| {
            staffa_predicate_in(a.as_ptr(), null(), null(), &raw mut p, e)
        });
        fails(NO, "column: NULL", |e| {
            staffa_predicate_is_null(ptr::null(), &raw mut p, e)
        });
        fails(NO, "text: NULL", |e| {
            staffa_predicate_like(a.as_ptr(), ptr::null(), &raw mut p, e)
        });
        fails(NO, "parts: NULL", |e| {
            staffa_predicate_and(ptr::null(), 2, &raw mut p, e)
        });
        fails(NO, "part: NULL", |e| {
            staffa_predicate_or([ptr::null()].as_ptr(), 1, &raw mut p, e)
        });
        fails(NO, "part: NULL", |e| {
            staffa_predicate_not(ptr::null(), &raw mut p, e)
        });
        assert_eq!(staffa_predicate_text(ptr::null(), null(), 0), 0);
        assert!(p.is_null());
        fails(NO, "schema: NULL", |e| {
            staffa_writer_create(a.as_ptr(), null(), ptr::null(), ptr::null(), &raw mut w, e)
        });
        fails(NO, "released", |e| {
            staffa_writer_create(a.as_ptr(), s, ptr::null(), ptr::null(), &raw mut w, e)
        });
        let sink: StaffaSink = StaffaSink {
            size: size_of::<StaffaSink>(),
            ..zeroed()
        };
        let mut fields = FFI_ArrowSchema::try_from(table(1).schema().as_ref()).unwrap();
        fails(NO, "write: NULL", |e| {
            let fields = &raw mut fields;
            staffa_writer_create_sink(&sink, fields, ptr::null(), ptr::null(), &raw mut w, e)
        });
        assert!(w.is_null() && fields.release.is_none());
        fails(NO, "writer: NULL", |e| {
            staffa_writer_write(null(), null(), e)
        });
        let mut array = FFI_ArrowArray::new(&ArrayData::new_null(&DataType::Int8, 1));
        fails(NO, "writer: NULL", |e| {
            staffa_writer_write(null(), &raw mut array, e)
        });
        assert!(array.is_released());
        let mut stream = FFI_ArrowArrayStream::empty();
        fails(NO, "writer: NULL", |e| {
            staffa_writer_write_stream(null(), &raw mut stream, e)
        });
        fails(NO, "writer: NULL", |e| {
            staffa_writer_set_metadata(null(), a.as_ptr(), ptr::null(), 0, e)
        });
        fails(NO, "writer: NULL", |e| {
            staffa_writer_finish(null(), null(), e)
        });
        assert_eq!(staffa_writer_bytes(ptr::null()), 0);
    }
}

#[test]
fn pointers_and_texts_are_checked() {
    let file = open(&bytes_of(&table(10)));
    let scan = scan_of(file);
    unsafe {
        let words = [0_u64; 32];
        let odd = words.as_ptr().cast::<u8>().add(1);
        fails(NO, "misaligned", |e| {
            staffa_file_schema(file, odd.cast_mut().cast(), e)
        });
        fails(NO, "misaligned", |e| {
            staffa_file_info(odd.cast(), ptr::null_mut(), e)
        });
        fails(NO, "items", |e| {
            let rows = words.as_ptr();
            staffa_file_take(
                file,
                rows,
                usize::MAX,
                ptr::null(),
                0,
                &mut FFI_ArrowSchema::empty(),
                &mut FFI_ArrowArray::empty(),
                e,
            )
        });
        let wrong = [0xff_u8, b'a', 0];
        fails(NO, "UTF-8", |e| {
            staffa_scan_row_numbers(scan, wrong.as_ptr().cast(), e)
        });
        let column = c("no such column");
        ok(|e| staffa_scan_columns(scan, [column.as_ptr()].as_ptr(), 1, e));
        let mut stream = FFI_ArrowArrayStream::empty();
        fails(NO, "no such column", |e| {
            staffa_scan_stream(scan, &raw mut stream, e)
        });
        assert!(stream.release.is_none());
        staffa_scan_free(scan);
        staffa_file_free(file);
        #[cfg(unix)]
        {
            // A path is any bytes.
            let mut opened = ptr::null_mut();
            fails(StaffaCode::Io, "", |e| {
                staffa_file_open(wrong.as_ptr().cast(), ptr::null(), &raw mut opened, e)
            });
        }
    }
}

/// A file whose column is named with a NUL: C cannot name it, and the file says so.
#[test]
fn names_with_nul_are_refused() {
    let n = Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let inner = Fields::from(vec![Field::new("b\0c", DataType::Int64, true)]);
    let nested: ArrayRef = Arc::new(StructArray::new(inner, vec![n.clone()], None));
    for (batch, place) in [
        (RecordBatch::try_from_iter([("a\0b", n)]).unwrap(), "a\\0b"),
        (
            RecordBatch::try_from_iter([("s", nested)]).unwrap(),
            "b\\0c",
        ),
    ] {
        let file = open(&bytes_of(&batch));
        let scan = scan_of(file);
        unsafe {
            let mut schema = FFI_ArrowSchema::empty();
            fails(StaffaCode::Unsupported, place, |e| {
                staffa_file_schema(file, &raw mut schema, e)
            });
            let mut stream = FFI_ArrowArrayStream::empty();
            fails(StaffaCode::Unsupported, place, |e| {
                staffa_scan_stream(scan, &raw mut stream, e)
            });
            staffa_scan_free(scan);
            staffa_file_free(file);
        }
    }
}

/// Arrays of the host that break Arrow's rules are refused before they are read.
#[test]
fn arrays_that_lie_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = |offsets: &[i32], bytes: &[u8]| unsafe {
        let data = ArrayData::builder(DataType::Utf8).len(offsets.len() - 1);
        let data = data
            .add_buffer(Buffer::from_slice_ref(offsets))
            .add_buffer(Buffer::from(bytes));
        make_array(data.build_unchecked())
    };
    let wrongs = [
        text(&[0, 2, 1, 3], b"abc"),
        text(&[0, 1, 2, 3], b"a\xffc"),
        text(&[-1, 1, 2, 3], b"abc"),
    ];
    for (i, wrong) in wrongs.into_iter().enumerate() {
        let schema = arrow_schema::Schema::new(vec![Field::new("a", DataType::Utf8, true)]);
        let mut exported = FFI_ArrowSchema::try_from(&schema).unwrap();
        let name = c(folder.path().join(format!("{i}.staffa")).to_str().unwrap());
        let writer = made(|writer, e| unsafe {
            let schema = &raw mut exported;
            staffa_writer_create(name.as_ptr(), schema, ptr::null(), ptr::null(), writer, e)
        });
        let data = unsafe {
            let rows = ArrayData::builder(DataType::Struct(schema.fields().clone())).len(3);
            rows.add_child_data(wrong.to_data()).build_unchecked()
        };
        let mut array = FFI_ArrowArray::new(&data);
        unsafe {
            fails(NO, "batch", |e| {
                staffa_writer_write(writer, &raw mut array, e)
            });
            assert!(array.is_released());
            // A batch that is good comes after it.
            let good = StringArray::from(vec!["a", "b", "c"]);
            let good = StructArray::new(schema.fields().clone(), vec![Arc::new(good)], None);
            let mut array = FFI_ArrowArray::new(&arrow_array::Array::to_data(&good));
            ok(|e| staffa_writer_write(writer, &raw mut array, e));
            let absent = StructArray::new(
                schema.fields().clone(),
                vec![Arc::new(StringArray::from(vec!["a"]))],
                Some(vec![false].into()),
            );
            let mut array = FFI_ArrowArray::new(&arrow_array::Array::to_data(&absent));
            fails(NO, "NULL as a whole", |e| {
                staffa_writer_write(writer, &raw mut array, e)
            });
            let mut other =
                FFI_ArrowArray::new(&arrow_array::Array::to_data(&Int64Array::from(vec![1])));
            fails(NO, "batch", |e| {
                staffa_writer_write(writer, &raw mut other, e)
            });
            ok(|e| staffa_writer_finish(writer, ptr::null_mut(), e));
            staffa_writer_free(writer);
        }
    }
}

/// Numbers of an array that no memory has: they are refused before a buffer is looked at.
#[test]
fn counts_that_lie_are_refused() {
    // Length, NULLs, offset, buffers, children: the first fields of the struct.
    for (field, value) in [
        (0, -1),
        (0, i64::MAX),
        (2, -1),
        (2, i64::MAX),
        (3, -1),
        (3, 0),
        (4, -1),
    ] {
        let (mut schema, mut array) = exported(&Int64Array::from(vec![1, 2, 3]));
        let (name, mut predicate) = (c("a"), ptr::null_mut());
        unsafe {
            ptr::from_mut(&mut array)
                .cast::<i64>()
                .add(field)
                .write(value);
            let (code, text) = call(|e| {
                let (schema, array) = (&raw mut schema, &raw mut array);
                staffa_predicate_in(name.as_ptr(), schema, array, &raw mut predicate, e)
            });
            assert_eq!(code, NO, "{field} {value}: {text}");
            assert!(array.is_released() && predicate.is_null());
        }
    }
}

/// Any byte changed, any end cut off: the rows as they were, or an error.
#[test]
fn damaged_files_are_errors() {
    let batch = table(300);
    let good = bytes_of(&batch);
    let read = |bytes: &[u8]| unsafe {
        let mut file = ptr::null_mut();
        let (code, _) = call(|e| {
            let none = ptr::null_mut();
            staffa_file_open_bytes(
                bytes.as_ptr(),
                bytes.len(),
                None,
                none,
                ptr::null(),
                &raw mut file,
                e,
            )
        });
        assert_eq!(file.is_null(), code != StaffaCode::Ok);
        if file.is_null() {
            return false;
        }
        let scan = scan_of(file);
        let mut stream = FFI_ArrowArrayStream::empty();
        let (code, _) = call(|e| staffa_scan_stream(scan, &raw mut stream, e));
        let mut whole = code == StaffaCode::Ok;
        if whole {
            let reader = arrow_array::ffi_stream::ArrowArrayStreamReader::try_new(stream).unwrap();
            for found in reader {
                match found {
                    Ok(found) => assert_eq!(found, batch),
                    Err(_) => whole = false,
                }
            }
        }
        assert!(
            !call(|e| staffa_file_verify(file, 1, ptr::null_mut(), e))
                .1
                .contains("panic")
        );
        staffa_scan_free(scan);
        staffa_file_free(file);
        whole
    };
    assert!(read(&good));
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        read(&bytes);
        if at % 7 == 0 {
            assert!(!read(&good[..at]));
        }
    }
}
