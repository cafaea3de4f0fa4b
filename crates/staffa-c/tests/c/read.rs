//! Reading: streams, splits, rows by number, what a file says of itself.

use std::ffi::{CStr, c_char, c_void};
use std::mem::{size_of, zeroed};
use std::ptr;
use std::slice::from_raw_parts;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray, TimestampMicrosecondArray};
use arrow_schema::{DataType, Schema};
use staffa::{File, WriteOptions};
use staffa_c::border::*;

use crate::arrays::{Random, array, flat_types, nested_types, rows};
use crate::calls::*;

#[test]
fn a_stream_has_the_rows_of_the_library() {
    let bytes = bytes_of(&table(250_000));
    let library = File::from_bytes(bytes.clone()).unwrap();
    let file = open(&bytes);
    let filter = predicate("n >= 70000 and price < 2000 and name is not null");
    unsafe {
        for threads in [1, 0, 3] {
            let scan = scan_of(file);
            let names = [c("name"), c("n")];
            let columns = names.each_ref().map(|name| name.as_ptr());
            ok(|e| staffa_scan_columns(scan, columns.as_ptr(), 2, e));
            ok(|e| staffa_scan_filter(scan, filter, e));
            ok(|e| staffa_scan_threads(scan, threads, e));
            ok(|e| staffa_scan_batch_rows(scan, 1000, e));
            ok(|e| staffa_scan_offset(scan, 7, e));
            ok(|e| staffa_scan_limit(scan, 50_000, e));
            ok(|e| staffa_scan_row_numbers(scan, c("row").as_ptr(), e));
            let expected = library.scan().columns(["name", "n"]).row_numbers("row");
            let text = "n >= 70000 and price < 2000 and name is not null";
            let expected = expected
                .filter(text.parse().unwrap())
                .offset(7)
                .limit(50_000);
            let stream = stream_of(scan);
            let mut schema = FFI_ArrowSchema::empty();
            ok(|e| staffa_scan_schema(scan, &raw mut schema, e));
            assert_eq!(Schema::try_from(&schema).unwrap(), *stream.schema());
            for batch in stream {
                assert!(batch.unwrap().num_rows() <= 1000);
            }
            assert_eq!(rows_of(scan), rows_of_library(expected));
            staffa_scan_free(scan);
        }
        staffa_predicate_free(filter);
        staffa_file_free(file);
    }
}

#[test]
fn every_type_crosses() {
    let mut random = Random(3);
    for ty in flat_types()
        .into_iter()
        .chain(nested_types(&DataType::Utf8))
    {
        let values = array(&ty, true, 300, &mut random);
        let batch = RecordBatch::try_from_iter_with_nullable([("a", values, true)]).unwrap();
        let file = open(&bytes_of(&batch));
        let scan = scan_of(file);
        let found = rows_of(scan);
        // Of the flags of a map's field Arrow's interface keeps one.
        let crossed = FFI_ArrowSchema::try_from(batch.schema_ref().as_ref()).unwrap();
        assert_eq!(*found.schema(), Schema::try_from(&crossed).unwrap());
        assert_eq!(rows(found.column(0)), rows(batch.column(0)), "{ty}");
        unsafe {
            staffa_scan_free(scan);
            staffa_file_free(file);
        }
    }
}

#[test]
fn a_stream_outlives_scan_and_file() {
    let batch = table(150_000);
    let file = open(&bytes_of(&batch));
    let scan = scan_of(file);
    let mut stream = stream_of(scan);
    let first = stream.next().unwrap().unwrap();
    unsafe {
        staffa_file_free(file);
        staffa_scan_free(scan);
    }
    let rest: usize =
        std::thread::spawn(move || stream.map(|batch| batch.unwrap().num_rows()).sum())
            .join()
            .unwrap();
    assert_eq!(first.num_rows() + rest, 150_000);
    assert_eq!(first, batch.slice(0, first.num_rows()));
}

#[test]
fn splits_are_read_by_their_rows() {
    let batch = table(250_000);
    let file = open(&bytes_of(&batch));
    let filter = predicate("n >= 70000");
    let scan = scan_of(file);
    unsafe {
        ok(|e| staffa_scan_filter(scan, filter, e));
        let splits = made(|splits, e| staffa_scan_splits(scan, 65_536, splits, e));
        assert_eq!(staffa_splits_len(splits), 4);
        let (mut total, mut end) = (0, 0);
        for i in 0..4 {
            let mut split = StaffaSplit {
                size: size_of::<StaffaSplit>(),
                ..zeroed()
            };
            ok(|e| staffa_splits_get(splits, i, &raw mut split, e));
            assert_eq!(split.row_group, split.first_row / 100_000);
            assert!(split.byte_offset >= end && split.byte_len > 0);
            end = split.byte_offset + split.byte_len;
            let own = scan_of(file);
            ok(|e| staffa_scan_filter(own, filter, e));
            ok(|e| staffa_scan_add_split(own, split.first_row, split.rows, e));
            let found = rows_of(own);
            let first = split.first_row.max(70_000) as usize;
            assert_eq!(found, batch.slice(first, found.num_rows()));
            total += found.num_rows();
            staffa_scan_free(own);
        }
        assert_eq!(total, 180_000);
        let mut split: StaffaSplit = zeroed();
        fails(StaffaCode::InvalidArgument, "size", |e| {
            staffa_splits_get(splits, 0, &raw mut split, e)
        });
        split.size = size_of::<StaffaSplit>();
        fails(StaffaCode::InvalidArgument, "4", |e| {
            staffa_splits_get(splits, 4, &raw mut split, e)
        });
        fails(StaffaCode::InvalidArgument, "no split", |e| {
            staffa_scan_add_split(scan, 1, 5, e)
        });
        staffa_splits_free(splits);
        staffa_scan_free(scan);

        let range = scan_of(file);
        ok(|e| staffa_scan_byte_range(range, 1, u64::MAX, e));
        assert_eq!(rows_of(range), batch.slice(100_000, 150_000));
        staffa_scan_free(range);
        staffa_predicate_free(filter);
        staffa_file_free(file);
    }
}

#[test]
fn rows_come_by_number() {
    let batch = table(150_000);
    let file = open(&bytes_of(&batch));
    let (mut schema, mut array) = (FFI_ArrowSchema::empty(), FFI_ArrowArray::empty());
    let rows = [140_000, 3, 140_000];
    let name = c("n");
    let columns = [name.as_ptr()];
    unsafe {
        ok(|e| {
            let (schema, array) = (&raw mut schema, &raw mut array);
            staffa_file_take(
                file,
                rows.as_ptr(),
                3,
                columns.as_ptr(),
                1,
                schema,
                array,
                e,
            )
        });
        let found = StructArray::from(from_ffi(array, &schema).unwrap());
        assert_eq!(
            found.column(0).as_primitive::<Int64Type>().values(),
            &[140_000, 3, 140_000]
        );
        let (mut schema, mut array) = (FFI_ArrowSchema::empty(), FFI_ArrowArray::empty());
        fails(StaffaCode::InvalidArgument, "out of range", |e| {
            let (schema, array) = (&raw mut schema, &raw mut array);
            staffa_file_take(
                file,
                [150_000].as_ptr(),
                1,
                ptr::null(),
                0,
                schema,
                array,
                e,
            )
        });
        assert!(array.is_released());
        staffa_file_free(file);
    }
}

#[test]
fn a_file_tells_what_it_holds() {
    let bytes = bytes_of(&table(150_000));
    let file = open(&bytes);
    unsafe {
        let mut info = StaffaFileInfo {
            size: size_of::<StaffaFileInfo>(),
            ..zeroed()
        };
        ok(|e| staffa_file_info(file, &raw mut info, e));
        assert_eq!(
            (info.rows, info.row_groups, info.bytes),
            (150_000, 2, bytes.len() as u64)
        );
        assert_eq!(info.size, size_of::<StaffaFileInfo>());
        assert!(info.has_id && info.id != [0; 16]);

        let mut report = StaffaVerifyReport {
            size: size_of::<StaffaVerifyReport>(),
            ..zeroed()
        };
        ok(|e| staffa_file_verify(file, 1, &raw mut report, e));
        assert_eq!(
            (report.rows, report.leaves, report.bytes),
            (150_000, 3, bytes.len() as u64)
        );
        ok(|e| staffa_file_verify(file, 0, ptr::null_mut(), e));

        let metadata = made(|metadata, e| staffa_file_metadata(file, metadata, e));
        assert_eq!(staffa_metadata_len(metadata), 1);
        let (mut key, mut value, mut len) = (ptr::null::<c_char>(), ptr::null::<u8>(), 0);
        ok(|e| staffa_metadata_get(metadata, 0, &raw mut key, &raw mut value, &raw mut len, e));
        assert_eq!(CStr::from_ptr(key), c"key");
        assert_eq!(from_raw_parts(value, len), b"value\0more");
        fails(StaffaCode::InvalidArgument, "out of range", |e| {
            staffa_metadata_get(metadata, 1, &raw mut key, &raw mut value, &raw mut len, e)
        });
        staffa_metadata_free(metadata);

        let mut schema = FFI_ArrowSchema::empty();
        ok(|e| staffa_file_schema(file, &raw mut schema, e));
        assert_eq!(Schema::try_from(&schema).unwrap(), *table(1).schema());

        for (text, expected) in [("n = 149999", true), ("n < 0", false)] {
            let predicate = predicate(text);
            let mut may = false;
            ok(|e| staffa_file_may_match(file, predicate, &raw mut may, e));
            assert_eq!(may, expected, "{text}");
            staffa_predicate_free(predicate);
        }
        staffa_file_free(file);
    }
}

#[test]
fn statistics_are_texts_and_values() {
    let day: TimestampMicrosecondArray = [
        Some(1_600_000_000_000_000),
        None,
        Some(1_700_000_000_000_001),
    ]
    .into_iter()
    .collect();
    let columns = [
        ("day", std::sync::Arc::new(day) as _),
        ("name", table(3).column(2).clone()),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let options = WriteOptions::new().sort_order(["day nulls last".parse().unwrap()]);
    let sorted = RecordBatch::try_new(
        batch.schema(),
        vec![
            arrow_select::take::take(
                batch.column(0),
                &arrow_array::UInt32Array::from(vec![0, 2, 1]),
                None,
            )
            .unwrap(),
            batch.column(1).clone(),
        ],
    )
    .unwrap();
    let file = open(&staffa::to_bytes(sorted.schema(), &[sorted], options).unwrap());
    unsafe {
        let all = made(|all, e| staffa_file_statistics(file, all, e));
        assert_eq!(staffa_statistics_len(all), 2);
        let mut column = StaffaColumnStatistics {
            size: size_of::<StaffaColumnStatistics>(),
            ..zeroed()
        };
        ok(|e| staffa_statistics_get(all, 0, &raw mut column, e));
        assert_eq!(CStr::from_ptr(column.path), c"day");
        assert_eq!(
            (column.nulls, column.distinct, column.ascending),
            (1, 2, true)
        );
        assert_eq!(CStr::from_ptr(column.min), c"2020-09-13T12:26:40");
        let (mut schema, mut array) = (FFI_ArrowSchema::empty(), FFI_ArrowArray::empty());
        ok(|e| staffa_statistics_bounds(all, 0, &raw mut schema, &raw mut array, e));
        let bounds = arrow_array::make_array(from_ffi(array, &schema).unwrap());
        let bounds = bounds.as_primitive::<TimestampMicrosecondType>();
        assert_eq!(
            bounds.values(),
            &[1_600_000_000_000_000, 1_700_000_000_000_001]
        );
        let (mut schema, mut array) = (FFI_ArrowSchema::empty(), FFI_ArrowArray::empty());
        ok(|e| staffa_statistics_bounds(all, 1, &raw mut schema, &raw mut array, e));
        assert_eq!(
            arrow_array::make_array(from_ffi(array, &schema).unwrap()).null_count(),
            2
        );

        assert_eq!(staffa_statistics_sort_keys(all), 1);
        let mut key = StaffaSortKey {
            size: size_of::<StaffaSortKey>(),
            ..zeroed()
        };
        ok(|e| staffa_statistics_sort_key(all, 0, &raw mut key, e));
        assert_eq!(CStr::from_ptr(key.column), c"day");
        assert!(!key.descending && !key.nulls_first);
        staffa_file_free(file);
        // The texts belong to the statistics.
        assert_eq!(CStr::from_ptr(column.path), c"day");
        staffa_statistics_free(all);
    }
}

#[test]
fn a_scan_is_cancelled() {
    let file = open(&bytes_of(&table(250_000)));
    let scan = scan_of(file);
    unsafe {
        let cancel = staffa_cancel_new();
        ok(|e| staffa_scan_cancel(scan, cancel, e));
        let mut stream = stream_of(scan);
        assert!(stream.next().unwrap().is_ok());
        staffa_cancel_set(cancel);
        let error = stream.next().unwrap().unwrap_err();
        assert!(error.to_string().contains("cancelled"), "{error}");
        assert!(stream.next().is_none());
        staffa_cancel_free(cancel);
        staffa_scan_free(scan);
        staffa_file_free(file);
    }
}

#[test]
fn a_cached_scan_counts_what_it_finds() {
    let batch = large_table(100_000);
    let file = open(&bytes_of(&batch));
    unsafe {
        let counts = || {
            let (scan, metrics) = (scan_of(file), staffa_metrics_new());
            ok(|e| staffa_scan_cached(scan, true, e));
            ok(|e| staffa_scan_metrics(scan, metrics, e));
            assert_eq!(rows_of(scan), batch);
            let mut counts = StaffaCounts {
                size: size_of::<StaffaCounts>(),
                ..zeroed()
            };
            ok(|e| staffa_metrics_get(metrics, &raw mut counts, e));
            staffa_metrics_free(metrics);
            staffa_scan_free(scan);
            counts
        };
        let (first, second) = (counts(), counts());
        assert!(first.bytes_read > 100_000 && first.requests > 0 && first.decode_nanos > 0);
        assert_eq!((second.bytes_read, second.requests), (0, 0));
        assert_eq!(
            (first.blocks, second.blocks),
            (second.cache_hits, second.cache_hits)
        );
        staffa_file_free(file);
    }
}

#[test]
fn threads_share_a_file() {
    struct Shared(*mut StaffaFile);
    unsafe impl Sync for Shared {}
    let batch = table(120_000);
    let file = Shared(open(&bytes_of(&batch)));
    let shared = &file;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let scan = scan_of(shared.0);
                assert_eq!(rows_of(scan), batch);
                unsafe { staffa_scan_free(scan) };
            });
        }
    });
    unsafe { staffa_file_free(file.0) };
}

static RELEASED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C-unwind" fn release(context: *mut c_void) {
    drop(unsafe { Box::from_raw(context.cast::<Vec<u8>>()) });
    RELEASED.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn memory_is_lent_until_its_last_user_is_gone() {
    let batch = table(1000);
    let lend = |bytes: Vec<u8>| {
        let bytes = Box::new(bytes);
        let (data, len) = (bytes.as_ptr(), bytes.len());
        (data, len, Box::into_raw(bytes).cast::<c_void>())
    };
    let (data, len, context) = lend(bytes_of(&batch));
    unsafe {
        let file = made(|file, e| {
            staffa_file_open_bytes(data, len, Some(release), context, ptr::null(), file, e)
        });
        let scan = scan_of(file);
        staffa_file_free(file);
        let stream = stream_of(scan);
        staffa_scan_free(scan);
        assert_eq!(RELEASED.load(Ordering::SeqCst), 0);
        assert_eq!(
            stream.map(|batch| batch.unwrap().num_rows()).sum::<usize>(),
            1000
        );
        assert_eq!(RELEASED.load(Ordering::SeqCst), 1);

        let (data, len, context) = lend(b"no file".to_vec());
        let mut file = ptr::null_mut();
        let (code, _) = call(|e| {
            staffa_file_open_bytes(
                data,
                len,
                Some(release),
                context,
                ptr::null(),
                &raw mut file,
                e,
            )
        });
        assert_ne!(code, StaffaCode::Ok);
        assert!(file.is_null());
        assert_eq!(RELEASED.load(Ordering::SeqCst), 2);
    }
}

#[test]
fn options_of_opening_are_checked() {
    let bytes = bytes_of(&table(1000));
    unsafe {
        let options = staffa_options_new();
        let set = |key: &str, value: &str| {
            let (key, value) = (c(key), c(value));
            ok(|e| staffa_options_set(options, key.as_ptr(), value.as_ptr(), e));
        };
        let mut file = ptr::null_mut();
        let mut open = |e| {
            let none = ptr::null_mut();
            staffa_file_open_bytes(
                bytes.as_ptr(),
                bytes.len(),
                None,
                none,
                options,
                &raw mut file,
                e,
            )
        };
        set("cache_bytes", "0");
        set("leaves", "2");
        fails(StaffaCode::Limit, "at most 2", &mut open);
        set("leaves", "many");
        fails(StaffaCode::InvalidArgument, "many", &mut open);
        set("leaves", "3");
        ok(&mut open);
        set("profile", "small");
        let text = "\"profile\"";
        let mut other = ptr::null_mut();
        fails(StaffaCode::InvalidArgument, text, |e| {
            let none = ptr::null_mut();
            staffa_file_open_bytes(
                bytes.as_ptr(),
                bytes.len(),
                None,
                none,
                options,
                &raw mut other,
                e,
            )
        });
        staffa_options_free(options);
        staffa_file_free(file);
    }
}
