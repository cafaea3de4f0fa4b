//! Arrow types of columns, for the tests of the library and those beside it.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};

/// Every type without children.
pub fn flat_types() -> Vec<DataType> {
    use DataType as D;
    let mut out = vec![
        D::Null,
        D::Boolean,
        D::Int8,
        D::Int16,
        D::Int32,
        D::Int64,
        D::UInt8,
        D::UInt16,
        D::UInt32,
        D::UInt64,
        D::Float16,
        D::Float32,
        D::Float64,
        D::Utf8,
        D::LargeUtf8,
        D::Utf8View,
        D::Binary,
        D::LargeBinary,
        D::BinaryView,
        D::FixedSizeBinary(0),
        D::FixedSizeBinary(1),
        D::FixedSizeBinary(16),
        D::FixedSizeBinary(21),
        D::Date32,
        D::Date64,
        D::Time32(TimeUnit::Second),
        D::Time32(TimeUnit::Millisecond),
        D::Time64(TimeUnit::Microsecond),
        D::Time64(TimeUnit::Nanosecond),
        D::Interval(IntervalUnit::YearMonth),
        D::Interval(IntervalUnit::DayTime),
        D::Interval(IntervalUnit::MonthDayNano),
        D::Decimal32(9, 2),
        D::Decimal64(18, -3),
        D::Decimal128(38, 38),
        D::Decimal256(76, 0),
    ];
    for unit in [
        TimeUnit::Second,
        TimeUnit::Millisecond,
        TimeUnit::Microsecond,
        TimeUnit::Nanosecond,
    ] {
        out.extend([
            D::Duration(unit),
            D::Timestamp(unit, None),
            D::Timestamp(unit, Some("Europe/Berlin".into())),
        ]);
    }
    out
}
