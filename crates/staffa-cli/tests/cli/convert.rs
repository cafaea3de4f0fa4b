//! `convert`: formats, several inputs, the options of the writer.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_select::concat::concat_batches;

use crate::program::Program;
use crate::tables::{nested, read_parquet, table, write_parquet};

const ROWS: usize = 20_000;

/// A program with `t.parquet` and `t.staffa` of a table.
fn with(table: &RecordBatch) -> Program {
    let program = Program::new();
    write_parquet(&program.path("t.parquet"), std::slice::from_ref(table));
    program.run("convert -q t.parquet t.staffa").succeeds();
    program
}

#[test]
fn typed_formats_round_trip() {
    for table in [table(ROWS), nested(ROWS)] {
        let program = with(&table);
        for ending in ["back.parquet", "arrow", "arrows"] {
            let line = format!("convert -q t.staffa t.{ending}");
            program.run(&line).succeeds();
        }
        assert_eq!(read_parquet(&program.path("t.back.parquet")), table);
        let file = File::open(program.path("t.arrow")).unwrap();
        let batches = FileReader::try_new(file, None).unwrap();
        let batches: Vec<_> = batches.map(Result::unwrap).collect();
        assert_eq!(concat_batches(&table.schema(), &batches).unwrap(), table);
        let stream = File::open(program.path("t.arrows")).unwrap();
        let batches = StreamReader::try_new(stream, None).unwrap();
        let batches: Vec<_> = batches.map(Result::unwrap).collect();
        assert_eq!(concat_batches(&table.schema(), &batches).unwrap(), table);
    }
}

/// Text has no types: it is compared with text that never was Staffa.
#[test]
fn text_round_trips() {
    for (table, text) in [
        (table(ROWS), "csv"),
        (table(ROWS), "jsonl"),
        (nested(ROWS), "jsonl"),
    ] {
        let program = with(&table);
        let read = |file: &str| fs::read_to_string(program.path(file)).unwrap();
        let direct = format!("direct.{text}");
        program
            .run(&format!("convert -q t.parquet {direct}"))
            .succeeds();
        let expected = read(&direct);
        assert_eq!(expected.lines().count(), ROWS + usize::from(text == "csv"));
        for ending in ["parquet", "arrow", "arrows", text] {
            let (there, back) = (format!("there.{ending}"), format!("back.{text}"));
            for (from, to) in [
                ("t.staffa", there.as_str()),
                (&there, "again.staffa"),
                ("again.staffa", &back),
            ] {
                program
                    .run(&format!("convert -q -f {from} {to}"))
                    .succeeds();
            }
            assert!(read(&back) == expected, "{ending}, {text}");
        }
    }
}

#[test]
fn the_standard_streams_work_for_every_format() {
    let program = Program::with_table(500);
    for format in ["csv", "json", "arrow", "arrows", "parquet", "staffa"] {
        let made = program
            .run(&format!("convert -q t.staffa - --to {format}"))
            .succeeds();
        let back = program
            .run_with(
                &format!("convert -q - - --from {format} --to csv"),
                &made.out,
            )
            .succeeds();
        assert_eq!(
            back.text(),
            program.run("cat t.parquet --format csv").text(),
            "{format}"
        );
    }
    program.run("convert - out.staffa").fails(2, &["--from"]);
}

#[cfg(unix)]
#[test]
fn the_standard_output_is_appended_to_by_any_name() {
    let program = Program::with_table(2);
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/dev/stderr"] {
        for format in ["csv", "staffa"] {
            program.write("log", "kept\n");
            let log = || {
                File::options()
                    .append(true)
                    .open(program.path("log"))
                    .unwrap()
            };
            let status = program
                .command(&format!(
                    "convert -q t.staffa {name} --to {format} --columns id"
                ))
                .stdout(log())
                .stderr(log())
                .status()
                .unwrap();
            assert!(status.success(), "{name} {format}");
            let text = fs::read(program.path("log")).unwrap();
            assert!(
                text.starts_with(b"kept\n") && text.len() > 10,
                "{name} {format}"
            );
            assert!(format == "staffa" || text == b"kept\nid\n0\n1\n", "{name}");
        }
    }
}

#[test]
fn several_inputs_and_wildcards_become_one_table() {
    let program = Program::new();
    program.write("part-1.csv", "a,b\n1,x\n2,y\n");
    program.write("part-2.csv", "a,b\n3.5,z\n");
    program.run("convert -q part-*.csv all.staffa").succeeds();
    assert_eq!(
        program.run("cat all.staffa --format csv").succeeds().text(),
        "a,b\n1.0,x\n2.0,y\n3.5,z\n"
    );
    assert_eq!(
        program.run("count part-*.csv").succeeds().text(),
        "2  part-1.csv\n1  part-2.csv\n3  total\n"
    );
    program
        .run("convert none-*.csv out.staffa")
        .fails(3, &["none-*.csv", "no file matches"]);
    program
        .run("convert part-1.csv part-2.csv part-2.csv --force")
        .fails(2, &["part-2.csv", "output"]);
}

#[test]
fn inputs_that_differ_are_refused_by_file_and_column() {
    let program = Program::new();
    program.write("a.csv", "a,b\n1,x\n");
    program.write("b.csv", "a,c\n1,x\n");
    program.write("c.csv", "a,b\n1,2\n");
    program
        .run("convert a.csv b.csv out.staffa")
        .fails(2, &["b.csv", "\"c\"", "\"b\" in a.csv"]);
    program
        .run("convert a.csv c.csv out.staffa")
        .fails(2, &["c.csv", "\"b\" is Int64", "Utf8 in a.csv", "--text b"]);
    assert_eq!(program.files(), ["a.csv", "b.csv", "c.csv"]);
    program
        .run("convert -q a.csv c.csv out.staffa --text b")
        .succeeds();
}

#[test]
fn floats_are_rounded_on_request() {
    let program = Program::with_table(3000);
    program
        .run("convert -q t.parquet r.staffa --max-error price=0.25 --access random --column-profile city=small")
        .succeeds();
    assert!(
        program
            .run("explain r.staffa --column price")
            .succeeds()
            .text()
            .contains("fixed_point")
    );
    assert_eq!(
        program.run("schema r.staffa --json").json()["fields"][1]["metadata"]["staffa.max_error"],
        "0.25"
    );
    let prices = |file: &str| -> Vec<f64> {
        let text = program
            .run(&format!("cat {file} --columns price --format csv"))
            .succeeds()
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
fn existing_files_are_kept_without_force() {
    let program = Program::with_table(100);
    let before = fs::read(program.path("t.staffa")).unwrap();
    program
        .run("convert t.parquet t.staffa --profile small")
        .fails(3, &["t.staffa", "--force"]);
    assert_eq!(fs::read(program.path("t.staffa")).unwrap(), before);
    program.write("t.csv", "mine");
    program
        .run("convert t.parquet t.csv")
        .fails(3, &["t.csv", "--force"]);
    program.run("convert -q t.parquet t.csv --force").succeeds();
    program
        .run("convert -q t.staffa t.staffa --force --columns id")
        .succeeds();
    assert_eq!(
        program
            .run("head t.staffa -n 1 --format csv")
            .succeeds()
            .text(),
        "id\n0\n"
    );
    // Options may stand anywhere.
    program
        .run("convert t.parquet --quiet --columns id,price t.jsonl --where \"id = 7\"")
        .succeeds();
    assert_eq!(
        fs::read_to_string(program.path("t.jsonl")).unwrap(),
        "{\"id\":7,\"price\":1.75}\n"
    );
}

#[test]
fn csv_refuses_lists() {
    let program = Program::new();
    write_parquet(&program.path("n.parquet"), &[nested(10)]);
    program
        .run("convert n.parquet n.csv")
        .fails(4, &["n.csv", "\"tags\""]);
    assert_eq!(program.files(), ["n.parquet"]);
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_nothing_behind() {
    let program = Program::new();
    // A pipe that never ends: the program waits in the middle of its input.
    let mut child = program
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
    assert!(program.files().is_empty(), "{:?}", program.files());
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_a_program_that_waits_for_its_input() {
    let program = Program::new();
    for output in [
        "out.csv",
        "out.staffa --row-group-rows 1000",
        "- --to staffa",
    ] {
        let mut child = program
            .command(&format!("convert - {output} --from csv --infer-rows 1"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"a\n").unwrap();
        // More than the pipe and the buffers of the program hold: it reads, and then waits for more.
        stdin.write_all(&b"1\n".repeat(500_000)).unwrap();
        let kill = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap();
        assert!(kill.success());
        let outcome = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&outcome.stderr);
        assert_eq!(outcome.status.code(), Some(130), "{output}: {said}");
        assert_eq!(
            said, "staffa: interrupted, no file was written\n",
            "{output}"
        );
        assert!(
            program.files().is_empty(),
            "{output}: {:?}",
            program.files()
        );
        drop(stdin);
    }
}

#[test]
fn an_edition_is_written_and_verified() {
    let program = Program::new();
    let text: String = (0..5000).fold("x\n".to_owned(), |all, i: u64| {
        all + &format!("{}.{:06}\n", i * i % 977, i * 7919 % 1_000_003)
    });
    fs::write(program.path("t.csv"), text).unwrap();
    program
        .run("convert -q t.csv all.staffa --encoding x=pco --metadata source=survey --metadata note=")
        .succeeds();
    program.run("verify all.staffa").succeeds();
    let refused = program.run("verify all.staffa --reader core-1");
    refused.fails(
        4,
        &["a reader of core-1 cannot read it: column \"x\" needs pco"],
    );
    program
        .run("convert -q t.csv core.staffa --profile small --edition core-1")
        .succeeds();
    program.run("verify core.staffa --reader core-1").succeeds();
    let inspected = program.run("inspect all.staffa").succeeds().out;
    assert!(String::from_utf8_lossy(&inspected).contains("source: survey"));
    program
        .run("convert t.csv wrong.staffa --edition core-9")
        .fails(2, &["core-9", "core-1"]);
    program
        .run("convert t.csv wrong.parquet --edition core-1")
        .fails(2, &["--edition is for Staffa output"]);
    assert!(!program.path("wrong.staffa").exists() && !program.path("wrong.parquet").exists());
}

#[test]
fn the_order_of_rows_is_declared_and_checked() {
    let program = Program::new();
    fs::write(program.path("t.csv"), "a,b\n1,y\n1,x\n2,z\n").unwrap();
    program
        .run("convert -q t.csv t.staffa --sorted-by a,b-desc")
        .fails(2, &["b-desc"]);
    program
        .run("convert -q t.csv t.staffa --sorted-by a --chunk-statistics")
        .succeeds();
    let inspected = program.run("inspect t.staffa --json").json();
    assert_eq!(inspected["sort_order"][0]["column"], "a");
    assert_eq!(inspected["columns"][0]["chunks"][0]["sum"], "4");
    program.run("verify t.staffa").succeeds();
    program
        .run("convert -q --force t.csv t.staffa --sorted-by a,b")
        .fails(1, &["row 1 is out of the declared order"]);
}
