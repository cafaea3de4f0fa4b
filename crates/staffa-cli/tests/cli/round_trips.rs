//! Awkward columns and every type through all formats and back: the values come back, and what a format
//! does not hold is said.

use std::sync::Arc;

use arrow_array::builder::{Int8Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::types::{Int32Type, IntervalMonthDayNano};
use arrow_array::{
    ArrayRef, BinaryArray, Date32Array, Decimal128Array, DictionaryArray, DurationNanosecondArray,
    Float64Array, Int64Array, IntervalMonthDayNanoArray, RecordBatch, StringArray,
    TimestampSecondArray, UInt64Array,
};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Fields};

use crate::program::Program;
use crate::types::{column, leaf_types, read_arrow, write_arrow};

fn nested() -> ArrayRef {
    let fields = Fields::from(vec![
        Field::new_list("k.1", Field::new_list_field(DataType::Int8, true), true),
        Field::new("", DataType::Utf8, true),
    ]);
    let items = ListBuilder::new(Int8Builder::new());
    let rows = StructBuilder::new(
        fields,
        vec![Box::new(items), Box::new(StringBuilder::new())],
    );
    let mut lists = ListBuilder::new(rows);
    let rows = lists.values();
    let items: &mut ListBuilder<Int8Builder> = rows.field_builder(0).unwrap();
    items.values().append_value(1);
    items.values().append_null();
    items.append(true);
    rows.field_builder::<StringBuilder>(1)
        .unwrap()
        .append_value("x");
    rows.append(true);
    lists.append(true);
    lists.append(true);
    lists.append(false);
    let rows = lists.values();
    rows.field_builder::<ListBuilder<Int8Builder>>(0)
        .unwrap()
        .append(false);
    rows.field_builder::<StringBuilder>(1)
        .unwrap()
        .append_null();
    rows.append(false);
    lists.append(true);
    Arc::new(lists.finish())
}

type Column = (&'static str, ArrayRef);

fn texts() -> Vec<Column> {
    let columns = [
        ("say \"hi\"", [Some("a\"b"), Some(""), None, Some("c'd")]),
        ("two\nlines", [Some("x\ny"), Some("\r\n"), None, Some("\t")]),
        (
            "größe 日本 👩‍👩‍👧",
            [Some("ü"), Some("e\u{301}"), Some("\u{202e}"), Some("👩‍👩‍👧")],
        ),
        (
            "\u{1b}[31mred",
            [Some("\u{1b}[2J"), Some("\u{7}"), Some("NULL"), Some("null")],
        ),
        ("nul", [Some("a\0b"), Some("\0"), Some(""), None]),
    ];
    let column = |(name, texts): (&'static str, [Option<&str>; 4])| -> Column {
        (name, Arc::new(StringArray::from(texts.to_vec())))
    };
    columns.into_iter().map(column).collect()
}

fn numbers() -> Vec<Column> {
    let whole = Int64Array::from(vec![Some(1), None, Some(i64::MIN), Some(i64::MAX)]);
    let floats = vec![f64::NAN, -0.0, f64::INFINITY, f64::NEG_INFINITY];
    let huge = UInt64Array::from(vec![Some(0), Some(u64::MAX), None, Some(1 << 63)]);
    let many = 123_456_789_012_345_678_901_234_567_890;
    let digits = Decimal128Array::from(vec![Some(many), Some(-1), None, Some(0)]);
    let digits = digits.with_precision_and_scale(38, 10).unwrap();
    vec![
        ("a.b.c", Arc::new(whole)),
        ("", Arc::new(Float64Array::from(floats))),
        ("huge", Arc::new(huge)),
        ("digits", Arc::new(digits)),
    ]
}

fn times() -> Vec<Column> {
    let days = Date32Array::from(vec![Some(-719_529), Some(2_932_897), None, Some(-1)]);
    let times = vec![Some(-62_167_219_201), Some(253_402_300_800), None, Some(0)];
    let times = TimestampSecondArray::from(times).with_timezone("America/New_York");
    let took = DurationNanosecondArray::from(vec![Some(1), Some(-1), None, Some(1 << 62)]);
    let interval = IntervalMonthDayNano::new;
    let intervals = IntervalMonthDayNanoArray::from(vec![
        Some(interval(1, 2, 3_000_000_000)),
        None,
        Some(interval(0, 0, -1)),
        Some(interval(-1, -2, 0)),
    ]);
    vec![
        ("days", Arc::new(days)),
        ("zone", Arc::new(times)),
        ("took", Arc::new(took)),
        ("interval", Arc::new(intervals)),
    ]
}

/// Sixteen columns with names and values that formats get wrong: before the year 0 and after 9999,
/// beyond 64 bits and the digits of a double, bytes that are no text.
fn awkward() -> RecordBatch {
    let words = [Some("x"), Some("y"), None, Some("x")].into_iter();
    let words: DictionaryArray<Int32Type> = words.collect();
    let bytes: [Option<&[u8]>; 4] = [Some(b"\0\xff"), Some(b""), None, Some(b"abc")];
    let others: [Column; 3] = [
        ("nested", nested()),
        ("words", Arc::new(words)),
        ("bytes", Arc::new(BinaryArray::from(bytes.to_vec()))),
    ];
    let columns = [texts(), numbers(), times(), others.to_vec()].concat();
    assert_eq!(columns.len(), 16);
    let columns = columns.into_iter();
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .unwrap()
}

fn without(batch: &RecordBatch, names: &[&str]) -> RecordBatch {
    let schema = batch.schema();
    let kept =
        (0..batch.num_columns()).filter(|at| !names.contains(&schema.field(*at).name().as_str()));
    batch.project(&kept.collect::<Vec<_>>()).unwrap()
}

/// Converts from file to file; returns what the program says.
fn convert(program: &Program, way: &[&str]) -> String {
    let steps = way.windows(2);
    let said = steps.map(|step| {
        let line = format!("convert -q {} {}", step[0], step[1]);
        program.run(&line).ends_well().err
    });
    said.collect()
}

#[test]
fn awkward_columns_come_back_from_arrow_and_parquet() {
    let table = awkward();
    for (table, ways) in [
        (
            table.clone(),
            &[
                &["t.arrow", "a.staffa", "a.arrow"] as &[&str],
                &["t.arrow", "b.arrows", "b.staffa", "b.arrow"],
            ],
        ),
        (
            // Parquet has no such intervals.
            without(&table, &["interval"]),
            &[
                &["t.arrow", "a.parquet", "a.arrow"],
                &["t.arrow", "b.staffa", "b.parquet", "b2.staffa", "b.arrow"],
            ],
        ),
    ] {
        for way in ways {
            let program = Program::new();
            write_arrow(&program, "t.arrow", &table);
            assert_eq!(convert(&program, way), "", "{way:?}");
            let back = read_arrow(&program, way[way.len() - 1]);
            for (field, (expected, found)) in table
                .schema()
                .fields()
                .iter()
                .zip(table.columns().iter().zip(back.columns()))
            {
                assert_eq!(expected.to_data(), found.to_data(), "{field} {way:?}");
            }
        }
    }
}

#[test]
fn awkward_columns_come_back_from_text() {
    let table = awkward();
    for (ending, print, table, said) in [
        (
            "csv",
            "csv",
            without(&table, &["nested"]),
            // Types are not values, and digits are kept as text: both are said.
            &[
                "CSV has no such types, these columns are text in it: \"zone\" (the zone \"America/New_York\", as \
                 offsets), \"took\" (Duration(ns)), \"interval\" (Interval(MonthDayNano)), \"bytes\" (Binary, in hex)",
                "column \"huge\" is read as text, it has numbers of more digits than 64 bits or a double hold",
                "column \"digits\" is read as text",
            ] as &[&str],
        ),
        (
            "jsonl",
            "json",
            without(&table, &["huge", "digits"]),
            &[
                "JSON lines has no such types, these columns are text in it: \"zone\"",
                "column \"\": 3 values NaN or infinite, written as null: JSON has neither",
            ],
        ),
    ] {
        let program = Program::new();
        write_arrow(&program, "t.arrow", &table);
        let text = format!("t.{ending}");
        let notes = convert(&program, &["t.arrow", "t.staffa", &text, "back.staffa"]);
        for part in said {
            assert!(notes.contains(part), "expected {part:?} in: {notes}");
        }
        assert_eq!(notes.lines().count(), said.len(), "{notes}");
        let shown = |file: &str| {
            program
                .run(&format!("cat {file} --format {print}"))
                .ends_well()
                .text()
        };
        assert_eq!(shown("t.staffa"), shown("back.staffa"), "{ending}");
        let names = |file: &str| program.run(&format!("schema {file} --json")).json();
        assert_eq!(
            names("t.staffa")["fields"].as_array().map(Vec::len),
            names("back.staffa")["fields"].as_array().map(Vec::len)
        );
    }
}

#[test]
fn numbers_of_many_digits_are_text_in_json_and_this_is_said() {
    let program = Program::new();
    let lines = "{\"u\":18446744073709551615,\"d\":12345678901234567890.1234567890}\n";
    program.write("t.jsonl", lines);
    let said = program.run("convert -q t.jsonl t.staffa").ends_well().err;
    assert_eq!(
        said,
        "staffa: note: t.jsonl: numbers of more digits than 64 bits or a double hold are read as text\n"
    );
    assert_eq!(
        program.run("cat t.staffa --csv").succeeds().text(),
        "u,d\n18446744073709551615,12345678901234567890.1234567890\n"
    );
}

#[test]
fn every_type_keeps_its_values_in_text() {
    let program = Program::new();
    for data_type in leaf_types() {
        let batch = [
            ("x", column(&data_type), true),
            ("n", column(&DataType::Int64), true),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(batch).unwrap();
        write_arrow(&program, "t.arrow", &batch);
        for (text, print) in [("t.csv", "csv"), ("t.jsonl", "json")] {
            program
                .run(&format!("convert -qf t.arrow {text}"))
                .ends_well();
            // Of a text that looks like a number, an empty one is NULL.
            let binary = data_type.is_binary() || matches!(data_type, DataType::FixedSizeBinary(_));
            let options = if binary { "--text x" } else { "" };
            program
                .run(&format!("convert -qf {text} back.arrow {options}"))
                .succeeds();
            if matches!(&data_type, DataType::Timestamp(_, Some(_))) {
                // The moments come back, in UTC.
                let back = read_arrow(&program, "back.arrow");
                let back = cast(back.column(0), &data_type).unwrap();
                assert_eq!(back.to_data(), batch.column(0).to_data(), "{data_type}");
                continue;
            }
            let shown = |file: &str| {
                let line = format!("cat {file} --format {print}");
                program.run(&line).succeeds().text()
            };
            assert_eq!(
                in_one_form(&shown("t.arrow")),
                in_one_form(&shown("back.arrow")),
                "{data_type}"
            );
        }
    }
}

/// Numbers in one form: a decimal without the zeros at its end.
fn in_one_form(text: &str) -> Vec<String> {
    let fields = text.split(['\n', ',', ':', '{', '}']);
    let plain = fields.map(|field| match field.parse::<f64>() {
        Ok(number) => number.to_string(),
        Err(_) => field.to_owned(),
    });
    plain.collect()
}
