//! Tables in files of any format: open one as record batches, write one from record batches.
//!
//! A format is one file here, one line in `Format`, one in `open` and one in `create`.

mod arrow;
mod csv;
mod json;
mod parquet;
mod sample;
pub(crate) mod scan;
mod staffa;

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use clap::ValueEnum;

use crate::cli::Reading;
use crate::dataset::Input;
use crate::error::{Failure, Result};
use crate::files::output::{Output, STANDARD};
use crate::formats::scan::Wanted;
use crate::terminal::progress::Meter;

pub(crate) use self::csv::CsvOptions;

/// Rows of a batch that a reader hands out, where the file does not decide.
pub(crate) const BATCH_ROWS: usize = 8192;

/// A file format by the name that `--from` and `--to` take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Staffa,
    Parquet,
    Csv,
    #[value(aliases = ["jsonl", "ndjson"])]
    Json,
    #[value(aliases = ["feather", "ipc"])]
    Arrow,
    Arrows,
}

impl Format {
    const ENDINGS: [(&str, Self); 13] = [
        ("staffa", Self::Staffa),
        ("parquet", Self::Parquet),
        ("pq", Self::Parquet),
        ("csv", Self::Csv),
        ("tsv", Self::Csv),
        ("jsonl", Self::Json),
        ("ndjson", Self::Json),
        ("json", Self::Json),
        ("arrow", Self::Arrow),
        ("feather", Self::Arrow),
        ("ipc", Self::Arrow),
        ("arrows", Self::Arrows),
        ("stream", Self::Arrows),
    ];

    /// By the end of the file's name, unless told.
    pub(crate) fn of(path: &Path, told: Option<Self>, option: &str) -> Result<Self> {
        if let Some(format) = told {
            return Ok(format);
        }
        if path == Path::new(STANDARD) {
            return Err(Failure::usage(format!(
                "`-` needs a format: say {option} csv, for example"
            )));
        }
        let ending = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        Self::ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, format)| *format).ok_or_else(|| {
            Failure::usage(format!(
                "{}: the name does not say which format this is; end it in .staffa, .parquet, .csv, .jsonl or .arrow, or \
                 say {option} FORMAT",
                path.display()
            ))
        })
    }

    /// Whether types are guessed from text.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Json)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Staffa => "Staffa",
            Self::Parquet => "Parquet",
            Self::Csv => "CSV",
            Self::Json => "JSON lines",
            Self::Arrow => "Arrow file",
            Self::Arrows => "Arrow stream",
        }
    }
}

/// Record batches, one after the other.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// An open table of any format.
pub(crate) trait Table: Send {
    /// All columns of the file. Types that were guessed from text may still be `Null`, which fits
    /// any other.
    fn schema(&self) -> SchemaRef;

    /// How many rows, where the file says so.
    fn rows(&self) -> Option<u64>;

    /// The wanted rows and columns. `schema` is what the inputs agreed on: text is parsed to it.
    fn scan(self: Box<Self>, schema: SchemaRef, wanted: &Wanted, meter: Meter) -> Result<Batches>;
}

/// Opens what `input` names. For text, this looks at the first rows.
pub(crate) fn open(input: &Input, reading: &Reading) -> Result<Box<dyn Table>> {
    Ok(match input.format {
        Format::Staffa => Box::new(staffa::StaffaTable::open(input)?),
        Format::Parquet => Box::new(parquet::ParquetTable::open(input)?),
        Format::Csv => Box::new(csv::CsvTable::open(input, reading)?),
        Format::Json => Box::new(json::JsonTable::open(input, reading)?),
        Format::Arrow | Format::Arrows => arrow::open(input)?,
    })
}

/// A table that is being written. Dropped before `finish`, nothing remains of it.
pub(crate) trait Sink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Returns the bytes of the file.
    fn finish(self: Box<Self>) -> Result<u64>;
}

/// Starts a table of any format but Staffa in `output`.
pub(crate) fn create(
    format: Format,
    output: Output,
    schema: &SchemaRef,
    csv: &CsvOptions,
) -> Result<Box<dyn Sink>> {
    match format {
        Format::Parquet => parquet::create(output, schema),
        Format::Csv => csv::create(output, schema, csv),
        Format::Json => Ok(json::create(output)),
        Format::Arrow => arrow::create_file(output, schema),
        Format::Arrows => arrow::create_stream(output, schema),
        Format::Staffa => Err(Failure::unsupported("Staffa is written by its own writer")),
    }
}

/// Starts a Staffa file at `path`, which may be the standard output.
pub(crate) fn create_staffa(
    path: &Path,
    schema: &SchemaRef,
    options: ::staffa::WriteOptions,
) -> Result<Box<dyn Sink>> {
    staffa::create(path, schema, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_name_or_by_option() {
        let of = |path: &str, told| Format::of(Path::new(path), told, "--from").ok();
        assert_eq!(of("a.b.PARQUET", None), Some(Format::Parquet));
        assert_eq!(of("a.ndjson", None), Some(Format::Json));
        assert_eq!(of("a.txt", None), None);
        assert_eq!(of("a.txt", Some(Format::Csv)), Some(Format::Csv));
        assert_eq!(of("-", None), None);
    }
}
