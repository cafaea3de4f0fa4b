//! Inputs of the real world: text as it comes, compressed or in another encoding; folders, wildcards,
//! keys in the names of folders.

use std::fs;
use std::io::Read;

use flate2::Compression;
use flate2::read::GzEncoder;

use crate::program::Program;

#[test]
fn empty_text_and_null_differ_in_both_directions() {
    let program = Program::new();
    program.write("t.csv", "a,b\n\"\",1\n,\n\"NA\",NA\nNA,2\n");
    program
        .run("convert -q t.csv t.staffa --csv-null NA")
        .succeeds();
    let count = |filter: &str| {
        program
            .run(&format!("count t.staffa --where \"{filter}\""))
            .succeeds()
            .text()
    };
    assert_eq!(
        (count("a = ''"), count("a is null"), count("b is null")),
        ("1\n".into(), "2\n".into(), "2\n".into())
    );
    let plain = "a,b\n\"\",1\n,\nNA,\n,2\n";
    assert_eq!(
        program.run("cat t.staffa --format csv").succeeds().text(),
        plain
    );
    // A text that reads as NULL is written in quotes.
    let marked = "a,b\n\"\",1\nNA,NA\n\"NA\",NA\nNA,2\n";
    assert_eq!(
        program
            .run("cat t.staffa --format csv --csv-null NA")
            .succeeds()
            .text(),
        marked
    );
    for options in ["", "--csv-null NA"] {
        program
            .run(&format!("convert -qf t.staffa again.csv {options}"))
            .succeeds();
        program
            .run(&format!("convert -qf again.csv again.staffa {options}"))
            .succeeds();
        let again = program.run("cat again.staffa --json").succeeds().text();
        assert_eq!(
            again,
            program.run("cat t.staffa --json").succeeds().text(),
            "{options}"
        );
    }
    // One column: an empty line is a NULL.
    program.write("one.csv", "a\n\n\"\"\nx\n");
    program.run("convert -q one.csv one.staffa").succeeds();
    assert_eq!(
        program.run("cat one.staffa --format csv").succeeds().text(),
        "a\n\n\"\"\nx\n"
    );
}

#[test]
fn compressed_text_is_read() {
    let program = Program::new();
    let mut gzip = Vec::new();
    GzEncoder::new(b"a,b\n1,x\n2,y\n".as_slice(), Compression::fast())
        .read_to_end(&mut gzip)
        .unwrap();
    program.write("t.csv.gz", &gzip);
    let expected = "a,b\n1,x\n2,y\n";
    assert_eq!(
        program.run("cat t.csv.gz --format csv").succeeds().text(),
        expected
    );
    let piped = program
        .run_with("cat - --from csv --format csv", &gzip)
        .succeeds();
    assert_eq!(piped.text(), expected);
    program.write("cut.csv.gz", &gzip[..gzip.len() - 9]);
    program
        .run("cat cut.csv.gz --format csv")
        .fails(1, &["cut.csv.gz", "gzip"]);
    program.write(
        "t.jsonl.zst",
        zstd::encode_all(b"{\"a\":1}\n".as_slice(), 1).unwrap(),
    );
    assert_eq!(
        program.run("cat t.jsonl.zst --json").succeeds().text(),
        "{\"a\":1}\n"
    );
}

#[test]
fn other_encodings_and_dialects_are_found_or_given() {
    let program = Program::new();
    program.write("latin.csv", b"name;n\ncaf\xe9;1,5\n");
    let latin = program.run("cat latin.csv --format csv").ends_well();
    assert!(latin.err.contains("windows-1252"), "{}", latin.err);
    assert_eq!(latin.text(), "name,n\ncaf\u{e9},\"1,5\"\n");
    program.run("cat latin.csv --charset latin1").succeeds();
    let wide: Vec<u8> = "a\tb\n\u{e9}\t2\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    program.write("wide.csv", [b"\xff\xfe", wide.as_slice()].concat());
    assert_eq!(
        program.run("cat wide.csv --format csv").succeeds().text(),
        "a,b\n\u{e9},2\n"
    );
    program.write("headless.csv", "1.5,2024-01-05\n2.5,2024-01-06\n");
    let found = program
        .run("cat headless.csv --format csv")
        .succeeds()
        .text();
    assert!(found.starts_with("column_1,column_2\n1.5,"), "{found}");
    let given = program
        .run("cat headless.csv --format csv --header")
        .succeeds()
        .text();
    assert!(given.starts_with("1.5,2024-01-05\n2.5"), "{given}");
    program.write("odd.csv", "% note\na|b\n'x|y'|1\n");
    let odd = program
        .run("cat odd.csv --format csv --quote ' --comment % --delimiter |")
        .succeeds();
    assert_eq!(odd.text(), "a,b\nx|y,1\n");
    program.write("dates.csv", "d,t\n05.01.2024,5.1.2024 7:30\n25.01.2024,\n");
    let dates = program.run("cat dates.csv --format csv").succeeds().text();
    assert_eq!(dates, "d,t\n2024-01-05,2024-01-05T07:30:00\n2024-01-25,\n");
    program
        .run("cat dates.csv --charset klingon")
        .fails(2, &["klingon"]);
}

#[test]
fn bad_rows_are_left_out_on_request() {
    let program = Program::new();
    let mut text = "id,price\n".to_string();
    for row in 0..10_500 {
        text += &format!("{row},{}\n", if row == 10_400 { "cheap" } else { "1.5" });
    }
    program.write("t.csv", text + "1,2,3\n");
    program
        .run("convert t.csv t.staffa")
        .fails(1, &["t.csv", "row 10401", "\"price\"", "--skip-bad-rows"]);
    let run = program
        .run("convert -q t.csv t.staffa --skip-bad-rows bad.csv")
        .ends_well();
    assert!(
        run.err.contains("2 bad rows left out, written to bad.csv"),
        "{}",
        run.err
    );
    assert_eq!(program.run("count t.staffa").succeeds().text(), "10499\n");
    let bad = fs::read_to_string(program.path("bad.csv")).unwrap();
    assert!(
        bad.contains("\"t.csv\",10402,\"column \"\"price\"\"") && bad.contains(",10502,"),
        "{bad}"
    );
    program
        .run("convert -q t.csv again.staffa --skip-bad-rows bad.csv")
        .fails(3, &["bad.csv", "exists already"]);
    program
        .run("convert -q t.csv t.staffa --force --skip-bad-rows bad.csv")
        .fails(3, &["bad.csv", "never replaced"]);
    // Least of all the input.
    let before = fs::read(program.path("t.csv")).unwrap();
    program
        .run("convert -q t.csv t.staffa --force --skip-bad-rows t.csv")
        .fails(3, &["t.csv", "never replaced"]);
    assert_eq!(fs::read(program.path("t.csv")).unwrap(), before);
    program
        .run("convert -q t.csv new.csv --skip-bad-rows new.csv")
        .fails(2, &["new.csv", "--skip-bad-rows"]);
}

#[test]
fn columns_in_another_order_are_matched_by_name() {
    let program = Program::new();
    program.write("a.csv", "id,name\n1,x\n");
    program.write("b.csv", "name,id\ny,2.5\n");
    let both = program
        .run("cat a.csv b.csv --format csv")
        .succeeds()
        .text();
    assert_eq!(both, "id,name\n1.0,x\n2.5,y\n");
    let some = program
        .run("cat a.csv b.csv --format csv --columns name --where \"id > 2\"")
        .succeeds();
    assert_eq!(some.text(), "name\ny\n");
    for file in ["a", "b"] {
        program
            .run(&format!(
                "convert -q {file}.csv {file}.staffa --infer-rows 0"
            ))
            .succeeds();
    }
    program.write("c.csv", "name,id\nz,3\n");
    program.run("convert -q c.csv c.staffa").succeeds();
    let both = program
        .run("cat a.staffa c.staffa --format csv")
        .succeeds()
        .text();
    assert_eq!(both, "id,name\n1,x\n3,z\n");
}

#[test]
fn any_column_can_be_named() {
    let program = Program::new();
    program.write("t.csv", "\"a,b\",\"say \"\"hi\"\"\",c\n1,2,3\n");
    let run = |columns: &str| {
        let mut command = program.command("cat t.csv --format csv");
        let output = command.args(["--columns", columns]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run("c,\"a,b\""), "c,\"a,b\"\n3,1\n");
    assert_eq!(run("\"say \"\"hi\"\"\""), "\"say \"\"hi\"\"\"\n2\n");
    program
        .run("cat t.csv --columns d")
        .fails(2, &["\"d\"", "the columns are \"a,b\""]);
}

#[test]
fn folders_wildcards_and_their_keys_are_one_table() {
    let program = Program::new();
    for (year, rows) in [(2024, "1,x\n2,y\n"), (2025, "3,z\n")] {
        let folder = program.path(&format!("d/year={year}/city=St%20Ives"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("t.csv"), format!("id,name\n{rows}")).unwrap();
        fs::write(folder.join("_notes.csv"), "no table").unwrap();
        fs::write(folder.join("README.md"), "no table").unwrap();
    }
    let whole = "id,name,year,city\n1,x,2024,St Ives\n2,y,2024,St Ives\n3,z,2025,St Ives\n";
    for input in ["d", "d/", "d/*/*/t*.csv", "d/year=*"] {
        let found = program
            .run(&format!("cat {input} --format csv"))
            .succeeds()
            .text();
        assert_eq!(found, whole, "{input}");
    }
    let of_keys =
        program.run("cat d --format csv --columns year,id --where \"year = 2025 or id = 1\"");
    assert_eq!(of_keys.succeeds().text(), "year,id\n2024,1\n2025,3\n");
    assert_eq!(
        program
            .run("cat d --format csv --columns city --limit 1")
            .succeeds()
            .text(),
        "city\nSt Ives\n"
    );
    assert_eq!(
        program
            .run("cat d --format csv --where \"year > 2024\"")
            .succeeds()
            .text()
            .lines()
            .count(),
        2
    );
    program.run("convert -q d all.staffa").succeeds();
    assert_eq!(
        program.run("cat all.staffa --format csv").succeeds().text(),
        whole
    );
    assert_eq!(
        program
            .run("head d -n 1 --format csv --no-hive")
            .succeeds()
            .text(),
        "id,name\n1,x\n"
    );
    let schema = program.run("schema d").succeeds().text();
    assert!(schema.contains("year    Int32"), "{schema}");
    program
        .run("cat d --where \"month = 1\"")
        .fails(2, &["month"]);
}

#[test]
fn a_filtered_count_has_the_columns_of_all_files() {
    let program = Program::new();
    for (file, rows) in [
        ("k=1/t", "a,b\n1,2\n3,4\n"),
        ("k=x/t", "a,b\n1,2\n"),
        ("k=x/u", "c\n5\n"),
    ] {
        let path = program.path(&format!("d/{file}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        program.write("t.csv", rows);
        let line = format!("convert -q t.csv d/{file}.staffa");
        program.run(&line).succeeds();
    }
    let total = |options: &str| {
        let said = program
            .run(&format!("count d {options}"))
            .ends_well()
            .text();
        said.lines().last().unwrap().to_owned()
    };
    assert_eq!(total("--where \"k = 'x'\""), "2  total");
    assert_eq!(total("--where \"c = 5 or a = 1\""), "3  total");
    program.write("d/k=1/bad.staffa", "no file");
    assert_eq!(total("--skip-damaged"), "4  total");
}

#[test]
fn files_that_lack_columns_or_have_narrower_types_are_one_table() {
    let program = Program::new();
    for ending in ["staffa", "parquet", "arrow"] {
        for (file, rows) in [
            ("year=2024/a", "id,price\n1,2\n2,3\n"),
            ("year=2025/b", "price,id,city\n1.5,3,Oban\n"),
        ] {
            fs::create_dir_all(program.path(&format!("{ending}/{file}")).parent().unwrap())
                .unwrap();
            program.write("t.csv", rows);
            let line = format!("convert -q t.csv {ending}/{file}.{ending}");
            program.run(&line).succeeds();
        }
        for (options, expected) in [
            (
                "",
                "id,price,city,year\n1,2.0,,2024\n2,3.0,,2024\n3,1.5,Oban,2025\n",
            ),
            ("--columns city,id --limit 2", "city,id\n,1\n,2\n"),
            ("--columns city", "city\n\n\nOban\n"),
            ("--columns id --where \"price > 1.75\"", "id\n1\n2\n"),
            ("--columns id --where \"price > 1.75\" --limit 1", "id\n1\n"),
            (
                "--columns id --where \"city is null and year > 2023\"",
                "id\n1\n2\n",
            ),
            (
                "--columns price --where \"city = 'Oban' or id = 2\"",
                "price\n3.0\n1.5\n",
            ),
            ("--columns id --where \"not city = 'Oban'\"", "id\n"),
        ] {
            let found = program.run(&format!("cat {ending} --format csv {options}"));
            let found = found.succeeds().text();
            assert_eq!(found, expected, "{ending}: {options}");
        }
        program
            .run(&format!("convert -q {ending} all.{ending}"))
            .succeeds();
        let counted = program
            .run(&format!("count all.{ending}"))
            .succeeds()
            .text();
        assert!(counted.contains('3'), "{counted}");
        program.write("t.csv", "id\nx\n");
        program
            .run(&format!("convert -q t.csv {ending}/c.{ending}"))
            .succeeds();
        program
            .run(&format!("cat {ending}"))
            .fails(2, &["\"id\"", "no type in common", "c."]);
    }
    program.write("t.csv", "id,city\n1,x\n");
    let line = "cat t.csv parquet/year=2024/a.parquet";
    program
        .run(line)
        .fails(2, &["column 2 is \"price\", but \"city\" in t.csv"]);
}

#[test]
fn json_keeps_digits_and_says_what_it_cannot_hold() {
    let program = Program::new();
    program.write(
        "t.jsonl",
        "{\"id\":9223372036854775808,\"x\":9007199254740993}\n{\"id\":1,\"x\":1.5}\n",
    );
    let printed = program.run("cat t.jsonl --format csv").ends_well();
    assert!(printed.err.contains("are read as text"), "{}", printed.err);
    assert_eq!(
        printed.text(),
        "id,x\n9223372036854775808,9007199254740993\n1,1.5\n"
    );
    program.write("nan.csv", "x\nnan\n1\ninf\n");
    let nan = program.run("cat nan.csv --json").ends_well();
    assert_eq!(nan.text(), "{\"x\":null}\n{\"x\":1.0}\n{\"x\":null}\n");
    assert!(
        nan.err.contains("column \"x\": 2 values NaN or infinite"),
        "{}",
        nan.err
    );
}

#[test]
fn names_do_not_reach_the_terminal_as_they_are() {
    let program = Program::new();
    program.write("t.csv", "a\u{1b}]0;pwned\u{7},b\n1,2\n");
    let outcome = program.run("cat t.csv --columns c");
    outcome.fails(2, &["\\u{1b}]0;pwned"]);
    assert!(!outcome.err.contains('\u{1b}'));
}

#[test]
fn times_that_no_column_of_times_holds_are_text() {
    let program = Program::new();
    let leap = "2016-12-31T23:59:60Z";
    program.write("leap.jsonl", format!("{{\"t\":\"{leap}\"}}\n"));
    program.write("leap.csv", format!("t\n{leap}\n"));
    for file in ["leap.jsonl", "leap.csv"] {
        let text = program.run(&format!("cat {file} --format csv")).succeeds();
        assert_eq!(text.text(), format!("t\n{leap}\n"), "{file}");
    }
    let times = ["1500-01-01T00:00:00", "2024-01-01T00:00:00.123456789"];
    let [long_ago, precise] = times;
    program.write(
        "wide.jsonl",
        format!("{{\"t\":\"{long_ago}\"}}\n{{\"t\":\"{precise}\"}}\n"),
    );
    program.write("wide.csv", format!("t\n{long_ago}\n{precise}\n"));
    for file in ["wide.jsonl", "wide.csv"] {
        let outcome = program.run(&format!("cat {file} --format csv")).ends_well();
        assert_eq!(outcome.text(), format!("t\n{long_ago}\n{precise}\n"));
        assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
        assert!(outcome.err.contains("column \"t\" is read as text"));
        program
            .run(&format!("cat {file} --format csv --no-dates"))
            .succeeds();
    }
    // In the rows after those that the types were inferred from.
    program.write(
        "late.jsonl",
        format!("{{\"t\":\"{precise}\"}}\n{{\"t\":\"{long_ago}\"}}\n"),
    );
    program.write("late.csv", format!("t\n{precise}\n{long_ago}\n"));
    for file in ["late.jsonl", "late.csv"] {
        program
            .run(&format!("cat {file} --infer-rows 1"))
            .fails(1, &["row 2, column \"t\"", "--no-dates"]);
    }
}

#[test]
fn an_empty_text_in_quotes_is_null_among_numbers_and_this_is_said_once() {
    let program = Program::new();
    program.write("t.csv", "n,m,s\n1,\"2\",\"\"\n\"\",\"\",\"x\"\n\"\",3,y\n");
    let outcome = program.run("cat t.csv --format csv").ends_well();
    assert_eq!(outcome.text(), "n,m,s\n1,2,\"\"\n,,x\n,3,y\n");
    assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
    for part in ["row 2, column \"n\"", "read as NULL", "--text n"] {
        assert!(outcome.err.contains(part), "{}", outcome.err);
    }
    let kept = program.run("cat t.csv --text n,m --format csv").succeeds();
    assert_eq!(kept.text(), "n,m,s\n1,2,\"\"\n\"\",\"\",x\n\"\",3,y\n");
}
