//! Tables in files of any format, read and written as record batches.
//!
//! A format is one file here, one line in `Format`, one in `open` and one in `create`.

mod arrow;
pub(crate) mod bad_rows;
pub(crate) mod column_names;
mod csv;
mod exact;
mod format;
mod json;
mod losses;
mod options;
mod parquet;
mod sample;
pub(crate) mod scan;
mod sink;
mod staffa;
mod table;
mod text;
pub(crate) mod text_values;

use std::path::Path;

use arrow_schema::SchemaRef;

use crate::error::{Failure, Result};
use crate::files::input::Input;
use crate::files::output::Output;

pub(crate) use self::csv::CsvDialect;
pub(crate) use self::format::Format;
pub(crate) use self::losses::note_losses;
pub(crate) use self::options::ReadOptions;
pub(crate) use self::parquet::is_of_no_width;
pub(crate) use self::table::{Properties, Sink, Table};

/// Opens a table; text formats infer their schema from the first rows.
pub(crate) fn open(format: Format, input: &Input, options: &ReadOptions) -> Result<Box<dyn Table>> {
    Ok(match format {
        Format::Staffa => Box::new(staffa::StaffaTable::open(input)?),
        Format::Parquet => Box::new(parquet::ParquetTable::open(input)?),
        Format::Csv => Box::new(csv::CsvTable::open(input, options)?),
        Format::Json => Box::new(json::JsonTable::open(input, options)?),
        Format::Arrow => arrow::open(input)?,
        Format::Arrows => arrow::open_stream(input)?,
    })
}

/// Starts a table of any format but Staffa.
pub(crate) fn create(
    format: Format,
    output: Output,
    schema: &SchemaRef,
    csv: &CsvDialect,
) -> Result<Box<dyn Sink>> {
    match format {
        Format::Parquet => parquet::create(output, schema),
        Format::Csv => csv::create(output, schema, csv),
        Format::Json => json::create(output, schema),
        Format::Arrow => arrow::create_file(output, schema),
        Format::Arrows => arrow::create_stream(output, schema),
        Format::Staffa => Err(Failure::internal("Staffa output needs `create_staffa`")),
    }
}

/// Starts a Staffa file at `path`, which may be a stream.
pub(crate) fn create_staffa(
    path: &Path,
    schema: &SchemaRef,
    options: ::staffa::WriteOptions,
) -> Result<Box<dyn Sink>> {
    staffa::create(path, schema, options)
}
