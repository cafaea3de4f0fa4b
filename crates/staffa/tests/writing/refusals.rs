//! Options, values and batches that cannot be written: refused by name, and no file is left.

use arrow_array::types::Float64Type;

use super::*;

fn without(name: &str) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.without.push(name.to_owned());
    options
}

/// No writer starts with these columns and options, and no file is left.
#[track_caller]
fn refused(fields: Vec<Field>, options: WriteOptions, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    let schema = Arc::new(Schema::new(fields));
    let created = Writer::create(&path, schema.clone(), options.clone());
    let message = created.unwrap_err().to_string();
    assert!(
        message.contains(expected),
        "{expected:?} expected in {message:?}"
    );
    let in_memory = staffa::to_bytes(schema, &[], options).unwrap_err();
    assert_eq!(in_memory.to_string(), message);
    assert_eq!(names(folder.path()), [""; 0], "{expected}");
}

fn int(name: &str) -> Field {
    Field::new(name, DataType::Int64, true)
}

#[test]
fn columns_that_cannot_be_written_are_refused_before_a_byte_is() {
    let union = DataType::Union(UnionFields::empty(), UnionMode::Dense);
    let fields = vec![
        Field::new("x", DataType::Utf8, true),
        Field::new("y", union.clone(), true),
    ];
    let structs = DataType::Struct(fields.into());
    for (fields, expected) in [
        (
            vec![int("n"), int("m"), int("n")],
            "two columns are called \"n\"",
        ),
        (
            vec![int("n"), Field::new("u", union, true)],
            "column \"u\": Union",
        ),
        (
            vec![Field::new("s", structs, true)],
            "column \"s.y\": Union",
        ),
    ] {
        refused(fields, WriteOptions::default(), expected);
    }
}

#[test]
fn options_that_cannot_be_kept_are_refused_before_a_byte_is() {
    let blocks = "blocks of a power of two up to 65536 values";
    for (options, expected) in [
        (
            with_encoding("x", "plain"),
            "no column is called \"x\"; there are n, m",
        ),
        (
            with_encoding("n", "zip"),
            "no encoding is called \"zip\"; there are plain, ",
        ),
        (
            with_encoding("n", "fsst"),
            "encoding fsst cannot hold column \"n\"; these can: plain, ",
        ),
        (
            without("zip"),
            "no encoding is called \"zip\"; there are plain, ",
        ),
        (without("plain"), "plain cannot be left out"),
        (sized(0, 16), "row groups of 1 row or more"),
        (sized(10, 0), blocks),
        (sized(10, 1 << 21), blocks),
    ] {
        refused(vec![int("n"), int("m")], options, expected);
    }
    // A part of a nested column goes by its path.
    let list = DataType::List(field("item", DataType::Utf8));
    let schema = Arc::new(Schema::new(vec![Field::new("l", list, true)]));
    assert!(staffa::to_bytes(schema.clone(), &[], with_encoding("l[]", "fsst")).is_ok());
    let error = staffa::to_bytes(schema, &[], with_encoding("l[", "fsst")).unwrap_err();
    assert!(error.to_string().contains("\"l[\""), "{error}");
}

/// Writes 400 rows in row groups of 300 and blocks of 128, an encoding by name.
fn written(path: &Path, leaf: &str, encoding: &str, column: ArrayRef) -> staffa::Result<u64> {
    let batch = table(vec![column]);
    let mut options = with_encoding(leaf, encoding);
    (options.row_group_rows, options.block_rows) = (300, 128);
    let mut writer = Writer::create(path, batch.schema(), options)?;
    writer.write(&batch)?;
    let rows_written = writer.finish()?.rows;
    let found = read(File::open(path)?.scan());
    assert_eq!(common::column(&found, 0), rows(batch.column(0)));
    Ok(rows_written)
}

fn days(first: usize) -> ArrayRef {
    let days = (0..400).map(|i| Some(if i < first { 19_000 } else { 19_001 }));
    Arc::new(Date32Array::from_iter(days))
}

#[test]
fn values_that_an_encoding_holds_block_by_block_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let text = |i: i32| -> String { (1..20).map(|f| format!("{};", i * f * f % 9973)).collect() };
    let texts = StringArray::from_iter_values((0..400).map(text));
    // Blocks that differ from one another are held.
    let cases: [(&str, ArrayRef); 2] = [("constant", days(300)), ("text", Arc::new(texts))];
    for (encoding, column) in cases {
        let path = folder.path().join(encoding);
        assert_eq!(written(&path, "a", encoding, column).unwrap(), 400);
    }
}

#[test]
fn the_first_value_that_an_encoding_cannot_hold_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    let nulls = |i: i32| match i {
        0..20 => (i % 3 != 0).then_some(7),
        _ => Some(i),
    };
    let bytes = |i: u32| match i {
        0..350 => vec![b'a' + (i % 26) as u8; 3],
        _ => (i * 30..i * 30 + 30).map(|byte| byte as u8).collect(),
    };
    let items = |i: i32| {
        let last = if i < 320 { 0.5 } else { -1.25 };
        Some(vec![Some(0.5), (i != 310).then_some(0.5), Some(last)])
    };
    let lists = ListArray::from_iter_primitive::<Float64Type, _, _>((0..400).map(items));
    let bytes = (0..400).map(|i| (i % 7 > 0).then(|| bytes(i)));
    let bits = BooleanArray::from_iter((0..400).map(|i| Some(i == 7)));
    let cases: [(&str, &str, ArrayRef, &str); 5] = [
        (
            "a",
            "constant",
            days(333),
            "constant cannot hold row 333, value 2022-01-09: it holds a block of values that are all alike",
        ),
        (
            "a",
            "constant",
            Arc::new(Int32Array::from_iter((0..400).map(nulls))),
            "cannot hold row 20, value 20: it holds",
        ),
        ("a", "constant", Arc::new(bits), "row 7, value true"),
        (
            "a[]",
            "constant",
            Arc::new(lists),
            "value -1.25, number 62 in the row group that begins at row 300: it holds",
        ),
        (
            "a",
            "alphabet",
            Arc::new(BinaryArray::from_iter(bytes)),
            "cannot hold row 355, value [9a, 9b, 9c, 9d, ",
        ),
    ];
    for (leaf, encoding, column, expected) in cases {
        let error = written(&path, leaf, encoding, column).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
        let message = error.to_string();
        let start = format!("column {leaf:?}: {encoding} cannot hold ");
        assert!(
            message.starts_with(&start) && message.contains(expected),
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

#[test]
fn a_null_in_a_column_declared_without_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    let schema = Schema::new(vec![Field::new("n", DataType::Int64, false)]);
    let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let batch = RecordBatch::try_from_iter_with_nullable([("n", column, true)]).unwrap();
    let mut writer = Writer::create(&path, Arc::new(schema), WriteOptions::default()).unwrap();
    let error = writer.write(&batch).unwrap_err();
    assert!(matches!(error, Error::InvalidValue(_)), "{error:?}");
    let expected =
        "column \"n\": its schema declares it without NULLs, found one in row 1 of a batch";
    assert_eq!(error.to_string(), expected);
    // The batch may say that there are NULLs, as long as there is none.
    writer.write(&batch.slice(0, 1)).unwrap();
    assert_eq!(writer.finish().unwrap().rows, 1);
}

#[test]
fn errors_of_the_system_name_the_file_that_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/t.staffa");
    let error = writer(&path, WriteOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    let missing = fs::read_dir(path.parent().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: {missing}", path.display()));
}
