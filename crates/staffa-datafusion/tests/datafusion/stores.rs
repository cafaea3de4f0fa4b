//! An object store in memory that counts, delays and fails.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use datafusion::arrow::array::RecordBatch;
use datafusion::object_store::memory::InMemory;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, Result,
};
use datafusion::prelude::SessionContext;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use staffa::WriteOptions;
use url::Url;

/// What goes wrong with one request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// The server has an error.
    Status500,
    /// The body ends early, without an error.
    ShortBody,
    /// The connection ends within the body.
    CutBody,
    /// The whole object in answer to a range.
    WholeBody,
    /// Another object has its place.
    Changed,
    /// There is no object any more.
    Gone,
}

pub const FAULTS: [Fault; 6] = [
    Fault::Status500,
    Fault::ShortBody,
    Fault::CutBody,
    Fault::WholeBody,
    Fault::Changed,
    Fault::Gone,
];

#[derive(Debug, Default)]
struct State {
    /// Ranges that were asked for.
    asked: Vec<(String, Range<u64>)>,
    /// Faults by the number of the request from now on.
    faults: HashMap<usize, Fault>,
    /// Delays by requests follow from it; none for 0.
    seed: u64,
    /// Objects after which a listing fails.
    listed: Option<usize>,
    /// Whether the last step of a write fails for a path.
    refused: Option<String>,
    running: usize,
    most_running: usize,
}

#[derive(Debug, Clone, Default)]
pub struct TestStore {
    inner: Arc<InMemory>,
    state: Arc<Mutex<State>>,
}

impl TestStore {
    /// A store that a session knows as `memory://lake`.
    pub fn register(ctx: &SessionContext) -> Self {
        let store = Self::default();
        let url = Url::parse("memory://lake").unwrap();
        ctx.register_object_store(&url, Arc::new(store.clone()));
        store
    }

    pub async fn put(&self, path: &str, batch: &RecordBatch) {
        self.put_with(path, batch, WriteOptions::new()).await;
    }

    pub async fn put_with(&self, path: &str, batch: &RecordBatch, options: WriteOptions) {
        let bytes = staffa::to_bytes(batch.schema(), std::slice::from_ref(batch), options);
        self.put_bytes(path, bytes.unwrap()).await;
    }

    pub async fn put_bytes(&self, path: &str, bytes: Vec<u8>) {
        self.inner
            .put(&Path::from(path), bytes.into())
            .await
            .unwrap();
    }

    /// Bytes of an object.
    pub async fn bytes(&self, path: &str) -> Vec<u8> {
        let found = self.inner.get(&Path::from(path)).await.unwrap();
        found.bytes().await.unwrap().to_vec()
    }

    /// Names of all objects.
    pub async fn names(&self) -> Vec<String> {
        let all: Vec<ObjectMeta> = self.inner.list(None).try_collect().await.unwrap();
        all.iter()
            .map(|object| object.location.to_string())
            .collect()
    }

    /// The ranges asked for since the last time.
    pub fn asked(&self) -> Vec<(String, Range<u64>)> {
        std::mem::take(&mut self.state.lock().unwrap().asked)
    }

    /// The most requests at the same time.
    pub fn most_running(&self) -> usize {
        self.state.lock().unwrap().most_running
    }

    /// From now on requests take times that follow from a seed, and some fail.
    pub fn unsteady(&self, seed: u64, faults: &[(usize, Fault)]) {
        let mut state = self.state.lock().unwrap();
        state.asked.clear();
        (state.seed, state.faults) = (seed, faults.iter().copied().collect());
    }

    /// From now on a listing ends with an error after so many objects.
    pub fn cut_listing(&self, objects: usize) {
        self.state.lock().unwrap().listed = Some(objects);
    }

    /// From now on a path cannot be written.
    pub fn refuse(&self, part_of_path: &str) {
        self.state.lock().unwrap().refused = Some(part_of_path.to_owned());
    }

    fn failed() -> Error {
        Error::Generic {
            store: "test",
            source: "500 Internal Server Error".into(),
        }
    }

    fn check_write(&self, path: &Path) -> Result<()> {
        match &self.state.lock().unwrap().refused {
            Some(refused) if path.as_ref().contains(refused) => Err(Self::failed()),
            _ => Ok(()),
        }
    }

    async fn begin(&self, path: &Path, range: Option<&GetRange>) -> Option<Fault> {
        let (fault, delay) = {
            let mut state = self.state.lock().unwrap();
            let number = state.asked.len();
            let range = match range {
                Some(GetRange::Bounded(range)) => range.clone(),
                _ => 0..u64::MAX,
            };
            state.asked.push((path.to_string(), range));
            state.running += 1;
            state.most_running = state.most_running.max(state.running);
            let mixed = (state.seed + number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let delay = if state.seed > 0 { mixed % 4 } else { 0 };
            (state.faults.get(&number).copied(), delay)
        };
        if delay > 0 {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        fault
    }

    async fn answer(
        &self,
        path: &Path,
        mut options: GetOptions,
        fault: Option<Fault>,
    ) -> Result<GetResult> {
        match fault {
            Some(Fault::Status500) => return Err(Self::failed()),
            Some(Fault::WholeBody) => options.range = None,
            Some(Fault::Changed) => {
                let bytes = self.inner.get(path).await?.bytes().await?;
                self.inner.put(path, bytes.into()).await?;
            }
            Some(Fault::Gone) => self.inner.delete(path).await?,
            _ => {}
        }
        let mut found = self.inner.get_opts(path, options).await?;
        if let Some(fault @ (Fault::ShortBody | Fault::CutBody)) = fault {
            let (meta, range) = (found.meta.clone(), found.range.clone());
            let attributes = found.attributes.clone();
            let bytes = found.bytes().await?;
            let mut parts: Vec<Result<Bytes>> = vec![Ok(bytes.slice(..bytes.len() / 2))];
            if fault == Fault::CutBody {
                parts.push(Err(Self::failed()));
            }
            found = GetResult {
                payload: GetResultPayload::Stream(stream::iter(parts).boxed()),
                meta,
                range,
                attributes,
            };
        }
        Ok(found)
    }
}

impl fmt::Display for TestStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestStore")
    }
}

#[async_trait::async_trait]
impl ObjectStore for TestStore {
    async fn put_opts(
        &self,
        path: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.check_write(path)?;
        self.inner.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.check_write(path)?;
        self.inner.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        if options.head {
            return self.inner.get_opts(path, options).await;
        }
        let fault = self.begin(path, options.range.as_ref()).await;
        let answer = self.answer(path, options, fault).await;
        self.state.lock().unwrap().running -= 1;
        answer
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let listed = self.state.lock().unwrap().listed;
        let all = self.inner.list(prefix);
        match listed {
            Some(objects) => {
                let end = stream::iter([Err(Self::failed())]);
                all.take(objects).chain(end).boxed()
            }
            None => all,
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// A table of the objects below `memory://lake/NAME/`.
pub async fn create(ctx: &SessionContext, name: &str) {
    let sql =
        format!("CREATE EXTERNAL TABLE {name} STORED AS STAFFA LOCATION 'memory://lake/{name}/'");
    ctx.sql(&sql).await.unwrap();
}
