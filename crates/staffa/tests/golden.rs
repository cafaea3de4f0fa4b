//! Files of an earlier day are read as on that day: `testdata/golden/v1`.
//!
//! The tables are made here, compared with what the files hold, and written again to the same
//! bytes. `cargo test -p staffa --test golden -- --ignored` writes the files anew, for a change of
//! the format or of the writer's choices: see `testdata/golden/README.md`.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Fields, Schema};
use common::{
    Random, array, column, dictionary_of, encodings, field, flat_types, map_of, read, rows,
    runs_of, sized,
};
use staffa::{File, WriteOptions};

fn folder() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/golden/v1"
    ))
}

fn named(columns: Vec<(String, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

/// Of each type a column, called as the type is.
fn of_types(types: &[DataType], rows: usize, seed: u64) -> RecordBatch {
    let mut random = Random(seed);
    named(
        types
            .iter()
            .map(|ty| (ty.to_string(), array(ty, true, rows, &mut random)))
            .collect(),
    )
}

/// One table for each family of types.
fn tables() -> Vec<(&'static str, RecordBatch, WriteOptions)> {
    use DataType as D;
    let is_text = |ty: &D| {
        matches!(ty, D::Utf8 | D::LargeUtf8 | D::Utf8View)
            || ty.is_binary()
            || matches!(ty, D::FixedSizeBinary(_))
    };
    let (texts, words): (Vec<D>, Vec<D>) = flat_types().into_iter().partition(is_text);
    let lists = [
        D::List(field("item", D::Utf8)),
        D::LargeList(field("item", D::Int32)),
        D::ListView(field("item", D::Boolean)),
        D::LargeListView(field("item", D::Utf8)),
        D::FixedSizeList(field("item", D::Float32), 3),
        D::List(field("item", D::List(field("item", D::Int8)))),
    ];
    let structs = [
        D::Struct(
            vec![
                field("x", D::Int64),
                field("y", D::Struct(vec![field("z", D::Utf8)].into())),
            ]
            .into(),
        ),
        D::Struct(Fields::empty()),
        map_of(D::Utf8, D::Int32, false),
        map_of(D::Int8, D::List(field("item", D::Utf8)), true),
    ];
    let coded = [
        dictionary_of(D::Int8, D::Utf8),
        dictionary_of(D::UInt64, D::Decimal128(20, 2)),
        dictionary_of(D::UInt16, D::List(field("item", D::Int8))),
        runs_of(D::Int16, D::Utf8),
        runs_of(D::Int32, D::Float64),
        runs_of(D::Int64, dictionary_of(D::Int8, D::Utf8)),
    ];
    let metadata = HashMap::from([("made by".to_owned(), "golden.rs".to_owned())]);
    let strict = Field::new("n", D::Int32, false).with_metadata(metadata.clone());
    let schema = Schema::new_with_metadata(vec![strict], metadata);
    let (values, requested) = encodings();
    let options = RecordBatchOptions::new().with_row_count(Some(7));
    vec![
        ("words", of_types(&words, 25, 1), sized(25, 16)),
        ("texts", of_types(&texts, 40, 2), sized(30, 16)),
        ("lists", of_types(&lists, 40, 3), sized(30, 16)),
        ("structs", of_types(&structs, 40, 4), sized(30, 16)),
        ("coded", of_types(&coded, 40, 5), sized(30, 16)),
        ("encodings", values, requested),
        (
            "no_rows",
            RecordBatch::new_empty(Arc::new(schema)),
            WriteOptions::default(),
        ),
        (
            "no_columns",
            RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap(),
            WriteOptions::default(),
        ),
    ]
}

#[test]
fn files_are_read_as_ever() {
    let mut bytes = 0;
    for (name, expected, _) in tables() {
        let path = folder().join(format!("{name}.staffa"));
        let file = File::open(&path).unwrap();
        bytes += file.nbytes();
        assert_eq!(file.schema(), &expected.schema(), "{name}");
        assert_eq!(file.num_rows(), expected.num_rows() as u64, "{name}");
        let found = read(file.scan());
        for (i, field) in file.schema().fields().iter().enumerate() {
            assert_eq!(
                column(&found, i),
                rows(expected.column(i)),
                "{name}: {field}"
            );
        }
        file.verify(&mut |_| {}).unwrap();
    }
    assert!(bytes < 45_000, "the golden files have {bytes} bytes");
    let found = fs::read_dir(folder()).unwrap().count();
    assert_eq!(
        found,
        tables().len(),
        "files in {} that nothing is known of",
        folder().display()
    );
}

#[test]
fn a_column_has_the_encoding_that_it_is_called_by() {
    let columns = File::open(folder().join("encodings.staffa"))
        .unwrap()
        .explain()
        .unwrap();
    for column in columns {
        let tree = column.blocks[0].values.as_ref().unwrap().to_string();
        assert!(tree.contains(&column.path), "{}: {tree}", column.path);
    }
}

/// Every table and the bytes that the writer makes of it.
fn written() -> impl Iterator<Item = (PathBuf, Vec<u8>)> {
    tables().into_iter().map(|(name, batch, options)| {
        let bytes = staffa::to_bytes(batch.schema(), &[batch], options).unwrap();
        (folder().join(format!("{name}.staffa")), bytes)
    })
}

/// A change of the writer that is meant to change no byte is held to it here; one that is meant to
/// renews the files.
#[test]
fn files_are_written_again_byte_for_byte() {
    for (path, bytes) in written() {
        let golden = fs::read(&path).unwrap();
        let first = golden.iter().zip(&bytes).position(|(a, b)| a != b);
        assert!(
            golden == bytes,
            "{}: {} bytes, now {}; the first difference is at {first:?}",
            path.display(),
            golden.len(),
            bytes.len()
        );
    }
}

#[test]
#[ignore = "writes testdata/golden/v1: only when the format or the writer changes"]
fn regenerate() {
    let _ = fs::remove_dir_all(folder());
    fs::create_dir_all(folder()).unwrap();
    for (path, bytes) in written() {
        fs::write(path, bytes).unwrap();
    }
}

/// The bytes that FORMAT.md walks through are those of the writer.
#[test]
fn the_example_of_the_format_is_written_as_it_says() {
    let text = include_str!("../../../FORMAT.md");
    let example = |heading: &str| -> Vec<u8> {
        let (_, text) = text.split_once(heading).unwrap();
        let dump = text.split("```").nth(1).unwrap().trim_matches('\n');
        let line = |line: &str| -> Vec<u8> {
            let bytes = line[6..54].split_whitespace();
            bytes
                .map(|byte| u8::from_str_radix(byte, 16).unwrap())
                .collect()
        };
        dump.lines().flat_map(line).collect()
    };
    let numbers = Arc::new(Int32Array::from(vec![Some(7), Some(8), None])) as ArrayRef;
    let batch = named(vec![("n".to_owned(), numbers)]);
    let options = WriteOptions::default();
    let bytes = staffa::to_bytes(batch.schema(), &[batch], options.clone()).unwrap();
    assert_eq!(bytes, example("### A tiny file"));
    let none = staffa::to_bytes(Arc::new(Schema::empty()), &[], options).unwrap();
    assert_eq!(none, example("A table of no columns and no rows"));
}
