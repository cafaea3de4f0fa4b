//! The disk cache over a store that counts: what is asked for again, and what is not, whatever happens to the folder.
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use object_store::path::Path as ObjectPath;
use staffa::{File, Limits, WriteOptions};
use staffa_lake::table::{Folder, Table, write_index};
use staffa_lake::{DiskCache, Location, ObjectSource, ObjectWriter};
use tempfile::{TempDir, tempdir};

use crate::common::{FAULTS, Store};
use crate::tables::{base, put as put_at, rows};

/// Incompressible, and several requests' worth.
fn table(seed: i64) -> RecordBatch {
    let mix = |i: i64| {
        let x = (i as u64 ^ seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 29)) as i64 >> 2
    };
    let column = |by: i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(
            (0..60_000).map(|i| mix(i * by)),
        ))
    };
    let row: ArrayRef = Arc::new(Int64Array::from_iter_values(0..60_000));
    RecordBatch::try_from_iter([("row", row), ("a", column(3)), ("b", column(5))]).unwrap()
}

fn location(store: &Arc<Store>, cache: &DiskCache) -> Location {
    let path = ObjectPath::from("t.staffa");
    let location = Location::of_store(store.clone(), path, "test://bucket/t.staffa");
    location.with_disk_cache(cache, "test://bucket")
}

fn put(store: &Arc<Store>, cache: &DiskCache, batch: &RecordBatch) {
    let options = WriteOptions::new()
        .row_group_rows(20_000)
        .overwrite(true)
        .profile(staffa::Profile::Fast);
    let to = location(store, cache);
    let mut writer = ObjectWriter::new(&to, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    store.requests();
}

fn new_cache(bytes: u64) -> (TempDir, DiskCache) {
    let folder = tempdir().unwrap();
    let cache = DiskCache::new(folder.path().join("cache"), bytes).unwrap();
    (folder, cache)
}

/// All rows of some columns, and the requests that they took once the file was open.
fn read(store: &Arc<Store>, cache: &DiskCache, columns: &[&str]) -> (RecordBatch, usize) {
    let file = staffa_lake::open_with(&location(store, cache), Limits::default()).unwrap();
    store.requests();
    let found = read_file(&file, columns);
    (found, store.requests().len())
}

fn read_file(file: &File, columns: &[&str]) -> RecordBatch {
    let scan = file.scan().columns(columns.iter().copied());
    let batches: Vec<RecordBatch> = scan.reader().unwrap().map(|b| b.unwrap()).collect();
    arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// The files of a cache that hold bytes.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found.retain(|path| !path.ends_with("CACHEDIR.TAG"));
    found.sort();
    found
}

const ALL: [&str; 3] = ["row", "a", "b"];

#[test]
fn a_second_scan_asks_for_no_data() {
    let (store, batch) = (Arc::new(Store::default()), table(1));
    let (folder, cache) = new_cache(1 << 30);
    put(&store, &cache, &batch);
    let (found, asked) = read(&store, &cache, &ALL);
    assert_eq!(found, batch);
    assert!(asked > 0);
    cache.flush();
    // Another process would open the folder anew.
    let again = DiskCache::new(folder.path().join("cache"), 1 << 30).unwrap();
    let source = Arc::new(ObjectSource::open(&location(&store, &again)).unwrap());
    // Whether the object is the same: an answer without bytes.
    assert_eq!(store.requests(), ["GET t.staffa"]);
    assert_eq!(
        (source.counters().requests(), source.counters().bytes()),
        (1, 0)
    );
    let file = File::open_source(source.clone()).unwrap();
    assert_eq!(read_file(&file, &ALL), batch);
    assert_eq!(file.take(&[7, 59_000]).read().unwrap().num_rows(), 2);
    assert!(store.requests().is_empty());
    assert_eq!(
        (source.counters().requests(), source.counters().bytes()),
        (1, 0)
    );
    assert!(source.counters().cached_bytes() > 1 << 20);
    let info = again.info();
    assert!(
        info.hits > 1 && info.misses == 0 && info.miss_bytes == 0,
        "{info:?}"
    );
    assert!(info.bytes > 800_000 && info.bytes < 1 << 20, "{info:?}");
}

#[test]
fn other_columns_ask_for_what_is_not_there() {
    let (store, batch) = (Arc::new(Store::default()), table(2));
    let (_folder, cache) = new_cache(1 << 30);
    put(&store, &cache, &batch);
    let expected = |columns: &[usize]| batch.project(columns).unwrap();
    assert_eq!(read(&store, &cache, &["row", "a"]).0, expected(&[0, 1]));
    cache.flush();
    let before = cache.info();
    assert_eq!(read(&store, &cache, &ALL).0, batch);
    cache.flush();
    let between = cache.info();
    assert!(
        between.hit_bytes - before.hit_bytes > 400_000,
        "{between:?}"
    );
    // Parts of ranges that are there in other pieces.
    for columns in [&["b"][..], &["row", "b"], &["a"], &ALL] {
        let (found, asked) = read(&store, &cache, columns);
        let numbers: Vec<usize> = columns
            .iter()
            .map(|name| batch.schema().index_of(name).unwrap())
            .collect();
        assert_eq!((found, asked), (expected(&numbers), 0), "{columns:?}");
    }
    assert_eq!(cache.info().miss_bytes, between.miss_bytes);
    // What a larger file has, a smaller one has not.
    let (_folder, cache) = new_cache(1 << 30);
    for columns in [&["a"][..], &ALL] {
        read(&store, &cache, columns);
        cache.flush();
    }
    let info = cache.info();
    assert!(info.miss_bytes > info.bytes + 400_000, "{info:?}");
    assert_eq!(read(&store, &cache, &["a"]).1, 0);
}

#[test]
fn an_object_that_is_replaced_is_another_one() {
    let store = Arc::new(Store::default());
    let (folder, cache) = new_cache(1 << 30);
    let mut held = Vec::new();
    for seed in [1, 2, 1] {
        put(&store, &cache, &table(seed));
        for _ in 0..2 {
            assert_eq!(read(&store, &cache, &ALL).0, table(seed));
            cache.flush();
        }
        held.push(files(folder.path()).len());
    }
    // What is there of earlier versions goes.
    assert_eq!(held[0], held[2]);
    // A file that was open before has the rows of its version as long as they are there, and is never a mixture.
    let file = staffa_lake::open_with(&location(&store, &cache), Limits::default()).unwrap();
    put(&store, &cache, &table(3));
    assert_eq!(read_file(&file, &ALL), table(1));
    assert_eq!(read(&store, &cache, &ALL).0, table(3));
    cache.flush();
    let changed = file.scan().reader().unwrap().find_map(staffa::Result::err);
    let changed = changed.unwrap().to_string();
    assert!(
        changed.contains("was changed while it was read"),
        "{changed}"
    );
}

#[test]
fn damage_is_a_miss() {
    let (store, batch) = (Arc::new(Store::default()), table(4));
    let (folder, cache) = new_cache(1 << 30);
    put(&store, &cache, &batch);
    let fill = || {
        assert_eq!(read(&store, &cache, &ALL).0, batch);
        cache.flush();
        files(folder.path())
    };
    let count = fill().len();
    for number in 0..count {
        let len = fs::metadata(&fill()[number]).unwrap().len() as usize;
        // The beginning, the header, the first bytes behind it, the middle, the end.
        for at in [0, 9, 13, 21, 60, 100, 200, len / 2, len - 1] {
            let path = &fill()[number];
            let mut bytes = fs::read(path).unwrap();
            let at = at.min(bytes.len() - 1);
            bytes[at] ^= 1 << (at % 8);
            fs::write(path, bytes).unwrap();
            assert_eq!(read(&store, &cache, &ALL).0, batch, "byte {at} of {path:?}");
            cache.flush();
        }
        for len in [0, 7, 19, 40, len / 2, len - 1] {
            let path = &fill()[number];
            fs::File::options()
                .write(true)
                .open(path)
                .unwrap()
                .set_len(len as u64)
                .unwrap();
            assert_eq!(
                read(&store, &cache, &ALL).0,
                batch,
                "{len} bytes of {path:?}"
            );
            cache.flush();
        }
    }
    // One file in the place of another.
    let known = fill();
    for (path, other) in known.iter().zip(known.iter().cycle().skip(1)) {
        let bytes = fs::read(path).unwrap();
        fs::copy(other, path).unwrap();
        assert_eq!(read(&store, &cache, &ALL).0, batch);
        cache.flush();
        fs::write(path, bytes).unwrap();
    }
    // And what was damaged is there again.
    fill();
    assert_eq!(read(&store, &cache, &ALL).1, 0);
}

#[test]
fn a_folder_that_is_gone_or_no_folder_is_a_miss() {
    let (store, batch) = (Arc::new(Store::default()), table(5));
    let (folder, cache) = new_cache(1 << 30);
    put(&store, &cache, &batch);
    read(&store, &cache, &ALL);
    cache.flush();
    let root = folder.path().join("cache");
    fs::remove_dir_all(&root).unwrap();
    let (found, asked) = read(&store, &cache, &ALL);
    assert_eq!(found, batch);
    assert!(asked > 0);
    cache.flush();
    assert_eq!(
        read(&store, &cache, &ALL).1,
        0,
        "the folder is created again"
    );
    fs::remove_dir_all(&root).unwrap();
    fs::write(&root, "no folder").unwrap();
    for _ in 0..2 {
        let (found, asked) = read(&store, &cache, &ALL);
        assert_eq!(found, batch);
        assert!(asked > 0);
        cache.flush();
    }
    assert_eq!((cache.info().bytes, fs::read(&root).unwrap().len()), (0, 9));
    let error = DiskCache::new(&root, 1).unwrap_err().to_string();
    assert!(error.contains("cache"), "{error}");
    let error = DiskCache::new(root.join("below"), 1)
        .unwrap_err()
        .to_string();
    assert!(error.contains("below"), "{error}");
    assert!(DiskCache::new("", 1).is_err());
}

#[test]
fn what_fails_is_not_kept() {
    let (store, batch) = (Arc::new(Store::default()), table(8));
    let (_folder, cache) = new_cache(1 << 30);
    put(&store, &cache, &batch);
    let read_all = |cache: &DiskCache, columns: &[&str]| {
        let file = staffa_lake::open_with(&location(&store, cache), Limits::default())?;
        let scan = file.scan().columns(columns.iter().copied());
        scan.reader()?.collect::<staffa::Result<Vec<_>>>()
    };
    for fault in FAULTS {
        for request in 1..=5 {
            let (_folder, cache) = new_cache(1 << 30);
            store.fail(request, fault);
            for columns in [&["row", "a"][..], &ALL] {
                match read_all(&cache, columns) {
                    Ok(found) => {
                        let rows: usize = found.iter().map(RecordBatch::num_rows).sum();
                        assert_eq!(rows, batch.num_rows());
                    }
                    Err(error) => {
                        let error = error.to_string();
                        assert!(error.contains("test://bucket/t.staffa"), "{error}");
                        assert!(!error.contains("SECRET"), "{error}");
                    }
                }
                cache.flush();
            }
            *store.fault.lock().unwrap() = None;
            assert_eq!(
                read(&store, &cache, &ALL).0,
                batch,
                "{fault:?} of {request}"
            );
        }
    }
}

#[test]
fn the_budget_holds_and_what_was_used_longest_ago_goes() {
    let (store, batch) = (Arc::new(Store::default()), table(6));
    for budget in [0, 1, 5_000, 100_000, 800_000] {
        let (folder, cache) = new_cache(budget);
        put(&store, &cache, &batch);
        for columns in [&["a"][..], &["b"], &ALL, &["row"]] {
            let expected = columns
                .iter()
                .map(|name| batch.schema().index_of(name).unwrap());
            let expected = batch.project(&expected.collect::<Vec<_>>()).unwrap();
            assert_eq!(read(&store, &cache, columns).0, expected);
            cache.flush();
            assert!(cache.info().bytes <= budget, "{:?}", cache.info());
        }
        if budget < 5_000 {
            assert!(files(folder.path()).is_empty());
        }
    }
    // Another object needs the room.
    let (folder, cache) = new_cache(1 << 30);
    assert!(read(&store, &cache, &ALL).1 > 0);
    cache.flush();
    let known = files(folder.path());
    let old = std::time::SystemTime::UNIX_EPOCH;
    for path in &known {
        fs::File::open(path).unwrap().set_modified(old).unwrap();
    }
    // What is used is new again.
    assert_eq!(read(&store, &cache, &ALL).1, 0);
    let is_old = |path: &&PathBuf| fs::metadata(path).unwrap().modified().unwrap() == old;
    assert_eq!(known.iter().filter(is_old).count(), 0);
    let unused = known
        .iter()
        .max_by_key(|path| fs::metadata(path).unwrap().len());
    let unused = unused.unwrap();
    fs::File::open(unused).unwrap().set_modified(old).unwrap();
    let budget = cache.info().bytes + 4096;
    let small = DiskCache::new(folder.path().join("cache"), budget).unwrap();
    let other = Arc::new(Store::default());
    put(&other, &small, &table(7));
    put(&other, &small, &table(8));
    assert_eq!(
        read(&other, &small, &["a"]).0,
        table(8).project(&[1]).unwrap()
    );
    small.flush();
    assert!(!unused.exists() && small.info().bytes <= budget);
}

#[test]
fn caches_share_a_folder() {
    let (store, batch) = (Arc::new(Store::default()), table(7));
    let (folder, cache) = new_cache(1 << 30);
    put(&store, &cache, &batch);
    let budget = 3_000_000;
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (store, batch, folder) = (&store, &batch, folder.path().join("cache"));
            scope.spawn(move || {
                let cache = DiskCache::new(folder, budget).unwrap();
                for turn in 0..4 {
                    let columns = [&ALL[..], &["a"], &["b"]][(number + turn) % 3];
                    let file = staffa_lake::open_with(&location(store, &cache), Limits::default());
                    let found = read_file(&file.unwrap(), columns);
                    let numbers = columns
                        .iter()
                        .map(|name| batch.schema().index_of(name).unwrap());
                    assert_eq!(found, batch.project(&numbers.collect::<Vec<_>>()).unwrap());
                }
                cache.flush();
            });
        }
    });
    store.requests();
    assert_eq!(read(&store, &cache, &ALL), (batch, 0));
}

#[test]
fn a_table_that_was_read_costs_a_listing() {
    let store = Arc::new(Store::default());
    let (_folder, cache) = new_cache(1 << 30);
    let folder = Folder::Prefix(base(&store).with_disk_cache(&cache, "test://bucket"));
    for number in 0..5 {
        put_at(
            &store,
            &format!("{number}.staffa"),
            &rows(number * 1000, 1000),
        );
    }
    let count = || {
        let table = Table::of_found(folder.find().unwrap()).unwrap();
        let batches = table
            .scan(None)
            .unwrap()
            .map(|batch| batch.unwrap().num_rows());
        let rows: usize = batches.sum();
        cache.flush();
        (rows, store.requests())
    };
    store.requests();
    let (found, asked) = count();
    assert_eq!(found, 5000);
    assert!(asked.len() > 5, "{asked:?}");
    assert_eq!(count(), (5000, vec!["LIST lake/t".to_owned()]));
    write_index(&folder).unwrap();
    count();
    assert_eq!(count(), (5000, vec!["LIST lake/t".to_owned()]));
    put_at(&store, "4.staffa", &rows(0, 10));
    store.requests();
    let (found, asked) = count();
    assert_eq!(found, 4010);
    assert!(
        asked
            .iter()
            .skip(1)
            .all(|request| request == "GET lake/t/4.staffa"),
        "{asked:?}"
    );
}
