//! Staffa, in and out. The file applies columns, filter and limit itself.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::scan::{Batches, ScanOptions};
use super::table::{Properties, Sink, Table};
use crate::error::{Failure, Result};
use crate::files::input::{Input, SeekableInput};
use crate::files::output::{Output, is_stream, resolved, temporary_folder};
use crate::terminal::progress::Meter;

pub(crate) struct StaffaTable {
    file: staffa::File,
    path: PathBuf,
    // Keeps a temporary copy of the standard input alive.
    source: SeekableInput,
}

impl StaffaTable {
    pub(crate) fn open(input: &Input) -> Result<Self> {
        let source = input.seekable()?;
        let path = PathBuf::from(input.name());
        let file =
            staffa::File::open(&source.path).map_err(|error| Failure::staffa(&path, error))?;
        Ok(Self { file, path, source })
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
        let fail = |error| Failure::staffa(&self.path, error);
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
        let mut scan = self.file.scan().threads(options.threads);
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
        let Self { file, path, source } = *self;
        let reader = scan
            .reader()
            .map_err(|error| Failure::staffa(&path, error))?;
        let bytes_per_row = file.nbytes() as f64 / file.num_rows().max(1) as f64;
        Ok(Box::new(reader.map(move |batch| {
            let _alive = &source;
            let batch = batch.map_err(|error| Failure::staffa(&path, error))?;
            meter.add((batch.num_rows() as f64 * bytes_per_row) as u64);
            Ok(batch)
        })))
    }
}

/// Starts a file. A stream is written through a temporary file, because the writer renames its file at
/// the end.
pub(crate) fn create(
    path: &Path,
    schema: &SchemaRef,
    options: staffa::WriteOptions,
) -> Result<Box<dyn Sink>> {
    let path = path.to_path_buf();
    let folder = if is_stream(&path) {
        Some(temporary_folder()?)
    } else {
        None
    };
    let target = folder.as_ref().map_or_else(
        || resolved(&path),
        |folder| folder.path().join("output.staffa"),
    );
    let writer = staffa::Writer::create(&target, schema.clone(), options)
        .map_err(|error| write_error(&path, error))?;
    Ok(Box::new(StaffaSink {
        writer,
        target,
        path,
        folder,
    }))
}

struct StaffaSink {
    writer: staffa::Writer,
    target: PathBuf,
    path: PathBuf,
    /// The temporary folder of `target`, if `path` is a stream.
    folder: Option<tempfile::TempDir>,
}

impl Sink for StaffaSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer
            .write(batch)
            .map_err(|error| write_error(&self.path, error))
    }

    fn encoded_bytes(&self) -> Option<u64> {
        Some(self.writer.bytes_written())
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let Self {
            writer,
            target,
            path,
            folder,
        } = *self;
        let summary = writer.finish().map_err(|error| write_error(&path, error))?;
        if folder.is_some() {
            let mut file =
                File::open(&target).map_err(|error| Failure::io("a temporary file", &error))?;
            let mut output = Output::create(&path, true)?;
            io::copy(&mut file, &mut output)
                .map_err(|error| Failure::io(&output.name(), &error))?;
            output.finish()?;
        }
        Ok(summary.file_bytes)
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
