//! Writing: whole files or none, refusals before the first byte, encodings by name, small tables,
//! the same bytes again.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array,
    DictionaryArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    ListArray, NullArray, RecordBatch, StringArray, UInt64Array, make_array,
};
use arrow_buffer::{OffsetBuffer, i256};
use arrow_schema::{DataType, Field, Schema, UnionFields, UnionMode};
use common::{
    Random, array, column, field, flat_types, nested_types, read, rows, sized, table, write,
};
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
    let mut dropped = writer(&path, sized(10, 10)).unwrap();
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
    let mut good = writer(&path, sized(300, 100)).unwrap();
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

fn without(name: &str) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.without.push(name.to_owned());
    options
}

#[test]
fn what_cannot_be_written_is_refused_before_a_byte_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    let int = |name: &str| Field::new(name, DataType::Int64, true);
    let union = DataType::Union(UnionFields::empty(), UnionMode::Dense);
    let structs = DataType::Struct(
        vec![
            Field::new("x", DataType::Utf8, true),
            Field::new("y", union.clone(), true),
        ]
        .into(),
    );
    let cases: Vec<(Vec<Field>, WriteOptions, &str)> = vec![
        (
            vec![int("n"), int("m"), int("n")],
            WriteOptions::default(),
            "two columns are called \"n\"",
        ),
        (
            vec![int("n"), Field::new("u", union, true)],
            WriteOptions::default(),
            "column \"u\": Union",
        ),
        (
            vec![Field::new("s", structs, true)],
            WriteOptions::default(),
            "column \"s.y\": Union",
        ),
        (
            vec![int("n"), int("m")],
            with_encoding("x", "plain"),
            "no column is called \"x\"; there are n, m",
        ),
        (
            vec![int("n")],
            with_encoding("n", "zip"),
            "no encoding is called \"zip\"; there are plain, ",
        ),
        (
            vec![int("n")],
            with_encoding("n", "fsst"),
            "encoding fsst cannot hold column \"n\"; these can: plain, ",
        ),
        (
            vec![int("n")],
            without("zip"),
            "no encoding is called \"zip\"; there are plain, ",
        ),
        (vec![int("n")], without("plain"), "plain cannot be left out"),
        (vec![int("n")], sized(0, 10), "row groups of 1 row or more"),
        (
            vec![int("n")],
            sized(10, 0),
            "blocks of 1 to 1048576 values",
        ),
        (
            vec![int("n")],
            sized(10, 1 << 21),
            "blocks of 1 to 1048576 values",
        ),
    ];
    for (fields, options, expected) in cases {
        let schema = Arc::new(Schema::new(fields));
        let message = Writer::create(&path, schema.clone(), options.clone())
            .unwrap_err()
            .to_string();
        assert!(
            message.contains(expected),
            "{expected:?} expected in {message:?}"
        );
        assert_eq!(
            staffa::to_bytes(schema, &[], options)
                .unwrap_err()
                .to_string(),
            message
        );
        assert_eq!(names(folder.path()), [""; 0], "{expected}");
    }
    // A part of a nested column goes by its path.
    let list = DataType::List(field("item", DataType::Utf8));
    let schema = Arc::new(Schema::new(vec![Field::new("l", list, true)]));
    assert!(staffa::to_bytes(schema.clone(), &[], with_encoding("l[]", "fsst")).is_ok());
    let message = staffa::to_bytes(schema, &[], with_encoding("l[", "fsst"))
        .unwrap_err()
        .to_string();
    assert!(message.contains("\"l[\""), "{message}");
}

#[test]
fn the_first_value_that_an_encoding_cannot_hold_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    let few = |i: i32| if i % 3 == 0 { None } else { Some(7) };
    let days = |first: usize| (0..400).map(move |i| Some(if i < first { 19_000 } else { 19_001 }));
    let nulls = |i: i32| if i < 20 { few(i) } else { Some(i) };
    let letters = |i: u32| vec![b'a' + (i % 26) as u8; 3];
    let bytes = |i: u32| {
        if i < 350 {
            letters(i)
        } else {
            (i * 30..i * 30 + 30).map(|byte| byte as u8).collect()
        }
    };
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Float64Type, _, _>(
        (0..400).map(|i| {
            Some(vec![
                Some(0.5),
                (i != 310).then_some(0.5),
                Some(if i < 320 { 0.5 } else { -1.25 }),
            ])
        }),
    );
    let cases: Vec<(&str, &str, ArrayRef, &str)> = vec![
        (
            "a",
            "constant",
            Arc::new(Date32Array::from_iter(days(333))),
            "constant cannot hold row 333, value 2022-01-09: it holds a block of values that are all alike",
        ),
        // Blocks that differ from one another are held.
        (
            "a",
            "constant",
            Arc::new(Date32Array::from_iter(days(300))),
            "",
        ),
        (
            "a",
            "constant",
            Arc::new(Int32Array::from_iter((0..400).map(nulls))),
            "cannot hold row 20, value 20: it holds",
        ),
        (
            "a",
            "constant",
            Arc::new(BooleanArray::from_iter((0..400).map(|i| Some(i == 7)))),
            "cannot hold row 7, value true",
        ),
        (
            "a[]",
            "constant",
            Arc::new(lists),
            "value -1.25, number 62 in the row group that begins at row 300: it holds",
        ),
        (
            "a",
            "alphabet",
            Arc::new(BinaryArray::from_iter(
                (0..400).map(|i| (i % 7 > 0).then(|| bytes(i))),
            )),
            "cannot hold row 355, value [9a, 9b, 9c, 9d, ",
        ),
        (
            "a",
            "text",
            Arc::new(StringArray::from_iter_values((0..400).map(|i| {
                (1..20)
                    .map(|f| format!("{};", i * f * f % 9973))
                    .collect::<String>()
            }))),
            "",
        ),
    ];
    for (leaf, encoding, column, expected) in cases {
        let batch = table(vec![column]);
        let mut options = with_encoding(leaf, encoding);
        (options.row_group_rows, options.block_rows) = (300, 100);
        let mut writer = Writer::create(&path, batch.schema(), options).unwrap();
        let result = writer.write(&batch).and_then(|()| writer.finish());
        if expected.is_empty() {
            assert_eq!(result.unwrap().rows, 400);
            assert_eq!(
                common::column(&read(File::open(&path).unwrap().scan()), 0),
                rows(batch.column(0))
            );
            fs::remove_file(&path).unwrap();
            continue;
        }
        let error = result.unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
        let message = error.to_string();
        assert!(
            message.starts_with(&format!("column {leaf:?}: {encoding} cannot hold ")),
            "{message}"
        );
        assert!(
            message.contains(expected),
            "{expected:?} expected in {message:?}"
        );
        assert_eq!(names(folder.path()), [""; 0], "{message}");
    }
}

#[test]
fn batches_of_another_schema_are_refused_by_the_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    let first = table(vec![
        Arc::new(Int64Array::from(vec![1])),
        Arc::new(StringArray::from(vec!["x"])),
    ]);
    let mut writer = Writer::create(&path, first.schema(), WriteOptions::default()).unwrap();
    writer.write(&first).unwrap();
    let other = table(vec![
        Arc::new(Int64Array::from(vec![1])),
        Arc::new(Int32Array::from(vec![1])),
    ]);
    let renamed = RecordBatch::try_from_iter([
        ("a", first.column(0).clone()),
        ("c", first.column(1).clone()),
    ])
    .unwrap();
    for (batch, expected) in [
        (
            numbers(0..1),
            "batches of 2 columns expected, found one of 1",
        ),
        (
            other,
            "column \"b\" of type Utf8 expected, found \"b\" of type Int32",
        ),
        (
            renamed,
            "column \"b\" of type Utf8 expected, found \"c\" of type Utf8",
        ),
    ] {
        assert_eq!(writer.write(&batch).unwrap_err().to_string(), expected);
    }
    // What was refused left no trace.
    writer.write(&first).unwrap();
    assert_eq!(writer.finish().unwrap().rows, 2);
    assert_eq!(
        column(&read(File::open(&path).unwrap().scan()), 1),
        ["\"x\"", "\"x\""]
    );
}

#[test]
fn nulls_where_none_may_be_are_refused_by_the_column() {
    // Arrow looks for NULLs in a list's items less closely where they are in a dictionary.
    let values = Arc::new(StringArray::from(vec![Some("x"), None]));
    let items: ArrayRef =
        Arc::new(DictionaryArray::try_new(Int8Array::from(vec![0, 1]), values).unwrap());
    let item = |nullable| Arc::new(Field::new("item", items.data_type().clone(), nullable));
    let lists = ListArray::try_new(
        item(true),
        OffsetBuffer::from_lengths([1, 1]),
        items.clone(),
        None,
    )
    .unwrap();
    let lists = make_array(
        lists
            .to_data()
            .into_builder()
            .data_type(DataType::List(item(false)))
            .build()
            .unwrap(),
    );
    let batch = table(vec![lists]);
    let message = staffa::to_bytes(batch.schema(), &[batch], WriteOptions::default())
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "column \"a[]\" is not nullable, but row 1 of it is NULL"
    );
}

/// Columns that suit one encoding or another, some with NULLs.
fn samples() -> Vec<(&'static str, ArrayRef)> {
    const ROWS: i64 = 3000;
    let mut random = Random(9);
    let mut noise: Vec<i64> = (0..ROWS).map(|_| random.below(1000) as i64).collect();
    noise[77] = i64::MAX;
    let runs = || (0..ROWS).map(|i| i / 50 % 7 - 3);
    let some = |i: usize| !i.is_multiple_of(5);
    let text = |i: i64| format!("https://www.example.org/{}/{}", i % 90, i * i % 13);
    vec![
        (
            "constant",
            Arc::new(Int64Array::from_value(42, ROWS as usize)),
        ),
        (
            "runs",
            Arc::new(Int16Array::from_iter_values(runs().map(|v| v as i16))),
        ),
        (
            "rising",
            Arc::new(UInt64Array::from_iter_values(
                (0..ROWS as u64).map(|i| (1 << 40) + i * 17),
            )),
        ),
        (
            "noise",
            Arc::new(Int64Array::from_iter(
                noise.iter().enumerate().map(|(i, v)| some(i).then_some(*v)),
            )),
        ),
        (
            "bytes",
            Arc::new(Int8Array::from_iter_values(runs().map(|v| v as i8))),
        ),
        (
            "mostly",
            Arc::new(Int32Array::from_iter_values(
                (0..ROWS as i32).map(|i| if i % 11 == 0 { i * 99_999 } else { 5 }),
            )),
        ),
        (
            "prices",
            Arc::new(Float64Array::from_iter_values(
                (0..ROWS).map(|i| (i * 7919 % 10_007) as f64 / 100.0),
            )),
        ),
        (
            "ratios",
            Arc::new(Float64Array::from_iter_values(
                (1..=ROWS).map(|i| 1.0 / i as f64),
            )),
        ),
        (
            "singles",
            Arc::new(Float32Array::from_iter_values(
                (0..ROWS).map(|i| (i % 1009) as f32 / 8.0),
            )),
        ),
        (
            "decimals",
            Arc::new(Decimal128Array::from_iter_values(
                (0..ROWS).map(|i| i128::from(i) * 1001),
            )),
        ),
        (
            "wide",
            Arc::new(Decimal256Array::from_iter_values(
                (0..ROWS).map(|i| i256::from_i128(i128::from(i) - 500)),
            )),
        ),
        (
            "urls",
            Arc::new(StringArray::from_iter(
                (0..ROWS).map(|i| some(i as usize).then(|| text(i))),
            )),
        ),
        (
            "words",
            Arc::new(StringArray::from_iter_values(
                (0..ROWS).map(|i| ["cat", "dog", "eel"][(i / 9 % 3) as usize]),
            )),
        ),
        (
            "flags",
            Arc::new(BooleanArray::from_iter(
                (0..ROWS).map(|i| Some(i % 97 == 0)),
            )),
        ),
        (
            "halves",
            Arc::new(BooleanArray::from_iter(
                (0..ROWS).map(|i| Some(i < ROWS / 2)),
            )),
        ),
    ]
}

#[test]
fn every_encoding_asked_for_is_the_one_that_is_used() {
    for encoding in staffa::encodings() {
        let mut held = Vec::new();
        for (name, sample) in samples() {
            let batch = RecordBatch::try_from_iter([(name, sample)]).unwrap();
            let mut options = with_encoding(name, encoding.name);
            (options.block_rows, options.row_group_rows) = (1024, 2048);
            let bytes =
                match staffa::to_bytes(batch.schema(), std::slice::from_ref(&batch), options) {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        let message = error.to_string();
                        assert!(
                            matches!(error, Error::InvalidArgument(_)),
                            "{} on {name}: {message}",
                            encoding.name
                        );
                        assert!(
                            message.contains(name) && message.contains(encoding.name),
                            "{message}"
                        );
                        continue;
                    }
                };
            let file = File::from_bytes(bytes).unwrap();
            assert_eq!(
                column(&read(file.scan()), 0),
                rows(batch.column(0)),
                "{} on {name}",
                encoding.name
            );
            assert_eq!(
                rows(file.take(&[2999, 5, 1024], None, false).unwrap().column(0)),
                [2999, 5, 1024].map(|row| common::show(batch.column(0).as_ref(), row)),
                "{} on {name}",
                encoding.name
            );
            let explained = file.explain().unwrap();
            let used = explained[0]
                .blocks
                .iter()
                .map(|block| block.values.as_ref().unwrap().encoding.as_str());
            assert!(
                used.clone().all(|used| used == encoding.name),
                "{} on {name}: {:?}",
                encoding.name,
                used.collect::<Vec<_>>()
            );
            held.push(name);
        }
        assert_eq!(
            held.is_empty(),
            !encoding.by_name,
            "{} holds none of the samples",
            encoding.name
        );
    }
}

/// Of every node the encoding.
fn names_of(tree: &staffa::EncodingTree, names: &mut Vec<String>) {
    names.push(tree.encoding.clone());
    tree.children
        .iter()
        .for_each(|child| names_of(child, names));
}

#[test]
fn what_is_left_out_stands_nowhere_in_a_tree() {
    let batch = RecordBatch::try_from_iter_with_nullable(
        samples().into_iter().map(|(name, a)| (name, a, true)),
    );
    // A second of each, for derived columns.
    let twice = samples().into_iter().flat_map(|(name, array)| {
        [
            (name.to_owned(), array.clone()),
            (format!("{name}2"), array),
        ]
    });
    let twice =
        RecordBatch::try_from_iter_with_nullable(twice.map(|(name, array)| (name, array, true)))
            .unwrap();
    for encoding in staffa::encodings()
        .iter()
        .map(|e| e.name)
        .filter(|name| !["plain", "bitmap"].contains(name))
    {
        for batch in [batch.as_ref().unwrap(), &twice] {
            let mut options = sized(2048, 1024);
            options.without.push(encoding.to_owned());
            let file = File::from_bytes(
                staffa::to_bytes(batch.schema(), std::slice::from_ref(batch), options).unwrap(),
            );
            let file = file.unwrap();
            let mut used = Vec::new();
            for column in file.explain().unwrap() {
                column
                    .shared
                    .iter()
                    .for_each(|part| names_of(&part.tree, &mut used));
                let trees = column
                    .blocks
                    .iter()
                    .flat_map(|block| block.validity.iter().chain(&block.values));
                trees.for_each(|tree| names_of(tree, &mut used));
            }
            assert!(!used.iter().any(|name| name == encoding), "{encoding}");
            let read = read(file.scan());
            for (i, array) in batch.columns().iter().enumerate() {
                assert_eq!(column(&read, i), rows(array), "{encoding}");
            }
        }
    }
    // By name a column still has it.
    let mut options = with_encoding("runs", "run_end");
    options.without.push("run_end".to_owned());
    let batch = batch.unwrap();
    let file =
        File::from_bytes(staffa::to_bytes(batch.schema(), &[batch], options).unwrap()).unwrap();
    let explained = file
        .explain()
        .unwrap()
        .into_iter()
        .find(|column| column.path == "runs")
        .unwrap();
    assert_eq!(
        explained.blocks[0].values.as_ref().unwrap().encoding,
        "run_end"
    );
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
    for (batches, group, block) in [(mixed(), 300, 100), (samples, 2500, 512)] {
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
        file.byte_len() as usize,
        write(&[numbers(0..900)], WriteOptions::default()).byte_len() as usize
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
fn without_verification_the_bytes_are_the_same() {
    let mut options = sized(300, 100);
    options.verify = false;
    let batches = mixed();
    let bytes = staffa::to_bytes(batches[0].schema(), &batches, options).unwrap();
    assert!(bytes == staffa::to_bytes(batches[0].schema(), &batches, sized(300, 100)).unwrap());
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

#[test]
fn blocks_of_one_letter_share_their_only_token() {
    let letters = || {
        Arc::new(StringArray::from_iter_values(
            (0..12).map(|i| "a".repeat(i % 3)),
        )) as ArrayRef
    };
    let mut options = sized(12, 4);
    options.encodings = vec![("a".into(), "onpair".into())];
    let batch = table(vec![letters()]);
    let file = write(std::slice::from_ref(&batch), options);
    assert_eq!(column(&read(file.scan()), 0), rows(batch.column(0)));
}
