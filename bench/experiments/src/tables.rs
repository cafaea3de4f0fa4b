//! Tables in, files in memory, CPU time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use staffa::WriteOptions;

use crate::Result;

/// A table in memory.
pub struct Table {
    pub name: String,
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

/// The Parquet files of a folder, or the one file.
pub fn files(folder: &str) -> Result<Vec<PathBuf>> {
    let folder = Path::new(folder);
    if folder.is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let paths = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = paths.collect::<Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|e| e == "parquet"));
    paths.sort();
    Ok(paths)
}

impl Table {
    /// At most this number of rows of a Parquet file.
    pub fn read(path: &Path, rows: usize) -> Result<Self> {
        Self::read_columns(path, &[], rows)
    }

    /// Some of its columns; all where none are named.
    pub fn read_columns(path: &Path, names: &[&str], rows: usize) -> Result<Self> {
        let mut reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
        if !names.is_empty() {
            let columns = ProjectionMask::columns(reader.parquet_schema(), names.iter().copied());
            reader = reader.with_projection(columns);
        }
        let batches = reader.with_batch_size(1 << 16).with_limit(rows).build()?;
        let schema = batches.schema();
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(Self {
            name,
            schema,
            batches: batches.collect::<std::result::Result<_, _>>()?,
        })
    }

    /// The columns whose type is wanted; `None` where there are none.
    pub fn of(&self, wanted: impl Fn(&DataType) -> bool) -> Result<Option<Self>> {
        let fields = self.schema.fields().iter().enumerate();
        let columns: Vec<usize> = fields
            .filter(|(_, f)| wanted(f.data_type()))
            .map(|(i, _)| i)
            .collect();
        if columns.is_empty() {
            return Ok(None);
        }
        let batches = self.batches.iter().map(|batch| batch.project(&columns));
        let batches = batches.collect::<std::result::Result<_, _>>()?;
        Ok(Some(Self {
            name: self.name.clone(),
            schema: self.schema.project(&columns)?.into(),
            batches,
        }))
    }

    /// What the table takes as Arrow.
    pub fn arrow_bytes(&self) -> usize {
        let columns = self.batches.iter().flat_map(RecordBatch::columns);
        columns
            .map(|column| column.to_data().get_slice_memory_size().unwrap_or(0))
            .sum()
    }

    /// Writes the table; the file, and CPU seconds.
    pub fn write(&self, options: &WriteOptions) -> Result<(Vec<u8>, f64)> {
        let start = cpu();
        let bytes = staffa::to_bytes(self.schema.clone(), &self.batches, options.clone())?;
        Ok((bytes, (cpu() - start).as_secs_f64()))
    }
}

/// Options of an experiment: one thread, nothing verified, all else as ever.
pub fn options() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.threads = Some(1);
    options.verify = false;
    options
}

/// CPU seconds of a whole scan into memory that is used again, the least of some rounds.
pub fn scan(bytes: &[u8], rounds: usize) -> Result<f64> {
    let file = staffa::File::from_bytes(bytes.to_vec())?;
    let mut best = f64::MAX;
    for _ in 0..rounds {
        let start = cpu();
        let mut rows = 0;
        for batch in file.scan().threads(Some(1)).reader()? {
            rows += batch?.num_rows() as u64;
        }
        best = best.min((cpu() - start).as_secs_f64());
        assert_eq!(rows, file.num_rows());
    }
    Ok(best)
}

/// CPU seconds of something, the least of some rounds, and what it gave.
pub fn least<T>(rounds: usize, mut run: impl FnMut() -> Result<T>) -> Result<(T, f64)> {
    let (mut out, mut best) = (None, f64::MAX);
    for _ in 0..rounds {
        let start = cpu();
        out = Some(run()?);
        best = best.min((cpu() - start).as_secs_f64());
    }
    Ok((out.ok_or("no round")?, best))
}

/// Something to measure.
pub type Run<'a> = Box<dyn Fn() -> Result<()> + 'a>;

/// CPU seconds of each, the medians of some rounds. All take turns: what disturbs the machine for a
/// while does not fall on one of them. At its turn each runs twice and the second time counts: none
/// finds the processor's caches as another left them.
pub fn medians(rounds: usize, runs: &[Run<'_>]) -> Result<Vec<f64>> {
    let mut times = vec![Vec::new(); runs.len()];
    for _ in 0..rounds {
        for (run, times) in runs.iter().zip(&mut times) {
            run()?;
            let start = cpu();
            run()?;
            times.push((cpu() - start).as_secs_f64());
        }
    }
    times
        .iter_mut()
        .for_each(|times| times.sort_by(f64::total_cmp));
    Ok(times.iter().map(|times| times[rounds / 2]).collect())
}

/// Something short to measure, again and again.
pub type Turn<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

/// As [`medians`], of what takes far less than a clock can tell: at its turn each runs for at least
/// so many seconds. The seconds of one run.
pub fn turns(rounds: usize, least: f64, mut runs: Vec<Turn<'_>>) -> Result<Vec<f64>> {
    let mut repeats = Vec::new();
    for run in &mut runs {
        let mut times = 1;
        loop {
            let start = cpu();
            (0..times).try_for_each(|_| run())?;
            let spent = (cpu() - start).as_secs_f64();
            if spent >= least {
                break repeats.push(times);
            }
            times = if spent < least / 100.0 {
                times * 10
            } else {
                (times as f64 * 1.2 * least / spent) as usize + 1
            };
        }
    }
    let mut found = vec![Vec::new(); runs.len()];
    for _ in 0..rounds {
        for ((run, times), found) in runs.iter_mut().zip(&repeats).zip(&mut found) {
            run()?;
            let start = cpu();
            (0..*times).try_for_each(|_| run())?;
            found.push((cpu() - start).as_secs_f64() / *times as f64);
        }
    }
    found
        .iter_mut()
        .for_each(|found| found.sort_by(f64::total_cmp));
    Ok(found.iter().map(|found| found[rounds / 2]).collect())
}

/// Numbers that look random (SplitMix64): the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Below a bound far smaller than 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// CPU time of this process.
pub fn cpu() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The class of a column's type.
pub fn class(ty: &DataType) -> &'static str {
    match ty {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "string",
        DataType::Float64 | DataType::Float32 | DataType::Float16 => "double",
        ty if ty.is_integer() => "integer",
        ty if ty.is_temporal() => "date and time",
        DataType::Boolean => "boolean",
        DataType::Decimal128(..) | DataType::Decimal256(..) => "decimal",
        _ => "nested",
    }
}

impl Table {
    /// One column.
    pub fn only(&self, column: &str) -> Result<Option<Self>> {
        let Ok(at) = self.schema.index_of(column) else {
            return Ok(None);
        };
        let batches = self.batches.iter().map(|batch| batch.project(&[at]));
        let batches = batches.collect::<std::result::Result<_, _>>()?;
        Ok(Some(Self {
            name: self.name.clone(),
            schema: self.schema.project(&[at])?.into(),
            batches,
        }))
    }
}
