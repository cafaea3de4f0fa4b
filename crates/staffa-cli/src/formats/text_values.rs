//! Values on their way to text: what Arrow's formatters would print wrongly, or not at all.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
};
use arrow_array::{Array, ArrayRef, Decimal256Array, NullArray, PrimitiveArray, make_array};
use arrow_buffer::i256;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};

use crate::error::{Failure, Result};

/// The digits of the widest decimal.
const MAX_DIGITS: u8 = 76;

/// Refuses times in zones that are not known, which have no text.
pub(crate) fn check_zones(schema: &Schema) -> Result<()> {
    let mut fields = schema.fields().iter();
    fields.try_for_each(|field| check_zone(field.name(), field.data_type()))
}

/// Refuses a column of times in a zone that is not known.
pub(crate) fn check_zone(column: &str, data_type: &DataType) -> Result<()> {
    match unknown_zone(data_type) {
        Some(zone) => Err(Failure::unsupported(format!(
            "column {column:?}: the time zone {zone:?} is not known to this build"
        ))),
        None => Ok(()),
    }
}

/// The first time zone of a type, or of a type within it, that is not known.
fn unknown_zone(data_type: &DataType) -> Option<&str> {
    match data_type {
        DataType::Timestamp(_, Some(zone)) => zone.parse::<Tz>().is_err().then_some(zone),
        DataType::Dictionary(_, values) => unknown_zone(values),
        DataType::RunEndEncoded(_, field)
        | DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => unknown_zone(field.data_type()),
        DataType::Struct(fields) => {
            let mut fields = fields.iter();
            fields.find_map(|field| unknown_zone(field.data_type()))
        }
        _ => None,
    }
}

/// The array with decimals that can print all their values: Arrow cuts the digits beyond the
/// precision of a column, which not every writer of a file checks. A dictionary of nulls becomes nulls.
pub(crate) fn as_text_values(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if needs_digits(array.as_ref()) {
        widened(array)
    } else {
        Ok(array.clone())
    }
}

fn needs_digits(array: &dyn Array) -> bool {
    match array.data_type() {
        DataType::Dictionary(_, values) if values.is_null() => true,
        data_type if has_children(data_type) => {
            let data = array.to_data();
            let mut children = data.child_data().iter();
            children.any(|child| needs_digits(make_array(child.clone()).as_ref()))
        }
        _ => exceeds_precision(array),
    }
}

/// Whether a decimal of an array, or of one within it, has more digits than its type says.
pub(super) fn exceeds_precision(array: &dyn Array) -> bool {
    fn beyond<T: DecimalType>(array: &dyn Array, precision: u8) -> bool {
        let array = array.as_primitive::<T>();
        let mut values = array.iter().flatten();
        values.any(|value| !T::is_valid_decimal_precision(value, precision))
    }
    match array.data_type() {
        DataType::Decimal32(precision, _) => beyond::<Decimal32Type>(array, *precision),
        DataType::Decimal64(precision, _) => beyond::<Decimal64Type>(array, *precision),
        DataType::Decimal128(precision, _) => beyond::<Decimal128Type>(array, *precision),
        DataType::Decimal256(precision, _) => beyond::<Decimal256Type>(array, *precision),
        data_type if has_children(data_type) => {
            let data = array.to_data();
            let mut children = data.child_data().iter();
            children.any(|child| exceeds_precision(make_array(child.clone()).as_ref()))
        }
        _ => false,
    }
}

fn has_children(data_type: &DataType) -> bool {
    data_type.is_nested() || matches!(data_type, DataType::Dictionary(..))
}

fn widened(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    fn wide<T>(array: &ArrayRef, scale: i8) -> Result<ArrayRef, ArrowError>
    where
        T: DecimalType + ArrowPrimitiveType,
        T::Native: Into<i256>,
    {
        let array: &PrimitiveArray<T> = array.as_primitive();
        let values: Decimal256Array = array.unary(Into::into);
        // A negative scale multiplies; Arrow's own formatter appends the zeros.
        Ok(Arc::new(
            values.with_precision_and_scale(MAX_DIGITS, scale)?,
        ))
    }
    match array.data_type() {
        // Arrow's JSON writer panics on it.
        DataType::Dictionary(_, values) if values.is_null() => {
            Ok(Arc::new(NullArray::new(array.len())))
        }
        DataType::Decimal32(_, scale) => wide::<Decimal32Type>(array, *scale),
        DataType::Decimal64(_, scale) => wide::<Decimal64Type>(array, *scale),
        DataType::Decimal128(_, scale) => wide::<Decimal128Type>(array, *scale),
        DataType::Decimal256(_, scale) => wide::<Decimal256Type>(array, *scale),
        data_type if has_children(data_type) => {
            let data = array.to_data();
            let children = data.child_data().iter();
            let children = children
                .map(|child| Ok(as_text_values(&make_array(child.clone()))?.to_data()))
                .collect::<Result<Vec<_>, ArrowError>>()?;
            let mut types: Vec<&DataType> = Vec::with_capacity(children.len());
            for child in &children {
                types.push(child.data_type());
            }
            let data_type = with_child_types(data_type, &types);
            let builder = data.clone().into_builder().data_type(data_type);
            Ok(make_array(builder.child_data(children).build()?))
        }
        _ => Ok(array.clone()),
    }
}

fn with_child_types(data_type: &DataType, types: &[&DataType]) -> DataType {
    let of = |field: &FieldRef, child: Option<&&DataType>| -> FieldRef {
        let child = child.map_or_else(|| field.data_type().clone(), |child| (*child).clone());
        Arc::new(Field::clone(field).with_data_type(child))
    };
    let first = |field: &FieldRef| of(field, types.first());
    match data_type {
        DataType::List(item) => DataType::List(first(item)),
        DataType::LargeList(item) => DataType::LargeList(first(item)),
        DataType::ListView(item) => DataType::ListView(first(item)),
        DataType::LargeListView(item) => DataType::LargeListView(first(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(first(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(first(entries), *sorted),
        DataType::Struct(fields) => {
            let fields = fields.iter().enumerate();
            DataType::Struct(fields.map(|(at, field)| of(field, types.get(at))).collect())
        }
        DataType::RunEndEncoded(ends, values) => {
            DataType::RunEndEncoded(ends.clone(), of(values, types.get(1)))
        }
        DataType::Dictionary(keys, values) => {
            let values = types
                .first()
                .map_or_else(|| values.clone(), |values| Box::new((*values).clone()));
            DataType::Dictionary(keys.clone(), values)
        }
        other => other.clone(),
    }
}

/// The type of a date or time below this array that has no text, because it lies beyond the calendar
/// or the day: Arrow's JSON writer would print its own error as the value.
pub(crate) fn time_out_of_range(array: &dyn Array) -> Option<DataType> {
    match array.data_type() {
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..) => has_no_text(array).then(|| array.data_type().clone()),
        data_type if has_children(data_type) => array
            .to_data()
            .child_data()
            .iter()
            .find_map(|child| time_out_of_range(make_array(child.clone()).as_ref())),
        _ => None,
    }
}

/// Whether a value cannot be printed. If the smallest and the largest can be, all can.
fn has_no_text(array: &dyn Array) -> bool {
    let data = array.to_data();
    let widths = array.data_type().primitive_width();
    let value = |row: usize| -> i64 {
        match widths {
            Some(4) => data
                .buffer::<i32>(0)
                .get(row)
                .map_or(0, |value| i64::from(*value)),
            _ => data.buffer::<i64>(0).get(row).copied().unwrap_or(0),
        }
    };
    let rows = || (0..array.len()).filter(|row| array.is_valid(*row));
    let ends = [
        rows().min_by_key(|row| value(*row)),
        rows().max_by_key(|row| value(*row)),
    ];
    let Ok(formatter) = ArrayFormatter::try_new(array, &FormatOptions::new()) else {
        return true;
    };
    ends.into_iter()
        .flatten()
        .any(|row| formatter.value(row).try_to_string().is_err())
}

/// Floats below this array that are NaN or infinite.
pub(crate) fn non_finite(array: &dyn Array) -> u64 {
    use arrow_array::types::{Float16Type, Float32Type, Float64Type};
    let count = match array.data_type() {
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().iter().flatten();
            values.filter(|value| !value.is_finite()).count()
        }
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>().iter().flatten();
            values.filter(|value| !value.is_finite()).count()
        }
        DataType::Float16 => {
            let values = array.as_primitive::<Float16Type>().iter().flatten();
            values.filter(|value| !value.is_finite()).count()
        }
        data_type if has_children(data_type) => {
            let data = array.to_data();
            let children = data.child_data().iter();
            return children
                .map(|child| non_finite(make_array(child.clone()).as_ref()))
                .sum();
        }
        _ => 0,
    };
    count as u64
}
