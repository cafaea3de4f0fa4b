//! How large the table is as Parquet: it is read once and written by every variant to nowhere,
//! bytes counted.

use std::io::{self, Write};
use std::thread;

use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use staffa::File;

use crate::bench::{Variant, arrow_bytes};
use crate::error::{Failure, Result};
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;

/// What is known of the table as Parquet.
pub(crate) enum Compared {
    Measured(Vec<Measured>),
    /// Why not.
    LeftOut(String),
}

/// A variant and its size, or why it cannot hold the table.
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) bytes: std::result::Result<u64, String>,
}

/// Counts what is written.
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

/// A variant at work; it stops at its first error.
struct Contender {
    name: String,
    writer: std::result::Result<ArrowWriter<Counted>, String>,
}

/// Sizes of the whole table, in memory bounded by a row group of each variant.
pub(crate) fn measure(file: &File, progress: &Progress) -> Result<Vec<Measured>> {
    let staffa = |error| Failure::staffa("the table".as_ref(), error);
    let reader = file.scan().reader().map_err(staffa)?;
    let schema = file.schema();
    let mut contenders = Vec::new();
    for variant in Variant::parquet()? {
        let Variant::Parquet(compression) = variant else {
            continue;
        };
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .build();
        let writer = ArrowWriter::try_new(Counted(0), schema.clone(), Some(properties));
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
    fn write(&mut self, batch: &arrow_array::RecordBatch) {
        let Ok(writer) = &mut self.writer else { return };
        if let Err(error) = writer.write(batch) {
            self.writer = Err(error.to_string());
        }
    }

    fn finish(self) -> Measured {
        let bytes = self.writer.and_then(|mut writer| match writer.finish() {
            Ok(_) => Ok(writer.inner().0),
            Err(error) => Err(error.to_string()),
        });
        Measured {
            name: self.name,
            bytes,
        }
    }
}
