//! Types that hold the values of two files, by the rules of pyarrow's permissive unification. A decimal
//! and a float have none in common; a decimal beside integers has room for all their digits.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericListArray, MapArray, OffsetSizeTrait, StructArray, new_null_array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, TimeUnit};

/// The type that holds both; `None` if there is none.
///
/// ```
/// use arrow_schema::DataType;
/// use staffa_lake::table::common;
///
/// assert_eq!(common(&DataType::UInt8, &DataType::Int8), Some(DataType::Int16));
/// assert_eq!(common(&DataType::Int64, &DataType::Utf8), None);
/// ```
pub fn common(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as T;
    Some(match (a, b) {
        _ if a == b => a.clone(),
        (T::Null, other) | (other, T::Null) => other.clone(),
        (a, b) if a.is_integer() && b.is_integer() => integer(a, b),
        (a, b) if a.is_floating() && b.is_floating() => float(width(a).max(width(b))),
        (number, other) | (other, number) if number.is_integer() && other.is_floating() => {
            // A float of twice the width holds all integers of 8 and 16 bits.
            let exact = if width(number) == 1 {
                2
            } else {
                2 * width(number)
            };
            float(exact.max(width(other)))
        }
        (a, b) if is_decimal(a) || is_decimal(b) => decimal(a, b)?,
        (T::Date32, T::Date64) | (T::Date64, T::Date32) => T::Date64,
        (T::Timestamp(u, zone), T::Timestamp(v, other)) if zone == other => {
            T::Timestamp(finer(*u, *v), zone.clone())
        }
        (T::Duration(u), T::Duration(v)) => T::Duration(finer(*u, *v)),
        (T::Time32(u) | T::Time64(u), T::Time32(v) | T::Time64(v)) => match finer(*u, *v) {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => T::Time32(unit),
            unit => T::Time64(unit),
        },
        (a, b) if is_bytes(a) && is_bytes(b) => bytes(a, b),
        _ => return nested(a, b),
    })
}

fn nested(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as T;
    Some(match (a, b) {
        (T::FixedSizeList(a, size), T::FixedSizeList(b, other)) if size == other => {
            T::FixedSizeList(item(a, b)?, *size)
        }
        (T::List(a) | T::FixedSizeList(a, _), T::List(b) | T::FixedSizeList(b, _)) => {
            T::List(item(a, b)?)
        }
        (
            T::LargeList(a) | T::List(a) | T::FixedSizeList(a, _),
            T::LargeList(b) | T::List(b) | T::FixedSizeList(b, _),
        ) => T::LargeList(item(a, b)?),
        (T::Map(a, sorted), T::Map(b, other)) if sorted == other => T::Map(item(a, b)?, *sorted),
        (T::Struct(a), T::Struct(b)) => T::Struct(fields(a, b)?),
        _ => return None,
    })
}

fn item(a: &FieldRef, b: &FieldRef) -> Option<FieldRef> {
    let ty = common(a.data_type(), b.data_type())?;
    let nullable = a.is_nullable() || b.is_nullable();
    Some(Arc::new(Field::new(a.name(), ty, nullable)))
}

/// The fields of both; one that a struct lacks is NULL there.
fn fields(a: &Fields, b: &Fields) -> Option<Fields> {
    let of =
        |fields: &Fields, name: &str| fields.iter().find(|field| field.name() == name).cloned();
    let merged = a.iter().map(|field| match of(b, field.name()) {
        Some(other) => item(field, &other),
        None => Some(Arc::new(field.as_ref().clone().with_nullable(true))),
    });
    let new = b.iter().filter(|field| of(a, field.name()).is_none());
    let new = new.map(|field| Some(Arc::new(field.as_ref().clone().with_nullable(true))));
    merged.chain(new).collect()
}

fn width(ty: &DataType) -> usize {
    ty.primitive_width().unwrap_or(8)
}

fn float(width: usize) -> DataType {
    match width {
        ..=2 => DataType::Float16,
        3..=4 => DataType::Float32,
        _ => DataType::Float64,
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

fn is_decimal(ty: &DataType) -> bool {
    ty.is_decimal()
}

/// Bytes of the words, precision and scale of a decimal, or of one that holds all integers of a type.
fn digits(ty: &DataType) -> Option<(usize, u8, i8)> {
    use DataType as T;
    Some(match ty {
        T::Decimal32(precision, scale) => (4, *precision, *scale),
        T::Decimal64(precision, scale) => (8, *precision, *scale),
        T::Decimal128(precision, scale) => (16, *precision, *scale),
        T::Decimal256(precision, scale) => (32, *precision, *scale),
        T::Int8 | T::UInt8 => (0, 3, 0),
        T::Int16 | T::UInt16 => (0, 5, 0),
        T::Int32 | T::UInt32 => (0, 10, 0),
        T::Int64 => (0, 19, 0),
        T::UInt64 => (0, 20, 0),
        _ => return None,
    })
}

fn decimal(a: &DataType, b: &DataType) -> Option<DataType> {
    let ((width, own, own_scale), (other_width, other, other_scale)) = (digits(a)?, digits(b)?);
    let scale = own_scale.max(other_scale);
    let whole = |digits: u8, scale: i8| i16::from(digits) - i16::from(scale);
    let whole = whole(own, own_scale).max(whole(other, other_scale));
    let precision = u8::try_from(whole + i16::from(scale)).ok()?;
    Some(match (width.max(other_width), precision) {
        (4, ..=9) => DataType::Decimal32(precision, scale),
        (4 | 8, ..=18) => DataType::Decimal64(precision, scale),
        (4 | 8 | 16, ..=38) => DataType::Decimal128(precision, scale),
        (32, ..=76) => DataType::Decimal256(precision, scale),
        _ => return None,
    })
}

fn is_bytes(ty: &DataType) -> bool {
    ty.is_string() || ty.is_binary() || matches!(ty, DataType::FixedSizeBinary(_))
}

/// Text beside text is text, else bytes; large where one is, a view where both are.
fn bytes(a: &DataType, b: &DataType) -> DataType {
    use DataType as T;
    let is_text = a.is_string() && b.is_string();
    let is_view = |ty: &DataType| matches!(ty, T::Utf8View | T::BinaryView);
    let is_large = |ty: &DataType| matches!(ty, T::LargeUtf8 | T::LargeBinary);
    match (
        is_text,
        is_view(a) && is_view(b),
        is_large(a) || is_large(b),
    ) {
        (true, true, _) => T::Utf8View,
        (false, true, _) => T::BinaryView,
        (true, _, true) => T::LargeUtf8,
        (false, _, true) => T::LargeBinary,
        (true, _, false) => T::Utf8,
        (false, _, false) => T::Binary,
    }
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

/// The type without dictionaries and run-ends at its top: what the values of several files have in
/// common.
pub fn decoded(ty: &DataType) -> &DataType {
    match ty {
        DataType::Dictionary(_, values) => decoded(values),
        DataType::RunEndEncoded(_, values) => decoded(values.data_type()),
        other => other,
    }
}

/// The values in a type that [`common`] found; a value that it cannot hold is an error.
pub fn widened(array: &ArrayRef, ty: &DataType) -> Result<ArrayRef, ArrowError> {
    use DataType as T;
    if array.data_type() == ty {
        return Ok(array.clone());
    }
    match (array.data_type(), ty) {
        (T::Struct(_), T::Struct(fields)) => widened_struct(array.as_struct(), fields),
        (T::List(own), T::List(item)) if own != item => widened_list::<i32>(array.as_list(), item),
        (T::LargeList(own), T::LargeList(item)) if own != item => {
            widened_list::<i64>(array.as_list(), item)
        }
        (T::List(own), T::LargeList(item)) if own != item => {
            let list = widened_list::<i32>(array.as_list(), item)?;
            widened(&list, ty)
        }
        (T::Map(..), T::Map(entries, sorted)) => {
            let map = array.as_map();
            let widened = widened(&(Arc::new(map.entries().clone()) as _), entries.data_type())?;
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            let entry = widened.as_struct().clone();
            Ok(Arc::new(MapArray::try_new(
                entries.clone(),
                offsets,
                entry,
                nulls,
                *sorted,
            )?))
        }
        _ => {
            let options = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            cast_with_options(array, ty, &options)
        }
    }
}

fn widened_struct(array: &StructArray, fields: &Fields) -> Result<ArrayRef, ArrowError> {
    let child = |field: &FieldRef| match array.column_by_name(field.name()) {
        Some(child) => widened(child, field.data_type()),
        None => Ok(new_null_array(field.data_type(), array.len())),
    };
    let children = fields.iter().map(child).collect::<Result<Vec<_>, _>>()?;
    if fields.is_empty() {
        return Ok(Arc::new(array.clone()));
    }
    let made = StructArray::try_new(fields.clone(), children, array.nulls().cloned())?;
    Ok(Arc::new(made))
}

fn widened_list<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    item: &FieldRef,
) -> Result<ArrayRef, ArrowError> {
    let values = widened(list.values(), item.data_type())?;
    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
    Ok(Arc::new(GenericListArray::try_new(
        item.clone(),
        offsets,
        values,
        nulls,
    )?))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Int32Type, Int64Type};
    use arrow_array::{Int8Array, Int32Array, ListArray};

    use super::*;

    #[test]
    fn types_that_hold_both() {
        use DataType as T;
        let item = |ty: &T| Arc::new(Field::new("item", ty.clone(), true));
        let list = |ty: &T| T::List(item(ty));
        let cases = [
            (T::UInt8, T::Int16, Some(T::Int16)),
            (T::UInt64, T::Int8, Some(T::Int64)),
            (T::Int8, T::Float16, Some(T::Float16)),
            (T::Int16, T::Float32, Some(T::Float32)),
            (T::Int32, T::Float32, Some(T::Float64)),
            (T::Float32, T::Float64, Some(T::Float64)),
            (T::Int32, T::Decimal32(5, 2), Some(T::Decimal64(12, 2))),
            (
                T::Decimal128(5, 2),
                T::Decimal256(50, 3),
                Some(T::Decimal256(50, 3)),
            ),
            (T::Decimal128(38, 0), T::Decimal128(38, 4), None),
            (T::Decimal128(5, 2), T::Float64, None),
            (T::Utf8, T::LargeUtf8, Some(T::LargeUtf8)),
            (T::Utf8View, T::Utf8, Some(T::Utf8)),
            (T::Utf8View, T::BinaryView, Some(T::BinaryView)),
            (
                T::FixedSizeBinary(3),
                T::FixedSizeBinary(4),
                Some(T::Binary),
            ),
            (
                T::Time32(TimeUnit::Second),
                T::Time64(TimeUnit::Nanosecond),
                Some(T::Time64(TimeUnit::Nanosecond)),
            ),
            (
                list(&T::Int8),
                T::LargeList(item(&T::Int32)),
                Some(T::LargeList(item(&T::Int32))),
            ),
            (
                T::FixedSizeList(item(&T::Int8), 2),
                list(&T::Int8),
                Some(list(&T::Int8)),
            ),
            (list(&T::Int8), T::Int8, None),
            (T::Int64, T::Utf8, None),
            (T::Boolean, T::Int8, None),
        ];
        for (a, b, expected) in cases {
            assert_eq!(common(&a, &b), expected, "{a} and {b}");
            assert_eq!(common(&b, &a), expected, "{b} and {a}");
        }
    }

    #[test]
    fn values_are_widened_at_all_levels() {
        let small = Field::new("a", DataType::Int8, true);
        let fields = vec![
            Field::new("a", DataType::Int32, true),
            Field::new("b", DataType::Utf8, true),
        ];
        let (own, wide) = (
            DataType::Struct(vec![small].into()),
            DataType::Struct(fields.into()),
        );
        assert_eq!(common(&own, &wide), Some(wide.clone()));
        let values: ArrayRef = Arc::new(StructArray::from(vec![(
            Arc::new(Field::new("a", DataType::Int8, true)),
            Arc::new(Int8Array::from(vec![1, 2])) as ArrayRef,
        )]));
        let found = widened(&values, &wide).unwrap();
        assert_eq!(
            found
                .as_struct()
                .column(0)
                .as_primitive::<Int32Type>()
                .values(),
            &[1, 2]
        );
        assert_eq!(found.as_struct().column(1).null_count(), 2);
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([
            Some(vec![Some(1)]),
            None,
        ]));
        let wide = DataType::LargeList(Arc::new(Field::new("item", DataType::Int64, true)));
        let found = widened(&lists, &wide).unwrap();
        assert_eq!(
            found
                .as_list::<i64>()
                .value(0)
                .as_primitive::<Int64Type>()
                .values(),
            &[1]
        );
        let large: ArrayRef = Arc::new(Int32Array::from(vec![1, 300]));
        assert!(widened(&large, &DataType::Int8).is_err());
    }
}
