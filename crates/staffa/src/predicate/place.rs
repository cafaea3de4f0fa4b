//! Where a literal lies among the values of a type: at one of them, or between two.
//!
//! 10.5 is no integer and 300 no byte, but they can be compared with them exactly, if it is known
//! which value comes before or after. Integers and all that lies upon them (dates, times,
//! timestamps, unscaled decimals) go through 256 bits, in which nothing overflows that a column
//! could hold.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use arrow_array::timezone::Tz;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, Float16Type};
use arrow_buffer::i256;
use arrow_cast::parse::{Parser, string_to_datetime, string_to_time_nanoseconds};
use arrow_schema::{DataType, TimeUnit};

use super::Literal;

/// IEEE half precision, without naming its crate.
pub(crate) type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// A value in the terms of zone maps.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Bit(bool),
    /// Integers and what lies upon them: dates, times, unscaled decimals.
    Int(i256),
    /// A value of the column's float type, widened.
    Float(f64),
    Bytes(Vec<u8>),
}

/// Where a literal lies among the values of a type.
pub(super) enum Place<T = Value> {
    At(T),
    /// Between this value and the one before, if any.
    Before(T),
    /// Between this value and the next, if any.
    After(T),
}

impl<T> Place<T> {
    fn map<U>(self, f: impl FnOnce(T) -> U) -> Place<U> {
        match self {
            Self::At(v) => Place::At(f(v)),
            Self::Before(v) => Place::Before(f(v)),
            Self::After(v) => Place::After(f(v)),
        }
    }
}

/// What a column of this type is compared with; `None`: with nothing.
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

/// Where the literal lies among the values of the type; fails where they cannot be compared, with
/// the reason if it is another than the kind of literal.
pub(super) fn place(ty: &DataType, literal: &Literal) -> Result<Place, Option<String>> {
    let int = |place| Ok(clamp(place, ty).map(Value::Int));
    match (ty, literal) {
        (DataType::Boolean, Literal::Bool(value)) => Ok(Place::At(Value::Bit(*value))),
        (DataType::Float32, Literal::Int(value)) => {
            Ok(Place::At(Value::Float(f64::from(*value as f32))))
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
            int(Place::At(i256::from_i128(*value)))
        }
        (ty, Literal::Float(value)) if ty.is_integer() || matches!(ty, DataType::Duration(_)) => {
            int(integer(*value))
        }
        (DataType::FixedSizeBinary(len), Literal::Text(text)) => Ok(fixed_size(
            text.as_bytes(),
            usize::try_from(*len).unwrap_or(0),
        )),
        (ty, Literal::Text(text)) if ty.is_string() || ty.is_binary() => {
            Ok(Place::At(Value::Bytes(text.clone().into_bytes())))
        }
        (ty, Literal::Text(text)) => int(instant(ty, text.trim())?),
        _ => Err(None),
    }
}

/// Within the range of the type: what lies outside, lies before the smallest or after the largest.
fn clamp(place: Place<i256>, ty: &DataType) -> Place<i256> {
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
    match place {
        Place::At(v) | Place::After(v) | Place::Before(v) if v < min => Place::Before(min),
        Place::At(v) | Place::After(v) | Place::Before(v) if v > max => Place::After(max),
        inside => inside,
    }
}

/// Smaller or larger than every integer.
fn beyond(negative: bool) -> Place<i256> {
    if negative {
        Place::Before(i256::MIN)
    } else {
        Place::After(i256::MAX)
    }
}

/// A double among the integers, exactly; NaN lies beyond them, as in the total order of floats.
fn integer(value: f64) -> Place<i256> {
    // 2^127: from there on it would not fit 128 bits, let alone a column.
    if !value.is_finite() || value.abs() >= 170_141_183_460_469_231_731_687_303_715_884_105_728.0 {
        return beyond(value.is_sign_negative());
    }
    let floor = i256::from_i128(value.floor() as i128);
    if value.fract() == 0.0 {
        Place::At(floor)
    } else {
        Place::After(floor)
    }
}

/// A number among the floats of a type: rounded to the nearest, as the column's values were, but
/// not to infinity.
fn float(ty: &DataType, value: f64) -> Place {
    let (nearest, max) = match ty {
        DataType::Float16 => (Half::from_f64(value).to_f64(), Half::MAX.to_f64()),
        DataType::Float32 => (f64::from(value as f32), f64::from(f32::MAX)),
        _ => (value, f64::MAX),
    };
    match value {
        value if value.is_infinite() || nearest.is_finite() || value.is_nan() => {
            Place::At(Value::Float(nearest))
        }
        value if value < 0.0 => Place::Before(Value::Float(-max)),
        _ => Place::After(Value::Float(max)),
    }
}

/// A decimal number such as `-12.5e-3` among the multiples of `10^-scale`; `None` if it is no
/// number.
fn decimal(text: &str, scale: i8) -> Option<Place<i256>> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let negative = mantissa.starts_with('-');
    let mantissa = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // Leading zeros go, so that the number of digits before the point tells the magnitude.
    let zeros = digits.iter().take_while(|d| **d == b'0').count();
    let digits = digits.get(zeros..).unwrap_or_default();
    if digits.is_empty() {
        return Some(Place::At(i256::ZERO));
    }
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
        (true, _) => Place::At(units),
        (false, true) => Place::Before(units),
        (false, false) => Place::After(units),
    })
}

/// A date, a time or a timestamp among those of the type.
fn instant(ty: &DataType, text: &str) -> Result<Place<i256>, Option<String>> {
    // Digits after the ninth would be cut off without a word.
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
            return Ok(Place::At(i256::from_i128(units)));
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
        Place::At(floor)
    } else {
        Place::After(floor)
    })
}

/// Nanoseconds since 1970 in UTC. A text without offset is meant in the column's time zone, or in
/// UTC if it has none.
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
    // It has an offset of its own if the zone it is read in makes no difference.
    match zone {
        Some(zone) if utc != within("+01:00")? => within(zone),
        _ => Ok(utc),
    }
}

/// Bytes among strings of a fixed length, in lexicographic order.
fn fixed_size(bytes: &[u8], len: usize) -> Place {
    match bytes.get(..len) {
        Some(all) if bytes.len() == len => Place::At(Value::Bytes(all.to_vec())),
        Some(prefix) => Place::After(Value::Bytes(prefix.to_vec())),
        // A prefix comes before all that it begins, the first of which ends with zeros.
        None => Place::Before(Value::Bytes([bytes, &vec![0; len - bytes.len()]].concat())),
    }
}
