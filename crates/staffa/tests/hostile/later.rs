//! What a later version may add: passed over, or refused by name; never more than its part is lost.

use super::forged::{constant, ints, refused};
use super::*;
use common::parts::{FEATURES, SCHEMA, SUMMARIES, Section, TABLE, block, node};

fn open(parts: &Parts) -> Result<File> {
    File::from_bytes(parts.file())
}

fn message(parts: &Parts) -> String {
    open(parts).unwrap_err().to_string()
}

/// A section that a later version may add is passed over; what a reader must understand is refused by
/// name.
#[test]
fn sections_that_are_unknown_are_passed_over_or_refused_by_number() {
    let _turn = turn();
    let good = ints(&["a", "b"]);
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
}

#[test]
fn sections_that_opening_needs_are_there_once() {
    let _turn = turn();
    let good = ints(&["a", "b"]);
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
}

/// Each feature but the known one, and each encoding that there is not.
#[test]
fn features_and_encodings_that_are_unknown_are_refused_by_number() {
    let _turn = turn();
    for bit in 1..255u8 {
        let mut parts = ints(&["a", "b"]);
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
}

#[test]
fn bytes_behind_a_chunks_entry_and_a_summary_are_passed_over() {
    let _turn = turn();
    let mut parts = ints(&["a", "b"]);
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
}

#[test]
fn other_versions_are_refused_as_older_or_newer() {
    let _turn = turn();
    let good = ints(&["a", "b"]);
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
        let file = open(&parts).unwrap();
        assert_eq!(file.unknown_columns(), ["a"]);
        assert_eq!(file.schema().field(1).data_type(), &DataType::Int64);
        let b = file.scan().columns(["b"]).reader().unwrap();
        let b: Result<Vec<RecordBatch>> = b.collect();
        assert_eq!(column(&b.unwrap(), 0).len(), 4);
        assert!(file.take(&[0]).columns(["b"]).read().is_ok());
        let tag = ty.iter().find(|byte| **byte >= 40 && **byte != b'i');
        every_read_of_a_is_refused(&file, &format!("{path:?} has type {}, which", tag.unwrap()));
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
}

fn every_read_of_a_is_refused(file: &File, expected: &str) {
    let filter = |text: &str| file.scan().columns(["b"]).filter(text.parse().unwrap());
    let refusals = [
        file.scan().reader().map(drop),
        file.scan().columns(["a"]).reader().map(drop),
        filter("a is null").reader().map(drop),
        filter("a = 7").splits(10).map(drop),
        file.take(&[0]).read().map(drop),
        file.take(&[0]).columns(["a"]).read().map(drop),
    ];
    for (i, refusal) in refusals.into_iter().enumerate() {
        let message = refusal.unwrap_err().to_string();
        assert!(message.contains(expected), "{i}: {message}");
    }
    let count = file.aggregate(&[("a", "count".parse().unwrap())], None);
    assert!(count.is_err());
}

#[test]
fn an_unknown_type_has_as_many_leaves_as_the_indexes_say() {
    let _turn = turn();
    for leaves in [0, 2, 3] {
        let mut parts = ints(&["a", "b"]);
        parts.section(SCHEMA).splice(5..6, [40, 1, leaves]);
        assert!(open(&parts).is_err(), "{leaves}");
    }
}

#[test]
fn nothing_is_derived_from_an_unknown_type() {
    let _turn = turn();
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
