//! The sink of the formats whose writers take an `Output`: all but Staffa.

use arrow_array::RecordBatch;

use super::table::Sink;
use crate::error::{Failure, Result};
use crate::files::output::{FirstIoError, Output};

/// A writer of another crate that writes batches to an `Output`.
pub(super) trait BatchWriter {
    type Error;

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), Self::Error>;

    /// Refuses values that the format would store wrongly.
    fn check(&self, _batch: &RecordBatch) -> Result<()> {
        Ok(())
    }

    /// Writes the end of the file.
    fn into_output(self) -> Result<Output, Self::Error>;

    /// The failure for an error of this writer; `name` is the output.
    fn failure(name: &str, error: &Self::Error) -> Failure;
}

/// Starts a table with the writer that `open` makes.
pub(super) fn create<W: BatchWriter + 'static>(
    output: Output,
    open: impl FnOnce(Output) -> Result<W, W::Error>,
) -> Result<Box<dyn Sink>> {
    let (name, first_error) = (output.name(), output.first_error());
    let writer = open(output).map_err(|error| first_error.or(W::failure(&name, &error)))?;
    Ok(Box::new(WriterSink {
        writer,
        name,
        first_error,
    }))
}

struct WriterSink<W> {
    writer: W,
    name: String,
    first_error: FirstIoError,
}

impl<W: BatchWriter> Sink for WriterSink<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.check(batch)?;
        self.writer
            .write_batch(batch)
            .map_err(|error| self.first_error.or(W::failure(&self.name, &error)))
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let Self {
            writer,
            name,
            first_error,
        } = *self;
        writer
            .into_output()
            .map_err(|error| first_error.or(W::failure(&name, &error)))?
            .finish()
    }
}
