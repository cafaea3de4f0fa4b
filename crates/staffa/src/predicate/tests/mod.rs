//! Random predicates over random tables against an oracle that evaluates row by row and shares no
//! code with the library.

mod columns;
mod edges;
mod literals;
mod oracle;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float16Type, Int8Type, Int16Type};
use arrow_array::{
    Array as _, ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array,
    Decimal256Array, DurationSecondArray, FixedSizeBinaryArray, Float16Array, Float32Array,
    Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, RecordBatch, RunArray,
    StringArray, StringViewArray, Time32MillisecondArray, TimestampMicrosecondArray,
    TimestampSecondArray, UInt8Array, UInt64Array,
};
use arrow_buffer::i256;

use self::columns::{Column, MakeLiteral, STRINGS, table};
use self::literals::{day_literal, decimal_literal, number_literal, time_literal, timestamp};
use self::oracle::generate;
use super::{Compare, Literal, Predicate};
use crate::format::{Bounds, ZoneMap};
use crate::values::{Kind, StringsBuf, Values};

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// Often small, sometimes at the ends of the range.
    fn int(&mut self, min: i128, max: i128) -> i128 {
        match self.below(8) {
            0 => min,
            1 => max,
            2 => max - 1,
            _ => (self.below(40) as i128 - 20).clamp(min, max),
        }
    }
}

/// What a row holds, as the oracle sees it.
#[derive(Debug, Clone)]
enum Cell {
    Bool(bool),
    /// Times `10^-scale`.
    Number(i128, u32),
    Float(f64),
    Bytes(Vec<u8>),
}

type Cells = Vec<Option<Cell>>;

fn batch(columns: &[(String, Column)]) -> RecordBatch {
    RecordBatch::try_from_iter(
        columns
            .iter()
            .map(|(name, column)| (name, column.array.clone())),
    )
    .unwrap()
}

#[test]
fn rows_and_blocks_agree_with_the_oracle() {
    let mut rng = Rng(0x5eed);
    let (mut blocks, mut kept, mut matched, mut pruned_simple, mut empty_simple) = (0, 0, 0, 0, 0);
    let (mut pruned_prefixes, mut empty_prefixes) = (0, 0);
    for round in 0..60 {
        let rows = [0, 1, 7, 64, 150][round % 5];
        let columns = table(&mut rng, rows);
        let batch = batch(&columns);
        for _ in 0..200 {
            let depth = rng.below(4);
            let (predicate, truth) = generate(&mut rng, &columns, depth);
            let bound = predicate.bind(&batch.schema()).unwrap();
            let expected: Vec<bool> = truth.iter().map(|t| *t == Some(true)).collect();
            let found = bound.evaluate(&batch).unwrap();
            assert_eq!(found.null_count(), 0);
            if let Some(row) = (0..rows).find(|&i| found.value(i) != expected[i]) {
                let cells: HashMap<_, _> =
                    columns.iter().map(|(n, c)| (n, &c.cells[row])).collect();
                let cells: Vec<_> = predicate
                    .columns()
                    .iter()
                    .map(|n| (*n, cells[&(*n).to_owned()]))
                    .collect();
                panic!(
                    "{predicate}\n{bound:?}\nrow {row}: {cells:?}: {} expected",
                    expected[row]
                );
            }

            // Through text and back, it is the same (NaN is not equal to itself, but its text is).
            let again: Predicate = predicate.to_string().parse().unwrap();
            assert_eq!(
                format!("{again:?}"),
                format!("{predicate:?}"),
                "{predicate}"
            );

            // A slice of it: dictionaries, runs and views with offsets.
            let start = rng.below(rows + 1);
            let len = rng.below((rows - start).min(20) + 1);
            let part = bound.evaluate(&batch.slice(start, len)).unwrap();
            assert!(
                part.iter()
                    .map(Option::unwrap)
                    .eq(expected[start..start + len].iter().copied()),
                "{predicate}"
            );

            let zone = |name: &str| {
                let (_, column) = columns.iter().find(|(n, _)| n == name).unwrap();
                let cells = &column.cells[start..start + len];
                let nulls = cells.iter().filter(|c| c.is_none()).count() as u64;
                column.zone.map(|bounds| ZoneMap {
                    nulls,
                    bounds: bounds(cells),
                })
            };
            let may = bound.may_match(len as u64, &zone);
            let some = expected[start..start + len].contains(&true);
            assert!(may || !some, "{predicate} matches a row but was pruned");
            assert!(bound.may_match(len as u64, &|_| None) || len == 0 || !some);
            blocks += 1;
            kept += usize::from(may);
            matched += usize::from(some);
            if let Predicate::StartsWith { column, .. } = &predicate
                && !some
                && zone(column).is_some()
            {
                empty_prefixes += 1;
                pruned_prefixes += usize::from(!may);
            }
            if let Predicate::Compare { column, .. } = &predicate
                && !some
                && zone(column).is_some()
            {
                empty_simple += 1;
                pruned_simple += usize::from(!may);
            }
        }
    }
    assert!(
        kept < blocks && matched > blocks / 10,
        "{blocks} blocks, {matched} match, {kept} kept"
    );
    assert!(
        pruned_prefixes * 2 > empty_prefixes,
        "only {pruned_prefixes} of {empty_prefixes} without the prefix"
    );
    assert!(
        pruned_simple * 10 > empty_simple * 7,
        "only {pruned_simple} of {empty_simple} empty blocks were pruned"
    );
}
