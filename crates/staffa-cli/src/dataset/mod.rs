//! A dataset: several files of one schema, read as one table.

mod carried;
mod hive;
mod one_file;
mod source;
mod unify;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use staffa_lake::table::TableFile;

pub(crate) use self::carried::Carried;
use self::hive::HiveKeys;
use self::one_file::OneFile;
use self::source::Source;
use self::unify::unified;
use crate::error::{Exit, Failure, Result};
use crate::files::input::find;
use crate::formats::bad_rows::BadRows;
use crate::formats::scan::{Batches, ScanOptions, find_column};
use crate::formats::{self, Format, ReadOptions, Table};
use crate::terminal::progress::{Meter, Progress};
use crate::terminal::{interrupt, note};

/// Files that stay open between `open` and `scan`; of thousands of files the rest are opened again.
const MAX_OPEN: usize = 32;

/// Files of one schema.
pub(crate) struct Dataset {
    files: Files,
    /// The columns of the files, then those of the names of their folders.
    pub(crate) schema: SchemaRef,
    /// Rows of all files, if every file stores its number.
    pub(crate) rows: Option<u64>,
    /// Bytes of all files, if none is a pipe.
    pub(crate) bytes: Option<u64>,
    /// What files keep beside their rows: an error stops who copies it, not who reads rows.
    carried: Result<Carried>,
}

/// The files that are still to be read.
struct Files {
    queue: VecDeque<(Source, Option<Box<dyn Table>>)>,
    options: ReadOptions,
    /// The columns of the files alone.
    schema: SchemaRef,
    keys: HiveKeys,
}

/// The files that paths, folders and wildcards name.
pub(crate) fn discover(paths: &[PathBuf], options: &ReadOptions) -> Result<Vec<TableFile>> {
    let is_data = |path: &Path| options.from.is_some() || Format::is_known(path);
    find(paths, &is_data)
}

impl Dataset {
    /// The metadata and the declared order of the files, to be copied.
    pub(crate) fn take_carried(&mut self) -> Result<Carried> {
        std::mem::replace(&mut self.carried, Ok(Carried::default()))
    }

    /// Opens every file and unifies their schemas; folders and wildcards name several.
    pub(crate) fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Self> {
        Self::of_files(&discover(paths, options)?, options)
    }

    /// Opens every file that was found and unifies their schemas.
    pub(crate) fn of_files(files: &[TableFile], options: &ReadOptions) -> Result<Self> {
        let (mut queue, mut kept) = (VecDeque::new(), Vec::new());
        let mut schemas = Vec::new();
        let (mut rows, mut bytes) = (Some(0), Some(0));
        let mut carried = Ok(Carried::default());
        for file in files {
            let source = Source::new(file, options)?;
            let table = match formats::open(source.format, &source.input, options) {
                Err(failure) if options.skip_damaged && failure.exit == Exit::Data => {
                    note(&format!("{}: the file is left out", failure.message));
                    continue;
                }
                opened => opened?,
            };
            kept.push(file.clone());
            carried = carried.and_then(|mut carried: Carried| {
                carried.add(table.properties()?);
                Ok(carried)
            });
            let byte_len = source.input.byte_len();
            rows = rows.zip(table.rows()).map(|(sum, more)| sum + more);
            bytes = bytes.zip(byte_len).map(|(sum, more)| sum + more);
            schemas.push((source.clone(), table.schema()));
            // A pipe cannot be opened again.
            let keep_open = queue.len() < MAX_OPEN || byte_len.is_none();
            queue.push_back((source, keep_open.then_some(table)));
        }
        if kept.is_empty() && !files.is_empty() {
            return Err(Failure::data("all files are damaged: none is left to read"));
        }
        let schema = Arc::new(unified(&schemas)?);
        let keys = if options.no_hive {
            HiveKeys::default()
        } else {
            HiveKeys::of(&kept, &schema, options)
        };
        for column in options.text_columns() {
            find_column(&keys.with_columns(&schema), column)?;
        }
        Ok(Self {
            schema: keys.with_columns(&schema),
            files: Files {
                queue,
                options: options.clone(),
                schema,
                keys,
            },
            rows,
            bytes,
            carried,
        })
    }

    /// Whether `ScanOptions::skip` may be set.
    pub(crate) fn can_skip(&self) -> bool {
        let mut formats = self.files.queue.iter().map(|(source, _)| source.format);
        let skips = |format| matches!(format, Format::Staffa | Format::Parquet);
        self.files.queue.len() == 1 && self.files.keys.is_empty() && formats.all(skips)
    }

    /// Names of the files, and the number of their rows that `options` keep.
    pub(crate) fn count(
        mut self,
        options: &ScanOptions,
        progress: &Progress,
    ) -> Result<Vec<(String, u64)>> {
        options.check(&self.schema)?;
        let (options, meter) = (self.files.with_bad_rows(options)?, progress.meter());
        let (mut counts, mut total) = (Vec::new(), 0);
        while let Some((source, batches)) = self.files.scan_file(&options, &meter)? {
            let before = total;
            for batch in batches.into_iter().flatten() {
                let batch = batch?;
                total += batch.num_rows() as u64;
                progress.batch(&batch, total, false);
            }
            counts.push((source.name(), total - before));
        }
        Ok(counts)
    }

    /// Reads the rows and columns of `options`; returns their schema and batches.
    pub(crate) fn scan(self, options: &ScanOptions, meter: &Meter) -> Result<(SchemaRef, Batches)> {
        let output = options.check(&self.schema)?;
        let scan = Scan {
            options: self.files.with_bad_rows(options)?,
            files: self.files,
            output: output.clone(),
            meter: meter.clone(),
            current: None,
        };
        Ok((output, Box::new(scan)))
    }
}

impl Files {
    fn with_bad_rows(&self, options: &ScanOptions) -> Result<ScanOptions> {
        let mut options = options.clone();
        if let Some(path) = &self.options.skip_bad_rows {
            options.bad_rows = Some(BadRows::create(path)?);
        }
        Ok(options)
    }

    /// The batches of the next file that may have rows.
    fn scan_next(&mut self, options: &ScanOptions, meter: &Meter) -> Result<Option<Batches>> {
        while let Some((_, batches)) = self.scan_file(options, meter)? {
            if batches.is_some() {
                return Ok(batches);
            }
        }
        Ok(None)
    }

    /// The next file, and its batches; no batches if none of its rows can match.
    fn scan_file(
        &mut self,
        options: &ScanOptions,
        meter: &Meter,
    ) -> Result<Option<(Source, Option<Batches>)>> {
        let Some((source, table)) = self.queue.pop_front() else {
            return Ok(None);
        };
        let keys = self.keys.next_file()?;
        let table = match table {
            Some(table) => table,
            None if self.keys.exclude(&keys, options)? => return Ok(Some((source, None))),
            None => formats::open(source.format, &source.input, &self.options)?,
        };
        let own = table.schema();
        let file = OneFile {
            name: source.name(),
            all: self.keys.with_columns(&self.schema),
            // Text is parsed as the type that holds the values of all files.
            own: if source.format.is_text() {
                self.schema_of(&own)
            } else {
                own
            },
            keys,
        };
        let batches = file.scan(table, options, meter.clone())?;
        Ok(Some((source, batches)))
    }

    /// The columns of a file in its own order, with the types that hold the values of all files.
    fn schema_of(&self, file: &Schema) -> SchemaRef {
        if is_in_order(file, &self.schema) {
            return self.schema.clone();
        }
        let fields = file.fields().iter().map(|field| {
            let unified = self.schema.field_with_name(field.name());
            let data_type = unified.map_or(field.data_type(), |field| field.data_type());
            field.as_ref().clone().with_data_type(data_type.clone())
        });
        Arc::new(Schema::new_with_metadata(
            fields.collect::<Vec<_>>(),
            file.metadata().clone(),
        ))
    }
}

fn is_in_order(file: &Schema, schema: &Schema) -> bool {
    let names = |schema: &Schema| -> Vec<String> {
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    };
    names(file) == names(schema)
}

/// The batches of all files, one file after the other.
struct Scan {
    files: Files,
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
                return self.end();
            }
            if let Some(batch) = self.current.as_mut().and_then(Iterator::next).transpose()? {
                if let Some(limit) = &mut self.options.limit {
                    *limit = limit.saturating_sub(batch.num_rows() as u64);
                }
                return self.with_output_schema(&batch).map(Some);
            }
            self.current = self.files.scan_next(&self.options, &self.meter)?;
            if self.current.is_none() {
                return self.end();
            }
        }
    }

    fn end(&self) -> Result<Option<RecordBatch>> {
        self.options
            .bad_rows
            .as_ref()
            .map_or(Ok(()), BadRows::finish)?;
        Ok(None)
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
