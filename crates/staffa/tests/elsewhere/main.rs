//! Files whose bytes come from elsewhere: a source that reads them, or a caller that fetches them.
//! The rows are those of the same file in memory, and each byte is asked for once.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "../common/mod.rs"]
mod common;
mod counted;
mod failures;
mod memory;
mod requests;
mod steps;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use common::{Random, array, flat_types, nested_types, sized, table};
use counted::{Counted, slice};
use staffa::{Error, File, Result, Step, WriteOptions};
use steps::{agree, open, run, text};

fn written(batch: &RecordBatch, options: WriteOptions) -> Bytes {
    let written = staffa::to_bytes(batch.schema(), std::slice::from_ref(batch), options);
    written.unwrap().into()
}

/// Columns with related ones among them, strings, few values, many values.
fn mixed(len: usize, seed: u64) -> RecordBatch {
    let mut random = Random(seed);
    let n: Vec<i64> = (0..len).map(|_| random.below(1 << 30) as i64).collect();
    let price: Vec<f64> = n.iter().map(|n| (n % 9973) as f64 / 100.0).collect();
    let name: Vec<String> = n.iter().map(|n| format!("name {}", n * 31 % 401)).collect();
    let more: Vec<i64> = n.iter().map(|n| n * 3 + 7).collect();
    let text: Vec<String> = n.iter().map(|n| format!("{n:x} and {}", n * 7)).collect();
    let row: Vec<i64> = (0..len as i64).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(row)),
        Arc::new(Int64Array::from(n)),
        Arc::new(Float64Array::from(price)),
        Arc::new(StringArray::from(name)),
        Arc::new(Int64Array::from(more)),
        Arc::new(StringArray::from(text)),
    ];
    table(columns)
}

#[test]
fn scans_in_steps_give_the_rows_of_the_file_in_memory() {
    let batch = mixed(30_000, 1);
    let mut random = Random(2);
    for options in [sized(1 << 20, 65_536), sized(8192, 1024), sized(5000, 256)] {
        let bytes = written(&batch, options);
        let filters = [
            "a < 100",
            "a >= 29000 and d = 'name 7'",
            "b < 5",
            "c > 99.5 or a in (3, 9999)",
            "f like '%77%'",
        ];
        agree(&bytes, |file| file.scan(), &mut random);
        agree(
            &bytes,
            |file| file.scan().columns(["e"]).limit(9000).offset(7777),
            &mut random,
        );
        agree(
            &bytes,
            |file| file.scan().columns(["f", "a"]).batch_rows(700),
            &mut random,
        );
        agree(
            &bytes,
            |file| file.scan().dictionaries(["d"]).string_views(true),
            &mut random,
        );
        agree(&bytes, |file| file.scan().run_ends(["a", "d"]), &mut random);
        agree(
            &bytes,
            |file| file.scan().columns([] as [&str; 0]),
            &mut random,
        );
        for filter in filters {
            let filter: staffa::Predicate = filter.parse().unwrap();
            let scan = |file: &File| file.scan().filter(filter.clone());
            agree(&bytes, scan, &mut random);
            agree(
                &bytes,
                |file| scan(file).columns(["e", "d"]).here(),
                &mut random,
            );
            agree(
                &bytes,
                |file| scan(file).columns(["c"]).limit(20).offset(3),
                &mut random,
            );
            agree(
                &bytes,
                |file| scan(file).threads(Some(2)).string_views(true),
                &mut random,
            );
        }
    }
}

#[test]
fn every_type_is_read_in_steps() {
    let mut random = Random(5);
    for types in [
        flat_types(),
        nested_types(&DataType::Utf8),
        nested_types(&DataType::Int32),
    ] {
        for some in types.chunks(9) {
            let columns = some.iter().map(|ty| array(ty, true, 3000, &mut random));
            let batch = table(columns.collect());
            let bytes = written(&batch, sized(1200, 256));
            agree(&bytes, |file| file.scan(), &mut random);
            let filter: staffa::Predicate = "a is not null".parse().unwrap();
            agree(
                &bytes,
                |file| file.scan().filter(filter.clone()),
                &mut random,
            );
        }
    }
}

#[test]
fn row_groups_that_zone_maps_exclude_are_not_asked_for() {
    let mut random = Random(29);
    let n = Int64Array::from_iter_values(0..200_000);
    let noise = Int64Array::from_iter_values((0..200_000).map(|_| random.next() as i64));
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(n)), ("noise", Arc::new(noise))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    // Each row group is so small that all of it is asked for at once.
    let bytes = written(&batch, WriteOptions::new().row_group_rows(50_000));
    let scan = |file: &File| {
        file.scan()
            .filter("n >= 120000 and n < 120010".parse().unwrap())
    };
    let ran = agree(&bytes, scan, &mut random);
    assert!(ran.bytes() < bytes.len() as u64 / 3, "{:?}", ran.rounds);
}

#[test]
fn several_splits_are_read_in_their_order() {
    let mut random = Random(31);
    let bytes = written(
        &mixed(300_000, 37),
        WriteOptions::new().row_group_rows(140_000),
    );
    let scan = |file: &File| {
        let scan = file.scan().columns(["a", "d"]).prefetch_bytes(1);
        let mut splits = scan.splits(65_536).unwrap();
        splits.reverse();
        splits.remove(1);
        scan.several_splits(splits)
    };
    let ran = agree(&bytes, scan, &mut random);
    let rows = ran.batches.iter().map(RecordBatch::num_rows);
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [20_000, 65_536, 65_536, 8_928, 65_536, 65_536]
    );
}

#[test]
fn a_test_of_the_caller_sees_the_rows_that_the_filter_left() {
    let batch = mixed(20_000, 3);
    let mut random = Random(4);
    let odd = |batch: &RecordBatch| {
        let n = batch
            .column(0)
            .as_primitive::<arrow_array::types::Int64Type>();
        let some = |n: i64| (n % 5 > 0).then_some(n % 2 == 1);
        Ok(n.values()
            .iter()
            .map(|n| some(*n))
            .collect::<BooleanArray>())
    };
    for options in [sized(1 << 20, 65_536), sized(6000, 512)] {
        let bytes = written(&batch, options);
        let file = File::from_bytes(bytes.clone()).unwrap();
        for (columns, filter) in [
            (vec!["b", "d"], None),
            (vec!["a"], Some("a < 9000")),
            (vec!["a"], Some("b < 50000000")),
        ] {
            let filter: Option<staffa::Predicate> =
                filter.map(|filter: &str| filter.parse().unwrap());
            let scan = |file: &File| {
                let scan = file.scan().columns(columns.clone()).test(["b"], odd);
                filter
                    .iter()
                    .fold(scan, |scan, filter| scan.filter(filter.clone()))
            };
            for loose in [false, true] {
                agree(&bytes, |file| scan(file).loose(loose), &mut random);
            }
            agree(&bytes, |file| scan(file).limit(30).offset(100), &mut random);
            let all = filter
                .iter()
                .fold(file.scan(), |scan, filter| scan.filter(filter.clone()));
            let all: Vec<RecordBatch> = all.reader().unwrap().map(Result::unwrap).collect();
            let all = concat_batches(&batch.schema(), &all).unwrap();
            let only = RecordBatch::try_from_iter([("b", all.column(1).clone())]).unwrap();
            let kept =
                arrow_select::filter::filter_record_batch(&all, &odd(&only).unwrap()).unwrap();
            let found: Vec<RecordBatch> =
                scan(&file).reader().unwrap().map(Result::unwrap).collect();
            let names: Vec<usize> = columns
                .iter()
                .map(|c| batch.schema().index_of(c).unwrap())
                .collect();
            assert_eq!(text(&found), text(&[kept.project(&names).unwrap()]));
        }
        let short = |_: &RecordBatch| Ok(BooleanArray::from(vec![true]));
        let scan = file.scan().test(["b"], short);
        let error = scan.reader().unwrap().find_map(Result::err).unwrap();
        assert!(
            error.to_string().contains("rows expected, it returned 1"),
            "{error}"
        );
        assert!(file.scan().test(["none"], odd).reader().is_err());
    }
}

#[test]
fn byte_ranges_share_out_the_rows() {
    let batch = mixed(10_000, 13);
    for options in [sized(1 << 20, 65_536), sized(700, 256)] {
        let file = File::from_bytes(written(&batch, options)).unwrap();
        for parts in [1, 2, 7, 100] {
            let (size, mut found) = (file.nbytes(), Vec::new());
            for part in 0..parts {
                let range = size * part / parts..size * (part + 1) / parts;
                let scan = file.scan().columns(["a"]).byte_range(range);
                found.extend(scan.reader().unwrap().map(Result::unwrap));
            }
            assert_eq!(text(&found), text(&[batch.project(&[0]).unwrap()]));
        }
    }
}
