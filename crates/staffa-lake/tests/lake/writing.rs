//! Tables that are written: partitions, appended rows, small files made into large ones.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use staffa_lake::table::{
    Append, CompactOptions, Folder, Table, TableOptions, TableWriter, compact, compact_table,
};

use crate::common::Store;
use crate::tables::{hundred, names, open, prefix, put, read, rows};

#[test]
fn partitions_are_written_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::default());
    let cities = ["Oban", "St Ives", "a/b", "ü"];
    let batch = |first: i64| {
        let city = (0..5000).map(|i| (i % 5 < 4).then(|| cities[i % 5 % 4]));
        let year = Int32Array::from_iter_values((0..5000).map(|i| 2000 + (i * 7 % 100)));
        let columns: [(&str, ArrayRef); 3] = [
            (
                "n",
                Arc::new(Int64Array::from_iter_values(first..first + 5000)),
            ),
            ("city", Arc::new(city.collect::<StringArray>())),
            ("year", Arc::new(year)),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    for target in [
        Folder::new(&folder.path().join("new/t")).unwrap(),
        prefix(&store),
    ] {
        let mut options = TableOptions::default();
        options.partition_by = vec!["city".into(), "year".into()];
        options.max_open_files = 64;
        let mut writer = TableWriter::new(&target, &batch(0).schema(), options).unwrap();
        writer.write(&batch(0)).unwrap();
        writer.write(&batch(5000)).unwrap();
        assert!(
            target.find().unwrap().files.is_empty(),
            "nothing is visible before the end"
        );
        let written = writer.finish().unwrap();
        assert_eq!(written.rows, 10_000);
        assert_eq!(written.folders.len(), 100);
        assert!(written.files.len() > 100, "more partitions than open files");
        let table = Table::of_found(target.find().unwrap()).unwrap();
        assert_eq!(table.num_rows(), 10_000);
        let mut all = read(&table, None).unwrap();
        all.sort_unstable();
        assert_eq!(all, (0..10_000).collect::<Vec<_>>());
        let oban = read(&table, Some("city = 'a/b' and year < 2050")).unwrap();
        let expected = (0..10_000).filter(|n| n % 5 == 2 && n % 5000 * 7 % 100 < 50);
        assert_eq!(oban, sorted_like(&oban, expected.collect()));
        assert_eq!(read(&table, Some("city is null")).unwrap().len(), 2000);
    }
    let hidden = fs::read_dir(folder.path().join("new/t")).unwrap();
    assert!(
        hidden
            .flatten()
            .all(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
    );
}

/// The expected values in the order of those found, if they are the same.
fn sorted_like(found: &[i64], mut expected: Vec<i64>) -> Vec<i64> {
    let mut sorted = found.to_vec();
    sorted.sort_unstable();
    expected.sort_unstable();
    if sorted == expected {
        found.to_vec()
    } else {
        expected
    }
}

#[test]
fn nothing_is_left_of_a_table_that_fails_midway() {
    let store = Arc::new(Store::default());
    put(&store, "k=0/old.staffa", &rows(0, 1));
    let before = names(&store);
    let keyed = |k: i32| {
        let rows = rows(i64::from(k), 100);
        let columns = [
            ("n", rows.column(0).clone()),
            ("k", Arc::new(Int32Array::from(vec![k; 100])) as ArrayRef),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let write = |open: usize| {
        let mut options = TableOptions::default();
        options.partition_by = vec!["k".into()];
        options.max_open_files = open;
        let mut writer = TableWriter::new(&prefix(&store), &keyed(0).schema(), options)?;
        (0..10).try_for_each(|k| writer.write(&keyed(k)))?;
        writer.finish()
    };
    for open in [64, 2] {
        *store.full.lock().unwrap() = Some("k=7/".into());
        let error = write(open).unwrap_err().to_string();
        assert!(
            error.contains("disk full") && error.contains("k=7/"),
            "{error}"
        );
        assert!(!error.contains("SECRET"), "{error}");
        assert_eq!(names(&store), before);
    }
    *store.full.lock().unwrap() = None;
    assert_eq!(write(2).unwrap().files.len(), 10);
    let folder = tempfile::tempdir().unwrap();
    let target = Folder::new(&folder.path().join("t")).unwrap();
    let mut writer =
        TableWriter::new(&target, &keyed(0).schema(), TableOptions::default()).unwrap();
    writer.write(&keyed(0)).unwrap();
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn rows_are_appended_under_new_names() {
    let store = hundred();
    let day = |day: i32, first: i64, more: Option<(&str, ArrayRef)>| {
        let rows = rows(first, 10);
        let mut columns = vec![
            ("day", Arc::new(Int32Array::from(vec![day; 10])) as ArrayRef),
            ("name", rows.column(1).clone()),
            ("n", rows.column(0).clone()),
        ];
        columns.extend(more);
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let append = |batch: &RecordBatch| {
        let mut append = Append::to(&prefix(&store), &batch.schema(), TableOptions::default())?;
        append.write(batch)?;
        append.finish()
    };
    let written = append(&day(42, 900_000, None)).unwrap();
    assert_eq!((written.files.len(), written.rows), (1, 10));
    let again = append(&day(42, 900_010, None)).unwrap();
    assert_ne!(written.files, again.files);
    let table = open(&store).unwrap();
    assert_eq!(read(&table, Some("day = 42")).unwrap().len(), 2020);
    assert_eq!(read(&table, Some("n >= 900000")).unwrap().len(), 20);
    // What does not fit is refused before anything is written.
    let before = names(&store);
    let other = day(
        1,
        0,
        Some(("more", Arc::new(Int32Array::from(vec![1; 10])))),
    );
    let error = append(&other).unwrap_err().to_string();
    assert!(
        error.contains("\"more\" is not in test://bucket/lake/t/"),
        "{error}"
    );
    let error = append(&rows(0, 1)).unwrap_err().to_string();
    assert!(error.contains("\"day\" is missing"), "{error}");
    let text = RecordBatch::try_from_iter([
        ("day", Arc::new(Int32Array::from(vec![1])) as ArrayRef),
        ("name", Arc::new(StringArray::from(vec!["x"]))),
        ("n", Arc::new(StringArray::from(vec!["x"]))),
    ]);
    let error = append(&text.unwrap()).unwrap_err().to_string();
    assert!(error.contains("\"n\" is Utf8, but Int64"), "{error}");
    assert_eq!(names(&store), before);
}

#[test]
fn small_files_become_large_ones_sorted_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let store = hundred();
    let table = open(&store).unwrap();
    let target = |name: &str| Folder::new(&folder.path().join(name)).unwrap();
    let mut options = CompactOptions::default();
    options.sort = vec!["n desc".parse().unwrap()];
    // A sort by runs.
    options.sort_bytes = 1 << 20;
    let written = compact_table(&table, &target("sorted"), options).unwrap();
    assert_eq!((written.files.len(), written.rows), (100, 200_000));
    let sorted = Table::open(&folder.path().join("sorted")).unwrap();
    let day = read(&sorted, Some("day = 3")).unwrap();
    assert_eq!(day, (6000..8000).rev().collect::<Vec<_>>());
    let file = staffa::File::open(&written.files[0]).unwrap();
    assert_eq!(file.sort_order().unwrap(), ["n desc".parse().unwrap()]);

    let flat = Arc::new(Store::default());
    for i in 0..20 {
        put(&flat, &format!("{i}.staffa"), &rows(i * 1000, 1000));
    }
    let written = compact_table(
        &open(&flat).unwrap(),
        &target("one"),
        CompactOptions::default(),
    )
    .unwrap();
    assert_eq!((written.files.len(), written.rows), (1, 20_000));
    let one = Table::open(&folder.path().join("one")).unwrap();
    let mut all = read(&one, None).unwrap();
    all.sort_unstable();
    assert_eq!(all, (0..20_000).collect::<Vec<_>>());
    // In place, and into a folder with files.
    let own = |to: PathBuf| compact(&folder.path().join("one"), &to, CompactOptions::default());
    for to in ["one", "one/below", "sorted"] {
        let error = own(folder.path().join(to)).unwrap_err().to_string();
        assert!(
            error.contains("twice") || error.contains("has Staffa files"),
            "{to}: {error}"
        );
    }
    assert!(own(folder.path().join("other")).is_ok());
}
