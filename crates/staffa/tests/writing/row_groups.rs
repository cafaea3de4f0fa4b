//! Row groups behind the first: what the ones before chose is tried first, and only taken where it
//! suits.

use super::*;
use staffa::to_bytes;

const ROWS: i64 = 4096;
const GROUPS: i64 = 6;

/// Bytes of a table's only row group, or of all of them.
fn bytes(batch: &RecordBatch, rows: usize) -> usize {
    let options = WriteOptions::new().row_group_rows(rows);
    let bytes = to_bytes(batch.schema(), std::slice::from_ref(batch), options).unwrap();
    assert_eq!(
        column(&read(File::from_bytes(bytes.clone()).unwrap().scan()), 0),
        column(std::slice::from_ref(batch), 0)
    );
    bytes.len()
}

/// Bytes of a table with a row group for each of its parts, over those of its parts as files.
fn share(batch: &RecordBatch) -> f64 {
    let rows = ROWS as usize;
    let alone = |group: i64| bytes(&batch.slice(group as usize * rows, rows), rows);
    let alone: usize = (0..GROUPS).map(alone).sum();
    bytes(batch, rows) as f64 / alone as f64
}

fn table_of(values: impl Fn(i64) -> i64) -> RecordBatch {
    let values = Int64Array::from_iter_values((0..ROWS * GROUPS).map(values));
    RecordBatch::try_from_iter([("n", Arc::new(values) as ArrayRef)]).unwrap()
}

/// A number without order.
fn noise(i: i64) -> i64 {
    (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64 >> 48
}

#[test]
fn values_that_change_their_kind_are_chosen_for_anew() {
    let rising = |i: i64| i * 17 + (i & 3);
    let runs = |i: i64| noise(i / 100);
    let kinds = [rising, runs, noise];
    let table = table_of(|i| kinds[(i / ROWS) as usize % 3](i));
    let share = share(&table);
    assert!(share < 1.02, "{share}");
}

#[test]
fn a_column_is_derived_only_where_it_still_pays() {
    let names = |i: i64| noise(i) & 63;
    let other = |i: i64| {
        let derived = !(ROWS * 2..ROWS * 4).contains(&i);
        noise(if derived { names(i) } else { i * 31 + 7 })
    };
    let all = || 0..ROWS * GROUPS;
    let columns = [all().map(names).collect(), all().map(other).collect()];
    let columns = columns.map(|values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef);
    let [a, b] = columns;
    let table = RecordBatch::try_from_iter([("a", a), ("b", b)]).unwrap();
    let share = share(&table);
    assert!(share < 1.02, "{share}");
    let derived = |rows: RecordBatch| {
        let options = WriteOptions::new().row_group_rows(ROWS as usize);
        let with = to_bytes(rows.schema(), std::slice::from_ref(&rows), options.clone()).unwrap();
        let without = to_bytes(rows.schema(), &[rows], options.derived_columns(false)).unwrap();
        with.len() * 10 < without.len() * 9
    };
    assert!(derived(table.slice(0, ROWS as usize * 2)));
    assert!(derived(table.slice(ROWS as usize * 3, ROWS as usize * 3)));
}

#[test]
fn threads_do_not_change_what_is_remembered() {
    let columns = (0..40).map(|c| {
        let values = (0..ROWS * 3).map(|i| match c % 4 {
            0 => noise(i * (c + 1)),
            1 => noise(i * c) & 7,
            2 => i * c,
            _ => (noise(i * (c - 2)) & 7) * 1000,
        });
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
        (format!("c{c}"), values)
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let bytes = [1, 2, 3].map(|threads| {
        let options = WriteOptions::new().row_group_rows(ROWS as usize);
        to_bytes(
            batch.schema(),
            std::slice::from_ref(&batch),
            options.threads(Some(threads)),
        )
        .unwrap()
    });
    assert!(bytes.iter().all(|other| *other == bytes[0]));
}

/// Numbers, and a column of lists with so many items each that repeat them.
fn lists_beside(rows: usize, items: impl Fn(usize) -> usize) -> RecordBatch {
    let number = |row: usize| noise(row as i64) & 0xff_ffff;
    let numbers = Int64Array::from_iter_values((0..rows).map(number));
    let lists = (0..rows).map(|row| Some(vec![Some(number(row) + 1); items(row)]));
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(lists);
    RecordBatch::try_from_iter([("a", Arc::new(numbers) as _), ("l", Arc::new(lists) as _)])
        .unwrap()
}

#[test]
fn columns_derived_before_may_have_other_blocks_later() {
    const ROWS: usize = 1000;
    let one = lists_beside(ROWS, |_| 1);
    let none = lists_beside(ROWS, |_| 0);
    let one_of_two = lists_beside(ROWS, |row| 1 + usize::from(row == 7));
    let strings = |long: usize| {
        let number = |row: usize| noise(row as i64) % 5000;
        let short = (0..20_000).map(|row| format!("{:05}", number(row)));
        let other =
            (0..20_000).map(|row| format!("{:04}{}", number(row) * 7919 % 5000, "x".repeat(long)));
        RecordBatch::try_from_iter([
            (
                "a",
                Arc::new(StringArray::from_iter_values(short)) as ArrayRef,
            ),
            (
                "b",
                Arc::new(StringArray::from_iter_values(other)) as ArrayRef,
            ),
        ])
        .unwrap()
    };
    for batches in [
        vec![one.clone(), none],
        vec![one, one_of_two],
        vec![strings(1), strings(400)],
    ] {
        let rows_of_one = batches[0].num_rows();
        let options = WriteOptions::new().row_group_rows(rows_of_one);
        let found = read(write(&batches, options).scan());
        for i in 0..2 {
            assert!(column(&found, i) == column(&batches, i));
        }
    }
}
