//! Copies keep what a table says of itself; several outputs appear together; text is compressed.

use std::fs;

use serde_json::Value;

use arrow_array::{Decimal128Array, FixedSizeBinaryArray, RecordBatch, TimestampSecondArray};
use std::sync::Arc;

use crate::program::Program;
use crate::types::write_arrow;

fn with_metadata(program: &Program) {
    program.write("t.csv", "a,b\n1,y\n2,x\n3,z\n");
    program
        .run("convert -q t.csv t.staffa --metadata source=survey --metadata by=me --sorted-by a")
        .succeeds();
}

fn properties(program: &Program, file: &str) -> (String, String) {
    let found = program.run(&format!("inspect {file} --json")).json();
    let keys = found["sort_order"].as_array().unwrap();
    let keys = keys.iter().map(|key| key["column"].as_str().unwrap());
    (
        found["metadata"].to_string(),
        keys.collect::<Vec<_>>().join(","),
    )
}

#[test]
fn copies_keep_metadata_and_the_order_that_still_holds() {
    let program = Program::new();
    with_metadata(&program);
    let (metadata, order) = properties(&program, "t.staffa");
    assert_eq!(order, "a");
    program
        .run("convert -q t.staffa copy.staffa --where \"a > 1\"")
        .succeeds();
    assert_eq!(
        properties(&program, "copy.staffa"),
        (metadata.clone(), "a".into())
    );
    program
        .run("convert -q t.staffa other.staffa --columns b --metadata by=you")
        .succeeds();
    let (other, order) = properties(&program, "other.staffa");
    assert!(other.contains("you") && other.contains("survey"), "{other}");
    assert_eq!(order, "");

    let merged = program
        .run("merge -q t.staffa copy.staffa both.staffa")
        .ends_well();
    assert_eq!(
        merged.err,
        "staffa: note: the order a of the first file is not declared for all rows; --sorted-by a does so\n"
    );
    assert_eq!(
        properties(&program, "both.staffa"),
        (metadata, String::new())
    );
    program
        .run("convert -q t.csv by.staffa --metadata by=you")
        .succeeds();
    let merged = program
        .run("merge -q t.staffa by.staffa m.staffa")
        .ends_well();
    assert!(
        merged
            .err
            .contains("the files differ in their metadata \"by\": that of the first one is kept"),
        "{}",
        merged.err
    );

    program
        .run("split -q t.staffa parts/part.staffa --by b")
        .succeeds();
    let (metadata, order) = properties(&program, "parts/b=x/part.staffa");
    assert!(
        metadata.contains("survey") && order == "a",
        "{metadata} {order}"
    );
}

#[test]
fn other_formats_keep_metadata_or_say_that_they_do_not() {
    let program = Program::new();
    with_metadata(&program);
    for format in ["parquet", "arrow"] {
        let said = program
            .run(&format!("convert -q t.staffa t.{format}"))
            .ends_well();
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
        assert!(said.err.contains("does not keep the declared order a"));
        program
            .run(&format!("convert -q t.{format} {format}.arrow"))
            .succeeds();
        let back = crate::types::read_arrow(&program, &format!("{format}.arrow"));
        assert_eq!(back.schema().metadata()["source"], "survey");
    }
    let said = program.run("convert -q t.staffa back.csv").ends_well();
    assert!(
        said.err.contains("CSV does not keep metadata: by, source"),
        "{}",
        said.err
    );
}

#[test]
fn parts_appear_together_and_older_ones_are_named() {
    let program = Program::new();
    with_metadata(&program);
    program
        .run("split -q t.staffa rows/part.csv --rows 1 --columns a")
        .ends_well();
    let refused = program.run("split -q t.csv rows/part.csv --rows 2");
    refused.fails(3, &["rows/part-00001.csv", "--force"]);
    let again = program
        .run("split -q -f t.csv rows/part.csv --rows 2")
        .ends_well();
    assert_eq!(
        again.err,
        "staffa: note: rows/part-00003.csv is still there from an earlier split, and no part of this table\n"
    );
    program.run("split -q t.csv by/part.csv --by b").succeeds();
    let again = program
        .run("split -q -f t.csv by/part.csv --by b --where \"a > 2\"")
        .ends_well();
    assert!(
        again
            .err
            .contains("by/b=x/part.csv and 1 other file are still there"),
        "{}",
        again.err
    );
    // The last rows do not parse: no part of the others is left, nor a folder.
    program.write("bad.csv", "a,b\n1,x\n2,y\nz,z\n");
    for how in ["--rows 1", "--by b"] {
        program
            .run(&format!(
                "split -q bad.csv new/part.csv {how} --infer-rows 2"
            ))
            .fails(1, &["bad.csv", "row 3", "column \"a\""]);
        assert!(!program.path("new").exists());
    }
    let hidden = program
        .files()
        .into_iter()
        .filter(|name| name.starts_with('.'));
    assert_eq!(hidden.count(), 0);
}

#[test]
fn keys_of_text_that_look_like_integers_are_said() {
    let program = Program::new();
    program.write("t.csv", "code,x\n007,1\n12,2\n,3\n");
    let split = program
        .run("split -q t.csv by/part.staffa --by code --text code")
        .ends_well();
    assert_eq!(
        split.err,
        "staffa: note: the texts of \"code\" look like integers, and are read as such without --text code\n"
    );
    let read = |options: &str| {
        let line = format!("cat by --csv --where \"x = 1\" {options}");
        program.run(&line).succeeds().text()
    };
    assert_eq!(read(""), "x,code\n1,7\n");
    assert_eq!(read("--text code"), "x,code\n1,007\n");
    program
        .run("cat by --text nope")
        .fails(2, &["no column \"nope\"", "x, code"]);
}

#[test]
fn text_is_written_compressed() {
    let program = Program::with_table(1000);
    let plain = program
        .run("cat t.staffa --format csv --columns id,city")
        .succeeds()
        .text();
    for ending in ["gz", "zst", "bz2"] {
        for format in ["csv", "jsonl"] {
            let name = format!("t.{format}.{ending}");
            program
                .run(&format!("convert -q t.staffa {name} --columns id,city"))
                .succeeds();
            assert_eq!(
                program.run(&format!("cat {name} --csv")).succeeds().text(),
                plain,
                "{name}"
            );
            let bytes = fs::read(program.path(&name)).unwrap();
            let magic: &[u8] = match ending {
                "gz" => &[0x1f, 0x8b],
                "zst" => &[0x28, 0xb5, 0x2f, 0xfd],
                _ => b"BZh",
            };
            assert!(bytes.starts_with(magic) && bytes.len() < plain.len());
        }
    }
    program
        .run("split -q t.staffa parts/p.csv.gz --rows 600")
        .succeeds();
    let counted = program.run("count parts").succeeds().text();
    assert!(counted.ends_with("1000  total\n"), "{counted}");
    assert!(program.path("parts/p-00002.csv.gz").exists());
    program
        .run("convert t.staffa t.parquet.gz")
        .fails(2, &["t.parquet.gz", "names no format"]);
}

/// The types of fields and of those within them.
fn all_types(value: &Value, types: &mut Vec<String>) {
    match value {
        Value::Array(fields) => fields.iter().for_each(|field| all_types(field, types)),
        Value::Object(field) => {
            types.extend(field["type"].as_str().map(str::to_owned));
            field.values().for_each(|value| all_types(value, types));
        }
        _ => {}
    }
}

#[test]
fn dates_in_json_lines_are_found() {
    let program = Program::new();
    program.write(
        "t.jsonl",
        "{\"d\":\"2024-01-05\",\"t\":\"2024-01-05T10:00:00.5Z\",\"l\":[null],\"s\":\"\"}\n\
         {\"d\":null,\"t\":\"2024-01-05T12:00:00+02:00\",\"l\":[{\"at\":\"2024-01-01\"}],\"s\":\"2024-01-01\"}\n",
    );
    let types = |options: &str| {
        let schema = program
            .run(&format!("schema t.jsonl {options} --json"))
            .json();
        let mut types = Vec::new();
        all_types(&schema["fields"], &mut types);
        types.join(" ")
    };
    let found = types("");
    assert!(
        found.starts_with("Date32 Timestamp(ms, \"UTC\") List(Struct(\"at\": Date32))")
            && found.ends_with("Date32 Utf8"),
        "{found}"
    );
    let plain = types("--no-dates");
    assert!(
        plain.starts_with("Utf8 Utf8 List") && !plain.contains("Date"),
        "{plain}"
    );
    assert!(types("--text d").starts_with("Utf8 Timestamp"));
    assert_eq!(
        program.run("cat t.jsonl --json").succeeds().text(),
        "{\"d\":\"2024-01-05\",\"t\":\"2024-01-05T10:00:00.500Z\",\"l\":[null],\"s\":\"\"}\n\
         {\"d\":null,\"t\":\"2024-01-05T10:00:00Z\",\"l\":[{\"at\":\"2024-01-01\"}],\"s\":\"2024-01-01\"}\n"
    );
    program.write("u.jsonl", "{\"d\":\"2024-01-05\"}\n{\"d\":\"5 Jan\"}\n");
    program
        .run("cat u.jsonl --infer-rows 1")
        .fails(1, &["u.jsonl", "row 2", "column \"d\"", "Date32", "--text"]);
    program.run("cat u.jsonl").succeeds();
}

#[test]
fn values_that_do_not_fit_their_type_are_bad_data() {
    let program = Program::new();
    let digits = Decimal128Array::from(vec![12_345]);
    let digits = digits.with_precision_and_scale(3, 1).unwrap();
    let batch = RecordBatch::try_from_iter([("d", Arc::new(digits) as _)]).unwrap();
    write_arrow(&program, "t.arrow", &batch);
    for output in ["t.staffa", "t.parquet"] {
        program
            .run(&format!("convert -q t.arrow {output}"))
            .fails(1, &["column \"d\"", "digits", "larger precision"]);
    }
    assert!(
        program
            .run("head t.arrow")
            .succeeds()
            .text()
            .contains("1234.5")
    );

    let empty =
        FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([]), None].into_iter(), 0)
            .unwrap();
    let batch = RecordBatch::try_from_iter([("e", Arc::new(empty) as _)]).unwrap();
    write_arrow(&program, "e.arrow", &batch);
    program
        .run("convert -q e.arrow e.parquet")
        .fails(4, &["e.parquet", "column \"e\"", "FixedSizeBinary(0)"]);
    program.run("convert -q e.arrow e.staffa").succeeds();
    for file in ["e.arrow", "e.staffa"] {
        program.run(&format!("size {file}")).succeeds();
        program
            .run(&format!("report -qf {file} -o e.html"))
            .succeeds();
        let measured = program.run(&format!("bench {file} --runs 1")).ends_well();
        assert!(measured.text().contains("cannot hold column \"e\""));
    }
}

#[test]
fn an_unknown_time_zone_is_one_message() {
    let program = Program::new();
    let times = TimestampSecondArray::from(vec![0]).with_timezone("Mars/Olympus");
    let batch = RecordBatch::try_from_iter([("t", Arc::new(times) as _)]).unwrap();
    write_arrow(&program, "t.arrow", &batch);
    program.run("convert -q t.arrow t.staffa").succeeds();
    program.run("convert -q t.arrow t.parquet").succeeds();
    for command in [
        "cat t.arrow",
        "cat t.staffa --json",
        "head t.parquet --csv",
        "convert -q t.staffa t.csv",
        "convert -q t.staffa t.jsonl",
        "stats t.staffa",
    ] {
        program.run(command).fails(
            4,
            &["column \"t\": the time zone \"Mars/Olympus\" is not known to this build"],
        );
    }
    let aggregated = program.run("aggregate t.staffa t=min");
    aggregated.fails(4, &["the time zone \"Mars/Olympus\" is not known"]);
}

#[test]
fn commands_of_one_file_take_a_folder_of_one_or_say_so() {
    let program = Program::with_table(100);
    fs::create_dir(program.path("one")).unwrap();
    fs::copy(program.path("t.staffa"), program.path("one/a.staffa")).unwrap();
    fs::create_dir(program.path("two")).unwrap();
    for name in ["two/a.staffa", "two/b.staffa"] {
        fs::copy(program.path("t.staffa"), program.path(name)).unwrap();
    }
    for (command, rest) in [("inspect", ""), ("explain", ""), ("aggregate", "id=sum")] {
        for path in ["one", "one/*.staffa"] {
            program.run(&format!("{command} {path} {rest}")).succeeds();
        }
        for path in ["two", "two/*.staffa"] {
            program
                .run(&format!("{command} {path} {rest}"))
                .fails(2, &[path, "2 files", "staffa merge"]);
        }
    }
    for path in ["one", "two", "two/*.staffa"] {
        program.run(&format!("size {path}")).succeeds();
        program
            .run(&format!("report -qf {path} -o r.html"))
            .succeeds();
    }
    assert!(
        program
            .run("size two")
            .succeeds()
            .text()
            .contains("in several Staffa files")
    );
}

#[test]
fn bounds_of_long_strings_are_marked() {
    let program = Program::new();
    let long = "a".repeat(40);
    program.write("t.csv", format!("long,short\n{long},x\n{long}b,y\n"));
    program.run("convert -q t.csv t.staffa").succeeds();
    let shown = program.run("inspect t.staffa --blocks").succeeds().text();
    assert!(
        shown.contains("≥ aaaa") && shown.contains("≤ aaaa"),
        "{shown}"
    );
    assert!(shown.contains("x    ") && !shown.contains("≥ x"), "{shown}");
}

#[test]
fn means_are_aggregates() {
    let program = Program::new();
    program.write("t.csv", "a,b\n1,x\n2,y\n,\n");
    program.run("convert -q t.csv t.staffa").succeeds();
    let found = program.run("aggregate t.staffa a=mean,count --json").json();
    assert_eq!(found["mean(a)"], 1.5);
    assert_eq!(found["count(a)"], 2);
    program
        .run("aggregate t.staffa a=median")
        .fails(2, &["\"median\"", "sum, mean, distinct"]);
    program
        .run("aggregate t.staffa b=mean")
        .fails(2, &["column \"b\"", "has no mean"]);
}
