//! Inputs that are damaged, empty, huge or mixed: every command that reads all of them says so in one
//! line with the file, and of text with the row and the column.

use std::io::Read;

use flate2::Compression;
use flate2::read::GzEncoder;

use crate::program::Program;

/// Commands that read every row.
const READERS: [&str; 10] = [
    "cat FILE --json",
    "cat FILE",
    "tail FILE",
    "stats FILE",
    "sample FILE",
    "convert -q FILE out.staffa",
    "convert -q FILE out.parquet",
    "split -q FILE out/part.csv --rows 1000",
    "diff FILE good.staffa",
    "size FILE",
];

fn zipped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = GzEncoder::new(text, Compression::fast());
    encoder.read_to_end(&mut out).unwrap();
    out
}

#[track_caller]
fn all_refuse(program: &Program, file: &str, commands: &[&str], parts: &[&str]) {
    for command in commands {
        let outcome = program.run(&command.replace("FILE", file));
        outcome.fails(1, &[&[file], parts].concat());
        assert!(outcome.err.len() < 1000, "{}", outcome.err);
        for output in ["out.staffa", "out.parquet", "out"] {
            assert!(!program.path(output).exists(), "{command} {file}");
        }
    }
}

/// A line many times, more than types are inferred from, then a last one.
fn many(line: &str, last: &[u8]) -> Vec<u8> {
    [line.repeat(12_000).as_bytes(), last].concat()
}

fn csv(text: &[u8]) -> Vec<u8> {
    [b"a,b\n", text].concat()
}

/// Bytes of a file, and what the message about it says.
type Case<'a> = (&'a str, Vec<u8>, &'a [&'a str]);

fn refused(cases: Vec<Case<'_>>) {
    let program = Program::new();
    program.write("good.csv", "a,b\n1,2\n");
    program.run("convert -q good.csv good.staffa").succeeds();
    for (name, bytes, parts) in cases {
        program.write(name, bytes);
        all_refuse(&program, name, &READERS, parts);
    }
}

#[test]
fn bad_csv_is_named_by_file_row_and_column() {
    let huge = "x".repeat(5 << 20);
    refused(vec![
        ("empty.csv", Vec::new(), &["the file is empty"]),
        ("empty.jsonl", Vec::new(), &["no columns"]),
        ("blank.csv", b"\n\n".to_vec(), &["the file is empty"]),
        (
            "mixed.csv",
            csv(&many("1,2\n", b"x,3\n")),
            &["row 12001, column \"a\"", "\"x\"", "Int64"],
        ),
        ("blank.csv", b"\n\n".to_vec(), &["the file is empty"]),
        (
            "mixed.csv",
            csv(&many("1,2\n", b"x,3\n")),
            &["row 12001, column \"a\"", "\"x\"", "Int64"],
        ),
        (
            "mixed.csv",
            csv(&many("1,2\n", b"x,3\n")),
            &["row 12001, column \"a\"", "\"x\"", "Int64"],
        ),
        (
            "nul.csv",
            csv(&many("1,2\n", b"1,\0\n")),
            &["row 12001, column \"b\""],
        ),
        (
            "width.csv",
            csv(b"1,2\n1,2,3\n"),
            &["row 2: expected 2 fields, found 3"],
        ),
        (
            "quote.csv",
            csv(b"1,\"2\n3,4\n"),
            &["line 2", "never closed"],
        ),
        (
            "huge.csv",
            csv(format!("1,{huge}\n2\n").as_bytes()),
            &["row 2: expected 2 fields, found 1"],
        ),
    ]);
}

#[test]
fn bad_json_is_named_by_file_row_and_column() {
    let huge = "x".repeat(5 << 20);
    refused(vec![
        ("empty.jsonl", Vec::new(), &["no columns"]),
        ("blank.csv", b"\n\n".to_vec(), &["the file is empty"]),
        (
            "mixed.csv",
            csv(&many("1,2\n", b"x,3\n")),
            &["row 12001, column \"a\"", "\"x\"", "Int64"],
        ),
        (
            "mixed.jsonl",
            many("{\"a\":1}\n", b"{\"a\":\"x\"}\n"),
            &["row 12001, column \"a\"", "'x'", "Int64"],
        ),
        (
            "kinds.jsonl",
            b"{\"a\":[1]}\n{\"a\":{}}\n".to_vec(),
            &["row 2, column \"a\"", "another kind"],
        ),
        (
            "later.jsonl",
            many("{\"a\":1}\n", b"{\"a\":{\"b\":1}}\n"),
            &["row 12001, column \"a\""],
        ),
        (
            "nul.jsonl",
            b"{\"a\":1}\n{\"a\":\0}\n".to_vec(),
            &["row 2", "character 6"],
        ),
        (
            "huge.jsonl",
            format!("{{\"a\":\"{huge}\"}}\n{{\"a\"\n").into_bytes(),
            &["row 2"],
        ),
        (
            "latin.jsonl",
            many(
                "{\"a\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}\n",
                b"{\"a\":\"\xe4\"}\n",
            ),
            &["row 12001", "UTF-8", "--charset"],
        ),
        (
            "digits.jsonl",
            b"{\"a\":1e999}\n".to_vec(),
            &["row 1", "out of range"],
        ),
        (
            "array.json",
            b"[{\"a\":1}]".to_vec(),
            &["a JSON array, expected one object per line"],
        ),
    ]);
}

#[test]
fn damaged_compressed_text_is_named() {
    let gzip = zipped(&csv(&many("1,2\n", b"")));
    refused(vec![
        (
            "cut.csv.gz",
            gzip[..gzip.len() - 20].to_vec(),
            &["gzip data is damaged or cut short"],
        ),
        (
            "junk.csv.gz",
            b"\x1f\x8bjunk".to_vec(),
            &["gzip data is damaged or cut short"],
        ),
    ]);
}

#[test]
fn bad_files_are_named() {
    let program = Program::with_table(1000);
    for format in ["arrow", "arrows"] {
        program
            .run(&format!("convert -q t.staffa t.{format}"))
            .succeeds();
    }
    program.run("convert -q t.staffa good.staffa").succeeds();
    for format in ["staffa", "parquet", "arrow", "arrows"] {
        let whole = std::fs::read(program.path(&format!("t.{format}"))).unwrap();
        let cases = [
            ("empty", Vec::new()),
            ("half", whole[..whole.len() / 2].to_vec()),
            ("start", whole[..20].to_vec()),
            ("nul", vec![0; 1000]),
            ("text", b"hello,world\n1,2\n".to_vec()),
        ];
        for (name, bytes) in cases {
            let file = format!("{name}.{format}");
            program.write(&file, bytes);
            all_refuse(&program, &file, &READERS, &[]);
            let of_staffa = [
                "inspect FILE",
                "explain FILE",
                "aggregate FILE id=min",
                "verify FILE",
            ];
            all_refuse(&program, &file, &of_staffa, &[]);
        }
    }
}
