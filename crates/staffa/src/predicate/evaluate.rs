//! Which rows of a batch match: one pass of Arrow's comparison kernels per literal, and bitmaps joined.
//!
//! `NOT` is gone by now (see `bind`), so two values do where SQL has three: a row is in the bitmap where the part is true,
//! and whether it is false or NULL elsewhere no longer matters.

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_ord::cmp;

use super::Compare;
use super::bind::{Bound, Node, innermost};
use crate::error::{Error, Result};

impl Bound {
    /// The rows of the batch for which it is true; no NULLs in the result.
    ///
    /// Columns are looked up by name; the batch has at least those of the predicate, with the types it was bound to
    /// (as a dictionary or as runs, too).
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        Ok(BooleanArray::new(true_rows(&self.root, batch)?, None))
    }
}

/// The rows of a batch for which a part is true.
pub(crate) fn true_rows(node: &Node, batch: &RecordBatch) -> Result<BooleanBuffer> {
    let rows = batch.num_rows();
    Ok(match node {
        Node::All(parts) => {
            let mut all = BooleanBuffer::new_set(rows);
            for part in parts {
                all = &all & &true_rows(part, batch)?;
                if all.count_set_bits() == 0 {
                    break;
                }
            }
            all
        }
        Node::Any(parts) => {
            let mut any = BooleanBuffer::new_unset(rows);
            for part in parts {
                any = &any | &true_rows(part, batch)?;
                if any.count_set_bits() == rows {
                    break;
                }
            }
            any
        }
        Node::Null(name) => !&valid(column(batch, name)?),
        Node::NotNull(name) => valid(column(batch, name)?),
        Node::Compare(name, op, literal) => {
            let array = column(batch, name)?;
            let (found, bound) = (innermost(array.data_type()), literal.data_type());
            if found != bound {
                return Err(Error::invalid(format!(
                    "column {name:?} is of type {found}, the predicate was bound to {bound}"
                )));
            }
            if rows == 0 {
                // Arrow's kernels (59.3) overflow on an empty slice of runs.
                return Ok(BooleanBuffer::new_unset(0));
            }
            let kernel = match op {
                Compare::Eq => cmp::eq,
                Compare::NotEq => cmp::neq,
                Compare::Lt => cmp::lt,
                Compare::LtEq => cmp::lt_eq,
                Compare::Gt => cmp::gt,
                Compare::GtEq => cmp::gt_eq,
            };
            match kernel(array, &literal.scalar)?.into_parts() {
                (values, Some(nulls)) => &values & nulls.inner(),
                (values, None) => values,
            }
        }
    })
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| Error::invalid(format!("the batch has no column {name:?}")))
}

/// Where it is not NULL; under dictionaries and runs too.
fn valid(array: &ArrayRef) -> BooleanBuffer {
    array.logical_nulls().map_or_else(|| BooleanBuffer::new_set(array.len()), |nulls| nulls.inner().clone())
}
