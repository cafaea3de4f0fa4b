//! Options, values and batches that cannot be written: refused by name, and no file is left.

use super::*;

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
        (vec![int("n")], sized(0, 16), "row groups of 1 row or more"),
        (
            vec![int("n")],
            sized(10, 0),
            "blocks of a power of two up to 65536 values",
        ),
        (
            vec![int("n")],
            sized(10, 1 << 21),
            "blocks of a power of two up to 65536 values",
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
        (options.row_group_rows, options.block_rows) = (300, 128);
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
