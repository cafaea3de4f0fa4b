//! The conformance suite: what every encoding must do, run for each by the last line of its file.
//!
//! Round trip of generated values, one vector at a time and all at once; every truncation, every bit flip and every byte
//! at 0, 1, 255, +1 and -1 behind a resealed checksum gives an answer or an error, within the block's memory budget.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use staffa_kernels::{U256, VECTOR};

use crate::bitmap::Bitmap;
use crate::block::{self, Block, Parts, seal};
use crate::choose::Cascade;
use crate::decode::{AnyDecoder, Budget, Decoder, Scratch, decode_all_strings, vector_len};
use crate::encoding::Encoding;
use crate::error::Result;
use crate::limits::Limits;
use crate::options::Profile;
use crate::picked::Picked;
use crate::values::{Kind, PhysicalType, StringsBuf, Values};

/// Runs the suite.
pub(crate) fn run(encoding: &dyn Encoding) {
    let mut accepted = 0;
    for ty in (0..8).filter_map(PhysicalType::from_byte) {
        for kind in [Kind::Unsigned, Kind::Signed, Kind::Float, Kind::Opaque] {
            if encoding.accepts(ty, kind) {
                accepted += 1;
                round_trips(encoding, ty, kind);
                hostile(encoding, ty, kind);
            }
        }
    }
    assert!(accepted > 0, "{} accepts nothing", encoding.name());
}

/// Shapes of data that encodings live on, and values at the edges.
fn shapes(ty: PhysicalType) -> impl Strategy<Value = Picked> {
    let len = prop_oneof![Just(0usize), Just(1), Just(2), 3..70usize, Just(VECTOR), Just(VECTOR + 1), 1000..2600usize];
    let shape = (len, 0..9u8, any::<u64>(), 1..64u32);
    shape.prop_map(move |(len, shape, seed, bits)| picked(ty, &numbers(len, shape, seed, bits)))
}

/// Numbers with structure: constant, sorted, runs, few distinct, decimals, one outlier, noise, edges.
fn numbers(len: usize, shape: u8, seed: u64, bits: u32) -> Vec<u64> {
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
            _ => edges[(random() % edges.len() as u64) as usize],
        })
        .collect()
}

fn picked(ty: PhysicalType, numbers: &[u64]) -> Picked {
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

/// The block of some values, the encoding asked for by name; `None` where it cannot hold them.
fn encoded(encoding: &dyn Encoding, values: Values<'_>, kind: Kind) -> Option<Vec<u8>> {
    let cascade = Cascade::root(Profile::Balanced, Some(encoding.name()));
    let stats = crate::choose::Stats::new(values, kind);
    let node = cascade.choose(values, &stats).ok()?;
    assert_eq!(node.encoding, encoding.id());
    let string_bytes = if let Values::Bytes(strings) = values { Some(strings.contents().len()) } else { None };
    let parts = Parts { len: values.len(), validity: None, values: Some(&node), dense: false, string_bytes };
    Some(block::write(&parts).unwrap())
}

fn round_trips(encoding: &dyn Encoding, ty: PhysicalType, kind: Kind) {
    let held = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(Config { cases: 48, failure_persistence: None, ..Config::default() });
    let result = runner.run(&shapes(ty), |values| {
        let values = values.borrow();
        if let Some(bytes) = encoded(encoding, values, kind) {
            held.set(held.get() + 1);
            prop_assert!(same(&bytes, values).map_err(|e| TestCaseError::fail(e.to_string()))?, "other values");
        }
        Ok(())
    });
    if let Err(e) = result {
        panic!("{} of {ty:?} {kind:?}: {e}", encoding.name());
    }
    assert!(held.get() > 0, "{} holds no {ty:?} {kind:?}", encoding.name());
}

/// Whether a block decodes to these values: vector by vector, in any order, and as a block.
fn same(bytes: &[u8], values: Values<'_>) -> Result<bool> {
    fn words<T: PartialEq + Copy + Default>(decoder: &dyn Decoder<T>, expected: &[T]) -> Result<bool> {
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
        Ok(decoder.len() == expected.len())
    }
    let limits = Limits::default();
    let parsed = block::parse(bytes, values.len(), Some(values.physical_type()), &limits)?;
    let block = Block::open(&parsed, &[], &limits)?;
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
            let (offsets, data) = decode_all_strings(d.as_ref(), &mut Budget::new(u64::MAX), "all")?;
            Ok(data == v.contents() && offsets.len() == v.len() + 1)
        }
        _ => Ok(false),
    }
}

/// Decodes whatever a block holds; answers and errors are both fine, panics are not.
fn survive(bytes: &[u8], len: usize, ty: PhysicalType) {
    let limits = Limits { block_bytes: 1 << 24, ..Limits::default() };
    let Ok(parsed) = block::parse(bytes, len, Some(ty), &limits) else { return };
    let Ok(block) = Block::open(&parsed, &[], &limits) else { return };
    let mut cx = Scratch::default();
    macro_rules! words {
        ($decoder:expr, $ty:ty) => {{
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
        Some(AnyDecoder::Bytes(_)) => drop(block.strings(&mut cx, &mut vec![0; len], &mut vec![0; block.string_bytes])),
        None => {}
    }
}

fn hostile(encoding: &dyn Encoding, ty: PhysicalType, kind: Kind) {
    for (len, shape) in [(40, 3), (40, 2), (90, 7), (30, 4), (1060, 5), (20, 0), (33, 1), (1030, 2)] {
        let values = picked(ty, &numbers(len, shape, 0x5eed, 11));
        let Some(good) = encoded(encoding, values.borrow(), kind) else { continue };
        for cut in 0..good.len() {
            survive(&good[..cut], len, ty);
            let mut sealed = good[..cut].to_vec();
            seal(&mut sealed);
            survive(&sealed, len, ty);
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
                survive(&bad, len, ty);
            }
            let mut flipped = good.clone();
            flipped[at] ^= 1;
            let limits = Limits::default();
            assert!(block::parse(&flipped, len, Some(ty), &limits).is_err(), "a flip went unnoticed");
        }
    }
    // Nothing at all, and all NULL: a block without values.
    let none = Bitmap::filled(9, false);
    let parts = Parts {
        len: 9,
        validity: Some(&none),
        values: None,
        dense: true,
        string_bytes: Some(0).filter(|_| ty == PhysicalType::Bytes),
    };
    survive(&block::write(&parts).unwrap(), 9, ty);
}
