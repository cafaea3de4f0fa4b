//! Rows, aggregates and JSON on the standard output.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::program::Program;

#[test]
fn rows_and_columns_are_selected_alike_in_every_format() {
    let program = Program::with_table(5000);
    program.run("convert -q t.staffa t.csv").succeeds();
    program.run("convert -q t.staffa t.arrow").succeeds();
    let filter = "price < 10 and city in ('city 1', 'city 2') or id = 4999";
    let expected = program
        .run(&format!(
            "cat t.staffa --format csv --columns city,id --where \"{filter}\""
        ))
        .succeeds()
        .text();
    assert_eq!(expected.lines().next(), Some("city,id"));
    assert!(
        expected.lines().count() > 10 && expected.ends_with(",4999\n"),
        "{expected}"
    );
    for file in ["t.parquet", "t.csv", "t.arrow"] {
        let found = program
            .run(&format!(
                "cat {file} --format csv --columns city,id --where \"{filter}\""
            ))
            .succeeds();
        assert_eq!(found.text(), expected, "{file}");
        let count = program
            .run(&format!("count {file} --where \"{filter}\""))
            .succeeds()
            .text();
        assert_eq!(
            count.trim().parse::<usize>().unwrap(),
            expected.lines().count() - 1,
            "{file}"
        );
        program
            .run(&format!(
                "convert -q -f {file} some.staffa --columns city,id --where \"{filter}\""
            ))
            .succeeds();
        assert_eq!(
            program
                .run("cat some.staffa --format csv")
                .succeeds()
                .text(),
            expected,
            "{file}"
        );
    }
}

#[test]
fn so_many_rows_are_printed() {
    let program = Program::with_table(5000);
    assert_eq!(
        program
            .run("cat t.staffa t.parquet --limit 5003 --format csv")
            .succeeds()
            .text()
            .lines()
            .count(),
        5004
    );
    assert_eq!(
        program
            .run("head t.staffa -n 3 --format csv --columns id")
            .succeeds()
            .text(),
        "id\n0\n1\n2\n"
    );
    assert_eq!(
        program
            .run("head t.staffa -n 0 --format csv --columns id")
            .succeeds()
            .text(),
        "id\n"
    );
}

#[test]
fn tables_are_printed() {
    let program = Program::with_table(20);
    let text = program
        .run("head t.staffa -n 4 --columns id,price,city")
        .succeeds()
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
        program
            .run("schema t.staffa")
            .succeeds()
            .text()
            .contains("price   Float64")
    );
}

#[test]
fn json_output_parses() {
    let program = Program::with_table(3000);
    let schema = program.run("schema t.staffa --json").json();
    assert_eq!(
        (&schema["rows"], &schema["fields"][1]["name"]),
        (&3000.into(), &"price".into())
    );
    assert_eq!(
        program.run("count t.staffa t.parquet --json").json()["rows"],
        6000
    );
    let inspect = program.run("inspect t.staffa --json").json();
    assert_eq!(
        (&inspect["rows"], &inspect["columns"][0]["path"]),
        (&3000.into(), &"id".into())
    );
    assert_eq!(
        program.run("inspect t.staffa --json --column price").json()["columns"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let size = program.run("size t.staffa --json").json();
    let columns: u64 = size["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(
        columns + size["other_bytes"].as_u64().unwrap(),
        fs::metadata(program.path("t.staffa")).unwrap().len()
    );
    assert_eq!(
        program.run("explain t.staffa --json").json()["columns"][2]["column"],
        "city"
    );
    assert_eq!(program.run("verify t.staffa --json").json()[0]["ok"], true);
    assert!(program.run("encodings --json").json()[0]["name"].is_string());
    for command in ["head t.staffa --json", "cat t.staffa --format json"] {
        let text = program.run(command).succeeds().text();
        assert_eq!(
            serde_json::from_str::<Value>(text.lines().nth(3).unwrap()).unwrap()["price"],
            Value::Null
        );
    }
    let measured = program.run("bench t.staffa --runs 1 --json").json();
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
    let program = Program::with_table(3000);
    let found = program
        .run("aggregate t.staffa id=min,max,rows price=nulls --json")
        .json();
    assert_eq!(
        (&found["min(id)"], &found["rows(id)"]),
        (&0.into(), &3000.into()),
        "{found}"
    );
    let some = program
        .run("aggregate t.staffa id=max --where id<10 --json")
        .json();
    assert_eq!(some["max(id)"], 9, "{some}");
    assert!(
        program
            .run("aggregate t.staffa city=distinct")
            .succeeds()
            .text()
            .contains("distinct(city)")
    );
    program
        .run("aggregate t.staffa nope=min")
        .fails(2, &["\"nope\"", "id, price, city"]);
    assert_eq!(program.run("aggregate t.staffa id=median").code, 2);
}

#[test]
fn the_structure_of_a_file_is_printed() {
    let program = Program::with_table(3000);
    for command in [
        "inspect t.staffa",
        "inspect t.staffa --column price --blocks",
        "size t.staffa",
        "explain t.staffa",
    ] {
        assert!(
            program.run(command).succeeds().text().contains("price"),
            "{command}"
        );
    }
    assert!(
        program
            .run("explain t.staffa --blocks")
            .succeeds()
            .text()
            .contains("encodings")
    );
    assert!(
        !program
            .run("explain t.staffa --column city")
            .succeeds()
            .text()
            .contains("price")
    );
    assert!(
        program
            .run("verify t.staffa")
            .succeeds()
            .text()
            .starts_with("t.staffa: ok, 3,000 rows in ")
    );
    assert!(
        program
            .run("bench t.parquet --runs 1 --limit 1000")
            .succeeds()
            .text()
            .contains("staffa balanced compared with parquet zstd-3: ")
    );
    for command in ["inspect", "explain"] {
        program
            .run(&format!("{command} t.staffa --column nope"))
            .fails(2, &["\"nope\"", "id, price, city"]);
    }
}

#[test]
fn the_estimates_of_the_chooser_are_printed() {
    let program = Program::with_table(3000);
    let why = program
        .run("explain t.staffa --column city --why")
        .succeeds()
        .text();
    assert!(
        why.contains("chosen: ") && why.contains("about ") && why.contains("cannot hold the type"),
        "{why}"
    );
    assert!(!why.contains("price"), "{why}");
    assert!(
        why.contains("shared dictionary of row group 0: not used, there is one block"),
        "{why}"
    );
    assert!(
        why.contains("derived from other columns: none seems to make it smaller"),
        "{why}"
    );
    let line = |i: usize| format!("{},{}", i * i % 7919, i * i % 7919 + i % 3);
    let lines: Vec<String> = (0..3000).map(line).collect();
    program.write("derived.csv", format!("a,b\n{}\n", lines.join("\n")));
    program
        .run("convert -q derived.csv derived.staffa")
        .succeeds();
    let why = program
        .run("explain derived.staffa --why --column a")
        .succeeds()
        .text();
    let is_used = |line: &str| line.contains("difference: b") && line.ends_with("  used");
    assert!(why.lines().any(is_used), "{why}");
    let why = program.run("explain t.staffa --why --json").json();
    assert!(
        why["columns"][2]["considered"]
            .as_array()
            .is_some_and(|all| all.len() > 20),
        "{why}"
    );
}

#[test]
fn a_closed_pipe_is_no_error() {
    let program = Program::with_table(200_000);
    for command in [
        "cat t.staffa",
        "cat t.staffa --format csv",
        "cat t.staffa --json",
        "convert t.staffa - --to arrows",
    ] {
        let mut child = program
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

#[test]
fn help_has_examples_and_exit_codes() {
    let program = Program::new();
    let help = program.run("--help").succeeds().text();
    assert!(
        help.contains("Exit codes:") && help.contains("explain"),
        "{help}"
    );
    for command in [
        "convert",
        "merge",
        "split",
        "tail",
        "sample",
        "stats",
        "diff",
        "man",
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
        let help = program.run(&format!("{command} --help")).succeeds().text();
        assert!(
            help.contains("Example") && help.contains(&format!("  staffa {command}")),
            "{help}"
        );
    }
    assert!(
        program
            .run("completions bash")
            .succeeds()
            .text()
            .contains("staffa")
    );
}
