//! Files made by hand: bombs, exchanged parts, what a reader does not know.

use std::fs;

use super::*;
use common::parts::{FEATURES, SCHEMA, SUMMARIES, Section, TABLE, block, node};

fn ints(columns: &[&str]) -> Parts {
    let column = || Arc::new(Int64Array::from(vec![7; 4])) as ArrayRef;
    let columns = columns.iter().map(|name| (*name, column(), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut options = WriteOptions::default();
    options.relate = false;
    Parts::of(&staffa::to_bytes(batch.schema(), &[batch], options).unwrap())
}

fn constant(ty: u8, values: u64, word: &[u8]) -> Vec<u8> {
    node(1, ty, values, word, &[])
}

/// An error, with little memory.
fn refused(file: Vec<u8>, expected: &str) {
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
        (255, 5, "named twice"),
        (1, 2, "a reference column below 0"),
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
    assert!(file.take(&[0], None, false).is_err());
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

/// What a later version may add is passed over; what a reader must understand is refused by name.
#[test]
fn what_is_unknown_is_passed_over_or_refused_by_name() {
    let _turn = turn();
    let good = ints(&["a", "b"]);
    let open = |parts: &Parts| File::from_bytes(parts.file());
    let message = |parts: &Parts| open(parts).unwrap_err().to_string();
    let section = |id, flags| Section {
        id,
        flags,
        bytes: b"later".to_vec(),
    };
    for id in [10, 11, 13, 14, 1000, 70_000, u64::MAX] {
        let mut parts = good.clone();
        parts.sections.insert(0, section(id, 0));
        assert!(
            open(&parts).unwrap().verify(&mut |_| {}).is_ok(),
            "section {id}"
        );
        parts.sections[0].flags = 1;
        let needs = message(&parts);
        assert!(needs.contains(&format!("({id})")), "{needs}");
        parts.sections[0].flags = 2;
        assert!(message(&parts).contains("flags 0x02"));
    }
    for id in [TABLE, SCHEMA, FEATURES] {
        let mut parts = good.clone();
        parts.sections.retain(|section| section.id != id);
        assert!(message(&parts).contains("expected, found none"));
        let mut parts = good.clone();
        let twice = parts
            .sections
            .iter()
            .find(|section| section.id == id)
            .unwrap()
            .clone();
        parts.sections.push(twice);
        assert!(message(&parts).contains("expected once, found twice"));
    }
    for optional in [SUMMARIES, 5, 7] {
        let mut parts = good.clone();
        parts.sections.retain(|section| section.id != optional);
        assert!(
            open(&parts).unwrap().verify(&mut |_| {}).is_ok(),
            "without {optional}"
        );
    }
    // Each feature but the known one, and each encoding that there is not.
    for bit in 1..255u8 {
        let mut parts = good.clone();
        let mut set = vec![0; usize::from(bit / 8) + 1];
        set[usize::from(bit / 8)] = 1 << (bit % 8);
        let features = [vec![set.len() as u8], set.clone(), vec![1, 1, 1, 0, 2]].concat();
        *parts.section(FEATURES) = features;
        assert!(
            message(&parts).contains(&format!("feature {bit},")),
            "{bit}"
        );
        let known = [22, 23, 24, 27, 28, 29, 35].contains(&bit) || bit <= 26;
        let encodings = [
            vec![0, 2, set.len() as u8],
            set,
            vec![1, 1],
            vec![0, 1, 1, 1],
        ]
        .concat();
        *parts.section(FEATURES) = encodings;
        let file = open(&parts).unwrap();
        let a = file.scan().columns(["a"]).reader();
        assert_eq!(a.is_ok(), known, "encoding {bit}");
        if let Err(error) = a {
            let (error, name) = (error.to_string(), format!("encoding {bit},"));
            assert!(error.contains(&name) && error.contains("\"a\""), "{error}");
        }
        assert!(file.scan().columns(["b"]).reader().is_ok());
    }
    // Bytes behind what a chunk's entry and a summary say today.
    let mut parts = good.clone();
    for index in &mut parts.indexes {
        let entry = [&index[1..], b"later"].concat();
        *index = [varint(entry.len() as u64), entry].concat();
    }
    let summaries = parts.section(SUMMARIES);
    let first = usize::from(summaries[0]);
    summaries.splice(1 + first..1 + first, *b"later");
    summaries[0] += 5;
    let file = open(&parts).unwrap();
    assert_eq!(file.statistics().unwrap().len(), 2);
    assert_eq!(whole(parts.file(), limits()).unwrap()[0].num_rows(), 4);
    // Versions.
    for (version, than) in [(0u8, "older"), (2, "newer")] {
        let mut bytes = good.file();
        bytes[4] = version;
        let message = File::from_bytes(bytes).unwrap_err().to_string();
        assert!(message.contains(than), "{message}");
    }
    let mut bytes = good.file();
    let trailer = bytes.len() - 8;
    bytes[trailer] = 2;
    let message = File::from_bytes(bytes).unwrap_err().to_string();
    assert!(message.contains("newer"), "{message}");
}

/// A longer id of an encoding is refused by its number.
#[test]
fn longer_ids_are_refused_by_number() {
    let _turn = turn();
    let mut parts = ints(&["a"]);
    let values = [&[255][..], &varint(70_000), &[4, 3, 0]].concat();
    parts.set_block(0, &[], (3, &block(3, None, &values)), 0, &[0, 0]);
    parts.set_rows(3);
    refused(parts.file(), "encoding 70000");
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

/// A type of a later version costs its column, and not the file.
#[test]
fn an_unknown_type_costs_its_column() {
    let _turn = turn();
    // Of a type by itself; in a list, whose lengths are the leaf.
    for (ty, path) in [
        (&[40, 3, 1, 7, 7][..], "a"),
        (&[31, 1, b'i', 1, 255, 1, 0][..], "a[]"),
    ] {
        let mut parts = ints(&["a", "b"]);
        let schema = parts.section(SCHEMA);
        assert_eq!(schema[..6], [0, 2, 1, b'a', 1, 5]);
        schema.splice(5..6, ty.iter().copied());
        let file = File::from_bytes(parts.file()).unwrap();
        assert_eq!(file.unknown_columns(), ["a"]);
        assert_eq!(file.schema().field(1).data_type(), &DataType::Int64);
        let b = file.scan().columns(["b"]).reader().unwrap();
        let b: Result<Vec<RecordBatch>> = b.collect();
        assert_eq!(column(&b.unwrap(), 0).len(), 4);
        assert!(file.take(&[0], Some(&["b".into()]), false).is_ok());
        let filter = |text: &str| file.scan().columns(["b"]).filter(text.parse().unwrap());
        let refusals = [
            file.scan().reader().map(drop),
            file.scan().columns(["a"]).reader().map(drop),
            filter("a is null").reader().map(drop),
            filter("a = 7").splits(10).map(drop),
            file.take(&[0], None, false).map(drop),
            file.take(&[0], Some(&["a".into()]), false).map(drop),
        ];
        let count = file.aggregate(&[("a", "count".parse().unwrap())], None);
        assert!(count.is_err());
        for (i, refusal) in refusals.into_iter().enumerate() {
            let message = refusal.unwrap_err().to_string();
            let tag = ty.iter().find(|byte| **byte >= 40 && **byte != b'i');
            let expected = format!("{path:?} has type {}, which", tag.unwrap());
            assert!(message.contains(&expected), "{i}: {message}");
        }
        let report = file.verify(&mut |_| {}).unwrap();
        assert_eq!(
            (report.blocks, &report.unknown_columns[..]),
            (2, &["a".to_owned()][..])
        );
        let inspected = &file.inspect().unwrap().columns[0];
        assert!(inspected.physical_type.starts_with("unknown type"));
        assert_eq!(file.statistics().unwrap()[0].path, "a");
        assert_eq!(file.explain().unwrap()[0].blocks.len(), 0);
        let why = file.why().unwrap_err().to_string();
        assert!(why.contains("has type"), "{why}");
        // Its checksums are verified all the same.
        let place = inspected.chunks[0].blocks[0].offset as usize;
        parts.body[place] ^= 1;
        let damaged = File::from_bytes(parts.file()).unwrap();
        assert!(damaged.verify(&mut |_| {}).is_err());
    }
    // As many leaves as the indexes say, or none of the file is read.
    for leaves in [0, 2, 3] {
        let mut parts = ints(&["a", "b"]);
        parts.section(SCHEMA).splice(5..6, [40, 1, leaves]);
        assert!(File::from_bytes(parts.file()).is_err(), "{leaves}");
    }
    // Nothing is derived from it.
    let mut parts = ints(&["a", "b"]);
    parts.section(SCHEMA).splice(5..6, [40, 1, 1]);
    let values = constant(4, 4, &[0; 8]);
    let derived = node(20, 4, 4, &[1, 0, 0, 2], &[values]);
    parts.set_block(1, &[0], (4, &block(4, None, &derived)), 0, &[0, 0]);
    parts.set_rows(4);
    let file = File::from_bytes(parts.file()).unwrap();
    let reader = file.scan().columns(["b"]).reader().unwrap();
    let rows: Result<Vec<RecordBatch>> = reader.collect();
    let message = rows.unwrap_err().to_string();
    assert!(
        message.contains("derived from \"a\" of type 40"),
        "{message}"
    );
}

/// A codec's payload is one frame, whole, with nothing before, between or behind; nothing is an empty
/// payload.
#[test]
fn a_codec_has_one_frame_and_no_byte_more() {
    let _turn = turn();
    let texts = StringArray::from_iter_values((0..200).map(|i| format!("text number {}", i % 7)));
    let batch = one(Arc::new(texts));
    let lengths = constant(3, 3, &[0; 4]);
    for (id, name) in [(22, "zstd"), (23, "lz4"), (24, "brotli")] {
        let bytes = bytes_with(&batch, name);
        let file = File::from_bytes(bytes.clone()).unwrap();
        let info = &file.inspect().unwrap().columns[0].chunks[0].blocks[0];
        let (start, len) = (info.offset as usize, info.bytes as usize);
        let stored = &bytes[start..start + len];
        // Values, flags, decoded bytes; id, type and children, values, bytes of the payload.
        let (head, frame, child) = taken_apart(stored, id);
        let total: u64 = varint_of(&head[3..]);
        let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9][..], &frame].concat();
        let variants: [(&str, Vec<u8>); 6] = [
            ("as written", frame.clone()),
            ("a byte behind", [&frame[..], &[0]].concat()),
            ("twice", [&frame[..], &frame].concat()),
            ("cut", frame[..frame.len() - 1].to_vec()),
            ("a skippable frame before", skippable),
            ("empty", Vec::new()),
        ];
        for (what, payload) in variants {
            let values = node(id, 7, 200, &payload, std::slice::from_ref(&child));
            let mut parts = Parts::of(&bytes_of(&batch));
            parts.set_block(
                0,
                &[],
                (200, &block(200, Some(total), &values)),
                total,
                &[0, 0],
            );
            parts.set_rows(200);
            let read = whole(parts.file(), Limits::default());
            assert_eq!(
                read.is_ok(),
                what == "as written",
                "{name}: {what}: {read:?}"
            );
        }
        // Three empty strings.
        for (payload, holds) in [(&[][..], true), (&[0][..], false), (&frame[..], false)] {
            let values = node(id, 7, 3, payload, std::slice::from_ref(&lengths));
            let mut parts = Parts::of(&bytes_of(&batch));
            parts.set_block(0, &[], (3, &block(3, Some(0), &values)), 0, &[0, 0]);
            parts.set_rows(3);
            assert_eq!(
                whole(parts.file(), Limits::default()).is_ok(),
                holds,
                "{name}"
            );
        }
    }
}

fn bytes_with(batch: &RecordBatch, encoding: &str) -> Vec<u8> {
    let mut options = WriteOptions::default();
    options.encodings = vec![("a".into(), encoding.into())];
    staffa::to_bytes(batch.schema(), std::slice::from_ref(batch), options).unwrap()
}

fn varint_of(bytes: &[u8]) -> u64 {
    let mut value = 0;
    for (i, byte) in bytes.iter().enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if *byte < 0x80 {
            break;
        }
    }
    value
}

/// A block of 200 strings whose root is a codec: its head, the payload, the lengths.
fn taken_apart(block: &[u8], id: u8) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let skip = |at: usize| at + block[at..].iter().position(|b| *b < 0x80).unwrap() + 1;
    let node = skip(3);
    assert_eq!(
        (block[..3].to_vec(), &block[node..node + 2]),
        (vec![0xc8, 1, 2], &[id, 0x17][..])
    );
    let bytes = skip(node + 2);
    let payload = skip(bytes);
    let end = payload + varint_of(&block[bytes..]) as usize;
    (
        block[..node].to_vec(),
        block[payload..end].to_vec(),
        block[end..].to_vec(),
    )
}
