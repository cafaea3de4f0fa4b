//! Rows of a batch that match: one pass of Arrow's comparison kernels per literal, or of lookups for a
//! list, and bitmaps combined.
//!
//! Without `NOT` (see `bind`) false and NULL need not be told apart: a bit is set where the part is
//! true.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, RecordBatch, RunArray};
use arrow_buffer::{ArrowNativeType as _, BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use arrow_ord::cmp;
use arrow_schema::DataType;
use arrow_string::like;
use hashbrown::HashSet;

use super::bind::{Bound, BoundLiteral, Node, Test, innermost};
use super::position::{Half, Value};
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
            let found = is_in(&array, &members(ty, values)?)?;
            if *negated {
                &valid(&array) & &!&found
            } else {
                found
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

/// The bytes of values of a type, as Arrow stores them.
fn members(ty: &DataType, values: &[Value]) -> Result<HashSet<Vec<u8>>> {
    let width = ty.primitive_width();
    let bytes_of = |value: &Value| match (value, ty) {
        (Value::Bytes(bytes), _) => Some(bytes.clone()),
        (Value::Int(value), _) => Some(value.to_le_bytes().get(..width?)?.to_vec()),
        (Value::Float(value), DataType::Float16) => {
            Some(Half::from_f64(*value).to_le_bytes().to_vec())
        }
        (Value::Float(value), DataType::Float32) => Some((*value as f32).to_le_bytes().to_vec()),
        (Value::Float(value), _) => Some(value.to_le_bytes().to_vec()),
        (Value::Bit(_), _) => None,
    };
    let all: Option<_> = values.iter().map(bytes_of).collect();
    all.ok_or_else(|| Error::internal(format!("a list of values of {ty}")))
}

/// Rows that are not NULL and whose value is one of the members.
fn is_in(array: &ArrayRef, members: &HashSet<Vec<u8>>) -> Result<BooleanBuffer> {
    let found = match array.data_type() {
        DataType::RunEndEncoded(..) => return by_runs(array, |values| is_in(values, members)),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let passing = is_in(dictionary.values(), members)?;
            if passing.count_set_bits() == 0 {
                return Ok(BooleanBuffer::new_unset(array.len()));
            }
            let keys = dictionary.normalized_keys();
            keys.iter()
                .map(|key| *key < passing.len() && passing.value(*key))
                .collect()
        }
        ty if ty.is_string() || ty.is_binary() => {
            let strings = arrow_cast::cast(array, &DataType::LargeBinary)?;
            let strings = strings.as_binary::<i64>();
            let each = 0..strings.len();
            each.map(|row| members.contains(strings.value(row)))
                .collect()
        }
        ty => {
            let width = match ty {
                DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
                ty => ty.primitive_width(),
            };
            let data = array.to_data();
            let place = width.zip(data.buffers().first());
            let (width, buffer) =
                place.ok_or_else(|| Error::internal(format!("a list of values of {ty}")))?;
            let value_of = |row: usize| {
                let start = (data.offset() + row) * width;
                buffer.get(start..start + width)
            };
            let each = 0..array.len();
            each.map(|row| value_of(row).is_some_and(|value| members.contains(value)))
                .collect()
        }
    };
    Ok(&found & &valid(array))
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
    if let DataType::RunEndEncoded(..) = array.data_type() {
        return by_runs(array, |values| matching(values, test, scalar, negated));
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

/// A test of the values of runs.
fn by_runs(
    array: &ArrayRef,
    test: impl Fn(&ArrayRef) -> Result<BooleanBuffer>,
) -> Result<BooleanBuffer> {
    match array.data_type() {
        DataType::RunEndEncoded(ends, _) if *ends.data_type() == DataType::Int16 => {
            by_runs_of::<Int16Type>(array, test)
        }
        DataType::RunEndEncoded(ends, _) if *ends.data_type() == DataType::Int32 => {
            by_runs_of::<Int32Type>(array, test)
        }
        _ => by_runs_of::<Int64Type>(array, test),
    }
}

fn by_runs_of<R: RunEndIndexType>(
    array: &ArrayRef,
    test: impl Fn(&ArrayRef) -> Result<BooleanBuffer>,
) -> Result<BooleanBuffer> {
    let runs = array.as_any().downcast_ref::<RunArray<R>>();
    let runs = runs.ok_or_else(|| Error::internal(format!("runs of {}", array.data_type())))?;
    if runs.is_empty() {
        return Ok(BooleanBuffer::new_unset(0));
    }
    let first = runs.get_start_physical_index();
    let count = runs.get_end_physical_index() + 1 - first;
    let found = test(&runs.values().slice(first, count))?;
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
