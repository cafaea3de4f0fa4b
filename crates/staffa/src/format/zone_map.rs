//! Zone maps: the smallest and the largest value of a block, and its NULLs, by which a reader skips
//! what cannot match.
//!
//! ```text
//! zone map = NULLs: varint | kind: u8 | bounds
//!   kind 0: none        kind 1: bits     u8: 1 = false occurs, 2 = true occurs, 3 = both
//!   kind 2: integers    smallest, largest: length u8, two's complement little-endian
//!   kind 3: floats      smallest, largest that are no NaN: f64 each    kind 4: the same, and a NaN occurs
//!   kind 5: strings     bounds: smallest, largest: length varint, bytes; at most 16 bytes, the smallest cut off, the largest
//!                       cut off and its last byte raised
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::Int;

use super::{Cursor, put_prefixed, put_varint};
use crate::error::{Error, Result};
use crate::values::{Kind, PhysicalType, Strings, Values};

/// Longest bound of a string.
const PREFIX: usize = 16;

/// The smallest and the largest value; strings are bounds, not always values.
#[derive(Debug, Clone, PartialEq)]
pub enum Bounds {
    /// No values but NULLs, or a type without order.
    None,
    /// Whether false and whether true occurs.
    Bits(bool, bool),
    /// Integers and what lies upon them.
    Int(i128, i128),
    /// Floats; NaNs are apart.
    Float {
        /// Smallest that is no NaN, -0.0 before 0.0.
        min: f64,
        /// Largest that is no NaN.
        max: f64,
        /// Whether a NaN occurs.
        nan: bool,
    },
    /// At most the smallest, at least the largest.
    Bytes(Vec<u8>, Vec<u8>),
}

impl Bounds {
    /// Whether a leaf of this type may have them.
    pub(crate) fn is_viable(&self, ty: Option<PhysicalType>, kind: Kind) -> bool {
        match self {
            Self::None => true,
            Self::Bits(..) => ty == Some(PhysicalType::Bits),
            Self::Bytes(..) => ty == Some(PhysicalType::Bytes),
            Self::Float { .. } => kind == Kind::Float,
            Self::Int(..) => {
                matches!(kind, Kind::Signed | Kind::Unsigned)
                    && ty.is_some_and(|ty| ty.width_bytes().is_some())
            }
        }
    }

    /// Where these bounds stand between those of the `whole`: 0 its smallest, 1 its largest. Of
    /// strings, by the first eight bytes in which the whole's bounds differ.
    pub(crate) fn span_in(&self, whole: &Self) -> Option<[f64; 2]> {
        let ends =
            |[min, max, low, high]: [f64; 4]| [min, max].map(|value| place(value, low, high));
        match (self, whole) {
            (Self::Bits(no, yes), Self::Bits(..)) if *no || *yes => {
                Some([f64::from(!no), f64::from(*yes)])
            }
            (Self::Int(min, max), Self::Int(low, high)) => {
                // Less the lowest, so that large numbers that are close together keep their digits.
                let above = |value: &i128| value.wrapping_sub(*low) as u128 as f64;
                Some(ends([above(min), above(max), 0.0, above(high)]))
            }
            (
                Self::Float { min, max, .. },
                Self::Float {
                    min: low,
                    max: high,
                    ..
                },
            ) if min <= max => Some(ends([*min, *max, *low, *high])),
            (Self::Bytes(min, max), Self::Bytes(low, high)) => {
                let shared = low.iter().zip(high).take_while(|(a, b)| a == b).count();
                let word = |bytes: &Vec<u8>| {
                    let next = bytes
                        .iter()
                        .skip(shared)
                        .copied()
                        .chain(std::iter::repeat(0));
                    next.take(8)
                        .fold(0_u64, |word, byte| word << 8 | u64::from(byte))
                        as f64
                };
                Some(ends([word(min), word(max), word(low), word(high)]))
            }
            _ => None,
        }
    }
}

/// Where `value` stands from `low` to `high`, as 0 to 1; halved on the way, for the largest floats.
fn place(value: f64, low: f64, high: f64) -> f64 {
    let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        f64::from(value >= high && high > low)
    }
}

/// Statistics of a block.
#[derive(Debug, Clone, PartialEq)]
pub struct ZoneMap {
    /// How many values are NULL.
    pub nulls: u64,
    /// Of the others.
    pub bounds: Bounds,
}

impl ZoneMap {
    /// Of values without NULLs, and the number of NULLs beside them.
    pub fn of(values: Values<'_>, kind: Kind, nulls: u64) -> Self {
        let bounds = if values.is_empty() {
            Bounds::None
        } else {
            bounds(values, kind)
        };
        Self { nulls, bounds }
    }

    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        put_varint(out, self.nulls);
        match &self.bounds {
            Bounds::None => out.push(0),
            Bounds::Bits(no, yes) => out.extend([1, u8::from(*no) | u8::from(*yes) << 1]),
            Bounds::Int(min, max) => {
                out.push(2);
                for value in [min, max] {
                    let sign = if *value < 0 {
                        value.leading_ones()
                    } else {
                        value.leading_zeros()
                    };
                    let len = (129 - sign).div_ceil(8) as usize;
                    out.push(len as u8);
                    out.extend(value.to_le_bytes().iter().take(len));
                }
            }
            Bounds::Float { min, max, nan } => {
                out.push(3 + u8::from(*nan));
                out.extend(min.to_le_bytes());
                out.extend(max.to_le_bytes());
            }
            Bounds::Bytes(min, max) => {
                out.push(5);
                put_prefixed(out, min);
                put_prefixed(out, max);
            }
        }
    }

    /// Reads one.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        fn int(cursor: &mut Cursor<'_>) -> Result<i128> {
            let len = cursor.u8()?;
            let bytes = cursor.bytes(usize::from(len))?;
            let negative = bytes.last().is_some_and(|b| b >> 7 == 1);
            let mut le = [if negative { 0xff } else { 0 }; 16];
            if bytes.len() > le.len() {
                return Err(Error::corrupt(format!(
                    "bounds of at most 16 bytes expected, found {len}"
                )));
            }
            le.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            Ok(i128::from_le_bytes(le))
        }
        let nulls = cursor.varint()?;
        let bounds = match cursor.u8()? {
            0 => Bounds::None,
            1 => {
                let seen = cursor.u8()?;
                Bounds::Bits(seen & 1 == 1, seen & 2 == 2)
            }
            2 => Bounds::Int(int(cursor)?, int(cursor)?),
            kind @ (3 | 4) => Bounds::Float {
                min: f64::from_bits(cursor.u64()?),
                max: f64::from_bits(cursor.u64()?),
                nan: kind == 4,
            },
            5 => Bounds::Bytes(cursor.prefixed()?.to_vec(), cursor.prefixed()?.to_vec()),
            other => {
                return Err(Error::corrupt(format!(
                    "bounds of kind 0 to 5 expected, found {other}"
                )));
            }
        };
        Ok(Self { nulls, bounds })
    }

    /// The zone map of two parts together.
    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        let bounds = match (&self.bounds, &other.bounds) {
            (Bounds::None, b) => b.clone(),
            (a, Bounds::None) => a.clone(),
            (Bounds::Bits(a, b), Bounds::Bits(c, d)) => Bounds::Bits(a | c, b | d),
            (Bounds::Int(a, b), Bounds::Int(c, d)) => Bounds::Int(*a.min(c), *b.max(d)),
            (
                Bounds::Float { min, max, nan },
                Bounds::Float {
                    min: other_min,
                    max: other_max,
                    nan: other_nan,
                },
            ) => Bounds::Float {
                min: if min.total_cmp(other_min).is_le() {
                    *min
                } else {
                    *other_min
                },
                max: if max.total_cmp(other_max).is_ge() {
                    *max
                } else {
                    *other_max
                },
                nan: nan | other_nan,
            },
            (Bounds::Bytes(a, b), Bounds::Bytes(c, d)) => {
                Bounds::Bytes(a.min(c).clone(), b.max(d).clone())
            }
            // Parts that disagree on the type bound nothing.
            _ => Bounds::None,
        };
        Self {
            nulls: self.nulls.saturating_add(other.nulls),
            bounds,
        }
    }
}

fn bounds(values: Values<'_>, kind: Kind) -> Bounds {
    match (values, kind) {
        (Values::Bits(bits), _) => {
            let ones = bits.count_ones();
            Bounds::Bits(ones < bits.len(), ones > 0)
        }
        (Values::Bytes(strings), _) => bytes(strings),
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
        (Values::U32(v), Kind::Float) => floats(v.iter().map(|v| f64::from(f32::from_bits(*v)))),
        (Values::U64(v), Kind::Float) => floats(v.iter().map(|v| f64::from_bits(*v))),
        _ => Bounds::None,
    }
}

/// In the words' own width, so that the loop vectorises; widened once.
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

fn floats(values: impl Iterator<Item = f64>) -> Bounds {
    // The bits of a double, ordered as integers once negative ones are turned round (as in
    // `f64::total_cmp`).
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
        // Nothing but NaNs: bounds that nothing lies between.
        Bounds::Float {
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            nan,
        }
    }
}

/// An IEEE half as a double.
fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 31, f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * (-24f64).exp2(),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1024.0 + fraction) * (f64::from(e) - 25.0).exp2(),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

fn bytes(strings: Strings<'_>) -> Bounds {
    let Some(first) = strings.iter().next() else {
        return Bounds::None;
    };
    // Most strings lie between the two by their first bytes alone.
    let key = |start: u32, string: &[u8]| {
        let mask = u64::MAX
            .checked_shl(64 - 8 * string.len().min(8) as u32)
            .unwrap_or(0);
        match strings
            .data()
            .get(start as usize..)
            .and_then(<[u8]>::first_chunk::<8>)
        {
            Some(bytes) => u64::from_be_bytes(*bytes) & mask,
            None => string
                .iter()
                .take(8)
                .zip((0..64).step_by(8))
                .fold(0, |key, (byte, at)| key | u64::from(*byte) << (56 - at)),
        }
    };
    let start = strings.offsets().first().copied().unwrap_or(0);
    let (mut min, mut max) = ((key(start, first), first), (key(start, first), first));
    for (&start, string) in strings.offsets().iter().zip(strings.iter()) {
        let both = (key(start, string), string);
        if both.0 <= min.0 && both < min {
            min = both;
        } else if both.0 >= max.0 && both > max {
            max = both;
        }
    }
    let ((_, min), (_, max)) = (min, max);
    let low = min.get(..PREFIX).unwrap_or(min).to_vec();
    let mut high = max.get(..PREFIX).unwrap_or(max).to_vec();
    if high.len() < max.len() {
        // Cut off, it would lie below the largest: its last byte that can be raised is raised.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::StringsBuf;

    #[test]
    fn spans_lie_between_zero_and_one() {
        let float = |min, max| Bounds::Float {
            min,
            max,
            nan: false,
        };
        let text = |min: &str, max: &str| Bounds::Bytes(min.into(), max.into());
        let cases = [
            (Bounds::Int(10, 15), Bounds::Int(10, 20), Some([0.0, 0.5])),
            (Bounds::Int(7, 7), Bounds::Int(7, 7), Some([0.0, 0.0])),
            (
                Bounds::Int(0, i128::MAX),
                Bounds::Int(i128::MIN, i128::MAX),
                Some([0.5, 1.0]),
            ),
            (
                float(-f64::MAX, 0.0),
                float(-f64::MAX, f64::MAX),
                Some([0.0, 0.5]),
            ),
            (
                float(1.0, f64::INFINITY),
                float(f64::NEG_INFINITY, f64::INFINITY),
                Some([0.0, 1.0]),
            ),
            (
                float(f64::INFINITY, f64::NEG_INFINITY),
                float(0.0, 1.0),
                None,
            ),
            (
                text("ab\0", "ab\u{40}"),
                text("ab", "ab\u{40}"),
                Some([0.0, 1.0]),
            ),
            (
                Bounds::Bits(true, false),
                Bounds::Bits(true, true),
                Some([0.0, 0.0]),
            ),
            (
                Bounds::Bits(false, true),
                Bounds::Bits(true, true),
                Some([1.0, 1.0]),
            ),
            (Bounds::None, Bounds::Int(0, 1), None),
        ];
        for (part, whole, span) in cases {
            assert_eq!(part.span_in(&whole), span, "{part:?} in {whole:?}");
        }
    }

    fn round_trip(zone: &ZoneMap) {
        let mut out = Vec::new();
        zone.write(&mut out);
        let mut cursor = Cursor::new(&out);
        assert_eq!(&ZoneMap::read(&mut cursor).unwrap(), zone);
        cursor.finish("zone map").unwrap();
        for cut in 0..out.len() {
            assert!(ZoneMap::read(&mut Cursor::new(&out[..cut])).is_err());
        }
    }

    #[test]
    fn bounds_hold_for_every_type() {
        let zone = ZoneMap::of(Values::U32(&[5, u32::MAX, 7]), Kind::Signed, 3);
        assert_eq!(
            zone,
            ZoneMap {
                nulls: 3,
                bounds: Bounds::Int(-1, 7)
            }
        );
        round_trip(&zone);
        let zone = ZoneMap::of(Values::U64(&[5, u64::MAX]), Kind::Unsigned, 0);
        assert_eq!(zone.bounds, Bounds::Int(5, i128::from(u64::MAX)));
        round_trip(&zone);
        let zone = ZoneMap::of(
            Values::U128(&[i128::MIN as u128, i128::MAX as u128]),
            Kind::Signed,
            0,
        );
        assert_eq!(zone.bounds, Bounds::Int(i128::MIN, i128::MAX));
        round_trip(&zone);
        let floats = [0.0f64, -0.0, f64::NAN, -2.5].map(f64::to_bits);
        let zone = ZoneMap::of(Values::U64(&floats), Kind::Float, 0);
        assert_eq!(
            zone.bounds,
            Bounds::Float {
                min: -2.5,
                max: 0.0,
                nan: true
            }
        );
        round_trip(&zone);
        let strings: StringsBuf = [&b"b"[..], &[0xff; 20], b"a very long string indeed"]
            .into_iter()
            .collect();
        let zone = ZoneMap::of(
            Values::Bytes(strings.as_strings().slice(0, 1)),
            Kind::Opaque,
            0,
        );
        assert_eq!(zone.bounds, Bounds::Bytes(b"b".to_vec(), b"b".to_vec()));
        let zone = ZoneMap::of(
            Values::Bytes(strings.as_strings().slice(2, 1)),
            Kind::Opaque,
            0,
        );
        assert_eq!(
            zone.bounds,
            Bounds::Bytes(b"a very long stri".to_vec(), b"a very long strj".to_vec())
        );
        round_trip(&zone);
        assert_eq!(
            ZoneMap::of(Values::Bytes(strings.as_strings()), Kind::Opaque, 0).bounds,
            Bounds::None
        );
    }

    #[test]
    fn halves_are_exact() {
        for (bits, value) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (1, 2f64.powi(-24)),
            (0x7bff, 65504.0),
            (0x7c00, f64::INFINITY),
        ] {
            assert_eq!(half(bits).to_bits(), f64::to_bits(value));
        }
        assert!(half(0x7e00).is_nan());
    }
}
