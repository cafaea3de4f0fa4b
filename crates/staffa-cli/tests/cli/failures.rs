//! Bad files and bad requests: one sentence and an exit code.

use std::fs;

use serde_json::Value;

use crate::program::Program;

#[test]
fn files_that_are_missing_or_not_staffa_are_refused() {
    let program = Program::with_table(10);
    program.write(
        "text.staffa",
        "not a table at all, but long enough to be one, were it only built like one\n",
    );
    program.write("empty.staffa", "");
    fs::create_dir(program.path("none")).unwrap();
    for command in [
        "schema", "count", "head", "cat", "inspect", "size", "explain", "verify", "bench",
    ] {
        program
            .run(&format!("{command} none.staffa"))
            .fails(3, &["none.staffa", "no such file"]);
        program
            .run(&format!("{command} text.staffa"))
            .fails(1, &["text.staffa"]);
        program
            .run(&format!("{command} empty.staffa"))
            .fails(1, &["empty.staffa"]);
        program
            .run(&format!("{command} none"))
            .fails(3, &["none", "directory"]);
    }
}

#[test]
fn truncated_and_flipped_bytes_are_found() {
    let program = Program::with_table(5000);
    let whole = fs::read(program.path("t.staffa")).unwrap();
    for cut in [1, whole.len() / 2, whole.len() - 1] {
        program.write("cut.staffa", &whole[..cut]);
        program.run("verify cut.staffa").fails(1, &["cut.staffa"]);
        program
            .run("cat cut.staffa --format csv")
            .fails(1, &["cut.staffa"]);
    }
    for at in (0..whole.len()).step_by(whole.len() / 23) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        program.write("flipped.staffa", &flipped);
        let outcome = program.run("verify flipped.staffa");
        assert!(
            outcome.code == 1 || outcome.code == 4,
            "byte {at}: {} {}",
            outcome.code,
            outcome.err
        );
        assert!(
            outcome.err.starts_with("staffa: flipped.staffa"),
            "{}",
            outcome.err
        );
    }
    // The others are still checked, and the answer for programs says which.
    let outcome = program.run("verify flipped.staffa t.staffa cut.staffa --json");
    let results: Value = serde_json::from_slice(&outcome.out).unwrap();
    let ok: Vec<_> = results
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["ok"].as_bool().unwrap())
        .collect();
    assert_eq!((outcome.code, ok), (1, vec![false, true, false]));
    // A failed conversion leaves nothing behind.
    let before = program.files();
    program
        .run("convert cut.staffa out.csv")
        .fails(1, &["cut.staffa"]);
    program
        .run("convert cut.staffa out.staffa")
        .fails(1, &["cut.staffa"]);
    assert_eq!(program.files(), before);
}

#[test]
fn bad_requests_are_refused() {
    let program = Program::with_table(100);
    let before = program.files();
    for file in ["t.staffa", "t.parquet"] {
        program
            .run(&format!("head {file} --columns id,prise"))
            .fails(2, &["\"prise\"", "id, price, city"]);
        program
            .run(&format!("cat {file} --where \"prise < 3\""))
            .fails(2, &["prise"]);
        program
            .run(&format!("count {file} --where \"price < 'cheap'\""))
            .fails(2, &["price"]);
        program
            .run(&format!("count {file} --where \"price <\""))
            .fails(2, &["--where"]);
    }
    program.run("frobnicate").fails(2, &["frobnicate"]);
    assert_eq!(program.files(), before);
}

#[test]
fn bad_encodings_of_a_conversion_are_refused() {
    let program = Program::with_table(100);
    let before = program.files();
    program
        .run("convert t.parquet out.staffa --encoding price=nope")
        .fails(2, &["nope"]);
    program
        .run("convert t.parquet out.staffa --encoding prise=plain")
        .fails(2, &["prise"]);
    program
        .run("convert t.parquet out.staffa --encoding price=fsst")
        .fails(2, &["price", "fsst"]);
    program.run("convert t.parquet out.staffa --encoding id=constant").fails(
        2,
        &["column \"id\": constant cannot hold row 1, value 1: it holds a block of values that are all alike"],
    );
    program
        .run("convert t.parquet out.staffa --without nope")
        .fails(2, &["nope", "run_end"]);
    program
        .run("convert t.parquet out.staffa --without plain")
        .fails(2, &["plain cannot be left out"]);
    program
        .run("convert t.parquet out.csv --without text")
        .fails(2, &["--without"]);
    assert_eq!(program.files(), before);
}

#[test]
fn bad_options_of_a_conversion_are_refused() {
    let program = Program::with_table(100);
    let before = program.files();
    for option in [
        "--profile small",
        "--access random",
        "--column-profile id=small",
        "--max-error price=0.1",
    ] {
        let name = option.split(' ').next().unwrap();
        program
            .run(&format!("convert t.parquet out.csv {option}"))
            .fails(2, &[name]);
    }
    program
        .run("convert t.parquet out.staffa --column-profile id=tiny")
        .fails(2, &["fast, balanced or small", "tiny"]);
    program
        .run("convert t.parquet out.staffa --column-profile prise=fast")
        .fails(2, &["prise"]);
    for (asked, why) in [
        ("id=0.1", "floats of 32 and 64 bits"),
        ("price=0", "positive"),
        ("price=x", "a number"),
    ] {
        program
            .run(&format!("convert t.parquet out.staffa --max-error {asked}"))
            .fails(2, &[why]);
    }
    program
        .run("convert t.parquet out.txt")
        .fails(2, &["out.txt", "--to"]);
    program
        .run("convert t.parquet out.staffa --row-group-rows 0")
        .fails(2, &["--row-group-rows"]);
    program
        .run("convert t.parquet")
        .fails(2, &["an input and an output", "--help"]);
    program
        .run("convert t.parquet none/out.staffa")
        .fails(3, &["none/out.staffa"]);
    program
        .run("convert t.parquet none/out.csv")
        .fails(3, &["none/out.csv", "no such file"]);
    assert_eq!(program.files(), before);
}

#[test]
fn bad_text_is_named_by_row_and_column() {
    let program = Program::new();
    let mut csv = "id,price\n".to_string();
    let mut json = String::new();
    for row in 0..10_500 {
        csv += &format!("{row},{}\n", if row == 10_400 { "cheap" } else { "1.5" });
        json += &format!(
            "{{\"id\":{row},\"price\":{}}}\n",
            if row == 10_400 { "\"cheap\"" } else { "1.5" }
        );
    }
    program.write("t.csv", &csv);
    program.write("t.jsonl", &json);
    for file in ["t.csv", "t.jsonl"] {
        let outcome = program.run(&format!("convert {file} t.staffa"));
        outcome.fails(
            1,
            &[
                file,
                "row 10401",
                "column \"price\"",
                "cheap",
                "--infer-rows",
            ],
        );
        assert!(!program.path("t.staffa").exists());
        program
            .run(&format!("convert -q {file} t.staffa --infer-rows 0"))
            .succeeds();
        assert_eq!(
            program
                .run("count t.staffa --where \"price = 'cheap'\"")
                .succeeds()
                .text(),
            "1\n"
        );
        fs::remove_file(program.path("t.staffa")).unwrap();
    }
    program.write("wide.csv", "a,b\n1,2\n1,2,3\n");
    program
        .run("convert wide.csv t.staffa")
        .fails(1, &["wide.csv", "2"]);
    program.write("latin.csv", b"a\ncaf\xe9\n");
    program
        .run("convert latin.csv t.staffa --charset utf-8")
        .fails(1, &["latin.csv", "UTF-8"]);
    program.write("array.json", "[{\"a\":1}]");
    program
        .run("convert array.json t.staffa")
        .fails(1, &["array.json", "one object per line"]);
    program.write("not.parquet", "no");
    program
        .run("convert not.parquet t.staffa")
        .fails(1, &["not.parquet"]);
    program.write("not.arrow", "no");
    program
        .run("convert not.arrow t.staffa")
        .fails(1, &["not.arrow"]);
}

#[cfg(unix)]
#[test]
fn a_compressed_stream_that_fails_does_not_look_whole() {
    use std::fmt::Write as _;
    use std::io::Read;
    use std::process::Command;

    let program = Program::new();
    // What is written before the error does not fit into the buffers.
    let mut rows = String::new();
    for row in 0..400_000_u64 {
        writeln!(rows, "{}", row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1).unwrap();
    }
    program.write("t.csv", format!("n\n{rows}x,y\n"));
    for name in ["p.csv.gz", "p.csv.zst", "p.csv.bz2"] {
        let path = program.path(name);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        let reader = std::thread::spawn({
            let path = path.clone();
            move || std::fs::read(path).unwrap()
        });
        program
            .run(&format!("convert -qf t.csv {name}"))
            .fails(1, &["t.csv: row 400001: expected 1 fields, found 2"]);
        let bytes = reader.join().unwrap();
        assert!(bytes.len() > 100_000, "{name}: {} bytes", bytes.len());
        let mut text = Vec::new();
        let whole = match name {
            "p.csv.gz" => flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut text),
            "p.csv.zst" => zstd::Decoder::new(bytes.as_slice())
                .unwrap()
                .read_to_end(&mut text),
            _ => bzip2::read::BzDecoder::new(bytes.as_slice()).read_to_end(&mut text),
        };
        assert!(whole.is_err(), "{name}: {} bytes look whole", text.len());
    }
}
