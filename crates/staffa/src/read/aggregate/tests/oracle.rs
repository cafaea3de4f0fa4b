//! What aggregates should be: all rows sorted, added and compared with Arrow's kernels.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal256Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, RecordBatch};
use arrow_buffer::i256;
use arrow_ord::ord::DynComparator;
use arrow_schema::{DataType, SortOptions};

use super::super::{Aggregate, aggregate_batches, plain};
use crate::predicate::Predicate;
use crate::read::File;
use crate::write::WriteOptions;

const ALL: [Aggregate; 9] = [
    Aggregate::Mean,
    Aggregate::Rows,
    Aggregate::Count,
    Aggregate::Nulls,
    Aggregate::Min,
    Aggregate::Max,
    Aggregate::Sum,
    Aggregate::Distinct,
    Aggregate::Sorted,
];

pub(super) fn file(batch: &RecordBatch, block_rows: usize) -> File {
    let options = WriteOptions {
        row_group_rows: 3 * block_rows,
        block_rows,
        ..WriteOptions::default()
    };
    File::from_bytes(crate::to_bytes(batch.schema(), std::slice::from_ref(batch), options).unwrap())
        .unwrap()
}

/// Values without NULLs.
fn values(array: &ArrayRef) -> ArrayRef {
    let array = plain(array).unwrap();
    let nulls = array.logical_nulls();
    let valid: BooleanArray = (0..array.len())
        .map(|i| Some(nulls.as_ref().is_none_or(|n| n.is_valid(i))))
        .collect();
    arrow_select::filter::filter(&array, &valid).unwrap()
}

/// The sum in units of the column's scale.
fn sum(array: &ArrayRef) -> i256 {
    let widest = match array.data_type() {
        DataType::Boolean | DataType::Duration(_) => {
            arrow_cast::cast(array, &DataType::Int64).unwrap()
        }
        _ => array.clone(),
    };
    let add = |sum: i256, v: i256| sum.wrapping_add(v);
    match widest.data_type() {
        DataType::Decimal32(..) => widest
            .as_primitive::<arrow_array::types::Decimal32Type>()
            .values()
            .iter()
            .map(|v| i256::from_i128((*v).into()))
            .fold(i256::ZERO, add),
        DataType::Decimal64(..) => widest
            .as_primitive::<arrow_array::types::Decimal64Type>()
            .values()
            .iter()
            .map(|v| i256::from_i128((*v).into()))
            .fold(i256::ZERO, add),
        DataType::Decimal128(..) => widest
            .as_primitive::<arrow_array::types::Decimal128Type>()
            .values()
            .iter()
            .map(|v| i256::from_i128(*v))
            .fold(i256::ZERO, add),
        DataType::Decimal256(..) => widest
            .as_primitive::<Decimal256Type>()
            .values()
            .iter()
            .copied()
            .fold(i256::ZERO, add),
        _ => {
            let wide = arrow_cast::cast(&widest, &DataType::Decimal256(76, 0)).unwrap();
            wide.as_primitive::<Decimal256Type>()
                .values()
                .iter()
                .copied()
                .fold(i256::ZERO, add)
        }
    }
}

fn is_float(ty: &DataType) -> bool {
    ty.is_floating()
}

/// Compares an aggregate of one column with what it should be; some types have no such aggregate.
pub(super) fn check(
    name: &str,
    array: &ArrayRef,
    which: Aggregate,
    found: crate::Result<RecordBatch>,
) {
    let values = values(array);
    let what = format!("{which} of {} {name}", array.data_type());
    if is_refused(which, values.data_type()) {
        let error = found.unwrap_err().to_string();
        return assert!(error.contains("has no"), "{what}: {error}");
    }
    let int = |expected: usize| {
        assert_eq!(
            single(&found).as_primitive::<Int64Type>().value(0),
            expected as i64,
            "{what}"
        );
    };
    match which {
        Aggregate::Rows => int(array.len()),
        Aggregate::Count => int(values.len()),
        Aggregate::Nulls => int(array.len() - values.len()),
        Aggregate::Distinct => int(distinct(&values)),
        Aggregate::Sorted => {
            let order = order(&values);
            let expected = (1..values.len()).all(|i| order(i - 1, i).is_le());
            assert_eq!(single(&found).as_boolean().value(0), expected, "{what}");
        }
        _ if values.is_empty() => assert_eq!(single(&found).logical_null_count(), 1, "{what}"),
        Aggregate::Min | Aggregate::Max => check_extreme(&values, which, &found, &what),
        Aggregate::Sum if is_float(values.data_type()) => check_float_sum(&values, &found, &what),
        Aggregate::Sum => check_sum(&values, found, &what),
        Aggregate::Mean => check_mean(&values, &found, &what),
    }
}

fn is_refused(which: Aggregate, ty: &DataType) -> bool {
    match which {
        Aggregate::Min | Aggregate::Max | Aggregate::Sorted => matches!(ty, DataType::Interval(_)),
        Aggregate::Sum | Aggregate::Mean => {
            !(ty.is_numeric() || matches!(ty, DataType::Boolean | DataType::Duration(_)))
        }
        _ => false,
    }
}

fn order(values: &ArrayRef) -> DynComparator {
    arrow_ord::ord::make_comparator(values, values, SortOptions::default()).unwrap()
}

fn distinct(values: &ArrayRef) -> usize {
    let order = order(values);
    let mut rows: Vec<usize> = (0..values.len()).collect();
    rows.sort_by(|a, b| order(*a, *b));
    rows.dedup_by(|a, b| order(*a, *b).is_eq());
    rows.len()
}

fn check_extreme(
    values: &ArrayRef,
    which: Aggregate,
    found: &crate::Result<RecordBatch>,
    what: &str,
) {
    let options = SortOptions {
        descending: which == Aggregate::Max,
        nulls_first: false,
    };
    let at = arrow_ord::sort::sort_to_indices(values, Some(options), Some(1)).unwrap();
    let expected = arrow_select::take::take(values, &at, None).unwrap();
    let found = single(found);
    let is_float = is_float(values.data_type());
    // A NaN that signals no longer does once it has been widened.
    let nan = is_float && show(&expected) == show(&found) && show(&found).contains("NaN");
    assert!(
        nan || expected.to_data() == found.to_data(),
        "{what}: {expected:?}, found {found:?}"
    );
}

fn check_float_sum(values: &ArrayRef, found: &crate::Result<RecordBatch>, what: &str) {
    let doubles = arrow_cast::cast(values, &DataType::Float64).unwrap();
    let doubles = doubles.as_primitive::<Float64Type>().values();
    let expected = doubles.iter().fold(0.0, |sum, v| sum + v);
    let found = single(found).as_primitive::<Float64Type>().value(0);
    assert!(
        expected.to_bits() == found.to_bits() || expected.is_nan() && found.is_nan(),
        "{what}: {expected} {found}"
    );
}

fn check_sum(values: &ArrayRef, found: crate::Result<RecordBatch>, what: &str) {
    let expected = sum(values);
    match found {
        Ok(found) => assert_eq!(sum(found.column(0)), expected, "{what}"),
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains("does not fit"), "{what}: {error}");
            let small = expected
                .to_i128()
                .is_some_and(|sum| i64::try_from(sum).is_ok() && sum >= 0);
            assert!(!small, "{what}: {expected}");
        }
    }
}

fn check_mean(values: &ArrayRef, found: &crate::Result<RecordBatch>, what: &str) {
    let numbers = match values.data_type() {
        DataType::Duration(_) => arrow_cast::cast(values, &DataType::Int64).unwrap(),
        _ => values.clone(),
    };
    let doubles = arrow_cast::cast(&numbers, &DataType::Float64).unwrap();
    let doubles = doubles.as_primitive::<Float64Type>().values();
    let rows = doubles.len() as f64;
    let expected = doubles.iter().fold(0.0, |sum, v| sum + v) / rows;
    let found = single(found).as_primitive::<Float64Type>().value(0);
    // The sum of integers is exact, that of their doubles is not.
    let bound = doubles.iter().map(|v| v.abs()).sum::<f64>() / rows * 1e-9;
    let same = expected.to_bits() == found.to_bits() || expected.is_nan() && found.is_nan();
    assert!(
        same || (expected - found).abs() <= bound,
        "{what}: {expected} {found}"
    );
}

pub(super) fn single(found: &crate::Result<RecordBatch>) -> ArrayRef {
    let found = found.as_ref().unwrap();
    assert_eq!((found.num_rows(), found.num_columns()), (1, 1));
    found.column(0).clone()
}

fn show(array: &ArrayRef) -> String {
    arrow_cast::display::array_value_to_string(array, 0).unwrap()
}

/// Compares all aggregates, of all rows, of those that a filter keeps, and of batches.
pub(super) fn check_all(name: &str, array: &ArrayRef) {
    let keys: ArrayRef = Arc::new(Int32Array::from_iter_values(
        (0..array.len() as i32).map(|i| i % 5),
    ));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("a", array.clone(), true), ("k", keys, true)])
            .unwrap();
    let file = file(&batch, 256);
    let some: Predicate = "k < 2".parse().unwrap();
    let kept: BooleanArray = (0..array.len()).map(|i| Some(i % 5 < 2)).collect();
    let filtered = arrow_select::filter::filter(array, &kept).unwrap();
    for which in ALL {
        check(name, array, which, file.aggregate(&[("a", which)], None));
        check(
            &format!("{name} filtered"),
            &filtered,
            which,
            file.aggregate(&[("a", which)], Some(&some)),
        );
        let batches = [
            batch.slice(0, array.len() / 3),
            batch.slice(array.len() / 3, array.len() - array.len() / 3),
        ];
        check(
            name,
            array,
            which,
            aggregate_batches(&batch.schema(), batches.map(Ok), &[("a", which)]),
        );
    }
}
