//! Derived columns made by hand: which streams they read, and where in a tree they stand.

use arrow_array::types::Int64Type;

use super::forged::{constant, ints, refused};
use super::*;
use common::parts::{block, node};

/// Values of a block.
const ROWS: u64 = 4;
/// 64-bit words, 32-bit words and bits, as physical types.
const WORDS: u8 = 4;
const CODES: u8 = 3;
const BITS: u8 = 0;

fn sevens() -> Vec<u8> {
    constant(WORDS, ROWS, &7u64.to_le_bytes())
}

fn codes() -> Vec<u8> {
    constant(CODES, ROWS, &0u32.to_le_bytes())
}

fn dictionary(codes: Vec<u8>, values: Vec<u8>) -> Vec<u8> {
    node(6, WORDS, ROWS, &[0], &[codes, values])
}

/// ALP of one vector, e = 16 and f = 14, without exceptions.
fn alp(digits: Vec<u8>) -> Vec<u8> {
    let none = node(0, WORDS, 0, &[], &[]);
    let mask = node(1, BITS, ROWS, &[0], &[]);
    node(13, WORDS, ROWS, &[16, 14], &[digits, mask, none])
}

/// Differences of 0 from a stream of the first reference column.
fn difference(ty: u8, stream: u8) -> Vec<u8> {
    let zero = constant(ty, ROWS, &[0; 8][..[1, 1, 2, 4, 8][usize::from(ty)]]);
    node(20, ty, ROWS, &[1, 0, stream, 2], &[zero])
}

/// Groups of one entry, the entry 9 for all.
fn grouped(stream: u8, base: u8) -> Vec<u8> {
    let entry = constant(WORDS, 1, &9u64.to_le_bytes());
    node(21, WORDS, ROWS, &[stream, base], &[codes(), entry])
}

/// A file of two columns, the second derived from the first.
fn derived(source: &[u8], derived: &[u8]) -> Vec<u8> {
    let mut parts = ints(&["a", "b"]);
    parts.set_block(0, &[], (ROWS, &block(ROWS, None, source)), 0, &[0, 0]);
    parts.set_block(1, &[0], (ROWS, &block(ROWS, None, derived)), 0, &[0, 0]);
    parts.set_rows(ROWS);
    parts.file()
}

/// The second column, where it is read.
fn second(file: Vec<u8>) -> Vec<i64> {
    let batches = whole(file, Limits::default()).unwrap();
    let column = batches[0].column(1);
    column.as_primitive::<Int64Type>().values().to_vec()
}

#[test]
fn streams_are_read_by_their_role() {
    let _turn = turn();
    let coded = || dictionary(codes(), sevens());
    // What each column has is read.
    assert_eq!(second(derived(&sevens(), &difference(WORDS, 0))), [7; 4]);
    assert_eq!(second(derived(&coded(), &grouped(1, 0))), [9; 4]);
    assert_eq!(second(derived(&sevens(), &grouped(0, 7))), [9; 4]);
    let digits = alp(sevens());
    assert_eq!(second(derived(&digits, &difference(WORDS, 3))), [7; 4]);
}

#[test]
fn streams_of_another_role_are_refused_by_name() {
    let _turn = turn();
    let coded = || dictionary(codes(), sevens());
    let narrowed = || node(20, WORDS, ROWS, &[1, 0, 4, 2], &[sevens()]);
    for (source, derivation, expected) in [
        (
            sevens(),
            difference(WORDS, 1),
            "Codes expected, found the encoding 1",
        ),
        (
            sevens(),
            difference(WORDS, 3),
            "Digits expected, found the encoding 1",
        ),
        (
            coded(),
            difference(WORDS, 3),
            "Digits expected, found the encoding 6",
        ),
        (
            alp(sevens()),
            grouped(1, 0),
            "Codes expected, found the encoding 13",
        ),
        (
            coded(),
            narrowed(),
            "Narrowed expected, found the encoding 6",
        ),
        // Codes have 32 bits.
        (coded(), difference(WORDS, 1), "U64 expected, found U32"),
        (
            sevens(),
            difference(WORDS, 2),
            "streams 0, 1, 3, 4 of another column expected, found 2",
        ),
        (
            sevens(),
            difference(WORDS, 5),
            "streams 0, 1, 3, 4 of another column expected, found 5",
        ),
        (
            sevens(),
            grouped(2, 0),
            "streams 0, 1, 3, 4 of another column expected, found 2",
        ),
        (
            sevens(),
            node(20, WORDS, ROWS, &[0], &[sevens()]),
            "at least one term expected",
        ),
    ] {
        refused(derived(&source, &derivation), expected);
    }
}

#[test]
fn validities_are_derived_from_bits() {
    let _turn = turn();
    let validity = |stream| {
        let mut bytes = vec![ROWS as u8, 3];
        bytes.extend(difference(BITS, stream));
        bytes.extend(sevens());
        let mut parts = ints(&["a", "b"]);
        parts.set_block(0, &[], (ROWS, &block(ROWS, None, &sevens())), 0, &[0, 0]);
        parts.set_block(1, &[0], (ROWS, &bytes), 0, &[0, 0]);
        parts.set_rows(ROWS);
        parts.file()
    };
    // No value of the source is NULL.
    assert_eq!(second(validity(2)), [7; 4]);
    for stream in [1, 3, 4] {
        let expected = format!("streams 0, 2 of another column expected, found {stream}");
        refused(validity(stream), &expected);
    }
}

#[test]
fn derived_nodes_stand_at_the_root() {
    let _turn = turn();
    let coded = || dictionary(codes(), sevens());
    // Codes by codes, and digits by values: in the place of the root's own stream.
    let by_codes = dictionary(difference(CODES, 1), sevens());
    assert_eq!(second(derived(&coded(), &by_codes)), [7; 4]);
    whole(
        derived(&sevens(), &alp(difference(WORDS, 0))),
        Limits::default(),
    )
    .unwrap();
    let ends = constant(CODES, 1, &4u32.to_le_bytes());
    let one = node(20, WORDS, 1, &[1, 0, 0, 2], &[constant(WORDS, 1, &[0; 8])]);
    let twice = node(20, WORDS, ROWS, &[1, 0, 0, 2], &[difference(WORDS, 0)]);
    let mask = node(1, BITS, ROWS, &[1], &[]);
    for below in [
        twice.clone(),
        dictionary(codes(), difference(WORDS, 0)),
        dictionary(codes(), grouped(0, 7)),
        dictionary(dictionary32(difference(CODES, 1)), sevens()),
        node(5, WORDS, ROWS, &[], &[one, ends]),
        node(
            7,
            WORDS,
            ROWS,
            &[0; 8],
            &[mask.clone(), difference(WORDS, 0)],
        ),
        node(
            13,
            WORDS,
            ROWS,
            &[16, 14],
            &[sevens(), mask, difference(WORDS, 0)],
        ),
        alp(twice),
    ] {
        let expected = "at the root of a tree expected, found it below";
        refused(derived(&coded(), &below), expected);
    }
}

/// Codes that are a dictionary themselves.
fn dictionary32(codes: Vec<u8>) -> Vec<u8> {
    let values = constant(CODES, ROWS, &0u32.to_le_bytes());
    node(6, CODES, ROWS, &[0], &[codes, values])
}
