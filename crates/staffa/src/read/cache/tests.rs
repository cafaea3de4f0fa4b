//! One cache for many files.

use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, ListArray, RecordBatch, StringArray, UInt64Array};
use arrow_select::take::take_record_batch;
use bytes::Bytes;

use super::{Cache, Entry, FileCache, Item};
use crate::File;
use crate::limits::Limits;
use crate::testing::arrays::Random;
use crate::write::WriteOptions;

const ROWS: i64 = 20_000;

/// Numbers, one column derived from them, one equal to them, strings, lists.
fn table() -> RecordBatch {
    let numbers = |of: fn(i64) -> i64| -> Arc<dyn Array> {
        Arc::new(Int64Array::from_iter_values((0..ROWS).map(of)))
    };
    let names = (0..ROWS).map(|i| format!("name {}", i * 7 % 613));
    let lists = (0..ROWS).map(|i| (i % 9 > 0).then(|| (0..i % 4).map(move |k| Some(i * k))));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
    RecordBatch::try_from_iter([
        ("n", numbers(|i| i * i % 10_007)),
        ("more", numbers(|i| i * i % 10_007 + i % 3)),
        ("same", numbers(|i| i * i % 10_007)),
        ("name", Arc::new(StringArray::from_iter_values(names)) as _),
        ("list", Arc::new(lists) as _),
    ])
    .unwrap()
}

fn file_of(batch: &RecordBatch) -> Bytes {
    let options = WriteOptions {
        block_rows: 1024,
        row_group_rows: 8192,
        ..WriteOptions::default()
    };
    crate::to_bytes(batch.schema(), std::slice::from_ref(batch), options)
        .unwrap()
        .into()
}

/// Takes rows, and compares them with the table's.
fn check_rows(file: &File, batch: &RecordBatch, rows: &[u64]) {
    let expected = take_record_batch(batch, &UInt64Array::from(rows.to_vec())).unwrap();
    assert_eq!(file.take(rows).read().unwrap(), expected);
}

/// Takes rows with a cache of a budget; the most bytes that it held.
fn most_kept(bytes: &Bytes, batch: &RecordBatch, budget: u64, decoded: bool) -> u64 {
    let limits = Limits {
        cache_decoded: decoded,
        ..Limits::default()
    };
    let cache = Cache::new(budget);
    let file = File::from_bytes_with(bytes.clone(), limits).unwrap();
    let file = file.with_cache(&cache);
    let mut random = Random(5);
    let kept = [1, 1, 40, 1, 700, 3].map(|count| {
        let row = |_| random.below(ROWS as usize) as u64;
        check_rows(&file, batch, &(0..count).map(row).collect::<Vec<_>>());
        let kept = cache.info().bytes;
        assert!(kept <= budget, "{kept} of {budget}");
        kept
    });
    let views = file.take(&[3]).string_views(true).read().unwrap();
    assert_eq!(views.column(3).len(), 1);
    kept.into_iter().max().unwrap()
}

#[test]
fn a_cache_stays_within_its_budget_and_changes_no_row() {
    let batch = table();
    let bytes = file_of(&batch);
    let file = File::from_bytes(bytes.clone()).unwrap();
    assert!((1..3).all(|leaf| !file.chunk_entry(leaf, 0).unwrap().sources.is_empty()));

    let kept = |budget, decoded| most_kept(&bytes, &batch, budget, decoded);
    assert_eq!(kept(0, false), 0);
    let (few, all) = (kept(30_000, false), kept(1 << 30, false));
    assert!(few > 10_000 && all > 2 * few, "{few}, {all}");
    let (few, all_decoded) = (kept(30_000, true), kept(1 << 30, true));
    assert!(few > 10_000 && all_decoded > all, "{few}, {all_decoded}");
}

#[test]
fn bytes_of_a_block_have_one_entry() {
    const DERIVED: (usize, usize) = (1, 0);
    let file = File::from_bytes(file_of(&table())).unwrap();
    let file = file.with_cache(&Cache::new(1 << 30));
    // A derived block, which counts what it refers to.
    file.take(&[3]).columns(["more"]).read().unwrap();
    let opened = file.cache().block(DERIVED, 0).unwrap();
    let bytes = opened.owner().bytes.clone();
    let kept = |blocks: &[bool], budget| {
        let cache = Cache::new(budget);
        let of_file = FileCache::new(cache.clone());
        for is_block in blocks {
            if *is_block {
                of_file.keep(DERIVED, Item::Block(0), Entry::Block(opened.clone()));
            } else {
                of_file.keep(DERIVED, Item::Bytes(0), Entry::Bytes(bytes.clone()));
            }
        }
        assert_eq!(of_file.bytes_of(DERIVED, 0), Some(bytes.clone()));
        let info = cache.info();
        drop(of_file);
        assert_eq!((cache.info().entries, cache.info().bytes), (0, 0));
        (info.entries, info.bytes)
    };
    let block = kept(&[true], 1 << 20);
    for blocks in [[true, false], [false, true], [true, true]] {
        assert_eq!(kept(&blocks, 1 << 20), block, "{blocks:?}");
    }
    // The bytes stay where the block is too large to be kept.
    let alone = kept(&[false], 1 << 20);
    assert!(alone.1 < block.1);
    assert_eq!(kept(&[false, true], alone.1), alone);
}

/// What is kept depends on what was read, not on which column came first.
#[test]
fn bytes_that_columns_share_are_kept_once() {
    let batch = table();
    let bytes = file_of(&batch);
    for decoded in [false, true] {
        let kept = |columns: [&[&str]; 2]| {
            let limits = Limits {
                cache_decoded: decoded,
                ..Limits::default()
            };
            let cache = Cache::new(1 << 30);
            let file = File::from_bytes_with(bytes.clone(), limits).unwrap();
            let file = file.with_cache(&cache);
            for columns in columns {
                file.take(&[3])
                    .columns(columns.iter().copied())
                    .read()
                    .unwrap();
            }
            let info = cache.info();
            (info.entries, info.bytes)
        };
        let derived: &[&str] = &["more"];
        let derived_first = kept([derived, &["n"]]);
        assert_eq!(derived_first, kept([&["n"], derived]));
        // A decoded block has no bytes for others.
        assert_eq!(derived_first.0, if decoded { 3 } else { 2 });
    }
}

#[test]
fn files_share_a_cache_and_never_each_others_blocks() {
    let numbers = |from: i64| {
        let values = Int64Array::from_iter_values(from..from + ROWS);
        RecordBatch::try_from_iter([("n", Arc::new(values) as _)]).unwrap()
    };
    // Files of the same shape, whose blocks lie at the same places.
    let tables = [numbers(0), numbers(1 << 40), numbers(2 << 40)];
    let cache = Cache::new(1 << 20);
    let open = |batch| File::from_bytes(file_of(batch)).unwrap().with_cache(&cache);
    let files = tables.each_ref().map(open);
    for (row, seen) in [(5_000, 0), (5_001, 1), (9_000, 1)] {
        for (file, batch) in files.iter().zip(&tables) {
            check_rows(file, batch, &[row]);
        }
        assert_eq!(cache.info().hits, 3 * seen);
    }
    let full = cache.info();
    assert_eq!((full.misses, full.entries), (6, 6));

    let [first, rest @ ..] = files;
    let again = first.clone();
    drop(first);
    assert_eq!(cache.info(), full);
    drop(again);
    let left = cache.info();
    assert_eq!((left.entries, left.bytes), (4, full.bytes / 3 * 2));

    assert_eq!(cache.set_budget(left.bytes - 1), 1 << 20);
    assert_eq!(cache.info().entries, 3);
    assert_eq!(cache.set_budget(0), left.bytes - 1);
    check_rows(&rest[0], &tables[1], &[5_000]);
    assert_eq!((cache.info().entries, cache.info().bytes), (0, 0));
}

#[test]
fn a_file_keeps_its_blocks_in_the_cache_of_the_process() {
    let (batch, process) = (table(), Cache::process());
    assert_eq!(process.info().budget_bytes, Cache::PROCESS_BYTES);
    let file = File::from_bytes(file_of(&batch)).unwrap();
    let before = process.info();
    check_rows(&file, &batch, &[7, 15_000]);
    check_rows(&file, &batch, &[8, 15_001]);
    let after = process.info();
    assert!(after.misses >= before.misses + 10 && after.hits >= before.hits + 10);
}

const BLOCKS: u64 = 48;
const BLOCK_ROWS: u64 = 8192;

/// A column of noise of 63 bits, so less than 64 KiB a block; if asked for, one derived from it and one equal to it.
fn noise(related: bool) -> RecordBatch {
    let mut random = Random(3);
    let noise = (0..BLOCKS * BLOCK_ROWS).map(|_| random.next() as i64 >> 1);
    let noise = Int64Array::from_iter_values(noise);
    let near = noise.values().iter().enumerate();
    let near = Int64Array::from_iter_values(near.map(|(i, value)| value + i as i64 % 3));
    let noise: Arc<dyn Array> = Arc::new(noise);
    let mut columns = vec![("n", noise.clone())];
    if related {
        columns.extend([("near", Arc::new(near) as _), ("same", noise)]);
    }
    RecordBatch::try_from_iter(columns).unwrap()
}

fn noise_bytes(batch: &RecordBatch) -> Vec<u8> {
    let options = WriteOptions {
        block_rows: BLOCK_ROWS as usize,
        ..WriteOptions::default()
    };
    crate::to_bytes(batch.schema(), std::slice::from_ref(batch), options).unwrap()
}

fn local_file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let local = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&local, bytes).unwrap();
    local
}

fn one_row_of_each_block() -> Vec<u64> {
    (0..BLOCKS).map(|block| block * BLOCK_ROWS + 17).collect()
}

#[test]
fn the_first_large_take_of_a_local_file_keeps_little_the_next_all() {
    let batch = noise(false);
    let local = local_file(&noise_bytes(&batch));
    let cache = Cache::new(1 << 30);
    let file = File::open(local.path()).unwrap().with_cache(&cache);
    let rows = one_row_of_each_block();
    // Small takes keep all; their blocks are not counted again.
    for row in &rows[..20] {
        check_rows(&file, &batch, &[*row]);
    }
    assert_eq!(cache.info().entries, 20);
    for kept in [20 + 17, BLOCKS, BLOCKS] {
        check_rows(&file, &batch, &rows);
        assert_eq!(cache.info().entries, kept);
    }
    assert_eq!(cache.info().misses, BLOCKS);
}

#[test]
fn the_first_large_take_keeps_what_columns_share() {
    let batch = noise(true);
    let local = local_file(&noise_bytes(&batch));
    let cache = Cache::new(1 << 30);
    let file = File::open(local.path()).unwrap().with_cache(&cache);
    let rows = one_row_of_each_block();
    check_rows(&file, &batch, &rows);
    let first = cache.info();
    assert!((BLOCKS..2 * BLOCKS).contains(&first.entries), "{first:?}");
    check_rows(&file, &batch, &rows);
    check_rows(&file, &batch, &rows);
    assert_eq!(cache.info().entries, 2 * BLOCKS);
}

#[test]
fn a_large_take_keeps_all_of_a_file_in_memory_and_all_that_is_decoded() {
    let batch = noise(false);
    let bytes = noise_bytes(&batch);
    let local = local_file(&bytes);
    let decoded = Limits {
        cache_decoded: true,
        ..Limits::default()
    };
    for file in [
        File::from_bytes(bytes).unwrap(),
        File::open_with(local.path(), decoded).unwrap(),
    ] {
        let cache = Cache::new(1 << 30);
        let file = file.with_cache(&cache);
        check_rows(&file, &batch, &one_row_of_each_block());
        assert_eq!(cache.info().entries, BLOCKS);
    }
}
