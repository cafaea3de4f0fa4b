//! Tables of several files: folders on disk, prefixes of a store that counts, the index, writing.
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use object_store::{ObjectStore as _, ObjectStoreExt as _, PutPayload};
use staffa::WriteOptions;
use staffa_lake::table::{Folder, INDEX_NAME, Table, find, is_staffa, write_index};
use staffa_lake::{Location, ObjectWriter};

use crate::common::{FAULTS, Store};

pub fn prefix(store: &Arc<Store>) -> Folder {
    let path = object_store::path::Path::from("lake/t");
    Folder::Prefix(Location::of_store(
        store.clone(),
        path,
        "test://bucket/lake/t/",
    ))
}

pub fn base(store: &Arc<Store>) -> Location {
    match prefix(store) {
        Folder::Prefix(base) => base,
        _ => unreachable!(),
    }
}

/// Rows whose `n` is `first`, `first + 1` and so on.
pub fn rows(first: i64, rows: i64) -> RecordBatch {
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

pub fn put(store: &Arc<Store>, name: &str, batch: &RecordBatch) {
    let path = object_store::path::Path::parse(format!("lake/t/{name}")).unwrap();
    let location = base(store).with_path(path);
    let options = WriteOptions::new().overwrite(true);
    let mut writer = ObjectWriter::new(&location, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// The names of all objects of a store.
pub fn names(store: &Arc<Store>) -> Vec<String> {
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

pub fn open(store: &Arc<Store>) -> staffa::Result<Table> {
    Table::of_found(prefix(store).find()?)
}

/// All values of `n` of the rows that match.
pub fn read(table: &Table, filter: Option<&str>) -> staffa::Result<Vec<i64>> {
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
pub fn hundred() -> Arc<Store> {
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

/// Writes a file in a folder, which is made if need be.
fn write(folder: &Path, name: &str, batch: &RecordBatch) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut writer = staffa::Writer::create(path, batch.schema(), WriteOptions::new()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

#[test]
fn folders_keys_and_widened_columns_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, batch: &RecordBatch| write(folder.path(), name, batch);
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
}

#[test]
fn columns_of_types_without_a_common_one_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        RecordBatch::try_from_iter([("n", Arc::new(StringArray::from(vec!["x"])) as ArrayRef)]);
    write(folder.path(), "b.staffa", &rows(10, 3));
    write(folder.path(), "z.staffa", &text.unwrap());
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

#[test]
fn a_fault_of_any_request_is_the_right_rows_or_one_error_that_names_the_file() {
    for with_index in [false, true] {
        let store = Arc::new(Store::default());
        for day in 0..5 {
            let name = format!("day={day}/a.staffa");
            // More than opens with one request.
            put(&store, &name, &rows(day * 20_000, 20_000));
        }
        if with_index {
            write_index(&prefix(&store)).unwrap();
        }
        store.take();
        let expected = read(&open(&store).unwrap(), Some("n >= 50000")).unwrap();
        assert_eq!(expected.len(), 50_000);
        let requests = store.take().len();
        assert!((4..30).contains(&requests), "{requests}");
        let mut failed = 0;
        for fault in FAULTS {
            for request in 1..=requests {
                store.fail(request, fault);
                let found = open(&store).and_then(|table| read(&table, Some("n >= 50000")));
                match found {
                    Ok(found) => assert_eq!(found, expected, "{fault:?} of request {request}"),
                    Err(error) => {
                        let error = error.to_string();
                        assert!(error.contains("test://bucket/lake/t/"), "{error}");
                        assert!(!error.contains("SECRET"), "{error}");
                        assert_eq!(error.lines().count(), 1, "{error}");
                        failed += 1;
                    }
                }
            }
        }
        // All but those of the index, which decides nothing.
        assert!(failed >= FAULTS.len() * (requests - 2), "{failed}");
    }
}
