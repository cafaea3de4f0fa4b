//! Arrow IPC, files and streams. Which of the two a file is, its first bytes say, whatever its
//! name.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, FileReaderBuilder, StreamReader};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, Schema, SchemaRef};

use super::sample::Metered;
use super::{Batches, Format, Sink, Table};
use crate::dataset::{Input, Seekable};
use crate::error::{Failure, Result};
use crate::files::output::{Output, Trouble};
use crate::formats::scan::Wanted;
use crate::terminal::progress::Meter;

const FILE_MAGIC: &[u8; 6] = b"ARROW1";

pub(crate) fn open(input: &Input) -> Result<Box<dyn Table>> {
    if input.is_standard() && input.format == Format::Arrows {
        return stream(input, Box::new(io::stdin()), Meter::default());
    }
    let source = input.seekable()?;
    let mut file = File::open(&source.path).map_err(|error| input.io(&error))?;
    let mut magic = Vec::new();
    (&mut file)
        .take(FILE_MAGIC.len() as u64)
        .read_to_end(&mut magic)
        .map_err(|error| input.io(&error))?;
    file.rewind().map_err(|error| input.io(&error))?;
    let meter = Meter::default();
    if magic != FILE_MAGIC {
        return stream(input, Box::new(file), meter);
    }
    let reader = FileReader::try_new(BufReader::new(file), None)
        .map_err(|error| Failure::arrow(&input.name(), &error))?;
    Ok(Box::new(FileTable {
        schema: reader.schema(),
        path: source.path.clone(),
        source,
        name: input.name(),
    }))
}

fn stream(input: &Input, inner: Box<dyn Read + Send>, meter: Meter) -> Result<Box<dyn Table>> {
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

/// Bytes that are no stream at all are most likely not Arrow.
fn not_arrow(name: &str, error: &ArrowError) -> Failure {
    let failure = Failure::arrow(name, error);
    if failure.exit != crate::error::Exit::Data {
        return failure;
    }
    Failure::data(format!(
        "{name}: neither an Arrow IPC file nor a stream, or damaged at its start ({error})"
    ))
}

struct FileTable {
    schema: SchemaRef,
    path: PathBuf,
    source: Seekable,
    name: String,
}

impl Table for FileTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> Option<u64> {
        None
    }

    fn scan(self: Box<Self>, _schema: SchemaRef, wanted: &Wanted, meter: Meter) -> Result<Batches> {
        let Self {
            schema,
            path,
            source,
            name,
        } = *self;
        let file = File::open(&path).map_err(|error| Failure::io(&name, &error))?;
        let mut builder = FileReaderBuilder::new();
        if let Some(places) = wanted.needed(&schema)? {
            builder = builder.with_projection(places);
        }
        let reader = builder.build(BufReader::new(Metered { inner: file, meter }));
        let reader = reader.map_err(|error| Failure::arrow(&name, &error))?;
        Ok(wanted.select(Box::new(reader.map(move |batch| {
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

    fn rows(&self) -> Option<u64> {
        None
    }

    fn scan(self: Box<Self>, _schema: SchemaRef, wanted: &Wanted, meter: Meter) -> Result<Batches> {
        let Self {
            mut reader,
            name,
            meter: own,
        } = *self;
        let mut told = 0;
        let batches = std::iter::from_fn(move || {
            let batch = reader.next()?;
            // The stream was opened before the bar: what it counted is passed on.
            let read = own.get();
            meter.add(read - told);
            told = read;
            Some(batch.map_err(|error| Failure::arrow(&name, &error)))
        });
        Ok(wanted.select(Box::new(batches)))
    }
}

pub(crate) fn create_file(output: Output, schema: &Schema) -> Result<Box<dyn Sink>> {
    let (name, trouble) = (output.name(), output.trouble());
    let writer =
        FileWriter::try_new(output, schema).map_err(|error| trouble.or(refused(&name, &error)))?;
    Ok(Box::new(FileSink {
        writer,
        name,
        trouble,
    }))
}

pub(crate) fn create_stream(output: Output, schema: &Schema) -> Result<Box<dyn Sink>> {
    let (name, trouble) = (output.name(), output.trouble());
    let writer = StreamWriter::try_new(output, schema)
        .map_err(|error| trouble.or(refused(&name, &error)))?;
    Ok(Box::new(StreamSink {
        writer,
        name,
        trouble,
    }))
}

struct FileSink {
    writer: FileWriter<Output>,
    name: String,
    trouble: Trouble,
}

impl Sink for FileSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer
            .write(batch)
            .map_err(|error| self.trouble.or(refused(&self.name, &error)))
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let Self {
            mut writer,
            name,
            trouble,
        } = *self;
        let end = writer.finish().and_then(|()| writer.into_inner());
        end.map_err(|error| trouble.or(refused(&name, &error)))?
            .finish()
    }
}

struct StreamSink {
    writer: StreamWriter<Output>,
    name: String,
    trouble: Trouble,
}

impl Sink for StreamSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer
            .write(batch)
            .map_err(|error| self.trouble.or(refused(&self.name, &error)))
    }

    fn finish(self: Box<Self>) -> Result<u64> {
        let Self {
            mut writer,
            name,
            trouble,
        } = *self;
        let end = writer.finish().and_then(|()| writer.into_inner());
        end.map_err(|error| trouble.or(refused(&name, &error)))?
            .finish()
    }
}

fn refused(name: &str, error: &ArrowError) -> Failure {
    if error.to_string().contains("Dictionary replacement") {
        return Failure::unsupported(format!(
            "{name}: an Arrow file holds one dictionary per column, and this table changes it on the way; write an Arrow \
             stream (.arrows) instead"
        ));
    }
    Failure::unsupported(Failure::arrow(name, error).message)
}
