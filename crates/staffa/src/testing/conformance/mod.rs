//! The conformance suite: what every encoding must do, run for each by a line in its file.
//!
//! Round trip of generated values: vector by vector, all at once, and selected rows. Through a file:
//! take and filter equal those of Arrow on the decoded column. Every truncation, every bit flip,
//! every byte and every header field at 0, 1, its maximum, +1 and -1 behind a resealed checksum gives
//! an answer or an error, within the block's memory budget.

use proptest::prop_assert;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use staffa_kernels::VECTOR;

use crate::decode::{
    AnyDecoder, Appended, Block, Budget, Decodable, Decoder, Integer, Range, ReferenceStream,
    Scratch, Selection, StreamOf, WordSet, WordTest, decode_all_strings, take_bytes, take_words,
};
use crate::encode::{Chooser, Encoding, Profile};
use crate::encodings::{POOL, opener};
use crate::error::Result;
use crate::format::block::{self, Parts};
use crate::format::{Cursor, Node, NodeRef};
use crate::limits::Limits;
use crate::predicate::Compare;
use crate::values::{
    Kind, OwnedValues, Physical, PhysicalType, StringsBuf, Values, for_ints, for_words, vector_len,
};

mod aggregate;
mod damage;
mod file;
mod shapes;
use aggregate::aggregates;
use damage::{damage, hostile, lying_fields};
use file::through_file;
use shapes::shapes;
pub(crate) use shapes::{numbers, picked};

/// Runs the suite.
pub(crate) fn run(encoding: &dyn Encoding) {
    let mut accepted = 0;
    for ty in (0..8).filter_map(PhysicalType::from_byte) {
        for kind in [Kind::Unsigned, Kind::Signed, Kind::Float, Kind::Opaque] {
            if encoding.accepts(ty, kind) {
                accepted += 1;
                round_trips(encoding, ty, kind);
                through_file(encoding, ty, kind);
                hostile(encoding, ty, kind);
            }
        }
    }
    assert!(accepted > 0, "{} accepts nothing", encoding.info().name);
}

/// The reference column of an encoding that needs one.
fn reference_column(ty: PhysicalType, len: usize) -> OwnedValues {
    picked(ty, &numbers(len, 3, 0x07e4, 5))
}

/// A block of the reference column.
fn reference_block(encoding: &dyn Encoding, ty: PhysicalType, len: usize) -> Option<Vec<u8>> {
    let other = encoding
        .info()
        .needs_reference
        .then(|| reference_column(ty, len))?;
    let stats = crate::encode::Stats::new(other.borrow(), Kind::Unsigned);
    let plain = if ty == PhysicalType::Bits {
        "bitmap"
    } else {
        "plain"
    };
    let node = Chooser::root(&POOL, Profile::Balanced, Some(plain))
        .choose(other.borrow(), &stats)
        .unwrap();
    let parts = Parts {
        len,
        validity: None,
        values: Some(&node),
        compacted: false,
        string_bytes: None,
    };
    Some(block::write(&parts))
}

/// The block of some values, the encoding requested by name; `None` where it cannot hold them.
fn encoded(encoding: &dyn Encoding, values: Values<'_>, kind: Kind) -> Option<Vec<u8>> {
    let chooser = Chooser::root(&POOL, Profile::Balanced, Some(encoding.info().name));
    let other = reference_column(values.physical_type(), values.len());
    let streams = [ReferenceStream {
        column: 0,
        from: StreamOf::Values,
        words: other.borrow(),
        coefficient: 1,
    }];
    let chooser = if encoding.info().needs_reference {
        chooser.with_references(&streams)
    } else {
        chooser
    };
    let stats = crate::encode::Stats::new(values, kind);
    let node = chooser.choose(values, &stats).ok()?;
    assert_eq!(node.encoding, encoding.info().id);
    let string_bytes = if let Values::Bytes(strings) = values {
        Some(strings.contents().len())
    } else {
        None
    };
    let parts = Parts {
        len: values.len(),
        validity: None,
        values: Some(&node),
        compacted: false,
        string_bytes,
    };
    Some(block::write(&parts))
}

/// The tree of some strings, the encoding requested by name.
pub(crate) fn tree(encoding: &dyn Encoding, strings: &[Vec<u8>]) -> Node {
    let strings: StringsBuf = strings.iter().map(Vec::as_slice).collect();
    let values = Values::Bytes(strings.as_strings());
    let stats = crate::encode::Stats::new(values, Kind::Unsigned);
    Chooser::root(&POOL, Profile::Balanced, Some(encoding.info().name))
        .choose(values, &stats)
        .unwrap()
}

/// The strings of a node as it stands in FORMAT.md: hexadecimal bytes.
pub(crate) fn strings_of(hex: &str, len: usize) -> Vec<String> {
    let bytes: Vec<u8> = hex
        .split_whitespace()
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    let mut cursor = Cursor::new(&bytes);
    let node = NodeRef::parse(&mut cursor, len, 8).unwrap();
    cursor.finish("the node").unwrap();
    let opener = opener(Limits::default());
    let mut cx = opener.context(Budget::new(1 << 20), &[], Vec::new());
    let decoder = cx.open_bytes(&node).unwrap();
    let all = decode_all_strings(decoder.as_ref(), &mut Budget::new(1 << 20), "strings").unwrap();
    all.ranges()
        .map(|range| String::from_utf8(all.contents()[range].to_vec()).unwrap())
        .collect()
}

/// Strings of an encoding's own shape: they come back, and damage to them gives an answer or an
/// error.
pub(crate) fn holds(encoding: &dyn Encoding, strings: &[Vec<u8>], damaged: bool) {
    let rows = strings.len();
    let strings: StringsBuf = strings.iter().map(Vec::as_slice).collect();
    let values = Values::Bytes(strings.as_strings());
    let good = encoded(encoding, values, Kind::Unsigned).unwrap();
    assert!(same(encoding, &good, values).unwrap(), "other strings");
    if damaged {
        damage(&good, rows, PhysicalType::Bytes, None);
        lying_fields(&good, rows, PhysicalType::Bytes, None);
    }
}

fn round_trips(encoding: &dyn Encoding, ty: PhysicalType, kind: Kind) {
    let held = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(Config {
        cases: 48,
        failure_persistence: None,
        ..Config::default()
    });
    let result = runner.run(&shapes(ty), |values| {
        let values = values.borrow();
        if let Some(bytes) = encoded(encoding, values, kind) {
            held.set(held.get() + 1);
            prop_assert!(
                same(encoding, &bytes, values).map_err(|e| TestCaseError::fail(e.to_string()))?,
                "other values"
            );
        }
        Ok(())
    });
    if let Err(e) = result {
        panic!("{} of {ty:?} {kind:?}: {e}", encoding.info().name);
    }
    assert!(
        held.get() > 0,
        "{} holds no {ty:?} {kind:?}",
        encoding.info().name
    );
}

/// Whether a block decodes to these values: vector by vector, in any order, and as a block.
fn same(encoding: &dyn Encoding, bytes: &[u8], values: Values<'_>) -> Result<bool> {
    fn words<T: Decodable>(decoder: &dyn Decoder<T>, expected: &[T]) -> Result<bool> {
        let mut cx = Scratch::default();
        let vectors = expected.len().div_ceil(VECTOR);
        // Backwards: a vector must not need the one before it.
        for v in (0..vectors).rev() {
            let mut out = vec![T::default(); vector_len(expected.len(), v)];
            decoder.vector(v, &mut cx, &mut out)?;
            if out != expected[v * VECTOR..v * VECTOR + out.len()] {
                return Ok(false);
            }
        }
        Ok(decoder.len() == expected.len() && aggregates(decoder, expected)?)
    }
    let opener = opener(Limits::default());
    let (len, ty) = (values.len(), values.physical_type());
    let parsed = block::parse(bytes, len, Some(ty), &opener.limits)?;
    let other = reference_block(encoding, ty, len);
    let other = other.as_ref();
    let other = other.map(|bytes| block::parse(bytes, len, Some(ty), &opener.limits));
    let other = other.transpose()?;
    let block = Block::open(&parsed, &[], other.as_slice(), &opener)?;
    // The first read of lazy values may take a few by themselves, the second decodes all.
    for rows in selections(values.len()) {
        for selection in [Selection::List(rows.clone()), bits_of(&rows, values.len())] {
            let block = Block::open(&parsed, &[], other.as_slice(), &opener)?;
            let takes = || takes(&block, &selection, &rows, values);
            if !(takes()? && takes()?) {
                return Ok(false);
            }
        }
    }
    match (block.values.as_ref().unwrap(), values) {
        (AnyDecoder::Bits(d), Values::Bits(v)) => Ok(&d.bits()? == v),
        (AnyDecoder::Bytes(d), Values::Bytes(v)) => {
            let mut cx = Scratch::default();
            for vector in (0..v.len().div_ceil(VECTOR)).rev() {
                let rows = vector_len(v.len(), vector);
                let expected = v.slice(vector * VECTOR, rows);
                let size = d.vector_bytes(vector, &mut cx)?;
                let (mut lengths, mut out) = (vec![0; rows], vec![0; size]);
                let written = d.vector(vector, &mut cx, &mut lengths, &mut out)?;
                if written != size || out != expected.contents() || lengths != expected.lengths() {
                    return Ok(false);
                }
            }
            let all = decode_all_strings(d.as_ref(), &mut Budget::new(u64::MAX), "all")?;
            Ok(all.contents() == v.contents() && all.len() == v.len())
        }
        (decoder, values) => {
            let same = for_words!(values.physical_type(), T => {
                words(T::peek(decoder).unwrap(), T::slice(values).unwrap())?
            }, _ => false);
            Ok(same && filters(decoder, values)?)
        }
    }
}

/// Whether filters of words give what a comparison of the values does: of values that are there, and of some that are
/// not.
fn filters(decoder: &AnyDecoder<'_>, values: Values<'_>) -> Result<bool> {
    fn agree<T: Integer>(decoder: &dyn Decoder<T>, expected: &[T]) -> Result<bool> {
        let at = |i: usize| expected.get(i).copied().unwrap_or(T::ZERO);
        let (first, middle) = (at(0), at(expected.len() / 2));
        let set = [first, middle, first.wrapping_add(T::from_u64(1))];
        let range = |op, word| WordTest::Range(Range::of(op, word, Kind::Unsigned));
        let passes = |test: &WordTest<T>| -> Result<bool> {
            let found = decoder.filter(test, &mut Scratch::default())?;
            Ok(found == test.of_values(expected))
        };
        Ok(passes(&range(Compare::Eq, middle))?
            && passes(&range(Compare::NotEq, first))?
            && passes(&range(Compare::LtEq, middle))?
            && passes(&range(Compare::Gt, first))?
            && passes(&WordTest::Set(WordSet::of(
                set.into_iter(),
                Kind::Unsigned,
                true,
            )))?)
    }
    for_ints!(values.physical_type(), T => {
        agree(T::peek(decoder).unwrap(), T::slice(values).unwrap())
    }, _ => Ok(true))
}

/// Rows of `len` as a selection by bits.
fn bits_of(rows: &[u32], len: usize) -> Selection {
    let mut bits = vec![false; len];
    rows.iter().for_each(|row| bits[*row as usize] = true);
    Selection::Bits(bits.into_iter().collect(), rows.len())
}

/// Whether a block gives these values at the rows of a selection.
fn takes(
    block: &Block<'_>,
    selection: &Selection,
    rows: &[u32],
    values: Values<'_>,
) -> Result<bool> {
    fn words<T: Decodable>(
        decoder: &dyn Decoder<T>,
        selection: &Selection,
        rows: &[u32],
        expected: &[T],
    ) -> Result<bool> {
        let mut out = vec![T::default(); rows.len()];
        take_words(decoder, selection, &mut Scratch::default(), &mut out)?;
        Ok(out
            .iter()
            .eq(rows.iter().map(|row| &expected[*row as usize])))
    }
    match (block.values.as_ref().unwrap(), values) {
        (AnyDecoder::Bytes(d), Values::Bytes(v)) => {
            let mut out = Appended::default();
            out.allow(v.contents().len());
            take_bytes(d.as_ref(), selection, &mut Scratch::default(), &mut out)?;
            let expected: StringsBuf = rows.iter().map(|row| v.get(*row as usize)).collect();
            let expected = expected.as_strings();
            Ok(out.lengths == expected.lengths()
                && out.into_data()?.as_slice() == expected.contents())
        }
        (decoder, values) => for_words!(values.physical_type(), T => {
            words(T::peek(decoder).unwrap(), selection, rows, T::slice(values).unwrap())
        }, _ => Ok(true)),
    }
}

/// Selections of `len` rows: none, first and last ones, one, few, some and all.
fn selections(len: usize) -> Vec<Vec<u32>> {
    let rows = |step: usize, first: usize| {
        (first..len)
            .step_by(step)
            .map(|row| row as u32)
            .collect::<Vec<_>>()
    };
    let ends = [
        0,
        1,
        2,
        VECTOR - 1,
        VECTOR,
        len.saturating_sub(2),
        len.saturating_sub(1),
    ];
    let mut ends: Vec<u32> = ends
        .iter()
        .filter(|row| **row < len)
        .map(|row| *row as u32)
        .collect();
    ends.sort_unstable();
    ends.dedup();
    // Some beside one another, others far from all.
    let uneven = (0..len as u32).filter(|row| row.wrapping_mul(*row) % 1021 < 40);
    vec![
        vec![],
        uneven.collect(),
        ends,
        rows(usize::MAX, len / 2),
        rows(997, 5),
        rows(53, 7),
        rows(3, 1),
        rows(1, 0),
    ]
}
