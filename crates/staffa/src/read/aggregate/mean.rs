//! The mean: a sum divided by a count.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array as _, ArrayRef, Float64Array};
use arrow_cast::cast;
use arrow_schema::DataType;

use crate::error::Result;

/// The mean of a sum and a count, one row each; NULL where there is no sum.
pub(super) fn mean(sum: &ArrayRef, count: &ArrayRef) -> Result<ArrayRef> {
    let (sum, count) = (float(sum)?, float(count)?);
    let mean = sum.zip(count).map(|(sum, count)| sum / count);
    Ok(Arc::new(Float64Array::from(vec![mean])))
}

fn float(array: &ArrayRef) -> Result<Option<f64>> {
    let numbers = match array.data_type() {
        DataType::Duration(_) => cast(&cast(array, &DataType::Int64)?, &DataType::Float64)?,
        _ => cast(array, &DataType::Float64)?,
    };
    let mut numbers = numbers.as_primitive::<Float64Type>().iter();
    Ok(numbers.next().flatten())
}
