//! Open files: schema, statistics, and whether a filter excludes them.

use std::ops::Range;

use arrow_schema::{Schema, SchemaRef};
use staffa::{File, Predicate};

use crate::error::Result;
use crate::filter;
use crate::scan::BatchScan;
use crate::types::spark_schema;

/// A file, and its name in messages.
pub(crate) struct OpenFile {
    pub file: File,
    pub name: String,
}

/// What a scan reads.
pub(crate) struct Request {
    /// Columns in Spark's types.
    pub schema: SchemaRef,
    pub filter: Option<String>,
    /// Row groups that begin in these bytes.
    pub bytes: Range<u64>,
    pub batch_rows: usize,
    /// Whether names that differ in case alone are the same.
    pub any_case: bool,
}

impl OpenFile {
    /// The columns in Spark's types.
    pub(crate) fn schema(&self) -> Result<Schema> {
        spark_schema(self.file.schema(), &self.name)
    }

    /// The text of a key of the file's metadata.
    pub(crate) fn metadata(&self, key: &str) -> Result<Option<String>> {
        let mut all = self.file.metadata()?;
        let value = all.remove(key);
        Ok(value.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// Bytes of all values, decoded; `None` where the writer left statistics out.
    pub(crate) fn decoded_bytes(&self) -> Result<Option<u64>> {
        let leaves = self.file.statistics()?;
        let bytes = leaves.iter().map(|leaf| leaf.decoded_bytes);
        Ok((!leaves.is_empty()).then(|| bytes.sum()))
    }

    /// Whether some row may match a filter, by the statistics in the footer.
    pub(crate) fn may_match(&self, filter: &str, any_case: bool) -> Result<bool> {
        let predicate = filter::of_file(filter, self.file.schema(), any_case)?;
        let may_match = |filter: &Predicate| self.file.may_match(filter);
        Ok(predicate.as_ref().map_or(Ok(true), may_match)?)
    }

    pub(crate) fn scan(&self, request: &Request) -> Result<BatchScan> {
        BatchScan::new(self, request)
    }
}
