//! The types of the columns.

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit};

/// The first types, one for every way in which values lie, come in every encoding; the others in
/// some.
pub(super) const PRIMARY: usize = 22;

/// Every type: those without children, then those with, of two types each.
pub static TYPES: LazyLock<Vec<DataType>> = LazyLock::new(|| {
    let nested = [DataType::Utf8, DataType::Int16]
        .into_iter()
        .flat_map(|ty| nested(&ty));
    flat().into_iter().chain(nested).collect()
});

fn flat() -> Vec<DataType> {
    use DataType as D;
    let mut out = vec![
        D::Int32,
        D::Utf8,
        D::Float64,
        D::Boolean,
        D::Int8,
        D::Int16,
        D::Int64,
        D::UInt8,
        D::UInt16,
        D::UInt32,
        D::UInt64,
        D::Float16,
        D::Float32,
        D::LargeUtf8,
        D::Utf8View,
        D::Binary,
        D::LargeBinary,
        D::BinaryView,
        D::FixedSizeBinary(0),
        D::FixedSizeBinary(5),
        D::FixedSizeBinary(16),
        D::Decimal128(38, 10),
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
        D::Decimal256(76, 0),
        D::Null,
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
            D::Timestamp(unit, Some("+01:30".into())),
        ]);
    }
    out
}

fn field(name: &str, ty: DataType) -> FieldRef {
    Arc::new(Field::new(name, ty, true))
}

/// Ways of nesting a type.
fn nested(ty: &DataType) -> Vec<DataType> {
    use DataType as D;
    let item = || field("item", ty.clone());
    let ends = |ty| Arc::new(Field::new("run_ends", ty, false));
    let fields = vec![
        Arc::new(Field::new("keys", D::Utf8, false)),
        field("values", ty.clone()),
    ];
    let entries = Arc::new(Field::new("entries", D::Struct(fields.into()), false));
    let structs = D::Struct(
        vec![
            field("a", ty.clone()),
            field("b", D::Int32),
            field("n", D::Null),
        ]
        .into(),
    );
    let dictionary = |key, ty: &DataType| D::Dictionary(Box::new(key), Box::new(ty.clone()));
    let runs = D::RunEndEncoded(ends(D::Int32), item());
    vec![
        D::List(item()),
        D::LargeList(item()),
        D::ListView(item()),
        D::LargeListView(item()),
        D::FixedSizeList(item(), 3),
        D::FixedSizeList(item(), 0),
        D::FixedSizeList(field("f", D::FixedSizeList(item(), 2)), 2),
        D::FixedSizeList(field("s", structs.clone()), 2),
        D::FixedSizeList(field("n", D::Null), 4),
        D::List(field("n", D::Null)),
        D::Map(entries.clone(), true),
        dictionary(D::UInt8, ty),
        dictionary(D::Int64, &D::List(item())),
        dictionary(D::Int16, &dictionary(D::Int8, ty)),
        dictionary(D::Int32, &D::Null),
        D::RunEndEncoded(ends(D::Int16), item()),
        D::RunEndEncoded(ends(D::Int64), field("values", structs.clone())),
        D::RunEndEncoded(ends(D::Int32), field("values", D::Null)),
        D::List(field("s", structs.clone())),
        D::List(field("l", D::List(item()))),
        D::ListView(field("d", dictionary(D::Int32, ty))),
        D::LargeListView(field("r", runs.clone())),
        D::List(field("m", D::Map(entries, false))),
        D::Struct(vec![field("d", dictionary(D::Int32, ty)), field("r", runs)].into()),
        D::Struct(Fields::empty()),
        structs,
    ]
}
