//! Aggregates of files of every type against sorting, adding and comparing all rows with Arrow's
//! kernels.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal256Type, Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, UInt32Array,
};
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, SortOptions};

use super::super::File;
use super::{Aggregate, aggregate_batches, plain};
use crate::predicate::Predicate;
use crate::testing::arrays::{Random, array, flat_types, nested_types, one};
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

fn file(batch: &RecordBatch, block_rows: usize) -> File {
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

/// Aggregates of one column, as they should be; `None` where it has no such.
fn check(name: &str, array: &ArrayRef, which: Aggregate, found: crate::Result<RecordBatch>) {
    let values = values(array);
    let ty = values.data_type().clone();
    let what = format!("{which} of {} {name}", array.data_type());
    let refused = match which {
        Aggregate::Min | Aggregate::Max | Aggregate::Sorted => matches!(ty, DataType::Interval(_)),
        Aggregate::Sum | Aggregate::Mean => {
            !(ty.is_numeric() || matches!(ty, DataType::Boolean | DataType::Duration(_)))
        }
        _ => false,
    };
    if refused {
        let error = found.unwrap_err().to_string();
        return assert!(error.contains("has no"), "{what}: {error}");
    }
    let order = || {
        let options = SortOptions::default();
        arrow_ord::ord::make_comparator(&values, &values, options).unwrap()
    };
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
        _ if values.is_empty()
            && matches!(
                which,
                Aggregate::Min | Aggregate::Max | Aggregate::Sum | Aggregate::Mean
            ) =>
        {
            assert_eq!(single(&found).logical_null_count(), 1, "{what}");
        }
        Aggregate::Min | Aggregate::Max => {
            let options = SortOptions {
                descending: which == Aggregate::Max,
                nulls_first: false,
            };
            let at = arrow_ord::sort::sort_to_indices(&values, Some(options), Some(1)).unwrap();
            let expected = arrow_select::take::take(&values, &at, None).unwrap();
            let found = single(&found);
            // A NaN that signals no longer does once it has been widened.
            let nan =
                is_float(&ty) && show(&expected) == show(&found) && show(&found).contains("NaN");
            assert!(
                nan || expected.to_data() == found.to_data(),
                "{what}: {expected:?}, found {found:?}"
            );
        }
        Aggregate::Sum if is_float(&ty) => {
            let doubles = arrow_cast::cast(&values, &DataType::Float64).unwrap();
            let expected: f64 = doubles
                .as_primitive::<Float64Type>()
                .values()
                .iter()
                .fold(0.0, |sum, v| sum + v);
            let found = single(&found).as_primitive::<Float64Type>().value(0);
            assert!(
                expected.to_bits() == found.to_bits() || expected.is_nan() && found.is_nan(),
                "{what}: {expected} {found}"
            );
        }
        Aggregate::Sum => {
            let expected = sum(&values);
            match found {
                Ok(found) => assert_eq!(sum(found.column(0)), expected, "{what}"),
                Err(error) => {
                    assert!(
                        error.to_string().contains("does not fit"),
                        "{what}: {error}"
                    );
                    let small = expected
                        .to_i128()
                        .is_some_and(|sum| i64::try_from(sum).is_ok() && sum >= 0);
                    assert!(!small, "{what}: {expected}");
                }
            }
        }
        Aggregate::Mean => check_mean(&values, &found, &what),
        Aggregate::Distinct => {
            let order = order();
            let mut rows: Vec<usize> = (0..values.len()).collect();
            rows.sort_by(|a, b| order(*a, *b));
            rows.dedup_by(|a, b| order(*a, *b).is_eq());
            int(rows.len());
        }
        Aggregate::Sorted => {
            let order = order();
            let expected = (1..values.len()).all(|i| order(i - 1, i).is_le());
            assert_eq!(single(&found).as_boolean().value(0), expected, "{what}");
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

fn single(found: &crate::Result<RecordBatch>) -> ArrayRef {
    let found = found.as_ref().unwrap();
    assert_eq!((found.num_rows(), found.num_columns()), (1, 1));
    found.column(0).clone()
}

fn show(array: &ArrayRef) -> String {
    arrow_cast::display::array_value_to_string(array, 0).unwrap()
}

fn check_all(name: &str, array: &ArrayRef) {
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

#[test]
fn every_type_agrees_with_all_rows() {
    let mut random = Random(0xa66);
    let nested =
        |ty: &DataType| matches!(ty, DataType::Dictionary(..) | DataType::RunEndEncoded(..));
    let of_values = |ty: &DataType| match ty {
        DataType::Dictionary(_, values) => {
            !values.is_nested() && !matches!(**values, DataType::Dictionary(..))
        }
        DataType::RunEndEncoded(_, values) => !values.data_type().is_nested(),
        _ => true,
    };
    let mut types = flat_types();
    // Arrow's filter (59.3), by which the oracle drops NULLs, forgets how many there are of these.
    types.retain(|ty| *ty != DataType::FixedSizeBinary(0));
    for inner in [
        DataType::Utf8,
        DataType::Int16,
        DataType::Float32,
        DataType::Decimal128(38, 38),
    ] {
        types.extend(
            nested_types(&inner)
                .into_iter()
                .filter(|ty| nested(ty) && of_values(ty)),
        );
    }
    for ty in types {
        for rows in [0, 1, 700, 1700] {
            check_all("random", &array(&ty, true, rows, &mut random));
        }
    }
}

/// Shapes that zone maps know much of, or must not be asked about.
#[test]
fn zone_maps_are_asked_where_they_are_exact() {
    let rows = 1500i64;
    let ints = |of: fn(i64) -> Option<i64>| -> ArrayRef {
        Arc::new((0..rows).map(of).collect::<Int64Array>())
    };
    let floats = |of: fn(i64) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values((0..rows).map(of)))
    };
    let texts = |of: fn(i64) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..rows).map(of)))
    };
    let bytes: ArrayRef =
        Arc::new(BinaryArray::from_iter_values((0..rows).map(|i| {
            [vec![0xff; (i % 20) as usize], vec![i as u8; 2]].concat()
        })));
    for (name, array) in [
        ("ascending", ints(Some)),
        ("descending", ints(|i| Some(-i))),
        ("constant", ints(|_| Some(7))),
        ("constant blocks", ints(|i| Some(i / 256))),
        ("blocks of NULLs", ints(|i| (i / 300 % 2 == 0).then_some(i))),
        ("sparse", ints(|i| (i % 100 == 3).then_some(i))),
        ("large", ints(|i| Some(i64::MAX - i))),
        (
            "both ends",
            ints(|i| Some(if i % 2 == 0 { i64::MIN } else { i64::MAX })),
        ),
        ("zeros", floats(|i| if i % 2 == 0 { 0.0 } else { -0.0 })),
        (
            "one NaN",
            floats(|i| if i == 700 { f64::NAN } else { i as f64 }),
        ),
        (
            "one -NaN",
            floats(|i| if i == 700 { -f64::NAN } else { i as f64 }),
        ),
        (
            "infinities",
            floats(|i| {
                if i % 3 == 0 {
                    f64::INFINITY
                } else {
                    f64::NEG_INFINITY
                }
            }),
        ),
        ("sums", floats(|i| 0.1 * i as f64)),
        ("short", texts(|i| format!("{i:05}"))),
        (
            "cut",
            texts(|i| format!("a text of more than that {}", i * 7919 % 1000)),
        ),
        (
            "cut ascending",
            texts(|i| format!("a text of more than that {i:05}")),
        ),
        (
            "fifteen, sixteen",
            texts(|i| "abcdefghijklmnopq"[..(i % 4 + 14) as usize].to_owned()),
        ),
        ("high", bytes),
        (
            "bits",
            Arc::new((0..rows).map(|i| Some(i >= 600)).collect::<BooleanArray>()),
        ),
        (
            "unsigned",
            Arc::new(UInt32Array::from_iter_values(
                (0..rows as u32).map(|i| u32::MAX - i % 3),
            )),
        ),
    ] {
        check_all(name, &array);
    }
}

#[test]
fn what_is_known_is_not_decoded() {
    // Damage to the blocks: the column index alone must answer.
    let batch = one(
        "a",
        true,
        Arc::new(
            (0..5000i64)
                .map(|i| (i % 9 > 0).then_some(i * 31 % 977))
                .collect::<Int64Array>(),
        ),
    );
    let mut bytes = crate::to_bytes(
        batch.schema(),
        std::slice::from_ref(&batch),
        WriteOptions::default(),
    )
    .unwrap();
    bytes[40] ^= 1;
    let file = File::from_bytes(bytes).unwrap();
    assert!(file.scan().reader().unwrap().next().unwrap().is_err());
    for which in [
        Aggregate::Rows,
        Aggregate::Count,
        Aggregate::Nulls,
        Aggregate::Min,
        Aggregate::Max,
    ] {
        check(
            "damaged",
            batch.column(0),
            which,
            file.aggregate(&[("a", which)], None),
        );
    }
    assert!(file.aggregate(&[("a", Aggregate::Sum)], None).is_err());
    // Of strings, the block that cannot win is left alone.
    let texts = StringArray::from_iter_values(
        (0..3000).map(|i| format!("{} and more than sixteen", 9 - i / 1024)),
    );
    let batch = one("a", true, Arc::new(texts));
    let options = WriteOptions {
        block_rows: 1024,
        ..WriteOptions::default()
    };
    let mut bytes = crate::to_bytes(batch.schema(), std::slice::from_ref(&batch), options).unwrap();
    let file = File::from_bytes(bytes.clone()).unwrap();
    let last = file.chunk(0, 0).unwrap().blocks[2].clone();
    bytes[(last.offset + last.bytes / 2) as usize] ^= 1;
    let file = File::from_bytes(bytes).unwrap();
    check(
        "damaged",
        batch.column(0),
        Aggregate::Max,
        file.aggregate(&[("a", Aggregate::Max)], None),
    );
    assert!(file.aggregate(&[("a", Aggregate::Min)], None).is_err());
}

#[test]
fn several_at_once_keep_their_order_and_errors_name_the_column() {
    let price: ArrayRef = Arc::new(Float64Array::from(vec![3.25, 0.5]));
    let id: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, i64::MAX]));
    let list = crate::testing::arrays::array(
        &DataType::List(Arc::new(Field::new("item", DataType::Int8, true))),
        true,
        2,
        &mut Random(1),
    );
    let batch = RecordBatch::try_from_iter([("price", price), ("id", id), ("list", list)]).unwrap();
    let file = file(&batch, 256);
    let wanted = [
        ("id", Aggregate::Max),
        ("price", Aggregate::Min),
        ("id", Aggregate::Max),
        ("id", Aggregate::Rows),
    ];
    let found = file.aggregate(&wanted, None).unwrap();
    let names: Vec<_> = found
        .schema()
        .fields()
        .iter()
        .map(|f| f.name().clone())
        .collect();
    assert_eq!(names, ["max(id)", "min(price)", "max(id)", "rows(id)"]);
    let none: [(&str, Aggregate); 0] = [];
    assert_eq!(file.aggregate(&none, None).unwrap().num_columns(), 0);
    let limited = file
        .scan()
        .limit(1)
        .reader()
        .unwrap()
        .aggregate(&[("price", Aggregate::Sum)])
        .unwrap();
    assert_eq!(
        limited
            .column(0)
            .as_primitive::<Float64Type>()
            .value(0)
            .to_bits(),
        3.25f64.to_bits()
    );
    let error = |name: &str, which| {
        file.aggregate(&[(name, which)], None)
            .unwrap_err()
            .to_string()
    };
    assert!(
        error("id", Aggregate::Sum).contains("the sum of column \"id\" does not fit 64 bits"),
        "{}",
        error("id", Aggregate::Sum)
    );
    let mean = single(&file.aggregate(&[("id", Aggregate::Mean)], None));
    let mean = mean.as_primitive::<Float64Type>().value(0);
    assert_eq!(mean.to_bits(), (i64::MAX as f64).to_bits());
    assert!(error("list", Aggregate::Count).contains("it is nested"));
    assert!(error("prices", Aggregate::Count).contains("price"));
    assert_eq!("min".parse::<Aggregate>().unwrap(), Aggregate::Min);
    assert_eq!(
        "median".parse::<Aggregate>().unwrap_err().to_string(),
        "no aggregate is called \"median\"; there are rows, count, nulls, min, max, sum, mean, distinct, sorted"
    );
}
