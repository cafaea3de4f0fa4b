//! The measure of `staffa bench`: one table in memory, written and scanned on one core as Staffa
//! and as Parquet.
//!
//! The variants take turns within a round, so that a machine that slows down disturbs all of them
//! alike, and the median of the rounds counts. Nothing touches a disk: what is measured is encoding
//! and decoding.

use std::hint::black_box;
use std::time::Instant;

use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use staffa::Profile;

use crate::error::{Failure, Result};
use crate::terminal::interrupt;

/// A table in memory.
pub(crate) struct TableInMemory {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) rows: u64,
    pub(crate) arrow_bytes: u64,
}

impl TableInMemory {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
        let arrow_bytes = batches.iter().map(arrow_bytes).sum();
        Self {
            schema,
            batches,
            rows,
            arrow_bytes,
        }
    }
}

/// Bytes of the values, offsets and validity of a batch, without what its buffers hold beyond its
/// slice.
pub(crate) fn arrow_bytes(batch: &RecordBatch) -> u64 {
    let size = |column: &dyn Array| {
        column
            .to_data()
            .get_slice_memory_size()
            .unwrap_or(column.get_array_memory_size())
    };
    batch
        .columns()
        .iter()
        .map(|column| size(column) as u64)
        .sum()
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    Staffa(Profile),
    Parquet(Compression),
}

impl Variant {
    /// The Parquet files that people write.
    pub(crate) fn parquet() -> Result<[Self; 3]> {
        let level = ZstdLevel::try_new(3).map_err(|error| Failure::parquet("bench", &error))?;
        Ok([
            Self::Parquet(Compression::ZSTD(level)),
            Self::Parquet(Compression::SNAPPY),
            Self::Parquet(Compression::UNCOMPRESSED),
        ])
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Staffa(profile) => format!("staffa {profile}"),
            Self::Parquet(Compression::ZSTD(_)) => "parquet zstd-3".into(),
            Self::Parquet(Compression::SNAPPY) => "parquet snappy".into(),
            Self::Parquet(_) => "parquet uncompressed".into(),
        }
    }

    fn write(self, table: &TableInMemory) -> Result<Bytes> {
        match self {
            Self::Staffa(profile) => {
                let mut options = staffa::WriteOptions::default();
                options.profile = profile;
                options.threads = Some(1);
                let bytes = staffa::to_bytes(table.schema.clone(), &table.batches, options);
                bytes
                    .map(Bytes::from)
                    .map_err(|error| Failure::staffa("bench".as_ref(), error))
            }
            Self::Parquet(compression) => {
                let properties = WriterProperties::builder()
                    .set_compression(compression)
                    .build();
                let run = || {
                    let mut writer =
                        ArrowWriter::try_new(Vec::new(), table.schema.clone(), Some(properties))?;
                    for batch in &table.batches {
                        writer.write(batch)?;
                    }
                    writer.into_inner()
                };
                run()
                    .map(Bytes::from)
                    .map_err(|error| Failure::parquet("bench", &error))
            }
        }
    }

    /// Every column and row, decoded; `each` gets the batches.
    fn scan(self, file: &Bytes, mut each: impl FnMut(RecordBatch)) -> Result<()> {
        match self {
            Self::Staffa(_) => {
                let mut run = || -> staffa::Result<()> {
                    let file = staffa::File::from_bytes(file.clone())?;
                    file.scan()
                        .threads(Some(1))
                        .reader()?
                        .try_for_each(|batch| batch.map(&mut each))
                };
                run().map_err(|error| Failure::staffa("bench".as_ref(), error))
            }
            Self::Parquet(_) => {
                // As many rows as most engines ask for at once.
                let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone());
                let reader = builder.and_then(|builder| builder.with_batch_size(8192).build());
                let mut reader = reader.map_err(|error| Failure::parquet("bench", &error))?;
                reader
                    .try_for_each(|batch| batch.map(&mut each))
                    .map_err(|error| Failure::arrow("bench", &error))
            }
        }
    }
}

/// What a variant came to.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) variant: Variant,
    /// Or why this table cannot be written so.
    pub(crate) result: Result<Figures>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) bytes: u64,
    pub(crate) write_seconds: f64,
    pub(crate) scan_seconds: f64,
    /// Whether the table came back as it was; asked of Staffa only.
    pub(crate) verified: Option<bool>,
}

/// A variant at work: its file and its times so far.
struct Contender {
    variant: Variant,
    file: Result<Bytes>,
    verified: Option<bool>,
    writes: Vec<f64>,
    scans: Vec<f64>,
}

/// Measures all variants in `runs` rounds; `tell` is called before each step.
pub(crate) fn measure(
    table: &TableInMemory,
    variants: &[Variant],
    runs: u32,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Measured>> {
    let mut contenders = Vec::with_capacity(variants.len());
    for variant in variants {
        tell(&format!("{}: first write", variant.name()));
        interrupt::check()?;
        let file = variant.write(table);
        let verified = match (&file, variant) {
            (Ok(file), Variant::Staffa(_)) => Some(comes_back(*variant, file, table)?),
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
            tell(&format!(
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

/// Seconds of one call; what is quick is called again until the clock can tell.
fn seconds(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    const ENOUGH: f64 = 0.02;
    const MOST: u32 = 1000;
    let start = Clock::now();
    let mut calls = 0;
    loop {
        work()?;
        calls += 1;
        let elapsed = start.elapsed();
        if elapsed >= ENOUGH || calls == MOST {
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

/// Reads the file back and compares it with the table, whatever the sizes of the batches.
fn comes_back(variant: Variant, file: &Bytes, table: &TableInMemory) -> Result<bool> {
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

/// CPU time of the process where the system tells it, which other programs cannot disturb much;
/// time on the wall elsewhere.
struct Clock {
    wall: Instant,
    cpu: Option<f64>,
}

impl Clock {
    fn now() -> Self {
        Self {
            wall: Instant::now(),
            cpu: cpu_seconds(),
        }
    }

    fn elapsed(&self) -> f64 {
        match (self.cpu, cpu_seconds()) {
            (Some(before), Some(now)) => now - before,
            _ => self.wall.elapsed().as_secs_f64(),
        }
    }
}

/// Which clock `measure` reads.
pub(crate) fn clock_name() -> &'static str {
    if cpu_seconds().is_some() {
        "cpu"
    } else {
        "wall"
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "not every system tells")]
fn cpu_seconds() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

#[cfg(not(unix))]
fn cpu_seconds() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array};

    use super::*;

    #[test]
    fn medians() {
        assert!((median(&mut [3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(&mut [4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
        assert!(median(&mut []).is_nan());
    }

    #[test]
    fn a_table_that_changed_is_noticed() {
        let batch = |values: Vec<f64>| {
            let column: ArrayRef = Arc::new(Float64Array::from(values));
            RecordBatch::try_from_iter([("x", column)]).unwrap()
        };
        let variant = Variant::Parquet(Compression::SNAPPY);
        let table = |batches: Vec<RecordBatch>| TableInMemory::new(batches[0].schema(), batches);
        let ours = table(vec![batch(vec![1.0, f64::NAN]), batch(vec![-0.0])]);
        let file = variant.write(&ours).unwrap();
        assert_eq!((ours.rows, ours.arrow_bytes), (3, 24));
        assert!(comes_back(variant, &file, &ours).unwrap());
        for other in [
            vec![1.0, f64::NAN],
            vec![1.0, f64::NAN, 0.0],
            vec![1.0, f64::NAN, -0.0, 2.0],
        ] {
            assert!(!comes_back(variant, &file, &table(vec![batch(other)])).unwrap());
        }
    }
}
