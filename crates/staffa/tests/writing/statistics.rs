//! What a file says of its rows where the writer is told or asked: their order, statistics of chunks.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use staffa::SortKey;

use super::*;

fn sorted_by(keys: &[&str]) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.sort_order = keys.iter().map(|key| key.parse().unwrap()).collect();
    options
}

fn rows_of(days: Vec<Option<i32>>, texts: Vec<Option<&str>>) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Date32Array::from(days)),
        Arc::new(StringArray::from(texts)),
    ];
    let names = ["day", "text"].into_iter().zip(columns);
    RecordBatch::try_from_iter_with_nullable(names.map(|(name, c)| (name, c, true))).unwrap()
}

#[test]
fn the_declared_order_is_checked_and_kept() {
    let keys = ["day desc nulls first", "text"];
    let first = rows_of(
        vec![None, Some(9), Some(9)],
        vec![Some("z"), Some("a"), Some("b")],
    );
    let second = rows_of(vec![Some(9), Some(3)], vec![None, Some("a")]);
    let batches = [first.clone(), second];
    let bytes = staffa::to_bytes(first.schema(), &batches, sorted_by(&keys)).unwrap();
    let file = File::from_bytes(bytes).unwrap();
    let expected: Vec<SortKey> = keys.iter().map(|key| key.parse().unwrap()).collect();
    assert_eq!(file.sort_order().unwrap(), expected);
    assert_eq!(file.inspect().unwrap().sort_order, expected);
    file.verify(&mut |_| {}).unwrap();
    let plain = staffa::to_bytes(first.schema(), &batches, WriteOptions::default()).unwrap();
    assert!(
        File::from_bytes(plain)
            .unwrap()
            .sort_order()
            .unwrap()
            .is_empty()
    );
    // Within a batch, and from one to the next.
    for (batches, expected) in [
        (
            vec![rows_of(vec![Some(3), Some(4)], vec![None; 2])],
            "row 1 is out of the declared order: \"day desc nulls first\" expected, found 1970-01-05 after 1970-01-04",
        ),
        (
            vec![first.clone(), rows_of(vec![Some(9)], vec![Some("a")])],
            "row 3 is out of the declared order: \"text\" expected, found a after b",
        ),
        (
            vec![first.clone(), rows_of(vec![None], vec![None])],
            "row 3 is out of the declared order: \"day desc nulls first\" expected, found NULL after 1970-01-10",
        ),
    ] {
        let error = staffa::to_bytes(first.schema(), &batches, sorted_by(&keys)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn floats_are_ordered_as_numbers() {
    let floats = |values: &[f64]| table(vec![Arc::new(Float64Array::from(values.to_vec()))]);
    let nan = f64::NAN;
    for (key, values, holds) in [
        (
            "a",
            &[f64::NEG_INFINITY, 0.0, -0.0, 0.0, 5.0, nan, -nan, nan][..],
            true,
        ),
        ("a desc", &[nan, 5.0, -0.0, 0.0, -5.0], true),
        ("a", &[nan, 5.0], false),
        ("a desc", &[5.0, nan], false),
    ] {
        let batch = floats(values);
        let written = staffa::to_bytes(
            batch.schema(),
            std::slice::from_ref(&batch),
            sorted_by(&[key]),
        );
        assert_eq!(written.is_ok(), holds, "{key} {values:?}");
        if let Ok(bytes) = written {
            File::from_bytes(bytes)
                .unwrap()
                .verify(&mut |_| {})
                .unwrap();
        }
    }
}

#[test]
fn columns_without_an_order_are_no_keys() {
    let batch = RecordBatch::try_from_iter([
        ("n", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
        ("x", Arc::new(Float64Array::from(vec![1.0])) as ArrayRef),
        ("none", Arc::new(NullArray::new(1)) as ArrayRef),
        (
            "coded",
            Arc::new(DictionaryArray::<arrow_array::types::Int8Type>::from_iter(
                ["a"],
            )) as ArrayRef,
        ),
    ])
    .unwrap();
    let error = |options| {
        staffa::to_bytes(batch.schema(), &[], options)
            .unwrap_err()
            .to_string()
    };
    assert!(error(sorted_by(&["m"])).contains("no column is called \"m\""));
    assert!(error(sorted_by(&["n", "n desc"])).contains("named twice"));
    for name in ["none", "coded"] {
        assert!(
            error(sorted_by(&[name])).contains("must have numbers"),
            "{name}"
        );
    }
    // Rounding keeps the order of a column by itself, but makes ties.
    let mut options = sorted_by(&["x", "n"]);
    options.max_error = vec![("x".into(), 0.5)];
    assert!(error(options.clone()).contains("can only be the last key"));
    options.sort_order.reverse();
    assert!(staffa::to_bytes(batch.schema(), &[], options).is_ok());
}

/// Two row groups of two rows.
fn summed_columns() -> RecordBatch {
    let decimal = Decimal128Array::from(vec![Some(150), None, Some(-275), Some(99)]);
    let decimal = decimal.with_precision_and_scale(10, 2).unwrap();
    let large = Some(u64::MAX);
    let columns: [(&str, ArrayRef); 5] = [
        (
            "n",
            Arc::new(Int64Array::from(vec![i64::MAX, i64::MAX, 3, 4])),
        ),
        (
            "u",
            Arc::new(UInt64Array::from(vec![large, large, None, None])),
        ),
        ("d", Arc::new(decimal)),
        ("x", Arc::new(Float64Array::from(vec![0.5; 4]))),
        ("t", Arc::new(StringArray::from(vec!["ab", "c", "", "abc"]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(n, c)| (n, c, true))).unwrap()
}

#[test]
fn chunks_have_statistics_where_they_are_asked_for() {
    let batch = summed_columns();
    let mut options = WriteOptions::default();
    (options.chunk_statistics, options.row_group_rows) = (true, 2);
    let bytes = staffa::to_bytes(batch.schema(), std::slice::from_ref(&batch), options).unwrap();
    let file = File::from_bytes(bytes).unwrap();
    file.verify(&mut |_| {}).unwrap();
    let chunks = file.chunk_statistics().unwrap();
    let sums = chunks.iter().map(|c| {
        let sum = c.sum.as_deref();
        (c.path.as_str(), c.row_group, c.nulls, sum, c.decoded_bytes)
    });
    let found: Vec<_> = sums.collect();
    assert_eq!(
        found,
        [
            ("n", 0, 0, Some("18446744073709551614"), 16),
            ("n", 1, 0, Some("7"), 16),
            ("u", 0, 0, Some("36893488147419103230"), 16),
            ("u", 1, 2, Some("0"), 0),
            ("d", 0, 1, Some("1.50"), 32),
            ("d", 1, 0, Some("-1.76"), 32),
            ("x", 0, 0, None, 16),
            ("x", 1, 0, None, 16),
            ("t", 0, 0, None, 3),
            ("t", 1, 0, None, 3),
        ]
    );
    let bounds = (chunks[5].min.as_deref(), chunks[5].max.as_deref());
    assert_eq!(bounds, (Some("-2.75"), Some("0.99")));
    assert_eq!(
        file.inspect().unwrap().columns[0].chunks[1].sum.as_deref(),
        Some("7")
    );
    let plain = staffa::to_bytes(batch.schema(), &[batch], WriteOptions::default()).unwrap();
    assert!(
        File::from_bytes(plain)
            .unwrap()
            .chunk_statistics()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn field_ids_are_kept() {
    let id = |id: &str| HashMap::from([("PARQUET:field_id".to_owned(), id.to_owned())]);
    let inner = Field::new("b", DataType::Int32, true).with_metadata(id("3"));
    let item = Field::new("element", DataType::Struct(vec![inner].into()), true);
    let list = DataType::List(Arc::new(item.with_metadata(id("2"))));
    let schema = Arc::new(Schema::new(vec![
        Field::new("a", list, true).with_metadata(id("1")),
    ]));
    let bytes = staffa::to_bytes(schema.clone(), &[], WriteOptions::default()).unwrap();
    let file = File::from_bytes(bytes).unwrap();
    assert_eq!(file.schema(), &schema);
    assert_eq!(file.scan().reader().unwrap().schema(), schema);
}

/// Rows are not found by the items of their lists: blocks of items have no bounds, but where these show
/// that all values are of their type.
#[test]
fn items_of_lists_have_no_bounds() {
    let days = Decimal128Array::from_iter_values(0..6)
        .with_precision_and_scale(5, 0)
        .unwrap();
    let list = |items: ArrayRef| -> ArrayRef {
        let field = Arc::new(Field::new("item", items.data_type().clone(), true));
        Arc::new(FixedSizeListArray::try_new(field, 3, items, None).unwrap())
    };
    let batch = table(vec![
        list(Arc::new(Float64Array::from_iter_values(
            (0..6).map(f64::from),
        ))),
        list(Arc::new(days)),
        Arc::new(Int32Array::from(vec![4, 5])),
    ]);
    let file = write(&[batch], WriteOptions::default());
    let info = file.inspect().unwrap();
    let bounded = |path: &str| {
        let leaf = info.columns.iter().find(|leaf| leaf.path == path).unwrap();
        leaf.chunks[0].blocks[0].min.is_some()
    };
    assert!(!bounded("a[]") && bounded("b[]") && bounded("c"));
    file.verify(&mut |_| {}).unwrap();
    // The summary of the whole file has them.
    let all = file.statistics().unwrap();
    let items = all.iter().find(|leaf| leaf.path == "a[]").unwrap();
    assert_eq!(items.max.as_deref(), Some("5"));
}

/// Texts of 2.5 KB in no order, and in order.
fn long_texts() -> RecordBatch {
    let mut random = Random(4);
    let words: Vec<String> = (0..400)
        .map(|_| format!("{:x}", random.below(1 << 24)))
        .collect();
    let mut text = || -> String {
        let words: Vec<&str> = (0..400)
            .map(|_| words[random.below(400)].as_str())
            .collect();
        words.join(" ")
    };
    let texts: Vec<String> = (0..2_200).map(|_| text()).collect();
    let mut sorted = texts.clone();
    sorted.sort_unstable();
    table(
        [texts, sorted]
            .map(|texts| Arc::new(StringArray::from(texts)) as ArrayRef)
            .into(),
    )
}

/// A row by number pays for bounds that no search can use: those of text in no order.
#[test]
fn rows_by_number_do_not_pay_for_bounds_that_overlap() {
    let batch = long_texts();
    let read = |access| {
        let options = WriteOptions::default().access(access);
        write(std::slice::from_ref(&batch), options)
    };
    let bounded = |file: &File| {
        let columns = file.inspect().unwrap().columns;
        let blocks = columns.iter().map(|column| &column.chunks[0].blocks);
        let bounded = blocks.map(|blocks| (blocks.len() > 128, blocks[1].min.is_some()));
        bounded.collect::<Vec<_>>()
    };
    let file = read(staffa::Access::Random);
    assert_eq!(bounded(&file), [(true, false), (true, true)]);
    file.verify(&mut |_| {}).unwrap();
    let summaries = file.statistics().unwrap();
    assert!(
        summaries
            .iter()
            .all(|leaf| leaf.min.is_some() && leaf.max.is_some())
    );
    let text = batch.column(0).as_string::<i32>().value(1_000).to_owned();
    let found = common::read(file.scan().filter(staffa::col("a").eq(text)));
    assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);

    let scanned = read(staffa::Access::Scan);
    assert!(bounded(&scanned).iter().all(|(_, bounded)| *bounded));
}
