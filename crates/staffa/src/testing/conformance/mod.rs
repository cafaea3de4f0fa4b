//! The conformance suite: what every encoding must do, run for each by the last line of its file.
//!
//! Round trip of generated values, one vector at a time, all at once, and rows gathered one by one.
//! Through a file: take is decode then gather, filter is decode then compare. Every truncation,
//! every bit flip, every byte and every header field at 0, 1, its maximum, +1 and -1 behind a
//! resealed checksum gives an answer or an error, within the block's memory budget.

use arrow_array::{Array as _, ArrayRef, RecordBatch, UInt64Array, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, IntervalUnit};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use staffa_kernels::{U256, VECTOR};

use super::arrays::{Random, one};
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
use crate::predicate::{Compare, Literal, Predicate};
use crate::values::{Bitmap, Kind, OwnedValues, PhysicalType, StringsBuf, Values, vector_len};
use crate::write::WriteOptions;

mod damage;
use damage::{damage, hostile, lying_fields};

/// Runs the suite.
pub(crate) fn run(encoding: &dyn Encoding) {
    let mut accepted = 0;
    for ty in (0..8).filter_map(PhysicalType::from_byte) {
        for kind in [Kind::Unsigned, Kind::Signed, Kind::Float, Kind::Opaque] {
            if encoding.accepts(ty, kind) {
                accepted += 1;
                round_trips(encoding, ty, kind);
                selects(encoding, ty, kind);
                hostile(encoding, ty, kind);
            }
        }
    }
    assert!(accepted > 0, "{} accepts nothing", encoding.info().name);
}

/// Shapes of data that encodings live on, and values at the edges.
fn shapes(ty: PhysicalType) -> impl Strategy<Value = OwnedValues> {
    let len = prop_oneof![
        Just(0usize),
        Just(1),
        Just(2),
        3..70usize,
        Just(VECTOR),
        Just(VECTOR + 1),
        1000..2600usize
    ];
    let shape = (len, 0..10u8, any::<u64>(), 1..64u32);
    shape.prop_map(move |(len, shape, seed, bits)| picked(ty, &numbers(len, shape, seed, bits)))
}

/// Numbers with structure: constant, sorted, runs, few distinct, decimals, one outlier, noise,
/// lists, edges.
pub(crate) fn numbers(len: usize, shape: u8, seed: u64, bits: u32) -> Vec<u64> {
    let mut state = seed | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mask = (1u64 << bits) - 1;
    let edges = [
        0,
        1,
        u64::MAX,
        1 << 63,
        (1 << 63) - 1,
        f64::NAN.to_bits(),
        (-0.0f64).to_bits(),
        0xfff8_0000_0000_0001,
    ];
    let mut last = random() & mask;
    (0..len as u64)
        .map(|i| match shape {
            0 => seed,
            1 => i.wrapping_mul(bits.into()).wrapping_add(seed),
            2 => {
                last = if random() % 5 == 0 {
                    random() & mask
                } else {
                    last
                };
                last
            }
            3 => random() % 7,
            4 => ((random() % 100_000) as f64 / 100.0).to_bits(),
            5 => {
                if i % 97 == 13 {
                    random()
                } else {
                    random() % 16
                }
            }
            6 => random(),
            7 => {
                if random() % 10 == 0 {
                    random() & mask
                } else {
                    seed
                }
            }
            // A list again and again, with a change here and there.
            8 => {
                let period = u64::from(bits) * 5 + 20;
                let word = (i % period + 1).wrapping_mul(seed | 1);
                if i % 61 == 7 {
                    random()
                } else {
                    word ^ word >> 29
                }
            }
            _ => edges[(random() % edges.len() as u64) as usize],
        })
        .collect()
}

pub(crate) fn picked(ty: PhysicalType, numbers: &[u64]) -> OwnedValues {
    match ty {
        PhysicalType::Bits => OwnedValues::Bits(numbers.iter().map(|n| n & 1 == 1).collect()),
        PhysicalType::U8 => OwnedValues::U8(numbers.iter().map(|n| *n as u8).collect()),
        PhysicalType::U16 => OwnedValues::U16(numbers.iter().map(|n| *n as u16).collect()),
        PhysicalType::U32 => OwnedValues::U32(
            numbers
                .iter()
                .map(|n| {
                    if n >> 52 > 0x3f0 {
                        (f64::from_bits(*n) as f32).to_bits()
                    } else {
                        *n as u32
                    }
                })
                .collect(),
        ),
        PhysicalType::U64 => OwnedValues::U64(numbers.to_vec()),
        PhysicalType::U128 => OwnedValues::U128(
            numbers
                .iter()
                .map(|n| i128::from(*n as i64) as u128)
                .collect(),
        ),
        PhysicalType::U256 => {
            let wide = |n: &u64| {
                U256([
                    *n,
                    ((*n as i64) >> 63) as u64,
                    ((*n as i64) >> 63) as u64,
                    ((*n as i64) >> 63) as u64,
                ])
            };
            OwnedValues::U256(numbers.iter().map(wide).collect())
        }
        PhysicalType::Bytes => {
            let strings: Vec<Vec<u8>> = numbers.iter().map(|n| string(*n)).collect();
            OwnedValues::Bytes(strings.iter().map(Vec::as_slice).collect::<StringsBuf>())
        }
    }
}

/// A string with something in common with others: empty, short, long, or bytes that are no text.
fn string(number: u64) -> Vec<u8> {
    match number % 8 {
        0 => Vec::new(),
        1 => vec![number as u8; (number >> 8) as usize % 20],
        2 => number.to_le_bytes().to_vec(),
        3 => format!("https://staffa.example/item/{}", number % 1000).into_bytes(),
        _ => format!("name {}", number % 50).into_bytes(),
    }
}

/// What stands in the other column for an encoding that is in terms of one.
fn other_column(ty: PhysicalType, len: usize) -> OwnedValues {
    picked(ty, &numbers(len, 3, 0x07e4, 5))
}

/// A block of that column.
fn other_block(encoding: &dyn Encoding, ty: PhysicalType, len: usize) -> Option<Vec<u8>> {
    let other = encoding
        .info()
        .needs_reference
        .then(|| other_column(ty, len))?;
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
    let other = other_column(values.physical_type(), values.len());
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
        Ok(decoder.len() == expected.len() && folds(decoder, expected)?)
    }
    let opener = opener(Limits::default());
    let parsed = block::parse(
        bytes,
        values.len(),
        Some(values.physical_type()),
        &opener.limits,
    )?;
    let other = other_block(encoding, values.physical_type(), values.len());
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
    // What is decoded later is decoded for few rows of a new block, and for more of one that was
    // asked.
    for rows in selections(values.len()) {
        let block = Block::open(&parsed, &[], other.as_slice(), &opener)?;
        if !(gathers(&block, &rows, values)? && gathers(&block, &rows, values)?) {
            return Ok(false);
        }
    }
    match (block.values.as_ref().unwrap(), values) {
        (AnyDecoder::Bits(d), Values::Bits(v)) => Ok(&d.bits()? == v),
        (AnyDecoder::U8(d), Values::U8(v)) => words(d.as_ref(), v),
        (AnyDecoder::U16(d), Values::U16(v)) => words(d.as_ref(), v),
        (AnyDecoder::U32(d), Values::U32(v)) => words(d.as_ref(), v),
        (AnyDecoder::U64(d), Values::U64(v)) => words(d.as_ref(), v),
        (AnyDecoder::U128(d), Values::U128(v)) => words(d.as_ref(), v),
        (AnyDecoder::U256(d), Values::U256(v)) => words(d.as_ref(), v),
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
        _ => Ok(false),
    }
}

/// Whether some rows of a block are those of these values.
fn gathers(block: &Block<'_>, rows: &[u32], values: Values<'_>) -> Result<bool> {
    fn words<T: Decodable>(decoder: &dyn Decoder<T>, rows: &[u32], expected: &[T]) -> Result<bool> {
        let mut out = vec![T::default(); rows.len()];
        decoder.take(rows, &mut Scratch::default(), &mut out)?;
        Ok(out
            .iter()
            .eq(rows.iter().map(|row| &expected[*row as usize])))
    }
    match (block.values.as_ref().unwrap(), values) {
        (AnyDecoder::U8(d), Values::U8(v)) => words(d.as_ref(), rows, v),
        (AnyDecoder::U16(d), Values::U16(v)) => words(d.as_ref(), rows, v),
        (AnyDecoder::U32(d), Values::U32(v)) => words(d.as_ref(), rows, v),
        (AnyDecoder::U64(d), Values::U64(v)) => words(d.as_ref(), rows, v),
        (AnyDecoder::U128(d), Values::U128(v)) => words(d.as_ref(), rows, v),
        (AnyDecoder::U256(d), Values::U256(v)) => words(d.as_ref(), rows, v),
        (AnyDecoder::Bytes(d), Values::Bytes(v)) => {
            let mut out = Appended::default();
            out.allow(v.contents().len());
            d.take(rows, &mut Scratch::default(), &mut out)?;
            let expected: StringsBuf = rows.iter().map(|row| v.get(*row as usize)).collect();
            let expected = expected.as_strings();
            Ok(out.lengths == expected.lengths()
                && out.into_data()?.as_slice() == expected.contents())
        }
        _ => Ok(true),
    }
}

/// Values folded: kept, with how often each was there, or their sum.
struct Folded<T> {
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

impl<T: Decodable> Aggregator<T> for Folded<T> {
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

/// Whether what is handed out of all rows, and of some, is what is there.
fn folds<T: Decodable>(decoder: &dyn Decoder<T>, expected: &[T]) -> Result<bool> {
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
            let mut found = Folded {
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

/// Rows of so many: none, each of the first and last ones, one, few, some, most and all.
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

/// Through a file of two row groups, several blocks and some NULLs: take is decode then gather,
/// filter is decode then compare.
fn selects(encoding: &dyn Encoding, ty: PhysicalType, kind: Kind) {
    let Some(data_type) = arrow_type(ty, kind) else {
        return;
    };
    let mut random = Random(u64::from(encoding.info().id) << 8 | ty as u64);
    for shape in 0..10 {
        let numbers = numbers(2600, shape, random.next(), 11);
        let nulls: Option<NullBuffer> =
            (shape % 2 == 0).then(|| (0..2600).map(|_| random.below(9) > 0).collect());
        let values = arrow_array(&data_type, picked(ty, &numbers), nulls);
        let batch = one("a", true, values);
        let options = WriteOptions {
            encodings: vec![("a".into(), encoding.info().name.into())],
            row_group_rows: 1500,
            block_rows: 1100,
            ..WriteOptions::default()
        };
        let Ok(bytes) = crate::to_bytes(batch.schema(), std::slice::from_ref(&batch), options)
        else {
            continue;
        };
        let file = crate::File::from_bytes(bytes).unwrap();
        let rows: Vec<u64> = (0..200).map(|_| random.below(2600) as u64).collect();
        let gathered = arrow_select::take::take_record_batch(
            &batch,
            &UInt64Array::from_iter_values(rows.iter().copied()),
        );
        assert_eq!(
            file.take(&rows, None, false).unwrap(),
            gathered.unwrap(),
            "{} {data_type}",
            encoding.info().name
        );
        for op in [
            Compare::Eq,
            Compare::NotEq,
            Compare::Lt,
            Compare::LtEq,
            Compare::Gt,
            Compare::GtEq,
        ] {
            let row = random.below(2600);
            let Some(literal) = literal(batch.column(0), &numbers, row) else {
                continue;
            };
            let predicate = Predicate::Compare {
                column: "a".into(),
                op,
                literal,
            };
            let kept = predicate
                .bind(&batch.schema())
                .unwrap()
                .evaluate(&batch)
                .unwrap();
            let compared = arrow_select::filter::filter_record_batch(&batch, &kept).unwrap();
            let reader = file.scan().filter(predicate.clone()).reader().unwrap();
            let found: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
            let found = arrow_select::concat::concat_batches(&batch.schema(), &found).unwrap();
            assert_eq!(
                found,
                compared,
                "{} {data_type}: {predicate}",
                encoding.info().name
            );
        }
    }
}

/// A type whose columns have leaves of this type and kind; `None` where no column has.
fn arrow_type(ty: PhysicalType, kind: Kind) -> Option<DataType> {
    use PhysicalType as P;
    Some(match (ty, kind) {
        (P::Bits, Kind::Unsigned) => DataType::Boolean,
        (P::U8, Kind::Unsigned) => DataType::UInt8,
        (P::U16, Kind::Unsigned) => DataType::UInt16,
        (P::U32, Kind::Unsigned) => DataType::UInt32,
        (P::U64, Kind::Unsigned) => DataType::UInt64,
        (P::U8, Kind::Signed) => DataType::Int8,
        (P::U16, Kind::Signed) => DataType::Int16,
        (P::U32, Kind::Signed) => DataType::Int32,
        (P::U64, Kind::Signed) => DataType::Int64,
        (P::U128, Kind::Signed) => DataType::Decimal128(38, 0),
        (P::U256, Kind::Signed) => DataType::Decimal256(76, 0),
        (P::U16, Kind::Float) => DataType::Float16,
        (P::U32, Kind::Float) => DataType::Float32,
        (P::U64, Kind::Float) => DataType::Float64,
        (P::U64, Kind::Opaque) => DataType::Interval(IntervalUnit::DayTime),
        (P::U128, Kind::Opaque) => DataType::Interval(IntervalUnit::MonthDayNano),
        (P::Bytes, Kind::Unsigned) => DataType::Binary,
        _ => return None,
    })
}

fn arrow_array(data_type: &DataType, values: OwnedValues, nulls: Option<NullBuffer>) -> ArrayRef {
    let data = ArrayData::builder(data_type.clone())
        .len(values.borrow().len())
        .nulls(nulls);
    let data = match values {
        OwnedValues::Bits(bits) => data.add_buffer((0..bits.len()).map(|i| bits.get(i)).collect()),
        OwnedValues::Bytes(strings) => data
            .add_buffer(strings.offsets.iter().map(|o| *o as i32).collect())
            .add_buffer(Buffer::from_vec(strings.data)),
        OwnedValues::U8(words) => data.add_buffer(Buffer::from_vec(words)),
        OwnedValues::U16(words) => data.add_buffer(Buffer::from_vec(words)),
        OwnedValues::U32(words) => data.add_buffer(Buffer::from_vec(words)),
        OwnedValues::U64(words) => data.add_buffer(Buffer::from_vec(words)),
        OwnedValues::U128(words) => {
            data.add_buffer(words.iter().flat_map(|w| w.to_le_bytes()).collect())
        }
        OwnedValues::U256(words) => data.add_buffer(words.iter().flat_map(|w| w.0).collect()),
    };
    make_array(data.align_buffers(true).build().unwrap())
}

/// What a row is compared with to be found again; `None` where its type is not compared.
fn literal(array: &ArrayRef, numbers: &[u64], row: usize) -> Option<Literal> {
    let number = numbers[row];
    Some(match array.data_type() {
        DataType::Boolean => Literal::Bool(number & 1 == 1),
        DataType::Interval(_) => return None,
        DataType::Binary => Literal::Text(String::from_utf8(string(number)).ok()?),
        _ if array.is_null(row) => Literal::Null,
        _ => {
            let shown = arrow_cast::display::array_value_to_string(array, row).unwrap();
            shown.parse().map_or_else(
                |_| shown.parse().ok().map(Literal::Float),
                |int| Some(Literal::Int(int)),
            )?
        }
    })
}
