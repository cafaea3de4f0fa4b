//! Every Arrow type through a file: scanned, cut, filtered, taken, it is what Arrow itself would
//! give.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

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

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// The schema with views where strings and binaries are, but not in dictionaries, runs.
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
        let found = file.take(&wanted, Some(&["a".to_owned()]), false).unwrap();
        check(&found);
        assert_eq!(found.schema().field(0), file.schema().field(0));
        let rest = wanted.iter().map(|row| &expected[*row as usize]);
        assert!(rest.eq(&rows(found.column(0))), "{ty}: {wanted:?}");
    }
    let columns = ["a".to_owned()];
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
            .select(start as u64..end as u64, Some(&columns), false)
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
        let found = file.select(mask, Some(&columns), false).unwrap();
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
    let found = file.take(&[200, 7, 7, 100], None, true).unwrap();
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
fn run_ends_are_handed_out_as_they_are_stored() {
    let mut random = Random(8);
    for (row_group_rows, block_rows) in [(3000, 256), (3000, 3000), (900, 300)] {
        for nulls in [0, 1, 30, 299] {
            let mut value = 0;
            let mut runs = Vec::new();
            while runs.len() < 3000 {
                value += 1 + random.below(5) as i64;
                let null = nulls > 0 && random.below(300) < nulls;
                runs.extend(std::iter::repeat_n(
                    (!null).then_some(value % 40),
                    1 + random.below(700),
                ));
            }
            runs.truncate(3000);
            let texts = runs
                .iter()
                .map(|value| value.map(|value| format!("text {value}")));
            let floats = runs
                .iter()
                .map(|value| value.map(|value| if value % 2 == 0 { 0.0 } else { -0.0 }));
            let columns: [ArrayRef; 4] = [
                Arc::new(Int64Array::from_iter(runs.iter().copied())),
                Arc::new(texts.collect::<StringArray>()),
                Arc::new(floats.collect::<Float64Array>()),
                Arc::new(
                    runs.iter()
                        .map(|value| value.map(|value| value > 20))
                        .collect::<BooleanArray>(),
                ),
            ];
            let batch = table(columns.to_vec());
            let file = write(
                std::slice::from_ref(&batch),
                sized(row_group_rows, block_rows),
            );
            let scan = || file.scan().run_ends(["a", "b", "c", "d"]);
            let found = read(scan().batch_rows(3000));
            for (i, plain) in batch.columns().iter().enumerate() {
                let expected = rows(plain);
                assert_eq!(column(&found, i), expected);
                let runs = expected.chunk_by(|a, b| a == b).count();
                let kept: usize = found
                    .iter()
                    .map(|b| b.column(i).as_run::<Int32Type>().values().len())
                    .sum();
                assert!(
                    kept < runs + found.len(),
                    "{kept} for {runs} runs in {} row groups",
                    found.len()
                );
            }
            for (skip, some) in [(0, 1), (255, 3), (256, 256), (1, 2999), (2999, 1)] {
                let found = read(scan().offset(skip).limit(some).batch_rows(100));
                for (i, plain) in batch.columns().iter().enumerate() {
                    let cut = plain.slice(skip as usize, some as usize);
                    assert_eq!(column(&found, i), rows(&cut), "{skip}, {some}");
                }
            }
            let kept: BooleanArray = runs
                .iter()
                .map(|value| Some(value.is_some_and(|value| value < 9)))
                .collect();
            let found = read(scan().filter("a < 9".parse().unwrap()));
            for (i, plain) in batch.columns().iter().enumerate() {
                assert_eq!(
                    column(&found, i),
                    rows(&arrow_select::filter::filter(plain, &kept).unwrap())
                );
            }
        }
    }
    let file = write(
        &[table(vec![Arc::new(Int64Array::from_iter_values(0..9))])],
        sized(60, 8),
    );
    let both = file
        .scan()
        .run_ends(["a"])
        .dictionaries(["a"])
        .reader()
        .unwrap_err()
        .to_string();
    assert!(both.contains("as a dictionary or as runs"), "{both}");
}

#[test]
fn dictionaries_are_handed_out_as_they_are_stored() {
    let name = |i: usize| (i % 7 != 3).then(|| format!("name {}", i * i % 11));
    let names: ArrayRef = Arc::new((0..ROWS).map(name).collect::<StringArray>());
    let batch = RecordBatch::try_from_iter([("a", names)]).unwrap();
    for (row_group_rows, block_rows) in [(ROWS, 100), (ROWS, ROWS), (90, 32)] {
        let file = write(
            std::slice::from_ref(&batch),
            sized(row_group_rows, block_rows),
        );
        let found = read(file.scan().dictionaries(["a"]));
        assert!(
            found
                .iter()
                .all(|batch| batch.column(0).as_any_dictionary().values().len() <= 6)
        );
        assert_eq!(column(&found, 0), rows(batch.column(0)));
    }
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

#[test]
fn floats_keep_their_bits() {
    let odd = [
        0,
        1 << 63,
        0x7ff0 << 48,
        0xfff0 << 48,
        0x7ff8_dead_beef_0001,
        0xfff0_0000_0000_0001,
        1,
        0x3ff3_3333_3333_3333,
    ];
    let doubles: Vec<f64> = odd
        .iter()
        .cycle()
        .take(500)
        .map(|bits| f64::from_bits(*bits))
        .collect();
    let floats = [
        0u32,
        1 << 31,
        0x7f80_0000,
        0xff80_0001,
        0x7fc1_2345,
        1,
        0x3f99_999a,
    ];
    let floats: Vec<f32> = floats
        .iter()
        .cycle()
        .take(500)
        .map(|bits| f32::from_bits(*bits))
        .collect();
    let halves = (0..500u16).map(|i| Half::from_bits(i.wrapping_mul(523)));
    let batch = table(vec![
        Arc::new(Float64Array::from(doubles)),
        Arc::new(Float32Array::from(floats)),
        Arc::new(Float16Array::from_iter_values(halves)),
    ]);
    let file = write(std::slice::from_ref(&batch), sized(300, 128));
    for i in 0..3 {
        assert_eq!(column(&read(file.scan()), i), rows(batch.column(i)));
    }
    let found = file.take(&[1], None, false).unwrap();
    assert!(
        found
            .column(0)
            .as_primitive::<Float64Type>()
            .value(0)
            .is_sign_negative()
    );
}

#[test]
fn names_metadata_and_what_may_not_be_null_come_back() {
    let metadata = |key: &str| {
        HashMap::from([
            (key.to_owned(), "ü".to_owned()),
            ("b".to_owned(), String::new()),
        ])
    };
    let uuid = HashMap::from([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())]);
    let item = Field::new("élément", DataType::Int32, false).with_metadata(metadata("item"));
    let lists = DataType::FixedSizeList(Arc::new(item), 2);
    let run_ends = Field::new("e", DataType::Int16, false).with_metadata(metadata("ends"));
    let values = Field::new("v", DataType::Utf8, false).with_metadata(metadata("values"));
    let runs = DataType::RunEndEncoded(Arc::new(run_ends), Arc::new(values));
    let strict = DataType::Struct(vec![Field::new("", DataType::Utf8, false)].into());
    let ordered = Field::new(
        "ordered",
        dictionary_of(DataType::Int8, DataType::Utf8),
        false,
    )
    .with_dict_is_ordered(true);
    let fields = vec![
        Field::new("id", DataType::FixedSizeBinary(16), false).with_metadata(uuid),
        Field::new("l i\"st", lists, false),
        Field::new("runs", runs, false),
        Field::new("", strict, false),
        ordered,
    ];
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata("schema")));
    let mut random = Random(5);
    let columns = schema
        .fields()
        .iter()
        .map(|f| array(f.data_type(), f.is_nullable(), 100, &mut random))
        .collect();
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let file = write(std::slice::from_ref(&batch), sized(40, 16));
    assert_eq!(file.schema(), &schema);
    let found = read(file.scan());
    let taken = file
        .take(&(0..100).collect::<Vec<u64>>(), None, false)
        .unwrap();
    check(&taken);
    assert_eq!(taken.schema(), schema);
    for i in 0..schema.fields().len() {
        assert_eq!(column(&found, i), rows(batch.column(i)));
        assert_eq!(rows(taken.column(i)), rows(batch.column(i)));
    }
}

#[test]
fn tables_without_rows_and_without_columns() {
    let fields: Vec<Field> = flat_types()
        .iter()
        .flat_map(|ty| [ty.clone()].into_iter().chain(nested_types(ty)))
        .enumerate()
        .map(|(i, ty)| Field::new(format!("c{i}"), ty, true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    for batches in [vec![], vec![RecordBatch::new_empty(schema.clone())]] {
        let file = File::from_bytes(
            staffa::to_bytes(schema.clone(), &batches, WriteOptions::default()).unwrap(),
        )
        .unwrap();
        assert_eq!(
            (file.schema(), file.num_rows(), file.num_row_groups()),
            (&schema, 0, 0)
        );
        assert_eq!(read(file.scan()).len(), 0);
        assert_eq!(
            file.take(&[], None, false).unwrap(),
            RecordBatch::new_empty(schema.clone())
        );
        let message = file.take(&[0], None, false).unwrap_err().to_string();
        assert_eq!(
            message,
            "index 0 at position 0 is out of range, the table has 0 rows"
        );
        let message = file.select(0..1, None, false).unwrap_err().to_string();
        assert_eq!(
            message,
            "rows 0 to 1 are out of range, the table has 0 rows"
        );
        let message = file
            .select(&BooleanArray::from(vec![true]), None, false)
            .unwrap_err()
            .to_string();
        assert_eq!(
            message,
            "a mask of as many rows as the table has, 0, expected, found 1"
        );
    }
    let options = RecordBatchOptions::new().with_row_count(Some(70));
    let none =
        RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap();
    let file = write(&[none.clone(), none], sized(60, 8));
    assert_eq!(file.num_rows(), 140);
    let count =
        |batches: Vec<RecordBatch>| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!(count(read(file.scan())), 140);
    assert_eq!(
        count(read(file.scan().offset(5).limit(77).batch_rows(9))),
        77
    );
    assert_eq!(file.take(&[139, 0], None, false).unwrap().num_rows(), 2);
    // Of a table with columns, none wanted.
    let file = write(
        &[table(vec![Arc::new(Int64Array::from_iter_values(0..100))])],
        sized(60, 8),
    );
    assert_eq!(
        count(read(
            file.scan()
                .columns([""; 0])
                .filter("a >= 50".parse().unwrap())
        )),
        50
    );
    assert_eq!(
        file.take(&[1, 2, 1], Some(&[]), false).unwrap().num_rows(),
        3
    );
}

#[test]
fn types_without_width_keep_their_rows_without_nulls() {
    let empty = FixedSizeBinaryArray::try_new_with_len(0, Buffer::default(), None, 50).unwrap();
    let lists = DataType::FixedSizeList(field("item", DataType::Int32), 0);
    let lists = array(&lists, false, 50, &mut Random(1));
    let structs = StructArray::new_empty_fields(50, None);
    let file = write(
        &[table(vec![
            Arc::new(empty),
            lists,
            Arc::new(structs),
            Arc::new(Int32Array::from_iter_values(0..50)),
        ])],
        sized(20, 8),
    );
    for batch in read(file.scan()).iter().chain(&read(
        file.scan()
            .filter("d >= 19 and d < 45".parse().unwrap())
            .batch_rows(5),
    )) {
        assert!(batch.columns().iter().all(|c| c.null_count() == 0));
    }
    let kept = read(file.scan().filter("d >= 19 and d < 45".parse().unwrap()));
    assert_eq!(kept.iter().map(RecordBatch::num_rows).sum::<usize>(), 26);
    assert_eq!(
        file.take(&[49, 0, 0, 30], None, false).unwrap().num_rows(),
        4
    );
}

#[test]
fn short_run_ends_reach_as_far_as_they_can() {
    let runs = |rows: i16| {
        let ends =
            Int16Array::from_iter_values((1..=rows / 100).map(|run| run * 100).chain([rows]));
        let values = Int32Array::from_iter_values((0..ends.len() as i32).map(|i| i * 7));
        table(vec![Arc::new(
            RunArray::<Int16Type>::try_new(&ends, &values).unwrap(),
        )])
    };
    let batches = [runs(30_050), runs(30_050)];
    let file = write(&batches, WriteOptions::default());
    assert_eq!(file.num_rows(), 60_100);
    assert_eq!(column(&read(file.scan()), 0), column(&batches, 0));
    let expected = column(&batches, 0);
    let wanted: Vec<u64> = (0..32_767).map(|i| (i * 7919) % 60_100).collect();
    let found = file.take(&wanted, None, false).unwrap();
    assert!(
        wanted
            .iter()
            .map(|row| &expected[*row as usize])
            .eq(&rows(found.column(0)))
    );
    let wanted: Vec<u64> = (0..32_768).map(|i| (i * 7919) % 60_100).collect();
    let message = file.take(&wanted, None, false).unwrap_err().to_string();
    assert!(
        message.contains("column \"a\": ") && message.contains("fewer rows"),
        "{message}"
    );
    let message = file
        .take(&vec![3; 32_768], None, false)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("column \"a\": ") && message.contains("run ends of at most 32767"),
        "{message}"
    );
}

#[test]
fn small_keys_number_what_they_can() {
    // 100 lists of its own in each row group: more than the keys number, but never in the rows
    // asked for.
    let batch = |group: i32| {
        let items = Int32Array::from_iter_values(group * 1000..group * 1000 + 200);
        let offsets = OffsetBuffer::from_lengths([2; 100]);
        let lists = ListArray::try_new(
            field("item", DataType::Int32),
            offsets,
            Arc::new(items),
            None,
        )
        .unwrap();
        let strings = StringArray::from_iter_values((0..100).map(|i| format!("{group} {i}")));
        let dictionary = |values: ArrayRef| -> ArrayRef {
            Arc::new(DictionaryArray::try_new(Int8Array::from_iter_values(0..100), values).unwrap())
        };
        let (nested, text) = (dictionary(Arc::new(lists)), dictionary(Arc::new(strings)));
        let fixed = |items: &ArrayRef| -> ArrayRef {
            let ty = DataType::FixedSizeList(field("item", items.data_type().clone()), 4);
            let data = arrow_data::ArrayData::builder(ty)
                .len(25)
                .add_child_data(items.to_data());
            arrow_array::make_array(data.build().unwrap())
        };
        table(vec![
            fixed(&nested),
            fixed(&text),
            nested.slice(0, 25),
            text.slice(0, 25),
        ])
    };
    let batches: Vec<RecordBatch> = (0..4).map(batch).collect();
    let file = write(&batches, WriteOptions::default());
    assert_eq!((file.num_rows(), file.num_row_groups()), (100, 4));
    let found = read(file.scan().filter("c is not null".parse().unwrap()));
    let wanted = [99, 0, 25, 50, 75, 0, 31];
    let taken = file.take(&wanted, None, false).unwrap();
    check(&taken);
    for i in 0..4 {
        let all = column(&batches, i);
        assert_eq!(column(&found, i), all);
        assert_eq!(
            rows(taken.column(i)),
            wanted.map(|row| all[row as usize].clone())
        );
    }
    let message = file
        .take(&(0..100).collect::<Vec<_>>(), None, false)
        .unwrap_err()
        .to_string();
    assert!(message.contains("fewer rows at once"), "{message}");
}
