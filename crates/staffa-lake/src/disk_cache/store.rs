//! A store in front of which the cache stands.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::DateTime;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload,
    ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions,
    PutPayload, PutResult, RenameOptions, Result,
};
use tokio::runtime::Handle;

use super::entry::Version;
use super::folder::{ObjectFolder, Parts, SHELF_BYTES};
use super::{DiskCache, MOST_PENDING};
use crate::cached_bytes::CACHED;

/// An object store whose answers are kept in a [`DiskCache`], for the next request of the same bytes.
///
/// A range of a version (`if_match` with a strong tag) that is there is answered without a request. A range of
/// whatever version is asked for with the version that is there, so that the store answers without bytes if the object
/// is still the same. Everything else goes to the store: objects without a strong tag, whole objects, listings, writes.
/// Answers of the cache have no attributes but one that says so.
#[derive(Debug)]
pub struct CachedStore {
    store: Arc<dyn ObjectStore>,
    /// What tells the store from others.
    name: String,
    /// That of the process if it is none.
    cache: Option<DiskCache>,
}

impl fmt::Display for CachedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl CachedStore {
    /// A store by a name that no other one has: scheme, host and bucket. Without a cache that of the
    /// process is used, if there is one.
    pub fn new(
        store: Arc<dyn ObjectStore>,
        name: impl Into<String>,
        cache: Option<DiskCache>,
    ) -> Self {
        let name = name.into();
        Self { store, name, cache }
    }

    fn cache(&self) -> Option<DiskCache> {
        // Whoever made the store has seen an error of the setting.
        let of_process = || DiskCache::process().ok().flatten();
        self.cache.clone().or_else(of_process)
    }

    /// The bytes of a range of a version, if all of them are in the cache.
    pub(crate) fn cached(&self, path: &Path, tag: &str, range: &Range<u64>) -> Option<Bytes> {
        let cache = self.cache().filter(|_| is_strong(tag))?;
        let object = cache.object(&self.name, path.as_ref());
        let (bytes, _) = object.read_whole(tag, range)?;
        cache.count(bytes.len() as u64, 0);
        Some(bytes)
    }

    /// A range of a version: what is there, and the rest by one request.
    async fn get_version(
        &self,
        path: &Path,
        options: GetOptions,
        tag: String,
        range: Range<u64>,
        cache: DiskCache,
    ) -> Result<GetResult> {
        let object = cache.object(&self.name, path.as_ref());
        let (of, wanted, of_version) = (object.clone(), range.clone(), tag.clone());
        let parts = blocking(move || of.read(&of_version, &wanted)).await;
        let mut parts = parts.unwrap_or_else(|| Parts::none(&range));
        let missing = parts.missing.clone();
        if let Some(version) = parts.version.take().filter(|_| missing.is_empty()) {
            let bytes = parts.joined(Bytes::new());
            cache.count(bytes.len() as u64, 0);
            return Ok(of_cache(path, &version, range, bytes));
        }
        let rest = GetOptions {
            range: Some(GetRange::Bounded(missing.clone())),
            ..options.clone()
        };
        let found = self.store.get_opts(path, rest).await?;
        let cached = parts.bytes();
        match self.keep(found, &object, false, &cache).await? {
            Kept::AsItIs(found) if cached == 0 => Ok(found),
            Kept::Bytes(found, bytes) if cached == 0 => {
                let answered = found.range.clone();
                Ok(answer(found, answered, bytes, 0))
            }
            Kept::Bytes(found, bytes)
                if found.meta.e_tag == Some(tag)
                    && found.range == missing
                    && bytes.len() as u64 == missing.end - missing.start =>
            {
                cache.0.hit_bytes.fetch_add(cached, Ordering::Relaxed);
                Ok(answer(found, range, parts.joined(bytes), cached))
            }
            // Not the rest of what is there: of another version, or not what was asked for.
            _ => self.store.get_opts(path, options).await,
        }
    }

    /// A range of whatever version the object has now.
    async fn get_newest(
        &self,
        path: &Path,
        options: GetOptions,
        wanted: GetRange,
        cache: DiskCache,
    ) -> Result<GetResult> {
        let object = cache.object(&self.name, path.as_ref());
        let of = object.clone();
        let known = blocking(move || {
            let known = of.latest()?;
            let range = wanted.as_range(known.bytes).ok()?;
            of.covers(&known.tag, &range).then_some((known, range))
        });
        let known = known.await.flatten();
        if let Some((version, range)) = &known {
            let unless = GetOptions {
                if_none_match: Some(version.tag.clone()),
                ..options.clone()
            };
            match self.store.get_opts(path, unless).await {
                Err(Error::NotModified { .. }) => {
                    let (of, tag, range) = (object.clone(), version.tag.clone(), range.clone());
                    let wanted = range.clone();
                    let found = blocking(move || of.read_whole(&tag, &wanted)).await;
                    let found = found.flatten();
                    if let Some((bytes, version)) = found {
                        cache.count(bytes.len() as u64, 0);
                        return Ok(of_cache(path, &version, range, bytes));
                    }
                }
                Ok(found) => return self.keep_newest(found, &object, &cache).await,
                // What is wrong, the next request says; a store may not know the condition.
                Err(_) => {}
            }
        }
        let found = self.store.get_opts(path, options).await?;
        self.keep_newest(found, &object, &cache).await
    }

    async fn keep_newest(
        &self,
        found: GetResult,
        object: &ObjectFolder,
        cache: &DiskCache,
    ) -> Result<GetResult> {
        match self.keep(found, object, true, cache).await? {
            Kept::AsItIs(found) => Ok(found),
            Kept::Bytes(found, bytes) => {
                let range = found.range.clone();
                Ok(answer(found, range, bytes, 0))
            }
        }
    }

    /// Keeps an answer, if it can be: written while the caller goes on.
    async fn keep(
        &self,
        mut found: GetResult,
        object: &ObjectFolder,
        latest: bool,
        cache: &DiskCache,
    ) -> Result<Kept> {
        if matches!(found.payload, GetResultPayload::File(..)) {
            return Ok(Kept::AsItIs(found));
        }
        let range = found.range.clone();
        let payload = GetResultPayload::Stream(stream::empty().boxed());
        let payload = std::mem::replace(&mut found.payload, payload);
        let whole = GetResult {
            payload,
            meta: found.meta.clone(),
            range: range.clone(),
            attributes: Attributes::new(),
        };
        let bytes = whole.bytes().await?;
        cache.count(0, bytes.len() as u64);
        let version =
            version_of(&found.meta).filter(|_| bytes.len() as u64 == range.end - range.start);
        let Some(version) = version.filter(|_| !bytes.is_empty()) else {
            return Ok(Kept::Bytes(found, bytes));
        };
        let (write, pending) = cache.0.pending.begin(bytes.len() as u64);
        let (cache, object, kept) = (cache.clone(), object.clone(), bytes.clone());
        let work = move || {
            cache.write(&object, &version, latest, range.start, &kept);
            drop(write);
        };
        if pending > MOST_PENDING {
            blocking(work).await;
        } else if let Ok(runtime) = Handle::try_current() {
            drop(runtime.spawn_blocking(work));
        } else {
            work();
        }
        Ok(Kept::Bytes(found, bytes))
    }
}

/// An answer without its bytes, and these; or one that is a file.
enum Kept {
    Bytes(GetResult, Bytes),
    AsItIs(GetResult),
}

/// Work that waits for the disk, apart from the threads that wait for the network; nothing if the process is ending.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.ok(),
        Err(_) => Some(work()),
    }
}

/// Whether a tag names one version to the byte.
fn is_strong(tag: &str) -> bool {
    !tag.is_empty() && !tag.starts_with("W/") && !tag.contains([',', '*'])
}

fn version_of(meta: &ObjectMeta) -> Option<Version> {
    let tag = meta.e_tag.clone().filter(|tag| is_strong(tag))?;
    Some(Version {
        tag,
        bytes: meta.size,
        modified: meta.last_modified.timestamp_nanos_opt()?,
    })
}

/// The answer of the cache.
fn of_cache(path: &Path, version: &Version, range: Range<u64>, bytes: Bytes) -> GetResult {
    let cached = bytes.len() as u64;
    let found = GetResult {
        payload: GetResultPayload::Stream(stream::empty().boxed()),
        meta: ObjectMeta {
            location: path.clone(),
            last_modified: DateTime::from_timestamp_nanos(version.modified),
            size: version.bytes,
            e_tag: Some(version.tag.clone()),
            version: None,
        },
        range: range.clone(),
        attributes: Attributes::new(),
    };
    answer(found, range, bytes, cached)
}

/// An answer with these bytes, of which some were in the cache.
fn answer(found: GetResult, range: Range<u64>, bytes: Bytes, cached: u64) -> GetResult {
    let mut attributes = found.attributes;
    if cached > 0 {
        attributes.insert(
            Attribute::Metadata(CACHED.into()),
            cached.to_string().into(),
        );
    }
    GetResult {
        payload: GetResultPayload::Stream(stream::once(async { Ok(bytes) }).boxed()),
        meta: found.meta,
        range,
        attributes,
    }
}

#[async_trait]
impl ObjectStore for CachedStore {
    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let plain = !options.head
            && options.version.is_none()
            && options.if_none_match.is_none()
            && options.if_modified_since.is_none()
            && options.if_unmodified_since.is_none();
        if let Some(range) = options.range.clone().filter(|_| plain)
            && let Some(cache) = self.cache()
        {
            match (options.if_match.clone(), range) {
                (Some(tag), GetRange::Bounded(range))
                    if is_strong(&tag) && fits(range.end.saturating_sub(range.start)) =>
                {
                    return self.get_version(path, options, tag, range, cache).await;
                }
                (None, GetRange::Bounded(range)) if fits(range.end.saturating_sub(range.start)) => {
                    let range = GetRange::Bounded(range);
                    return self.get_newest(path, options, range, cache).await;
                }
                (None, GetRange::Suffix(bytes)) if fits(bytes) => {
                    let range = GetRange::Suffix(bytes);
                    return self.get_newest(path, options, range, cache).await;
                }
                _ => {}
            }
        }
        self.store.get_opts(path, options).await
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

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.store.rename_opts(from, to, options).await
    }
}

fn fits(bytes: u64) -> bool {
    (1..=SHELF_BYTES).contains(&bytes)
}
