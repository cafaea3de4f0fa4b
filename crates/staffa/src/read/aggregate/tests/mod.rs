//! Aggregates of files of every type against sorting, adding and comparing all rows with Arrow's
//! kernels.

mod oracle;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
    UInt32Array,
};
use arrow_schema::{DataType, Field};

use self::oracle::{check, check_all, file, single};
use super::super::File;
use super::Aggregate;
use crate::testing::arrays::{Random, array, flat_types, nested_types, one};
use crate::write::WriteOptions;

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

/// Rows of the shapes that zone maps know much of, or must not be asked about.
const ROWS: i64 = 1500;

#[test]
fn zone_maps_of_numbers_are_asked_where_they_are_exact() {
    let check = |name: &str, of: fn(i64) -> Option<i64>| {
        check_all(
            name,
            &(Arc::new((0..ROWS).map(of).collect::<Int64Array>()) as _),
        );
    };
    check("ascending", Some);
    check("descending", |i| Some(-i));
    check("constant", |_| Some(7));
    check("constant blocks", |i| Some(i / 256));
    check("blocks of NULLs", |i| (i / 300 % 2 == 0).then_some(i));
    check("sparse", |i| (i % 100 == 3).then_some(i));
    check("large", |i| Some(i64::MAX - i));
    check("both ends", |i| {
        Some(if i % 2 == 0 { i64::MIN } else { i64::MAX })
    });
    let bits = (0..ROWS).map(|i| Some(i >= 600)).collect::<BooleanArray>();
    check_all("bits", &(Arc::new(bits) as _));
    let unsigned = (0..ROWS as u32).map(|i| u32::MAX - i % 3);
    let unsigned = UInt32Array::from_iter_values(unsigned);
    check_all("unsigned", &(Arc::new(unsigned) as _));
}

#[test]
fn zone_maps_of_floats_are_asked_where_they_are_exact() {
    let check = |name: &str, of: fn(i64) -> f64| {
        let floats = Float64Array::from_iter_values((0..ROWS).map(of));
        check_all(name, &(Arc::new(floats) as _));
    };
    check("zeros", |i| if i % 2 == 0 { 0.0 } else { -0.0 });
    check("one NaN", |i| if i == 700 { f64::NAN } else { i as f64 });
    check("one -NaN", |i| if i == 700 { -f64::NAN } else { i as f64 });
    check("infinities", |i| {
        if i % 3 == 0 {
            f64::INFINITY
        } else {
            f64::NEG_INFINITY
        }
    });
    check("sums", |i| 0.1 * i as f64);
}

#[test]
fn zone_maps_of_strings_are_asked_where_they_are_exact() {
    let check = |name: &str, of: fn(i64) -> String| {
        let texts = StringArray::from_iter_values((0..ROWS).map(of));
        check_all(name, &(Arc::new(texts) as _));
    };
    check("short", |i| format!("{i:05}"));
    check("cut", |i| {
        format!("a text of more than that {}", i * 7919 % 1000)
    });
    check("cut ascending", |i| {
        format!("a text of more than that {i:05}")
    });
    check("fifteen, sixteen", |i| {
        "abcdefghijklmnopq"[..(i % 4 + 14) as usize].to_owned()
    });
    let high = (0..ROWS).map(|i| [vec![0xff; (i % 20) as usize], vec![i as u8; 2]].concat());
    check_all(
        "high",
        &(Arc::new(BinaryArray::from_iter_values(high)) as _),
    );
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

fn three_columns() -> RecordBatch {
    let price: ArrayRef = Arc::new(Float64Array::from(vec![3.25, 0.5]));
    let id: ArrayRef = Arc::new(Int64Array::from(vec![i64::MAX, i64::MAX]));
    let list = crate::testing::arrays::array(
        &DataType::List(Arc::new(Field::new("item", DataType::Int8, true))),
        true,
        2,
        &mut Random(1),
    );
    RecordBatch::try_from_iter([("price", price), ("id", id), ("list", list)]).unwrap()
}

#[test]
fn several_at_once_keep_their_order() {
    let file = file(&three_columns(), 256);
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
}

#[test]
fn errors_name_the_column() {
    let file = file(&three_columns(), 256);
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
