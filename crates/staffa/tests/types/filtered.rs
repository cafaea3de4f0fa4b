//! Filters whose own columns are read: of rows that match the filter has the values.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::DataType;

use crate::common::{Random, read, rows, sized, table, write};

const ROWS: usize = 9_000;

/// A table of numbers, and these as doubles: every type of words that is compared, each with NULLs and without, as
/// noise, in few values, in runs, near each other.
fn numbers(ty: &DataType, random: &mut Random) -> (RecordBatch, Vec<Float64Array>) {
    let columns = (0..4).map(|kind| {
        let value = |i: usize, random: &mut Random| match kind {
            0 => random.below(120) as f64,
            1 => [3.0, 50.0, 77.0][random.below(3)],
            2 => (i / 200 % 100) as f64,
            _ => (i % 97) as f64,
        };
        let values: Float64Array = (0..ROWS)
            .map(|i| {
                let value = value(i, random);
                (kind % 2 > 0 || random.below(8) > 0).then_some(value)
            })
            .collect();
        cast(&values, ty).unwrap()
    });
    let columns: Vec<ArrayRef> = columns.collect();
    let doubles = columns.iter().map(|column| {
        let doubles = cast(column, &DataType::Float64).unwrap();
        doubles.as_primitive::<Float64Type>().clone()
    });
    let doubles = doubles.collect();
    (table(columns), doubles)
}

#[test]
fn columns_of_a_filter_are_read_like_others() {
    type Keep<'k> = &'k dyn Fn(&[Option<f64>]) -> bool;
    let is = |value: Option<f64>, holds: fn(f64) -> bool| value.is_some_and(holds);
    let cases: [(&str, Keep<'_>); 9] = [
        ("a <= 30", &|v| is(v[0], |a| a <= 30.0)),
        ("a = 7", &|v| is(v[0], |a| a == 7.0)),
        ("a != 7", &|v| is(v[0], |a| a != 7.0)),
        ("b > 40", &|v| is(v[1], |b| b > 40.0)),
        ("d >= 0", &|v| is(v[3], |d| d >= 0.0)),
        ("a > 20 and a < 40", &|v| is(v[0], |a| a > 20.0 && a < 40.0)),
        ("a <= 60 and b > 40 and c < 80", &|v| {
            is(v[0], |a| a <= 60.0) && is(v[1], |b| b > 40.0) && is(v[2], |c| c < 80.0)
        }),
        ("a < 9 or d > 90", &|v| {
            is(v[0], |a| a < 9.0) || is(v[3], |d| d > 90.0)
        }),
        ("a < 100 and (b = 3 or d < 5)", &|v| {
            is(v[0], |a| a < 100.0) && (is(v[1], |b| b == 3.0) || is(v[3], |d| d < 5.0))
        }),
    ];
    let mut random = Random(38);
    let types = [
        DataType::Int8,
        DataType::UInt16,
        DataType::Int32,
        DataType::UInt64,
        DataType::Float16,
        DataType::Float32,
        DataType::Float64,
        DataType::Decimal128(9, 2),
    ];
    for ty in types {
        let (batch, doubles) = numbers(&ty, &mut random);
        let file = write(std::slice::from_ref(&batch), sized(5_120, 1_024));
        let shown: Vec<Vec<String>> = batch.columns().iter().map(rows).collect();
        for (text, keep) in &cases {
            let value = |row: usize| {
                let value = |column: &Float64Array| column.is_valid(row).then(|| column.value(row));
                doubles.iter().map(value).collect::<Vec<_>>()
            };
            let kept: Vec<usize> = (0..ROWS).filter(|row| keep(&value(*row))).collect();
            for threads in [1, 3] {
                let scan = file.scan().filter(text.parse().unwrap());
                let found = read(scan.threads(Some(threads)));
                for (i, shown) in shown.iter().enumerate() {
                    let found = found.iter().flat_map(|batch| rows(batch.column(i)));
                    let expected = kept.iter().map(|row| shown[*row].clone());
                    assert!(found.eq(expected), "column {i} of {ty} where {text}");
                }
            }
        }
    }
}
