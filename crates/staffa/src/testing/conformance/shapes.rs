//! Values of every type and of many shapes.

use proptest::prelude::*;
use staffa_kernels::{U256, VECTOR};

use crate::values::{OwnedValues, PhysicalType, StringsBuf};

/// Shapes of data that encodings live on, and values at the edges.
pub(super) fn shapes(ty: PhysicalType) -> impl Strategy<Value = OwnedValues> {
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

const EDGES: [u64; 8] = [
    0,
    1,
    u64::MAX,
    1 << 63,
    (1 << 63) - 1,
    f64::NAN.to_bits(),
    (-0.0f64).to_bits(),
    0xfff8_0000_0000_0001,
];

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
            _ => EDGES[(random() % EDGES.len() as u64) as usize],
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
            let sign = |n: &u64| (n.cast_signed() >> 63).cast_unsigned();
            let wide = |n: &u64| U256([*n, sign(n), sign(n), sign(n)]);
            OwnedValues::U256(numbers.iter().map(wide).collect())
        }
        PhysicalType::Bytes => {
            let strings: Vec<Vec<u8>> = numbers.iter().map(|n| string(*n)).collect();
            OwnedValues::Bytes(strings.iter().map(Vec::as_slice).collect::<StringsBuf>())
        }
    }
}

/// A string with something in common with others: empty, short, long, or bytes that are no text.
pub(super) fn string(number: u64) -> Vec<u8> {
    match number % 8 {
        0 => Vec::new(),
        1 => vec![number as u8; (number >> 8) as usize % 20],
        2 => number.to_le_bytes().to_vec(),
        3 => format!("https://staffa.example/item/{}", number % 1000).into_bytes(),
        _ => format!("name {}", number % 50).into_bytes(),
    }
}
