//! Columns in the names of folders: `year=2024/month=1/part.csv`.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use staffa_lake::table::{Folded, KeyColumns, TableFile, fold};

use crate::error::{Failure, Result};
use crate::formats::ReadOptions;
use crate::formats::scan::ScanOptions;

/// The keys of the files that are still to be read.
#[derive(Default)]
pub(super) struct HiveKeys {
    columns: KeyColumns,
    next: usize,
}

impl HiveKeys {
    /// The keys of all folders of the paths. A column of the files is none, even if a folder has its
    /// name.
    pub(super) fn of(found: &[TableFile], files: &Schema, options: &ReadOptions) -> Self {
        let keys: Vec<_> = found.iter().map(TableFile::keys).collect();
        let is_stored = |name: &str| files.index_of(name).is_ok();
        let columns = KeyColumns::of(&keys, &is_stored, &|name| options.is_text(name));
        Self { columns, next: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.columns.fields().is_empty()
    }

    /// The schema with the key columns behind those of the files.
    pub(super) fn with_columns(&self, files: &SchemaRef) -> SchemaRef {
        if self.is_empty() {
            return files.clone();
        }
        let keys = self.columns.fields().iter().cloned().map(Arc::new);
        let fields: Vec<_> = files.fields().iter().cloned().chain(keys).collect();
        Arc::new(Schema::new_with_metadata(fields, files.metadata().clone()))
    }

    /// The keys of the next file, one row.
    pub(super) fn next_file(&mut self) -> Result<RecordBatch> {
        if self.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::new(Schema::empty())));
        }
        let file = self.next;
        self.next += 1;
        let keys = self.columns.rows(file..file + 1);
        keys.map_err(|_| Failure::internal("a file without its keys"))
    }

    /// Whether the keys of a file exclude all its rows, so that it need not be opened.
    pub(super) fn exclude(&self, keys: &RecordBatch, options: &ScanOptions) -> Result<bool> {
        let Some(filter) = options.filter.as_ref().filter(|_| !self.is_empty()) else {
            return Ok(false);
        };
        let folded = fold(filter, keys, &|_| true);
        let folded = folded.map_err(|error| Failure::usage(format!("--where: {error}")))?;
        Ok(folded == Folded::Never)
    }
}
