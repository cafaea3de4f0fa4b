//! Sums: integers exact in 256 bits, floats one after another.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, DecimalType, Float64Type};
use arrow_array::{ArrayRef, Float64Array, new_null_array};
use arrow_buffer::i256;
use arrow_cast::cast;
use arrow_schema::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType};

use crate::error::{Error, Result};
use crate::format::Bounds;
use crate::predicate::{Value, array_of_one};

/// The sum so far.
#[derive(Default)]
pub(super) struct Sum {
    /// Whether there are values.
    pub some: bool,
    int: i256,
    pub float: f64,
    /// Whether more than 256 bits would have been needed.
    beyond: bool,
}

impl Sum {
    /// Adds an integer.
    pub fn int(&mut self, value: i256) {
        match self.int.checked_add(value) {
            Some(sum) => self.int = sum,
            None => self.beyond = true,
        }
    }

    /// Adds `count` values of a block if they all are the same integer; `false` if not.
    pub fn by_bounds(&mut self, bounds: &Bounds, count: u64) -> bool {
        let value = match bounds {
            Bounds::Int(min, max) if min == max => *min,
            Bounds::Bits(true, false) => 0,
            Bounds::Bits(false, true) => 1,
            _ => return false,
        };
        let Some(sum) = i256::from_i128(value).checked_mul(i256::from_i128(count.into())) else {
            return false;
        };
        self.some = true;
        self.int(sum);
        true
    }

    /// The sum as an array of one value, in the type of sums of `ty`.
    pub fn finish(&self, ty: &DataType, column: &str) -> Result<ArrayRef> {
        let (ty, name) = type_of_sums(ty);
        if !self.some {
            return Ok(new_null_array(&ty, 1));
        }
        if ty == DataType::Float64 {
            return Ok(Arc::new(Float64Array::from(vec![self.float])));
        }
        if self.beyond || !fits(&ty, self.int) {
            return Err(does_not_fit(column, name));
        }
        array_of_one(&ty, &Value::Int(self.int))
    }

    /// The sum as a double, whether its type holds it or not; `None` where there are no values.
    pub fn double(&self, ty: &DataType, column: &str) -> Result<Option<f64>> {
        if !self.some {
            return Ok(None);
        }
        let scale = match type_of_sums(ty).0 {
            DataType::Float64 => return Ok(Some(self.float)),
            DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => scale,
            _ => 0,
        };
        if self.beyond {
            return Err(does_not_fit(column, "256 bits"));
        }
        let wide = DataType::Decimal256(DECIMAL256_MAX_PRECISION, scale);
        let double = cast(
            &array_of_one(&wide, &Value::Int(self.int))?,
            &DataType::Float64,
        )?;
        Ok(double.as_primitive::<Float64Type>().iter().next().flatten())
    }
}

fn does_not_fit(column: &str, name: &str) -> Error {
    Error::invalid(format!("the sum of column {column:?} does not fit {name}"))
}

/// The type of sums of a type, and the name of its range.
fn type_of_sums(ty: &DataType) -> (DataType, &'static str) {
    match ty {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale) => (
            DataType::Decimal128(DECIMAL128_MAX_PRECISION, *scale),
            "38 digits",
        ),
        DataType::Decimal256(_, scale) => (
            DataType::Decimal256(DECIMAL256_MAX_PRECISION, *scale),
            "76 digits",
        ),
        ty @ DataType::Duration(_) => (ty.clone(), "64 bits"),
        ty if ty.is_floating() => (DataType::Float64, ""),
        ty if ty.is_signed_integer() => (DataType::Int64, "64 bits"),
        _ => (DataType::UInt64, "64 bits without a sign"),
    }
}

/// Whether a type of sums holds an integer.
fn fits(ty: &DataType, value: i256) -> bool {
    let word = value.to_i128();
    match ty {
        DataType::Decimal128(precision, _) => {
            word.is_some_and(|word| Decimal128Type::is_valid_decimal_precision(word, *precision))
        }
        DataType::Decimal256(precision, _) => {
            Decimal256Type::is_valid_decimal_precision(value, *precision)
        }
        DataType::UInt64 => word.is_some_and(|word| u64::try_from(word).is_ok()),
        // Signed integers and durations.
        _ => word.is_some_and(|word| i64::try_from(word).is_ok()),
    }
}
