//! The variants that `staffa bench` compares.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use staffa::Profile;

use super::table::TableInMemory;
use crate::error::{Failure, Result};
use crate::formats::is_of_no_width;
use crate::terminal::interrupt;

/// A file format and its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    Staffa(Profile),
    Parquet(Compression),
}

impl Variant {
    /// The Parquet variants in common use; the first is the reference.
    pub(crate) fn parquet() -> Result<[Self; 3]> {
        let level = ZstdLevel::try_new(3).map_err(|error| Failure::parquet("bench", &error))?;
        Ok([
            Self::Parquet(Compression::ZSTD(level)),
            Self::Parquet(Compression::SNAPPY),
            Self::Parquet(Compression::UNCOMPRESSED),
        ])
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Staffa(profile) => format!("staffa {profile}"),
            Self::Parquet(Compression::ZSTD(_)) => "parquet zstd-3".into(),
            Self::Parquet(Compression::SNAPPY) => "parquet snappy".into(),
            Self::Parquet(_) => "parquet uncompressed".into(),
        }
    }

    pub(super) fn write(self, table: &TableInMemory) -> Result<Bytes> {
        match self {
            Self::Staffa(profile) => {
                let mut options = staffa::WriteOptions::default();
                options.profile = profile;
                options.threads = Some(1);
                options.cancel = interrupt::cancel();
                let bytes = staffa::to_bytes(table.schema.clone(), &table.batches, options);
                bytes
                    .map(Bytes::from)
                    .map_err(|error| Failure::staffa("bench".as_ref(), error))
            }
            Self::Parquet(compression) => write_parquet(table, compression)
                .map(Bytes::from)
                .map_err(|error| Failure::parquet("bench", &error)),
        }
    }

    /// Decodes all columns and rows; calls `each` with every batch.
    pub(super) fn scan(self, file: &Bytes, mut each: impl FnMut(RecordBatch)) -> Result<()> {
        match self {
            Self::Staffa(_) => {
                let mut run = || -> staffa::Result<()> {
                    let file = staffa::File::from_bytes(file.clone())?;
                    file.scan()
                        .threads(Some(1))
                        .reader()?
                        .try_for_each(|batch| batch.map(&mut each))
                };
                run().map_err(|error| Failure::staffa("bench".as_ref(), error))
            }
            Self::Parquet(_) => {
                // The batch size of most engines.
                let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone());
                let reader = builder.and_then(|builder| builder.with_batch_size(8192).build());
                let mut reader = reader.map_err(|error| Failure::parquet("bench", &error))?;
                reader
                    .try_for_each(|batch| batch.map(&mut each))
                    .map_err(|error| Failure::arrow("bench", &error))
            }
        }
    }
}

/// The writer of a Parquet variant, with the defaults of arrow-rs otherwise.
pub(crate) fn parquet_writer<W: Write + Send>(
    output: W,
    schema: &SchemaRef,
    compression: Compression,
) -> Result<ArrowWriter<W>, ParquetError> {
    // The writer panics on it.
    let mut fields = schema.fields().iter();
    if let Some(field) = fields.find(|field| is_of_no_width(field.data_type())) {
        let (column, data_type) = (field.name(), field.data_type());
        return Err(ParquetError::NYI(format!(
            "Parquet cannot hold column {column:?} of type {data_type}"
        )));
    }
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    ArrowWriter::try_new(output, schema.clone(), Some(properties))
}

fn write_parquet(table: &TableInMemory, compression: Compression) -> Result<Vec<u8>, ParquetError> {
    let mut writer = parquet_writer(Vec::new(), &table.schema, compression)?;
    for batch in &table.batches {
        writer.write(batch)?;
    }
    writer.into_inner()
}
