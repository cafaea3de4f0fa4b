//! Types that hold the values of two files, by the rules of Arrow's permissive unification, which
//! `staffa.dataset` follows as well.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, TimeUnit};

/// The type that holds both; `None` if there is none.
pub(crate) fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as T;
    Some(match (a, b) {
        _ if a == b => a.clone(),
        (T::Null, other) | (other, T::Null) => other.clone(),
        (a, b) if a.is_integer() && b.is_integer() => integer(a, b),
        (a, b) if is_float(a) && is_float(b) => float(width(a).max(width(b))),
        (number, float_type) | (float_type, number)
            if number.is_integer() && is_float(float_type) =>
        {
            float(width(number).max(width(float_type)))
        }
        (T::Decimal128(precision, scale), other) | (other, T::Decimal128(precision, scale)) => {
            let other = match other {
                T::Decimal128(precision, scale) => (*precision, *scale),
                number if number.is_integer() => (digits(number), 0),
                _ => return None,
            };
            decimal((*precision, *scale), other)?
        }
        (T::Date32, T::Date64) | (T::Date64, T::Date32) => T::Date64,
        (T::Timestamp(u, zone), T::Timestamp(v, other)) if zone == other => {
            T::Timestamp(finer(*u, *v), zone.clone())
        }
        (T::Duration(u), T::Duration(v)) => T::Duration(finer(*u, *v)),
        (T::Time32(u) | T::Time64(u), T::Time32(v) | T::Time64(v)) => match finer(*u, *v) {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => T::Time32(unit),
            unit => T::Time64(unit),
        },
        (T::Utf8View, T::BinaryView) | (T::BinaryView, T::Utf8View) => T::BinaryView,
        (T::Utf8, T::LargeUtf8) | (T::LargeUtf8, T::Utf8) => T::LargeUtf8,
        (T::Binary, T::LargeBinary) | (T::LargeBinary, T::Binary) => T::LargeBinary,
        (T::List(a), T::List(b)) => T::List(item(a, b)?),
        (T::LargeList(a) | T::List(a), T::LargeList(b) | T::List(b)) => T::LargeList(item(a, b)?),
        _ => return None,
    })
}

fn item(a: &FieldRef, b: &FieldRef) -> Option<FieldRef> {
    let ty = common(a.data_type(), b.data_type())?;
    let nullable = a.is_nullable() || b.is_nullable();
    Some(Arc::new(Field::new(a.name(), ty, nullable)))
}

fn width(ty: &DataType) -> usize {
    ty.primitive_width().unwrap_or(8)
}

fn is_float(ty: &DataType) -> bool {
    matches!(ty, DataType::Float32 | DataType::Float64)
}

fn float(width: usize) -> DataType {
    if width > 4 {
        DataType::Float64
    } else {
        DataType::Float32
    }
}

fn integer(a: &DataType, b: &DataType) -> DataType {
    let signed = |ty: &DataType| ty.is_signed_integer();
    if signed(a) == signed(b) {
        return if width(a) >= width(b) { a } else { b }.clone();
    }
    let (signed, unsigned) = if signed(a) { (a, b) } else { (b, a) };
    match width(signed).max(2 * width(unsigned)) {
        2 => DataType::Int16,
        4 => DataType::Int32,
        // Larger numbers of 64 bits without a sign are an error when they are read.
        _ => DataType::Int64,
    }
}

fn digits(integer: &DataType) -> u8 {
    match width(integer) {
        1 => 3,
        2 => 5,
        4 => 10,
        _ if integer.is_signed_integer() => 19,
        _ => 20,
    }
}

fn decimal((p, s): (u8, i8), (q, t): (u8, i8)) -> Option<DataType> {
    let scale = s.max(t);
    let whole = (i16::from(p) - i16::from(s)).max(i16::from(q) - i16::from(t));
    let precision = u8::try_from(whole + i16::from(scale)).ok();
    let precision = precision.filter(|precision| *precision <= 38)?;
    Some(DataType::Decimal128(precision, scale))
}

fn finer(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    let order = |unit: TimeUnit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    };
    if order(a) >= order(b) { a } else { b }
}

/// The values in a type that [`common`] found; a value that it cannot hold is an error.
pub(crate) fn widened(array: &ArrayRef, ty: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == ty {
        return Ok(array.clone());
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(array, ty, &options)
}
