//! Rows of a filter, and rows by number, as views: the strings that plain ones are, and arrays that
//! Arrow finds sound.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field};
use staffa::{File, WriteOptions};

const ROWS: usize = 9_000;

fn table() -> RecordBatch {
    let text = |value: &dyn Fn(usize) -> Option<String>| {
        Arc::new((0..ROWS).map(value).collect::<StringArray>()) as ArrayRef
    };
    let scattered = |i: usize| i.wrapping_mul(2_654_435_761) >> 7;
    let numbers = |of: fn(i64) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..ROWS as i64).map(of)))
    };
    let few = ["short", "a rather long string", "ä"];
    let some = |i| (scattered(i) % 6 > 0).then(|| format!("one of some {}", scattered(i) % 40));
    let mut bytes = BinaryBuilder::new();
    let mut lists = ListBuilder::new(StringBuilder::new());
    for i in 0..ROWS {
        bytes.append_option((i % 5 > 0).then(|| vec![0xff; scattered(i) % 30]));
        (0..i % 3).for_each(|k| {
            lists
                .values()
                .append_option((k + i % 7 > 0).then(|| format!("item {} of a list", i * k % 90)))
        });
        lists.append(i % 11 > 0);
    }
    let inner = text(&|i| (i % 4 > 0).then(|| format!("an inner string {}", i % 300)));
    let field = Arc::new(Field::new("s", DataType::Utf8, true));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", numbers(|i| i * 7_919 % 1_000)),
        ("sorted", numbers(|i| i)),
        ("few", text(&|i| Some(few[scattered(i) % 3].to_owned()))),
        ("few_null", text(&some)),
        (
            "many",
            text(&|i| Some(format!("a text like no other, {} and {i}", scattered(i)))),
        ),
        (
            "many_null",
            text(&|i| (i % 3 > 0).then(|| format!("{:x}", scattered(i)))),
        ),
        (
            "half",
            text(&|i| Some(format!("some way along {}", scattered(i) % 2_500))),
        ),
        (
            "runs",
            text(&|i| Some(format!("a run of rows, number {}", i / 200))),
        ),
        // Numbers as text, whose views are made without their strings; now and then there is another string.
        (
            "degrees",
            text(&|i| {
                let sign = if scattered(i) % 2 == 0 { "-" } else { "" };
                (i % 9 > 0).then(|| format!("{sign}{}.{:06}", i % 180, scattered(i) % 1_000_000))
            }),
        ),
        (
            "days",
            text(&|i| match i % 4_000 {
                3_999 => Some("no day, and longer than a view holds".to_owned()),
                1_999 => Some("unknown".to_owned()),
                day => Some(format!(
                    "19{:02}-{:02}-{:02}",
                    day % 97,
                    i % 12 + 1,
                    scattered(i) % 28 + 1
                )),
            }),
        ),
        (
            "addresses",
            text(&|i| {
                Some(format!(
                    "10.{}.{}.{}",
                    i % 256,
                    scattered(i) % 256,
                    scattered(i) % 251
                ))
            }),
        ),
        ("one", text(&|_| Some("the same one everywhere".to_owned()))),
        ("none", text(&|_| None)),
        ("bytes", Arc::new(bytes.finish())),
        ("lists", Arc::new(lists.finish())),
        ("struct", Arc::new(StructArray::from(vec![(field, inner)]))),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

fn same(views: &RecordBatch, plain: &RecordBatch, what: &str) {
    assert_eq!(views.num_rows(), plain.num_rows(), "{what}");
    for ((view, plain), field) in views
        .columns()
        .iter()
        .zip(plain.columns())
        .zip(plain.schema().fields())
    {
        view.to_data().validate_full().unwrap();
        assert_eq!(
            &cast(view, plain.data_type()).unwrap(),
            plain,
            "{what}: {}",
            field.name()
        );
    }
}

const FILTERS: [&str; 15] = [
    "n = 7",
    "n < 10",
    "n < 170",
    "n < 500",
    "n < 999",
    "n < 1000",
    "sorted < 3",
    "sorted >= 2000 and sorted < 2100",
    "sorted > 3000 and n < 600",
    "few = 'ä'",
    "many contains '77'",
    "half starts with 'some way along 1'",
    "half not starts with 'some way along 1'",
    "few_null is null",
    "n < 0",
];

#[test]
fn rows_of_a_filter_and_by_number_are_the_same_strings() {
    let table = table();
    for (block_rows, row_group_rows) in [(1024, 4096), (2048, 16_384)] {
        let mut options = WriteOptions::default();
        (options.block_rows, options.row_group_rows) = (block_rows, row_group_rows);
        let file = File::from_bytes(
            staffa::to_bytes(table.schema(), std::slice::from_ref(&table), options).unwrap(),
        )
        .unwrap();
        for filter in FILTERS {
            let read = |views| {
                let scan = file
                    .scan()
                    .filter(filter.parse().unwrap())
                    .batch_rows(1 << 20)
                    .string_views(views);
                scan.reader()
                    .unwrap()
                    .collect::<Result<Vec<_>, _>>()
                    .unwrap()
            };
            let (views, plain) = (read(true), read(false));
            assert_eq!(views.len(), plain.len());
            views
                .iter()
                .zip(&plain)
                .for_each(|(views, plain)| same(views, plain, filter));
        }
        for step in [1, 2, 13, 900] {
            let rows: Vec<u64> = (0..ROWS as u64).step_by(step).collect();
            same(
                &file.take(&rows).string_views(true).read().unwrap(),
                &file.take(&rows).read().unwrap(),
                "taken",
            );
        }
        let scan = |views| {
            file.scan()
                .string_views(views)
                .reader()
                .unwrap()
                .collect::<Result<Vec<_>, _>>()
                .unwrap()
        };
        scan(true)
            .iter()
            .zip(&scan(false))
            .for_each(|(views, plain)| same(views, plain, "scanned"));
    }
}
