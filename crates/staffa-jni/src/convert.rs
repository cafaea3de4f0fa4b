//! Columns of a file in the types that Spark asks for, where that loses nothing.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, DurationMicrosecondType, DurationNanosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, ListArray, MapArray, PrimitiveArray, StructArray, new_null_array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, TimeUnit};
use arrow_select::take::take;

use crate::types::spark_type;

/// The field of a name: the one of exactly this name, or the only one that differs in case alone.
pub(crate) fn find<'f>(fields: &'f Fields, name: &str, any_case: bool) -> Option<&'f FieldRef> {
    let exact = fields.iter().find(|field| field.name() == name);
    exact.or_else(|| {
        let mut others = fields
            .iter()
            .filter(|field| any_case && field.name().to_lowercase() == name.to_lowercase());
        others.next().filter(|_| others.next().is_none())
    })
}

/// Whether every value of a type has one of the wanted type: the parts that do not fit, else.
pub(crate) fn check(from: &DataType, to: &DataType) -> Result<(), String> {
    use DataType as T;
    match (from, to) {
        (T::Dictionary(_, values), _) => check(values, to),
        (T::RunEndEncoded(_, values), _) => check(values.data_type(), to),
        (
            T::List(item)
            | T::LargeList(item)
            | T::ListView(item)
            | T::LargeListView(item)
            | T::FixedSizeList(item, _),
            T::List(wanted),
        ) => check(item.data_type(), wanted.data_type()),
        (T::Map(entries, _), T::Map(wanted, _)) => {
            let (own, wanted) = (pair(entries.data_type()), pair(wanted.data_type()));
            let (Some((key, value)), Some((other_key, other_value))) = (own, wanted) else {
                return Err(format!("{from} where {to} is wanted"));
            };
            check(key.data_type(), other_key.data_type())?;
            check(value.data_type(), other_value.data_type())
        }
        (T::Struct(fields), T::Struct(wanted)) => {
            let both = wanted
                .iter()
                .filter_map(|field| Some((find(fields, field.name(), true)?, field)));
            let mut both = both.map(|(own, field)| (own.data_type(), field.data_type()));
            both.try_for_each(|(own, wanted)| check(own, wanted))
        }
        _ if widens(from, to) => Ok(()),
        _ => Err(format!("{from} where {to} is wanted")),
    }
}

fn pair(entries: &DataType) -> Option<(&FieldRef, &FieldRef)> {
    match entries {
        DataType::Struct(fields) => Some((fields.first()?, fields.get(1)?)),
        _ => None,
    }
}

fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    let Ok(own) = spark_type(from) else {
        return false;
    };
    let bytes = |ty: &T| ty.primitive_width().unwrap_or(0);
    match (&own, to) {
        // Spark has one kind of instant, whatever zone it is shown in.
        (T::Timestamp(_, Some(_)), T::Timestamp(_, Some(_))) | (T::Null, _) => true,
        (own, to) if own == to => true,
        (own, to) if own.is_integer() && to.is_integer() => bytes(to) > bytes(own),
        (own, T::Float64) if own.is_integer() => bytes(own) < 8,
        (own, T::Decimal128(digits, scale)) if own.is_integer() => {
            let whole = match bytes(own) {
                1 => 3,
                2 => 5,
                4 => 10,
                _ => 19,
            };
            i16::from(*digits) - i16::from(*scale) >= whole
        }
        (T::Decimal128(digits, scale), T::Decimal128(wider, finer)) => {
            let whole = i16::from(*digits) - i16::from(*scale);
            finer >= scale && i16::from(*wider) - i16::from(*finer) >= whole
        }
        (T::Float32, T::Float64)
        | (T::Utf8, T::Binary)
        | (T::Date32, T::Timestamp(TimeUnit::Microsecond, None)) => true,
        _ => false,
    }
}

/// The values of a column in a type that [`check`] allows. Fails where a value has more digits of a
/// second than Spark, or text does not fit one column of Arrow.
pub(crate) fn convert(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    use DataType as T;
    let from = array.data_type();
    if from == to {
        return Ok(array.clone());
    }
    match (from, to) {
        (T::Dictionary(..), _) => {
            let dictionary = array.as_any_dictionary();
            take(&convert(dictionary.values(), to)?, dictionary.keys(), None)
        }
        (T::RunEndEncoded(_, values), _) => convert(&exactly(array, values.data_type())?, to),
        (T::List(_), T::List(item)) => {
            let list = array.as_list::<i32>();
            let values = convert(list.values(), item.data_type())?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            Ok(Arc::new(ListArray::try_new(
                item.clone(),
                offsets,
                values,
                nulls,
            )?))
        }
        (
            T::LargeList(item)
            | T::ListView(item)
            | T::LargeListView(item)
            | T::FixedSizeList(item, _),
            T::List(_),
        ) => {
            let plain = T::List(Arc::new(Field::clone(item)));
            convert(&exactly(array, &plain)?, to)
        }
        (T::Map(..), T::Map(entries, sorted)) => {
            let map = array.as_map();
            let pairs = convert_pairs(map.entries(), entries)?;
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            let map = MapArray::try_new(entries.clone(), offsets, pairs, nulls, *sorted)?;
            Ok(Arc::new(map))
        }
        (T::Struct(own), T::Struct(fields)) => convert_struct(array.as_struct(), own, fields),
        (T::Timestamp(TimeUnit::Nanosecond, _), T::Timestamp(..)) => {
            let whole = divided::<TimestampNanosecondType, TimestampMicrosecondType>(
                array,
                "a timestamp of whole microseconds expected, found nanoseconds",
                |nanos| Some(nanos / 1000).filter(|_| nanos % 1000 == 0),
            )?;
            exactly(&whole, to)
        }
        (T::Duration(TimeUnit::Nanosecond), T::Duration(_)) => {
            divided::<DurationNanosecondType, DurationMicrosecondType>(
                array,
                "a duration of whole microseconds expected, found nanoseconds",
                |nanos| Some(nanos / 1000).filter(|_| nanos % 1000 == 0),
            )
        }
        (T::Date64, _) => {
            const DAY: i64 = 86_400_000;
            let days = divided::<Date64Type, Date32Type>(
                array,
                "a date of whole days expected, found milliseconds",
                |millis| {
                    i32::try_from(millis / DAY)
                        .ok()
                        .filter(|_| millis % DAY == 0)
                },
            )?;
            convert(&days, to)
        }
        _ => exactly(array, to),
    }
}

fn exactly(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(array, to, &options)
}

fn divided<F: ArrowPrimitiveType, T: ArrowPrimitiveType>(
    array: &ArrayRef,
    what: &str,
    of: impl Fn(F::Native) -> Option<T::Native>,
) -> Result<ArrayRef, ArrowError> {
    let values: &PrimitiveArray<F> = array.as_primitive();
    let divided = values.try_unary::<_, T, _>(|value| {
        of(value).ok_or_else(|| ArrowError::CastError(format!("{what}: {value:?}")))
    })?;
    Ok(Arc::new(divided))
}

fn convert_pairs(pairs: &StructArray, entries: &Field) -> Result<StructArray, ArrowError> {
    let DataType::Struct(fields) = entries.data_type() else {
        return Ok(pairs.clone());
    };
    let columns = pairs.columns().iter().zip(fields);
    let columns = columns.map(|(column, field)| convert(column, field.data_type()));
    StructArray::try_new(
        fields.clone(),
        columns.collect::<Result<_, _>>()?,
        pairs.nulls().cloned(),
    )
}

/// The wanted fields by name; one that the file lacks is NULL.
fn convert_struct(
    array: &StructArray,
    own: &Fields,
    wanted: &Fields,
) -> Result<ArrayRef, ArrowError> {
    let column = |field: &FieldRef| {
        let found = find(own, field.name(), true);
        match found.and_then(|found| array.column_by_name(found.name())) {
            Some(column) => convert(column, field.data_type()),
            None => Ok(new_null_array(field.data_type(), array.len())),
        }
    };
    let columns = wanted.iter().map(column).collect::<Result<_, _>>()?;
    // NULLs come where the schema that was given allows none: Spark treats all columns as nullable.
    let fields = wanted
        .iter()
        .map(|field| Arc::new(Field::clone(field).with_nullable(true)));
    let nulls = array.nulls().cloned();
    Ok(Arc::new(StructArray::try_new_with_length(
        fields.collect(),
        columns,
        nulls,
        array.len(),
    )?))
}
