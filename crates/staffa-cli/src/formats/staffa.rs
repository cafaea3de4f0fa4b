//! Staffa, in and out. The file applies columns, filter and limit itself.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use staffa::Limits;
use staffa_lake::table::TableFile;

use super::scan::{Batches, ScanOptions};
use super::table::{Properties, Sink, Table};
use crate::error::{Failure, Result};
use crate::files::input::{Input, SeekableInput};
use crate::files::output::{FirstIoError, Output};
use crate::terminal::progress::Meter;

pub(crate) struct StaffaTable {
    /// Of a file that is `unopened`, what the index of its folder knows of it.
    file: staffa::File,
    unopened: Option<TableFile>,
    path: PathBuf,
    // Keeps a temporary copy of the standard input alive.
    source: Option<SeekableInput>,
}

impl StaffaTable {
    pub(crate) fn open(input: &Input) -> Result<Self> {
        let path = PathBuf::from(input.name());
        let fail = |error| Failure::staffa_input(&path, error);
        if let Some(found) = input.found() {
            let known = found.known().map_err(fail)?;
            let unopened = known.is_some().then(|| found.clone());
            let file = match known {
                Some(known) => known,
                None => found.open(Limits::default()).map_err(fail)?,
            };
            return Ok(Self {
                file,
                unopened,
                path,
                source: None,
            });
        }
        let (file, source) = if let Some(url) = input.url() {
            (staffa_lake::open(url), None)
        } else {
            let source = input.seekable()?;
            (staffa::File::open(&source.path), Some(source))
        };
        Ok(Self {
            file: file.map_err(|error| Failure::staffa_input(&path, error))?,
            unopened: None,
            path,
            source,
        })
    }
}

impl Table for StaffaTable {
    fn schema(&self) -> SchemaRef {
        self.file.schema().clone()
    }

    fn rows(&self) -> Option<u64> {
        Some(self.file.num_rows())
    }

    fn properties(&self) -> Result<Properties> {
        let fail = |error| Failure::staffa_input(&self.path, error);
        Ok(Properties {
            metadata: self.file.metadata().map_err(fail)?,
            sort_order: self.file.sort_order().map_err(fail)?,
        })
    }

    fn scan(
        self: Box<Self>,
        _schema: SchemaRef,
        options: &ScanOptions,
        meter: Meter,
    ) -> Result<Batches> {
        let Self {
            mut file,
            unopened,
            path,
            source,
        } = *self;
        let fail = |error| Failure::staffa_input(&path, error);
        if let Some(unopened) = unopened {
            if let Some(filter) = &options.filter
                && !file.may_match(filter).map_err(fail)?
            {
                return Ok(Box::new(std::iter::empty()));
            }
            file = unopened.open(Limits::default()).map_err(fail)?;
        }
        let mut scan = file.scan().threads(options.threads);
        if let Some(columns) = &options.columns {
            scan = scan.columns(columns.iter().cloned());
        }
        if let Some(filter) = &options.filter {
            scan = scan.filter(filter.clone());
        }
        if options.skip > 0 {
            scan = scan.offset(options.skip);
        }
        if let Some(limit) = options.limit {
            scan = scan.limit(limit);
        }
        let reader = scan.reader().map_err(fail)?;
        let bytes_per_row = file.nbytes() as f64 / file.num_rows().max(1) as f64;
        Ok(Box::new(reader.map(move |batch| {
            let _alive = &source;
            let batch = batch.map_err(|error| Failure::staffa_input(&path, error))?;
            meter.add((batch.num_rows() as f64 * bytes_per_row) as u64);
            Ok(batch)
        })))
    }
}

/// Starts a file or a stream.
pub(crate) fn create(
    path: &Path,
    schema: &SchemaRef,
    options: staffa::WriteOptions,
) -> Result<Box<dyn Sink>> {
    let output = Output::create(path, options.overwrite)?;
    let first_error = output.first_error();
    let writer = staffa::Writer::new(output, schema.clone(), options);
    let writer = writer.map_err(|error| first_error.or(write_error(path, error)))?;
    Ok(Box::new(StaffaSink {
        writer,
        path: path.to_path_buf(),
        first_error,
    }))
}

struct StaffaSink {
    writer: staffa::Writer<Output>,
    path: PathBuf,
    first_error: FirstIoError,
}

impl Sink for StaffaSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = self.writer.write(batch);
        written.map_err(|error| self.first_error.or(write_error(&self.path, error)))
    }

    fn encoded_bytes(&self) -> Option<u64> {
        Some(self.writer.bytes_written())
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let Self {
            writer,
            path,
            first_error,
        } = *self;
        let output = writer.into_inner();
        let output = output.map_err(|error| first_error.or(write_error(&path, error)))?;
        output.finish()
    }
}

/// A writer refuses the request: the message does not name the file, which does not exist yet.
fn write_error(path: &Path, error: staffa::Error) -> Failure {
    match error {
        staffa::Error::InvalidArgument(what) => Failure::usage(what),
        staffa::Error::InvalidValue(what) => Failure::data(what),
        staffa::Error::Unsupported { what, place } => {
            Failure::unsupported(format!("{place}{what}"))
        }
        other => Failure::staffa(path, other),
    }
}
