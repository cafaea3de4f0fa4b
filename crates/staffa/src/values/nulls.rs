//! Values of valid rows expanded to all rows.

use staffa_kernels::Word;

use super::Bitmap;
use crate::error::{Error, Result};

/// Moves the first `count` values to the places whose bit is set; the others become 0.
pub(crate) fn expand<T: Word>(out: &mut [T], count: usize, validity: &Bitmap) -> Result<()> {
    let done = staffa_kernels::expand(out, count, validity.words());
    done.then_some(()).ok_or_else(|| {
        Error::corrupt(format!(
            "as many values as are valid expected, found {count}"
        ))
    })
}
