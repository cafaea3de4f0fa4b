//! `COPY ... TO` and `INSERT INTO`: a writer for each file that DataFusion's demultiplexer begins.
//!
//! ```text
//! batches of a file -> staffa::Writer, on a thread that may block -> SharedBytes -> object store
//! ```

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::{JoinSet, SpawnedTask};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::file_format::write::demux::DemuxedStreamReceiver;
use datafusion::datasource::file_format::write::get_writer_schema;
use datafusion::datasource::physical_plan::{FileSink, FileSinkConfig};
use datafusion::datasource::sink::DataSink;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::object_store::buffered::BufWriter;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectStore, ObjectStoreExt};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use staffa::{WriteOptions, Writer};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::Receiver;

use crate::files;

/// Writes the files of `COPY ... TO` and `INSERT INTO`.
pub(crate) struct StaffaSink {
    config: FileSinkConfig,
    options: WriteOptions,
}

impl StaffaSink {
    pub fn new(config: FileSinkConfig, options: WriteOptions) -> Self {
        Self { config, options }
    }
}

impl fmt::Debug for StaffaSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaffaSink").finish_non_exhaustive()
    }
}

impl DisplayAs for StaffaSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StaffaSink(to={})", self.config.original_url)
    }
}

#[async_trait]
impl DataSink for StaffaSink {
    fn schema(&self) -> &SchemaRef {
        self.config.output_schema()
    }

    async fn write_all(
        &self,
        data: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        FileSink::write_all(self, data, context).await
    }
}

#[async_trait]
impl FileSink for StaffaSink {
    fn config(&self) -> &FileSinkConfig {
        &self.config
    }

    async fn spawn_writer_tasks_and_join(
        &self,
        context: &Arc<TaskContext>,
        demux: SpawnedTask<Result<()>>,
        mut files: DemuxedStreamReceiver,
        store: Arc<dyn ObjectStore>,
    ) -> Result<u64> {
        let schema = get_writer_schema(&self.config);
        let config = context.session_config().options();
        let capacity = config.execution.objectstore_writer_buffer_size;
        let mut tasks = JoinSet::new();
        while let Some((path, batches)) = files.recv().await {
            let upload = BufWriter::with_capacity(store.clone(), path.clone(), capacity);
            let (options, schema) = (self.options.clone(), schema.clone());
            tasks.spawn(async move {
                let mut file = NewFile { path, upload };
                let written = file.write(schema, options, batches).await;
                (file, written)
            });
        }
        let (mut rows, mut written, mut failed) = (0, Vec::new(), None);
        while let Some(joined) = tasks.join_next().await {
            let (file, result) = joined.map_err(|e| DataFusionError::ExecutionJoin(Box::new(e)))?;
            written.push(file);
            match result {
                Ok(of_file) => rows += of_file,
                Err(e) => failed = failed.or(Some(e)),
            }
        }
        // Where the query fails, batches end as they do behind its last row.
        let queried = demux.join_unwind().await;
        let queried = queried.map_err(|e| DataFusionError::ExecutionJoin(Box::new(e)));
        let outcome = failed.map_or(queried.and_then(|queried| queried), Err);
        match outcome {
            Ok(()) => appear(written, &store).await.map(|()| rows),
            Err(e) => {
                for file in &mut written {
                    // The error that is told is the first one.
                    drop(file.upload.abort().await);
                }
                Err(e)
            }
        }
    }
}

/// Ends all uploads. Where one fails, the files that have appeared are removed again.
async fn appear(files: Vec<NewFile>, store: &Arc<dyn ObjectStore>) -> Result<()> {
    let (mut appeared, mut failed) = (Vec::new(), None);
    for mut file in files {
        if failed.is_some() {
            drop(file.upload.abort().await);
            continue;
        }
        match file.upload.shutdown().await {
            Ok(()) => appeared.push(file.path),
            Err(e) => {
                let error = DataFusionError::IoError(e);
                failed = Some(error.context(format!("Staffa file {}", file.path)));
            }
        }
    }
    let Some(error) = failed else {
        return Ok(());
    };
    for path in appeared {
        drop(store.delete(&path).await);
    }
    Err(error)
}

/// A file that appears when all files of the query have been written.
struct NewFile {
    path: Path,
    upload: BufWriter,
}

impl NewFile {
    /// Writes the rows, all but the end of the upload; returns their number.
    async fn write(
        &mut self,
        schema: SchemaRef,
        options: WriteOptions,
        mut batches: Receiver<RecordBatch>,
    ) -> Result<u64> {
        let (mut rows, written) = (0, SharedBytes::default());
        let writer = Writer::new(written.clone(), schema, options);
        let mut writer = writer.map_err(|e| files::error(&self.path, e))?;
        while let Some(batch) = batches.recv().await {
            rows += batch.num_rows() as u64;
            // A full row group is encoded here.
            let encode = move || writer.write(&batch).map(|()| writer);
            writer = blocking(&self.path, encode).await?;
            self.put(&written).await?;
        }
        blocking(&self.path, move || writer.finish()).await?;
        self.put(&written).await?;
        Ok(rows)
    }

    async fn put(&mut self, written: &SharedBytes) -> Result<()> {
        if let Some(bytes) = written.take() {
            self.upload.put(bytes).await?;
        }
        Ok(())
    }
}

/// Runs work that takes long on a thread that may block.
async fn blocking<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> staffa::Result<T> + Send + 'static,
) -> Result<T> {
    match SpawnedTask::spawn_blocking(work).join().await {
        Ok(done) => done.map_err(|e| files::error(path, e)),
        Err(e) => Err(DataFusionError::ExecutionJoin(Box::new(e))),
    }
}

/// What a writer wrote and the upload has not taken yet.
#[derive(Debug, Clone, Default)]
struct SharedBytes(Arc<Mutex<Vec<u8>>>);

impl SharedBytes {
    fn take(&self) -> Option<Bytes> {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = std::mem::take(&mut *bytes);
        (!bytes.is_empty()).then(|| bytes.into())
    }
}

impl Write for SharedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
