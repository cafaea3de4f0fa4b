//! Arrow types of columns, for the tests of the library and those beside it.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit};

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

pub fn field(name: &str, ty: DataType) -> FieldRef {
    Arc::new(Field::new(name, ty, true))
}

/// Every way of nesting `ty`, some of them twice.
pub(crate) fn nested_types(ty: &DataType) -> Vec<DataType> {
    use DataType as D;
    let item = || field("item", ty.clone());
    let ends = |ty| Arc::new(Field::new("run_ends", ty, false));
    let pair = |key: DataType| {
        let fields = vec![
            Arc::new(Field::new("keys", key, false)),
            field("values", ty.clone()),
        ];
        Arc::new(Field::new("entries", D::Struct(fields.into()), false))
    };
    let structs = D::Struct(
        vec![
            field("a", ty.clone()),
            field("b", D::Int32),
            field("a", D::Utf8),
        ]
        .into(),
    );
    let dictionary = D::Dictionary(Box::new(D::Int16), Box::new(ty.clone()));
    let runs = D::RunEndEncoded(ends(D::Int32), field("values", ty.clone()));
    vec![
        D::List(item()),
        D::LargeList(item()),
        D::ListView(item()),
        D::LargeListView(item()),
        D::FixedSizeList(item(), 3),
        D::FixedSizeList(item(), 0),
        D::Map(pair(D::Utf8), false),
        D::Map(pair(D::Int64), true),
        D::Dictionary(Box::new(D::UInt8), Box::new(D::List(item()))),
        D::RunEndEncoded(ends(D::Int16), field("named", ty.clone())),
        D::RunEndEncoded(ends(D::Int64), field("values", structs.clone())),
        D::List(field(
            "s",
            D::Struct(vec![field("l", D::List(item())), field("n", D::Null)].into()),
        )),
        D::ListView(field(
            "s",
            D::Struct(vec![field("v", D::LargeListView(item()))].into()),
        )),
        D::ListView(field("s", structs.clone())),
        D::ListView(field("d", dictionary.clone())),
        D::LargeListView(field("r", runs.clone())),
        D::ListView(field("f", D::FixedSizeList(item(), 2))),
        D::ListView(field("m", D::Map(pair(D::Utf8View), false))),
        D::FixedSizeList(field("f", D::FixedSizeList(item(), 2)), 2),
        D::Dictionary(
            Box::new(D::Int8),
            Box::new(D::Dictionary(Box::new(D::UInt64), Box::new(ty.clone()))),
        ),
        D::Struct(
            vec![
                field("d", dictionary.clone()),
                field("r", runs.clone()),
                field("e", D::Struct(Fields::empty())),
            ]
            .into(),
        ),
        structs,
        dictionary,
        runs,
    ]
}
