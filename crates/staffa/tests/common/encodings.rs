//! A table with a column for every encoding.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringArray, UInt8Array,
};
use staffa::WriteOptions;

/// A column for every encoding, with the encoding's name, which requests it (encodings of derived
/// columns cannot be requested, but are chosen); each column has more values than a vector.
pub fn encodings() -> (RecordBatch, WriteOptions) {
    const ROWS: i64 = 1050;
    let all = || 0..ROWS;
    let some = |i: i64| i % 50 != 0;
    let mixed = |i: i64| ((i * 2_654_435_761) >> 13) * 40_503 % 65_521 % 251;
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "plain",
            Arc::new(UInt8Array::from_iter_values(all().map(|i| mixed(i) as u8))),
        ),
        (
            "constant",
            Arc::new(Int64Array::from_value(42, ROWS as usize)),
        ),
        (
            "bitpack",
            Arc::new(Int64Array::from_iter(
                all().map(|i| some(i).then_some(i * i % 13)),
            )),
        ),
        (
            "frame_of_reference",
            Arc::new(Int32Array::from_iter_values(
                all().map(|i| if i == 700 { -9 } else { (900 + i % 7) as i32 }),
            )),
        ),
        (
            "delta",
            Arc::new(Int64Array::from_iter_values(
                all().map(|i| 1_700_000_000 + i * 60 + i * i % 3),
            )),
        ),
        (
            "run_end",
            Arc::new(Int32Array::from_iter_values(
                all().map(|i| (i / 100 * 7919 % 1000) as i32),
            )),
        ),
        (
            "dictionary",
            Arc::new(StringArray::from_iter_values(
                all().map(|i| ["Oban", "Iona", "Tobermory"][(i * i % 3) as usize]),
            )),
        ),
        (
            "frequency",
            Arc::new(Int32Array::from_iter_values(
                all().map(|i| if i % 90 == 7 { i as i32 * 99_999 } else { 5 }),
            )),
        ),
        (
            "escape",
            Arc::new(Int32Array::from_iter(all().map(|i| {
                some(i).then_some((i % 5 + i * i % 41 / 40 * i * 977) as i32)
            }))),
        ),
        (
            "split",
            Arc::new(Int64Array::from_iter_values(
                all().map(|i| (1_700_000_000 + i * i % 977) * 1_000_000),
            )),
        ),
        (
            "vbyte",
            Arc::new(Int64Array::from_iter_values(
                all().map(|i| if i % 50 == 7 { i * i * i } else { i % 9 - 4 }),
            )),
        ),
        (
            "stream_vbyte",
            Arc::new(Int32Array::from_iter(
                all().map(|i| some(i).then_some((i % 60).pow(3) as i32 / 700)),
            )),
        ),
        (
            "pseudodecimal",
            Arc::new(Float64Array::from_iter_values(
                all().map(|i| (i * i % 37) as f64 / 100.0),
            )),
        ),
        (
            "alp",
            Arc::new(Float64Array::from_iter_values(
                all().map(|i| (i * i % 37) as f64 / 8.0),
            )),
        ),
        (
            "alp_rd",
            Arc::new(Float32Array::from_iter_values(
                all().map(|i| 1.0 / (1 + i % 19) as f32),
            )),
        ),
        (
            "fixed_point",
            Arc::new(Float32Array::from_iter(
                all().map(|i| some(i).then_some((i * i % 91) as f32 / 16.0)),
            )),
        ),
        (
            "fsst",
            Arc::new(StringArray::from_iter_values(
                all().map(|i| format!("https://{}", i / 100)),
            )),
        ),
        (
            "onpair",
            Arc::new(StringArray::from_iter(
                all().map(|i| some(i).then(|| format!("item-{}", i % 40))),
            )),
        ),
        (
            "narrow",
            Arc::new(Decimal128Array::from_iter_values(
                all().map(|i| i128::from(i % 9) - 4),
            )),
        ),
        (
            "bitmap",
            Arc::new(BooleanArray::from_iter(all().map(|i| Some(i * i % 3 == 1)))),
        ),
        (
            "roaring",
            Arc::new(BooleanArray::from_iter(all().map(|i| Some(i % 301 == 3)))),
        ),
        (
            "text",
            Arc::new(StringArray::from_iter(
                all().map(|i| some(i).then(|| format!("${}.{:02}", i * 7, i % 100))),
            )),
        ),
        (
            "alphabet",
            Arc::new(StringArray::from_iter_values(
                all().map(|i| format!("{:o}", mixed(i) * mixed(i + 1) * 99_991)),
            )),
        ),
        (
            "front_coding",
            Arc::new(StringArray::from_iter_values(
                all().map(|i| format!("/data/isles/{}/{}", i / 90, mixed(i))),
            )),
        ),
        (
            "zstd",
            Arc::new(StringArray::from_iter_values(
                all().map(|i| format!("row {} of the isle", i * i % 1000)),
            )),
        ),
        (
            "lz4",
            Arc::new(Int32Array::from_iter(
                all().map(|i| some(i).then_some((i * i % 10) as i32)),
            )),
        ),
        (
            "brotli",
            Arc::new(StringArray::from_iter(
                all().map(|i| some(i).then(|| format!("line {}", i % 77))),
            )),
        ),
        (
            "pco",
            Arc::new(Float64Array::from_iter(
                all().map(|i| some(i).then(|| (i * 37 % 9973) as f64 / 8.0)),
            )),
        ),
        (
            "difference",
            Arc::new(UInt8Array::from_iter_values(
                all().map(|i| (mixed(i) + i * 7 % 3) as u8),
            )),
        ),
        (
            "grouped",
            Arc::new(Int64Array::from_iter_values(
                all().map(|i| (mixed(i) + 7).pow(5) % 1_000_003),
            )),
        ),
        (
            "repeat",
            Arc::new(Int64Array::from_iter(
                all().map(|i| some(i).then_some((i % 70 * 7919 + i / 400) % 991)),
            )),
        ),
    ];
    let mut options = WriteOptions::default();
    let chosen = ["difference", "grouped"];
    let requested = columns.iter().filter(|(name, _)| !chosen.contains(name));
    options.encodings = requested
        .map(|(name, _)| ((*name).to_owned(), (*name).to_owned()))
        .collect();
    let mut known: Vec<&str> = staffa::encodings()
        .iter()
        .map(|encoding| encoding.name)
        .collect();
    let mut found: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    found.sort_unstable();
    assert_eq!(known, found, "a column for each encoding");
    let columns = columns
        .into_iter()
        .map(|(name, column)| (name, column, true));
    (
        RecordBatch::try_from_iter_with_nullable(columns).unwrap(),
        options,
    )
}
