//! Files made by hand: bombs, exchanged parts, zone maps of other writers.

use std::fs;

use super::*;
use common::parts::{TABLE, block, node};

pub(super) fn ints(columns: &[&str]) -> Parts {
    let column = || Arc::new(Int64Array::from(vec![7; 4])) as ArrayRef;
    let columns = columns.iter().map(|name| (*name, column(), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut options = WriteOptions::default();
    options.derived_columns = false;
    Parts::of(&staffa::to_bytes(batch.schema(), &[batch], options).unwrap())
}

pub(super) fn constant(ty: u8, values: u64, word: &[u8]) -> Vec<u8> {
    node(1, ty, values, word, &[])
}

/// An error, with little memory.
pub(super) fn refused(file: Vec<u8>, expected: &str) {
    let (result, peak) = measured(|| whole(file.clone(), Limits::default()));
    assert!(peak < MOST_BYTES, "{peak} bytes of memory");
    let message = result.unwrap_err().to_string();
    assert!(message.contains(expected), "{message}");
    let (result, peak) = measured(|| use_up(file));
    assert!(
        result.is_err() && peak < MOST_BYTES,
        "{peak} bytes: {result:?}"
    );
}

/// Chains of differences, each to the same column many times, through layers of dictionaries.
#[test]
fn differences_share_one_budget() {
    let _turn = turn();
    const ROWS: u64 = 1 << 16;
    let zero = 0u64.to_le_bytes();
    let mut source = constant(4, ROWS, &7u64.to_le_bytes());
    for _ in 0..7 {
        let codes = constant(3, ROWS, &0u32.to_le_bytes());
        source = node(6, 4, ROWS, &[0], &[codes, source]);
    }
    for (terms, chain, expected) in [
        (255, 1, "named twice"),
        (255, 5, "at the root of a tree expected, found it below"),
        (1, 2, "at the root of a tree expected, found it below"),
    ] {
        let mut parts = ints(&["a", "b"]);
        let mut derived = constant(4, ROWS, &zero);
        let payload: Vec<u8> = std::iter::once(terms)
            .chain((0..terms).flat_map(|_| [0, 0, 2]))
            .collect();
        for _ in 0..chain {
            derived = node(20, 4, ROWS, &payload, &[derived]);
        }
        parts.set_block(0, &[], (ROWS, &block(ROWS, None, &source)), 0, &[0, 0]);
        parts.set_block(1, &[0], (ROWS, &block(ROWS, None, &derived)), 0, &[0, 0]);
        parts.set_rows(ROWS);
        refused(parts.file(), expected);
    }
    // Once is what the writer does.
    let mut parts = ints(&["a", "b"]);
    let derived = node(20, 4, ROWS, &[1, 0, 0, 2], &[constant(4, ROWS, &zero)]);
    parts.set_block(0, &[], (ROWS, &block(ROWS, None, &source)), 0, &[0, 0]);
    parts.set_block(1, &[0], (ROWS, &block(ROWS, None, &derived)), 0, &[0, 0]);
    parts.set_rows(ROWS);
    let (result, peak) = measured(|| whole(parts.file(), Limits::default()));
    assert!(
        peak < MOST_BYTES && result.is_ok(),
        "{peak} bytes: {result:?}"
    );
}

/// One string of 16 MiB, made by 60 layers of front coding.
#[test]
fn nested_front_coding_is_refused() {
    let _turn = turn();
    const BYTES: u64 = 16 << 20;
    let batch = one(Arc::new(StringArray::from(vec!["x"])));
    let mut parts = Parts::of(&bytes_of(&batch));
    let mut payload = vec![0, 0, 16];
    payload.extend([b'a'; 16]);
    payload.extend(((BYTES / 16) as u32).to_le_bytes());
    let length = constant(3, 1, &(BYTES as u32).to_le_bytes());
    let mut strings = node(15, 7, 1, &payload, &[length]);
    for _ in 0..60 {
        strings = node(19, 7, 1, &[], &[constant(3, 1, &[0; 4]), strings]);
    }
    let bytes = block(1, Some(BYTES), &strings);
    parts.set_block(0, &[], (1, &bytes), BYTES, &[0, 0]);
    parts.set_rows(1);
    refused(parts.file(), "bytes decoded are allowed");
}

/// A tree of more nodes than a block may have.
#[test]
fn a_tree_of_many_nodes_is_refused() {
    let _turn = turn();
    let mut parts = ints(&["a"]);
    let mut values = constant(4, 4, &[0; 8]);
    for _ in 0..20 {
        let lengths = node(3, 3, 4, &[0; 8], &[]);
        values = node(
            16,
            4,
            4,
            &[],
            &[values, lengths.clone(), lengths.clone(), lengths],
        );
    }
    let wide = node(17, 4, 4, &[], &vec![values; 15]);
    parts.set_block(0, &[], (4, &block(4, None, &wide)), 0, &[0, 0]);
    parts.set_rows(4);
    refused(parts.file(), "nodes");
}

/// Few bytes that declare a row group of 2^31 NULLs.
#[test]
fn rows_without_leaves_cost_little() {
    let _turn = turn();
    let nulls = Arc::new(NullArray::new(3)) as ArrayRef;
    let batch = RecordBatch::try_from_iter_with_nullable([("n", nulls, true)]).unwrap();
    let mut parts = Parts::of(&bytes_of(&batch));
    *parts.section(TABLE) = [vec![1], varint((1 << 31) - 1)].concat();
    let bytes = parts.file();
    assert!(bytes.len() < 200, "{}", bytes.len());
    let ((), peak) = measured(|| {
        let file = File::from_bytes(bytes).unwrap();
        file.verify(&mut |_| {}).unwrap();
        let null = staffa::Predicate::IsNull { column: "n".into() };
        for filter in [null.clone(), staffa::Predicate::Not(Box::new(null))] {
            let reader = file.scan().filter(filter.clone()).reader().unwrap();
            let rows: usize = reader.map(|batch| batch.unwrap().num_rows()).sum();
            let expected = if matches!(filter, staffa::Predicate::Not(_)) {
                0
            } else {
                (1 << 31) - 1
            };
            assert_eq!(rows, expected);
        }
    });
    assert!(peak < MOST_BYTES, "{peak} bytes of memory");
}

/// Two blocks of equal bytes and zone maps, exchanged: a write that went to the wrong place.
#[test]
fn exchanged_blocks_are_found_out() {
    let _turn = turn();
    let mut random = Random(4);
    let levels = Int32Array::from_iter_values((0..1 << 17).map(|_| random.below(256) as i32));
    let batch = one(Arc::new(levels));
    let bytes = staffa::to_bytes(batch.schema(), &[batch], WriteOptions::default()).unwrap();
    let inspected = File::from_bytes(bytes.clone()).unwrap().inspect().unwrap();
    let blocks = &inspected.columns[0].chunks[0].blocks;
    let [a, b] = &blocks[..] else {
        panic!("{blocks:?}")
    };
    assert_eq!(a.bytes, b.bytes);
    let (a, b, len) = (a.offset as usize, b.offset as usize, a.bytes as usize);
    let mut exchanged = bytes.clone();
    exchanged[a..a + len].copy_from_slice(&bytes[b..b + len]);
    exchanged[b..b + len].copy_from_slice(&bytes[a..a + len]);
    let file = File::from_bytes(exchanged).unwrap();
    let message = file.verify(&mut |_| {}).unwrap_err().to_string();
    assert!(message.contains("checksum of a block"), "{message}");
    assert!(file.scan().reader().unwrap().any(|batch| batch.is_err()));
}

/// A file that is overwritten while it is open gives its own rows or an error.
#[test]
fn an_overwritten_file_gives_no_rows_of_another() {
    let _turn = turn();
    let days = |order: [i64; 4]| {
        let mut random = Random(order[0] as u64);
        let mut day = |day: i64| (day << 40) + (random.next() >> 24) as i64;
        let days = order.into_iter().flat_map(|of| vec![of; 1 << 16]);
        one(Arc::new(Int64Array::from_iter_values(days.map(&mut day))))
    };
    let written = |batch: &RecordBatch| {
        let mut options = WriteOptions::default();
        options.encodings = vec![("a".into(), "plain".into())];
        staffa::to_bytes(batch.schema(), std::slice::from_ref(batch), options).unwrap()
    };
    let (before, after) = (written(&days([0, 1, 2, 3])), written(&days([3, 2, 1, 0])));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.staffa");
    for index_read in [false, true] {
        fs::write(&path, &before).unwrap();
        let file = File::open(&path).unwrap();
        if index_read {
            file.inspect().unwrap();
        }
        fs::write(&path, &after).unwrap();
        let filter = format!("a < {}", 1i64 << 40).parse().unwrap();
        let found = file.scan().filter(filter).reader();
        let found: Result<Vec<RecordBatch>> = found.and_then(Iterator::collect);
        assert!(matches!(found, Err(Error::Corrupt { .. })), "{found:?}");
        let all: Result<Vec<RecordBatch>> = file.scan().reader().and_then(Iterator::collect);
        assert!(matches!(all, Err(Error::Corrupt { .. })));
    }
}

/// Text that is not UTF-8 is no smallest or largest value, and matches no filter.
#[test]
fn text_that_is_no_utf8_is_refused_everywhere() {
    let _turn = turn();
    let batch = one(Arc::new(StringArray::from(vec!["x", "y"])));
    let mut parts = Parts::of(&bytes_of(&batch));
    let lengths = node(0, 3, 2, &[2, 0, 0, 0, 2, 0, 0, 0], &[]);
    let strings = node(0, 7, 2, b"\xff\xfeab", &[lengths]);
    let zone = [&[0, 7, 5, 2][..], b"ab", &[2], b"\xff\xfe"].concat();
    parts.set_block(0, &[], (2, &block(2, Some(4), &strings)), 4, &zone);
    parts.set_rows(2);
    let file = File::from_bytes(parts.file()).unwrap();
    let found = file.aggregate(&[("a", "max".parse().unwrap())], None);
    assert!(found.is_err(), "{found:?}");
    let rows = file
        .scan()
        .reader()
        .and_then(Iterator::collect::<Result<Vec<_>>>);
    assert!(rows.is_err());
    assert!(file.take(&[0]).read().is_err());
    assert!(file.verify(&mut |_| {}).is_err());
}

/// Zone maps of other writers: bounds wider than the values, in more bytes, of unknown kinds, or none.
#[test]
fn bounds_need_not_be_tight() {
    let _turn = turn();
    for (zone, found) in [
        (vec![0, 5, 2, 1, 7, 1, 9], 1),
        (vec![0, 5, 2, 1, 0, 1, 100], 1),
        (vec![0, 7, 2, 2, 7, 0, 2, 9, 0], 1),
        (vec![0, 0], 1),
        (vec![0, 3, 99, 1, 2], 1),
        // Of floats, for integers.
        (
            vec![0, 17, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            1,
        ),
    ] {
        let mut parts = ints(&["a"]);
        let values = [7u64, 8, 9].iter().flat_map(|v| v.to_le_bytes());
        let values: Vec<u8> = values.collect();
        let block = block(3, None, &node(0, 4, 3, &values, &[]));
        parts.clear();
        parts.set_block(0, &[], (3, &block), 0, &zone);
        parts.set_rows(3);
        let file = File::from_bytes(parts.file()).unwrap();
        file.verify(&mut |_| {})
            .unwrap_or_else(|e| panic!("{zone:?}: {e}"));
        let reader = file.scan().filter("a >= 9".parse().unwrap()).reader();
        let rows: usize = reader.unwrap().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(rows, found, "{zone:?}");
    }
    // Bounds that do not hold, and a zone map with bytes left over.
    for zone in [
        vec![0, 5, 2, 1, 8, 1, 9],
        vec![1, 5, 2, 1, 7, 1, 9],
        vec![0, 6, 2, 1, 7, 1, 9, 0],
    ] {
        let mut parts = ints(&["a"]);
        let values: Vec<u8> = [7u64, 8, 9].iter().flat_map(|v| v.to_le_bytes()).collect();
        let block = block(3, None, &node(0, 4, 3, &values, &[]));
        parts.clear();
        parts.set_block(0, &[], (3, &block), 0, &zone);
        parts.set_rows(3);
        let verified = File::from_bytes(parts.file()).and_then(|file| file.verify(&mut |_| {}));
        assert!(verified.is_err(), "{zone:?}");
    }
}

/// Ordinary text, with the profile whose trees are the deepest.
#[test]
fn small_writes_any_text() {
    let _turn = turn();
    for seed in 0..24 {
        let mut random = Random(seed);
        let mut big = || match random.below(4) {
            0 => random.below(100) as u64,
            1 => random.below(10_000) as u64,
            2 => random.next() >> (20 + random.below(40)),
            _ => random.below(300) as u64,
        };
        let text = |_| {
            format!(
                "{} {}/{} {}",
                ["a", "b", "c"][big() as usize % 3],
                big(),
                big(),
                big()
            )
        };
        let texts: Vec<String> = (0..600).map(text).collect();
        let batch = one(Arc::new(StringArray::from(texts)));
        for verify in [true, false] {
            let mut options = WriteOptions::default();
            (options.profile, options.verify) = (staffa::Profile::Small, verify);
            let bytes = staffa::to_bytes(batch.schema(), std::slice::from_ref(&batch), options);
            let found = whole(bytes.unwrap(), Limits::default()).unwrap();
            assert_eq!(column(&found, 0), rows(batch.column(0)), "seed {seed}");
        }
    }
}
