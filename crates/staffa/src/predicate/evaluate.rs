//! Rows of a batch that match: one pass of Arrow's comparison kernels per literal, and bitmaps
//! combined.
//!
//! Without `NOT` (see `bind`) false and NULL need not be told apart: a bit is set where the part is
//! true.

use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, RecordBatch, RunArray};
use arrow_buffer::{ArrowNativeType as _, BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use arrow_ord::cmp;
use arrow_schema::DataType;
use arrow_string::like;

use super::bind::{Bound, BoundLiteral, Node, Test, innermost};
use super::{Compare, path};
use crate::error::{Error, Result};

impl Bound {
    /// The rows of the batch for which the predicate is true; the result has no NULLs.
    ///
    /// Columns are looked up by name; the batch has at least those of the predicate, with the types
    /// it was bound to (as a dictionary or as runs, too).
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
        Node::Null(name) => !&valid(&path::values(batch, name)?),
        Node::NotNull(name) => valid(&path::values(batch, name)?),
        Node::Compare(name, op, literal) => {
            let array = path::values(batch, name)?;
            let found = innermost(array.data_type());
            check_type(name, found, literal.data_type())?;
            compare(&array, *op, literal)?
        }
        Node::In {
            column: name,
            ty,
            values,
            negated,
        } => {
            let array = path::values(batch, name)?;
            check_type(name, innermost(array.data_type()), ty)?;
            let mut any = BooleanBuffer::new_unset(rows);
            for value in values.iter() {
                let literal = BoundLiteral::of(ty, value.clone())?;
                any = &any | &compare(&array, Compare::Eq, &literal)?;
            }
            if *negated {
                &valid(&array) & &!&any
            } else {
                any
            }
        }
        Node::Match {
            column: name,
            test,
            scalar,
            negated,
            ..
        } => {
            let array = path::values(batch, name)?;
            let found = innermost(array.data_type());
            if !matches!(found, DataType::FixedSizeBinary(_)) {
                check_type(name, found, scalar.get().0.data_type())?;
            }
            matching(&array, *test, scalar, *negated)?
        }
    })
}

fn check_type(name: &str, found: &DataType, bound: &DataType) -> Result<()> {
    if found == bound {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "column {name:?} is of type {found}, the predicate was bound to {bound}"
    )))
}

/// Rows that are not NULL and for which a comparison is true.
fn compare(array: &ArrayRef, op: Compare, literal: &BoundLiteral) -> Result<BooleanBuffer> {
    if array.is_empty() {
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
    let (values, nulls) = kernel(array, &literal.scalar)?.into_parts();
    Ok(where_valid(values, nulls))
}

fn where_valid(values: BooleanBuffer, nulls: Option<NullBuffer>) -> BooleanBuffer {
    match nulls {
        Some(nulls) => &values & nulls.inner(),
        None => values,
    }
}

/// Rows that are not NULL and for which a test of text holds, or does not where `negated`.
fn matching(
    array: &ArrayRef,
    test: Test,
    scalar: &dyn Datum,
    negated: bool,
) -> Result<BooleanBuffer> {
    // The kernels do not know runs, of which each is tested once, nor binary of fixed size, which is
    // copied.
    if let DataType::RunEndEncoded(ends, _) = array.data_type() {
        return match ends.data_type() {
            DataType::Int16 => by_runs::<Int16Type>(array, test, scalar, negated),
            DataType::Int32 => by_runs::<Int32Type>(array, test, scalar, negated),
            _ => by_runs::<Int64Type>(array, test, scalar, negated),
        };
    }
    if let DataType::FixedSizeBinary(_) = innermost(array.data_type()) {
        let binary = arrow_cast::cast(array, &DataType::Binary)?;
        return matching(&binary, test, scalar, negated);
    }
    let kernel = match test {
        Test::StartsWith => like::starts_with,
        Test::Contains => like::contains,
        Test::Like => like::like,
        Test::ILike => like::ilike,
    };
    let (values, nulls) = kernel(array, scalar)?.into_parts();
    let values = if negated { !&values } else { values };
    Ok(where_valid(values, nulls))
}

fn by_runs<R: RunEndIndexType>(
    array: &ArrayRef,
    test: Test,
    scalar: &dyn Datum,
    negated: bool,
) -> Result<BooleanBuffer> {
    let runs = array.as_any().downcast_ref::<RunArray<R>>();
    let runs = runs.ok_or_else(|| Error::internal(format!("runs of {}", array.data_type())))?;
    if runs.is_empty() {
        return Ok(BooleanBuffer::new_unset(0));
    }
    let first = runs.get_start_physical_index();
    let count = runs.get_end_physical_index() + 1 - first;
    let found = matching(&runs.values().slice(first, count), test, scalar, negated)?;
    let mut rows = BooleanBufferBuilder::new(runs.len());
    let ends = runs
        .run_ends()
        .values()
        .iter()
        .skip(first)
        .map(|end| end.as_usize().saturating_sub(runs.offset()).min(runs.len()));
    for (found, end) in found.iter().zip(ends) {
        rows.append_n(end.saturating_sub(rows.len()), found);
    }
    Ok(rows.finish())
}

/// Rows that are not NULL, through dictionaries and runs.
fn valid(array: &ArrayRef) -> BooleanBuffer {
    array.logical_nulls().map_or_else(
        || BooleanBuffer::new_set(array.len()),
        |nulls| nulls.inner().clone(),
    )
}
