//! Columns in the names of folders: `year=2024/month=1/part.csv`.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use staffa_lake::table::{Folded, KeyColumns, TableFile, fold};

use crate::error::{Failure, Result};
use crate::formats::ReadOptions;
use crate::formats::scan::{Batches, ScanOptions};

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

    /// The options for a file with these keys: what they leave of the filter. `None` if no row of the
    /// file can match.
    pub(super) fn fold(
        &self,
        keys: &RecordBatch,
        options: &ScanOptions,
    ) -> Result<Option<ScanOptions>> {
        let mut options = options.clone();
        let Some(filter) = options.filter.take_if(|_| !self.is_empty()) else {
            return Ok(Some(options));
        };
        let folded = fold(&filter, keys, &|_| true);
        let folded = folded.map_err(|error| Failure::usage(format!("--where: {error}")))?;
        options.filter = match folded {
            Folded::Never => return Ok(None),
            Folded::Always => None,
            Folded::Rest { by, .. } => Some(by),
            Folded::Unknown => Some(filter),
        };
        Ok(Some(options))
    }

    /// What is read of each file: no keys.
    pub(super) fn inner_options(&self, files: &Schema, options: &ScanOptions) -> ScanOptions {
        let mut inner = options.clone();
        let Some(columns) = inner.columns.as_mut().filter(|_| !self.is_empty()) else {
            return inner;
        };
        let is_key = |name: &String| {
            self.columns
                .fields()
                .iter()
                .any(|field| field.name() == name)
        };
        columns.retain(|name| !is_key(name));
        if columns.is_empty() {
            // Of one column, to know the number of rows.
            columns.extend(files.fields().first().map(|field| field.name().clone()));
        }
        inner
    }

    /// The batches of a file with its keys, in the columns of `options`.
    pub(super) fn add(
        &self,
        keys: RecordBatch,
        batches: Batches,
        options: &ScanOptions,
    ) -> Batches {
        if self.is_empty() {
            return batches;
        }
        let with_keys = batches.map(move |batch| {
            let batch = batch?;
            let (schema, own) = (batch.schema(), keys.schema());
            let fields = schema.fields().iter().chain(own.fields()).cloned();
            let schema = Schema::new(fields.collect::<Vec<_>>());
            let mut columns = batch.columns().to_vec();
            for key in keys.columns() {
                columns.push(repeated(key, batch.num_rows())?);
            }
            let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(Arc::new(schema), columns, &rows)
                .map_err(|error| Failure::arrow("the names of folders", &error))
        });
        let columns = ScanOptions {
            columns: options.columns.clone(),
            ..ScanOptions::default()
        };
        columns.apply(Box::new(with_keys))
    }
}

/// A value, `rows` times.
fn repeated(value: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    let indices = arrow_array::UInt32Array::from(vec![0; rows]);
    arrow_select::take::take(value, &indices, None)
        .map_err(|error| Failure::arrow("the names of folders", &error))
}
