//! Arrow IPC files and streams, in and out. The first bytes of a file decide between the two.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, FileReaderBuilder, StreamReader};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::sample::Metered;
use super::scan::{Batches, ScanOptions};
use super::sink::{self, BatchWriter};
use super::table::{Sink, Table};
use crate::error::{Exit, Failure, Result};
use crate::files::input::{Input, SeekableInput};
use crate::files::output::Output;
use crate::terminal::progress::Meter;

const FILE_MAGIC: &[u8; 6] = b"ARROW1";

/// Opens a file named as a stream; the standard input is not copied to a file first.
pub(crate) fn open_stream(input: &Input) -> Result<Box<dyn Table>> {
    if input.is_standard() {
        return stream(input, Box::new(io::stdin()));
    }
    open(input)
}

/// Opens an IPC file or stream.
pub(crate) fn open(input: &Input) -> Result<Box<dyn Table>> {
    let source = input.seekable()?;
    let mut file = File::open(&source.path).map_err(|error| input.io_error(&error))?;
    let mut magic = Vec::new();
    (&mut file)
        .take(FILE_MAGIC.len() as u64)
        .read_to_end(&mut magic)
        .map_err(|error| input.io_error(&error))?;
    file.rewind().map_err(|error| input.io_error(&error))?;
    if magic != FILE_MAGIC {
        return stream(input, Box::new(file));
    }
    let reader = FileReader::try_new(BufReader::new(file), None)
        .map_err(|error| Failure::arrow(&input.name(), &error))?;
    Ok(Box::new(FileTable {
        schema: reader.schema(),
        source,
        name: input.name(),
    }))
}

fn stream(input: &Input, inner: Box<dyn Read + Send>) -> Result<Box<dyn Table>> {
    let meter = Meter::default();
    let reader = StreamReader::try_new(
        BufReader::new(Metered {
            inner,
            meter: meter.clone(),
        }),
        None,
    )
    .map_err(|error| not_arrow(&input.name(), &error))?;
    Ok(Box::new(StreamTable {
        reader,
        name: input.name(),
        meter,
    }))
}

/// The message for a file that is most likely not Arrow.
fn not_arrow(name: &str, error: &ArrowError) -> Failure {
    let failure = Failure::arrow(name, error);
    if failure.exit != Exit::Data {
        return failure;
    }
    Failure::data(format!(
        "{name}: neither an Arrow IPC file nor a stream, or damaged at its start ({error})"
    ))
}

struct FileTable {
    schema: SchemaRef,
    source: SeekableInput,
    name: String,
}

impl Table for FileTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn scan(
        self: Box<Self>,
        _schema: SchemaRef,
        options: &ScanOptions,
        meter: Meter,
    ) -> Result<Batches> {
        let Self {
            schema,
            source,
            name,
        } = *self;
        let file = File::open(&source.path).map_err(|error| Failure::io(&name, &error))?;
        let mut builder = FileReaderBuilder::new();
        if let Some(indices) = options.projection(&schema)? {
            builder = builder.with_projection(indices);
        }
        let reader = builder.build(BufReader::new(Metered { inner: file, meter }));
        let reader = reader.map_err(|error| Failure::arrow(&name, &error))?;
        Ok(options.apply(Box::new(reader.map(move |batch| {
            let _alive = &source;
            batch.map_err(|error| Failure::arrow(&name, &error))
        }))))
    }
}

struct StreamTable {
    reader: StreamReader<BufReader<Metered<Box<dyn Read + Send>>>>,
    name: String,
    meter: Meter,
}

impl Table for StreamTable {
    fn schema(&self) -> SchemaRef {
        self.reader.schema()
    }

    fn scan(
        self: Box<Self>,
        _schema: SchemaRef,
        options: &ScanOptions,
        meter: Meter,
    ) -> Result<Batches> {
        let Self {
            mut reader,
            name,
            meter: own,
        } = *self;
        let mut counted = 0;
        let batches = std::iter::from_fn(move || {
            let batch = reader.next()?;
            // The stream is older than the progress bar and has its own counter.
            let read = own.get();
            meter.add(read - counted);
            counted = read;
            Some(batch.map_err(|error| Failure::arrow(&name, &error)))
        });
        Ok(options.apply(Box::new(batches)))
    }
}

pub(crate) fn create_file(output: Output, schema: &Schema) -> Result<Box<dyn Sink>> {
    sink::create(output, |output| FileWriter::try_new(output, schema))
}

pub(crate) fn create_stream(output: Output, schema: &Schema) -> Result<Box<dyn Sink>> {
    sink::create(output, |output| StreamWriter::try_new(output, schema))
}

impl BatchWriter for FileWriter<Output> {
    type Error = ArrowError;

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.write(batch)
    }

    fn into_output(mut self) -> Result<Output, ArrowError> {
        self.finish()?;
        self.into_inner()
    }

    fn failure(name: &str, error: &ArrowError) -> Failure {
        if error.to_string().contains("Dictionary replacement") {
            return Failure::unsupported(format!(
                "{name}: an Arrow file holds one dictionary per column, and the dictionary of a \
                 column changes in this table; write an Arrow stream (.arrows) instead"
            ));
        }
        Failure::unsupported(Failure::arrow(name, error).message)
    }
}

impl BatchWriter for StreamWriter<Output> {
    type Error = ArrowError;

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.write(batch)
    }

    fn into_output(mut self) -> Result<Output, ArrowError> {
        self.finish()?;
        self.into_inner()
    }

    fn failure(name: &str, error: &ArrowError) -> Failure {
        Failure::unsupported(Failure::arrow(name, error).message)
    }
}
