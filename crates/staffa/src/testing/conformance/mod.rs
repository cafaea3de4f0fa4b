//! The conformance suite: what every encoding must do, run for each by the last line of its file.
//!
//! Round trip of generated values: vector by vector, all at once, and selected rows. Through a file:
//! take and filter equal those of Arrow on the decoded column. Every truncation, every bit flip,
//! every byte and every header field at 0, 1, its maximum, +1 and -1 behind a resealed checksum gives
//! an answer or an error, within the block's memory budget.

use proptest::prop_assert;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use staffa_kernels::VECTOR;

use crate::decode::{
    Aggregator, AnyDecoder, Appended, Block, Budget, Decodable, Decoder, Needs, ReferenceStream,
    Scratch, StreamOf, decode_all_strings,
};
use crate::encode::{Chooser, Encoding, Profile};
use crate::encodings::{POOL, opener};
use crate::error::Result;
use crate::format::block::{self, Parts};
use crate::format::{Cursor, Node, NodeRef};
use crate::limits::Limits;
use crate::values::{
    Bitmap, Kind, OwnedValues, Physical, PhysicalType, StringsBuf, Values, for_words, vector_len,
};

mod damage;
mod file;
mod shapes;
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

/// The block of some values, the encoding asked for by name; `None` where it cannot hold them.
fn encoded(encoding: &dyn Encoding, values: Values<'_>, kind: Kind) -> Option<Vec<u8>> {
    let chooser = Chooser::root(&POOL, Profile::Balanced, Some(encoding.info().name));
    let other = reference_column(values.physical_type(), values.len());
    let streams = [ReferenceStream {
        from: StreamOf::Values,
        words: other.borrow(),
        times: 1,
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

/// The tree of some strings, the encoding asked for by name.
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
    let parsed = block::parse(
        bytes,
        values.len(),
        Some(values.physical_type()),
        &opener.limits,
    )?;
    let other = reference_block(encoding, values.physical_type(), values.len());
    let other = other.as_ref().map(|b| {
        block::parse(
            b,
            values.len(),
            Some(values.physical_type()),
            &opener.limits,
        )
    });
    let other = other.transpose()?;
    let block = Block::open(&parsed, &[], other.as_slice(), &opener)?;
    // The first read of lazy values may take a few by themselves, the second decodes all.
    for rows in selections(values.len()) {
        let block = Block::open(&parsed, &[], other.as_slice(), &opener)?;
        if !(takes(&block, &rows, values)? && takes(&block, &rows, values)?) {
            return Ok(false);
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
        (decoder, values) => for_words!(values.physical_type(), T => {
            words(T::peek(decoder).unwrap(), T::slice(values).unwrap())
        }, _ => Ok(false)),
    }
}

/// Whether a block gives these values at some rows.
fn takes(block: &Block<'_>, rows: &[u32], values: Values<'_>) -> Result<bool> {
    fn words<T: Decodable>(decoder: &dyn Decoder<T>, rows: &[u32], expected: &[T]) -> Result<bool> {
        let mut out = vec![T::default(); rows.len()];
        decoder.take(rows, &mut Scratch::default(), &mut out)?;
        Ok(out
            .iter()
            .eq(rows.iter().map(|row| &expected[*row as usize])))
    }
    match (block.values.as_ref().unwrap(), values) {
        (AnyDecoder::Bytes(d), Values::Bytes(v)) => {
            let mut out = Appended::default();
            out.allow(v.contents().len());
            d.take(rows, &mut Scratch::default(), &mut out)?;
            let expected: StringsBuf = rows.iter().map(|row| v.get(*row as usize)).collect();
            let expected = expected.as_strings();
            Ok(out.lengths == expected.lengths()
                && out.into_data()?.as_slice() == expected.contents())
        }
        (decoder, values) => for_words!(values.physical_type(), T => {
            words(T::peek(decoder).unwrap(), rows, T::slice(values).unwrap())
        }, _ => Ok(true)),
    }
}

/// Keeps the values that it is handed, or their sum.
struct Kept<T> {
    needs: Needs,
    values: Vec<T>,
    sum: i128,
}

/// The low 128 bits of a word as an integer of a kind.
fn integer<T: Decodable>(value: T, kind: Kind) -> i128 {
    let mut bytes = Vec::new();
    value.write_le(&mut bytes);
    let sign = if kind == Kind::Signed && bytes.last().is_some_and(|byte| *byte > 127) {
        255
    } else {
        0
    };
    bytes.resize(bytes.len().max(16), sign);
    i128::from_le_bytes(*bytes.first_chunk().unwrap())
}

impl<T: Decodable> Aggregator<T> for Kept<T> {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn values(&mut self, values: &[T]) -> Result<()> {
        self.runs(values, &vec![1; values.len()])
    }

    fn runs(&mut self, values: &[T], counts: &[u32]) -> Result<()> {
        assert_eq!(values.len(), counts.len());
        for (value, count) in values.iter().zip(counts) {
            assert!(*count > 0);
            if let Needs::Sum(kind) = self.needs {
                self.sum = self
                    .sum
                    .wrapping_add(integer(*value, kind).wrapping_mul((*count).into()));
            }
            self.values
                .extend(std::iter::repeat_n(*value, *count as usize));
        }
        Ok(())
    }

    fn sum(&mut self, sum: i128) -> Result<()> {
        assert!(matches!(self.needs, Needs::Sum(_)));
        self.sum = self.sum.wrapping_add(sum);
        Ok(())
    }
}

/// Whether an aggregator is handed the values of all rows, and those of some.
fn aggregates<T: Decodable>(decoder: &dyn Decoder<T>, expected: &[T]) -> Result<bool> {
    let sorted = |values: &[T]| {
        let mut numbers: Vec<(i128, i128)> = values
            .iter()
            .map(|value| {
                let mut bytes = Vec::new();
                value.write_le(&mut bytes);
                bytes.resize(32, 0);
                let (low, high) = bytes.split_at(16);
                (
                    i128::from_le_bytes(low.try_into().unwrap()),
                    i128::from_le_bytes(high.try_into().unwrap()),
                )
            })
            .collect();
        numbers.sort_unstable();
        numbers
    };
    let some = selections(expected.len()).into_iter().map(|rows| {
        let mut bits = Bitmap::filled(expected.len(), false);
        rows.iter().for_each(|row| bits.set(*row as usize, true));
        (rows, Some(bits))
    });
    let all = std::iter::once(((0..expected.len() as u32).collect(), None));
    for (rows, bits) in all.chain(some) {
        let there: Vec<T> = rows.iter().map(|row| expected[*row as usize]).collect();
        let mut cx = Scratch::default();
        for needs in [
            Needs::InOrder,
            Needs::AnyOrder,
            Needs::Once,
            Needs::Sum(Kind::Signed),
            Needs::Sum(Kind::Unsigned),
        ] {
            // Wider integers have a sign.
            if needs == Needs::Sum(Kind::Unsigned) && T::BYTES > 8 {
                continue;
            }
            let mut found = Kept {
                needs,
                values: Vec::new(),
                sum: 0,
            };
            decoder.aggregate(bits.as_ref(), &mut found, &mut cx)?;
            let right = match needs {
                Needs::InOrder => found.values == there,
                Needs::AnyOrder => sorted(&found.values) == sorted(&there),
                Needs::Once => {
                    let distinct = |values: &[T]| {
                        let mut values = sorted(values);
                        values.dedup();
                        values
                    };
                    distinct(&found.values) == distinct(&there)
                }
                Needs::Sum(kind) => {
                    found.sum
                        == there
                            .iter()
                            .fold(0i128, |sum, value| sum.wrapping_add(integer(*value, kind)))
                }
            };
            if !right {
                return Ok(false);
            }
        }
    }
    Ok(true)
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
    vec![
        vec![],
        ends,
        rows(usize::MAX, len / 2),
        rows(997, 5),
        rows(53, 7),
        rows(3, 1),
        rows(1, 0),
    ]
}
