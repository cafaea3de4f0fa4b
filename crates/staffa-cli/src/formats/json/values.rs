//! What the values of JSON columns are. Dates and times are text there: columns whose texts are all of
//! the form `2024-01-31` or `2024-01-31T13:45:00` are recognized.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::types::{
    ArrowTimestampType, Date32Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, ListArray, PrimitiveArray, StructArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use serde_json::Value;

use crate::formats::csv::{Observed, date, moment};

/// The texts of a value and of those within it.
#[derive(Debug, Default)]
pub(super) struct ObservedValues {
    texts: Observed,
    /// Whether a text, a number or a boolean was seen; an object.
    has_scalars: bool,
    has_objects: bool,
    fields: HashMap<String, ObservedValues>,
    items: Option<Box<ObservedValues>>,
}

impl ObservedValues {
    pub(super) fn add(&mut self, value: &Value) {
        self.has_scalars |= value.is_string() || value.is_number() || value.is_boolean();
        self.has_objects |= value.is_object();
        match value {
            Value::Null => {}
            Value::String(text) => self.texts.add_iso(text),
            Value::Object(fields) => {
                for (name, value) in fields {
                    // Not `entry`: a name is copied only once.
                    if let Some(known) = self.fields.get_mut(name) {
                        known.add(value);
                    } else {
                        self.fields.entry(name.clone()).or_default().add(value);
                    }
                }
            }
            Value::Array(items) => {
                let own = self.items.get_or_insert_default();
                items.iter().for_each(|item| own.add(item));
            }
            // Another value among texts is text as well.
            Value::Bool(_) | Value::Number(_) => self.texts.add_iso("other"),
        }
    }

    /// The path of a column that has objects and other values: no type holds both.
    pub(super) fn mixed(&self) -> Option<String> {
        self.find(&Self::is_mixed)
    }

    /// The path of a column of dates and times that is text, because no unit has both their digits and
    /// their range.
    pub(super) fn wide_time(&self) -> Option<String> {
        self.find(&|own: &Self| own.texts.is_wide_time())
    }

    /// The path of a column that has the property.
    fn find(&self, wanted: &dyn Fn(&Self) -> bool) -> Option<String> {
        let fields = self.fields.iter().filter_map(|(name, own)| {
            if wanted(own) || own.items.as_ref().is_some_and(|items| wanted(items)) {
                return Some(name.clone());
            }
            Some(format!("{name}.{}", own.find(wanted)?))
        });
        fields.min().or_else(|| self.items.as_ref()?.find(wanted))
    }

    fn is_mixed(&self) -> bool {
        self.has_objects && (self.has_scalars || self.items.is_some())
    }

    /// The schema with dates and times in place of texts that are all such.
    pub(super) fn with_times(&self, schema: &Schema) -> Schema {
        Schema::new(self.in_fields(schema.fields()))
    }

    fn in_fields(&self, fields: &Fields) -> Fields {
        let of = |field: &FieldRef| match self.fields.get(field.name()) {
            Some(own) => own.in_field(field),
            None => field.clone(),
        };
        fields.iter().map(of).collect()
    }

    fn in_field(&self, field: &FieldRef) -> FieldRef {
        let data_type = match (field.data_type(), &self.items) {
            (DataType::Utf8, _) => match self.texts.data_type(None).0 {
                time if time.is_temporal() => time,
                _ => DataType::Utf8,
            },
            (DataType::List(item), Some(own)) => DataType::List(own.in_field(item)),
            (DataType::Struct(fields), _) => DataType::Struct(self.in_fields(fields)),
            (other, _) => other.clone(),
        };
        Arc::new(Field::clone(field).with_data_type(data_type))
    }
}

/// An array whose numbers and times are text, in its own type.
pub(super) fn typed(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    match data_type {
        DataType::Date32 => parsed::<Date32Type>(array, data_type, |text| date(text, None)),
        DataType::Timestamp(unit, zone) => {
            let zone = zone.is_some();
            match unit {
                TimeUnit::Second => times::<TimestampSecondType>(array, data_type, zone),
                TimeUnit::Millisecond => times::<TimestampMillisecondType>(array, data_type, zone),
                TimeUnit::Microsecond => times::<TimestampMicrosecondType>(array, data_type, zone),
                TimeUnit::Nanosecond => times::<TimestampNanosecondType>(array, data_type, zone),
            }
        }
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let values = typed(list.values(), item.data_type())?;
            let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
            let list = ListArray::try_new(item.clone(), offsets, values, nulls)?;
            Ok(Arc::new(list))
        }
        DataType::Struct(fields) => {
            let rows = array.as_struct();
            let columns = rows.columns().iter().zip(fields);
            let columns = columns.map(|(column, field)| typed(column, field.data_type()));
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let (nulls, len) = (rows.nulls().cloned(), rows.len());
            let rows = StructArray::try_new_with_length(fields.clone(), columns, nulls, len)?;
            Ok(Arc::new(rows))
        }
        _ => {
            let options = CastOptions {
                safe: false,
                ..CastOptions::default()
            };
            cast_with_options(array, data_type, &options)
        }
    }
}

fn times<T: ArrowTimestampType>(
    array: &ArrayRef,
    data_type: &DataType,
    zone: bool,
) -> Result<ArrayRef, ArrowError> {
    let utc: Tz = "+00:00".parse()?;
    parsed::<T>(array, data_type, |text| moment(text, T::UNIT, utc, zone))
}

fn parsed<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    data_type: &DataType,
    parse: impl Fn(&str) -> Option<T::Native>,
) -> Result<ArrayRef, ArrowError> {
    let value = |text: &str| {
        // Dates of another form may be in another order of day and month.
        let iso = text.as_bytes().get(4) == Some(&b'-');
        let parsed = parse(text).filter(|_| iso);
        parsed.ok_or_else(|| ArrowError::JsonError(format!("{text:?} is not of type {data_type}")))
    };
    let values = array.as_string::<i32>().iter();
    let values = values.map(|text| text.map(value).transpose());
    let values = values.collect::<Result<PrimitiveArray<T>, _>>()?;
    Ok(Arc::new(values.with_data_type(data_type.clone())))
}
