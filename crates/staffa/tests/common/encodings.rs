//! A table with a column for every encoding.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, UInt8Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, StringArray};
use staffa::WriteOptions;

/// More than a vector has.
const ROWS: i64 = 1050;

fn words<T: ArrowPrimitiveType>(of: impl Fn(i64) -> T::Native) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter_values((0..ROWS).map(of)))
}

fn strings(of: impl Fn(i64) -> String) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..ROWS).map(of)))
}

fn bits(of: impl Fn(i64) -> bool) -> ArrayRef {
    Arc::new((0..ROWS).map(|i| Some(of(i))).collect::<BooleanArray>())
}

/// Every 50th is NULL.
fn some_words<T: ArrowPrimitiveType>(of: impl Fn(i64) -> T::Native) -> ArrayRef {
    let values = (0..ROWS).map(|i| (i % 50 != 0).then(|| of(i)));
    Arc::new(values.collect::<PrimitiveArray<T>>())
}

/// Every 50th is NULL.
fn some_strings(of: impl Fn(i64) -> String) -> ArrayRef {
    let values = (0..ROWS).map(|i| (i % 50 != 0).then(|| of(i)));
    Arc::new(values.collect::<StringArray>())
}

/// 0 to 250 in no order.
fn mixed(i: i64) -> i64 {
    ((i * 2_654_435_761) >> 13) * 40_503 % 65_521 % 251
}

/// A column for every encoding, by its name.
#[rustfmt::skip]
fn columns() -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("plain", words::<UInt8Type>(|i| mixed(i) as u8)),
        ("constant", words::<Int64Type>(|_| 42)),
        ("bitpack", some_words::<Int64Type>(|i| i * i % 13)),
        ("frame_of_reference", words::<Int32Type>(|i| if i == 700 { -9 } else { (900 + i % 7) as i32 })),
        ("delta", words::<Int64Type>(|i| 1_700_000_000 + i * 60 + i * i % 3)),
        ("run_end", words::<Int32Type>(|i| (i / 100 * 7919 % 1000) as i32)),
        ("dictionary", strings(|i| ["Oban", "Iona", "Tobermory"][(i * i % 3) as usize].to_owned())),
        ("frequency", words::<Int32Type>(|i| if i % 90 == 7 { i as i32 * 99_999 } else { 5 })),
        ("escape", some_words::<Int32Type>(|i| (i % 5 + i * i % 41 / 40 * i * 977) as i32)),
        ("split", words::<Int64Type>(|i| (1_700_000_000 + i * i % 977) * 1_000_000)),
        ("vbyte", words::<Int64Type>(|i| if i % 50 == 7 { i * i * i } else { i % 9 - 4 })),
        ("stream_vbyte", some_words::<Int32Type>(|i| (i % 60).pow(3) as i32 / 700)),
        ("pseudodecimal", words::<Float64Type>(|i| (i * i % 37) as f64 / 100.0)),
        ("alp", words::<Float64Type>(|i| (i * i % 37) as f64 / 8.0)),
        ("alp_rd", words::<Float32Type>(|i| 1.0 / (1 + i % 19) as f32)),
        ("fixed_point", some_words::<Float32Type>(|i| (i * i % 91) as f32 / 16.0)),
        ("fsst", strings(|i| format!("https://{}", i / 100))),
        ("onpair", some_strings(|i| format!("item-{}", i % 40))),
        ("narrow", words::<Decimal128Type>(|i| i128::from(i % 9) - 4)),
        ("bitmap", bits(|i| i * i % 3 == 1)),
        ("roaring", bits(|i| i % 301 == 3)),
        ("text", some_strings(|i| format!("${}.{:02}", i * 7, i % 100))),
        ("alphabet", strings(|i| format!("{:o}", mixed(i) * mixed(i + 1) * 99_991))),
        ("front_coding", strings(|i| format!("/data/isles/{}/{}", i / 90, mixed(i)))),
        ("zstd", strings(|i| format!("row {} of the isle", i * i % 1000))),
        ("lz4", some_words::<Int32Type>(|i| (i * i % 10) as i32)),
        ("brotli", some_strings(|i| format!("line {}", i % 77))),
        ("pco", some_words::<Float64Type>(|i| (i * 37 % 9973) as f64 / 8.0)),
        ("difference", words::<UInt8Type>(|i| (mixed(i) + i * 7 % 3) as u8)),
        ("grouped", words::<Int64Type>(|i| (mixed(i) + 7).pow(5) % 1_000_003)),
        ("repeat", some_words::<Int64Type>(|i| (i % 70 * 7919 + i / 400) % 991)),
    ]
}

/// A column for every encoding, with the encoding's name, which requests it (encodings of derived
/// columns cannot be requested, but are chosen).
pub fn encodings() -> (RecordBatch, WriteOptions) {
    let columns = columns();
    let mut options = WriteOptions::default();
    let chosen = ["difference", "grouped"];
    let requested = columns.iter().filter(|(name, _)| !chosen.contains(name));
    options.encodings = requested
        .map(|(name, _)| ((*name).to_owned(), (*name).to_owned()))
        .collect();
    let known = staffa::encodings()
        .into_iter()
        .map(|encoding| encoding.name);
    let mut known: Vec<&str> = known.collect();
    let mut found: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    found.sort_unstable();
    assert_eq!(known, found, "a column for each encoding");
    let columns = columns.into_iter().map(|(name, c)| (name, c, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    (batch, options)
}
