//! `sample`: random rows, each as likely as any other.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_select::take::take_record_batch;

use crate::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::formats::ReadOptions;
use crate::formats::scan::{ScanOptions, SelectOptions};
use crate::print::{PrintOptions, print_batches};
use crate::terminal::progress::Meter;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The rows keep their order.

Examples:
  staffa sample trips.staffa
  staffa sample trips.staffa -n 1000 --seed 7 --format csv > some.csv
  staffa sample 'logs/*.csv' --where 'price > 100'")]
pub(crate) struct Args {
    /// Any files that `convert` reads, folders and wildcards allowed
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rows: u32,
    /// The same rows again for the same number
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    print: PrintOptions,
    #[command(flatten)]
    select: SelectOptions,
    #[command(flatten)]
    read: ReadOptions,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let options = ScanOptions::new(&args.select)?;
    let dataset = Dataset::open(&args.files, &args.read)?;
    let (schema, batches) = dataset.scan(&options, &Meter::default())?;
    let mut reservoir = Reservoir::new(args.rows as usize, args.seed);
    for batch in batches {
        reservoir.add(&batch?)?;
    }
    let rows = reservoir.rows.into_iter().map(|(_, row)| Ok(row));
    print_batches(&schema, Box::new(rows), args.print, &args.read.csv_null)
}

/// Rows drawn so far, by their numbers (Vitter, Random sampling with a reservoir, algorithm R).
struct Reservoir {
    rows: Vec<(u64, RecordBatch)>,
    size: usize,
    seen: u64,
    random: u64,
}

impl Reservoir {
    fn new(size: usize, seed: Option<u64>) -> Self {
        Self {
            rows: Vec::new(),
            size,
            seen: 0,
            random: seed.unwrap_or_else(|| RandomState::new().build_hasher().finish()),
        }
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut drawn: Vec<(usize, usize)> = Vec::new();
        for row in 0..batch.num_rows() {
            self.seen += 1;
            let place = if self.seen <= self.size as u64 {
                self.seen - 1
            } else {
                self.below(self.seen)
            };
            if place < self.size as u64 {
                // A later row of the batch takes the place of an earlier one.
                drawn.retain(|(taken, _)| *taken != place as usize);
                drawn.push((place as usize, row));
            }
        }
        let first = self.seen - batch.num_rows() as u64;
        drawn.sort_unstable();
        for (place, row) in drawn {
            // Copied: a slice would keep the whole batch in memory.
            let one = take_record_batch(batch, &UInt64Array::from(vec![row as u64]))
                .map_err(|error| Failure::arrow("sample", &error))?;
            let row = (first + row as u64, one);
            match self.rows.get_mut(place) {
                Some(taken) => *taken = row,
                None => self.rows.push(row),
            }
        }
        self.rows_in_order();
        Ok(())
    }

    /// Which place a row has does not matter, as the one to be replaced is drawn.
    fn rows_in_order(&mut self) {
        self.rows.sort_by_key(|(number, _)| *number);
    }

    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        // SplitMix64 (Steele, Lea, Flood, Fast splittable pseudorandom number generators).
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.random;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        ((u128::from(word) * u128::from(end)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{ArrayRef, Int64Array};

    use super::*;

    #[test]
    fn every_row_is_as_likely_as_any_other() {
        let mut times = [0; 50];
        for seed in 0..2000 {
            let mut reservoir = Reservoir::new(5, Some(seed * 7919));
            for start in [0, 20, 40] {
                let rows = start..(start + 20).min(50);
                let column: ArrayRef = Arc::new(Int64Array::from_iter_values(rows));
                reservoir
                    .add(&RecordBatch::try_from_iter([("n", column)]).unwrap())
                    .unwrap();
            }
            let drawn = reservoir.rows.iter();
            let drawn: Vec<i64> = drawn
                .map(|(_, row)| row.column(0).as_primitive::<Int64Type>().value(0))
                .collect();
            assert!(
                drawn.len() == 5 && drawn.is_sorted_by(|a, b| a < b),
                "{drawn:?}"
            );
            drawn.iter().for_each(|row| times[*row as usize] += 1);
        }
        // 200 each, give or take.
        assert!(
            times.iter().all(|times| (140..260).contains(times)),
            "{times:?}"
        );
    }
}
