//! Commands over whole tables: last rows, samples, figures, differences, parts; other formats measured
//! as Staffa; filters on fields.

use std::fs;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, RecordBatch, RunArray, StringArray};

use crate::program::Program;
use crate::tables::{nested, write_parquet};
use crate::types::write_arrow;

#[test]
fn the_last_rows_are_those_of_every_format() {
    let program = Program::with_table(5000);
    program.run("convert -q t.staffa t.csv").succeeds();
    let expected = "id\n4998\n4999\n";
    for file in ["t.staffa", "t.parquet", "t.csv", "t.staffa t.parquet"] {
        let last = program.run(&format!("tail {file} -n 2 --columns id --format csv"));
        assert_eq!(last.succeeds().text(), expected, "{file}");
    }
    let some = program.run("tail t.staffa -n 2 --columns id --format csv --where \"id < 100\"");
    assert_eq!(some.succeeds().text(), "id\n98\n99\n");
    let all = program
        .run("tail t.staffa -n 10000 --columns id --format csv")
        .succeeds();
    assert_eq!(all.text().lines().count(), 5001);
}

#[test]
fn samples_keep_their_order_and_repeat_by_seed() {
    let program = Program::with_table(5000);
    let sample = |options: &str| {
        program
            .run(&format!(
                "sample t.staffa --columns id --format csv {options}"
            ))
            .succeeds()
            .text()
    };
    let ids =
        |text: &str| -> Vec<u64> { text.lines().skip(1).map(|id| id.parse().unwrap()).collect() };
    let some = ids(&sample("-n 100"));
    assert!(
        some.len() == 100 && some.is_sorted_by(|a, b| a < b),
        "{some:?}"
    );
    assert_eq!(sample("--seed 7"), sample("--seed 7"));
    assert_eq!(ids(&sample("-n 6000")).len(), 5000);
    assert!(
        ids(&sample("-n 5 --where \"id >= 4990\""))
            .iter()
            .all(|id| *id >= 4990)
    );
}

#[test]
fn columns_are_shown_in_figures() {
    let program = Program::with_table(3000);
    let stats = program.run("stats t.staffa").succeeds().text();
    assert!(stats.starts_with("3,000 rows\n"), "{stats}");
    for file in ["t.staffa", "t.parquet"] {
        let stats = program.run(&format!("stats {file} --json")).json();
        let column = |at: usize| &stats["columns"][at];
        assert_eq!(stats["rows"], 3000);
        assert_eq!(
            (&column(0)["min"], &column(0)["max"]),
            (&"0".into(), &"2999".into())
        );
        assert_eq!(
            (&column(0)["distinct"], &column(0)["mean"]),
            (&3000.into(), &1499.5.into())
        );
        assert_eq!(
            (&column(2)["column"], &column(2)["distinct"]),
            (&"city".into(), &5.into())
        );
        assert_eq!(column(2)["nulls"], 273);
        assert!(
            column(2)["top"][0]["rows"].as_u64().unwrap() > 500,
            "{stats}"
        );
        assert_eq!(column(4)["max"], "2025-07-30");
    }
    let some = program
        .run("stats t.staffa --json --columns city --where \"city = 'city 1'\"")
        .json();
    assert_eq!(some["columns"][0]["top"][0]["value"], "city 1");
    let mean = program
        .run("aggregate t.staffa id=mean,max --where \"id < 10\" --json")
        .json();
    assert_eq!(
        (&mean["mean(id)"], &mean["max(id)"]),
        (&4.5.into(), &9.into())
    );
    program
        .run("aggregate t.staffa city=mean")
        .fails(2, &["\"city\""]);
    write_parquet(&program.path("n.parquet"), &[nested(10)]);
    program.run("stats n.parquet").succeeds();
}

#[test]
fn differences_are_found_by_row_and_column() {
    let program = Program::with_table(3000);
    let same = program.run("diff t.parquet t.staffa").succeeds();
    assert_eq!(same.text(), "same: 3,000 rows\n");
    program.write("a.csv", "id,name,x\n1,a,1\n2,b,1\n3,c,1\n");
    program.write("b.csv", "name,id,y\na,1,1\nB,2,1\n,3,1\nd,4,1\n");
    let diff = program.run("diff a.csv b.csv");
    assert_eq!((diff.code, diff.err.as_str()), (1, ""));
    assert_eq!(
        diff.text(),
        "column \"x\": only in the first table\ncolumn \"y\": only in the second table\n\
         row 1, column \"name\": b | B\nrow 2, column \"name\": c | NULL\n\
         a.csv has 3 rows, b.csv has 4 rows\n2 of 3 rows differ\n"
    );
    let diff = program.run("diff a.csv b.csv --json");
    let found: serde_json::Value = serde_json::from_slice(&diff.out).unwrap();
    assert_eq!(
        (&found["same"], &found["rows_differing"]),
        (&false.into(), &2.into())
    );
    program.run("diff a.csv none.csv").fails(3, &["none.csv"]);
}

#[test]
fn tables_are_split_and_merged() {
    let program = Program::with_table(1000);
    program
        .run("split t.staffa part.parquet --rows 400 -q")
        .succeeds();
    for (part, rows) in [(1, "400\n"), (2, "400\n"), (3, "200\n")] {
        let count = program
            .run(&format!("count part-0000{part}.parquet"))
            .succeeds();
        assert_eq!(count.text(), rows);
    }
    program
        .run("merge -q part-0000*.parquet merged.staffa")
        .succeeds();
    program.run("diff t.staffa merged.staffa").succeeds();
    program
        .run("split t.staffa part.parquet --rows 400")
        .fails(3, &["part-00001.parquet", "exists already"]);
    program
        .run("split t.staffa d/part.staffa --by city -q")
        .succeeds();
    let ids = |input: &str, filter: &str| {
        let command = format!("cat {input} --columns id --format csv --where \"{filter}\"");
        program.run(&command).succeeds().text()
    };
    for filter in ["city = 'city 1'", "city is null"] {
        assert_eq!(ids("d", filter), ids("t.staffa", filter));
    }
    assert!(program.path("d/city=city 1/part.staffa").exists());
    let many: Vec<String> = (0..1_100).map(|row| format!("{row},x{row}\n")).collect();
    let many = many.concat();
    program.write("many.csv", "id,name\n".to_owned() + &many);
    program
        .run("split many.csv many/of/part.csv --by name -q")
        .fails(4, &["1000 different values"]);
    assert!(!program.path("many").exists());
    program
        .run("split many.csv part-of-many.csv --rows 1 -q")
        .fails(4, &["1000 parts"]);
    program.run("split t.staffa p.staffa").fails(2, &["--rows"]);
    program
        .run("split t.staffa p.staffa --by nope")
        .fails(2, &["\"nope\""]);
}

#[test]
fn other_tables_are_measured_as_staffa() {
    let program = Program::with_table(3000);
    let before = program.files();
    let size = program.run("size t.parquet --json").json();
    assert_eq!(
        (&size["format"], &size["rows"]),
        (&"Parquet".into(), &3000.into())
    );
    assert_eq!(
        size["original_bytes"],
        fs::metadata(program.path("t.parquet")).unwrap().len()
    );
    let text = program.run("size t.parquet").succeeds().text();
    assert!(
        text.starts_with("t.parquet: ") && text.contains(" as Parquet, "),
        "{text}"
    );
    let page = program.run("report t.parquet -o -").succeeds().text();
    assert!(
        page.contains("t.parquet: Staffa report") && page.contains("Staffa report: Parquet of ")
    );
    assert_eq!(program.files(), before);
}

#[test]
fn fields_of_structs_are_filtered() {
    let program = Program::new();
    write_parquet(&program.path("n.parquet"), &[nested(5000)]);
    program.run("convert -q n.parquet n.staffa").succeeds();
    for file in ["n.parquet", "n.staffa"] {
        let count = |filter: &str| {
            program
                .run(&format!("count {file} --where \"{filter}\""))
                .succeeds()
                .text()
        };
        assert_eq!(count("point.x >= 4990"), "10\n", "{file}");
        assert_eq!(
            count("point.x between 10 and 19 and point is not null"),
            "10\n",
            "{file}"
        );
        assert_eq!(count("not point.x < 5"), "4995\n", "{file}");
        let rows = program.run(&format!(
            "cat {file} --json --columns point --where \"point.x = 7\""
        ));
        assert_eq!(rows.succeeds().text(), "{\"point\":{\"x\":7}}\n", "{file}");
        program
            .run(&format!("count {file} --where \"point.z = 7\""))
            .fails(2, &["point.z", "there is no field \"z\", but x"]);
        program
            .run(&format!("count {file} --where \"tags.z = 7\""))
            .fails(2, &["tags.z", "a struct expected"]);
    }
    program.write("t.csv", "name\nOban\nOBAN\nMull\n");
    program.run("convert -q t.csv t.staffa").succeeds();
    for file in ["t.csv", "t.staffa"] {
        let count = |filter: &str| {
            program
                .run(&format!("count {file} --where \"{filter}\""))
                .succeeds()
                .text()
        };
        assert_eq!(
            (count("name ilike 'o%'"), count("name not ilike '%B%'")),
            ("2\n".into(), "1\n".into())
        );
    }
}

#[test]
fn manual_pages_are_written() {
    let program = Program::new();
    program.run("man pages").succeeds();
    let page = fs::read_to_string(program.path("pages/staffa-convert.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("Examples:"), "{page}");
    assert!(
        program.path("pages/staffa.1").exists() && program.path("pages/staffa-diff.1").exists()
    );
}

#[test]
fn tables_without_rows_are_split_into_one_file_or_this_is_said() {
    let program = Program::with_table(10);
    program
        .run("convert -q t.staffa none.staffa --where \"id < 0\"")
        .succeeds();
    program
        .run("split none.staffa part.staffa --rows 5 -q")
        .succeeds();
    assert_eq!(program.run("count part-00001.staffa").text(), "0\n");
    let columns =
        |file: &str| program.run(&format!("schema {file} --json")).json()["columns"].clone();
    assert_eq!(columns("part-00001.staffa"), columns("t.staffa"));
    let outcome = program
        .run("split none.staffa d/part.staffa --by city -q")
        .ends_well();
    assert!(
        outcome.err.contains("no file was written"),
        "{}",
        outcome.err
    );
    assert!(!program.path("d").exists());
    write_parquet(&program.path("n.parquet"), &[nested(10)]);
    for column in ["tags", "point"] {
        program
            .run(&format!("split n.parquet e/part.parquet --by {column} -q"))
            .fails(2, &["--by", column, "is of type"]);
    }
    assert!(!program.path("e").exists());
}

#[test]
fn a_loss_is_said_once_for_all_parts() {
    let program = Program::new();
    program.write("t.csv", "a,b\n1,x\n2,y\n3,z\n");
    program
        .run("convert -q t.csv t.staffa --metadata k=v")
        .succeeds();
    let outcome = program
        .run("split t.staffa part.csv --rows 1 -q")
        .ends_well();
    assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
    let (ends, values) = (
        Int32Array::from(vec![2, 3]),
        StringArray::from(vec!["x", "y"]),
    );
    let runs = RunArray::<Int32Type>::try_new(&ends, &values).unwrap();
    let runs = RecordBatch::try_from_iter([("r", Arc::new(runs) as ArrayRef)]).unwrap();
    write_arrow(&program, "r.arrow", &runs);
    let outcome = program
        .run("split r.arrow part.parquet --rows 1 -q")
        .ends_well();
    assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
    assert!(
        outcome.err.contains("the values are written plainly"),
        "{}",
        outcome.err
    );
}

#[test]
fn tables_are_measured_from_the_standard_input() {
    let program = Program::with_table(300);
    let csv = program.run("cat t.staffa --format csv").succeeds().out;
    let staffa = fs::read(program.path("t.staffa")).unwrap();
    let before = program.files();
    for (input, format) in [(&csv, "csv"), (&staffa, "staffa")] {
        let page = program
            .run_with(&format!("report - --from {format} -o - -q"), input)
            .succeeds()
            .text();
        assert!(page.contains("<title>standard input: Staffa report") && page.contains("city"));
        let size = program.run_with(&format!("size - --from {format}"), input);
        assert!(size.succeeds().text().contains("300 rows"));
    }
    program
        .run_with("report - -o p.html", &csv)
        .fails(2, &["--from"]);
    // A copy of it is read, which is not what the message names.
    for command in ["report - -o p.html", "cat -", "size -"] {
        program
            .run_with(&format!("{command} --from staffa"), &[0; 100])
            .fails(1, &["staffa: the standard input: not a Staffa file"]);
    }
    assert_eq!(program.files(), before);
}
