//! The program `staffa-sql`.

use std::process::{Command, Output};

use tempfile::tempdir;

use crate::{numbers, write};

fn run(args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_staffa-sql");
    Command::new(program).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn tables_have_names_and_rows_are_json() {
    let folder = tempdir().unwrap();
    write(&folder.path().join("day=1/a.staffa"), &numbers(0, 3));
    write(&folder.path().join("day=2/a.staffa"), &numbers(3, 5));
    let table = format!("t={}", folder.path().display());
    let sql = "SELECT day, sum(n) AS total FROM t GROUP BY day ORDER BY day";
    let found = run(&["--table", &table, "--json", "--stats", sql]);
    let lines = "{\"day\":\"1\",\"total\":3}\n{\"day\":\"2\",\"total\":7}\n";
    assert_eq!(stdout(&found), lines, "{}", stderr(&found));
    for line in [
        "rows: 2",
        "rows read or tested: 5",
        "parts of row groups read: 2",
        "time: ",
    ] {
        assert!(stderr(&found).contains(line), "{}", stderr(&found));
    }
    let explained = run(&[
        "--table",
        &table,
        "--explain",
        "SELECT n FROM t WHERE n < 2",
    ]);
    assert!(
        stdout(&explained).contains("predicate=n@0 < 2"),
        "{}",
        stdout(&explained)
    );
}

#[test]
fn statements_follow_each_other() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.staffa");
    let path = path.display();
    let sql = format!("COPY (VALUES (1), (2)) TO '{path}'; SELECT sum(column1) AS s FROM '{path}'");
    let found = run(&["--json", &sql]);
    assert_eq!(
        stdout(&found),
        "{\"count\":2}\n{\"s\":3}\n",
        "{}",
        stderr(&found)
    );
}

#[test]
fn errors_are_told_once_and_clearly() {
    for (args, expected) in [
        (
            &["--table", "t", "SELECT 1"][..],
            "NAME=PATH expected, found 't'",
        ),
        (
            &["--table", "t=/no/such", "SELECT 1"],
            "there is no /no/such",
        ),
        (&["SELECT 1 FROM t WHERE ("], "sql parser error"),
        (&["SELECT x FROM nowhere"], "nowhere"),
        (&["--partitions", "0", "SELECT 1"], "at least 1"),
    ] {
        let found = run(args);
        assert!(!found.status.success());
        assert!(stderr(&found).contains(expected), "{}", stderr(&found));
        assert_eq!(stderr(&found).lines().count(), 1, "{}", stderr(&found));
    }
}

#[test]
fn costs_follow_the_model() {
    let folder = tempdir().unwrap();
    write(&folder.path().join("a.staffa"), &numbers(0, 1000));
    let sql = format!("SELECT sum(n) FROM '{}/a.staffa'", folder.path().display());
    let model = "bandwidth=1e9, instance=3600,cores=2";
    let found = run(&["--cost", model, &sql]);
    let said = stderr(&found);
    let number = |name: &str| -> f64 {
        let line = said.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} in {said}"))
            .parse()
            .unwrap()
    };
    // Files of the local disk take no requests.
    assert_eq!(number("requests for bytes: "), 0.0);
    let seconds = number("seconds to compute: ");
    assert!(
        seconds > 0.0 && (number("dollars: ") - seconds).abs() < 1e-5,
        "{said}"
    );
    for (model, expected) in [
        ("bandwidth=0", "above 0"),
        ("instance=-1", "at least 0"),
        ("speed=1", "\"speed\""),
        ("get", "NAME=NUMBER"),
        ("get=NaN", "get"),
    ] {
        let found = run(&["--cost", model, &sql]);
        assert!(
            stderr(&found).contains(expected),
            "{model}: {}",
            stderr(&found)
        );
        assert_eq!(found.status.code(), Some(2), "{model}");
    }
}
