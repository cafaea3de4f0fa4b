//! The page of `staffa report`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod html;
mod values;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int8Array, Int64Array, RecordBatch, StringArray,
    StructArray,
};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;

use self::html::well_formed;

const HOSTILE: [&str; 7] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "</script><!--",
    "a'b&amp;c",
    "\u{202e}x",
    "\u{1b}[2J",
    "\u{2028}\u{2029}\u{61c}\u{85}x",
];

fn staffa(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_staffa"))
        .current_dir(folder)
        .args(args)
        .output()
        .unwrap()
}

#[track_caller]
fn fine(output: &Output) {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The table as `t.staffa` in a new folder.
fn stored(table: &RecordBatch) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("t.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, table.schema(), None).unwrap();
    writer.write(table).unwrap();
    writer.close().unwrap();
    fine(&staffa(
        folder.path(),
        &[
            "convert",
            "-q",
            "--no-derived-columns",
            "t.parquet",
            "t.staffa",
        ],
    ));
    folder
}

fn reported(folder: &Path, more: &[&str]) -> String {
    let output = staffa(folder, &[&["report", "t.staffa", "-o", "-"], more].concat());
    fine(&output);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}

fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn numbers(rows: i64) -> ArrayRef {
    Arc::new(
        (0..rows)
            .map(|i| (i % 5 != 2).then_some(i))
            .collect::<Int64Array>(),
    )
}

/// Columns of many kinds.
fn usual_table() -> RecordBatch {
    let rows = 150_000;
    let sorted: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let text: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..rows).map(|i| format!("city {}", i * 7919 % 90)),
    ));
    let part: ArrayRef = Arc::new(Float64Array::from_iter_values(
        (0..rows).map(|i| i as f64 / 4.0),
    ));
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(
        Arc::new(Field::new("x.y", DataType::Float64, true)),
        part,
    )]));
    table(vec![
        ("id", sorted),
        ("holes", numbers(rows)),
        ("city", text),
        ("point", nested),
    ])
}

#[test]
fn every_column_and_every_part_of_the_page_is_there() {
    let folder = stored(&usual_table());
    let page = reported(folder.path(), &[]);
    well_formed(&page);
    for part in [
        "<title>t.staffa: Staffa report</title>",
        "<b>150,000</b>",
        "<b>id</b>",
        "<b>holes</b>",
        "<b>city</b>",
        "<b>point.<wbr>x.<wbr>y</b> <small>Float64</small>",
        "Parquet zstd-3",
        "Parquet snappy",
        "<small>ascending</small>",
        "<small>scattered, 100%</small>",
        "20.0%<span class=\"vh\"> NULLs",
        "class=\"map\" id=\"map\" role=\"img\"",
        "<caption>Bytes per column and encoding",
        "<td>city 89</td>",
        "<i>NULL</i>",
        "149,999</th>",
        "href=\"#main\"",
        // Distributions: of numbers, and of texts with few values.
        "class=\"hist\"",
        "Histogram from 0 to",
        "<small>city 0 1.1%, 89 others</small>",
        "of all rows",
        // The smallest and the largest value, the distinct ones.
        "<span class=\"cm\"><span>0</span><span>149999</span></span>",
        ">90<span class=\"vh\"> distinct",
        "<dt>Path</dt><dd>t.staffa</dd>",
        "<dt>Format version</dt>",
        "<dt>Written by</dt>",
        "<dt>File id</dt>",
        "<dt>Modified</dt>",
        "<dt>Sorted by</dt><dd>no declared order</dd>",
        "data-of=\"rows\"",
        "data-sort=\"name\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(
        !page.contains("http")
            || page.matches("http").count() == page.matches("http-equiv").count()
    );
    let without = reported(folder.path(), &["--parquet", "never", "--rows", "0"]);
    well_formed(&without);
    assert!(without.contains("Not measured.") && !without.contains("<td>city 89</td>"));
}

#[test]
fn names_and_values_of_strangers_are_only_text() {
    let text = |i: usize| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(
            (0..50).map(|row| HOSTILE[(i + row) % 7]),
        ))
    };
    let columns = (0..7).map(|i| (HOSTILE[i], text(i))).collect();
    let folder = stored(&table(columns));
    let name = "<i>&.staffa";
    fs::copy(folder.path().join("t.staffa"), folder.path().join(name)).unwrap();
    let output = staffa(folder.path(), &["report", name, "-o", "-"]);
    let few = String::from_utf8(output.stdout).unwrap();
    // Of many columns, the details wait as text in the page.
    let names: Vec<String> = (0..250).map(|i| format!("{}{i}", HOSTILE[i % 7])).collect();
    let folder = stored(&table(
        names
            .iter()
            .enumerate()
            .map(|(i, name)| (name.as_str(), text(i)))
            .collect(),
    ));
    for page in [few, reported(folder.path(), &[])] {
        well_formed(&page);
        assert!(
            page.contains("&lt;script&gt;alert(1)&lt;/script&gt;")
                && page.contains("a&#39;b&amp;amp;c")
        );
        for (hostile, times) in [
            ("<img", 0),
            ("alert(1)</script", 0),
            ("<!--", 0),
            ("\u{202e}", 0),
            ("\u{2028}", 0),
            ("\u{2029}", 0),
            ("\u{61c}", 0),
            ("\u{1b}", 0),
            ("<i>&", 0),
        ] {
            assert_eq!(page.matches(hostile).count(), times, "{hostile:?}");
        }
    }
}

#[test]
fn two_thousand_columns_make_a_page_of_a_few_megabytes() {
    let names: Vec<String> = (0..2000).map(|i| format!("sensor_{i:04}")).collect();
    let folder = stored(&table(
        names
            .iter()
            .map(|name| (name.as_str(), numbers(200)))
            .collect(),
    ));
    let page = reported(folder.path(), &[]);
    well_formed(&page);
    assert!(page.len() < 5_000_000, "{}", page.len());
    for name in [&names[0], &names[999], &names[1999]] {
        assert!(page.contains(&format!("<b>{name}</b>")), "{name}");
    }
    assert!(page.contains("The first 40 of 2,000 columns") && page.contains("class=\"lazy\""));
}

#[test]
fn a_hundred_columns_are_less_than_a_mebibyte() {
    let columns = |i: i64| -> ArrayRef {
        match i % 3 {
            0 => Arc::new(Int64Array::from_iter_values(
                (0..70_000).map(|row| row * row * i % 9973),
            )),
            1 => Arc::new(StringArray::from_iter_values(
                (0..70_000).map(|row| format!("a value of some length {}", row * i % 97)),
            )),
            _ => Arc::new(Float64Array::from_iter_values(
                (0..70_000).map(|row| (row * i % 8191) as f64 / 7.0),
            )),
        }
    };
    let names: Vec<String> = (0..100).map(|i| format!("column_{i}")).collect();
    let columns = names
        .iter()
        .zip(0..)
        .map(|(name, i)| (name.as_str(), columns(i)));
    let folder = stored(&table(columns.collect()));
    let page = reported(folder.path(), &["--parquet", "never"]);
    well_formed(&page);
    assert!(page.len() < 1 << 20, "{}", page.len());
}

#[test]
fn metadata_is_shown() {
    let schema = arrow_schema::Schema::new_with_metadata(
        vec![Field::new("n", DataType::Int64, true)],
        [("made <by>".to_owned(), "a & b".to_owned())].into(),
    );
    let table = RecordBatch::try_new(Arc::new(schema), vec![numbers(100)]).unwrap();
    let page = reported(stored(&table).path(), &[]);
    well_formed(&page);
    assert!(page.contains("made &lt;by&gt;</th><td>schema</td><td>a &amp; b</td>"));
}

#[test]
fn a_page_appears_whole_or_not_at_all() {
    let folder = stored(&table(vec![("id", numbers(100))]));
    let run = |args: &[&str]| staffa(folder.path(), &[&["report"], args].concat());
    let refused = |args: &[&str], code: i32, why: &str| {
        let output = run(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(why) && said.lines().count() == 1, "{said}");
    };
    fine(&run(&["t.staffa", "-o", "t.html"]));
    let page = fs::read(folder.path().join("t.html")).unwrap();
    assert!(
        page == reported(folder.path(), &[]).into_bytes(),
        "the same file makes the same page"
    );
    refused(&["t.staffa", "-o", "t.html"], 3, "--force");
    fine(&run(&["t.staffa", "-q", "--force", "-o", "t.html"]));
    let table = fs::read(folder.path().join("t.staffa")).unwrap();
    refused(
        &["t.staffa", "--force", "-o", "t.staffa"],
        2,
        "would replace the table",
    );
    refused(&["none.staffa", "-o", "n.html"], 3, "no such file");
    refused(&["t.staffa", "-o", "none/n.html"], 3, "none/n.html");
    refused(&["t.staffa"], 2, "--output");
    fs::write(folder.path().join("cut.staffa"), &table[..table.len() / 2]).unwrap();
    refused(&["cut.staffa", "-o", "n.html"], 1, "cut.staffa");
    let mut flipped = table.clone();
    flipped[12] ^= 1;
    fs::write(folder.path().join("flipped.staffa"), &flipped).unwrap();
    refused(&["flipped.staffa", "-o", "n.html"], 1, "flipped.staffa");
    assert_eq!(fs::read(folder.path().join("t.staffa")).unwrap(), table);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
}

#[test]
fn tables_without_rows_or_values_have_a_page() {
    let empty = stored(&table(vec![("id", numbers(0))]));
    let page = reported(empty.path(), &[]);
    well_formed(&page);
    assert!(page.contains("There are no rows to write.") && page.contains("There are none."));
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![None; 10]));
    let page = reported(stored(&table(vec![("", nulls)])).path(), &[]);
    well_formed(&page);
    assert!(page.contains("only NULLs"));
}

#[test]
fn dictionaries_that_do_not_go_into_one_have_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let batch = |first: i32| {
        let values: Vec<String> = (first..first + 100).map(|i| format!("city {i}")).collect();
        let keys = Int8Array::from_iter_values(0..100);
        let array = DictionaryArray::new(keys, Arc::new(StringArray::from(values)));
        table(vec![("city", Arc::new(array))])
    };
    let mut options = staffa::WriteOptions::default();
    options.row_group_rows = 100;
    let batches: Vec<RecordBatch> = (0..5).map(|i| batch(i * 100)).collect();
    let bytes = staffa::to_bytes(batches[0].schema(), &batches, options).unwrap();
    fs::write(folder.path().join("t.staffa"), bytes).unwrap();
    well_formed(&reported(folder.path(), &[]));
}
