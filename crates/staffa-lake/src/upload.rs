//! Writing an object: in parts while it grows, visible only once it is whole.

use std::fmt;
use std::io::{self, Write};
use std::mem;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use object_store::{
    Error as StoreError, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, WriteMultipart,
};
use staffa::{Error, Result, WriteOptions, WriteSummary, Writer};

use crate::error::of_store;
use crate::location::Location;
use crate::runtime;

/// Bytes of a part; an object of fewer bytes is put at once.
const PART_BYTES: usize = 16 << 20;
/// Parts on their way at the same time.
const PARTS_AT_ONCE: usize = 4;

/// An object that is being written: nothing is visible before [`finish`](Self::finish), and a drop
/// before that leaves nothing behind.
pub struct Upload {
    location: Location,
    overwrite: bool,
    /// Bytes of the next part.
    buffer: Vec<u8>,
    parts: Option<WriteMultipart>,
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload")
            .field("location", &self.location)
            .field("in_parts", &self.parts.is_some())
            .finish_non_exhaustive()
    }
}

impl Upload {
    /// Begins an object. Unless `overwrite`, one that exists is refused: it is looked for now, and
    /// again at the end, when the store itself refuses it if the object is of less than 16 MiB; parts
    /// of a larger one are joined without such a test.
    pub fn begin(location: Location, overwrite: bool) -> Result<Self> {
        if location.name().ends_with('/') {
            let name = location.name();
            return Err(Error::invalid(format!(
                "{name:?}: a name of an object expected, found a prefix"
            )));
        }
        let upload = Self {
            location: location.clone(),
            overwrite,
            buffer: Vec::new(),
            parts: None,
        };
        let found = runtime::wait_for(async move { refuse_existing(&location, overwrite).await });
        upload.result(found)?;
        Ok(upload)
    }

    /// Puts what is left, and makes the object visible.
    pub fn finish(mut self) -> Result<()> {
        let rest = Bytes::from(mem::take(&mut self.buffer));
        let (location, overwrite) = (self.location.clone(), self.overwrite);
        let parts = self.parts.take();
        let done = runtime::wait_for(async move {
            let Some(mut parts) = parts else {
                return put(&location, rest, overwrite).await;
            };
            parts.put(rest);
            if let Err(error) = refuse_existing(&location, overwrite).await {
                let _ = parts.abort().await;
                return Err(error);
            }
            parts.finish().await.map(drop)
        });
        self.result(done)
    }

    /// Puts what is there, so that it takes no memory until [`finish`](Self::finish).
    pub(crate) fn put_rest(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.put_part()
    }

    fn result<T>(&self, done: io::Result<object_store::Result<T>>) -> Result<T> {
        let name = self.location.name();
        let done = done.map_err(|e| Error::io(name, e))?;
        done.map_err(|e| of_store(name, &e))
    }

    /// Puts a part of the object.
    fn put_part(&mut self) -> Result<()> {
        let part = Bytes::from(mem::take(&mut self.buffer));
        let location = self.location.clone();
        let parts = self.parts.take();
        let parts = runtime::wait_for(async move {
            let mut parts = match parts {
                Some(parts) => parts,
                None => begin(&location).await?,
            };
            match parts.wait_for_capacity(PARTS_AT_ONCE).await {
                Ok(()) => {
                    parts.put(part);
                    Ok(parts)
                }
                Err(error) => {
                    let _ = parts.abort().await;
                    Err(error)
                }
            }
        });
        self.parts = Some(self.result(parts)?);
        Ok(())
    }
}

/// Begins an object of several parts.
async fn begin(location: &Location) -> object_store::Result<WriteMultipart> {
    let parts = location.store().put_multipart(location.path()).await?;
    Ok(WriteMultipart::new_with_chunk_size(parts, PART_BYTES))
}

async fn refuse_existing(location: &Location, overwrite: bool) -> object_store::Result<()> {
    if overwrite {
        return Ok(());
    }
    match location.store().head(location.path()).await {
        Ok(_) => Err(StoreError::AlreadyExists {
            path: location.path().to_string(),
            source: "the object exists".into(),
        }),
        Err(StoreError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn put(location: &Location, bytes: Bytes, overwrite: bool) -> object_store::Result<()> {
    let mode = if overwrite {
        PutMode::Overwrite
    } else {
        PutMode::Create
    };
    let payload = PutPayload::from_bytes(bytes);
    let options = PutOptions::from(mode);
    let put = location.store().put_opts(location.path(), payload, options);
    put.await.map(drop)
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PART_BYTES - self.buffer.len().min(PART_BYTES);
        let (now, _) = bytes.split_at(room.min(bytes.len()));
        self.buffer.extend_from_slice(now);
        if self.buffer.len() >= PART_BYTES {
            self.put_part().map_err(|error| match error {
                Error::Io { source, .. } => source,
                other => io::Error::other(other),
            })?;
        }
        Ok(now.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(parts) = self.parts.take() {
            // Stores drop parts that are left over by a rule of the bucket, if not now.
            let _ = runtime::wait_for(async move { parts.abort().await });
        }
    }
}

/// Removes an object by its URL; one that is not there is removed as well.
pub fn remove(url: &str) -> Result<()> {
    remove_at(&Location::parse(url)?)
}

pub(crate) fn remove_at(location: &Location) -> Result<()> {
    let (of, name) = (location.clone(), location.name());
    let removed = runtime::wait_for(async move { of.store().delete(of.path()).await });
    match removed.map_err(|e| Error::io(name, e))? {
        Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
        Err(error) => Err(of_store(name, &error)),
    }
}

/// A writer of a Staffa file into an object.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
/// let location = staffa_lake::Location::parse("s3://bucket/n.staffa")?;
/// let mut writer = staffa_lake::ObjectWriter::new(&location, batch.schema(), staffa::WriteOptions::new())?;
/// writer.write(&batch)?;
/// assert_eq!(writer.finish()?.rows, 1000);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ObjectWriter {
    writer: Writer<Upload>,
    name: String,
}

impl ObjectWriter {
    /// Begins a file; one that exists is refused unless the options allow to overwrite it.
    pub fn new(location: &Location, schema: SchemaRef, options: WriteOptions) -> Result<Self> {
        let upload = Upload::begin(location.clone(), options.overwrite)?;
        let name = location.name().to_owned();
        let writer = Writer::new(upload, schema, options)?;
        Ok(Self { writer, name })
    }

    /// Adds rows.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = self.writer.write(batch);
        written.map_err(|e| named(e, &self.name))
    }

    /// Adds a key and value of the user.
    pub fn set_metadata(&mut self, key: impl Into<String>, value: impl Into<Vec<u8>>) {
        self.writer.set_metadata(key, value);
    }

    /// Bytes of the file so far, without rows that wait for a row group.
    pub fn bytes_written(&self) -> u64 {
        self.writer.bytes_written()
    }

    /// Writes the end of the file, and makes the object visible.
    pub fn finish(self) -> Result<WriteSummary> {
        let parts = self.writer.into_parts();
        let (upload, summary) = parts.map_err(|e| named(e, &self.name))?;
        upload.finish()?;
        Ok(summary)
    }
}

/// An error of a sink that has no name, with the object's.
fn named(error: Error, name: &str) -> Error {
    match error {
        Error::Io { path: None, source } => Error::io(name, source),
        other => other,
    }
}
