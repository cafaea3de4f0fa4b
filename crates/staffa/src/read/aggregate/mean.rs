//! The mean: a sum divided by a count.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array};

use super::partial::PartialAggregate;
use super::{Aggregate, Column};
use crate::error::{Error, Result};

impl Column {
    /// The mean as a double; NULL where there are no values. The sum need not fit a type of sums.
    pub(super) fn mean(&self) -> Result<ArrayRef> {
        let parts = (
            self.partial(Aggregate::Sum)?,
            self.partial(Aggregate::Count)?,
        );
        let (PartialAggregate::Sum(sum), PartialAggregate::Counts { rows, nulls }) = parts else {
            return Err(Error::internal("a mean of other parts"));
        };
        let sum = sum.double(&self.ty, &self.name)?;
        let mean = sum.map(|sum| sum / (rows - nulls) as f64);
        Ok(Arc::new(Float64Array::from(vec![mean])))
    }
}
