//! Bounds of statistics as values of the column's type.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray, new_null_array};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Schema};
use arrow_select::concat::concat;
use staffa::{LeafStatistics, Result};

/// The least and the greatest value of a leaf, of the type of its column; NULL where they are unknown.
pub(crate) fn bounds(schema: &Schema, leaf: &LeafStatistics) -> Result<ArrayRef> {
    let field = schema.field_with_name(&leaf.path).ok();
    let ty = field.map(|field| innermost(field.data_type()));
    let Some(ty) = ty.filter(|ty| !ty.is_nested()) else {
        return Ok(new_null_array(&DataType::Null, 2));
    };
    if !is_number_like(ty) {
        return Ok(new_null_array(ty, 2));
    }
    let [min, max] = [&leaf.min, &leaf.max].map(|bound| value(bound.as_deref(), ty));
    Ok(concat(&[min?.as_ref(), max?.as_ref()])?)
}

/// The value of a text, as an array of one; a text that is none becomes NULL.
fn value(text: Option<&str>, ty: &DataType) -> Result<ArrayRef, ArrowError> {
    // Instants that have no text of their own are told in their unit.
    let units = text.and_then(|text| text.strip_suffix(" since 1970"));
    let units = units.and_then(|text| text.split(' ').next()?.parse::<i64>().ok());
    let value: ArrayRef = match units {
        Some(units) => Arc::new(Int64Array::from(vec![units])),
        None => Arc::new(StringArray::from(vec![text])),
    };
    if units.is_some() && *ty == DataType::Date32 {
        return cast(&cast(&value, &DataType::Int32)?, ty);
    }
    cast(&value, ty)
}

/// The type of the values of dictionaries and runs.
fn innermost(ty: &DataType) -> &DataType {
    match ty {
        DataType::Dictionary(_, values) => innermost(values),
        DataType::RunEndEncoded(_, values) => innermost(values.data_type()),
        ty => ty,
    }
}

/// Types whose bounds as text are read back as they were.
fn is_number_like(ty: &DataType) -> bool {
    ty.is_integer()
        || ty.is_decimal()
        || matches!(
            ty,
            DataType::Boolean
                | DataType::Float32
                | DataType::Float64
                | DataType::Date32
                | DataType::Timestamp(..)
        )
}
