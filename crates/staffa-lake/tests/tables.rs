//! Tables of several files: folders on disk, prefixes of a store that counts, the index, writing.
#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, clippy::panic)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use object_store::{ObjectStore as _, ObjectStoreExt as _, PutPayload};
use staffa::WriteOptions;
use staffa_lake::table::{
    Append, CompactOptions, Folder, INDEX_NAME, Table, TableOptions, TableWriter, compact,
    compact_table, discard, find, is_staffa, publish, write_index,
};
use staffa_lake::{Location, ObjectWriter};

use crate::common::Store;

fn prefix(store: &Arc<Store>) -> Folder {
    let path = object_store::path::Path::from("lake/t");
    Folder::Prefix(Location::of_store(
        store.clone(),
        path,
        "test://bucket/lake/t/",
    ))
}

fn base(store: &Arc<Store>) -> Location {
    match prefix(store) {
        Folder::Prefix(base) => base,
        _ => unreachable!(),
    }
}

/// Rows whose `n` is `first`, `first + 1` and so on.
fn rows(first: i64, rows: i64) -> RecordBatch {
    let mix = |i: i64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 2;
    let names = (first..first + rows).map(|i| format!("name {}", mix(i)));
    let columns: [(&str, ArrayRef); 2] = [
        (
            "n",
            Arc::new(Int64Array::from_iter_values(first..first + rows)),
        ),
        ("name", Arc::new(StringArray::from_iter_values(names))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn put(store: &Arc<Store>, name: &str, batch: &RecordBatch) {
    let path = object_store::path::Path::parse(format!("lake/t/{name}")).unwrap();
    let location = base(store).with_path(path);
    let options = WriteOptions::new().overwrite(true);
    let mut writer = ObjectWriter::new(&location, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// The names of all objects of a store.
fn names(store: &Arc<Store>) -> Vec<String> {
    use futures_util::TryStreamExt as _;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let found = runtime
        .block_on(store.memory.list(None).try_collect::<Vec<_>>())
        .unwrap();
    let mut names: Vec<String> = found.iter().map(|meta| meta.location.to_string()).collect();
    names.sort();
    names
}

fn open(store: &Arc<Store>) -> staffa::Result<Table> {
    Table::of_found(prefix(store).find()?)
}

/// All values of `n` of the rows that match.
fn read(table: &Table, filter: Option<&str>) -> staffa::Result<Vec<i64>> {
    let filter = filter.map(|filter| filter.parse().unwrap());
    let mut all = Vec::new();
    for batch in table.scan(filter)? {
        let batch = batch?;
        let n = batch.column_by_name("n").unwrap();
        all.extend(n.as_primitive::<Int64Type>().values());
    }
    Ok(all)
}

/// A hundred files of a day each, of 2,000 rows.
fn hundred() -> Arc<Store> {
    let store = Arc::new(Store::default());
    for day in 0..100 {
        put(
            &store,
            &format!("day={day}/a.staffa"),
            &rows(day * 2000, 2000),
        );
    }
    store.requests();
    store
}

#[test]
fn an_index_saves_the_requests_of_files_that_filters_exclude() {
    let store = hundred();
    let written = write_index(&prefix(&store)).unwrap();
    assert_eq!(
        (written.files, written.opened, written.rows),
        (100, 100, 200_000)
    );
    for filter in [
        "day = 42",
        "n >= 84000 and n < 86000",
        "n = 85000 or day = 42",
    ] {
        store.requests();
        let table = open(&store).unwrap();
        assert_eq!(table.num_rows(), 200_000);
        let found = read(&table, Some(filter)).unwrap();
        assert_eq!(found, (84_000..86_000).collect::<Vec<_>>(), "{filter}");
        let requests = store.requests();
        assert!(requests.len() <= 5, "{filter}: {requests:?}");
        let touched = |name: &String| name.contains("day=") && !name.contains("day=42/");
        assert!(!requests.iter().any(touched), "{filter}: {requests:?}");
    }
    // Nothing changed: nothing is opened again.
    assert_eq!(write_index(&prefix(&store)).unwrap().opened, 0);
    put(&store, "day=100/a.staffa", &rows(200_000, 10));
    let again = write_index(&prefix(&store)).unwrap();
    assert_eq!((again.files, again.opened), (101, 1));
}

#[test]
fn a_stale_index_is_never_a_wrong_row() {
    let store = hundred();
    write_index(&prefix(&store)).unwrap();
    // One file has other rows, one is gone, one is new.
    put(&store, "day=7/a.staffa", &rows(1_000_000, 2000));
    let gone = object_store::path::Path::from("lake/t/day=8/a.staffa");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(store.memory.delete(&gone)).unwrap();
    put(&store, "day=200/a.staffa", &rows(2_000_000, 5));
    let table = open(&store).unwrap();
    let days = (0..100).filter(|day| *day != 7 && *day != 8);
    let mut expected: Vec<i64> = days.flat_map(|day| day * 2000..day * 2000 + 2000).collect();
    expected.extend(1_000_000..1_002_000);
    expected.extend(2_000_000..2_000_005);
    let mut found = read(&table, None).unwrap();
    found.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(
        read(&table, Some("n >= 1001990 and day = 7"))
            .unwrap()
            .len(),
        10
    );
    // Changed after it was opened by the index.
    put(&store, "day=9/a.staffa", &rows(0, 3000));
    let error = read(&table, Some("day = 9")).unwrap_err().to_string();
    assert!(
        error.contains("day=9/a.staffa") && error.contains("changed"),
        "{error}"
    );
    // An index that is none is as good as none.
    let index = object_store::path::Path::from(format!("lake/t/{INDEX_NAME}"));
    for bytes in [&b""[..], b"no index"] {
        let bytes = PutPayload::from_static(bytes);
        runtime.block_on(store.memory.put(&index, bytes)).unwrap();
        assert_eq!(
            read(&open(&store).unwrap(), Some("day = 3")).unwrap().len(),
            2000
        );
    }
    put(&store, INDEX_NAME, &rows(0, 3));
    assert_eq!(
        read(&open(&store).unwrap(), Some("day = 3")).unwrap().len(),
        2000
    );
}

#[test]
fn folders_keys_and_widened_columns_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, batch: &RecordBatch| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut writer = staffa::Writer::create(path, batch.schema(), WriteOptions::new()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
    };
    let narrow =
        RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef)]);
    write("year=2025/city=a%2Fb/a.staffa", &narrow.unwrap());
    write(
        "year=2026/city=__HIVE_DEFAULT_PARTITION__/b.staffa",
        &rows(10, 3),
    );
    write("_old/c.staffa", &rows(0, 1));
    write(".hidden.staffa", &rows(0, 1));
    let table = Table::open(folder.path()).unwrap();
    let field = |name: &str| {
        table
            .schema()
            .field_with_name(name)
            .unwrap()
            .data_type()
            .clone()
    };
    assert_eq!(field("n"), DataType::Int64);
    assert_eq!(field("year"), DataType::Int32);
    assert_eq!(read(&table, None).unwrap(), [1, 2, 10, 11, 12]);
    for (filter, expected) in [
        ("year = 2025", &[1, 2][..]),
        ("city is null and n > 10", &[11, 12]),
        ("city = 'a/b' and n = 2", &[2]),
        ("name is null", &[1, 2]),
        ("not year = 2025 or n = 1", &[1, 10, 11, 12]),
        ("n in (2, 12)", &[2, 12]),
    ] {
        assert_eq!(read(&table, Some(filter)).unwrap(), expected, "{filter}");
    }
    let batch = table
        .scan(Some("n = 1".parse().unwrap()))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(
        batch
            .column_by_name("year")
            .unwrap()
            .as_primitive::<Int32Type>()
            .value(0),
        2025
    );
    write(
        "year=2027/city=x/z.staffa",
        &RecordBatch::try_from_iter([("n", Arc::new(StringArray::from(vec!["x"])) as ArrayRef)])
            .unwrap(),
    );
    let error = Table::open(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("\"n\"") && error.contains("b.staffa") && error.contains("z.staffa"),
        "{error}"
    );
}

#[test]
fn paths_are_found_in_order_each_once() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "a/x.staffa",
        "a/b/y.staffa",
        "a.staffa",
        "a/_t/n.staffa",
        "a/.h.staffa",
        "a/r.md",
        "w [1]?.staffa",
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let found = |source: &str| -> Vec<String> {
        let found = find(&folder.path().join(source), &is_staffa).unwrap();
        let below = |path: &Path| {
            path.strip_prefix(folder.path())
                .unwrap()
                .display()
                .to_string()
        };
        found.files.iter().map(|file| below(file.path())).collect()
    };
    assert_eq!(
        found(""),
        ["a/b/y.staffa", "a/x.staffa", "a.staffa", "w [1]?.staffa"]
    );
    assert_eq!(found("a"), ["a/b/y.staffa", "a/x.staffa"]);
    assert_eq!(found("a/**"), ["a/b/y.staffa", "a/x.staffa"]);
    assert_eq!(found("**/[xy].staffa"), ["a/b/y.staffa", "a/x.staffa"]);
    assert_eq!(found("a/?.staffa"), ["a/x.staffa"]);
    assert_eq!(found("w [1]?.staffa"), ["w [1]?.staffa"]);
    assert_eq!(found("none.staffa"), ["none.staffa"]);
    assert!(found("none*").is_empty());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("a/b/loop"))
            .unwrap();
        assert_eq!(found("a"), ["a/b/y.staffa", "a/x.staffa"]);
    }
}

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

#[test]
fn a_damaged_file_among_many_is_named() {
    let store = hundred();
    let path = object_store::path::Path::from("lake/t/day=50/a.staffa");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime
        .block_on(store.memory.put(
            &path,
            PutPayload::from_static(b"STFA no more of it, and no trailer"),
        ))
        .unwrap();
    let error = open(&store).unwrap_err().to_string();
    assert!(
        error.starts_with("test://bucket/lake/t/day=50/a.staffa"),
        "{error}"
    );
    let error = write_index(&prefix(&store)).unwrap_err().to_string();
    assert!(error.contains("day=50/a.staffa"), "{error}");
}

/// The file that a process writes into a folder.
fn staged(hidden: &Folder, first: i64) -> Vec<PathBuf> {
    let batch = rows(first, 100);
    let mut writer = TableWriter::new(hidden, &batch.schema(), TableOptions::default()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap().files
}

#[test]
fn files_of_several_processes_appear_together() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::default());
    let hidden = Folder::Prefix(base(&store).with_path("lake/t/.job".into()));
    for (table, hidden) in [
        (
            Folder::Local(folder.path().to_owned()),
            Folder::Local(folder.path().join(".job")),
        ),
        (prefix(&store), hidden),
    ] {
        let found = || table.find().unwrap().files.len();
        let (first, second, lost) = (staged(&hidden, 0), staged(&hidden, 100), staged(&hidden, 0));
        assert_eq!((found(), lost.len()), (0, 1));
        let files = publish(&hidden, &table, &[first, second].concat()).unwrap();
        assert_eq!((found(), files.len()), (2, 2));
        discard(&hidden).unwrap();
        discard(&hidden).unwrap();
        assert_eq!(hidden.find().unwrap().files.len(), 0);
        let table = Table::of_found(table.find().unwrap()).unwrap();
        assert_eq!(table.num_rows(), 200);
    }
    assert_eq!(names(&store).len(), 2);
}

#[test]
fn a_publication_that_fails_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::default());
    let hidden = Folder::Prefix(base(&store).with_path("lake/t/.job".into()));
    let files = [staged(&hidden, 0), staged(&hidden, 100)].concat();
    let last = files[1].file_name().unwrap().to_string_lossy().into_owned();
    *store.full.lock().unwrap() = Some(format!("lake/t/{last}"));
    let failed = publish(&hidden, &prefix(&store), &files).unwrap_err();
    assert!(failed.to_string().contains(&last), "{failed}");
    assert_eq!(prefix(&store).find().unwrap().files.len(), 0);

    let table = Folder::Local(folder.path().to_owned());
    let hidden = Folder::Local(folder.path().join(".job"));
    let files = [staged(&hidden, 0), staged(&hidden, 100)].concat();
    // A folder has the name of a file.
    fs::create_dir(folder.path().join(files[1].file_name().unwrap())).unwrap();
    assert!(publish(&hidden, &table, &files).is_err());
    let gone = publish(&hidden, &table, &files).unwrap_err();
    assert!(gone.to_string().contains("is gone"), "{gone}");
    assert_eq!(table.find().unwrap().files.len(), 0);
}
