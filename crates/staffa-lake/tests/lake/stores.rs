//! Files in a store that is slow, counts, and fails by seed: the right rows or one clear error.
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use staffa::{Limits, WriteOptions};
use staffa_lake::{Location, ObjectSource, ObjectWriter};

use crate::common::{FAULTS, Fault, Store};

fn table(rows: i64) -> RecordBatch {
    let mix = |i: i64| {
        let x = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 29)) as i64 >> 2
    };
    let columns: [(&str, ArrayRef); 4] = [
        ("row", Arc::new(Int64Array::from_iter_values(0..rows))),
        (
            "n",
            Arc::new(Int64Array::from_iter_values((0..rows).map(mix))),
        ),
        (
            "more",
            Arc::new(Int64Array::from_iter_values(
                (0..rows).map(|i| mix(i) + i % 5),
            )),
        ),
        (
            "name",
            Arc::new(StringArray::from_iter_values(
                (0..rows).map(|i| format!("name {}", mix(i) % 9999)),
            )),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn location(store: &Arc<Store>) -> Location {
    Location::of_store(
        store.clone(),
        Path::from("t.staffa"),
        "test://bucket/t.staffa",
    )
}

/// A table in a store, in several row groups.
fn stored(rows: i64) -> (Arc<Store>, RecordBatch) {
    let (store, batch) = (Arc::new(Store::default()), table(rows));
    let options = WriteOptions::new().row_group_rows(20_000);
    let mut writer = ObjectWriter::new(&location(&store), batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    assert_eq!(writer.finish().unwrap().rows, rows as u64);
    (store, batch)
}

fn rows(batches: &[RecordBatch]) -> Vec<RecordBatch> {
    let one = |batch: &RecordBatch| {
        (0..batch.num_rows())
            .map(|i| batch.slice(i, 1))
            .collect::<Vec<_>>()
    };
    batches.iter().flat_map(one).collect()
}

#[test]
fn scans_and_rows_are_those_that_were_written() {
    let (store, batch) = stored(50_000);
    let source = Arc::new(ObjectSource::open(&location(&store)).unwrap());
    assert_eq!(store.take().len(), 1, "one request opens a file");
    let file = staffa::File::open_source(source.clone()).unwrap();
    assert!(store.take().is_empty());
    let found: Vec<RecordBatch> = file.scan().reader().unwrap().map(|b| b.unwrap()).collect();
    let all = |column: usize| {
        let columns = found
            .iter()
            .flat_map(|batch| rows(&[batch.project(&[column]).unwrap()]));
        columns.collect::<Vec<_>>()
    };
    for column in 0..batch.num_columns() {
        assert_eq!(all(column), rows(&[batch.project(&[column]).unwrap()]));
    }
    let asked = store.take();
    assert!(asked.len() <= 3, "{asked:?}");
    assert_eq!(source.counters().requests(), 1 + asked.len() as u64);
    assert!(source.counters().bytes() >= 64 << 10);
    let filter: staffa::Predicate = "row = 777 or row = 45000".parse().unwrap();
    let found = file
        .scan()
        .columns(["name", "row"])
        .filter(filter)
        .reader()
        .unwrap();
    let found: Vec<RecordBatch> = found.map(|b| b.unwrap()).collect();
    let expected = [777, 45_000].map(|row| batch.slice(row, 1).project(&[3, 0]).unwrap());
    assert_eq!(rows(&found), expected);
    assert_eq!(file.take(&[31_000]).read().unwrap(), batch.slice(31_000, 1));
    assert_eq!(file.verify(&mut |_| ()).unwrap().rows, 50_000);
    assert!(store.most_at_once.load(Ordering::SeqCst) <= 16);
}

#[test]
fn every_fault_is_one_clear_error_without_secrets() {
    let (store, batch) = stored(50_000);
    let read = || {
        let file = staffa_lake::open_with(&location(&store), Limits::default())?;
        let scan = file.scan().columns(["n"]);
        let mut all = scan.reader()?.collect::<staffa::Result<Vec<_>>>()?;
        all.push(file.take(&[40_000]).read()?);
        Ok(all)
    };
    let expected: staffa::Result<Vec<RecordBatch>> = read();
    let requests = store.take().len();
    assert!((3..8).contains(&requests), "{requests}");
    assert_eq!(
        expected
            .unwrap()
            .iter()
            .map(RecordBatch::num_rows)
            .sum::<usize>(),
        50_001
    );
    for fault in FAULTS {
        for request in 1..=requests {
            store.fail(request, fault);
            let error = read().unwrap_err().to_string();
            assert!(error.contains("test://bucket/t.staffa"), "{error}");
            assert!(!error.contains("SECRET"), "{error}");
            let says = match fault {
                Fault::ServerError => "500 Internal Server Error",
                Fault::Changed => "was changed while it was read",
                Fault::Denied => "permission denied",
                Fault::ShortBody | Fault::LongBody => "expected",
            };
            assert!(
                error.contains(says),
                "{fault:?} of request {request}: {error}"
            );
        }
    }
    *store.fault.lock().unwrap() = None;
    // The same file again, as nothing is kept of what failed.
    assert_eq!(read().unwrap().last(), Some(&batch.slice(40_000, 1)));
}

#[test]
fn an_object_that_is_replaced_under_an_open_file_is_an_error() {
    let (store, _) = stored(50_000);
    let file = staffa_lake::open_with(&location(&store), Limits::default()).unwrap();
    let other = table(60_000);
    let options = WriteOptions::new().overwrite(true);
    let mut writer = ObjectWriter::new(&location(&store), other.schema(), options).unwrap();
    writer.write(&other).unwrap();
    writer.finish().unwrap();
    let error = file
        .scan()
        .reader()
        .unwrap()
        .find_map(staffa::Result::err)
        .unwrap();
    assert!(
        error.to_string().contains("was changed while it was read"),
        "{error}"
    );
    let file = staffa_lake::open_with(&location(&store), Limits::default()).unwrap();
    assert_eq!(file.num_rows(), 60_000);
}

#[test]
fn objects_that_are_no_file_are_refused() {
    let store = Arc::new(Store::default());
    let put = |bytes: &'static [u8]| {
        let (store, bytes) = (
            store.clone(),
            PutPayload::from_bytes(Bytes::from_static(bytes)),
        );
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            store
                .memory
                .put(&Path::from("t.staffa"), bytes)
                .await
                .unwrap()
        });
    };
    let open = || {
        staffa_lake::open_with(&location(&store), Limits::default())
            .unwrap_err()
            .to_string()
    };
    assert!(open().contains("no such object"), "{}", open());
    for (bytes, says) in [
        (&b""[..], "not a Staffa file"),
        (b"PAR1 and so on", "not a Staffa file"),
        (b"STFA", "at least 24 bytes"),
    ] {
        put(bytes);
        assert!(open().contains(says), "{}", open());
        assert!(open().starts_with("test://bucket/t.staffa: "), "{}", open());
    }
}

#[test]
fn nothing_is_visible_of_a_file_that_was_not_finished() {
    let store = Arc::new(Store::default());
    let batch = table(400_000);
    let write = |store: &Arc<Store>, finish: bool, overwrite: bool| {
        let options = WriteOptions::new()
            .profile(staffa::Profile::Fast)
            .overwrite(overwrite);
        let mut writer = ObjectWriter::new(&location(store), batch.schema(), options)?;
        // Incompressible, and more than a part.
        for _ in 0..6 {
            writer.write(&batch)?;
        }
        if finish {
            writer.finish().map(|written| written.file_bytes)
        } else {
            Ok(0)
        }
    };
    write(&store, false, false).unwrap();
    let open = |store| staffa_lake::open_with(&location(store), Limits::default());
    assert!(
        open(&store)
            .unwrap_err()
            .to_string()
            .contains("no such object")
    );
    let bytes = write(&store, true, false).unwrap();
    assert!(bytes > 17 << 20, "{bytes} bytes are one part");
    assert_eq!(open(&store).unwrap().num_rows(), 2_400_000);
    let error = write(&store, true, false).unwrap_err().to_string();
    assert!(error.contains("t.staffa: the object exists"), "{error}");
    write(&store, true, true).unwrap();
    // Small ones are put at once.
    let small = |overwrite| {
        let options = WriteOptions::new().overwrite(overwrite);
        let batch = batch.slice(0, 10);
        let mut writer = ObjectWriter::new(&location(&store), batch.schema(), options)?;
        writer.write(&batch)?;
        writer.finish()
    };
    assert!(
        small(false)
            .unwrap_err()
            .to_string()
            .contains("the object exists")
    );
    small(true).unwrap();
    assert_eq!(open(&store).unwrap().num_rows(), 10);
    let full = Arc::new(Store {
        refuses_parts: true,
        ..Store::default()
    });
    let error = write(&full, true, false).unwrap_err().to_string();
    assert!(error.contains("t.staffa: disk full"), "{error}");
    assert!(open(&full).is_err());
}

#[test]
fn a_url_of_the_local_disk_is_a_file() {
    let folder = std::env::temp_dir().join(format!("staffa-lake-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let url = format!("file://{}/t.staffa", folder.display());
    let batch = table(1000);
    let location = Location::parse(&url).unwrap();
    let mut writer = ObjectWriter::new(&location, batch.schema(), WriteOptions::new()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let file = staffa_lake::open(&url).unwrap();
    assert_eq!(
        file.scan().reader().unwrap().next().unwrap().unwrap(),
        batch
    );
    for name in [
        "day=1/b.staffa",
        "day=2/a.staffa",
        "day=2/a.csv",
        "day=2/_x.staffa",
        ".h/a.staffa",
    ] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    let base = format!("file://{}", folder.display());
    let list = |rest: &str| {
        let found = staffa_lake::list(&format!("{base}/{rest}"), &|path| path.ends_with(".staffa"));
        let name =
            |object: staffa_lake::Object| object.location.name().replace(&format!("{base}/"), "");
        found.map(|found| found.into_iter().map(name).collect::<Vec<_>>())
    };
    assert_eq!(
        list("").unwrap(),
        ["day=1/b.staffa", "day=2/a.staffa", "t.staffa"]
    );
    assert_eq!(
        list("day=2/*").unwrap(),
        ["day=2/_x.staffa", "day=2/a.csv", "day=2/a.staffa"]
    );
    assert_eq!(
        list("**/[ab].staffa").unwrap(),
        ["day=1/b.staffa", "day=2/a.staffa"]
    );
    assert!(
        list("none/*")
            .unwrap_err()
            .to_string()
            .contains("no object matches")
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
