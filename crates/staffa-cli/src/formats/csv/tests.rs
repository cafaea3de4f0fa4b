#![allow(clippy::unwrap_used)]
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;

use super::*;
use crate::formats::bad_rows::BadRows;

fn table(text: &str, options: &ReadOptions) -> Result<CsvTable> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    CsvTable::open(&Input::new(&path)?, options)
}

fn options() -> ReadOptions {
    ReadOptions::inferring(2)
}

fn batches(table: CsvTable, scan: &ScanOptions) -> Result<Vec<RecordBatch>> {
    let schema = table.schema();
    Box::new(table)
        .scan(schema, scan, Meter::default())?
        .collect()
}

fn types(text: &str, options: &ReadOptions) -> Vec<String> {
    let schema = table(text, options).unwrap().schema();
    schema
        .fields()
        .iter()
        .map(|field| field.data_type().to_string())
        .collect()
}

#[test]
fn types_are_inferred_if_they_round_trip() {
    let text = "n,code,t,u,mixed,e\n1,007,2026-01-01T00:00:00Z,2026-01-01 00:00:00,2026-01-01T00:00:00Z,\n\
                2,10,2026-01-01T00:00:00+01:00,2026-01-01 00:00:00,2026-01-01T00:00:00,\n";
    let expected = [
        "Int64",
        "Utf8",
        "Timestamp(s, \"UTC\")",
        "Timestamp(s)",
        "Utf8",
        "Null",
    ];
    assert_eq!(types(text, &options()), expected);
    let given = options().with_text("n");
    assert_eq!(
        table(text, &given).unwrap().schema().field(0).data_type(),
        &DataType::Utf8
    );
}

#[test]
fn the_message_names_a_later_row_that_does_not_parse() {
    let cases = [
        (
            "a,b\n1,2\n3,4\n5,x\n",
            "row 3, column \"b\": \"x\" is not of type Int64, the type inferred from the first 2 rows",
        ),
        ("a,b\n1,2\n3,4\n5\n", "row 3: expected 2 fields, found 1"),
        (
            "a,b\n1,2\n3,4\n5,6,7\n",
            "row 3: expected 2 fields, found 3",
        ),
        (
            "a\n2026-01-01T00:00:00\n2026-01-01T00:00:00\nsoon\n",
            "row 3, column \"a\": \"soon\" is not of type Timestamp(s)",
        ),
        // Half a second would be lost, a zone ignored.
        (
            "a\n2026-01-01T00:00:00\n2026-01-01T00:00:00\n2026-01-01T00:00:00.5\n",
            "row 3, column \"a\"",
        ),
        (
            "a\n2026-01-01T00:00:00\n2026-01-01T00:00:00\n2026-01-01T00:00:00Z\n",
            "row 3, column \"a\"",
        ),
        (
            "a\n2026-01-01\n2026-01-01\n2026-01-01T10:00:00\n",
            "row 3, column \"a\"",
        ),
        // A leap second would become the second before it.
        (
            "a\n2016-12-31T23:59:59\n2016-12-31T23:59:59\n2016-12-31T23:59:60\n",
            "--no-dates reads all dates and times as text",
        ),
        ("a\n1.5\n1.5\n9007199254740993\n", "row 3, column \"a\""),
        (
            "a,b\n1,2\n3,4\n5,\"6\n",
            "the row at line 4 begins a quote that is never closed",
        ),
    ];
    for (text, expected) in cases {
        let found =
            table(text, &options()).and_then(|table| batches(table, &ScanOptions::default()));
        let message = found.unwrap_err().message;
        assert!(message.contains(expected), "{message}");
    }
    let headless = table("1,2\n3,4\n5,x\n", &options().without_header()).unwrap();
    let message = batches(headless, &ScanOptions::default())
        .unwrap_err()
        .message;
    assert!(message.contains("row 3, column \"column_2\""), "{message}");
    // All rows were read already: to read them again would not help.
    let all = table("a\n1\nx\n", &ReadOptions::inferring(0)).unwrap();
    assert_eq!(all.schema().field(0).data_type(), &DataType::Utf8);
}

#[test]
fn nulls_and_delimiters_are_as_given() {
    let mut given = ReadOptions::inferring(10);
    given.csv_null = vec!["NA".into(), ".".into()];
    given.delimiter = Some(b';');
    let table = table("a;b;c\n1;NA;\n2;3;\"NA\"\n.;4;x\n;5;\"\"\n", &given).unwrap();
    assert_eq!(table.schema().field(1).data_type(), &DataType::Int64);
    let batch = batches(table, &ScanOptions::default()).unwrap().remove(0);
    // An empty field is NULL, too.
    assert_eq!(
        (batch.column(0).null_count(), batch.column(1).null_count()),
        (2, 1)
    );
    let texts: Vec<_> = batch.column(2).as_string::<i32>().iter().collect();
    assert_eq!(texts, [None, Some("NA"), Some("x"), Some("")]);
}

#[test]
fn empty_lines_of_one_column_are_nulls() {
    let table = table("a\n1\n\n2\n", &options()).unwrap();
    let batch = batches(table, &ScanOptions::default()).unwrap().remove(0);
    assert_eq!((batch.num_rows(), batch.column(0).null_count()), (3, 1));
}

#[test]
fn dates_as_they_come_are_read() {
    let text =
        "d,m,t,unknown\n05.01.2024,1/25/2024,1.2.2024 9:30,1/2/2024\n6.1.2024,1/2/2024,,2/1/2024\n";
    assert_eq!(
        types(text, &options()),
        ["Date32", "Date32", "Timestamp(s)", "Utf8"]
    );
    let mut given = options();
    given.dates = Some(DateOrder::Dmy);
    assert_eq!(types("d\n1/2/2024\n", &given), ["Date32"]);
    let table = table(text, &options()).unwrap();
    let batch = batches(table, &ScanOptions::default()).unwrap().remove(0);
    let shown =
        |column| arrow_cast::display::array_value_to_string(batch.column(column), 0).unwrap();
    assert_eq!(
        [shown(0), shown(1), shown(2)],
        ["2024-01-05", "2024-01-25", "2024-02-01T09:30:00"]
    );
}

#[test]
fn bad_rows_are_left_out_with_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.csv");
    let text = "a,b\n1,2\n3,4\n5,x\n6\n7,\"8\n9\"\n10,11\n";
    let mut given = options();
    given.skip_bad_rows = Some(path.clone());
    let bad_rows = BadRows::create(&path).unwrap();
    let scan = ScanOptions {
        columns: Some(vec!["a".into()]),
        bad_rows: Some(bad_rows.clone()),
        ..ScanOptions::default()
    };
    let batches = batches(table(text, &given).unwrap(), &scan).unwrap();
    bad_rows.finish().unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
    let written = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    assert_eq!(lines[0], "file,line,reason,text");
    assert!(
        lines[1].ends_with(",5,\"expected 2 fields, found 1\",\"6\""),
        "{written}"
    );
    assert!(
        lines[2].ends_with(",4,\"column \"\"b\"\": \"\"x\"\" is not of type Int64\",\"5,x\""),
        "{written}"
    );
    assert!(
        lines[3].contains(",6,\"column \"\"b\"\": \"\"8\\n9\"\""),
        "{written}"
    );
}
