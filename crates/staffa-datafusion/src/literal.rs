//! DataFusion's scalar values as literals of a predicate, exactly or not at all.

use datafusion::arrow::array::temporal_conversions as temporal;
use datafusion::common::ScalarValue;
use staffa::Literal;

/// Seconds since 1970 of the years 1 to 9999, which every text of a date can name.
const SECONDS: std::ops::Range<i64> = -62_135_596_800..253_402_300_800;

/// The literal that compares with a column of the value's type as the value does; `None` where
/// there is none.
pub(crate) fn literal(value: &ScalarValue) -> Option<Literal> {
    if value.is_null() {
        return Some(Literal::Null);
    }
    Some(match value {
        ScalarValue::Dictionary(_, value) | ScalarValue::RunEndEncoded(_, _, value) => {
            literal(value)?
        }
        ScalarValue::Boolean(Some(value)) => Literal::Bool(*value),
        ScalarValue::Int8(Some(value)) => Literal::Int((*value).into()),
        ScalarValue::Int16(Some(value)) => Literal::Int((*value).into()),
        ScalarValue::Int32(Some(value)) => Literal::Int((*value).into()),
        ScalarValue::Int64(Some(value)) => Literal::Int((*value).into()),
        ScalarValue::UInt8(Some(value)) => Literal::Int((*value).into()),
        ScalarValue::UInt16(Some(value)) => Literal::Int((*value).into()),
        ScalarValue::UInt32(Some(value)) => Literal::Int((*value).into()),
        ScalarValue::UInt64(Some(value)) => Literal::Int((*value).into()),
        ScalarValue::Float16(Some(value)) => float(value.to_f64())?,
        ScalarValue::Float32(Some(value)) => float(f64::from(*value))?,
        ScalarValue::Float64(Some(value)) => float(*value)?,
        ScalarValue::Decimal32(Some(units), _, scale) => decimal(units, *scale),
        ScalarValue::Decimal64(Some(units), _, scale) => decimal(units, *scale),
        ScalarValue::Decimal128(Some(units), _, scale) => decimal(units, *scale),
        ScalarValue::Decimal256(Some(units), _, scale) => decimal(units, *scale),
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => Literal::Text(text.clone()),
        ScalarValue::Binary(Some(bytes))
        | ScalarValue::LargeBinary(Some(bytes))
        | ScalarValue::BinaryView(Some(bytes))
        | ScalarValue::FixedSizeBinary(_, Some(bytes)) => {
            Literal::Text(std::str::from_utf8(bytes).ok()?.to_owned())
        }
        ScalarValue::DurationSecond(Some(units))
        | ScalarValue::DurationMillisecond(Some(units))
        | ScalarValue::DurationMicrosecond(Some(units))
        | ScalarValue::DurationNanosecond(Some(units)) => Literal::Int((*units).into()),
        other => Literal::Text(instant(other)?),
    })
}

/// NaNs differ by their bits in the total order, of which a literal keeps the sign alone.
fn float(value: f64) -> Option<Literal> {
    let plain = !value.is_nan() || value.to_bits() == f64::NAN.to_bits();
    plain.then_some(Literal::Float(value))
}

fn decimal(units: impl std::fmt::Display, scale: i8) -> Literal {
    Literal::Text(format!("{units}e{}", -i16::from(scale)))
}

/// A date, a time or a timestamp as text.
fn instant(value: &ScalarValue) -> Option<String> {
    let within = |seconds: i64| SECONDS.contains(&seconds).then_some(());
    let date_time = match value {
        ScalarValue::Date32(Some(days)) => {
            within(i64::from(*days) * 86_400)?;
            return Some(temporal::date32_to_datetime(*days)?.date().to_string());
        }
        // Milliseconds within a day compare, but have no text.
        ScalarValue::Date64(Some(millis)) if millis % 86_400_000 == 0 => {
            within(millis / 1_000)?;
            return Some(temporal::date64_to_datetime(*millis)?.date().to_string());
        }
        ScalarValue::Time32Second(Some(units)) => {
            return Some(temporal::time32s_to_time(*units)?.to_string());
        }
        ScalarValue::Time32Millisecond(Some(units)) => {
            return Some(temporal::time32ms_to_time(*units)?.to_string());
        }
        ScalarValue::Time64Microsecond(Some(units)) => {
            return Some(temporal::time64us_to_time(*units)?.to_string());
        }
        ScalarValue::Time64Nanosecond(Some(units)) => {
            return Some(temporal::time64ns_to_time(*units)?.to_string());
        }
        ScalarValue::TimestampSecond(Some(units), _) => {
            within(*units)?;
            temporal::timestamp_s_to_datetime(*units)
        }
        ScalarValue::TimestampMillisecond(Some(units), _) => {
            within(units / 1_000)?;
            temporal::timestamp_ms_to_datetime(*units)
        }
        ScalarValue::TimestampMicrosecond(Some(units), _) => {
            within(units / 1_000_000)?;
            temporal::timestamp_us_to_datetime(*units)
        }
        ScalarValue::TimestampNanosecond(Some(units), _) => {
            temporal::timestamp_ns_to_datetime(*units)
        }
        _ => None,
    };
    Some(date_time?.format("%Y-%m-%dT%H:%M:%S%.9fZ").to_string())
}
