//! Position of a literal among the values of a type: at a value, or between two.
//!
//! 10.5 is no integer and 300 is no byte, but both compare exactly with the values before and after
//! them. Integers, and the types stored as integers (dates, times, timestamps, unscaled decimals),
//! are compared in 256 bits, which hold every value of a column.

use std::cmp::Ordering;

use arrow_array::timezone::Tz;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, Float16Type};
use arrow_buffer::i256;
use arrow_cast::parse::{Parser, string_to_datetime, string_to_time_nanoseconds};
use arrow_schema::{DataType, TimeUnit};

use super::Literal;

/// IEEE half precision, without naming its crate.
pub(crate) type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// A value that compares with the bounds of zone maps.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Bit(bool),
    /// Integers, and types stored as integers: dates, times, unscaled decimals.
    Int(i256),
    /// A value of the column's float type, widened.
    Float(f64),
    Bytes(Vec<u8>),
}

impl Value {
    /// The order of two values of one type, which is that of their bounds.
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bit(a), Self::Bit(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            _ => Ordering::Equal,
        }
    }
}

/// Position of a literal among the values of a type.
pub(super) enum Position<T = Value> {
    At(T),
    /// Between this value and the previous one, if any.
    Before(T),
    /// Between this value and the next, if any.
    After(T),
}

impl<T> Position<T> {
    fn map<U>(self, f: impl FnOnce(T) -> U) -> Position<U> {
        match self {
            Self::At(v) => Position::At(f(v)),
            Self::Before(v) => Position::Before(f(v)),
            Self::After(v) => Position::After(f(v)),
        }
    }
}

/// Literals that a column of this type compares with; `None` for none.
pub(super) fn accepts(ty: &DataType) -> Option<&'static str> {
    Some(match ty {
        DataType::Boolean => "true or false",
        DataType::Duration(_) => "a number in the column's unit",
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => "a number, or one as text such as '0.10',",
        DataType::Date32 | DataType::Date64 => "a date such as '2020-01-31'",
        DataType::Time32(_) | DataType::Time64(_) => "a time such as '12:30:00.5'",
        DataType::Timestamp(..) => "a timestamp such as '2020-01-31T12:30:00Z'",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text in single quotes",
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "bytes as text in single quotes",
        ty if ty.is_integer() || ty.is_floating() => "a number",
        _ => return None,
    })
}

/// Position of the literal among the values of the type. The error is a reason, or `None` for a
/// literal of the wrong kind.
pub(super) fn position(ty: &DataType, literal: &Literal) -> Result<Position, Option<String>> {
    let int = |position| Ok(clamp(position, ty).map(Value::Int));
    match (ty, literal) {
        (DataType::Boolean, Literal::Bool(value)) => Ok(Position::At(Value::Bit(*value))),
        (DataType::Float32, Literal::Int(value)) => {
            Ok(Position::At(Value::Float(f64::from(*value as f32))))
        }
        (ty, Literal::Int(value)) if ty.is_floating() => Ok(float(ty, *value as f64)),
        (ty, Literal::Float(value)) if ty.is_floating() => Ok(float(ty, *value)),
        (
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale),
            literal,
        ) => int(match literal {
            Literal::Int(value) => decimal(&value.to_string(), *scale).ok_or(None)?,
            Literal::Float(value) if value.is_finite() => {
                decimal(&format!("{value:e}"), *scale).ok_or(None)?
            }
            Literal::Float(value) => beyond(value.is_sign_negative()),
            Literal::Text(text) => decimal(text.trim(), *scale).ok_or(None)?,
            _ => return Err(None),
        }),
        (ty, Literal::Int(value)) if ty.is_integer() || matches!(ty, DataType::Duration(_)) => {
            int(Position::At(i256::from_i128(*value)))
        }
        (ty, Literal::Float(value)) if ty.is_integer() || matches!(ty, DataType::Duration(_)) => {
            int(integer(*value))
        }
        (DataType::FixedSizeBinary(len), Literal::Text(text)) => Ok(fixed_size(
            text.as_bytes(),
            usize::try_from(*len).map_err(|_| None)?,
        )),
        (ty, Literal::Text(text)) if ty.is_string() || ty.is_binary() => {
            Ok(Position::At(Value::Bytes(text.clone().into_bytes())))
        }
        (ty, Literal::Text(text)) => int(instant(ty, text.trim())?),
        _ => Err(None),
    }
}

/// A position beyond the range of the type becomes one before the smallest or after the largest.
fn clamp(position: Position<i256>, ty: &DataType) -> Position<i256> {
    let bits = (ty.primitive_width().unwrap_or(32) * 8) as u32;
    let (min, max) = match ty {
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
            (i256::ZERO, i256::MAX >> (255 - bits) as u8)
        }
        _ => (
            i256::MIN >> (256 - bits) as u8,
            i256::MAX >> (256 - bits) as u8,
        ),
    };
    match position {
        Position::At(v) | Position::After(v) | Position::Before(v) if v < min => {
            Position::Before(min)
        }
        Position::At(v) | Position::After(v) | Position::Before(v) if v > max => {
            Position::After(max)
        }
        inside => inside,
    }
}

/// Position before or after all integers.
fn beyond(negative: bool) -> Position<i256> {
    if negative {
        Position::Before(i256::MIN)
    } else {
        Position::After(i256::MAX)
    }
}

/// Exact position of a double among the integers; NaN is beyond them, as in the total order.
fn integer(value: f64) -> Position<i256> {
    // 2^127 does not fit 128 bits.
    if !value.is_finite() || value.abs() >= 170_141_183_460_469_231_731_687_303_715_884_105_728.0 {
        return beyond(value.is_sign_negative());
    }
    let floor = i256::from_i128(value.floor() as i128);
    if value.fract() == 0.0 {
        Position::At(floor)
    } else {
        Position::After(floor)
    }
}

/// Position of a number among the floats of a type: at the nearest one that is finite.
fn float(ty: &DataType, value: f64) -> Position {
    let (nearest, max) = match ty {
        DataType::Float16 => (Half::from_f64(value).to_f64(), Half::MAX.to_f64()),
        DataType::Float32 => (f64::from(value as f32), f64::from(f32::MAX)),
        _ => (value, f64::MAX),
    };
    match value {
        value if value.is_infinite() || nearest.is_finite() || value.is_nan() => {
            Position::At(Value::Float(nearest))
        }
        value if value < 0.0 => Position::Before(Value::Float(-max)),
        _ => Position::After(Value::Float(max)),
    }
}

/// Position of a number such as `-12.5e-3` among the multiples of `10^-scale`; `None` for text that
/// is no number.
fn decimal(text: &str, scale: i8) -> Option<Position<i256>> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let negative = mantissa.starts_with('-');
    let mantissa = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // Without leading zeros the number of digits before the point is the magnitude.
    let Some(zeros) = digits.iter().position(|digit| *digit != b'0') else {
        return Some(Position::At(i256::ZERO));
    };
    let digits = digits.get(zeros..)?;
    let point = (whole.len() as i64 - zeros as i64)
        .saturating_add(exponent)
        .saturating_add(i64::from(scale));
    // Seventy-seven digits fill 256 bits.
    let Ok(point) = usize::try_from(point.clamp(0, 78)) else {
        return None;
    };
    let mut units = i256::ZERO;
    for i in 0..point {
        let digit = i256::from_i128(i128::from(digits.get(i).map_or(0, |d| d - b'0')));
        match units
            .checked_mul(i256::from_i128(10))
            .and_then(|units| units.checked_add(digit))
        {
            Some(next) => units = next,
            None => return Some(beyond(negative)),
        }
    }
    let units = if negative {
        units.wrapping_neg()
    } else {
        units
    };
    let exact = digits.iter().skip(point).all(|d| *d == b'0');
    Some(match (exact, negative) {
        (true, _) => Position::At(units),
        (false, true) => Position::Before(units),
        (false, false) => Position::After(units),
    })
}

/// Position of a date, a time or a timestamp among those of the type.
fn instant(ty: &DataType, text: &str) -> Result<Position<i256>, Option<String>> {
    // The parser would ignore digits after the ninth.
    let fraction = text
        .split_once('.')
        .map_or(0, |(_, f)| f.bytes().take_while(u8::is_ascii_digit).count());
    if !text.is_ascii() || fraction > 9 {
        return Err((fraction > 9)
            .then(|| format!("at most 9 digits of a second expected, found {fraction}")));
    }
    let (nanoseconds, unit) = match ty {
        DataType::Date32 | DataType::Date64 => {
            if !text
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+'))
            {
                return Err(None);
            }
            let days = i128::from(Date32Type::parse(text).ok_or(None)?);
            let units = if *ty == DataType::Date32 {
                days
            } else {
                days * 86_400_000
            };
            return Ok(Position::At(i256::from_i128(units)));
        }
        DataType::Time32(unit) | DataType::Time64(unit) => (
            i128::from(string_to_time_nanoseconds(text).map_err(|_| None)?),
            unit,
        ),
        DataType::Timestamp(unit, zone) => (timestamp(text, zone.as_deref())?, unit),
        _ => return Err(None),
    };
    let unit = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    let floor = i256::from_i128(nanoseconds.div_euclid(unit));
    Ok(if nanoseconds.rem_euclid(unit) == 0 {
        Position::At(floor)
    } else {
        Position::After(floor)
    })
}

/// Nanoseconds since 1970 in UTC. A text without an offset is in the column's time zone, or in UTC
/// if the column has none.
fn timestamp(text: &str, zone: Option<&str>) -> Result<i128, Option<String>> {
    let within = |zone: &str| {
        let zone: Tz = zone.parse().map_err(|_| {
            Some(format!(
                "the time zone is not known to this build; an offset expected, as in '{text}+02:00'"
            ))
        })?;
        let at = string_to_datetime(&zone, text).map_err(|_| None)?;
        Ok(i128::from(at.timestamp()) * 1_000_000_000 + i128::from(at.timestamp_subsec_nanos()))
    };
    let utc = within("+00:00")?;
    // A text with an offset is the same instant in every zone.
    match zone {
        Some(zone) if utc != within("+01:00")? => within(zone),
        _ => Ok(utc),
    }
}

/// Position of bytes among strings of a fixed length, in lexicographic order.
fn fixed_size(bytes: &[u8], len: usize) -> Position {
    match bytes.get(..len) {
        Some(all) if bytes.len() == len => Position::At(Value::Bytes(all.to_vec())),
        Some(prefix) => Position::After(Value::Bytes(prefix.to_vec())),
        // The first string with this prefix ends with zeros.
        None => Position::Before(Value::Bytes([bytes, &vec![0; len - bytes.len()]].concat())),
    }
}
