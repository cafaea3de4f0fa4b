//! Arrays as an aggregate takes them in.

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::DataType;
use arrow_select::filter::filter;

use crate::arrow::boolean_buffer;
use crate::error::{Error, Result};
use crate::predicate::innermost;
use crate::values::Bitmap;

/// Some rows of an array, or all.
pub(super) fn rows_of(array: &ArrayRef, found: Option<&Bitmap>) -> Result<ArrayRef> {
    let Some(found) = found else {
        return Ok(array.clone());
    };
    let found = BooleanArray::new(boolean_buffer(found.clone()), None);
    Ok(filter(array, &found)?)
}

/// Most rows of a run-end encoded column that are put out one by one for an aggregate.
const MAX_RUN_ROWS: usize = 1 << 27;

/// Runs and dictionaries cast to their values.
pub(super) fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        // Arrow's kernels (59.3) overflow on an empty slice of runs.
        ty @ DataType::RunEndEncoded(..) if array.is_empty() => {
            arrow_array::new_empty_array(innermost(ty))
        }
        DataType::RunEndEncoded(_, values) => {
            // Runs may stand for any number of rows, which the cast numbers one by one.
            if array.len() > MAX_RUN_ROWS {
                return Err(Error::limit(format!(
                    "aggregates of runs of at most {MAX_RUN_ROWS} rows in a row group are possible, found {}",
                    array.len()
                )));
            }
            plain(&arrow_cast::cast(array, values.data_type())?)?
        }
        DataType::Dictionary(_, values) => arrow_cast::cast(array, values)?,
        _ => array.clone(),
    })
}
