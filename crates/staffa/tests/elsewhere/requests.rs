//! How much is asked for, and whether the source was told before.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::DataType;
use bytes::Bytes;
use staffa::{Aggregate, File, Result, WriteOptions};

use super::common::{Random, array, flat_types, nested_types, sized, table};
use super::counted::Counted;
use super::steps::{agree, open, text};
use super::{mixed, written};

/// 50 columns of numbers without a pattern: in one row group, and in seven.
fn fifty_columns() -> (RecordBatch, Bytes, Bytes) {
    let mut random = Random(9);
    let column = |i| {
        let values = (0..100_000).map(|_| random.next() as i64);
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
        (format!("c{i}"), values)
    };
    let columns: Vec<(String, ArrayRef)> = (0..50).map(column).collect();
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut options = WriteOptions::default()
        .row_group_bytes(1 << 40)
        .profile(staffa::Profile::Fast);
    let one_group = written(&batch, options.clone());
    options.row_group_rows = 15_000;
    let several = written(&batch, options);
    (batch, one_group, several)
}

#[test]
fn requests_are_few() {
    let (batch, one_group, several) = fifty_columns();
    let mut random = Random(7);
    let size = one_group.len() as u64;
    assert!(size > 36 << 20, "{size}");

    let (_, needed) = open(&one_group).unwrap();
    let tail = size - (64 << 10)..size;
    assert_eq!(needed, std::slice::from_ref(&tail));
    let one_column = agree(&one_group, |file| file.scan().columns(["c20"]), &mut random);
    assert!(one_column.requests().len() <= 2 && one_column.rounds.len() <= 2);
    assert!(one_column.bytes() < size / 40);
    for bytes in [&one_group, &several] {
        let whole = agree(bytes, |file| file.scan(), &mut random);
        let most = bytes.len().div_ceil(16 << 20) + 2;
        assert!(
            whole.requests().len() <= most,
            "{} of {most}",
            whole.requests().len()
        );
        assert!(whole.bytes() <= bytes.len() as u64);
    }
    let filter: staffa::Predicate = "c3 = 5".parse().unwrap();
    let few = agree(
        &one_group,
        |file| file.scan().filter(filter.clone()),
        &mut random,
    );
    assert!(few.bytes() < size / 20 && few.rounds.len() <= 3);
    row_by_number_begins_what_it_reads(&batch, &one_group);
}

fn row_by_number_begins_what_it_reads(batch: &RecordBatch, bytes: &Bytes) {
    let source = Counted::new(bytes);
    let file = File::open_source(source.clone()).unwrap();
    assert_eq!(source.take().read.len(), 1);
    let row = file.take(&[83_456]).read().unwrap();
    assert_eq!(row, batch.slice(83_456, 1));
    let asked = source.take();
    assert!(asked.begun.len() <= 60, "{}", asked.begun.len());
    let begun = asked.read.iter().all(|range| asked.has_begun(range));
    assert!(begun, "a read that was not begun");
    file.take(&[83_457]).read().unwrap();
    assert!(source.take().read.is_empty(), "blocks are kept");
}

#[test]
fn rows_and_aggregates_tell_the_source_what_they_read() {
    let mut random = Random(11);
    let mut tables = vec![mixed(20_000, 7)];
    for types in [
        flat_types(),
        nested_types(&DataType::Utf8),
        nested_types(&DataType::Int32),
    ] {
        for some in types.chunks(9) {
            tables.push(table(
                some.iter()
                    .map(|ty| array(ty, true, 2000, &mut random))
                    .collect(),
            ));
        }
    }
    for batch in tables {
        let bytes = written(&batch, sized(700, 128));
        let memory = File::from_bytes(bytes.clone()).unwrap();
        let source = Counted::new(&bytes);
        let file = File::open_source(source.clone()).unwrap();
        let tail = bytes.len() as u64 - (64 << 10).min(bytes.len() as u64);
        let told = |what: &str| {
            let asked = source.take();
            let begun = |range: &Range<u64>| range.start >= tail || asked.has_begun(range);
            let missed = asked.read.iter().filter(|range| !begun(range));
            assert_eq!(
                missed.collect::<Vec<_>>(),
                [] as [&Range<u64>; 0],
                "{what} of {} read what it had not begun",
                batch.schema()
            );
        };
        source.take();
        let wanted: Vec<u64> = (0..20)
            .map(|_| random.below(batch.num_rows()) as u64)
            .collect();
        let found = file.take(&wanted).read();
        told("take");
        match memory.take(&wanted).read() {
            Ok(expected) => assert_eq!(text(&[found.unwrap()]), text(&[expected])),
            Err(expected) => assert_eq!(found.unwrap_err().to_string(), expected.to_string()),
        }
        for aggregate in [
            Aggregate::Count,
            Aggregate::Max,
            Aggregate::Sum,
            Aggregate::Distinct,
        ] {
            let file = File::open_source(source.clone()).unwrap();
            source.take();
            let found = file.aggregate(&[("b", aggregate)], None);
            told("aggregate");
            check_aggregate(found, &file, &memory, aggregate);
        }
        assert_eq!(
            file.verify(&mut |_| ()).unwrap().rows,
            batch.num_rows() as u64
        );
    }
}

/// What an aggregate found in a file elsewhere, and finds with a filter, is what it finds in memory.
fn check_aggregate(found: Result<RecordBatch>, file: &File, memory: &File, aggregate: Aggregate) {
    match memory.aggregate(&[("b", aggregate)], None) {
        Ok(expected) => assert_eq!(text(&[found.unwrap()]), text(&[expected])),
        Err(expected) => assert_eq!(found.unwrap_err().to_string(), expected.to_string()),
    }
    let filter: staffa::Predicate = "a is not null".parse().unwrap();
    if let Ok(expected) = memory.aggregate(&[("b", aggregate)], Some(&filter)) {
        let found = file.aggregate(&[("b", aggregate)], Some(&filter)).unwrap();
        assert_eq!(text(&[found]), text(&[expected]));
    }
}
