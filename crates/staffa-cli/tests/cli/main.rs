//! The program as a user meets it: run on small tables, looked at from outside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::format_push_string
)]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use tempfile::TempDir;

/// A folder with tables, and the program run in it.
struct Bench {
    folder: TempDir,
}

/// What came out.
struct Ran {
    code: i32,
    out: Vec<u8>,
    err: String,
}

impl Ran {
    fn text(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }

    fn json(&self) -> Value {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        serde_json::from_slice(&self.out).unwrap()
    }

    /// All went well and nothing was said on stderr.
    #[track_caller]
    fn fine(self) -> Self {
        assert_eq!(
            (self.code, self.err.as_str()),
            (0, ""),
            "{}",
            String::from_utf8_lossy(&self.out)
        );
        self
    }

    /// One sentence on stderr that holds all of `parts`, and this exit code.
    #[track_caller]
    fn refused(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{}", self.err);
        assert!(self.err.starts_with("staffa: "), "{}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        for part in parts {
            assert!(
                self.err.contains(part),
                "expected {part:?} in: {}",
                self.err
            );
        }
    }
}

impl Bench {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// With `t.parquet` and `t.staffa` of `rows` rows.
    fn with_table(rows: usize) -> Self {
        let bench = Self::new();
        write_parquet(&bench.path("t.parquet"), &[table(rows)]);
        bench.run("convert -q t.parquet t.staffa").fine();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_staffa"));
        command.current_dir(self.folder.path()).args(words(line));
        command
    }

    fn run(&self, line: &str) -> Ran {
        self.run_with(line, b"")
    }

    fn run_with(&self, line: &str, input: &[u8]) -> Ran {
        let mut command = self.command(line);
        let pipes = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // The program may leave before it has read all.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: output.stdout,
            err,
        }
    }

    /// Files of the folder, to see that nothing is left behind.
    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Splits at spaces; double quotes hold a word together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_string());
        } else {
            words.extend(part.split_whitespace().map(String::from));
        }
    }
    words
}

/// Numbers, texts, times, NULLs: everything that CSV holds.
fn table(rows: usize) -> RecordBatch {
    let n = rows as i64;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..n))),
        (
            "price",
            Arc::new(
                (0..n)
                    .map(|i| (i % 7 != 3).then_some(i as f64 * 0.25))
                    .collect::<Float64Array>(),
            ),
        ),
        (
            "city",
            Arc::new(
                (0..n)
                    .map(|i| (i % 11 != 5).then(|| format!("city {}", i % 5)))
                    .collect::<StringArray>(),
            ),
        ),
        (
            "open",
            Arc::new((0..n).map(|i| Some(i % 3 == 0)).collect::<BooleanArray>()),
        ),
        (
            "day",
            Arc::new(Date32Array::from_iter_values(
                (0..rows as i32).map(|i| 20_000 + i / 10),
            )),
        ),
        (
            "at",
            Arc::new(TimestampMicrosecondArray::from_iter_values(
                (0..n).map(|i| 1_700_000_000_000_000 + i * 1001),
            )),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

/// Lists and structs as well.
fn nested(rows: usize) -> RecordBatch {
    let mut tags = ListBuilder::new(StringBuilder::new());
    for row in 0..rows {
        for tag in 0..row % 4 {
            tags.values().append_value(format!("tag {tag}"));
        }
        tags.append(row % 9 != 4);
    }
    let x: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let point = StructArray::from(vec![(Arc::new(Field::new("x", DataType::Int64, true)), x)]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("tags", Arc::new(tags.finish())),
        ("point", Arc::new(point)),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn write_parquet(path: &Path, batches: &[RecordBatch]) {
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batches[0].schema(), None).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.close().unwrap();
}

fn read_parquet(path: &Path) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap())
        .unwrap()
        .build()
        .unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

#[test]
fn every_format_gives_back_what_parquet_held() {
    let bench = Bench::new();
    let rows = 20_000;
    for (name, table) in [("flat", table(rows)), ("nested", nested(rows))] {
        write_parquet(
            &bench.path(&format!("{name}.parquet")),
            std::slice::from_ref(&table),
        );
        bench
            .run(&format!("convert -q {name}.parquet {name}.staffa"))
            .fine();
        for ending in ["back.parquet", "arrow", "arrows", "jsonl"] {
            bench
                .run(&format!("convert -q {name}.staffa {name}.{ending}"))
                .fine();
        }
        assert_eq!(
            read_parquet(&bench.path(&format!("{name}.back.parquet"))),
            table
        );
        let file = FileReader::try_new(
            File::open(bench.path(&format!("{name}.arrow"))).unwrap(),
            None,
        )
        .unwrap();
        let batches: Vec<_> = file.map(Result::unwrap).collect();
        assert_eq!(concat_batches(&table.schema(), &batches).unwrap(), table);
        let stream = StreamReader::try_new(
            File::open(bench.path(&format!("{name}.arrows"))).unwrap(),
            None,
        )
        .unwrap();
        let batches: Vec<_> = stream.map(Result::unwrap).collect();
        assert_eq!(concat_batches(&table.schema(), &batches).unwrap(), table);
        // Text has no types to compare, so text that never was Staffa is the measure.
        bench
            .run(&format!("convert -q {name}.parquet {name}.direct.jsonl"))
            .fine();
        let text = fs::read_to_string(bench.path(&format!("{name}.jsonl"))).unwrap();
        assert_eq!(text.lines().count(), rows);
        assert!(text == fs::read_to_string(bench.path(&format!("{name}.direct.jsonl"))).unwrap());
        // From there to Staffa and out again.
        for ending in ["arrow", "arrows", "jsonl"] {
            bench
                .run(&format!("convert -q -f {name}.{ending} again.staffa"))
                .fine();
            bench.run("convert -q -f again.staffa again.jsonl").fine();
            assert!(
                text == fs::read_to_string(bench.path("again.jsonl")).unwrap(),
                "{name}.{ending}"
            );
        }
    }
    bench.run("convert -q flat.staffa flat.csv").fine();
    bench.run("convert -q flat.parquet direct.csv").fine();
    bench.run("convert -q flat.csv again.csv.staffa").fine();
    bench.run("convert -q again.csv.staffa again.csv").fine();
    let text = fs::read_to_string(bench.path("flat.csv")).unwrap();
    assert!(text == fs::read_to_string(bench.path("direct.csv")).unwrap());
    assert!(text == fs::read_to_string(bench.path("again.csv")).unwrap());
}

#[test]
fn the_standard_streams_work_for_every_format() {
    let bench = Bench::with_table(500);
    for format in ["csv", "json", "arrow", "arrows", "parquet", "staffa"] {
        let made = bench
            .run(&format!("convert -q t.staffa - --to {format}"))
            .fine();
        let back = bench
            .run_with(
                &format!("convert -q - - --from {format} --to csv"),
                &made.out,
            )
            .fine();
        assert_eq!(
            back.text(),
            bench.run("cat t.parquet --format csv").text(),
            "{format}"
        );
    }
    bench.run("convert - out.staffa").refused(2, &["--from"]);
}

#[test]
fn several_inputs_and_wildcards_become_one_table() {
    let bench = Bench::new();
    bench.write("part-1.csv", "a,b\n1,x\n2,y\n");
    bench.write("part-2.csv", "a,b\n3.5,z\n");
    bench.run("convert -q part-*.csv all.staffa").fine();
    assert_eq!(
        bench.run("cat all.staffa --format csv").fine().text(),
        "a,b\n1.0,x\n2.0,y\n3.5,z\n"
    );
    assert_eq!(
        bench.run("count part-*.csv").fine().text(),
        "2  part-1.csv\n1  part-2.csv\n3  in all\n"
    );
    bench
        .run("convert none-*.csv out.staffa")
        .refused(3, &["none-*.csv", "no file matches"]);
    bench
        .run("convert part-1.csv part-2.csv part-2.csv --force")
        .refused(2, &["part-2.csv", "output"]);
}

#[test]
fn inputs_that_differ_are_refused_by_file_and_column() {
    let bench = Bench::new();
    bench.write("a.csv", "a,b\n1,x\n");
    bench.write("b.csv", "a,c\n1,x\n");
    bench.write("c.csv", "a,b\n1,2\n");
    bench
        .run("convert a.csv b.csv out.staffa")
        .refused(2, &["b.csv", "\"c\"", "\"b\" in a.csv"]);
    bench
        .run("convert a.csv c.csv out.staffa")
        .refused(2, &["c.csv", "\"b\" is Int64", "Utf8 in a.csv", "--text b"]);
    assert_eq!(bench.files(), ["a.csv", "b.csv", "c.csv"]);
    bench
        .run("convert -q a.csv c.csv out.staffa --text b")
        .fine();
}

#[test]
fn rows_and_columns_are_selected_alike_in_every_format() {
    let bench = Bench::with_table(5000);
    bench.run("convert -q t.staffa t.csv").fine();
    bench.run("convert -q t.staffa t.arrow").fine();
    let filter = "price < 10 and city in ('city 1', 'city 2') or id = 4999";
    let expected = bench
        .run(&format!(
            "cat t.staffa --format csv --columns city,id --where \"{filter}\""
        ))
        .fine()
        .text();
    assert_eq!(expected.lines().next(), Some("city,id"));
    assert!(
        expected.lines().count() > 10 && expected.ends_with(",4999\n"),
        "{expected}"
    );
    for file in ["t.parquet", "t.csv", "t.arrow"] {
        let found = bench
            .run(&format!(
                "cat {file} --format csv --columns city,id --where \"{filter}\""
            ))
            .fine();
        assert_eq!(found.text(), expected, "{file}");
        let count = bench
            .run(&format!("count {file} --where \"{filter}\""))
            .fine()
            .text();
        assert_eq!(
            count.trim().parse::<usize>().unwrap(),
            expected.lines().count() - 1,
            "{file}"
        );
        bench
            .run(&format!(
                "convert -q -f {file} some.staffa --columns city,id --where \"{filter}\""
            ))
            .fine();
        assert_eq!(
            bench.run("cat some.staffa --format csv").fine().text(),
            expected,
            "{file}"
        );
    }
    assert_eq!(
        bench
            .run("cat t.staffa t.parquet --limit 5003 --format csv")
            .fine()
            .text()
            .lines()
            .count(),
        5004
    );
    assert_eq!(
        bench
            .run("head t.staffa -n 3 --format csv --columns id")
            .fine()
            .text(),
        "id\n0\n1\n2\n"
    );
    assert_eq!(
        bench
            .run("head t.staffa -n 0 --format csv --columns id")
            .fine()
            .text(),
        "id\n"
    );
}

#[test]
fn tables_are_printed_for_people() {
    let bench = Bench::with_table(20);
    let text = bench
        .run("head t.staffa -n 4 --columns id,price,city")
        .fine()
        .text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "   id    price  city",
            "Int64  Float64  Utf8",
            "─────  ───────  ──────"
        ]
    );
    assert_eq!(lines[6], "    3     NULL  city 3");
    assert_eq!(lines.len(), 7);
    assert!(
        bench
            .run("schema t.staffa")
            .fine()
            .text()
            .contains("price   Float64")
    );
}

#[test]
fn json_parses_wherever_it_is_offered() {
    let bench = Bench::with_table(3000);
    let schema = bench.run("schema t.staffa --json").json();
    assert_eq!(
        (&schema["rows"], &schema["fields"][1]["name"]),
        (&3000.into(), &"price".into())
    );
    assert_eq!(
        bench.run("count t.staffa t.parquet --json").json()["rows"],
        6000
    );
    let inspect = bench.run("inspect t.staffa --json").json();
    assert_eq!(
        (&inspect["rows"], &inspect["columns"][0]["path"]),
        (&3000.into(), &"id".into())
    );
    assert_eq!(
        bench.run("inspect t.staffa --json --column price").json()["columns"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let size = bench.run("size t.staffa --json").json();
    let columns: u64 = size["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(
        columns + size["other_bytes"].as_u64().unwrap(),
        fs::metadata(bench.path("t.staffa")).unwrap().len()
    );
    assert_eq!(
        bench.run("explain t.staffa --json").json()["columns"][2]["column"],
        "city"
    );
    assert_eq!(bench.run("verify t.staffa --json").json()[0]["ok"], true);
    assert!(bench.run("encodings --json").json()[0]["name"].is_string());
    for command in ["head t.staffa --json", "cat t.staffa --format json"] {
        let text = bench.run(command).fine().text();
        assert_eq!(
            serde_json::from_str::<Value>(text.lines().nth(3).unwrap()).unwrap()["price"],
            Value::Null
        );
    }
    let measured = bench.run("bench t.staffa --runs 1 --json").json();
    assert_eq!(
        (&measured["rows"], &measured["verified"]),
        (&3000.into(), &true.into())
    );
    assert!(
        measured["variants"]["parquet snappy"]["bytes"]
            .as_u64()
            .unwrap()
            > 0
    );
    assert!(measured["staffa_scan_gb_per_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn aggregates_are_printed() {
    let bench = Bench::with_table(3000);
    let found = bench
        .run("aggregate t.staffa id=min,max,rows price=nulls --json")
        .json();
    assert_eq!(
        (&found["min(id)"], &found["rows(id)"]),
        (&0.into(), &3000.into()),
        "{found}"
    );
    let some = bench
        .run("aggregate t.staffa id=max --where id<10 --json")
        .json();
    assert_eq!(some["max(id)"], 9, "{some}");
    assert!(
        bench
            .run("aggregate t.staffa city=distinct")
            .fine()
            .text()
            .contains("distinct(city)")
    );
    bench
        .run("aggregate t.staffa nope=min")
        .refused(2, &["\"nope\"", "id, price, city"]);
    assert_eq!(bench.run("aggregate t.staffa id=mean").code, 2);
}

#[test]
fn what_a_file_is_made_of_is_shown() {
    let bench = Bench::with_table(3000);
    for command in [
        "inspect t.staffa",
        "inspect t.staffa --column price --blocks",
        "size t.staffa",
        "explain t.staffa",
    ] {
        assert!(
            bench.run(command).fine().text().contains("price"),
            "{command}"
        );
    }
    assert!(
        bench
            .run("explain t.staffa --blocks")
            .fine()
            .text()
            .contains("encodings")
    );
    let why = bench
        .run("explain t.staffa --column city --why")
        .fine()
        .text();
    assert!(
        why.contains("chosen: ") && why.contains("about ") && why.contains("cannot hold the type"),
        "{why}"
    );
    assert!(!why.contains("price"), "{why}");
    assert!(
        why.contains("shared by the blocks of row group 0: none, there is one block"),
        "{why}"
    );
    assert!(
        why.contains("told by other columns: none seems to make it smaller"),
        "{why}"
    );
    let line = |i: usize| format!("{},{}", i * i % 7919, i * i % 7919 + i % 3);
    let lines: Vec<String> = (0..3000).map(line).collect();
    bench.write("told.csv", format!("a,b\n{}\n", lines.join("\n")));
    bench.run("convert -q told.csv told.staffa").fine();
    let told = bench
        .run("explain told.staffa --why --column a")
        .fine()
        .text();
    assert!(
        told.contains("difference: b") && told.contains("taken"),
        "{told}"
    );
    let why = bench.run("explain t.staffa --why --json").json();
    assert!(
        why["columns"][2]["considered"]
            .as_array()
            .is_some_and(|all| all.len() > 20),
        "{why}"
    );
    assert!(
        !bench
            .run("explain t.staffa --column city")
            .fine()
            .text()
            .contains("price")
    );
    assert!(
        bench
            .run("verify t.staffa")
            .fine()
            .text()
            .starts_with("t.staffa: ok, 3,000 rows in ")
    );
    assert!(
        bench
            .run("bench t.parquet --runs 1 --limit 1000")
            .fine()
            .text()
            .contains("staffa balanced")
    );
    for command in ["inspect", "explain"] {
        bench
            .run(&format!("{command} t.staffa --column nope"))
            .refused(2, &["\"nope\"", "id, price, city"]);
    }
}

#[test]
fn files_that_are_missing_or_not_staffa_are_refused() {
    let bench = Bench::with_table(10);
    bench.write(
        "text.staffa",
        "not a table at all, but long enough to be one, were it only built like one\n",
    );
    bench.write("empty.staffa", "");
    for command in [
        "schema", "count", "head", "cat", "inspect", "size", "explain", "verify", "bench",
    ] {
        bench
            .run(&format!("{command} none.staffa"))
            .refused(3, &["none.staffa", "no such file"]);
        bench
            .run(&format!("{command} text.staffa"))
            .refused(1, &["text.staffa"]);
        bench
            .run(&format!("{command} empty.staffa"))
            .refused(1, &["empty.staffa"]);
        bench
            .run(&format!("{command} ."))
            .refused(3, &["directory"]);
    }
}

#[test]
fn truncated_and_flipped_bytes_are_found() {
    let bench = Bench::with_table(5000);
    let whole = fs::read(bench.path("t.staffa")).unwrap();
    for cut in [1, whole.len() / 2, whole.len() - 1] {
        bench.write("cut.staffa", &whole[..cut]);
        bench.run("verify cut.staffa").refused(1, &["cut.staffa"]);
        bench
            .run("cat cut.staffa --format csv")
            .refused(1, &["cut.staffa"]);
    }
    for at in (0..whole.len()).step_by(whole.len() / 23) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        bench.write("flipped.staffa", &flipped);
        let ran = bench.run("verify flipped.staffa");
        assert!(
            ran.code == 1 || ran.code == 4,
            "byte {at}: {} {}",
            ran.code,
            ran.err
        );
        assert!(ran.err.starts_with("staffa: flipped.staffa"), "{}", ran.err);
    }
    // The others are still checked, and the answer for programs says which.
    let ran = bench.run("verify flipped.staffa t.staffa cut.staffa --json");
    let results: Value = serde_json::from_slice(&ran.out).unwrap();
    let ok: Vec<_> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["ok"].as_bool().unwrap())
        .collect();
    assert_eq!((ran.code, ok), (1, vec![false, true, false]));
    // A failed conversion leaves nothing behind.
    let before = bench.files();
    bench
        .run("convert cut.staffa out.csv")
        .refused(1, &["cut.staffa"]);
    bench
        .run("convert cut.staffa out.staffa")
        .refused(1, &["cut.staffa"]);
    assert_eq!(bench.files(), before);
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let bench = Bench::with_table(100);
    let before = bench.files();
    for file in ["t.staffa", "t.parquet"] {
        bench
            .run(&format!("head {file} --columns id,prise"))
            .refused(2, &["\"prise\"", "id, price, city"]);
        bench
            .run(&format!("cat {file} --where \"prise < 3\""))
            .refused(2, &["prise"]);
        bench
            .run(&format!("count {file} --where \"price < 'cheap'\""))
            .refused(2, &["price"]);
        bench
            .run(&format!("count {file} --where \"price <\""))
            .refused(2, &["--where"]);
    }
    bench
        .run("convert t.parquet out.staffa --encoding price=nope")
        .refused(2, &["nope"]);
    bench
        .run("convert t.parquet out.staffa --encoding prise=plain")
        .refused(2, &["prise"]);
    bench
        .run("convert t.parquet out.staffa --encoding price=fsst")
        .refused(2, &["price", "fsst"]);
    bench.run("convert t.parquet out.staffa --encoding id=constant").refused(
        2,
        &["column \"id\": constant cannot hold row 1, value 1: it holds a block of values that are all alike"],
    );
    for option in [
        "--profile small",
        "--access random",
        "--column-profile id=small",
        "--max-error price=0.1",
    ] {
        let name = option.split(' ').next().unwrap();
        bench
            .run(&format!("convert t.parquet out.csv {option}"))
            .refused(2, &[name]);
    }
    bench
        .run("convert t.parquet out.staffa --column-profile id=tiny")
        .refused(2, &["fast, balanced or small", "tiny"]);
    bench
        .run("convert t.parquet out.staffa --column-profile prise=fast")
        .refused(2, &["prise"]);
    for (asked, why) in [
        ("id=0.1", "floats of 32 and 64 bits"),
        ("price=0", "positive"),
        ("price=x", "a number"),
    ] {
        bench
            .run(&format!("convert t.parquet out.staffa --max-error {asked}"))
            .refused(2, &[why]);
    }
    bench
        .run("convert t.parquet out.staffa --without nope")
        .refused(2, &["nope", "run_end"]);
    bench
        .run("convert t.parquet out.staffa --without plain")
        .refused(2, &["plain cannot be left out"]);
    bench
        .run("convert t.parquet out.csv --without text")
        .refused(2, &["--without"]);
    bench
        .run("convert t.parquet out.txt")
        .refused(2, &["out.txt", "--to"]);
    bench
        .run("convert t.parquet out.staffa --row-group-rows 0")
        .refused(2, &["--row-group-rows"]);
    bench
        .run("convert t.parquet")
        .refused(2, &["an input and an output", "--help"]);
    bench.run("frobnicate").refused(2, &["frobnicate"]);
    bench
        .run("convert t.parquet none/out.staffa")
        .refused(3, &["none/out.staffa"]);
    bench
        .run("convert t.parquet none/out.csv")
        .refused(3, &["none/out.csv", "no such file"]);
    assert_eq!(bench.files(), before);
}

#[test]
fn floats_are_rounded_where_that_is_asked_for() {
    let bench = Bench::with_table(3000);
    bench
        .run("convert -q t.parquet r.staffa --max-error price=0.25 --access random --column-profile city=small")
        .fine();
    assert!(
        bench
            .run("explain r.staffa --column price")
            .fine()
            .text()
            .contains("fixed_point")
    );
    assert_eq!(
        bench.run("schema r.staffa --json").json()["fields"][1]["metadata"]["staffa.max_error"],
        "0.25"
    );
    let prices = |file: &str| -> Vec<f64> {
        let text = bench
            .run(&format!("cat {file} --columns price --format csv"))
            .fine()
            .text();
        text.lines()
            .skip(1)
            .map(|line| line.parse().unwrap_or(f64::NAN))
            .collect()
    };
    let (exact, rounded) = (prices("t.staffa"), prices("r.staffa"));
    assert!(
        exact
            .iter()
            .zip(&rounded)
            .all(|(a, b)| a.is_nan() == b.is_nan() && (a.is_nan() || (a - b).abs() <= 0.25))
    );
    assert_ne!(exact, rounded);
}

#[test]
fn what_exists_is_kept_unless_forced() {
    let bench = Bench::with_table(100);
    let before = fs::read(bench.path("t.staffa")).unwrap();
    bench
        .run("convert t.parquet t.staffa --profile small")
        .refused(3, &["t.staffa", "--force"]);
    assert_eq!(fs::read(bench.path("t.staffa")).unwrap(), before);
    bench.write("t.csv", "mine");
    bench
        .run("convert t.parquet t.csv")
        .refused(3, &["t.csv", "--force"]);
    bench.run("convert -q t.parquet t.csv --force").fine();
    bench
        .run("convert -q t.staffa t.staffa --force --columns id")
        .fine();
    assert_eq!(
        bench.run("head t.staffa -n 1 --format csv").fine().text(),
        "id\n0\n"
    );
    // Options may stand anywhere.
    bench
        .run("convert t.parquet --quiet --columns id,price t.jsonl --where \"id = 7\"")
        .fine();
    assert_eq!(
        fs::read_to_string(bench.path("t.jsonl")).unwrap(),
        "{\"id\":7,\"price\":1.75}\n"
    );
}

#[test]
fn text_that_does_not_parse_is_named_by_row_and_column() {
    let bench = Bench::new();
    let mut csv = "id,price\n".to_string();
    let mut json = String::new();
    for row in 0..10_500 {
        csv += &format!("{row},{}\n", if row == 10_400 { "cheap" } else { "1.5" });
        json += &format!(
            "{{\"id\":{row},\"price\":{}}}\n",
            if row == 10_400 { "\"cheap\"" } else { "1.5" }
        );
    }
    bench.write("t.csv", &csv);
    bench.write("t.jsonl", &json);
    for file in ["t.csv", "t.jsonl"] {
        let ran = bench.run(&format!("convert {file} t.staffa"));
        ran.refused(
            1,
            &[
                file,
                "row 10401",
                "column \"price\"",
                "cheap",
                "--infer-rows",
            ],
        );
        assert!(!bench.path("t.staffa").exists());
        bench
            .run(&format!("convert -q {file} t.staffa --infer-rows 0"))
            .fine();
        assert_eq!(
            bench
                .run("count t.staffa --where \"price = 'cheap'\"")
                .fine()
                .text(),
            "1\n"
        );
        fs::remove_file(bench.path("t.staffa")).unwrap();
    }
    bench.write("wide.csv", "a,b\n1,2\n1,2,3\n");
    bench
        .run("convert wide.csv t.staffa")
        .refused(1, &["wide.csv", "2"]);
    bench.write("latin.csv", b"a\ncaf\xe9\n");
    bench
        .run("convert latin.csv t.staffa")
        .refused(1, &["latin.csv", "UTF-8"]);
    bench.write("array.json", "[{\"a\":1}]");
    bench
        .run("convert array.json t.staffa")
        .refused(1, &["array.json", "one object per line"]);
    bench.write("not.parquet", "no");
    bench
        .run("convert not.parquet t.staffa")
        .refused(1, &["not.parquet"]);
    bench.write("not.arrow", "no");
    bench
        .run("convert not.arrow t.staffa")
        .refused(1, &["not.arrow"]);
}

#[test]
fn csv_holds_no_lists() {
    let bench = Bench::new();
    write_parquet(&bench.path("n.parquet"), &[nested(10)]);
    bench
        .run("convert n.parquet n.csv")
        .refused(4, &["n.csv", "\"tags\""]);
    assert_eq!(bench.files(), ["n.parquet"]);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let bench = Bench::with_table(200_000);
    for command in [
        "cat t.staffa",
        "cat t.staffa --format csv",
        "cat t.staffa --json",
        "convert t.staffa - --to arrows",
    ] {
        let mut child = bench
            .command(command)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut some = [0; 100];
        stdout.read_exact(&mut some).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stderr).as_ref()
            ),
            (Some(0), ""),
            "{command}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_nothing_behind() {
    let bench = Bench::new();
    // A pipe that never ends: the program waits in the middle of its input.
    let mut child = bench
        .command("convert - out.csv --from csv --infer-rows 1")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut send = |rows: usize| {
        stdin
            .write_all(if rows == 0 { b"a\n" } else { b"1\n" })
            .and_then(|()| stdin.write_all(&b"1\n".repeat(rows)))
    };
    send(0).unwrap();
    send(200_000).unwrap();
    let kill = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    // The flag is looked at with the next batch.
    while child.try_wait().unwrap().is_none() && send(10_000).is_ok() {}
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(bench.files().is_empty(), "{:?}", bench.files());
}

#[test]
fn help_has_examples_and_exit_codes() {
    let bench = Bench::new();
    let help = bench.run("--help").fine().text();
    assert!(
        help.contains("Exit codes:") && help.contains("explain"),
        "{help}"
    );
    for command in [
        "convert",
        "schema",
        "count",
        "head",
        "cat",
        "inspect",
        "size",
        "explain",
        "report",
        "verify",
        "bench",
        "encodings",
    ] {
        let help = bench.run(&format!("{command} --help")).fine().text();
        assert!(
            help.contains("Example") && help.contains(&format!("  staffa {command}")),
            "{help}"
        );
    }
    assert!(
        bench
            .run("completions bash")
            .fine()
            .text()
            .contains("staffa")
    );
}
