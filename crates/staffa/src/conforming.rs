//! The conformance suite: what every encoding must do, run for each by the last line of its file.
//!
//! Round trip of generated values, one vector at a time, all at once, and rows gathered one by one. Through a file: take is decode then gather, filter
//! is decode then compare. Every truncation, every bit flip, every byte and every header field at 0, 1, its maximum, +1
//! and -1 behind a resealed checksum gives an answer or an error, within the block's memory budget.

use arrow_array::{Array as _, ArrayRef, RecordBatch, UInt64Array, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, IntervalUnit};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use staffa_kernels::{U256, VECTOR};

use crate::arrow::testing::{Random, one};
use crate::bitmap::Bitmap;
use crate::block::{self, Block, Parts, seal};
use crate::choose::Cascade;
use crate::cursor::{Cursor, put_varint};
use crate::decode::{AnyDecoder, Budget, Decoder, Physical, Scratch, decode_all_strings, vector_len};
use crate::encoding::Encoding;
use crate::error::Result;
use crate::fold::{Fold, Wants};
use crate::gather::Appended;
use crate::limits::Limits;
use crate::node::{Node, NodeRef};
use crate::options::{Profile, WriteOptions};
use crate::picked::Picked;
use crate::predicate::{Compare, Literal, Predicate};
use crate::source::{Stream, StreamOf};
use crate::values::{Kind, PhysicalType, StringsBuf, Values};

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
    assert!(accepted > 0, "{} accepts nothing", encoding.name());
}

/// Shapes of data that encodings live on, and values at the edges.
fn shapes(ty: PhysicalType) -> impl Strategy<Value = Picked> {
    let len = prop_oneof![Just(0usize), Just(1), Just(2), 3..70usize, Just(VECTOR), Just(VECTOR + 1), 1000..2600usize];
    let shape = (len, 0..10u8, any::<u64>(), 1..64u32);
    shape.prop_map(move |(len, shape, seed, bits)| picked(ty, &numbers(len, shape, seed, bits)))
}

/// Numbers with structure: constant, sorted, runs, few distinct, decimals, one outlier, noise, lists, edges.
pub(crate) fn numbers(len: usize, shape: u8, seed: u64, bits: u32) -> Vec<u64> {
    let mut state = seed | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mask = (1u64 << bits) - 1;
    let edges =
        [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, f64::NAN.to_bits(), (-0.0f64).to_bits(), 0xfff8_0000_0000_0001];
    let mut last = random() & mask;
    (0..len as u64)
        .map(|i| match shape {
            0 => seed,
            1 => i.wrapping_mul(bits.into()).wrapping_add(seed),
            2 => {
                last = if random() % 5 == 0 { random() & mask } else { last };
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
                if i % 61 == 7 { random() } else { word ^ word >> 29 }
            }
            _ => edges[(random() % edges.len() as u64) as usize],
        })
        .collect()
}

pub(crate) fn picked(ty: PhysicalType, numbers: &[u64]) -> Picked {
    match ty {
        PhysicalType::Bits => Picked::Bits(numbers.iter().map(|n| n & 1 == 1).collect()),
        PhysicalType::U8 => Picked::U8(numbers.iter().map(|n| *n as u8).collect()),
        PhysicalType::U16 => Picked::U16(numbers.iter().map(|n| *n as u16).collect()),
        PhysicalType::U32 => Picked::U32(
            numbers
                .iter()
                .map(|n| if n >> 52 > 0x3f0 { (f64::from_bits(*n) as f32).to_bits() } else { *n as u32 })
                .collect(),
        ),
        PhysicalType::U64 => Picked::U64(numbers.to_vec()),
        PhysicalType::U128 => Picked::U128(numbers.iter().map(|n| i128::from(*n as i64) as u128).collect()),
        PhysicalType::U256 => {
            let wide = |n: &u64| {
                U256([*n, ((*n as i64) >> 63) as u64, ((*n as i64) >> 63) as u64, ((*n as i64) >> 63) as u64])
            };
            Picked::U256(numbers.iter().map(wide).collect())
        }
        PhysicalType::Bytes => {
            let strings: Vec<Vec<u8>> = numbers.iter().map(|n| string(*n)).collect();
            Picked::Bytes(strings.iter().map(Vec::as_slice).collect::<StringsBuf>())
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
fn other_column(ty: PhysicalType, len: usize) -> Picked {
    picked(ty, &numbers(len, 3, 0x07e4, 5))
}

/// A block of that column.
fn other_block(encoding: &dyn Encoding, ty: PhysicalType, len: usize) -> Option<Vec<u8>> {
    let other = encoding.needs_source().then(|| other_column(ty, len))?;
    let stats = crate::choose::Stats::new(other.borrow(), Kind::Unsigned);
    let plain = if ty == PhysicalType::Bits { "bitmap" } else { "plain" };
    let node = Cascade::root(Profile::Balanced, Some(plain)).choose(other.borrow(), &stats).unwrap();
    let parts = Parts { len, validity: None, values: Some(&node), dense: false, string_bytes: None };
    Some(block::write(&parts))
}

/// The block of some values, the encoding asked for by name; `None` where it cannot hold them.
fn encoded(encoding: &dyn Encoding, values: Values<'_>, kind: Kind) -> Option<Vec<u8>> {
    let cascade = Cascade::root(Profile::Balanced, Some(encoding.name()));
    let other = other_column(values.physical_type(), values.len());
    let streams = [Stream { from: StreamOf::Values, words: other.borrow(), times: 1 }];
    let cascade = if encoding.needs_source() { cascade.told_by(&streams) } else { cascade };
    let stats = crate::choose::Stats::new(values, kind);
    let node = cascade.choose(values, &stats).ok()?;
    assert_eq!(node.encoding, encoding.id());
    let string_bytes = if let Values::Bytes(strings) = values { Some(strings.contents().len()) } else { None };
    let parts = Parts { len: values.len(), validity: None, values: Some(&node), dense: false, string_bytes };
    Some(block::write(&parts))
}

/// The tree of some strings, the encoding asked for by name.
pub(crate) fn tree(encoding: &dyn Encoding, strings: &[Vec<u8>]) -> Node {
    let strings: StringsBuf = strings.iter().map(Vec::as_slice).collect();
    let values = Values::Bytes(strings.as_strings());
    let stats = crate::choose::Stats::new(values, Kind::Unsigned);
    Cascade::root(Profile::Balanced, Some(encoding.name())).choose(values, &stats).unwrap()
}

/// The strings of a node as it stands in FORMAT.md: hexadecimal bytes.
pub(crate) fn strings_of(hex: &str, len: usize) -> Vec<String> {
    let bytes: Vec<u8> = hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    let mut cursor = Cursor::new(&bytes);
    let node = NodeRef::parse(&mut cursor, len, 8).unwrap();
    cursor.finish("the node").unwrap();
    let mut cx = crate::decode::OpenContext { budget: Budget::new(1 << 20), shared: &[], sources: Vec::new() };
    let decoder = cx.open_bytes(&node).unwrap();
    let all = decode_all_strings(decoder.as_ref(), &mut Budget::new(1 << 20), "strings").unwrap();
    all.ranges().map(|range| String::from_utf8(all.contents()[range].to_vec()).unwrap()).collect()
}

/// Strings of an encoding's own shape: they come back, and damage to them gives an answer or an error.
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
    let mut runner = TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
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
        panic!("{} of {ty:?} {kind:?}: {e}", encoding.name());
    }
    assert!(held.get() > 0, "{} holds no {ty:?} {kind:?}", encoding.name());
}

/// Whether a block decodes to these values: vector by vector, in any order, and as a block.
fn same(encoding: &dyn Encoding, bytes: &[u8], values: Values<'_>) -> Result<bool> {
    fn words<T: Physical>(decoder: &dyn Decoder<T>, expected: &[T]) -> Result<bool> {
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
        for rows in selections(expected.len()) {
            let mut out = vec![T::default(); rows.len()];
            decoder.gather(&rows, &mut cx, &mut out)?;
            if !out.iter().eq(rows.iter().map(|row| &expected[*row as usize])) {
                return Ok(false);
            }
        }
        Ok(decoder.len() == expected.len() && folds(decoder, expected)?)
    }
    let limits = Limits::default();
    let parsed = block::parse(bytes, values.len(), Some(values.physical_type()), &limits)?;
    let other = other_block(encoding, values.physical_type(), values.len());
    let other = other.as_ref().map(|b| block::parse(b, values.len(), Some(values.physical_type()), &limits));
    let block = Block::open(&parsed, &[], other.transpose()?.as_slice(), &limits)?;
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
            for rows in selections(v.len()) {
                let mut out = Appended::default();
                out.allow(v.contents().len());
                d.gather(&rows, &mut cx, &mut out)?;
                let expected: StringsBuf = rows.iter().map(|row| v.get(*row as usize)).collect();
                let expected = expected.as_strings();
                if out.lengths != expected.lengths() || out.into_data()?.as_slice() != expected.contents() {
                    return Ok(false);
                }
            }
            let all = decode_all_strings(d.as_ref(), &mut Budget::new(u64::MAX), "all")?;
            Ok(all.contents() == v.contents() && all.len() == v.len())
        }
        _ => Ok(false),
    }
}

/// Values folded: kept, with how often each was there, or their sum.
struct Folded<T> {
    wants: Wants,
    values: Vec<T>,
    sum: i128,
}

/// The low 128 bits of a word as an integer of a kind.
fn integer<T: Physical>(value: T, kind: Kind) -> i128 {
    let mut bytes = Vec::new();
    value.write_le(&mut bytes);
    let sign = if kind == Kind::Signed && bytes.last().is_some_and(|byte| *byte > 127) { 255 } else { 0 };
    bytes.resize(bytes.len().max(16), sign);
    i128::from_le_bytes(*bytes.first_chunk().unwrap())
}

impl<T: Physical> Fold<T> for Folded<T> {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn values(&mut self, values: &[T]) -> Result<()> {
        self.runs(values, &vec![1; values.len()])
    }

    fn runs(&mut self, values: &[T], counts: &[u32]) -> Result<()> {
        assert_eq!(values.len(), counts.len());
        for (value, count) in values.iter().zip(counts) {
            assert!(*count > 0);
            if let Wants::Sum(kind) = self.wants {
                self.sum = self.sum.wrapping_add(integer(*value, kind).wrapping_mul((*count).into()));
            }
            self.values.extend(std::iter::repeat_n(*value, *count as usize));
        }
        Ok(())
    }

    fn sum(&mut self, sum: i128) -> Result<()> {
        assert!(matches!(self.wants, Wants::Sum(_)));
        self.sum = self.sum.wrapping_add(sum);
        Ok(())
    }
}

/// Whether what is handed out of all rows, and of some, is what is there.
fn folds<T: Physical>(decoder: &dyn Decoder<T>, expected: &[T]) -> Result<bool> {
    let sorted = |values: &[T]| {
        let mut numbers: Vec<(i128, i128)> = values
            .iter()
            .map(|value| {
                let mut bytes = Vec::new();
                value.write_le(&mut bytes);
                bytes.resize(32, 0);
                let (low, high) = bytes.split_at(16);
                (i128::from_le_bytes(low.try_into().unwrap()), i128::from_le_bytes(high.try_into().unwrap()))
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
        for wants in
            [Wants::InOrder, Wants::AnyOrder, Wants::Once, Wants::Sum(Kind::Signed), Wants::Sum(Kind::Unsigned)]
        {
            // Wider integers have a sign.
            if wants == Wants::Sum(Kind::Unsigned) && T::BYTES > 8 {
                continue;
            }
            let mut found = Folded { wants, values: Vec::new(), sum: 0 };
            decoder.fold(bits.as_ref(), &mut found, &mut cx)?;
            let right = match wants {
                Wants::InOrder => found.values == there,
                Wants::AnyOrder => sorted(&found.values) == sorted(&there),
                Wants::Once => {
                    let distinct = |values: &[T]| {
                        let mut values = sorted(values);
                        values.dedup();
                        values
                    };
                    distinct(&found.values) == distinct(&there)
                }
                Wants::Sum(kind) => {
                    found.sum == there.iter().fold(0i128, |sum, value| sum.wrapping_add(integer(*value, kind)))
                }
            };
            if !right {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Rows of so many: none, each of the first and last ones, few, some, most and all.
fn selections(len: usize) -> Vec<Vec<u32>> {
    let rows = |step: usize, first: usize| (first..len).step_by(step).map(|row| row as u32).collect::<Vec<_>>();
    let ends = [0, 1, 2, VECTOR - 1, VECTOR, len.saturating_sub(2), len.saturating_sub(1)];
    let mut ends: Vec<u32> = ends.iter().filter(|row| **row < len).map(|row| *row as u32).collect();
    ends.sort_unstable();
    ends.dedup();
    vec![vec![], ends, rows(997, 5), rows(53, 7), rows(3, 1), rows(1, 0)]
}

/// Through a file of two row groups, several blocks and some NULLs: take is decode then gather, filter is decode then
/// compare.
fn selects(encoding: &dyn Encoding, ty: PhysicalType, kind: Kind) {
    let Some(data_type) = arrow_type(ty, kind) else { return };
    let mut random = Random(u64::from(encoding.id()) << 8 | ty as u64);
    for shape in 0..10 {
        let numbers = numbers(2600, shape, random.next(), 11);
        let nulls: Option<NullBuffer> = (shape % 2 == 0).then(|| (0..2600).map(|_| random.below(9) > 0).collect());
        let values = arrow_array(&data_type, picked(ty, &numbers), nulls);
        let batch = one("a", true, values);
        let options = WriteOptions {
            encodings: vec![("a".into(), encoding.name().into())],
            row_group_rows: 1500,
            block_rows: 1100,
            ..WriteOptions::default()
        };
        let Ok(bytes) = crate::to_bytes(batch.schema(), std::slice::from_ref(&batch), options) else { continue };
        let file = crate::File::from_bytes(bytes).unwrap();
        let rows: Vec<u64> = (0..200).map(|_| random.below(2600) as u64).collect();
        let gathered =
            arrow_select::take::take_record_batch(&batch, &UInt64Array::from_iter_values(rows.iter().copied()));
        assert_eq!(file.take(&rows, None, false).unwrap(), gathered.unwrap(), "{} {data_type}", encoding.name());
        for op in [Compare::Eq, Compare::NotEq, Compare::Lt, Compare::LtEq, Compare::Gt, Compare::GtEq] {
            let row = random.below(2600);
            let Some(literal) = literal(batch.column(0), &numbers, row) else { continue };
            let predicate = Predicate::Compare { column: "a".into(), op, literal };
            let kept = predicate.bind(&batch.schema()).unwrap().evaluate(&batch).unwrap();
            let compared = arrow_select::filter::filter_record_batch(&batch, &kept).unwrap();
            let reader = file.scan().filter(predicate.clone()).reader().unwrap();
            let found: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
            let found = arrow_select::concat::concat_batches(&batch.schema(), &found).unwrap();
            assert_eq!(found, compared, "{} {data_type}: {predicate}", encoding.name());
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

fn arrow_array(data_type: &DataType, values: Picked, nulls: Option<NullBuffer>) -> ArrayRef {
    let data = ArrayData::builder(data_type.clone()).len(values.borrow().len()).nulls(nulls);
    let data = match values {
        Picked::Bits(bits) => data.add_buffer((0..bits.len()).map(|i| bits.get(i)).collect()),
        Picked::Bytes(strings) => data
            .add_buffer(strings.offsets.iter().map(|o| *o as i32).collect())
            .add_buffer(Buffer::from_vec(strings.data)),
        Picked::U8(words) => data.add_buffer(Buffer::from_vec(words)),
        Picked::U16(words) => data.add_buffer(Buffer::from_vec(words)),
        Picked::U32(words) => data.add_buffer(Buffer::from_vec(words)),
        Picked::U64(words) => data.add_buffer(Buffer::from_vec(words)),
        Picked::U128(words) => data.add_buffer(words.iter().flat_map(|w| w.to_le_bytes()).collect()),
        Picked::U256(words) => data.add_buffer(words.iter().flat_map(|w| w.0).collect()),
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
            shown.parse().map_or_else(|_| shown.parse().ok().map(Literal::Float), |int| Some(Literal::Int(int)))?
        }
    })
}

/// Decodes whatever a block holds; answers and errors are both fine, panics are not.
fn survive(bytes: &[u8], len: usize, ty: PhysicalType, other: Option<&[u8]>) {
    let limits = Limits { block_bytes: 1 << 24, ..Limits::default() };
    let Ok(parsed) = block::parse(bytes, len, Some(ty), &limits) else { return };
    let other = other.and_then(|other| block::parse(other, len, Some(ty), &limits).ok());
    let Ok(block) = Block::open(&parsed, &[], other.as_slice(), &limits) else { return };
    let mut cx = Scratch::default();
    let rows: Vec<u32> = (0..len as u32).step_by(len / 7 + 1).collect();
    macro_rules! words {
        ($decoder:expr, $ty:ty) => {{
            let _ = $decoder.gather(&rows, &mut cx, &mut vec![<$ty>::default(); rows.len()]);
            let _ = block.words::<$ty>($decoder.as_ref(), &mut cx, &mut vec![<$ty>::default(); len]);
        }};
    }
    match &block.values {
        Some(AnyDecoder::Bits(_)) => drop(block.bits()),
        Some(AnyDecoder::U8(d)) => words!(d, u8),
        Some(AnyDecoder::U16(d)) => words!(d, u16),
        Some(AnyDecoder::U32(d)) => words!(d, u32),
        Some(AnyDecoder::U64(d)) => words!(d, u64),
        Some(AnyDecoder::U128(d)) => words!(d, u128),
        Some(AnyDecoder::U256(d)) => words!(d, U256),
        Some(AnyDecoder::Bytes(d)) => {
            let mut some = Appended::default();
            some.allow(block.string_bytes);
            let _ = d.gather(&rows, &mut cx, &mut some);
            drop(block.strings(&mut cx, &mut vec![0; len], &mut vec![0; block.string_bytes]));
        }
        None => {}
    }
}

/// Every truncation, and bytes set to others, behind a resealed checksum and not.
fn damage(good: &[u8], len: usize, ty: PhysicalType, other: Option<&[u8]>) {
    let survive = |bytes: &[u8]| survive(bytes, len, ty, other);
    for cut in 0..good.len() {
        survive(&good[..cut]);
        let mut sealed = good[..cut].to_vec();
        seal(&mut sealed);
        survive(&sealed);
    }
    let body = &good[..good.len() - 4];
    // A long block is its header, its payload's head, and a sample of the rest.
    let step = |at: usize| at < 160 || at.is_multiple_of(13) || at + 40 > body.len();
    for at in (0..body.len()).filter(|at| step(*at)) {
        let old = body[at];
        let flips = (0..8).map(|bit| old ^ 1 << bit);
        for new in flips.chain([0, 1, 0x7f, 0xff, old.wrapping_add(1), old.wrapping_sub(1)]) {
            let mut bad = body.to_vec();
            bad[at] = new;
            seal(&mut bad);
            survive(&bad);
        }
        let mut flipped = good.to_vec();
        flipped[at] ^= 1;
        let limits = Limits::default();
        assert!(block::parse(&flipped, len, Some(ty), &limits).is_err(), "a flip went unnoticed");
    }
}

fn hostile(encoding: &dyn Encoding, ty: PhysicalType, kind: Kind) {
    for (len, shape) in [(40, 3), (40, 2), (90, 7), (30, 4), (1060, 5), (20, 0), (33, 1), (1030, 2), (180, 8)] {
        let values = picked(ty, &numbers(len, shape, 0x5eed, 11));
        let Some(good) = encoded(encoding, values.borrow(), kind) else { continue };
        damage(&good, len, ty, other_block(encoding, ty, len).as_deref());
    }
    for (len, shape) in [(40, 3), (90, 7), (1060, 5), (1030, 2), (70, 4), (180, 8)] {
        let values = picked(ty, &numbers(len, shape, 0x5eed, 11));
        if let Some(good) = encoded(encoding, values.borrow(), kind) {
            lying_fields(&good, len, ty, other_block(encoding, ty, len).as_deref());
        }
    }
    // Nothing at all, and all NULL: a block without values.
    let none = Bitmap::filled(9, false);
    let parts = Parts {
        len: 9,
        validity: Some(&block::validity(&none, 0).unwrap()),
        values: None,
        dense: true,
        string_bytes: Some(0).filter(|_| ty == PhysicalType::Bytes),
    };
    survive(&block::write(&parts), 9, ty, None);
}

/// What a field of a header is set to: 0, 1, its maximum, +1 and -1.
fn lies(field: u64) -> [u64; 6] {
    [0, 1, u64::MAX, u64::from(u32::MAX), field.wrapping_add(1), field.wrapping_sub(1)]
}

/// Each field of the block's header, of every node's header and at the head of every payload set to something else, and
/// all around it made to fit again.
fn lying_fields(good: &[u8], len: usize, ty: PhysicalType, other: Option<&[u8]>) {
    fn owned(node: &NodeRef<'_>) -> Node {
        let NodeRef { encoding, ty, len, payload, ref children, .. } = *node;
        Node { encoding, ty, len, payload: payload.to_vec(), children: children.iter().map(owned).collect() }
    }
    /// Calls back with the whole tree for each lie that a node or those below it may tell.
    fn each(root: &Node, path: &mut Vec<usize>, tell: &mut dyn FnMut(&Node)) {
        let at = |root: &mut Node, path: &[usize], change: &dyn Fn(&mut Node)| {
            change(path.iter().fold(root, |node, child| &mut node.children[*child]));
        };
        let mut lie = |change: &dyn Fn(&mut Node)| {
            let mut tree = root.clone();
            at(&mut tree, path, change);
            tell(&tree);
        };
        let node = path.iter().fold(root, |node, child| &node.children[*child]);
        (0..24).for_each(|id| lie(&|node| node.encoding = id));
        (0..8).filter_map(PhysicalType::from_byte).for_each(|ty| lie(&|node| node.ty = ty));
        lies(node.len as u64).iter().for_each(|len| lie(&|node| node.len = *len as usize));
        for start in 0..node.payload.len().min(24) {
            let mut cursor = Cursor::new(&node.payload[start..]);
            if let Ok(field) = cursor.varint() {
                let end = start + cursor.position();
                for field in lies(field) {
                    let mut bytes = Vec::new();
                    put_varint(&mut bytes, field);
                    lie(&|node| drop(node.payload.splice(start..end, bytes.iter().copied())));
                }
            }
            for width in [2, 4, 8] {
                let Some(bytes) = node.payload.get(start..start + width) else { continue };
                let mut word = [0; 8];
                word[..width].copy_from_slice(bytes);
                for field in lies(u64::from_le_bytes(word)) {
                    lie(&|node| node.payload[start..start + width].copy_from_slice(&field.to_le_bytes()[..width]));
                }
            }
        }
        lie(&|node| node.payload.clear());
        lie(&|node| node.payload.push(0));
        lie(&|node| node.children.reverse());
        lie(&|node| drop(node.children.pop()));
        lie(&|node| node.children.extend(node.children.first().cloned()));
        for child in 0..node.children.len() {
            path.push(child);
            each(root, path, tell);
            path.pop();
        }
    }
    let survive = |bytes: &[u8], len: usize| survive(bytes, len, ty, other);
    let block = |len: u64, flags: u8, string_bytes: u64, tree: &Node| {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, len);
        bytes.push(flags);
        if ty == PhysicalType::Bytes {
            put_varint(&mut bytes, string_bytes);
        }
        tree.write(&mut bytes);
        seal(&mut bytes);
        bytes
    };
    let parsed = block::parse(good, len, Some(ty), &Limits::default()).unwrap();
    let (tree, string_bytes) = (owned(parsed.values.as_ref().unwrap()), parsed.string_bytes as u64);
    assert_eq!(block(len as u64, 2, string_bytes, &tree), good, "the block is put together as written");
    lies(len as u64).iter().for_each(|lie| survive(&block(*lie, 2, string_bytes, &tree), *lie as usize & 0xffff));
    (0..=8).for_each(|flags| survive(&block(len as u64, flags, string_bytes, &tree), len));
    lies(string_bytes).iter().for_each(|lie| survive(&block(len as u64, 2, *lie, &tree), len));
    each(&tree, &mut Vec::new(), &mut |tree| survive(&block(len as u64, 2, string_bytes, tree), len));
}
