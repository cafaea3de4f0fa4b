//! BtrBlocks, figure 4: the pool built up one encoding at a time.

use serde_json::{Value, json};

use crate::Result;
use crate::tables::{Table, class, files, options, scan};

/// Of every type: what is there from the start besides `plain` and `bitmap`, then what is added, a
/// step at a time. The last of the paper's steps has a `|` behind it; what no step names comes
/// last.
const STEPS: &[(&str, &[&str])] = &[
    (
        "integer",
        &[
            "",
            "constant",
            "bitpack",
            "frame_of_reference",
            "dictionary",
            "run_end",
            "frequency roaring|",
            "delta",
            "repeat",
        ],
    ),
    (
        "double",
        &[
            "bitpack frame_of_reference",
            "constant",
            "dictionary",
            "run_end",
            "frequency roaring",
            "pseudodecimal|",
            "alp",
            "alp_rd",
            "delta",
            "repeat",
        ],
    ),
    (
        "string",
        &[
            "bitpack frame_of_reference",
            "constant",
            "dictionary",
            "run_end",
            "fsst",
            "frequency roaring|",
            "onpair",
            "front_coding",
            "text",
            "alphabet",
            "delta",
            "repeat",
        ],
    ),
];
/// Tables with fewer bytes of a type are left out.
const LEAST_BYTES: usize = 200_000;
const ROWS: usize = 1 << 19;

pub fn run(folder: &str) -> Result<Value> {
    let all: Vec<&str> = staffa::encodings().iter().map(|e| e.name).collect();
    let mut out = Vec::new();
    for (ty, steps) in STEPS {
        let mut tables = Vec::new();
        for path in files(folder)? {
            let table = Table::read(&path, ROWS)?.of(|t| class(t) == *ty)?;
            tables.extend(table.filter(|table| table.arrow_bytes() >= LEAST_BYTES));
        }
        let mut there = vec!["plain", "bitmap"];
        let mut rows = Vec::new();
        let last = ["all others", "other columns"];
        for (i, step) in steps.iter().chain(&last).enumerate() {
            let names = step.trim_end_matches('|');
            if i < steps.len() {
                there.extend(names.split_whitespace());
            } else {
                there.clone_from(&all);
            }
            let mut options = options();
            options.derived_columns = i > steps.len();
            options.without = all
                .iter()
                .filter(|name| !there.contains(name))
                .map(|name| (*name).to_owned())
                .collect();
            let mut measured = Vec::new();
            for table in &tables {
                let (bytes, write) = table.write(&options)?;
                let scan = scan(&bytes, 3)?;
                measured.push(
                    json!({"table": table.name, "arrow": table.arrow_bytes(), "bytes": bytes.len(),
                    "write": write, "scan": scan}),
                );
            }
            eprintln!("{ty} +{names}");
            rows.push(
                json!({"added": if i == 0 { "plain" } else { names }, "paper": step.ends_with('|'),
                "tables": measured}),
            );
        }
        out.push(json!({"type": ty, "steps": rows}));
    }
    Ok(json!(out))
}
