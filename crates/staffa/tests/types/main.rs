//! Every Arrow type through a file: scans, slices, filters and takes give what Arrow gives.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod checks;
#[path = "../common/mod.rs"]
mod common;
mod decimals;
mod edges;
mod filtered;
mod stored;
mod zeros;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float64Type, Int16Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, FixedSizeBinaryArray,
    Float16Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    ListArray, RecordBatch, RecordBatchOptions, RunArray, StringArray, StructArray,
};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema};
use common::{
    Random, array, check, column, dictionary_of, field, flat_types, map_of, nested_types, read,
    rows, runs_of, sized, table, write,
};
use staffa::{File, WriteOptions};

use self::checks::{
    dictionaries, filters, run_ends, scans, takes, takes_masks, takes_ranges, views,
};

const ROWS: usize = 230;

/// Writes the column `a` beside a row number and a flag, in batches of many sizes, and reads it in
/// every way.
fn round_trips(ty: &DataType, random: &mut Random) {
    let whole = array(ty, true, ROWS + 9, random);
    let number: ArrayRef = Arc::new(Int64Array::from_iter_values(-4..ROWS as i64 + 5));
    let flag: ArrayRef = Arc::new(
        (0..ROWS + 9)
            .map(|_| [Some(true), Some(false), None][random.below(3)])
            .collect::<BooleanArray>(),
    );
    let table = table(vec![whole, number, flag]).slice(4, ROWS);
    let expected = rows(table.column(0));
    let cuts = [0, 0, 1, 2, 40, 41, 41, 200, ROWS];
    let batches: Vec<RecordBatch> = cuts
        .windows(2)
        .map(|cut| table.slice(cut[0], cut[1] - cut[0]))
        .collect();
    let file = write(&batches, sized(90, 32));
    assert_eq!(
        (file.num_rows(), file.num_row_groups()),
        (ROWS as u64, 3),
        "{ty}"
    );
    assert_eq!(file.schema(), &table.schema());
    scans(&file, ty, &expected, random);
    filters(&file, ty, &expected, &table);
    takes(&file, ty, &expected, random);
    takes_ranges(&file, ty, &expected);
    takes_masks(&file, ty, &expected, random);
    views(&file, ty, &expected);
    dictionaries(&file, ty, &expected);
    run_ends(&file, ty, &expected);
}

#[test]
fn flat_types_come_back() {
    let mut random = Random(1);
    flat_types()
        .iter()
        .for_each(|ty| round_trips(ty, &mut random));
}

#[test]
fn keys_and_run_ends_of_every_width_come_back() {
    use DataType as D;
    let mut random = Random(2);
    for key in [
        D::Int8,
        D::Int16,
        D::Int32,
        D::Int64,
        D::UInt8,
        D::UInt16,
        D::UInt32,
        D::UInt64,
    ] {
        for values in [
            D::Utf8,
            D::Float64,
            D::Null,
            D::FixedSizeBinary(0),
            D::List(field("item", D::Int16)),
        ] {
            round_trips(&dictionary_of(key.clone(), values), &mut random);
        }
    }
    for ends in [D::Int16, D::Int32, D::Int64] {
        for values in [
            D::Utf8,
            D::Boolean,
            D::Null,
            dictionary_of(D::Int8, D::Binary),
            map_of(D::Int8, D::Utf8, false),
        ] {
            round_trips(&runs_of(ends.clone(), values), &mut random);
        }
    }
}

#[test]
fn nested_types_come_back() {
    let mut random = Random(3);
    for inner in [
        DataType::Utf8,
        DataType::Null,
        DataType::Boolean,
        DataType::FixedSizeBinary(0),
        DataType::Int64,
    ] {
        nested_types(&inner)
            .iter()
            .for_each(|ty| round_trips(ty, &mut random));
    }
}

#[test]
fn deeply_nested_types_come_back() {
    let mut random = Random(4);
    for middle in nested_types(&DataType::LargeBinary) {
        for ty in &nested_types(&middle) {
            // A third of all pairs: a random one, but always the same.
            if random.below(3) == 0 {
                round_trips(ty, &mut random);
            }
        }
    }
}
