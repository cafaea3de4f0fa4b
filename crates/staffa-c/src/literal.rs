//! Values of Arrow arrays as literals of predicates, exactly or not at all.

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions as temporal;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, downcast_integer_array};
use arrow_cast::cast;
use arrow_schema::{DataType, TimeUnit};
use staffa::{Error, Literal, Result};

/// Seconds since 1970 of the years 1 to 9999, which every text of a date can name.
const SECONDS: std::ops::Range<i64> = -62_135_596_800..253_402_300_800;

/// The values of an array, each as the literal that compares as it does; NULL as NULL.
///
/// Fails for types that no literal has, and for values without one: bytes that are no UTF-8, times
/// beyond the years 1 to 9999.
pub(crate) fn literals(array: &ArrayRef) -> Result<Vec<Literal>> {
    let array = match array.data_type() {
        DataType::Dictionary(_, values) => &cast(array, values)?,
        DataType::RunEndEncoded(_, values) => &cast(array, values.data_type())?,
        _ => array,
    };
    let literal = |row: usize| {
        if array.is_null(row) {
            return Ok(Literal::Null);
        }
        value(array, row).ok_or_else(|| {
            let what = format!(
                "the value of type {} in row {row} as a literal of a predicate",
                array.data_type()
            );
            Error::unsupported(what)
        })
    };
    (0..array.len()).map(literal).collect()
}

/// A value that is not NULL.
fn value(array: &ArrayRef, row: usize) -> Option<Literal> {
    let text = |bytes: &[u8]| Some(Literal::Text(std::str::from_utf8(bytes).ok()?.to_owned()));
    match array.data_type() {
        DataType::Null => Some(Literal::Null),
        DataType::Boolean => Some(Literal::Bool(array.as_boolean().value(row))),
        ty if ty.is_integer() => integer(array, row),
        DataType::Float16 => float(primitive::<Float16Type>(array, row).to_f64()),
        DataType::Float32 => float(primitive::<Float32Type>(array, row).into()),
        DataType::Float64 => float(primitive::<Float64Type>(array, row)),
        DataType::Decimal32(_, scale) => decimal(primitive::<Decimal32Type>(array, row), *scale),
        DataType::Decimal64(_, scale) => decimal(primitive::<Decimal64Type>(array, row), *scale),
        DataType::Decimal128(_, scale) => decimal(primitive::<Decimal128Type>(array, row), *scale),
        DataType::Decimal256(_, scale) => decimal(primitive::<Decimal256Type>(array, row), *scale),
        DataType::Utf8 => text(array.as_string::<i32>().value(row).as_bytes()),
        DataType::LargeUtf8 => text(array.as_string::<i64>().value(row).as_bytes()),
        DataType::Utf8View => text(array.as_string_view().value(row).as_bytes()),
        DataType::Binary => text(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => text(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => text(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => text(array.as_fixed_size_binary().value(row)),
        DataType::Duration(unit) => {
            let units = match unit {
                TimeUnit::Second => primitive::<DurationSecondType>(array, row),
                TimeUnit::Millisecond => primitive::<DurationMillisecondType>(array, row),
                TimeUnit::Microsecond => primitive::<DurationMicrosecondType>(array, row),
                TimeUnit::Nanosecond => primitive::<DurationNanosecondType>(array, row),
            };
            Some(Literal::Int(units.into()))
        }
        _ => instant(array, row).map(Literal::Text),
    }
}

fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

fn integer(array: &ArrayRef, row: usize) -> Option<Literal> {
    downcast_integer_array!(
        array => Some(Literal::Int(array.value(row).into())),
        _ => None
    )
}

/// NaNs differ by their bits in the total order, of which a literal keeps the sign alone.
fn float(value: f64) -> Option<Literal> {
    let plain = !value.is_nan() || value.to_bits() == f64::NAN.to_bits();
    plain.then_some(Literal::Float(value))
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "an arm among others that may fail"
)]
fn decimal(units: impl std::fmt::Display, scale: i8) -> Option<Literal> {
    Some(Literal::Text(format!("{units}e{}", -i16::from(scale))))
}

/// A date, a time or a timestamp as text.
fn instant(array: &ArrayRef, row: usize) -> Option<String> {
    let within = |seconds: i64| SECONDS.contains(&seconds).then_some(());
    let date_time = match array.data_type() {
        DataType::Date32 => {
            let days = primitive::<Date32Type>(array, row);
            within(i64::from(days) * 86_400)?;
            return Some(temporal::date32_to_datetime(days)?.date().to_string());
        }
        // Milliseconds within a day compare, but have no text.
        DataType::Date64 => {
            let millis = primitive::<Date64Type>(array, row);
            within(millis / 1_000).filter(|()| millis % 86_400_000 == 0)?;
            return Some(temporal::date64_to_datetime(millis)?.date().to_string());
        }
        DataType::Time32(unit) => {
            let time = match unit {
                TimeUnit::Second => {
                    temporal::time32s_to_time(primitive::<Time32SecondType>(array, row))
                }
                _ => temporal::time32ms_to_time(primitive::<Time32MillisecondType>(array, row)),
            };
            return Some(time?.to_string());
        }
        DataType::Time64(unit) => {
            let time = match unit {
                TimeUnit::Microsecond => {
                    temporal::time64us_to_time(primitive::<Time64MicrosecondType>(array, row))
                }
                _ => temporal::time64ns_to_time(primitive::<Time64NanosecondType>(array, row)),
            };
            return Some(time?.to_string());
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            let units = primitive::<TimestampSecondType>(array, row);
            within(units)?;
            temporal::timestamp_s_to_datetime(units)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            let units = primitive::<TimestampMillisecondType>(array, row);
            within(units / 1_000)?;
            temporal::timestamp_ms_to_datetime(units)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let units = primitive::<TimestampMicrosecondType>(array, row);
            within(units / 1_000_000)?;
            temporal::timestamp_us_to_datetime(units)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            temporal::timestamp_ns_to_datetime(primitive::<TimestampNanosecondType>(array, row))
        }
        _ => None,
    };
    Some(date_time?.format("%Y-%m-%dT%H:%M:%S%.9fZ").to_string())
}
