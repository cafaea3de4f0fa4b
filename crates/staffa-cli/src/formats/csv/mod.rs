//! CSV, in and out. Dialect and types are found in the first rows; a later row that does not fit is an
//! error that names it, or is left out on request.

mod dates;
mod dialect;
mod infer;
mod kind;
mod parse;
mod problem;
mod records;
mod rows;
mod schema;
mod sniff;
mod write;

use std::io::Read;
use std::sync::Arc;

use arrow_schema::SchemaRef;

pub(crate) use self::dates::DateOrder;
pub(crate) use self::dialect::CsvDialect;
pub(super) use self::infer::{BEYOND_NANOSECONDS, Observed};
pub(super) use self::parse::{date, moment};
use self::rows::Rows;
pub(crate) use self::write::create;
use super::options::ReadOptions;
use super::sample::Sample;
use super::scan::{Batches, ScanOptions, until_error};
use super::table::Table;
use crate::error::Result;
use crate::files::input::Input;
use crate::terminal::progress::Meter;

/// Bytes that the dialect is found in.
const SNIFFED_BYTES: usize = 1 << 16;

pub(crate) struct CsvTable {
    input: Input,
    dialect: CsvDialect,
    sample: Sample,
    schema: SchemaRef,
    /// The order of day and month of each column.
    dates: Vec<Option<DateOrder>>,
    infer_rows: usize,
}

impl CsvTable {
    pub(crate) fn open(input: &Input, options: &ReadOptions) -> Result<Self> {
        let name = input.name();
        let mut sample = Sample::open(input, options)?;
        let mut start = Vec::new();
        let peeked = sample.peek().map_err(|error| input.io_error(&error))?;
        peeked
            .take(SNIFFED_BYTES as u64)
            .read_to_end(&mut start)
            .map_err(|error| input.io_error(&error))?;
        let dialect = CsvDialect::of_input(input.path(), &start, options);
        let text = sample.peek().map_err(|error| input.io_error(&error))?;
        let columns = schema::infer(&name, text, &dialect, options)?;
        Ok(Self {
            input: input.clone(),
            dialect,
            sample,
            schema: Arc::new(columns.schema),
            dates: columns.dates,
            infer_rows: options.infer_rows,
        })
    }
}

impl Table for CsvTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn scan(
        self: Box<Self>,
        schema: SchemaRef,
        options: &ScanOptions,
        meter: Meter,
    ) -> Result<Batches> {
        let projection = options.projection(&schema)?;
        let text = self.sample.into_reader(&self.input, meter)?;
        let mut rows = Rows::new(self.input.name(), text, self.dialect, schema, self.dates);
        rows.projection = projection;
        rows.infer_rows = self.infer_rows;
        rows.bad_rows.clone_from(&options.bad_rows);
        let batches = std::iter::from_fn(move || rows.next_batch().transpose());
        Ok(options.apply(until_error(batches)))
    }
}

#[cfg(test)]
mod tests;
