//! Zone maps: smallest and largest value of a block and its number of NULLs, by which a reader skips
//! blocks. FORMAT.md, section 5.
//!
//! ```text
//! zone map = NULLs: varint | bytes of what follows: varint, 0 for no bounds | kind: u8 | bounds
//!   kind 1: bits        u8: 1 = false occurs, 2 = true occurs, 3 = both
//!   kind 2: integers    smallest, largest: length u8, two's complement little-endian
//!   kind 3: floats      smallest, largest that are no NaN: f64 each    kind 4: the same, and a NaN occurs
//!   kind 5: strings     smallest, largest: length varint, bytes; at most 16 bytes, the smallest cut off, the largest
//!                       cut off and its last byte raised
//! ```
//!
//! Bounds of another kind are none: a reader passes over them.

mod compute;
mod overlap;
#[cfg(test)]
mod tests;

use std::cmp::{max_by, min_by};

use self::compute::{bounds, within};
pub(crate) use self::overlap::bounds_overlap;
use super::{Cursor, put_prefixed, put_varint};
use crate::error::{Error, Result};
use crate::values::{Kind, PhysicalType, Strings, Values};

/// Smallest and largest value; those of strings may be cut off and need not occur.
#[derive(Debug, Clone, PartialEq)]
pub enum Bounds {
    /// No value but NULLs, or a type without order.
    None,
    /// Whether false and whether true occurs.
    Bits(bool, bool),
    /// Integers, and types stored as integers.
    Int(i128, i128),
    /// Floats.
    Float {
        /// Smallest that is no NaN, -0.0 before 0.0.
        min: f64,
        /// Largest that is no NaN.
        max: f64,
        /// Whether a NaN occurs.
        nan: bool,
    },
    /// A lower and an upper bound of strings.
    Bytes(Vec<u8>, Vec<u8>),
}

impl Bounds {
    /// Kind and bounds; nothing for none.
    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::None => {}
            Self::Bits(no, yes) => out.extend([1, u8::from(*no) | u8::from(*yes) << 1]),
            Self::Int(min, max) => {
                out.push(2);
                put_int(*min, &mut out);
                put_int(*max, &mut out);
            }
            Self::Float { min, max, nan } => {
                out.push(3 + u8::from(*nan));
                out.extend(min.to_le_bytes());
                out.extend(max.to_le_bytes());
            }
            Self::Bytes(min, max) => {
                out.push(5);
                put_prefixed(&mut out, min);
                put_prefixed(&mut out, max);
            }
        }
        out
    }

    /// Reads kind and bounds; none where the kind is unknown.
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let cursor = &mut cursor;
        if bytes.is_empty() {
            return Ok(Self::None);
        }
        let bounds = match cursor.u8()? {
            1 => {
                let seen = cursor.u8()?;
                if !(1..=3).contains(&seen) {
                    return Err(Error::corrupt(format!(
                        "booleans seen from 1 to 3 expected, found {seen}"
                    )));
                }
                Self::Bits(seen & 1 == 1, seen & 2 == 2)
            }
            2 => Self::Int(int(cursor)?, int(cursor)?),
            kind @ (3 | 4) => Self::Float {
                min: f64::from_bits(cursor.u64()?),
                max: f64::from_bits(cursor.u64()?),
                nan: kind == 4,
            },
            5 => Self::Bytes(cursor.prefixed()?.to_vec(), cursor.prefixed()?.to_vec()),
            _ => return Ok(Self::None),
        };
        cursor.finish("a zone map")?;
        let ascends = match &bounds {
            Self::Int(min, max) => min <= max,
            Self::Bytes(min, max) => min <= max,
            Self::Float { min, max, nan } => {
                // Of NaNs alone the bounds are the wrong way round.
                let none = *nan && (*min, *max) == (f64::INFINITY, f64::NEG_INFINITY);
                none || !min.is_nan() && !max.is_nan() && min.total_cmp(max).is_le()
            }
            Self::None | Self::Bits(..) => true,
        };
        if !ascends {
            return Err(Error::corrupt(
                "bounds in their order that are no NaN expected, found others",
            ));
        }
        Ok(bounds)
    }

    /// Bounds of strings of at most `longest` bytes; others as they are.
    #[must_use]
    pub(crate) fn shortened(&self, longest: usize) -> Self {
        match self {
            Self::Bytes(min, max) => within(min, max, longest),
            other => other.clone(),
        }
    }

    /// Whether all values within `other` lie within these bounds.
    pub(crate) fn hold(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, _) => true,
            (Self::Bits(a, b), Self::Bits(c, d)) => (*a || !c) && (*b || !d),
            (Self::Int(a, b), Self::Int(c, d)) => a <= c && b >= d,
            (
                Self::Float { min, max, nan },
                Self::Float {
                    min: low,
                    max: high,
                    nan: any,
                },
            ) => {
                (*nan || !any)
                    && (low > high || min.total_cmp(low).is_le() && max.total_cmp(high).is_ge())
            }
            (Self::Bytes(a, b), Self::Bytes(c, d)) => a <= c && b >= d,
            _ => false,
        }
    }

    /// Whether a leaf of this type may have such bounds.
    pub(crate) fn matches_type(&self, ty: Option<PhysicalType>, kind: Kind) -> bool {
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

    /// Position of these bounds between those of `whole`: 0 is its smallest, 1 its largest. Strings
    /// count by the eight bytes from the first on in which the bounds of `whole` differ.
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

/// Position of `value` from `low`, 0, to `high`, 1. Halves do not overflow for the largest floats.
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
    /// Bounds of the other values.
    pub bounds: Bounds,
}

impl ZoneMap {
    /// The NULLs alone.
    pub(crate) fn without_bounds(self) -> Self {
        let bounds = Bounds::None;
        Self { bounds, ..self }
    }

    /// Zone map of `values`, which are not NULL, beside `nulls` NULLs.
    pub fn of(values: Values<'_>, kind: Kind, nulls: u64) -> Self {
        let bounds = if values.is_empty() {
            Bounds::None
        } else {
            bounds(values, kind)
        };
        Self { nulls, bounds }
    }

    /// Of strings, the distinct ones of which stand in these rows.
    pub(crate) fn of_distinct(strings: Strings<'_>, rows: &[u32], nulls: u64) -> Self {
        let bounds = compute::bytes(strings, rows.iter().map(|row| *row as usize));
        Self { nulls, bounds }
    }

    /// Appends the zone map.
    pub fn write(&self, out: &mut Vec<u8>) {
        put_varint(out, self.nulls);
        put_prefixed(out, &self.bounds.bytes());
    }

    /// Reads a zone map.
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        Ok(Self {
            nulls: cursor.varint()?,
            bounds: Bounds::read(cursor.prefixed()?)?,
        })
    }

    /// Zone map of both blocks together.
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
                    min: low,
                    max: high,
                    nan: any,
                },
            ) => Bounds::Float {
                min: min_by(*min, *low, f64::total_cmp),
                max: max_by(*max, *high, f64::total_cmp),
                nan: nan | any,
            },
            (Bounds::Bytes(a, b), Bounds::Bytes(c, d)) => {
                Bounds::Bytes(a.min(c).clone(), b.max(d).clone())
            }
            // Blocks of different types have no common bounds.
            _ => Bounds::None,
        };
        Self {
            nulls: self.nulls.saturating_add(other.nulls),
            bounds,
        }
    }
}

/// Appends the fewest bytes that keep the sign.
fn put_int(value: i128, out: &mut Vec<u8>) {
    let sign_bits = if value < 0 {
        value.leading_ones()
    } else {
        value.leading_zeros()
    };
    let len = (129 - sign_bits).div_ceil(8) as usize;
    out.push(len as u8);
    out.extend(value.to_le_bytes().iter().take(len));
}

fn int(cursor: &mut Cursor<'_>) -> Result<i128> {
    let len = cursor.u8()?;
    if len == 0 {
        return Err(Error::corrupt(
            "bounds of at least 1 byte expected, found 0",
        ));
    }
    let bytes = cursor.bytes(usize::from(len))?;
    let is_negative = bytes.last().is_some_and(|b| b >> 7 == 1);
    let mut le = [if is_negative { 0xff } else { 0 }; 16];
    let Some(low) = le.get_mut(..bytes.len()) else {
        return Err(Error::corrupt(format!(
            "bounds of at most 16 bytes expected, found {len}"
        )));
    };
    low.copy_from_slice(bytes);
    Ok(i128::from_le_bytes(le))
}
