//! Parquet, in and out. Only the columns that are needed are read.

use std::fs::File;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::{BATCH_ROWS, Batches, Sink, Table};
use crate::dataset::{Input, Seekable};
use crate::error::{Failure, Result};
use crate::files::output::{Output, Trouble};
use crate::formats::scan::Wanted;
use crate::terminal::progress::Meter;

pub(crate) struct ParquetTable {
    builder: ParquetRecordBatchReaderBuilder<File>,
    name: String,
    bytes: u64,
    source: Seekable,
}

impl ParquetTable {
    pub(crate) fn open(input: &Input) -> Result<Self> {
        let name = input.name();
        let source = input.seekable()?;
        let file = File::open(&source.path).map_err(|error| input.io(&error))?;
        let bytes = file.metadata().map_err(|error| input.io(&error))?.len();
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)
            .map_err(|error| Failure::parquet(&name, &error))?;
        Ok(Self {
            builder,
            name,
            bytes,
            source,
        })
    }
}

impl Table for ParquetTable {
    fn schema(&self) -> SchemaRef {
        self.builder.schema().clone()
    }

    fn rows(&self) -> Option<u64> {
        u64::try_from(self.builder.metadata().file_metadata().num_rows()).ok()
    }

    fn scan(self: Box<Self>, _schema: SchemaRef, wanted: &Wanted, meter: Meter) -> Result<Batches> {
        let rows = self.rows().unwrap_or_default();
        let Self {
            mut builder,
            name,
            bytes,
            source,
        } = *self;
        if let Some(places) = wanted.needed(builder.schema())? {
            let mask = ProjectionMask::roots(builder.parquet_schema(), places);
            builder = builder.with_projection(mask);
        }
        let reader = builder
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(|error| Failure::parquet(&name, &error))?;
        let bytes_per_row = bytes as f64 / rows.max(1) as f64;
        Ok(wanted.select(Box::new(reader.map(move |batch| {
            let _alive = &source;
            let batch = batch.map_err(|error| Failure::arrow(&name, &error))?;
            meter.add((batch.num_rows() as f64 * bytes_per_row) as u64);
            Ok(batch)
        }))))
    }
}

/// Starts a file with Zstd, level 3.
pub(crate) fn create(output: Output, schema: &SchemaRef) -> Result<Box<dyn Sink>> {
    let (name, trouble) = (output.name(), output.trouble());
    let refuse = |error: &ParquetError| refused(&name, error);
    let level = ZstdLevel::try_new(3).map_err(|error| refuse(&error))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .build();
    let writer = ArrowWriter::try_new(output, schema.clone(), Some(properties))
        .map_err(|error| refuse(&error))?;
    Ok(Box::new(ParquetSink {
        writer,
        name,
        trouble,
    }))
}

struct ParquetSink {
    writer: ArrowWriter<Output>,
    name: String,
    trouble: Trouble,
}

impl Sink for ParquetSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer
            .write(batch)
            .map_err(|error| self.trouble.or(refused(&self.name, &error)))
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let Self {
            writer,
            name,
            trouble,
        } = *self;
        let output = writer
            .into_inner()
            .map_err(|error| trouble.or(refused(&name, &error)))?;
        output.finish()
    }
}

/// What the writer refuses is a type that Parquet has no place for, not bad data.
fn refused(name: &str, error: &ParquetError) -> Failure {
    Failure::unsupported(Failure::parquet(name, error).message)
}
