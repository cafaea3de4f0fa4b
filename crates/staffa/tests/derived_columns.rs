//! Derived columns: scans, slices, rows and filters give the written values, whatever is NULL.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod common;

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use common::{Random, check, read, rows, sized, table, write};
use staffa::{File, Predicate, WriteOptions};

/// NULL once in about `share` values; never where `share` is 0.
fn nullable<T>(share: usize, random: &mut Random, value: T) -> Option<T> {
    (share == 0 || random.below(share) > 0).then_some(value)
}

/// Columns of strings, integers and floats, some of which can be derived from others.
fn related(len: usize, shares: [usize; 2], seed: u64) -> RecordBatch {
    let mut random = Random(seed);
    let keys: Vec<usize> = (0..len).map(|_| random.below(300)).collect();
    let [few, many] = shares;
    let names: Vec<Option<String>> = keys
        .iter()
        .map(|k| nullable(few, &mut random, format!("name of {}", k * 7919 % 1000)))
        .collect();
    let codes: Vec<Option<i64>> = keys
        .iter()
        .map(|k| nullable(many, &mut random, (*k as i64 + 5).pow(3)))
        .collect();
    let towns: Vec<Option<String>> = keys
        .iter()
        .map(|k| {
            // Few in most blocks, more than a filter looks up one by one in some.
            let town = if random.below(40) == 0 {
                random.below(50)
            } else {
                k % 40
            };
            nullable(few, &mut random, format!("town {town}"))
        })
        .collect();
    let begin: Vec<i32> = (0..len).map(|_| random.below(1 << 20) as i32).collect();
    let end: Vec<Option<i32>> = begin
        .iter()
        .map(|b| (b, random.below(9) as i32))
        .map(|(b, more)| nullable(many, &mut Random(*b as u64), b + more))
        .collect();
    let price: Vec<f64> = (0..len)
        .map(|_| random.below(1 << 20) as f64 / 100.0)
        .collect();
    let paid: Vec<Option<f64>> = price
        .iter()
        .map(|p| {
            let paid = ((p * 100.0).round() + random.below(4) as f64) / 100.0;
            nullable(few, &mut random, paid)
        })
        .collect();
    table(vec![
        Arc::new(StringArray::from(names)),
        Arc::new(Int64Array::from(codes)),
        Arc::new(StringArray::from(towns)),
        Arc::new(Int32Array::from(begin)),
        Arc::new(Int32Array::from(end)),
        Arc::new(Float64Array::from(price)),
        Arc::new(Float64Array::from(paid)),
    ])
}

/// The sources of all derived chunks.
fn sources(file: &staffa::File) -> Vec<String> {
    let chunks = file
        .inspect()
        .unwrap()
        .columns
        .into_iter()
        .flat_map(|leaf| leaf.chunks);
    chunks.flat_map(|chunk| chunk.references).collect()
}

#[test]
fn derived_columns_come_back() {
    for (seed, shares) in [[0, 0], [0, 3], [3, 0], [40, 40], [2, 40], [40, 0]]
        .into_iter()
        .enumerate()
    {
        let batch = related(5000, shares, seed as u64 + 1);
        let file = write(std::slice::from_ref(&batch), sized(3000, 1024));
        assert!(
            sources(&file).len() >= 2,
            "{shares:?}: {:?}",
            sources(&file)
        );
        let mut alone = sized(3000, 1024);
        alone.derived_columns = false;
        let alone = write(std::slice::from_ref(&batch), alone);
        assert!(sources(&alone).is_empty() && file.nbytes() < alone.nbytes());
        file.verify(&mut |_| {}).unwrap();
        let found = read(file.scan());
        for (i, expected) in batch.columns().iter().enumerate() {
            assert_eq!(
                common::column(&found, i),
                rows(expected),
                "{shares:?}, column {i}"
            );
            // By itself, from the middle.
            let name = batch.schema().field(i).name().clone();
            let found = read(
                file.scan()
                    .columns([name.as_str()])
                    .offset(1500)
                    .limit(2000),
            );
            assert_eq!(
                common::column(&found, 0),
                rows(&expected.slice(1500, 2000)),
                "{shares:?}, column {i}"
            );
        }
        taken_and_filtered(&file, &batch, &format!("{shares:?}"));
    }
}

fn taken_and_filtered(file: &File, batch: &RecordBatch, what: &str) {
    let mut random = Random(99);
    let wanted: Vec<u64> = (0..300).map(|_| random.below(5000) as u64).collect();
    let taken = file.take(&wanted).read().unwrap();
    check(&taken);
    let gathered = arrow_select::take::take_record_batch(batch, &UInt64Array::from(wanted));
    for (found, expected) in taken.columns().iter().zip(gathered.unwrap().columns()) {
        assert_eq!(rows(found), rows(expected), "{what}");
    }
    for text in [
        "c = 'town 7' and b > 1000",
        "c = 'town 7'",
        "c != 'town 7'",
        "c in ('town 3', 'town 44', 'nowhere')",
        "c = 'town 44'",
        "c = 'nowhere'",
        "b = 1000",
        "b != 1000",
        "b <= 27000",
    ] {
        let predicate: Predicate = text.parse().unwrap();
        let kept = predicate.bind(&batch.schema()).unwrap();
        let kept = kept.evaluate(batch).unwrap();
        let expected = arrow_select::filter::filter_record_batch(batch, &kept).unwrap();
        let found = read(file.scan().filter(predicate));
        for (i, expected) in expected.columns().iter().enumerate() {
            let found = common::column(&found, i);
            assert_eq!(found, rows(expected), "{what}, {text}, column {i}");
        }
    }
}

#[test]
fn equal_columns_cost_next_to_nothing() {
    let mut random = Random(5);
    let column: ArrayRef = Arc::new(Float64Array::from_iter_values(
        (0..20_000).map(|_| random.next() as f64 / 3.0),
    ));
    let once = write(&[table(vec![column.clone()])], WriteOptions::default()).nbytes();
    let twice = write(
        &[table(vec![column.clone(), column])],
        WriteOptions::default(),
    )
    .nbytes();
    assert!(twice < once + 100, "{twice} for two, {once} for one");
}

#[test]
fn sums_of_columns_are_derived() {
    let mut random = Random(11);
    let parts: Vec<Vec<i32>> = (0..3)
        .map(|_| (0..4000).map(|_| random.below(5000) as i32).collect())
        .collect();
    // Twice the second, less the third; every twentieth is none of that.
    let sum = |i: usize| {
        if i % 20 == 7 {
            i as i32
        } else {
            parts[0][i] + 2 * parts[1][i] - parts[2][i]
        }
    };
    let total = Int32Array::from_iter_values((0..4000).map(sum));
    let mut columns: Vec<ArrayRef> = vec![Arc::new(total)];
    columns.extend(
        parts
            .iter()
            .map(|part| Arc::new(Int32Array::from(part.clone())) as ArrayRef),
    );
    let batch = table(columns);
    let file = write(std::slice::from_ref(&batch), WriteOptions::default());
    assert_eq!(sources(&file).len(), 3, "{:?}", sources(&file));
    let explained = file.explain().unwrap();
    let sizes: Vec<u64> = explained.iter().map(|column| column.bytes).collect();
    assert!(
        sizes.iter().min().unwrap() * 4 < *sizes.iter().max().unwrap(),
        "{sizes:?}"
    );
    let found = read(file.scan());
    for i in 0..4 {
        assert_eq!(common::column(&found, i), rows(batch.column(i)));
    }
}

/// Votes of precincts: a total and its parts, which are NULL where only a total was counted, that of a whole county.
/// One part has values in some blocks alone.
fn votes(block: usize, blocks: usize, lacking: usize, has: impl Fn(usize) -> bool) -> RecordBatch {
    let mut random = Random(21);
    let mut columns = vec![Vec::new(); 4];
    for row in 0..block * blocks {
        let is_county = random.below(6) == 0;
        let mut part = |i: usize, most| {
            let is_there = !is_county && (i != lacking || has(row / block));
            is_there.then(|| random.below(most) as i32)
        };
        let parts = [part(0, 500), part(1, 300), part(2, 40)];
        let total = if is_county {
            random.below(1_000_000) as i32
        } else {
            parts.iter().flatten().sum()
        };
        columns[0].push(Some(total));
        for (column, part) in columns.iter_mut().skip(1).zip(parts) {
            column.push(part);
        }
    }
    let array = |column| Arc::new(Int32Array::from(column)) as ArrayRef;
    table(columns.into_iter().map(array).collect())
}

#[test]
fn totals_are_derived_beside_outliers_and_from_parts_that_some_blocks_lack() {
    let (block, blocks) = (4096, 7);
    let cases = [
        (2, None),
        (2, Some(0)),
        (2, Some(5)),
        (0, Some(0)),
        (0, Some(3)),
    ];
    for (lacking, only) in cases {
        let has = |i: usize| only.map_or(i % 2 == 1, |only| i == only);
        let batch = votes(block, blocks, lacking, has);
        let options = || WriteOptions::new().block_rows(block);
        let file = write(std::slice::from_ref(&batch), options());
        let alone = options().derived_columns(false);
        let alone = write(std::slice::from_ref(&batch), alone).nbytes();
        assert_eq!(
            sources(&file).len(),
            3,
            "{lacking} {only:?}: {:?}",
            sources(&file)
        );
        assert!(
            file.nbytes() * 5 < alone * 4,
            "{lacking} {only:?}: {alone} alone"
        );
        let found = read(file.scan());
        for i in 0..4 {
            assert_eq!(
                common::column(&found, i),
                rows(batch.column(i)),
                "{lacking} {only:?}"
            );
        }
        let wanted: Vec<u64> = (0..(block * blocks) as u64).step_by(997).collect();
        let taken = file.take(&wanted).read().unwrap();
        let gathered = arrow_select::take::take_record_batch(&batch, &UInt64Array::from(wanted));
        for (found, expected) in taken.columns().iter().zip(gathered.unwrap().columns()) {
            assert_eq!(rows(found), rows(expected), "{lacking} {only:?}");
        }
    }
}

#[test]
fn encodings_of_derived_columns_are_not_requested() {
    for name in ["difference", "grouped"] {
        let mut options = WriteOptions::default();
        options.encodings = vec![("a".into(), name.into())];
        let batch = table(vec![Arc::new(Int32Array::from(vec![1, 2]))]);
        let error = staffa::to_bytes(batch.schema(), &[batch], options)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!("column \"a\": {name} is for derived columns")),
            "{error}"
        );
    }
}

/// A column of `kinds` small numbers, each that of a random key of 3,000.
fn small_and_large(kinds: usize) -> RecordBatch {
    let mut random = Random(5);
    let kind: Vec<i64> = (0..3_000).map(|_| random.below(kinds) as i64).collect();
    let keys: Vec<usize> = (0..60_000).map(|_| random.below(kind.len())).collect();
    let large = keys
        .iter()
        .map(|key| format!("name {}", key * 7919 % 3_001));
    table(vec![
        Arc::new(StringArray::from_iter_values(large)),
        Arc::new(Int64Array::from_iter_values(
            keys.iter().map(|key| kind[*key]),
        )),
    ])
}

#[test]
fn sources_are_few_times_as_large_as_the_column() {
    let chunks = |kinds: usize| {
        let file = write(&[small_and_large(kinds)], WriteOptions::default());
        let columns = file.inspect().unwrap().columns;
        let bytes: Vec<u64> = columns
            .iter()
            .map(|leaf| leaf.chunks.iter().map(|chunk| chunk.bytes).sum())
            .collect();
        (sources(&file), bytes)
    };
    // Alone it would be a byte a row; the source is less than twice that.
    let (derived, _) = chunks(200);
    assert_eq!(derived, ["a"]);
    // Alone it is a bit a row, and nearly all of it would be saved by reading ten times as much.
    let (alone, bytes) = chunks(2);
    assert!(alone.is_empty(), "{alone:?}");
    assert!(bytes[0] > 8 * bytes[1], "{bytes:?}");
}
