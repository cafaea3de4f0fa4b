//! Every kind of filter over awkward columns: the same rows as in memory, whether pushed or not.

use std::sync::Arc;

use datafusion::arrow::array::*;
use datafusion::arrow::datatypes::{DataType, Field, Int32Type};
use tempfile::tempdir;

use crate::{create, in_memory, plan, rows, session, write};

const ROWS: usize = 300;

/// Values taken in turn, so that columns of other periods meet.
fn cycle<T: Clone>(values: &[T]) -> impl Iterator<Item = T> + '_ {
    values.iter().cloned().cycle().take(ROWS)
}

fn awkward() -> RecordBatch {
    let floats = [
        Some(1.5),
        None,
        Some(f64::NAN),
        Some(-f64::NAN),
        Some(0.0),
        Some(-0.0),
        Some(f64::INFINITY),
        Some(f64::NEG_INFINITY),
        Some(-1.5),
        Some(5e-324),
        Some(100.0),
    ];
    let texts = [
        Some("Oban"),
        None,
        Some(""),
        Some("a_b"),
        Some("a%b"),
        Some("axb"),
        Some("Ärger"),
        Some("oban"),
        Some("a longer text than a view holds"),
        Some("Tobermory"),
        Some("\\"),
    ];
    let micros = [
        Some(0),
        None,
        Some(-1),
        Some(1_767_225_600_000_000),
        Some(1_767_225_600_000_001),
    ];
    let days = [
        Some(0),
        Some(-719_162),
        None,
        Some(20_454),
        Some(20_455),
        Some(2_932_896),
    ];
    // Fields of a NULL are NULL, as a file has them.
    let valid = cycle(&[true, true, false, true, true]).collect::<Vec<_>>();
    let numbers = cycle(&[Some(1), None, Some(3), Some(-4)]);
    let numbers = numbers.zip(&valid).map(|(n, valid)| n.filter(|_| *valid));
    let within = cycle(&texts)
        .zip(&valid)
        .map(|(t, valid)| t.filter(|_| *valid));
    let a = Arc::new(Int32Array::from_iter(numbers)) as ArrayRef;
    let b = Arc::new(StringArray::from_iter(within)) as ArrayRef;
    let st = StructArray::new(
        vec![
            Field::new("a", DataType::Int32, true),
            Field::new("b.c", DataType::Utf8, true),
        ]
        .into(),
        vec![a, b],
        Some(valid.into()),
    );
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(cycle(&[
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
        Some(vec![Some(7)]),
    ]));
    let dec =
        Decimal128Array::from_iter(cycle(&[Some(0), None, Some(-105), Some(105), Some(99_999)]))
            .with_precision_and_scale(10, 2)
            .unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))),
        (
            "i8",
            Arc::new(Int8Array::from_iter(cycle(&[
                Some(-128),
                Some(127),
                None,
                Some(0),
                Some(5),
            ]))),
        ),
        (
            "u64",
            Arc::new(UInt64Array::from_iter(cycle(&[
                Some(u64::MAX),
                None,
                Some(0),
                Some(7),
            ]))),
        ),
        ("f64", Arc::new(Float64Array::from_iter(cycle(&floats)))),
        (
            "f32",
            Arc::new(Float32Array::from_iter(
                cycle(&floats).map(|f| f.map(|f| f as f32)),
            )),
        ),
        ("dec", Arc::new(dec)),
        ("day", Arc::new(Date32Array::from_iter(cycle(&days)))),
        (
            "ts",
            Arc::new(TimestampMicrosecondArray::from_iter(cycle(&micros))),
        ),
        (
            "tz",
            Arc::new(TimestampMicrosecondArray::from_iter(cycle(&micros)).with_timezone("+02:00")),
        ),
        (
            "ns",
            Arc::new(TimestampNanosecondArray::from_iter(cycle(&micros))),
        ),
        (
            "tod",
            Arc::new(Time64MicrosecondArray::from_iter(cycle(&[
                Some(0),
                None,
                Some(86_399_999_999),
            ]))),
        ),
        ("s", Arc::new(StringArray::from_iter(cycle(&texts)))),
        ("v", Arc::new(StringViewArray::from_iter(cycle(&texts)))),
        (
            "dict",
            Arc::new(DictionaryArray::<Int32Type>::from_iter(cycle(&texts))),
        ),
        (
            "bin",
            Arc::new(BinaryArray::from_iter(
                cycle(&texts).map(|t| t.map(str::as_bytes)),
            )),
        ),
        (
            "b",
            Arc::new(BooleanArray::from_iter(cycle(&[
                Some(true),
                None,
                Some(false),
            ]))),
        ),
        ("st", Arc::new(st)),
        ("list", Arc::new(list)),
        (
            "Odd \"name\".x",
            Arc::new(Int64Array::from_iter_values(0..ROWS as i64)),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
        .unwrap()
}

/// Filters that the scan applies.
const PUSHED: &[&str] = &[
    "id < 10",
    "id = 77 OR id > 290",
    "NOT (id <> 5)",
    "id BETWEEN 100 AND 131",
    "id NOT BETWEEN 3 AND 290",
    "5 > id",
    "i8 = -128",
    "i8 > 5",
    "i8 IS NULL",
    "i8 IS NOT NULL AND id < 100",
    "i8 IN (0, 5)",
    "i8 NOT IN (0, 5)",
    "u64 = 18446744073709551615",
    "u64 > 7",
    "NOT (u64 > 7)",
    "f64 = 0.0",
    "f64 < 0.0",
    "f64 >= 0.0",
    "f64 <> 1.5",
    "f64 > 100",
    "f64 <= -1.5",
    "NOT (f64 < 1.5)",
    "f64 IN (0.0, 100.0, 3.0, 4.0, 5.0)",
    "f64 NOT IN (0.0, 1.5, 2.5, 3.5)",
    "f64 IS NULL",
    "f64 = 'NaN'::double",
    "f64 > 'Infinity'::double",
    "f64 < '-Infinity'::double",
    "f64 BETWEEN -1.5 AND 1.5",
    "f32 = arrow_cast(1.5, 'Float32')",
    "f32 > arrow_cast(100, 'Float32')",
    "dec = 1.05",
    "dec < 0",
    "dec >= 999.99",
    "dec IN (0, -1.05)",
    "dec > 1.0499",
    "day = '1970-01-01'",
    "day < '1970-01-01'",
    "day > '2026-01-01'",
    "day BETWEEN '2026-01-01' AND '9999-12-31'",
    "day = '0001-01-01'",
    "ts = '2026-01-01T00:00:00'",
    "ts > '2026-01-01T00:00:00'",
    "ts < '1970-01-01T00:00:00'",
    "tz = '2026-01-01T02:00:00+02:00'",
    "tz > '2026-01-01T00:00:00Z'",
    "ns >= '1970-01-21T00:00:00'",
    "tod > '12:00:00'",
    "tod = '23:59:59.999999'",
    "s = 'Oban'",
    "s <> 'Oban'",
    "s > 'a'",
    "s <= ''",
    "s IN ('Oban', '', 'none')",
    "s NOT IN ('Oban', 'axb')",
    "s LIKE 'a%'",
    "s LIKE '%b%'",
    "s LIKE 'a\\_b'",
    "s LIKE 'a_b'",
    "s NOT LIKE '%a%'",
    "s ILIKE 'OBAN'",
    "s NOT ILIKE 'o%'",
    "s LIKE '%r'",
    "s LIKE ''",
    "s IS NULL",
    "starts_with(s, 'To')",
    "contains(s, 'ext')",
    "s = 'a longer text than a view holds'",
    "v = 'Oban'",
    "v LIKE 'a%'",
    "v >= 'Ä'",
    "v IN ('oban', '\\')",
    "dict = 'Oban'",
    "dict <> 'Oban'",
    "dict IN ('axb', 'Oban')",
    "dict IS NULL",
    "bin = 'Oban'::bytea",
    "b",
    "NOT b",
    "b = false",
    "b IS NULL",
    "b AND id < 50",
    "st IS NULL",
    "st['a'] = 3",
    "st['a'] IS NULL",
    "st['a'] < 0 OR st['b.c'] = 'Oban'",
    "st['b.c'] LIKE 'a%'",
    "list IS NULL",
    "list IS NOT NULL",
    "\"Odd \"\"name\"\".x\" >= 280",
    "(s = 'Oban' OR f64 > 1) AND NOT (i8 = 5 AND b)",
    "i8 NOT IN (1, 5)",
];

/// Filters that stay in the plan.
const LEFT: &[&str] = &[
    "id + 1 = 5",
    "id = i8",
    "length(s) = 4",
    "f64 + 1 > 2",
    "id % 7 = 3",
    "upper(s) = 'OBAN'",
    "CASE WHEN b THEN id < 10 ELSE id > 290 END",
    "i8 IS DISTINCT FROM 5",
    "b IS NOT TRUE",
    "s || 'x' = 'Obanx'",
    "cast(id AS double) < 3.5",
    "list[1] = 7",
    "i8 IN (1, NULL)",
];

#[tokio::test]
async fn filters_keep_the_rows_that_they_keep_in_memory() {
    let (folder, batch) = (tempdir().unwrap(), awkward());
    let path = folder.path().join("awkward.staffa");
    write(&path, &batch);
    let ctx = session(2);
    create(&ctx, "t", &path).await;
    in_memory(&ctx, "m", &batch);
    let cases = PUSHED
        .iter()
        .map(|f| (f, true))
        .chain(LEFT.iter().map(|f| (f, false)));
    let mut wrong = Vec::new();
    for (filter, pushed) in cases {
        let of = |table| format!("SELECT id, s, f64 FROM {table} WHERE {filter} ORDER BY id");
        let expected = rows(&ctx, &of("m"))
            .await
            .unwrap_or_else(|e| panic!("{filter}: {e}"));
        match rows(&ctx, &of("t")).await {
            Ok(found) if found == expected => {}
            Ok(found) => wrong.push(format!("{filter}: expected\n{expected}\nfound\n{found}")),
            Err(e) => wrong.push(format!("{filter}: {e}")),
        }
        let plan = plan(&ctx, &of("t")).await;
        if pushed == plan.contains("FilterExec") {
            wrong.push(format!("{filter}: pushed {pushed} expected\n{plan}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_filter_needs_none_of_the_columns_that_are_shown() {
    let (folder, batch) = (tempdir().unwrap(), awkward());
    write(&folder.path().join("a.staffa"), &batch);
    let ctx = session(3);
    create(&ctx, "t", folder.path()).await;
    in_memory(&ctx, "m", &batch);
    for sql in [
        "SELECT count(*) FROM t ",
        "SELECT count(*) FROM t WHERE s = 'Oban'",
        "SELECT count(*) FROM t WHERE length(s) = 4",
        "SELECT sum(id + 1) AS x FROM t WHERE f64 > 0 AND id % 2 = 0",
        "SELECT 1 AS one FROM t WHERE id < 3",
        "SELECT id, id AS again, s FROM t WHERE b ORDER BY id LIMIT 7",
        "SELECT st['a'] AS a, list FROM t WHERE id BETWEEN 60 AND 70 ORDER BY id",
        "SELECT b, count(*), min(day), max(ts), sum(dec) FROM t GROUP BY b ORDER BY b",
    ] {
        crate::same(&ctx, sql).await;
    }
}
