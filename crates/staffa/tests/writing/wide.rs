//! Wide tables: the tree of a column is tried first for those that look like it, and only taken where it
//! suits.

use super::*;
use staffa::to_bytes;

const ROWS: u64 = 2000;
/// Tables of fewer columns are chosen column by column.
const FEW: usize = 8;

/// A number without order.
fn noise(seed: u64, row: u64) -> u64 {
    let word = (seed << 32 | row).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ word >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

/// Columns of six families, those of a family alike at a few rows: some have other values elsewhere.
fn families(columns: u64) -> RecordBatch {
    let column = |c: u64| -> ArrayRef {
        let rows = 0..ROWS;
        // Between the rows that a few runs of 64 show.
        let is_odd = c / 6 % 3 == 2;
        let elsewhere = move |row: u64| is_odd && row % 286 >= 64;
        let word = move |row| noise(c + 1, row);
        match c % 6 {
            0 => Arc::new(Int64Array::from_iter_values(rows.map(|row| {
                (if elsewhere(row) {
                    word(row)
                } else {
                    word(row) % 1000
                }) as i64
            }))),
            1 => Arc::new(Float64Array::from_iter_values(rows.map(|row| {
                let digits = if elsewhere(row) { 1e9 } else { 100.0 };
                (word(row) % 10_000) as f64 / digits
            }))),
            2 => Arc::new(StringArray::from_iter_values(rows.map(|row| {
                let name = if elsewhere(row) { 5000 } else { 6 };
                format!("name {}", word(row) % name)
            }))),
            3 => Arc::new(BooleanArray::from_iter(
                rows.map(|row| Some(!elsewhere(row) && word(row) % 4 == 0)),
            )),
            4 => Arc::new(Int32Array::from_iter_values(rows.map(|row| {
                let run = if elsewhere(row) { row } else { row / 20 };
                (word(run) % 9) as i32
            }))),
            _ => {
                Arc::new(Int64Array::from_iter(rows.map(|row| {
                    (row % 5 > 0).then(|| (row * 10 + word(row) % 5) as i64)
                })))
            }
        }
    };
    let columns = (0..columns).map(|c| (format!("c{c}"), column(c), true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn written(batch: &RecordBatch, options: WriteOptions) -> Vec<u8> {
    to_bytes(batch.schema(), std::slice::from_ref(batch), options).unwrap()
}

#[test]
fn columns_that_only_seem_alike_are_chosen_for_anew() {
    let batch = families(96);
    let options = || WriteOptions::new().derived_columns(false);
    let wide = written(&batch, options());
    let narrow = (0..batch.num_columns()).step_by(FEW).map(|first| {
        let columns: Vec<usize> = (first..first + FEW).collect();
        written(&batch.project(&columns).unwrap(), options()).len()
    });
    let share = wide.len() as f64 / narrow.sum::<usize>() as f64;
    assert!(share < 1.02, "{share}");
    let found = read(File::from_bytes(wide).unwrap().scan());
    for i in 0..batch.num_columns() {
        assert_eq!(column(&found, i), column(std::slice::from_ref(&batch), i));
    }
}

#[test]
fn threads_do_not_change_what_similar_columns_get() {
    // Enough columns that some of them are compared first.
    for (batch, profile) in [
        (families(96), Profile::Fast),
        (families(96), Profile::Balanced),
        (pairs(50, 50), Profile::Balanced),
    ] {
        let options = || WriteOptions::new().profile(profile).row_group_rows(1024);
        let [one, two, five] =
            [1, 2, 5].map(|threads| written(&batch, options().threads(Some(threads))));
        assert!(one == two && two == five, "{profile}");
    }
}

/// Random numbers and, behind all of them, columns near to the first few of them.
fn pairs(random: u64, near: u64) -> RecordBatch {
    let rows = |of: fn(u64, u64) -> u64, c: u64| {
        Int64Array::from_iter_values((0..ROWS).map(|row| of(c, row) as i64))
    };
    let base = |c, row| noise(c + 1, row) % 1_000_000;
    let beside = |c, row| noise(c + 1, row) % 1_000_000 + noise(c + 1000, row) % 10;
    let columns = (0..random).map(|c| rows(base, c));
    let columns = columns.chain((0..near).map(|c| rows(beside, c)));
    let named = columns
        .enumerate()
        .map(|(i, column)| (format!("c{i}"), Arc::new(column) as _));
    RecordBatch::try_from_iter(named).unwrap()
}

#[test]
fn related_columns_are_found_where_some_of_many_are_looked_at_first() {
    let len = |batch: &RecordBatch, derived| {
        written(batch, WriteOptions::new().derived_columns(derived)).len() as f64
    };
    // Half of the columns are near to another one: they take 4 bits a row, not 20.
    let related = pairs(50, 50);
    let share = len(&related, true) / len(&related, false);
    assert!(share < 0.65, "{share}");
    let unrelated = pairs(100, 0);
    assert!(len(&unrelated, true) == len(&unrelated, false));
}
