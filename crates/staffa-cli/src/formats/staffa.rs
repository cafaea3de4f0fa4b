//! Staffa itself: columns, filter and limit are answered by the file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::{Batches, Sink, Table};
use crate::dataset::{Input, Seekable};
use crate::error::{Failure, Result};
use crate::files::output::{Output, is_stream, resolved};
use crate::formats::scan::Wanted;
use crate::terminal::progress::Meter;

pub(crate) struct StaffaTable {
    file: staffa::File,
    path: PathBuf,
    // A copy of the standard input lives as long as it is read.
    source: Seekable,
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

    fn scan(self: Box<Self>, _schema: SchemaRef, wanted: &Wanted, meter: Meter) -> Result<Batches> {
        let mut scan = self.file.scan().threads(wanted.threads);
        if let Some(columns) = &wanted.columns {
            scan = scan.columns(columns.iter().cloned());
        }
        if let Some(filter) = &wanted.filter {
            scan = scan.filter(filter.clone());
        }
        if let Some(limit) = wanted.limit {
            scan = scan.limit(limit);
        }
        let Self { file, path, source } = *self;
        let reader = scan
            .reader()
            .map_err(|error| Failure::staffa(&path, error))?;
        let bytes_per_row = file.byte_len() as f64 / file.num_rows().max(1) as f64;
        Ok(Box::new(reader.map(move |batch| {
            let _alive = &source;
            let batch = batch.map_err(|error| Failure::staffa(&path, error))?;
            meter.add((batch.num_rows() as f64 * bytes_per_row) as u64);
            Ok(batch)
        })))
    }
}

/// Starts a file, or a stream by way of a temporary file, since a Staffa file is renamed when it is
/// whole.
pub(crate) fn create(
    path: &Path,
    schema: &SchemaRef,
    options: staffa::WriteOptions,
) -> Result<Box<dyn Sink>> {
    let shown = path.to_path_buf();
    let copied = if is_stream(path) {
        Some(tempfile::tempdir().map_err(|error| Failure::io("a temporary folder", &error))?)
    } else {
        None
    };
    let target = copied.as_ref().map_or_else(
        || resolved(path),
        |folder| folder.path().join("output.staffa"),
    );
    let writer = staffa::Writer::create(&target, schema.clone(), options)
        .map_err(|error| wrote(&shown, error))?;
    Ok(Box::new(StaffaSink {
        writer,
        target,
        shown,
        copied,
    }))
}

struct StaffaSink {
    writer: staffa::Writer,
    target: PathBuf,
    shown: PathBuf,
    copied: Option<tempfile::TempDir>,
}

impl Sink for StaffaSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer
            .write(batch)
            .map_err(|error| wrote(&self.shown, error))
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let Self {
            writer,
            target,
            shown,
            copied,
        } = *self;
        let summary = writer.finish().map_err(|error| wrote(&shown, error))?;
        if copied.is_some() {
            let mut file =
                File::open(&target).map_err(|error| Failure::io("a temporary file", &error))?;
            let mut output = Output::create(&shown, true)?;
            io::copy(&mut file, &mut output)
                .map_err(|error| Failure::io(&output.name(), &error))?;
            output.finish()?;
        }
        Ok(summary.file_bytes)
    }
}

/// What a writer refuses is the request, so the file that does not exist yet is not to blame.
fn wrote(path: &Path, error: staffa::Error) -> Failure {
    match error {
        staffa::Error::InvalidArgument(what) => Failure::usage(what),
        staffa::Error::Unsupported { what, place } => {
            Failure::unsupported(format!("{place}{what}"))
        }
        other => Failure::staffa(path, other),
    }
}
