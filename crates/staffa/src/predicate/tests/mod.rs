//! Random predicates over random tables against an oracle that evaluates row by row and shares no
//! code with the library.

mod columns;
mod edges;
mod literals;
mod oracle;

use std::cmp::Ordering;
use std::ops::Range;
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
use super::bind::Bound;
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

/// A predicate, what each row of the columns makes of it, and the same through the library.
struct Case<'t> {
    columns: &'t [(String, Column)],
    batch: &'t RecordBatch,
    predicate: Predicate,
    bound: Bound,
    expected: Vec<bool>,
}

impl Case<'_> {
    fn check_rows(&self) {
        let (predicate, bound) = (&self.predicate, &self.bound);
        let found = bound.evaluate(self.batch).unwrap();
        assert_eq!(found.null_count(), 0);
        let mut rows = 0..self.expected.len();
        if let Some(row) = rows.find(|&i| found.value(i) != self.expected[i]) {
            let named = predicate.columns();
            let cells = self
                .columns
                .iter()
                .filter(|(name, _)| named.contains(&name.as_str()));
            let cells: Vec<_> = cells.map(|(name, c)| (name, &c.cells[row])).collect();
            let expected = self.expected[row];
            panic!("{predicate}\n{bound:?}\nrow {row}: {cells:?}: {expected} expected");
        }
    }

    /// Through text and back, it is the same (NaN is not equal to itself, but its text is).
    fn check_text(&self) {
        let predicate = &self.predicate;
        let again: Predicate = predicate.to_string().parse().unwrap();
        assert_eq!(
            format!("{again:?}"),
            format!("{predicate:?}"),
            "{predicate}"
        );
    }

    /// A slice of it: dictionaries, runs and views with offsets.
    fn check_slice(&self, rows: &Range<usize>) {
        let slice = self.batch.slice(rows.start, rows.len());
        let part = self.bound.evaluate(&slice).unwrap();
        let found: Vec<bool> = part.iter().map(Option::unwrap).collect();
        assert_eq!(found, self.expected[rows.clone()], "{}", self.predicate);
    }

    fn zone(&self, name: &str, rows: &Range<usize>) -> Option<ZoneMap> {
        let (_, column) = self.columns.iter().find(|(n, _)| n == name).unwrap();
        let cells = &column.cells[rows.clone()];
        let nulls = cells.iter().filter(|c| c.is_none()).count() as u64;
        column.zone.map(|bounds| ZoneMap {
            nulls,
            bounds: bounds(cells),
        })
    }

    /// Rows that match are never pruned; counts whether others are.
    fn check_block(&self, rows: &Range<usize>, counts: &mut Counts) {
        let (predicate, len) = (&self.predicate, rows.len() as u64);
        let may = self.bound.may_match(len, &|name| self.zone(name, rows));
        let some = self.expected[rows.clone()].contains(&true);
        assert!(may || !some, "{predicate} matches a row but was pruned");
        assert!(self.bound.may_match(len, &|_| None) || len == 0 || !some);
        counts.blocks += 1;
        counts.kept += usize::from(may);
        counts.matched += usize::from(some);
        let (column, pruned) = match predicate {
            Predicate::StartsWith { column, .. } => (column, &mut counts.prefixes),
            Predicate::Compare { column, .. } => (column, &mut counts.simple),
            Predicate::In { column, literals } if literals.len() > 2 => (column, &mut counts.lists),
            _ => return,
        };
        if !some && self.zone(column, rows).is_some() {
            pruned.empty += 1;
            pruned.pruned += usize::from(!may);
        }
    }
}

#[derive(Default)]
struct Counts {
    blocks: usize,
    kept: usize,
    matched: usize,
    simple: Pruned,
    prefixes: Pruned,
    lists: Pruned,
}

/// Blocks in which no row matches, and how many of them are pruned.
#[derive(Default)]
struct Pruned {
    empty: usize,
    pruned: usize,
}

#[test]
fn rows_and_blocks_agree_with_the_oracle() {
    let (mut rng, mut counts) = (Rng(0x5eed), Counts::default());
    for round in 0..60 {
        let rows = [0, 1, 7, 64, 150][round % 5];
        let columns = table(&mut rng, rows);
        let batch = batch(&columns);
        for _ in 0..200 {
            let depth = rng.below(4);
            let (predicate, truth) = generate(&mut rng, &columns, depth);
            let case = Case {
                columns: &columns,
                batch: &batch,
                bound: predicate.bind(&batch.schema()).unwrap(),
                predicate,
                expected: truth.iter().map(|t| *t == Some(true)).collect(),
            };
            case.check_rows();
            case.check_text();
            let start = rng.below(rows + 1);
            let part = start..start + rng.below((rows - start).min(20) + 1);
            case.check_slice(&part);
            case.check_block(&part, &mut counts);
        }
    }
    let Counts {
        blocks,
        kept,
        matched,
        simple,
        prefixes,
        lists,
    } = counts;
    assert!(
        kept < blocks && matched > blocks / 10,
        "{blocks} blocks, {matched} match, {kept} kept"
    );
    let share = |Pruned { empty, pruned }: Pruned| pruned as f64 / empty as f64;
    let (simple, prefixes, lists) = (share(simple), share(prefixes), share(lists));
    assert!(
        lists > 0.5,
        "only {lists} without a value of the list are pruned"
    );
    assert!(
        prefixes > 0.5,
        "only {prefixes} without the prefix are pruned"
    );
    assert!(simple > 0.7, "only {simple} of the empty blocks are pruned");
}
