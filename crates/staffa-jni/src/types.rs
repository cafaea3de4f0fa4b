//! Types that Spark has: what an Arrow type becomes for it.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, Schema, TimeUnit};

use crate::error::{Error, Result};

/// Most digits of a decimal of Spark.
const MAX_DIGITS: u8 = 38;

/// The schema of a file in Spark's types; a column of a type that Spark cannot hold is refused by
/// its name.
pub(crate) fn spark_schema(schema: &Schema, file: &str) -> Result<Schema> {
    let field = |field: &FieldRef| {
        let ty = spark_type(field.data_type()).map_err(|what| {
            let column = field.name();
            Error::Mismatch(format!("{file}: column {column:?}: Spark has no {what}"))
        })?;
        Ok(field.as_ref().clone().with_data_type(ty))
    };
    let fields = schema.fields().iter().map(field);
    Ok(Schema::new(fields.collect::<Result<Vec<_>>>()?))
}

/// The type of Spark, as Arrow's, that holds every value of a type; the part that it cannot hold
/// where there is none.
pub(crate) fn spark_type(ty: &DataType) -> Result<DataType, String> {
    use DataType as T;
    Ok(match ty {
        T::Dictionary(_, values) => spark_type(values)?,
        T::RunEndEncoded(_, values) => spark_type(values.data_type())?,
        T::UInt8 => T::Int16,
        T::UInt16 => T::Int32,
        T::UInt32 => T::Int64,
        T::UInt64 => T::Decimal128(20, 0),
        T::Float16 => T::Float32,
        T::Utf8 | T::LargeUtf8 | T::Utf8View => T::Utf8,
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => T::Binary,
        T::Date32 | T::Date64 => T::Date32,
        T::Time32(_) | T::Time64(_) => T::Time64(TimeUnit::Nanosecond),
        T::Timestamp(_, zone) => T::Timestamp(TimeUnit::Microsecond, zone.clone()),
        T::Duration(_) => T::Duration(TimeUnit::Microsecond),
        T::Interval(IntervalUnit::DayTime) => T::Interval(IntervalUnit::MonthDayNano),
        T::Decimal32(digits, scale)
        | T::Decimal64(digits, scale)
        | T::Decimal128(digits, scale)
        | T::Decimal256(digits, scale) => decimal(*digits, *scale)
            .ok_or_else(|| format!("decimal of {digits} digits and scale {scale}"))?,
        T::List(item)
        | T::LargeList(item)
        | T::ListView(item)
        | T::LargeListView(item)
        | T::FixedSizeList(item, _) => T::List(child(item)?),
        T::Map(entries, sorted) => T::Map(child(entries)?, *sorted),
        T::Struct(fields) => T::Struct(fields.iter().map(child).collect::<Result<_, _>>()?),
        T::Union(..) => return Err(format!("{ty}")),
        other => other.clone(),
    })
}

fn child(field: &FieldRef) -> Result<FieldRef, String> {
    let ty = spark_type(field.data_type())?;
    Ok(Arc::new(Field::clone(field).with_data_type(ty)))
}

/// Spark's scales lie between 0 and the number of digits.
fn decimal(digits: u8, scale: i8) -> Option<DataType> {
    let (digits, scale) = match u8::try_from(scale) {
        Err(_) => (digits.checked_add(scale.unsigned_abs())?, 0),
        Ok(places) => (digits.max(places), scale),
    };
    (digits <= MAX_DIGITS).then_some(DataType::Decimal128(digits, scale))
}
