//! Writers: batches of the virtual machine to a stream of it.

use std::str::FromStr;
use std::sync::Mutex;

use arrow_array::{Array, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::SchemaRef;
use staffa::{Profile, SortKey, WriteOptions, WriteSummary, Writer};

use crate::error::{Error, Result};
use crate::handles::lock;
use crate::host::HostOutput;

const KNOWN: &str = "profile, row_group_rows, sort_order, chunk_statistics";

/// A file that is being written.
pub(crate) struct BatchWriter {
    schema: SchemaRef,
    writer: Mutex<Option<Writer<HostOutput>>>,
}

impl BatchWriter {
    pub(crate) fn new(
        output: HostOutput,
        schema: SchemaRef,
        options: &[(String, String)],
    ) -> Result<Self> {
        let mut all = WriteOptions::new().threads(1);
        for (key, value) in options {
            all = with_option(all, key, value)?;
        }
        let writer = Writer::new(output, schema.clone(), all)?;
        Ok(Self {
            schema,
            writer: Mutex::new(Some(writer)),
        })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(crate) fn write(&self, rows: StructArray) -> Result<()> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let (_, columns, _) = rows.into_parts();
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?;
        let mut writer = lock(&self.writer);
        let writer = writer.as_mut().ok_or(Error::Closed("writer"))?;
        Ok(writer.write(&batch)?)
    }

    /// Writes what is left; the stream is flushed, not closed.
    pub(crate) fn finish(&self) -> Result<WriteSummary> {
        let writer = lock(&self.writer).take();
        Ok(writer.ok_or(Error::Closed("writer"))?.finish()?)
    }
}

/// An option of the writer; `metadata.<key>` is a key of the file's metadata.
fn with_option(all: WriteOptions, key: &str, value: &str) -> Result<WriteOptions> {
    if let Some(key) = key.strip_prefix("metadata.") {
        return Ok(all.metadata(key, value));
    }
    Ok(match key {
        "profile" => all.profile(parsed::<Profile>(key, value)?),
        "row_group_rows" => all.row_group_rows(parsed(key, value)?),
        "chunk_statistics" => all.chunk_statistics(parsed(key, value)?),
        "sort_order" => {
            let keys = value.split(',').map(SortKey::from_str);
            all.sort_order(keys.collect::<staffa::Result<Vec<_>>>()?)
        }
        _ => {
            let what = format!("Staffa files have no option {key:?}; they have {KNOWN}");
            return Err(Error::Invalid(what));
        }
    })
}

fn parsed<T: FromStr>(key: &str, value: &str) -> Result<T> {
    let invalid = |_| Error::Invalid(format!("option {key:?}: {value:?} is not a value of it"));
    value.parse().map_err(invalid)
}
