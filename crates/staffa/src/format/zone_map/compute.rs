//! Bounds of the values of a block.

use staffa_kernels::Int;

use super::Bounds;
use crate::values::{Kind, Strings, Values};

pub(super) fn bounds(values: Values<'_>, kind: Kind) -> Bounds {
    match (values, kind) {
        (Values::Bits(bits), _) => {
            let ones = bits.count_ones();
            Bounds::Bits(ones < bits.len(), ones > 0)
        }
        (Values::Bytes(strings), _) => bytes(strings, 0..strings.len()),
        (Values::U8(v), Kind::Signed) => ints(v, |v| i128::from(v as i8)),
        (Values::U16(v), Kind::Signed) => ints(v, |v| i128::from(v as i16)),
        (Values::U32(v), Kind::Signed) => ints(v, |v| i128::from(v as i32)),
        (Values::U64(v), Kind::Signed) => ints(v, |v| i128::from(v as i64)),
        (Values::U128(v), Kind::Signed) => {
            let all = || v.iter().map(|v| *v as i128);
            all()
                .min()
                .zip(all().max())
                .map_or(Bounds::None, |(min, max)| Bounds::Int(min, max))
        }
        (Values::U8(v), Kind::Unsigned) => ints(v, i128::from),
        (Values::U16(v), Kind::Unsigned) => ints(v, i128::from),
        (Values::U32(v), Kind::Unsigned) => ints(v, i128::from),
        (Values::U64(v), Kind::Unsigned) => ints(v, i128::from),
        (Values::U16(v), Kind::Float) => floats(v.iter().map(|v| half(*v))),
        (Values::U32(v), Kind::Float) => {
            let float = |bits: u32| f64::from(f32::from_bits(bits));
            numbers(v, f32::INFINITY.to_bits(), float)
        }
        (Values::U64(v), Kind::Float) => numbers(v, f64::INFINITY.to_bits(), f64::from_bits),
        _ => Bounds::None,
    }
}

/// Bounds in the words' own width, so that the loop vectorises.
fn ints<T: Int>(values: &[T], widen: impl Fn(T) -> i128) -> Bounds {
    if values.is_empty() {
        return Bounds::None;
    }
    let signed = widen(T::MAX) < 0;
    // Flipping the sign bit turns the order of signed numbers into that of unsigned ones.
    let flip = if signed {
        T::from_u64(1 << (T::BITS - 1))
    } else {
        T::ZERO
    };
    let (min, max) = staffa_kernels::bounds(values, flip);
    Bounds::Int(widen(min), widen(max))
}

/// Bounds of floats of these bits, where `infinity` are those of the largest: by two loops that vectorise, as
/// the order of bits is that of numbers above 0, and the reverse of it below.
fn numbers<T: Int>(values: &[T], infinity: T, float: impl Fn(T) -> f64) -> Bounds {
    let sign = T::from_u64(1 << (T::BITS - 1));
    // The smallest and largest bits, with the sign as the upper bit and as that of a number.
    let (least, most) = staffa_kernels::bounds(values, T::ZERO);
    let (_, highest) = staffa_kernels::bounds(values, sign);
    let is_nan = |bits: T| bits.to_u64() & !sign.to_u64() > infinity.to_u64();
    if values.is_empty() || is_nan(highest) || is_nan(most) {
        return floats(values.iter().map(|bits| float(*bits)));
    }
    let min = if most < sign { least } else { most };
    let max = if least < sign { highest } else { least };
    Bounds::Float {
        min: float(min),
        max: float(max),
        nan: false,
    }
}

fn floats(values: impl Iterator<Item = f64>) -> Bounds {
    // Order of the bits as integers, as in `f64::total_cmp`.
    let key = |v: f64| {
        let bits = v.to_bits() as i64;
        bits ^ ((bits >> 63) as u64 >> 1) as i64
    };
    let (mut min, mut max, mut nan, mut any) = (i64::MAX, i64::MIN, false, false);
    for value in values {
        if value.is_nan() {
            nan = true;
        } else {
            any = true;
            min = min.min(key(value));
            max = max.max(key(value));
        }
    }
    let back = |key: i64| f64::from_bits((key ^ ((key >> 63) as u64 >> 1) as i64) as u64);
    if any {
        Bounds::Float {
            min: back(min),
            max: back(max),
            nan,
        }
    } else {
        // Only NaNs: no value lies between these bounds.
        Bounds::Float {
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            nan,
        }
    }
}

/// An IEEE half as a double.
pub(super) fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * (-24f64).exp2(),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1024.0 + fraction) * (f64::from(e) - 25.0).exp2(),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// Bounds of the strings at some rows.
pub(super) fn bytes(strings: Strings<'_>, rows: impl Iterator<Item = usize>) -> Bounds {
    let mut strings = rows.map(|row| strings.prefixed(row));
    let Some(first) = strings.next() else {
        return Bounds::None;
    };
    let (mut min, mut max) = (first, first);
    for string in strings {
        min = min.min(string);
        max = max.max(string);
    }
    within(min.string, max.string, PREFIX)
}

/// Bounds of at most `longest` bytes around two strings.
pub(super) fn within(min: &[u8], max: &[u8], longest: usize) -> Bounds {
    let low = min.get(..longest).unwrap_or(min).to_vec();
    let mut high = max.get(..longest).unwrap_or(max).to_vec();
    if high.len() < max.len() {
        // A prefix lies below the largest string: raise its last byte below 0xff.
        while let Some(last) = high.pop() {
            if last < 0xff {
                high.push(last + 1);
                break;
            }
        }
        if high.is_empty() {
            return Bounds::None;
        }
    }
    Bounds::Bytes(low, high)
}

/// Longest bound of a string.
const PREFIX: usize = 16;
