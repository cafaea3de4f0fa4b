//! The size of the table as Parquet: the table is read once and written by every Parquet variant,
//! which only counts the bytes.

use std::io::{self, Write};
use std::thread;

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use staffa::{File, arrow_bytes};

use crate::bench::{Variant, parquet_writer};
use crate::error::{Failure, Result};
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;

/// The sizes of the table as Parquet.
pub(crate) enum ParquetSizes {
    Measured(Vec<ParquetSize>),
    /// With the reason.
    NotMeasured(String),
}

/// A variant and its size, or the reason why it cannot hold the table.
pub(crate) struct ParquetSize {
    pub(crate) name: String,
    pub(crate) bytes: std::result::Result<u64, String>,
}

/// Counts the bytes written.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A variant and its writer, until its first error.
struct Contender {
    name: String,
    writer: std::result::Result<ArrowWriter<Counted>, String>,
}

/// Measures the whole table; memory is bounded by a row group of each variant.
pub(crate) fn measure_parquet(file: &File, progress: &Progress) -> Result<Vec<ParquetSize>> {
    let staffa = |error| Failure::staffa("the table".as_ref(), error);
    let reader = file.scan().reader().map_err(staffa)?;
    let schema = file.schema();
    let mut contenders = Vec::new();
    for variant in Variant::parquet()? {
        let Variant::Parquet(compression) = variant else {
            continue;
        };
        let writer = parquet_writer(Counted(0), schema, compression);
        contenders.push(Contender {
            name: variant.name(),
            writer: writer.map_err(|error| error.to_string()),
        });
    }
    let mut rows = 0;
    for batch in reader {
        interrupt::check()?;
        let batch = batch.map_err(staffa)?;
        thread::scope(|scope| {
            for contender in &mut contenders {
                scope.spawn(|| contender.write(&batch));
            }
        });
        rows += batch.num_rows() as u64;
        let bytes = arrow_bytes(&batch);
        progress.meter().add(bytes);
        progress.advance(bytes, rows);
    }
    Ok(contenders.into_iter().map(Contender::finish).collect())
}

impl Contender {
    fn write(&mut self, batch: &RecordBatch) {
        let Ok(writer) = &mut self.writer else { return };
        if let Err(error) = writer.write(batch) {
            self.writer = Err(error.to_string());
        }
    }

    fn finish(self) -> ParquetSize {
        let bytes = self.writer.and_then(|mut writer| match writer.finish() {
            Ok(_) => Ok(writer.inner().0),
            Err(error) => Err(error.to_string()),
        });
        ParquetSize {
            name: self.name,
            bytes,
        }
    }
}
