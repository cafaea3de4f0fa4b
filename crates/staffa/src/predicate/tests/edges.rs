//! Garbage, what cannot be compared, and values at the edges of their types.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Decimal128Array, Decimal256Array, FixedSizeBinaryArray, Int8Array, Int64Array,
    NullArray, RecordBatch, StructArray, TimestampSecondArray, UInt64Array,
};
use arrow_buffer::{Buffer, i256};
use arrow_schema::{DataType, Field, Schema};

use super::{Compare, Literal, Predicate, Rng, batch, table};

fn parse(text: &str) -> Predicate {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Pieces of predicates.
const WORDS: [&str; 41] = [
    "a",
    "\"b c\"",
    "'x''y'",
    "1",
    "-",
    "+",
    "2.5",
    "1e5",
    "9e999",
    "(",
    ")",
    ",",
    "<",
    "<>",
    "=",
    "!",
    "and",
    "or",
    "not",
    "in",
    "between",
    "is",
    "null",
    "true",
    "nan",
    "inf",
    " ",
    "ü",
    "'",
    "\"",
    ".",
    "e",
    "\u{0}",
    "10_0",
    "- -1",
    "starts",
    "starts with 'x'",
    "contains",
    "contains ''",
    "like",
    "like '%x_'",
];

/// Pieces of dates, times, timestamps and numbers.
const PIECES: [&str; 18] = [
    "2020",
    "-",
    "01",
    "31",
    "T",
    " ",
    ":",
    "12",
    ".",
    "5",
    "Z",
    "+",
    "e",
    "9999999999",
    "ü",
    "AM",
    "+02:00",
    "é",
];

#[test]
fn garbage_never_panics() {
    let schema = Schema::new(vec![
        Field::new("a", DataType::Int8, true),
        Field::new("ü", DataType::Date32, true),
    ]);
    let mut rng = Rng(7);
    let mut parsed = 0;
    for _ in 0..100_000 {
        let text: String = (0..rng.below(9))
            .flat_map(|_| [rng.pick(&WORDS), rng.pick(&["", " "])])
            .collect();
        if let Ok(predicate) = text.parse::<Predicate>() {
            parsed += 1;
            let again = parse(&predicate.to_string());
            assert_eq!(format!("{again:?}"), format!("{predicate:?}"));
            let _ = predicate.bind(&schema);
        }
    }
    assert!(parsed > 300, "{parsed}");
}

#[test]
fn garbage_in_texts_of_literals_never_panics() {
    let mut rng = Rng(8);
    let columns = table(&mut rng, 1);
    let schema = batch(&columns).schema();
    for _ in 0..50_000 {
        let text: String = (0..rng.below(12)).map(|_| rng.pick(&PIECES)).collect();
        for column in ["dec", "big dec", "date", "date64", "time", "at", "at zone"] {
            let literal = Literal::Text(text.clone());
            let _ = Predicate::Compare {
                column: column.into(),
                op: Compare::Eq,
                literal,
            }
            .bind(&schema);
        }
    }
}

/// Three rows of every type, of a struct, of NULLs, and of times in a zone.
fn all_types() -> RecordBatch {
    let mut rng = Rng(1);
    let columns = table(&mut rng, 3);
    let inner = Arc::new(Field::new("x", DataType::Int8, true));
    let nested = StructArray::new(
        vec![inner].into(),
        vec![Arc::new(Int8Array::from(vec![1, 2, 3]))],
        Some(vec![true, false, true].into()),
    );
    let mut all: Vec<(String, ArrayRef)> = columns
        .iter()
        .map(|(n, c)| (n.clone(), c.array.clone()))
        .collect();
    all.push(("nested".into(), Arc::new(nested)));
    all.push(("nothing".into(), Arc::new(NullArray::new(3))));
    let zone: ArrayRef =
        Arc::new(TimestampSecondArray::from(vec![0, 1, 2]).with_timezone("Europe/Berlin"));
    all.push(("berlin".into(), zone));
    RecordBatch::try_from_iter(all).unwrap()
}

#[test]
fn what_cannot_be_compared_is_named() {
    let schema = all_types().schema();
    let error = |text: &str| parse(text).bind(&schema).unwrap_err().to_string();
    assert_eq!(
        error("i8 = 'x'"),
        "column \"i8\" of type Int8 cannot be compared with 'x': a number expected"
    );
    assert_eq!(
        error("date between '2020-01-01' and '2020-02-30'"),
        "column \"date\" of type Date32 cannot be compared with '2020-02-30': a date such as '2020-01-31' expected"
    );
    assert!(error("missing = 1").starts_with("there is no column \"missing\", but i8, i64, "));
    for text in [
        "utf8 = 1",
        "utf8 < true",
        "bool = 1",
        "i8 = true",
        "date = 5",
        "at < 5",
        "time = '25:00:00'",
        "dec = 'abc'",
        "dec = ''",
        "dec = true",
        "f64 = '1'",
        "binary = 1",
        "dict = 1",
        "runs = 1.5",
        "nested = 1",
        "nested = null",
        "nested in (1)",
        "date = '2020-01-01T00:00:00'",
        "at = '2020-01-01T00:00:00.0000000001'",
        "missing is null",
        "missing in ()",
        "not (i8 = 1 and utf8 = 2)",
        "i8 starts with '1'",
        "date contains '2020'",
        "nested like '%'",
        "missing contains ''",
        "binary like 'a_'",
        "fixed like '%a'",
    ] {
        assert!(parse(text).bind(&schema).is_err(), "{text}");
    }
    assert_eq!(
        error("i8 starts with '1'"),
        "column \"i8\" of type Int8 cannot be tested by `i8 starts with '1'`: text or binary expected"
    );
}

#[test]
fn structs_nulls_and_zones_are_compared_as_far_as_they_can_be() {
    let batch = all_types();
    let schema = batch.schema();
    let rows = |text: &str| {
        parse(text)
            .bind(&schema)
            .unwrap()
            .evaluate(&batch)
            .unwrap()
            .values()
            .iter()
            .collect::<Vec<_>>()
    };
    assert_eq!(rows("nested is null"), [false, true, false]);
    assert_eq!(rows("nested is not null"), [true, false, true]);
    assert_eq!(rows("nothing is null"), [true; 3]);
    assert_eq!(
        rows("nothing = 1 or nothing <> 'a' or not nothing in (1)"),
        [false; 3]
    );
    assert_eq!(
        rows("nothing starts with 'a' or not nothing like '%' or not nothing contains ''"),
        [false; 3]
    );
    assert_eq!(rows("berlin > '1970-01-01T00:00:00Z'"), [false, true, true]);
    assert_eq!(
        rows("berlin <= '1970-01-01T01:00:00.999+01:00'"),
        [true, false, false]
    );
    if let Err(e) = parse("berlin > '2020-01-01'").bind(&schema) {
        assert!(
            e.to_string()
                .contains("an offset expected, as in '2020-01-01"),
            "{e}"
        );
    }
}

#[test]
fn batches_of_another_schema_and_deep_nesting_are_refused() {
    let schema = Schema::new(vec![Field::new("i8", DataType::Int8, true)]);
    let bound = parse("i8 = 1").bind(&schema).unwrap();
    let other: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let other = RecordBatch::try_from_iter([("i8", other)]).unwrap();
    assert!(
        bound
            .evaluate(&other)
            .unwrap_err()
            .to_string()
            .contains("of type Int64, the predicate was bound to Int8")
    );
    let mut deep = parse("i8 = 1");
    for _ in 0..300 {
        deep = Predicate::Not(Box::new(deep));
    }
    assert!(deep.bind(&schema).is_err());
    let nested = |levels: usize| {
        let wrap = |part, level: usize| match level % 3 {
            0 => Predicate::Or(vec![part]),
            1 => Predicate::And(vec![part]),
            _ => Predicate::Or(vec![
                Predicate::IsNull {
                    column: "i8".into(),
                },
                part,
            ]),
        };
        (0..levels).fold(parse("i8 = 1"), wrap)
    };
    assert!(nested(250).bind(&schema).is_ok());
    assert!(nested(260).bind(&schema).is_err());
}

/// Two rows of a wide decimal, a decimal of hundreds, strings without bytes, large integers.
fn edges() -> RecordBatch {
    let wide: ArrayRef = Arc::new(
        Decimal256Array::from(vec![
            i256::from_string(&"9".repeat(76)).unwrap(),
            i256::from_i128(1),
        ])
        .with_precision_and_scale(76, 0)
        .unwrap(),
    );
    let hundreds: ArrayRef = Arc::new(
        Decimal128Array::from(vec![3, -3])
            .with_precision_and_scale(5, -2)
            .unwrap(),
    );
    let empty: ArrayRef =
        Arc::new(FixedSizeBinaryArray::try_new_with_len(0, Buffer::from(&[]), None, 2).unwrap());
    let u64s: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 0]));
    RecordBatch::try_from_iter([("w", wide), ("h", hundreds), ("e", empty), ("u", u64s)]).unwrap()
}

#[test]
fn decimals_and_bytes_at_the_edges() {
    let batch = edges();
    let nines = "9".repeat(76);
    for (text, expected) in [
        (format!("w = '{nines}'"), [true, false]),
        (format!("w < '{nines}.5'"), [true, true]),
        (format!("w >= '{nines}.0001'"), [false, false]),
        ("w < '1e77'".into(), [true, true]),
        ("w < '1e9999999999999999999'".into(), [true, true]),
        ("w > '-1e9999999999'".into(), [true, true]),
        ("w > '1e-9999999999'".into(), [true, true]),
        ("h = 300".into(), [true, false]),
        ("h < -299.5".into(), [false, true]),
        ("h > -300.5".into(), [true, true]),
        ("h = 'nan'".into(), [false, false]),
        ("h < nan".into(), [true, true]),
        ("h < 1e30".into(), [true, true]),
        ("h <> 1e38".into(), [true, true]),
        ("e = ''".into(), [true, true]),
        ("e < 'a'".into(), [true, true]),
        ("e >= 'a'".into(), [false, false]),
        ("u = 18446744073709551615".into(), [true, false]),
        ("u < 18446744073709551616".into(), [true, true]),
        ("u <= 1.8446744073709551615e19".into(), [true, true]),
        ("u > -0.5".into(), [true, true]),
    ] {
        let Ok(bound) = parse(&text).bind(&batch.schema()) else {
            assert!(
                text.contains("'nan'") || text.contains("9999999999999999999"),
                "{text}"
            );
            continue;
        };
        assert_eq!(
            bound
                .evaluate(&batch)
                .unwrap()
                .values()
                .iter()
                .collect::<Vec<_>>(),
            expected,
            "{text}"
        );
    }
}
