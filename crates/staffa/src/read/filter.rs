//! A test of one column on the encoded values of a block: one bit per row.
//!
//! Tests of columns without a plain flat form (nested ones, Arrow's dictionaries and runs) are left
//! to Arrow's kernels.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::cmp::Ordering;

use hashbrown::HashSet;
use memchr::memmem::Finder;

use super::slots::typed;
use crate::arrow::Leaf;
use crate::decode::{
    self, AnyDecoder, Block, Bulk, Decoder, Integer, Scratch, StringTest, WordSet, WordTest,
};
use crate::error::Result;
use crate::format::BlockEntry;
use crate::predicate::{Compare, Half, Node, Test, Value, may_be_true, must_be_true};
use crate::values::{Bitmap, Kind, for_ints};

/// Whether all rows of a block match, or none, by its zone map; `None` where the block must be read.
pub(super) fn by_zone_map(node: &Node, entry: &BlockEntry) -> Option<bool> {
    let (rows, zone) = (entry.values as u64, &|_: &str| Some(entry.zone.clone()));
    match (
        may_be_true(node, rows, zone),
        must_be_true(node, rows, zone),
    ) {
        (false, _) => Some(false),
        (true, true) => Some(true),
        (true, false) => None,
    }
}

/// The rows of a block for which a test is true; `None` where it is left to Arrow's kernels.
pub(super) fn rows_where(node: &Node, block: &Block<'_>, leaf: &Leaf) -> Result<Option<Bitmap>> {
    let valid = || {
        block
            .validity
            .clone()
            .unwrap_or_else(|| Bitmap::filled(block.len, true))
    };
    let (op, value) = match node {
        Node::Null(_) => return Ok(Some(Bitmap::filled(block.len, true).without(&valid()))),
        Node::NotNull(_) => return Ok(Some(valid())),
        Node::Compare(_, op, literal) => (*op, &literal.value),
        Node::Match {
            test,
            text,
            negated,
            ..
        } => return rows_matching(*test, text, *negated, block),
        Node::In {
            values, negated, ..
        } => return rows_in(values, *negated, block, leaf),
        Node::All(_) | Node::Any(_) => return Ok(None),
    };
    let mut cx = Scratch::default();
    let found = match (&block.values, value) {
        (None, _) => return Ok(Some(Bitmap::filled(block.len, false))),
        (Some(AnyDecoder::Bits(decoder)), Value::Bit(value)) => {
            let bits = decoder.bits()?;
            let all = Bitmap::filled(bits.len(), true);
            match (holds(op, false.cmp(value)), holds(op, true.cmp(value))) {
                (false, false) => Bitmap::filled(bits.len(), false),
                (false, true) => bits,
                (true, false) => all.without(&bits),
                (true, true) => all,
            }
        }
        (Some(AnyDecoder::Bytes(decoder)), Value::Bytes(value)) => {
            let value = value.as_slice();
            let equal = |string: &[u8]| string == value;
            let other = |string: &[u8]| holds(op, string.cmp(value));
            let test = if op == Compare::Eq {
                StringTest {
                    passes: &equal,
                    bulk: Bulk::Equal(value),
                }
            } else {
                StringTest {
                    passes: &other,
                    bulk: Bulk::Each,
                }
            };
            decoder.filter(&test, block.string_bytes, &mut cx)?
        }
        (Some(AnyDecoder::Bits(_) | AnyDecoder::Bytes(_)), _) => return Ok(None),
        (Some(AnyDecoder::U128(_)), Value::Int(value)) if leaf.domain.is_short() => {
            let Some(decoder) = block.short()? else {
                return Ok(None);
            };
            let value = value.as_i128();
            match i64::try_from(value) {
                Ok(word) => {
                    let range = decode::Range::of(op, word.cast_unsigned(), leaf.kind);
                    decoder.filter(&WordTest::Range(range), &mut cx)?
                }
                // All words are less or all are greater.
                Err(_) => Bitmap::filled(decoder.len(), holds(op, 0.cmp(&value))),
            }
        }
        (Some(decoder), value) => {
            let Some(ty) = leaf.ty else { return Ok(None) };
            let found = for_ints!(ty, T => words::<T>(typed(decoder)?, op, value, leaf.kind, &mut cx)?, _ => None);
            let Some(found) = found else { return Ok(None) };
            found
        }
    };
    Ok(Some(block.of_rows(found)))
}

/// The rows of a block whose text passes a test of its bytes; `None` where it is left to Arrow's
/// kernels.
fn rows_matching(
    test: Test,
    text: &[u8],
    negated: bool,
    block: &Block<'_>,
) -> Result<Option<Bitmap>> {
    let decoder = match &block.values {
        None => return Ok(Some(Bitmap::filled(block.len, false))),
        Some(AnyDecoder::Bytes(decoder)) => decoder,
        Some(_) => return Ok(None),
    };
    let (finder, mut cx) = (Finder::new(text), Scratch::default());
    let starts = |string: &[u8]| string.starts_with(text) != negated;
    let contains = |string: &[u8]| finder.find(string).is_some() != negated;
    let test = match test {
        Test::StartsWith => StringTest {
            passes: &starts,
            bulk: Bulk::Begin(text, negated),
        },
        Test::Contains => StringTest {
            passes: &contains,
            bulk: Bulk::Contain(&finder, negated),
        },
        Test::Like | Test::ILike => return Ok(None),
    };
    let found = decoder.filter(&test, block.string_bytes, &mut cx)?;
    Ok(Some(block.of_rows(found)))
}

/// The rows of a block whose value is in a list, or is not; `None` where it is left to Arrow's kernels.
fn rows_in(
    values: &[Value],
    negated: bool,
    block: &Block<'_>,
    leaf: &Leaf,
) -> Result<Option<Bitmap>> {
    let mut cx = Scratch::default();
    let found = match &block.values {
        None => return Ok(Some(Bitmap::filled(block.len, false))),
        Some(AnyDecoder::Bits(_)) => return Ok(None),
        Some(AnyDecoder::Bytes(decoder)) => {
            let strings = values.iter().filter_map(|value| match value {
                Value::Bytes(string) => Some(string.as_slice()),
                _ => None,
            });
            let set: HashSet<&[u8]> = strings.collect();
            let passes = |string: &[u8]| set.contains(string) != negated;
            let test = StringTest {
                passes: &passes,
                bulk: Bulk::Each,
            };
            decoder.filter(&test, block.string_bytes, &mut cx)?
        }
        Some(AnyDecoder::U128(_)) if leaf.domain.is_short() => {
            let Some(decoder) = block.short()? else {
                return Ok(None);
            };
            // Words of 64 bits: none is longer.
            let short = values.iter().filter_map(|value| match value {
                Value::Int(value) => {
                    let word = value.to_i128().and_then(|value| i64::try_from(value).ok());
                    word.map(i64::cast_unsigned)
                }
                _ => None,
            });
            let set = WordSet::of(short, leaf.kind, !negated);
            decoder.filter(&WordTest::Set(set), &mut cx)?
        }
        Some(decoder) => {
            let Some(ty) = leaf.ty else { return Ok(None) };
            let kind = leaf.kind;
            let found = for_ints!(ty, T => {
                let words: Option<Vec<T>> = values.iter().map(|value| word_of(value, kind)).collect();
                let Some(words) = words else { return Ok(None) };
                let set = WordSet::of(words.into_iter(), kind, !negated);
                Some(typed::<T>(decoder)?.filter(&WordTest::Set(set), &mut cx)?)
            }, _ => None);
            let Some(found) = found else { return Ok(None) };
            found
        }
    };
    Ok(Some(block.of_rows(found)))
}

/// The words that compare so with a value; `None` where the value is of another kind.
fn words<T: Integer>(
    decoder: &dyn Decoder<T>,
    op: Compare,
    value: &Value,
    kind: Kind,
    cx: &mut Scratch,
) -> Result<Option<Bitmap>> {
    let Some(word) = word_of(value, kind) else {
        return Ok(None);
    };
    let range = decode::Range::of(op, word, kind);
    decoder.filter(&WordTest::Range(range), cx).map(Some)
}

/// A value as a word of a column; `None` where it is of another kind.
fn word_of<T: Integer>(value: &Value, kind: Kind) -> Option<T> {
    let word = match (value, kind, T::BYTES) {
        (Value::Int(value), Kind::Signed | Kind::Unsigned, _) => value.as_i128() as u64,
        (Value::Float(value), Kind::Float, 2) => Half::from_f64(*value).to_bits().into(),
        (Value::Float(value), Kind::Float, 4) => (*value as f32).to_bits().into(),
        (Value::Float(value), Kind::Float, 8) => value.to_bits(),
        _ => return None,
    };
    Some(T::from_u64(word))
}

/// Whether a comparison holds for values in this order.
fn holds(op: Compare, order: Ordering) -> bool {
    match op {
        Compare::Eq => order.is_eq(),
        Compare::NotEq => order.is_ne(),
        Compare::Lt => order.is_lt(),
        Compare::LtEq => order.is_le(),
        Compare::Gt => order.is_gt(),
        Compare::GtEq => order.is_ge(),
    }
}
