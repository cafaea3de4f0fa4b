//! Objects of remote stores, read by ranges: requests run beside the query, and no thread waits.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, exec_err};
use datafusion::object_store::{
    Attribute, Error as StoreError, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore,
};
use futures::StreamExt;
use futures::stream::FuturesOrdered;
use tokio::sync::Semaphore;

use crate::metrics::Counters;

/// Requests of a scan at the same time, whatever its partitions.
pub(crate) const MOST_REQUESTS: usize = 16;

/// An object as it was when the query was planned.
#[derive(Debug)]
pub(crate) struct Object {
    store: Arc<dyn ObjectStore>,
    meta: ObjectMeta,
    /// Requests and bytes that no scan has counted yet: those that opened it.
    requests: AtomicUsize,
    bytes: AtomicUsize,
}

impl Object {
    pub fn new(store: Arc<dyn ObjectStore>, meta: ObjectMeta) -> Self {
        Self {
            store,
            meta,
            requests: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        }
    }

    pub fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    /// The answer to a request for a range of this version of the object.
    pub async fn get(&self, range: &Range<u64>) -> Result<GetResult> {
        let tag = self.meta.e_tag.clone();
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            // A weak tag matches nothing, and Azure's listings leave out the quotes: then the tag of the
            // answer tells.
            if_match: tag.filter(|tag| !tag.starts_with("W/") && !tag.starts_with("0x")),
            ..GetOptions::default()
        };
        let found = self.store.get_opts(&self.meta.location, options).await;
        let found = found.map_err(|e| self.failed(e))?;
        if self.has_changed(&found.meta) {
            return Err(self.changed());
        }
        Ok(found)
    }

    /// The bytes of an answer, which must be those of the range.
    pub async fn bytes_of(&self, found: GetResult, range: &Range<u64>) -> Result<Bytes> {
        let (answered, cached) = (found.range.clone(), cached_bytes(&found));
        let bytes = found.bytes().await.map_err(|e| self.failed(e))?;
        let expected = range.end - range.start;
        if answered != *range || bytes.len() as u64 != expected {
            return exec_err!(
                "{}: {expected} bytes at {} expected, the store answered with {} at {}",
                self.name(),
                range.start,
                bytes.len(),
                answered.start
            );
        }
        if cached < bytes.len() {
            self.requests.fetch_add(1, Ordering::Relaxed);
        }
        let asked = bytes.len().saturating_sub(cached);
        self.bytes.fetch_add(asked, Ordering::Relaxed);
        Ok(bytes)
    }

    /// Requests a range.
    pub async fn read(&self, range: Range<u64>) -> Result<Answer> {
        let found = self.get(&range).await?;
        let bytes = self.bytes_of(found, &range).await?;
        Ok((range, bytes))
    }

    /// Counts the requests since the last time.
    pub fn count(&self, counters: &Counters) {
        let taken = |count: &AtomicUsize| count.swap(0, Ordering::Relaxed);
        counters.requests.add(taken(&self.requests));
        counters.bytes_read.add(taken(&self.bytes));
    }

    fn has_changed(&self, found: &ObjectMeta) -> bool {
        if found.size != self.meta.size {
            return true;
        }
        if let (Some(planned), Some(found)) = (&self.meta.e_tag, &found.e_tag) {
            return planned.trim_matches('"') != found.trim_matches('"');
        }
        // A plan may be made without a listing: its files then have no time. Answers have no fractions
        // of seconds.
        let planned = self.meta.last_modified.timestamp();
        planned != 0 && planned != found.last_modified.timestamp()
    }

    fn changed(&self) -> DataFusionError {
        exec_datafusion_err!(
            "{}: the object was changed since the query was planned",
            self.name()
        )
    }

    fn failed(&self, error: StoreError) -> DataFusionError {
        match error {
            StoreError::Precondition { .. } | StoreError::NotModified { .. } => self.changed(),
            other => DataFusionError::from(other).context(self.name()),
        }
    }

    fn name(&self) -> String {
        format!("Staffa file {}", self.meta.location)
    }
}

/// How many bytes of an answer were on the local disk, as `staffa_lake::CachedStore` tells: they were not requested.
fn cached_bytes(found: &GetResult) -> usize {
    let told = Attribute::Metadata("staffa-disk-cache".into());
    let told = found
        .attributes
        .get(&told)
        .and_then(|told| told.parse().ok());
    told.unwrap_or(0)
}

/// A range and its bytes.
type Answer = (Range<u64>, Bytes);

/// Requests of one scan that are on their way, in the order in which they were begun.
pub(crate) struct Requests {
    object: Arc<Object>,
    permits: Arc<Semaphore>,
    begun: FuturesOrdered<SpawnedTask<Result<Answer>>>,
}

impl Requests {
    pub fn new(object: Arc<Object>, permits: Arc<Semaphore>) -> Self {
        Self {
            object,
            permits,
            begun: FuturesOrdered::new(),
        }
    }

    /// Begins a request: it goes on while nobody asks for its answer.
    pub fn begin(&mut self, range: Range<u64>) {
        let (object, permits) = (self.object.clone(), self.permits.clone());
        let request = async move {
            // The semaphore is never closed.
            let _permit = permits.acquire().await.ok();
            object.read(range).await
        };
        self.begun.push_back(SpawnedTask::spawn(request));
    }

    /// The answer to the first request; `None` where there is none.
    pub async fn next(&mut self) -> Result<Option<Answer>> {
        match self.begun.next().await {
            None => Ok(None),
            Some(Ok(answer)) => answer.map(Some),
            Some(Err(e)) => Err(DataFusionError::ExecutionJoin(Box::new(e))),
        }
    }

    /// Counts the requests that were answered.
    pub fn count(&self, counters: &Counters) {
        self.object.count(counters);
    }
}
