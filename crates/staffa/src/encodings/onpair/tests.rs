//! Rows that are found by groups of codes.

use super::codes::GROUP;
use super::*;
use crate::decode::{Appended, Budget};
use crate::encode::Profile;
use crate::encodings::{POOL, opener};
use crate::limits::Limits;
use crate::testing::arrays::Random;
use crate::testing::conformance::holds;

/// Strings of frequent words, of at most so many.
fn sentences(rows: usize, most: usize, random: &mut Random) -> Vec<Vec<u8>> {
    let words = [
        "one ",
        "house",
        " of ",
        "tokens ",
        "é",
        "and ",
        "longer words ",
        "x",
    ];
    let sentence = |_| {
        let words = (0..random.below(most + 1)).map(|_| words[random.below(words.len())]);
        words.collect::<String>().into_bytes()
    };
    (0..rows).map(sentence).collect()
}

#[test]
fn rows_of_long_strings_are_found() {
    let mut random = Random(11);
    for (rows, most) in [(1, 2000), (300, 900), (2500, 40), (1100, 3)] {
        holds(&OnPair, &sentences(rows, most, &mut random), false);
    }
    // One string that many groups have, between empty ones.
    let mut strings = vec![Vec::new(); 2000];
    strings[1500] = sentences(1, 60_000, &mut random).remove(0);
    holds(&OnPair, &strings, false);
}

/// The node of some strings.
fn chosen(values: Values<'_>) -> Node {
    let chooser = Chooser::root(&POOL, Profile::Balanced, Some("onpair"));
    let stats = Stats::new(values, Kind::Unsigned);
    chooser.choose(values, &stats).unwrap()
}

/// Reads rows of a node; `None` where that is an error.
fn rows_of(node: &[u8], len: usize, rows: &[u32], thorough: bool) -> Option<Vec<u8>> {
    let node = NodeRef::parse(&mut Cursor::new(node), len, 8).unwrap();
    let opener = opener(Limits::default());
    let opener = if thorough { opener.thorough() } else { opener };
    let mut cx = opener.context(Budget::new(1 << 24), &[], Vec::new());
    let decoder = cx.open_bytes(&node).ok()?;
    let mut out = Appended::default();
    out.allow(1 << 20);
    decoder.take(rows, &mut Scratch::default(), &mut out).ok()?;
    Some(out.into_data().ok()?.to_vec())
}

#[test]
fn wrong_bytes_of_groups_are_found() {
    let mut random = Random(12);
    let strings = sentences(64, 400, &mut random);
    let strings: StringsBuf = strings.iter().map(Vec::as_slice).collect();
    let values = Values::Bytes(strings.as_strings());
    let node = chosen(values);
    let mut good = Vec::new();
    node.write(&mut good);
    let table = table(&node.payload).unwrap().len();
    // Several groups, however long the tokens.
    assert!(values.plain_bytes() > 8 * 16 * GROUP);
    let expected = |row: u32| Some(strings.as_strings().get(row as usize).to_vec());
    for row in 0..64 {
        assert_eq!(rows_of(&good, 64, &[row], true), expected(row));
    }

    let mut wrong = node.clone();
    // Behind the end of the one vector and the bits of a group.
    wrong.payload[table + 4 + 1] ^= 1;
    let mut bytes = Vec::new();
    wrong.write(&mut bytes);
    assert_eq!(rows_of(&bytes, 64, &[0], true), None, "opened thoroughly");
    // The first group is read with what it claims.
    assert_eq!(rows_of(&bytes, 64, &[0], false), None);
    let most = u8::try_from(u32::BITS - (GROUP as u32 * 16).leading_zeros()).unwrap();
    for width in [most + 1, u8::MAX] {
        wrong.payload[table + 4] = width;
        let mut bytes = Vec::new();
        wrong.write(&mut bytes);
        assert_eq!(rows_of(&bytes, 64, &[63], false), None);
    }
}

/// A few bytes that claim codes without end.
#[test]
fn codes_of_no_bytes_are_refused() {
    let node = |len: u8, token: &[u8], codes: u32| {
        let payload = [&[0, 0, len], token, &codes.to_le_bytes(), &[0]].concat();
        let children = vec![plain_lengths(&[codes])];
        Node {
            encoding: 15,
            ty: PhysicalType::Bytes,
            len: 1,
            payload,
            children,
        }
    };
    let read = |node: Node| {
        let mut bytes = Vec::new();
        node.write(&mut bytes);
        rows_of(&bytes, 1, &[0], true)
    };
    assert_eq!(read(node(1, b"a", 255)), Some(vec![b'a'; 255]));
    assert_eq!(read(node(0, b"", 255)), None, "a token of no bytes");
    assert_eq!(read(node(1, b"a", u32::MAX)), None, "more codes than bytes");
}

/// Lengths as they are.
fn plain_lengths(lengths: &[u32]) -> Node {
    Node {
        encoding: 0,
        ty: PhysicalType::U32,
        len: lengths.len(),
        payload: lengths.iter().flat_map(|len| len.to_le_bytes()).collect(),
        children: Vec::new(),
    }
}

#[test]
fn no_row_goes_on_behind_its_vector() {
    let strings = sentences(2048, 40, &mut Random(13));
    let strings: StringsBuf = strings.iter().map(Vec::as_slice).collect();
    let mut node = chosen(Values::Bytes(strings.as_strings()));
    let mut lengths = strings.as_strings().lengths();
    let expected = |row: u32| Some(strings.as_strings().get(row as usize).to_vec());
    let read = |node: &Node, row| {
        let mut bytes = Vec::new();
        node.write(&mut bytes);
        rows_of(&bytes, 2048, &[row], false)
    };
    node.children = vec![plain_lengths(&lengths)];
    assert_eq!(read(&node, 1023), expected(1023));
    let next = (1024..2048).find(|row| lengths[*row] > 0).unwrap();
    lengths[next] -= 1;
    lengths[1023] += 1;
    node.children = vec![plain_lengths(&lengths)];
    assert_eq!(read(&node, 1023), None);
    assert_eq!(read(&node, 1022), expected(1022));
}

#[test]
fn noise_has_no_tokens_unless_they_are_asked_for() {
    let mut random = Random(14);
    let mut strings = StringsBuf::new();
    for _ in 0..20 {
        let noise: Vec<u8> = (0..5000).map(|_| random.below(256) as u8).collect();
        strings.push(&noise);
    }
    let values = Values::Bytes(strings.as_strings());
    let stats = Stats::new(values, Kind::Unsigned);
    let free = Chooser::root(&POOL, Profile::Balanced, None);
    assert!(OnPair.encode(values, &stats, &free).unwrap().is_none());
    assert_eq!(chosen(values).encoding, OnPair.info().id);
    let text = sentences(2000, 40, &mut random);
    let text: StringsBuf = text.iter().map(Vec::as_slice).collect();
    assert!(!is_noise(text.as_strings()));
}
