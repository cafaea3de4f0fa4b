//! Sums: integers exact in 256 bits, floats one after another.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Decimal128Array, Decimal256Array, Float64Array, UInt64Array, make_array,
    new_null_array,
};
use arrow_buffer::{Buffer, i256};
use arrow_data::ArrayData;
use arrow_schema::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType};

use crate::error::{Error, Result};
use crate::format::Bounds;

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
        let (ty, name) = match ty {
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
        };
        if !self.some {
            return Ok(new_null_array(&ty, 1));
        }
        let beyond = || Error::invalid(format!("the sum of column {column:?} does not fit {name}"));
        if self.beyond {
            return Err(beyond());
        }
        let word = self.int.to_i128();
        let digits = |e| {
            if matches!(e, arrow_schema::ArrowError::InvalidArgumentError(_)) {
                beyond()
            } else {
                e.into()
            }
        };
        Ok(match ty {
            DataType::Decimal128(precision, scale) => {
                let array = Decimal128Array::from(vec![word.ok_or_else(beyond)?]);
                array
                    .validate_decimal_precision(precision)
                    .map_err(digits)?;
                Arc::new(array.with_precision_and_scale(precision, scale)?)
            }
            DataType::Decimal256(precision, scale) => {
                let array = Decimal256Array::from(vec![self.int]);
                array
                    .validate_decimal_precision(precision)
                    .map_err(digits)?;
                Arc::new(array.with_precision_and_scale(precision, scale)?)
            }
            DataType::Float64 => Arc::new(Float64Array::from(vec![self.float])),
            DataType::UInt64 => {
                let sum = word
                    .and_then(|word| u64::try_from(word).ok())
                    .ok_or_else(beyond)?;
                Arc::new(UInt64Array::from(vec![sum]))
            }
            // Signed integers and durations.
            ty => {
                let sum = word
                    .and_then(|word| i64::try_from(word).ok())
                    .ok_or_else(beyond)?;
                let bytes = Buffer::from(sum.to_le_bytes());
                make_array(ArrayData::builder(ty).len(1).add_buffer(bytes).build()?)
            }
        })
    }
}
