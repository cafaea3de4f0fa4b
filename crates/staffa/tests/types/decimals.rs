//! Decimals of 128 bits as those of 64 bits, and compared by them.

use arrow_array::Decimal128Array;
use arrow_array::types::Decimal128Type;
use arrow_cast::cast;
use staffa::Predicate;

use super::*;

const ROWS: usize = 5_000;

/// Columns that are narrow, dictionaries, runs and constant; of more than 18 digits, with exceptions of 128 bits.
fn columns(nulls: usize) -> RecordBatch {
    let column = |digits: u8, value: &dyn Fn(usize) -> i128| {
        let is_null = |i: usize| nulls > 0 && i % nulls == 1;
        let values = (0..ROWS).map(|i| (!is_null(i)).then(|| value(i)));
        let values: Decimal128Array = values.collect();
        Arc::new(values.with_precision_and_scale(digits, 2).unwrap()) as ArrayRef
    };
    let mixed = |i: usize| (i as i128).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_000_007;
    let most = 10_i128.pow(18) - 1;
    let edges = [most, -most, 0, 1, -1];
    table(vec![
        column(15, &|i| mixed(i) - 500_000_000),
        column(18, &|i| edges[i % 5]),
        column(18, &|i| [7, -123_456_789_012, most][mixed(i) as usize % 3]),
        column(9, &|i| (i / 700) as i128 - 3),
        column(4, &|_| -9_999),
        column(19, &|i| most * 10 - i as i128),
        column(30, &|i| {
            if i % 50 == 0 {
                i128::from(u64::MAX) * 1000
            } else {
                mixed(i)
            }
        }),
    ])
}

fn short(batch: &RecordBatch) -> Vec<ArrayRef> {
    let short = |column: &ArrayRef| match column.data_type() {
        DataType::Decimal128(digits @ ..=18, scale) => {
            cast(column, &DataType::Decimal64(*digits, *scale)).unwrap()
        }
        _ => column.clone(),
    };
    batch.columns().iter().map(short).collect()
}

#[test]
fn decimals_of_18_digits_are_read_in_64_bits() {
    for nulls in [0, 2, 40] {
        let batch = columns(nulls);
        let file = write(std::slice::from_ref(&batch), sized(3_000, 2_048));
        let all = read(file.scan().short_decimals(true));
        let filter: Predicate = "a > 1000000 and d < 2".parse().unwrap();
        let some = read(file.scan().short_decimals(true).filter(filter.clone()));
        let wide = read(file.scan().filter(filter));
        assert!(wide.iter().map(RecordBatch::num_rows).sum::<usize>() > 100);
        let whole = std::slice::from_ref(&batch);
        for (found, expected) in [(&all, whole), (&some, wide.as_slice())] {
            let expected: Vec<_> = expected.iter().map(short).collect();
            for i in 0..batch.num_columns() {
                let expected = expected.iter().flat_map(|batch| rows(&batch[i]));
                assert_eq!(column(found, i), expected.collect::<Vec<_>>(), "{i}");
            }
        }
    }
}

#[test]
fn decimals_compare_with_numbers_of_any_size() {
    let most = 10_i128.pow(19) - 10;
    let edge = 92_233_720_368_547_758_070;
    // In thousandths.
    let literals = [
        0,
        -5_000_000_000,
        1_230,
        -10,
        -99_990,
        5,
        most,
        -most,
        most + 10,
        edge,
        edge + 10,
        -edge - 20,
        i128::from(u64::MAX) * 10_000,
        10_i128.pow(36),
        -(10_i128.pow(36)),
    ];
    for nulls in [0, 2, 40] {
        let batch = columns(nulls);
        let file = write(std::slice::from_ref(&batch), sized(3_000, 2_048));
        for i in 0..batch.num_columns() {
            let name = batch.schema().field(i).name().clone();
            let words = batch.column(i).as_primitive::<Decimal128Type>();
            for literal in literals {
                let sign = if literal < 0 { "-" } else { "" };
                let size = literal.abs();
                let text = format!("'{sign}{}.{:03}'", size / 1000, size % 1000);
                let count = |op: &str| {
                    let filter: Predicate = format!("{name} {op} {text}").parse().unwrap();
                    let found = read(file.scan().filter(filter));
                    found.iter().map(RecordBatch::num_rows).sum::<usize>()
                };
                let expected = |wanted: [bool; 3]| {
                    let order = |word: i128| (word * 10).cmp(&literal) as i8 + 1;
                    let words = words.iter().flatten();
                    words.filter(|word| wanted[order(*word) as usize]).count()
                };
                for (op, wanted) in [
                    ("<", [true, false, false]),
                    ("<=", [true, true, false]),
                    ("=", [false, true, false]),
                    ("<>", [true, false, true]),
                    (">=", [false, true, true]),
                    (">", [false, false, true]),
                ] {
                    assert_eq!(count(op), expected(wanted), "{name} {op} {text}, {nulls}");
                }
            }
        }
    }
}
