//! Parquet, in and out. Only the columns of the projection are read.

mod types;

pub(crate) use self::types::is_of_no_width;
pub(super) use self::types::note_losses;

use std::fs::File;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowWriter, ProjectionMask, encode_arrow_schema};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::scan::{Batches, ScanOptions};
use super::sink::{self, BatchWriter};
use super::table::{BATCH_ROWS, Sink, Table};
use super::text_values::exceeds_precision;
use crate::error::{Failure, Result};
use crate::files::input::{Input, SeekableInput};
use crate::files::output::Output;
use crate::terminal::progress::Meter;

pub(crate) struct ParquetTable {
    builder: ParquetRecordBatchReaderBuilder<File>,
    /// With the types that the writer declared, where Parquet has other ones.
    schema: SchemaRef,
    name: String,
    bytes: u64,
    source: SeekableInput,
}

impl ParquetTable {
    pub(crate) fn open(input: &Input) -> Result<Self> {
        let name = input.name();
        let source = input.seekable()?;
        let file = File::open(&source.path).map_err(|error| input.io_error(&error))?;
        let bytes = file
            .metadata()
            .map_err(|error| input.io_error(&error))?
            .len();
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)
            .map_err(|error| Failure::parquet(&name, &error))?;
        let metadata = builder.metadata().file_metadata();
        Ok(Self {
            schema: types::declared(builder.schema(), metadata),
            builder,
            name,
            bytes,
            source,
        })
    }
}

impl Table for ParquetTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> Option<u64> {
        u64::try_from(self.builder.metadata().file_metadata().num_rows()).ok()
    }

    fn scan(
        self: Box<Self>,
        _schema: SchemaRef,
        options: &ScanOptions,
        meter: Meter,
    ) -> Result<Batches> {
        let rows = self.rows().map_or(1, |rows| rows.max(1));
        let Self {
            mut builder,
            schema,
            name,
            bytes,
            source,
        } = *self;
        if let Some(indices) = options.projection(builder.schema())? {
            let mask = ProjectionMask::roots(builder.parquet_schema(), indices);
            builder = builder.with_projection(mask);
        }
        let reader = builder
            .with_batch_size(BATCH_ROWS)
            .with_offset(usize::try_from(options.skip).unwrap_or(usize::MAX))
            .build()
            .map_err(|error| Failure::parquet(&name, &error))?;
        let bytes_per_row = bytes as f64 / rows as f64;
        Ok(options.apply(Box::new(reader.map(move |batch| {
            let _alive = &source;
            let batch = batch
                .and_then(|batch| types::to_declared(&batch, &schema))
                .map_err(|error| Failure::arrow(&name, &error))?;
            meter.add((batch.num_rows() as f64 * bytes_per_row) as u64);
            Ok(batch)
        }))))
    }
}

/// Starts a file with Zstd, level 3.
pub(crate) fn create(output: Output, schema: &SchemaRef) -> Result<Box<dyn Sink>> {
    types::check(schema, &output.name())?;
    let stored = Arc::new(types::stored(schema));
    // Our own reader and others restore the types of the table by it.
    let declared = encode_arrow_schema(&types::restorable(schema));
    let metadata = schema.metadata().iter();
    let mut entries: Vec<KeyValue> = metadata
        .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
        .collect();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    entries.push(KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), declared));
    sink::create(output, |output| {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_key_value_metadata(Some(entries))
            .build();
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(output, stored.clone(), options)?;
        Ok(ParquetWriter { writer, stored })
    })
}

struct ParquetWriter {
    writer: ArrowWriter<Output>,
    /// The columns as Parquet has them.
    stored: SchemaRef,
}

impl BatchWriter for ParquetWriter {
    type Error = ParquetError;

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        self.writer.write(&types::to_stored(batch, &self.stored)?)
    }

    fn check(&self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema();
        let mut columns = schema.fields().iter().zip(batch.columns());
        match columns.find(|(_, column)| exceeds_precision(column.as_ref())) {
            Some((field, _)) => Err(Failure::data(format!(
                "column {:?} of type {} holds a decimal of more digits; declare a larger precision to store it",
                field.name(),
                field.data_type()
            ))),
            None => Ok(()),
        }
    }

    fn into_output(self) -> Result<Output, ParquetError> {
        self.writer.into_inner()
    }

    /// The writer refuses types that Parquet does not have; that is not bad data.
    fn failure(name: &str, error: &ParquetError) -> Failure {
        Failure::unsupported(Failure::parquet(name, error).message)
    }
}
