//! An object store that counts what its provider puts on the bill.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use futures::StreamExt;
use futures::stream::BoxStream;

/// Objects that one request lists, at most.
const LISTED: u64 = 1000;

/// Requests to all stores of a session.
#[derive(Debug, Default)]
pub struct Requests {
    gets: AtomicU64,
    lists: AtomicU64,
    bytes: AtomicU64,
}

/// [`Requests`] at a point in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests for bytes of an object, or for its length.
    pub gets: u64,
    /// Requests for the objects of a prefix.
    pub lists: u64,
    /// Bytes of objects that were asked for.
    pub bytes: u64,
}

impl Requests {
    /// The counts since the last call.
    pub fn take(&self) -> Counts {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        Counts {
            gets: take(&self.gets),
            lists: take(&self.lists),
            bytes: take(&self.bytes),
        }
    }
}

/// A store and where its requests are counted. Those that write are not.
#[derive(Debug)]
pub struct Counted {
    pub store: Arc<dyn ObjectStore>,
    pub requests: Arc<Requests>,
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl Counted {
    /// Counts the requests that a listing takes as it goes on.
    fn listed<'a>(
        &self,
        objects: BoxStream<'a, Result<ObjectMeta>>,
    ) -> BoxStream<'a, Result<ObjectMeta>> {
        let requests = self.requests.clone();
        let counted = objects.enumerate().inspect(move |(number, _)| {
            if *number > 0 && (*number as u64).is_multiple_of(LISTED) {
                requests.lists.fetch_add(1, Ordering::Relaxed);
            }
        });
        self.requests.lists.fetch_add(1, Ordering::Relaxed);
        counted.map(|(_, object)| object).boxed()
    }
}

#[async_trait]
impl ObjectStore for Counted {
    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let (head, of_version) = (options.head, options.if_match.is_some());
        let result = self.store.get_opts(path, options).await;
        let (bytes, cached) = match &result {
            Ok(found) if !head => (
                found.range.end - found.range.start,
                staffa_lake::cached_bytes(found),
            ),
            _ => (0, 0),
        };
        // Of a version that the disk cache has, nothing was asked for; otherwise whether it is the newest.
        if cached == 0 || cached < bytes || !of_version {
            self.requests.gets.fetch_add(1, Ordering::Relaxed);
        }
        self.requests
            .bytes
            .fetch_add(bytes - cached, Ordering::Relaxed);
        result
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(self.store.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.listed(self.store.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let result = self.store.list_with_delimiter(prefix).await?;
        let listed = (result.objects.len() + result.common_prefixes.len()) as u64;
        let lists = listed.div_ceil(LISTED).max(1);
        self.requests.lists.fetch_add(lists, Ordering::Relaxed);
        Ok(result)
    }

    async fn put_opts(
        &self,
        path: &Path,
        bytes: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.store.put_opts(path, bytes, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(path, options).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(paths)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}
