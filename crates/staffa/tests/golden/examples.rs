//! The nodes, blocks and entries of FORMAT.md, section 13, put into files made by hand and read.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, RecordBatch, UInt8Array, UInt32Array,
    UInt64Array,
};
use staffa::{File, Limits, WriteOptions};

use crate::common::parts::{Parts, block, varint};
use crate::common::{column, read};

/// The rows of a table of section 13: what it is, and all bytes in hexadecimal.
fn table(heading: &str) -> Vec<(String, Vec<u8>)> {
    let text = include_str!("../../../../FORMAT.md");
    let (_, text) = text.split_once(heading).unwrap();
    let (text, _) = text.split_once("\n#").unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let row = |row: &str| {
        let (what, bytes) = row[2..].split_once(" | ").unwrap();
        let spans = bytes.split('`').skip(1).step_by(2);
        let bytes = spans.filter_map(|span| {
            let byte = |byte: &str| {
                u8::from_str_radix(byte, 16)
                    .ok()
                    .filter(|_| byte.len() == 2)
            };
            let bytes = span.replace("\\|", "");
            bytes
                .split_whitespace()
                .map(byte)
                .collect::<Option<Vec<u8>>>()
        });
        (what.to_owned(), bytes.flatten().collect())
    };
    rows.skip(1).map(row).collect()
}

fn bytes_of(heading: &str, what: &str) -> Vec<u8> {
    let rows = table(heading);
    let mut found = rows.iter().filter(|(name, _)| name.starts_with(what));
    let (_, bytes) = found.next().unwrap_or_else(|| panic!("no {what}"));
    bytes.clone()
}

/// A file of leaves of these physical types.
fn parts(types: &[u8]) -> Parts {
    let array = |ty: &u8| -> ArrayRef {
        match ty {
            0 => Arc::new(BooleanArray::from(vec![true])),
            1 => Arc::new(UInt8Array::from(vec![1])),
            3 => Arc::new(UInt32Array::from(vec![1])),
            4 => Arc::new(UInt64Array::from(vec![1])),
            5 => {
                let wide = Decimal128Array::from(vec![1]);
                Arc::new(wide.with_precision_and_scale(38, 0).unwrap())
            }
            _ => Arc::new(BinaryArray::from_vec(vec![b"x"])),
        }
    };
    let columns = types.iter().enumerate();
    let columns = columns.map(|(i, ty)| (format!("c{i}"), array(ty), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut options = WriteOptions::default();
    options.derived_columns = false;
    let mut parts = Parts::of(&staffa::to_bytes(batch.schema(), &[batch], options).unwrap());
    parts.clear();
    parts
}

/// The rows of a column as text: numbers in decimal, bits of floats in hexadecimal.
fn shown(parts: &Parts, at: usize) -> Vec<String> {
    let file = File::from_bytes_with(parts.file(), Limits::default()).unwrap();
    let batches = read(file.scan().columns([format!("c{at}")]));
    let array = batches[0].column(0).clone();
    let text = arrow_cast::cast(&array, &arrow_schema::DataType::Utf8);
    match text {
        Ok(text) => {
            let text: Vec<Option<&str>> = arrow_array::cast::AsArray::as_string::<i32>(&text)
                .iter()
                .collect();
            text.iter()
                .map(|row| row.unwrap_or("NULL").to_owned())
                .collect()
        }
        Err(_) => column(&batches, 0),
    }
}

/// The bits of floats, as the examples have them by value.
fn floats(values: &[f64]) -> Vec<String> {
    values
        .iter()
        .map(|value| value.to_bits().to_string())
        .collect()
}

fn singles(values: &[f32]) -> Vec<String> {
    values
        .iter()
        .map(|value| value.to_bits().to_string())
        .collect()
}

/// What each example decodes to, in the order of the table.
fn expected() -> Vec<(&'static str, Vec<String>)> {
    let list = |values: &str| {
        values
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let numbers = |values: &mut dyn Iterator<Item = u64>| values.map(|v| v.to_string()).collect();
    let signed = |values: &[i32]| values.iter().map(|v| (*v as u32).to_string()).collect();
    let fifteen = || (0..15).map(|i| 1000 + i % 4);
    let urls = list("http://a.example/1 http://a.example/2 http://b.example/1");
    let deltas = &mut (100..1225).chain([]);
    vec![
        ("plain, 32", list("1 258")),
        (
            "plain, strings",
            vec!["ab".into(), String::new(), "c".into()],
        ),
        ("constant", list("7 7 7")),
        ("bitpack", list("5 6 7")),
        ("frame_of_reference, 32 bits: -3", signed(&[-3, -2, -1])),
        (
            "frame_of_reference, signed",
            numbers(&mut fifteen().chain([0])),
        ),
        (
            "frame_of_reference, 32 bits: 1000",
            numbers(&mut fifteen().chain([70_000])),
        ),
        ("delta, 32 bits: 10", list("10 11 13 16")),
        ("delta, 32 bits: 100", numbers(deltas)),
        (
            "run_end",
            list("true true true true true false false false"),
        ),
        ("dictionary", list("oban mull oban")),
        ("escape", list("1 900 2 3")),
        ("split", list("7000 3000 12000")),
        ("vbyte", list("5 300")),
        ("stream_vbyte", list("5 300")),
        ("zstd, 32", list("7 8")),
        ("lz4", list("7 8")),
        ("brotli", list("7 8")),
        ("frequency", list("0 0 9 0 0 8 0")),
        ("pseudodecimal", floats(&[0.99, 3.25, -0.0])),
        ("fsst", urls.clone()),
        ("narrow", list("125 118059162071741130342400 -1")),
        ("bitmap", list("true false true true")),
        ("roaring", list("true false true true")),
        ("alp,", floats(&[0.99, 3.25, f64::NAN])),
        ("alp_rd", singles(&[1.1, 1.2, 1.3])),
        ("fixed_point", singles(&[0.75, -2.5, f32::NAN])),
        ("onpair", urls),
        ("repeat", list("7 8 9 7 8 9 7 8")),
        ("text", list("$1,250.50 - $90.05")),
        ("alphabet", list("ab a")),
        ("front_coding", list("staffa stag")),
    ]
}

#[test]
fn every_node_decodes_to_what_it_says() {
    let rows: Vec<(String, Vec<u8>)> = table("### Nodes").into_iter().collect();
    let nothing = |what: &String| what.ends_with("no values");
    let known = expected();
    let names: Vec<&String> = rows
        .iter()
        .map(|(name, _)| name)
        .filter(|n| !nothing(n))
        .collect();
    assert_eq!(names.len(), known.len(), "{names:?}");
    for ((what, node), (name, values)) in rows.iter().filter(|(n, _)| !nothing(n)).zip(known) {
        assert!(what.starts_with(name), "{what}: {name}");
        let ty = node[1] & 15;
        let decoded = (ty == 7).then(|| values.iter().map(String::len).sum::<usize>() as u64);
        let mut parts = parts(&[ty]);
        let count = values.len() as u64;
        let bytes = block(count, decoded, node);
        parts.set_block(0, &[], (count, &bytes), decoded.unwrap_or(0), &[0, 0]);
        parts.set_rows(count);
        assert_eq!(shown(&parts, 0), values, "{what}");
    }
    // The codecs of no values: four bytes each.
    let (_, nodes) = rows.iter().find(|(name, _)| nothing(name)).unwrap();
    for node in nodes.chunks(4) {
        let mut parts = parts(&[3]);
        // A block of three NULLs with a node of no values.
        let bytes = [&[3, 7, 11, 0, 3, 1, 0][..], node].concat();
        parts.set_block(0, &[], (3, &bytes), 0, &[3, 0]);
        parts.set_rows(3);
        assert_eq!(shown(&parts, 0), ["NULL"; 3]);
    }
}

/// Bytes of an example in the section of blocks of several columns.
fn of(what: &str) -> Vec<u8> {
    bytes_of("### Blocks of several columns", what)
}

#[test]
fn derived_blocks_are_read_as_they_say() {
    for (source, derived, values) in [
        ("source: 10", "difference, 2 * source", ["21", "41", "61"]),
        (
            "source with a NULL",
            "difference, validity too",
            ["21", "NULL", "61"],
        ),
        (
            "source that is not",
            "difference that is not",
            ["21", "199", "61"],
        ),
    ] {
        let mut parts = parts(&[3, 3]);
        let nulls = u8::from(source != "source: 10");
        parts.set_block(0, &[], (3, &of(source)), 0, &[nulls, 0]);
        let nulls = values.iter().filter(|value| **value == "NULL").count() as u8;
        parts.set_block(1, &[0], (3, &of(derived)), 0, &[nulls, 0]);
        parts.set_rows(3);
        assert_eq!(shown(&parts, 1), values, "{derived}");
        File::from_bytes(parts.file())
            .unwrap()
            .verify(&mut |_| {})
            .unwrap();
    }
    for (derived, values) in [
        ("grouped: ", ["100", "200", "101", "200"]),
        ("grouped without", ["100", "200", "100", "200"]),
    ] {
        let mut parts = parts(&[3, 3]);
        parts.set_block(0, &[], (4, &of("source of groups")), 0, &[0, 0]);
        parts.set_block(1, &[0], (4, &of(derived)), 0, &[0, 0]);
        parts.set_rows(4);
        assert_eq!(shown(&parts, 1), values, "{derived}");
    }
}

#[test]
fn equal_chunks_and_shared_dictionaries_are_read_as_they_say() {
    // Equal to leaf 0.
    let mut equal = parts(&[3, 3]);
    equal.set_block(0, &[], (3, &of("source: 10")), 0, &[0, 0]);
    let entry = of("entry of a chunk");
    equal.indexes[1] = [varint(entry.len() as u64), entry].concat();
    equal.set_rows(3);
    assert_eq!(shown(&equal, 1), ["10", "20", "30"]);
    File::from_bytes(equal.file())
        .unwrap()
        .verify(&mut |_| {})
        .unwrap();
    // A shared dictionary.
    let mut shared = parts(&[7]);
    let bytes = of("dictionary by shared part");
    shared.set_chunk(0, &[], (3, &bytes), 12, &[0, 0], &[of("shared part")]);
    shared.set_rows(3);
    assert_eq!(shown(&shared, 0), ["oban", "mull", "oban"]);
    for nulls in ["all NULL: ", "all NULL, with a node"] {
        let mut parts = parts(&[3]);
        parts.set_block(0, &[], (3, &of(nulls)), 0, &[3, 0]);
        parts.set_rows(3);
        assert_eq!(shown(&parts, 0), ["NULL"; 3], "{nulls}");
    }
}
