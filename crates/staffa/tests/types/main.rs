//! Every Arrow type through a file: scans, slices, filters and takes give what Arrow gives.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

#[path = "../common/mod.rs"]
mod common;
mod edges;
mod stored;

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
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use common::{
    Random, array, check, column, dictionary_of, field, flat_types, map_of, nested_types, read,
    rows, runs_of, sized, table, write,
};
use staffa::{File, WriteOptions};

const ROWS: usize = 230;

/// The field with views for strings and binaries, but for the values of dictionaries and runs.
fn with_views(field: &FieldRef) -> FieldRef {
    use DataType as D;
    let ty = match field.data_type() {
        D::Utf8 | D::LargeUtf8 => D::Utf8View,
        D::Binary | D::LargeBinary => D::BinaryView,
        D::List(item) => D::List(with_views(item)),
        D::LargeList(item) => D::LargeList(with_views(item)),
        D::ListView(item) => D::ListView(with_views(item)),
        D::LargeListView(item) => D::LargeListView(with_views(item)),
        D::FixedSizeList(item, size) => D::FixedSizeList(with_views(item), *size),
        D::Struct(fields) => D::Struct(fields.iter().map(with_views).collect()),
        D::Map(entries, sorted) => D::Map(with_views(entries), *sorted),
        _ => return field.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(ty))
}

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
    views(&file, ty, &expected);
    dictionaries(&file, ty, &expected);
    run_ends(&file, ty, &expected);
}

fn scans(file: &File, ty: &DataType, expected: &[String], random: &mut Random) {
    assert_eq!(column(&read(file.scan()), 0), expected, "{ty}");
    for _ in 0..3 {
        let (offset, limit, batch_rows) = (
            random.below(ROWS + 20),
            random.below(ROWS + 20),
            1 + random.below(70),
        );
        let scan = file
            .scan()
            .offset(offset as u64)
            .limit(limit as u64)
            .batch_rows(batch_rows)
            .columns(["b", "a"]);
        let found = read(scan.threads([None, Some(1), Some(3)][random.below(3)]));
        assert!(
            found
                .iter()
                .all(|batch| (1..=batch_rows).contains(&batch.num_rows()))
        );
        let rest = expected.iter().skip(offset).take(limit);
        assert!(
            rest.eq(&column(&found, 1)),
            "{ty}: {limit} rows from {offset} on, {batch_rows} at once"
        );
    }
    let mut found = column(
        &read(file.scan().batch_rows(32).threads(Some(3)).ordered(false)),
        0,
    );
    let mut expected = expected.to_vec();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{ty} in any order");
}

fn filters(file: &File, ty: &DataType, expected: &[String], table: &RecordBatch) {
    let flags = table.column(2).as_boolean();
    let flagged = |row: usize| flags.is_valid(row) && flags.value(row);
    type Keep<'a> = Box<dyn Fn(usize) -> bool + 'a>;
    let cases: [(&str, Keep<'_>); 6] = [
        ("c = true", Box::new(flagged)),
        (
            "b >= 31 and b < 122",
            Box::new(|row| (31..122).contains(&row)),
        ),
        (
            "b in (0, 89, 90, 229) or b > 1000",
            Box::new(|row| [0, 89, 90, 229].contains(&row)),
        ),
        ("b < 0", Box::new(|_| false)),
        ("a is null", Box::new(|row| expected[row] == "NULL")),
        (
            "a is not null and c = true",
            Box::new(|row| expected[row] != "NULL" && flagged(row)),
        ),
    ];
    for (text, keep) in cases {
        let kept: Vec<&String> = (0..ROWS)
            .filter(|row| keep(*row))
            .map(|row| &expected[row])
            .collect();
        let found = read(file.scan().filter(text.parse().unwrap()).columns(["a"]));
        assert!(
            kept.iter().copied().eq(&column(&found, 0)),
            "{ty} where {text}"
        );
        let found = read(
            file.scan()
                .filter(text.parse().unwrap())
                .offset(3)
                .limit(20)
                .batch_rows(7),
        );
        assert!(
            kept.iter().copied().skip(3).take(20).eq(&column(&found, 0)),
            "{ty} where {text}, cut"
        );
    }
}

fn takes(file: &File, ty: &DataType, expected: &[String], random: &mut Random) {
    let mut cases: Vec<Vec<u64>> = vec![
        vec![],
        vec![229],
        vec![95, 95, 90, 179],
        (0..ROWS as u64).rev().collect(),
    ];
    cases.push((0..ROWS as u64).collect());
    cases.extend((0..3).map(|_| {
        (0..random.below(300))
            .map(|_| random.below(ROWS) as u64)
            .collect()
    }));
    for wanted in cases {
        let found = file.take(&wanted).columns(["a"]).read().unwrap();
        check(&found);
        assert_eq!(found.schema().field(0), file.schema().field(0));
        let rest = wanted.iter().map(|row| &expected[*row as usize]);
        assert!(rest.eq(&rows(found.column(0))), "{ty}: {wanted:?}");
    }
    for (start, end) in [
        (0, ROWS),
        (0, 0),
        (ROWS, ROWS),
        (5, 6),
        (32, 64),
        (30, 99),
        (90, 180),
        (100, ROWS),
    ] {
        let found = file
            .take(start as u64..end as u64)
            .columns(["a"])
            .read()
            .unwrap();
        check(&found);
        assert_eq!(
            rows(found.column(0)),
            expected[start..end],
            "{ty}: {start}..{end}"
        );
    }
    let some = |random: &mut Random, most: usize| {
        (0..ROWS).map(|_| Some(random.below(10) < most)).collect()
    };
    let mut masks: Vec<BooleanArray> = [0, 1, 5, 9, 10]
        .iter()
        .map(|most| some(random, *most))
        .collect();
    masks.push(
        (0..ROWS)
            .map(|row| [Some(true), Some(false), None][row % 3])
            .collect(),
    );
    masks.push(
        (0..ROWS + 7)
            .map(|row| Some(row % 64 > 2))
            .collect::<BooleanArray>()
            .slice(7, ROWS),
    );
    masks.push(
        (0..ROWS)
            .map(|row| Some((32..122).contains(&row)))
            .collect(),
    );
    for mask in &masks {
        let found = file.take(mask).columns(["a"]).read().unwrap();
        check(&found);
        let marked = mask
            .iter()
            .zip(expected)
            .filter(|(marked, _)| *marked == Some(true))
            .map(|(_, value)| value);
        assert!(marked.eq(&rows(found.column(0))), "{ty}");
    }
}

fn views(file: &File, ty: &DataType, expected: &[String]) {
    let wanted: Vec<FieldRef> = file.schema().fields().iter().map(with_views).collect();
    let found = read(file.scan().string_views(true));
    assert_eq!(found[0].schema().fields(), &Fields::from(wanted));
    assert_eq!(column(&found, 0), expected, "{ty}");
    let found = read(
        file.scan()
            .string_views(true)
            .filter("b >= 80".parse().unwrap()),
    );
    assert_eq!(column(&found, 0), expected[80..], "{ty}");
    let found = file
        .take(&[200, 7, 7, 100])
        .string_views(true)
        .read()
        .unwrap();
    check(&found);
    assert_eq!(
        rows(found.column(0)),
        [200, 7, 7, 100].map(|row: usize| expected[row].clone()),
        "{ty}"
    );
}

fn dictionaries(file: &File, ty: &DataType, expected: &[String]) {
    use DataType as D;
    if !matches!(
        ty,
        D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary | D::LargeBinary | D::BinaryView
    ) {
        let refused = file.scan().dictionaries(["b"]).reader().unwrap_err();
        assert!(
            matches!(refused, staffa::Error::InvalidArgument(_)),
            "{refused}"
        );
        return;
    }
    let scan = || file.scan().dictionaries(["a"]).columns(["a"]);
    let found = read(scan());
    assert!(
        matches!(found[0].column(0).data_type(), D::Dictionary(keys, _) if **keys == D::Int32),
        "{ty}"
    );
    assert_eq!(column(&found, 0), expected, "{ty}");
    assert_eq!(
        column(&read(scan().offset(37).limit(70).batch_rows(50)), 0),
        expected[37..107],
        "{ty}"
    );
    assert_eq!(
        column(&read(scan().filter("b >= 80".parse().unwrap())), 0),
        expected[80..],
        "{ty}"
    );
    let some = read(scan().filter("b in (3, 100, 101, 200)".parse().unwrap()));
    assert_eq!(
        column(&some, 0),
        [3, 100, 101, 200].map(|row: usize| expected[row].clone()),
        "{ty}"
    );
}

fn run_ends(file: &File, ty: &DataType, expected: &[String]) {
    use DataType as D;
    let scan = || file.scan().run_ends(["a"]).columns(["a"]);
    if ty.is_nested() && !matches!(ty, D::RunEndEncoded(..))
        || matches!(ty, D::Null | D::Dictionary(..))
    {
        let refused = scan().reader().unwrap_err();
        assert!(
            matches!(refused, staffa::Error::InvalidArgument(_)),
            "{ty}: {refused}"
        );
        return;
    }
    let found = read(scan());
    assert!(
        matches!(found[0].column(0).data_type(), D::RunEndEncoded(..)),
        "{ty}"
    );
    assert_eq!(column(&found, 0), expected, "{ty}");
    for rows in [7, 50, 230] {
        let found = read(scan().offset(37).limit(70).batch_rows(rows));
        assert_eq!(column(&found, 0), expected[37..107], "{ty}, {rows}");
    }
    assert_eq!(
        column(&read(scan().filter("b >= 80".parse().unwrap())), 0),
        expected[80..],
        "{ty}"
    );
    let some = read(scan().filter("b in (3, 100, 101, 200)".parse().unwrap()));
    assert_eq!(
        column(&some, 0),
        [3, 100, 101, 200].map(|row: usize| expected[row].clone()),
        "{ty}"
    );
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
