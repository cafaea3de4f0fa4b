//! The measurement of `staffa bench`: one table in memory, written and scanned on one core as Staffa
//! and as Parquet.
//!
//! The variants take turns within a round, so that a slower machine slows all of them alike, and the
//! median of the rounds counts. Nothing touches a disk: only encoding and decoding are measured.

mod clock;
mod table;
mod variant;

use std::hint::black_box;

use arrow_array::RecordBatch;
use bytes::Bytes;

use self::clock::Clock;
pub(crate) use self::clock::clock_name;
pub(crate) use self::table::TableInMemory;
pub(crate) use self::variant::{Variant, parquet_writer};
use crate::error::Result;
use crate::terminal::interrupt;

/// The result of a variant.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) variant: Variant,
    /// An error if this variant cannot hold the table.
    pub(crate) result: Result<Figures>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) bytes: u64,
    pub(crate) write_seconds: f64,
    pub(crate) scan_seconds: f64,
    /// Whether the file reads back as the table; only Staffa files are checked.
    pub(crate) verified: Option<bool>,
}

/// A variant, its file and its times so far.
struct Contender {
    variant: Variant,
    file: Result<Bytes>,
    verified: Option<bool>,
    writes: Vec<f64>,
    scans: Vec<f64>,
}

/// Measures all variants in `runs` rounds; calls `show_step` before each step.
pub(crate) fn measure(
    table: &TableInMemory,
    variants: &[Variant],
    runs: u32,
    show_step: &mut dyn FnMut(&str),
) -> Result<Vec<Measured>> {
    let mut contenders = Vec::with_capacity(variants.len());
    for variant in variants {
        show_step(&format!("{}: first write", variant.name()));
        interrupt::check()?;
        let file = variant.write(table);
        let verified = match (&file, variant) {
            (Ok(file), Variant::Staffa(_)) => Some(round_trips(*variant, file, table)?),
            _ => None,
        };
        contenders.push(Contender {
            variant: *variant,
            file,
            verified,
            writes: Vec::new(),
            scans: Vec::new(),
        });
    }
    for run in 1..=runs {
        for contender in &mut contenders {
            show_step(&format!(
                "round {run} of {runs}: {}",
                contender.variant.name()
            ));
            interrupt::check()?;
            let Ok(file) = &contender.file else { continue };
            contender.writes.push(seconds(|| {
                contender
                    .variant
                    .write(table)
                    .map(|file| drop(black_box(file)))
            })?);
            contender.scans.push(seconds(|| {
                contender.variant.scan(file, |batch| drop(black_box(batch)))
            })?);
        }
    }
    Ok(contenders.into_iter().map(Contender::figures).collect())
}

impl Contender {
    fn figures(mut self) -> Measured {
        let (write_seconds, scan_seconds) = (median(&mut self.writes), median(&mut self.scans));
        let verified = self.verified;
        let figures = |file: Bytes| Figures {
            bytes: file.len() as u64,
            write_seconds,
            scan_seconds,
            verified,
        };
        Measured {
            variant: self.variant,
            result: self.file.map(figures),
        }
    }
}

/// Seconds of one call. Quick work is repeated until the clock can measure it.
fn seconds(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    const MIN_SECONDS: f64 = 0.02;
    const MAX_CALLS: u32 = 1000;
    let start = Clock::now();
    let mut calls = 0;
    loop {
        work()?;
        calls += 1;
        let elapsed = start.elapsed();
        if elapsed >= MIN_SECONDS || calls == MAX_CALLS {
            return Ok((elapsed / f64::from(calls)).max(1e-9));
        }
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    match times {
        [] => f64::NAN,
        _ if times.len() % 2 == 1 => times[middle],
        _ => f64::midpoint(times[middle - 1], times[middle]),
    }
}

/// Reads the file back and compares it with the table; batch sizes may differ.
fn round_trips(variant: Variant, file: &Bytes, table: &TableInMemory) -> Result<bool> {
    let mut expected = table.batches.iter().filter(|batch| batch.num_rows() > 0);
    let mut rest: Option<RecordBatch> = None;
    let mut equal = true;
    variant.scan(file, |mut batch| {
        equal &= batch.schema().fields() == table.schema.fields();
        while equal && batch.num_rows() > 0 {
            let Some(source) = rest.take().or_else(|| expected.next().cloned()) else {
                equal = false;
                return;
            };
            let rows = batch.num_rows().min(source.num_rows());
            equal &= batch.slice(0, rows).columns() == source.slice(0, rows).columns();
            rest = (source.num_rows() > rows).then(|| source.slice(rows, source.num_rows() - rows));
            batch = batch.slice(rows, batch.num_rows() - rows);
        }
    })?;
    Ok(equal && rest.is_none() && expected.next().is_none())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array};
    use parquet::basic::Compression;

    use super::*;

    #[test]
    fn medians() {
        assert!((median(&mut [3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(&mut [4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn a_changed_table_is_noticed() {
        let batch = |values: Vec<f64>| {
            let column: ArrayRef = Arc::new(Float64Array::from(values));
            RecordBatch::try_from_iter([("x", column)]).unwrap()
        };
        let variant = Variant::Parquet(Compression::SNAPPY);
        let table = |batches: Vec<RecordBatch>| TableInMemory::new(batches[0].schema(), batches);
        let ours = table(vec![batch(vec![1.0, f64::NAN]), batch(vec![-0.0])]);
        let file = variant.write(&ours).unwrap();
        assert_eq!((ours.rows, ours.arrow_bytes), (3, 24));
        assert!(round_trips(variant, &file, &ours).unwrap());
        for other in [
            vec![1.0, f64::NAN],
            vec![1.0, f64::NAN, 0.0],
            vec![1.0, f64::NAN, -0.0, 2.0],
        ] {
            assert!(!round_trips(variant, &file, &table(vec![batch(other)])).unwrap());
        }
    }
}
