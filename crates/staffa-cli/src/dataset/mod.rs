//! A dataset: several files of one schema, read as one table.

mod source;
mod unify;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use self::source::Source;
use self::unify::UnifiedSchema;
use crate::error::{Failure, Result};
use crate::formats::scan::{Batches, ScanOptions};
use crate::formats::{self, ReadOptions, Table};
use crate::terminal::interrupt;
use crate::terminal::progress::Meter;

/// Files that stay open between `open` and `scan`; of thousands of files the rest are opened again.
const MAX_OPEN: usize = 32;

/// Files of one schema.
pub(crate) struct Dataset {
    files: Files,
    pub(crate) schema: SchemaRef,
    /// Rows of all files, if every file stores its number.
    pub(crate) rows: Option<u64>,
    /// Bytes of all files, if none is a pipe.
    pub(crate) bytes: Option<u64>,
}

/// The files that are still to be read.
struct Files {
    queue: VecDeque<(Source, Option<Box<dyn Table>>)>,
    options: ReadOptions,
}

impl Dataset {
    /// Opens every file and unifies their schemas; wildcards are expanded before.
    pub(crate) fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Self> {
        let mut queue = VecDeque::new();
        let mut unified: Option<UnifiedSchema> = None;
        let (mut rows, mut bytes) = (Some(0), Some(0));
        for path in paths {
            let source = Source::new(path, options)?;
            let table = formats::open(source.format, &source.input, options)?;
            let byte_len = source.input.byte_len();
            rows = rows.zip(table.rows()).map(|(sum, more)| sum + more);
            bytes = bytes.zip(byte_len).map(|(sum, more)| sum + more);
            match &mut unified {
                None => unified = Some(UnifiedSchema::new(&source, &table.schema())),
                Some(unified) => unified.add(&source, &table.schema())?,
            }
            // A pipe cannot be opened again.
            let keep_open = queue.len() < MAX_OPEN || byte_len.is_none();
            queue.push_back((source, keep_open.then_some(table)));
        }
        let schema = unified.map_or_else(Schema::empty, UnifiedSchema::finish);
        Ok(Self {
            files: Files {
                queue,
                options: options.clone(),
            },
            schema: Arc::new(schema),
            rows,
            bytes,
        })
    }

    /// Reads the rows and columns of `options`; returns their schema and batches.
    pub(crate) fn scan(self, options: &ScanOptions, meter: &Meter) -> Result<(SchemaRef, Batches)> {
        let output = options.check(&self.schema)?;
        let scan = Scan {
            files: self.files,
            schema: self.schema,
            output: output.clone(),
            options: options.clone(),
            meter: meter.clone(),
            current: None,
        };
        Ok((output, Box::new(scan)))
    }
}

impl Files {
    fn open_next(&mut self) -> Result<Option<Box<dyn Table>>> {
        match self.queue.pop_front() {
            None => Ok(None),
            Some((_, Some(table))) => Ok(Some(table)),
            Some((source, None)) => {
                formats::open(source.format, &source.input, &self.options).map(Some)
            }
        }
    }
}

/// The batches of all files, one file after the other.
struct Scan {
    files: Files,
    schema: SchemaRef,
    output: SchemaRef,
    /// With the remaining limit.
    options: ScanOptions,
    meter: Meter,
    current: Option<Batches>,
}

impl Scan {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            interrupt::check()?;
            if self.options.limit == Some(0) {
                return Ok(None);
            }
            if let Some(batch) = self.current.as_mut().and_then(Iterator::next).transpose()? {
                if let Some(limit) = &mut self.options.limit {
                    *limit = limit.saturating_sub(batch.num_rows() as u64);
                }
                return self.with_output_schema(&batch).map(Some);
            }
            let Some(table) = self.files.open_next()? else {
                return Ok(None);
            };
            self.current =
                Some(table.scan(self.schema.clone(), &self.options, self.meter.clone())?);
        }
    }

    /// The files may differ in metadata and nullability.
    fn with_output_schema(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        RecordBatch::try_new_with_options(self.output.clone(), columns, &options)
            .map_err(|error| Failure::arrow("the input", &error))
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}
