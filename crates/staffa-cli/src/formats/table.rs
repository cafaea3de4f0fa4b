//! The two traits of a format: a table that is read, and one that is written.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use staffa::SortKey;

use super::scan::{Batches, ScanOptions};
use crate::error::Result;
use crate::terminal::progress::Meter;

/// Rows of a batch, if the file does not decide.
pub(crate) const BATCH_ROWS: usize = 8192;

/// What a file says of its table beside the rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Properties {
    pub(crate) metadata: BTreeMap<String, Vec<u8>>,
    pub(crate) sort_order: Vec<SortKey>,
}

/// An open table of any format.
pub(crate) trait Table: Send {
    /// All columns of the file. A type inferred from text is `Null` as long as no value was seen.
    fn schema(&self) -> SchemaRef;

    /// The number of rows, if the file stores it.
    fn rows(&self) -> Option<u64> {
        None
    }

    /// Metadata and declared order, where they do not stand in the schema.
    fn properties(&self) -> Result<Properties> {
        Ok(Properties::default())
    }

    /// Reads the rows and columns of `options`; text is parsed as `schema`.
    fn scan(
        self: Box<Self>,
        schema: SchemaRef,
        options: &ScanOptions,
        meter: Meter,
    ) -> Result<Batches>;
}

/// A table that is being written; a drop before `finish` removes it.
pub(crate) trait Sink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// The bytes that are encoded and written so far, if rows wait in memory until there are enough.
    fn encoded_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns the number of bytes written.
    fn finish(self: Box<Self>) -> Result<u64>;
}
