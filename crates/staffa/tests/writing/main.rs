//! Writing: whole files or none, refusals before the first byte, encodings by name, small tables,
//! the same bytes again.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod block_rows;
#[path = "../common/mod.rs"]
mod common;
mod encodings;
mod refusals;
mod row_groups;
mod statistics;
mod wide;
mod windows;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    FixedSizeListArray, Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, ListArray,
    NullArray, RecordBatch, StringArray, StructArray, UInt32Array, UInt64Array, make_array,
};
use arrow_buffer::{OffsetBuffer, i256};
use arrow_schema::{DataType, Field, Schema, UnionFields, UnionMode};
use common::{
    Random, array, column, field, flat_types, nested_types, read, rows, sized, table, write,
};
use encodings::samples;
use staffa::{Error, File, Profile, WriteOptions, Writer};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn numbers(range: std::ops::Range<i64>) -> RecordBatch {
    table(vec![Arc::new(Int64Array::from_iter_values(range))])
}

fn writer(path: &Path, options: WriteOptions) -> staffa::Result<Writer> {
    Writer::create(path, numbers(0..0).schema(), options)
}

#[test]
fn a_file_appears_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    // Dropped.
    let mut dropped = writer(&path, sized(10, 8)).unwrap();
    dropped.write(&numbers(0..1000)).unwrap();
    assert!(dropped.bytes_written() > 8 && !path.exists());
    drop(dropped);
    assert_eq!(names(folder.path()), [""; 0]);
    // Refused on the way.
    let mut failed = writer(&path, WriteOptions::default()).unwrap();
    assert!(
        failed
            .write(&table(vec![Arc::new(StringArray::from(vec!["x"]))]))
            .is_err()
    );
    drop(failed);
    assert_eq!(names(folder.path()), [""; 0]);
    // Finished.
    let mut good = writer(&path, sized(300, 64)).unwrap();
    good.write(&numbers(0..500)).unwrap();
    good.write(&numbers(500..1000)).unwrap();
    let summary = good.finish().unwrap();
    assert_eq!(names(folder.path()), ["t.staffa"]);
    assert_eq!(
        (summary.rows, summary.row_groups, summary.arrow_bytes),
        (1000, 4, 8000)
    );
    assert_eq!(summary.file_bytes, fs::metadata(&path).unwrap().len());
    // Replaced, while it is being read.
    let old = File::open(&path).unwrap();
    let mut next = writer(&path, WriteOptions::default()).unwrap();
    next.write(&numbers(7..9)).unwrap();
    assert_eq!(File::open(&path).unwrap().num_rows(), 1000);
    next.finish().unwrap();
    assert_eq!(names(folder.path()), ["t.staffa"]);
    assert_eq!(
        column(&read(old.scan()), 0),
        rows(numbers(0..1000).column(0))
    );
    assert_eq!(
        column(&read(File::open(&path).unwrap().scan()), 0),
        rows(numbers(7..9).column(0))
    );
}

#[test]
fn what_is_there_stays_if_it_is_not_to_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    let keep = || {
        let mut options = WriteOptions::default();
        options.overwrite = false;
        options
    };
    // It comes into being while another is written.
    let late = writer(&path, keep()).unwrap();
    fs::write(&path, "mine").unwrap();
    for result in [late.finish().map(drop), writer(&path, keep()).map(drop)] {
        let error = result.unwrap_err();
        let message = format!(
            "{}: the file exists and is not to be replaced",
            path.display()
        );
        assert!(matches!(error, Error::Io { .. }));
        assert_eq!(error.to_string(), message);
    }
    assert_eq!(names(folder.path()), ["t.staffa"]);
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    fs::remove_file(&path).unwrap();
    writer(&path, keep()).unwrap().finish().unwrap();
    assert_eq!(File::open(&path).unwrap().num_rows(), 0);
}

#[test]
fn paths_that_cannot_be_written_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = vec![
        folder.path().to_owned(),
        folder.path().join("missing").join("t.staffa"),
    ];
    if cfg!(target_os = "linux") {
        // Nobody may write there.
        paths.push("/proc/t.staffa".into());
    }
    for path in paths {
        let error = writer(&path, WriteOptions::default()).unwrap_err();
        assert!(
            matches!(&error, Error::Io { path: Some(found), .. } if *found == path),
            "{error}"
        );
        assert!(
            error.to_string().starts_with(&path.display().to_string()),
            "{error}"
        );
    }
    assert_eq!(names(folder.path()), [""; 0]);
    let error = File::open(folder.path()).unwrap_err();
    assert!(error.to_string().contains("directory"), "{error}");
    let missing = folder.path().join("none.staffa");
    assert!(
        File::open(&missing)
            .unwrap_err()
            .to_string()
            .starts_with(&missing.display().to_string())
    );
}

fn with_encoding(path: &str, name: &str) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.encodings.push((path.to_owned(), name.to_owned()));
    options
}

#[test]
fn small_tables_are_small() {
    let batch = table(vec![Arc::new(Int64Array::from_iter_values(0..10))]);
    let bytes = staffa::to_bytes(batch.schema(), &[batch], WriteOptions::default()).unwrap();
    assert!(bytes.len() < 1000, "{}", bytes.len());
    let mut random = Random(6);
    let columns = (0..2000).map(|i| {
        let values: ArrayRef = Arc::new(Float64Array::from_iter_values(
            (0..100).map(|_| (random.next() >> 11) as f64),
        ));
        (format!("column {i}"), values)
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let bytes = staffa::to_bytes(
        batch.schema(),
        std::slice::from_ref(&batch),
        WriteOptions::default(),
    )
    .unwrap();
    assert!(bytes.len() < 2_400_000, "{}", bytes.len());
    let file = File::from_bytes(bytes).unwrap();
    assert_eq!(
        column(&read(file.scan().columns(["column 1234"])), 0),
        rows(batch.column(1234))
    );
}

/// Many types, and a column long enough for several blocks and row groups.
fn mixed() -> Vec<RecordBatch> {
    let mut random = Random(8);
    let types: Vec<DataType> = flat_types()
        .into_iter()
        .chain(nested_types(&DataType::Utf8))
        .collect();
    let columns = types
        .iter()
        .map(|ty| array(ty, true, 500, &mut random))
        .collect::<Vec<_>>();
    let names = (0..types.len()).map(|i| format!("c{i}"));
    let batch = RecordBatch::try_from_iter_with_nullable(
        names.zip(columns).map(|(name, c)| (name, c, true)),
    )
    .unwrap();
    vec![batch.slice(0, 123), batch.slice(123, 377)]
}

#[test]
fn the_same_table_gives_the_same_bytes() {
    let samples = vec![RecordBatch::try_from_iter(samples()).unwrap()];
    for (batches, group, block) in [(mixed(), 300, 64), (samples, 2500, 512)] {
        for profile in [Profile::Fast, Profile::Balanced, Profile::Small] {
            let written = |threads: Option<usize>| {
                let mut options = sized(group, block);
                (options.threads, options.profile) = (threads, profile);
                staffa::to_bytes(batches[0].schema(), &batches, options).unwrap()
            };
            let first = written(None);
            for threads in [None, Some(1), Some(2), Some(5)] {
                assert!(
                    written(threads) == first,
                    "other bytes with profile {profile}, threads {threads:?}"
                );
            }
            let file = File::from_bytes(first).unwrap();
            for i in 0..batches[0].num_columns() {
                assert_eq!(
                    column(
                        &read(
                            file.scan()
                                .columns([batches[0].schema().field(i).name()])
                                .threads(Some(1))
                        ),
                        0
                    ),
                    column(&batches, i)
                );
            }
        }
    }
}

#[test]
fn many_small_batches_become_one_row_group() {
    let batches: Vec<RecordBatch> = (0..300).map(|i| numbers(i * 3..i * 3 + 3)).collect();
    let file = write(&batches, WriteOptions::default());
    assert_eq!((file.num_rows(), file.num_row_groups()), (900, 1));
    assert_eq!(
        file.nbytes() as usize,
        write(&[numbers(0..900)], WriteOptions::default()).nbytes() as usize
    );
    // By bytes: 8,000 rows of 8 bytes are more than 16 KiB.
    let mut options = WriteOptions::default();
    options.row_group_bytes = 16 << 10;
    let file = write(&[numbers(0..8000)], options);
    assert!(
        (3..=9).contains(&file.num_row_groups()),
        "{}",
        file.num_row_groups()
    );
    assert_eq!(
        column(&read(file.scan()), 0),
        rows(numbers(0..8000).column(0))
    );
}

#[test]
fn dictionaries_that_wait_in_memory_fill_a_row_group() {
    let dictionary = |first: i64| -> ArrayRef {
        let values = (first..first + 5000).map(|i| format!("a value of some length, {i}"));
        Arc::new(StringArray::from_iter_values(values))
    };
    let batch = |values: ArrayRef| {
        let keys = Int32Array::from_iter_values(0..100);
        table(vec![Arc::new(DictionaryArray::new(keys, values))])
    };
    let shared = dictionary(0);
    let batches = [
        (0..40).map(|_| batch(shared.clone())).collect::<Vec<_>>(),
        (0..40).map(|i| batch(dictionary(i))).collect(),
    ];
    // Each of some 200 KB, of which 100 rows have 3 KB.
    let row_groups = batches.map(|batches| {
        let options = WriteOptions::new().row_group_bytes(1 << 20);
        let mut writer = Writer::new(Vec::new(), batches[0].schema(), options).unwrap();
        batches
            .iter()
            .for_each(|batch| writer.write(batch).unwrap());
        let (bytes, summary) = writer.into_parts().unwrap();
        assert!(
            (100_000..200_000).contains(&summary.arrow_bytes),
            "{summary:?}"
        );
        let read = read(File::from_bytes(bytes).unwrap().scan());
        assert_eq!(column(&read, 0), column(&batches, 0));
        summary.row_groups
    });
    assert_eq!(row_groups[0], 1);
    assert!((6..=20).contains(&row_groups[1]), "{row_groups:?}");
}

#[test]
fn without_verification_the_bytes_are_the_same() {
    let mut options = sized(300, 64);
    options.verify = false;
    let batches = mixed();
    let bytes = staffa::to_bytes(batches[0].schema(), &batches, options).unwrap();
    assert!(bytes == staffa::to_bytes(batches[0].schema(), &batches, sized(300, 64)).unwrap());
}

#[test]
fn a_column_of_nulls_alone_takes_next_to_nothing() {
    let batch = table(vec![
        Arc::new(NullArray::new(100_000)),
        arrow_array::new_null_array(&DataType::Utf8, 100_000),
    ]);
    let bytes = staffa::to_bytes(
        batch.schema(),
        std::slice::from_ref(&batch),
        WriteOptions::default(),
    )
    .unwrap();
    assert!(bytes.len() < 500, "{}", bytes.len());
    let file = File::from_bytes(bytes).unwrap();
    assert!(read(file.scan()).iter().all(|b| {
        b.columns()
            .iter()
            .all(|c| c.logical_null_count() == b.num_rows())
    }));
}

#[cfg(unix)]
#[test]
fn a_file_that_replaces_another_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    for mode in [0o600, 0o640] {
        writer(&path, sized(10, 8)).unwrap().finish().unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        writer(&path, sized(10, 8)).unwrap().finish().unwrap();
        let found = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode);
    }
}

#[test]
fn a_cancelled_write_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    let options = sized(1000, 512);
    let cancel = options.cancel.clone();
    let mut writing = writer(&path, options).unwrap();
    writing.write(&numbers(0..999)).unwrap();
    assert_eq!(names(folder.path()).len(), 1);
    cancel.cancel();
    let full = writing.write(&numbers(999..2000));
    assert!(matches!(full, Err(Error::Cancelled)), "{full:?}");
    let finished = writing.finish();
    assert!(finished.is_err(), "{finished:?}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_cancelled_write_is_not_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    let options = sized(1000, 512);
    let cancel = options.cancel.clone();
    let mut writing = writer(&path, options).unwrap();
    writing.write(&numbers(0..10)).unwrap();
    cancel.cancel();
    let finished = writing.finish();
    assert!(matches!(finished, Err(Error::Cancelled)), "{finished:?}");
    assert_eq!(names(folder.path()), [""; 0]);
}
