//! What a program meets first: options as a chain, any sink, Arrow's reader, rows by number.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, Int64Array, RecordBatch, RecordBatchReader, StringArray};
use arrow_schema::{ArrowError, SchemaRef};
use staffa::{Access, ArrowReader, Error, File, Literal, Profile, WriteOptions, Writer, col};

fn table() -> RecordBatch {
    let rows = 0..5_000_i64;
    let names = rows.clone().map(|row| format!("name {}", row % 7));
    RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from_iter_values(rows)) as _),
        ("name", Arc::new(StringArray::from_iter_values(names)) as _),
    ])
    .unwrap()
}

fn file() -> File {
    let table = table();
    let bytes = staffa::to_bytes(table.schema(), &[table], WriteOptions::new()).unwrap();
    File::from_bytes(bytes).unwrap()
}

#[test]
fn options_are_set_by_a_chain() {
    let cancel = staffa::Cancel::new();
    let chain = WriteOptions::new()
        .profile(Profile::Fast)
        .column_profile("name", Profile::Small)
        .access(Access::Random)
        .encoding("id", "delta")
        .max_error("x", 0.5)
        .without(["zstd", "pco"])
        .edition("core-1".parse::<staffa::Edition>().unwrap())
        .metadata("key", "value")
        .sort_order(["id desc".parse().unwrap()])
        .chunk_statistics(true)
        .row_group_rows(1000)
        .row_group_bytes(1 << 20)
        .block_rows(1024)
        .threads(2)
        .derived_columns(false)
        .verify(false)
        .overwrite(false)
        .cancel(cancel.clone());
    let mut fields = WriteOptions::default();
    fields.profile = Profile::Fast;
    fields.column_profiles = vec![("name".into(), Profile::Small)];
    fields.access = Access::Random;
    fields.encodings = vec![("id".into(), "delta".into())];
    fields.max_error = vec![("x".into(), 0.5)];
    fields.without = vec!["zstd".into(), "pco".into()];
    fields.edition = Some("core-1".parse().unwrap());
    fields.metadata.insert("key".into(), b"value".to_vec());
    fields.sort_order = vec!["id desc".parse().unwrap()];
    fields.chunk_statistics = true;
    (fields.row_group_rows, fields.row_group_bytes) = (1000, 1 << 20);
    fields.block_rows = 1024;
    fields.threads = Some(2);
    (fields.derived_columns, fields.verify, fields.overwrite) = (false, false, false);
    assert_eq!(format!("{chain:?}"), format!("{fields:?}"));
    cancel.cancel();
    assert!(chain.cancel.is_cancelled());
    assert_eq!(WriteOptions::new().threads(None).threads, None);
}

#[test]
fn every_sink_gets_the_same_bytes() {
    let table = table();
    let begin = |sink| {
        Writer::new(
            sink,
            table.schema(),
            WriteOptions::new().row_group_rows(999),
        )
    };
    let mut writer = begin(Vec::new()).unwrap();
    writer.write(&table).unwrap();
    let bytes = writer.into_inner().unwrap();

    let mut borrowed = Vec::new();
    let options = WriteOptions::new().row_group_rows(999);
    let mut writer = Writer::new(&mut borrowed, table.schema(), options.clone()).unwrap();
    writer.write(&table).unwrap();
    let summary = writer.finish().unwrap();
    assert_eq!(summary.file_bytes, bytes.len() as u64);
    assert_eq!((summary.rows, summary.row_groups), (5_000, 6));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.staffa");
    let mut writer = Writer::create(&path, table.schema(), options.clone()).unwrap();
    writer.write(&table).unwrap();
    assert!(!path.exists());
    writer.finish().unwrap();
    let whole = staffa::to_bytes(table.schema(), std::slice::from_ref(&table), options).unwrap();
    assert!(bytes == whole && borrowed == whole && std::fs::read(path).unwrap() == whole);
}

/// A sink with room for some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let written = bytes.len().min(self.0);
        self.0 -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_error_of_a_sink_is_returned() {
    let table = table();
    for room in [0, 10, 300] {
        let mut writer = Writer::new(Full(room), table.schema(), WriteOptions::new()).unwrap();
        let written = writer.write(&table).and_then(|()| writer.finish());
        match written {
            Err(Error::Io { path: None, source }) => {
                assert_eq!(source.kind(), io::ErrorKind::StorageFull);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_start_of_a_file_is_no_file() {
    let table = table();
    let mut start = Vec::new();
    let options = WriteOptions::new().row_group_rows(1000);
    let mut writer = Writer::new(&mut start, table.schema(), options).unwrap();
    writer.write(&table).unwrap();
    drop(writer);
    assert!(!start.is_empty());
    assert!(File::from_bytes(start).is_err());
}

fn all(reader: impl RecordBatchReader) -> Result<(SchemaRef, Vec<RecordBatch>), ArrowError> {
    Ok((reader.schema(), reader.collect::<Result<_, _>>()?))
}

#[test]
fn a_scan_is_a_record_batch_reader() {
    let scan = file()
        .scan()
        .columns(["id"])
        .filter(col("id").lt(2000))
        .batch_rows(300);
    let (schema, batches) = all(scan.clone().into_reader().unwrap()).unwrap();
    assert_eq!(schema.fields().len(), 1);
    assert!(
        batches
            .iter()
            .all(|batch| batch.schema() == schema && batch.num_rows() <= 300)
    );
    assert_eq!(
        batches.iter().map(RecordBatch::num_rows).sum::<usize>(),
        2000
    );
    let (_, same) = all(ArrowReader::from(scan.reader().unwrap())).unwrap();
    assert_eq!(same, batches);
}

#[test]
fn errors_come_through_arrows_reader_as_they_are() {
    let table = table();
    let mut bytes = staffa::to_bytes(table.schema(), &[table], WriteOptions::new()).unwrap();
    bytes[40] ^= 1;
    let read = || all(File::from_bytes(bytes.clone())?.scan().into_reader()?).map_err(Error::from);
    assert!(matches!(read(), Err(Error::Corrupt { .. })), "{:?}", read());
}

#[test]
fn rows_are_taken_by_list_range_and_mask() {
    let file = file();
    let ids = |batch: RecordBatch| {
        batch
            .column(0)
            .as_primitive::<Int64Type>()
            .values()
            .to_vec()
    };
    assert_eq!(ids(file.take(&[7, 3, 7]).read().unwrap()), [7, 3, 7]);
    assert_eq!(
        ids(file.take(&vec![4_999]).columns(["id"]).read().unwrap()),
        [4_999]
    );
    assert_eq!(ids(file.take(10..12).read().unwrap()), [10, 11]);
    let mask: BooleanArray = (0..5_000).map(|row| Some(row == 9)).collect();
    assert_eq!(ids(file.take(&mask).read().unwrap()), [9]);
    let named = file
        .take(&[0])
        .columns(["name", "id"])
        .string_views(true)
        .read()
        .unwrap();
    assert_eq!(named.column(0).as_string_view().value(0), "name 0");
    let error = file
        .take(&[0])
        .columns(["nam"])
        .read()
        .unwrap_err()
        .to_string();
    assert!(error.contains("\"nam\""), "{error}");
    let error = file.take(&[5_000]).read().unwrap_err().to_string();
    assert!(error.contains("5000"), "{error}");
}

#[test]
fn built_filters_keep_the_rows_of_the_text() {
    let file = file();
    let count = |filter: staffa::Predicate| {
        let reader = file.scan().filter(filter).reader().unwrap();
        reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>()
    };
    let built = col("id")
        .between(100, 199)
        .and(col("name").eq("name 3").not());
    assert_eq!(
        count(built),
        count(
            "id between 100 and 199 and name <> 'name 3'"
                .parse()
                .unwrap()
        )
    );
    assert_eq!(count(col("id").is_in([1_u64, 2, 9_999])), 2);
    assert_eq!(count(!col("name").starts_with("name")), 0);
    assert_eq!(count(col("id").eq(None::<i64>)), 0);
    assert_eq!(Literal::from(3_u8), Literal::Int(3));
}
