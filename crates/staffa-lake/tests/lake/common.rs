//! A store in memory that is slow, counts, and fails by seed.
#![allow(dead_code)]

use std::fmt;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};

/// What goes wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    ServerError,
    ShortBody,
    LongBody,
    Changed,
    Denied,
}

pub const FAULTS: [Fault; 5] = [
    Fault::ServerError,
    Fault::ShortBody,
    Fault::LongBody,
    Fault::Changed,
    Fault::Denied,
];

/// A store in memory. Requests are answered out of order; one of them goes wrong.
#[derive(Debug, Default)]
pub struct Store {
    pub memory: InMemory,
    pub asked: Mutex<Vec<Range<u64>>>,
    /// Every request: what it does, and of which object.
    pub log: Mutex<Vec<String>>,
    pub at_once: AtomicU64,
    pub most_at_once: AtomicU64,
    pub fault: Mutex<Option<(usize, Fault)>>,
    /// Objects whose names hold this text cannot be put.
    pub full: Mutex<Option<String>>,
    /// It has no conditional put and fails when a part is put.
    pub refuses_parts: bool,
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a store of the tests")
    }
}

impl Store {
    pub fn take(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    /// The requests since the last call.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().unwrap())
    }

    fn note(&self, what: &str, path: &Path) {
        self.log.lock().unwrap().push(format!("{what} {path}"));
    }

    fn check_room(&self, path: &Path) -> Result<()> {
        let full = self.full.lock().unwrap();
        let is_full = full
            .as_ref()
            .is_some_and(|text| path.as_ref().contains(text.as_str()));
        if !is_full {
            return Ok(());
        }
        let source = "disk full at https://h/k?sig=SECRET".into();
        Err(object_store::Error::Generic {
            store: "test",
            source,
        })
    }

    pub fn fail(&self, request: usize, fault: Fault) {
        self.take();
        *self.fault.lock().unwrap() = Some((request, fault));
    }
}

#[async_trait]
impl ObjectStore for Store {
    async fn put_opts(
        &self,
        path: &Path,
        bytes: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.note("PUT", path);
        self.check_room(path)?;
        self.memory.put_opts(path, bytes, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.note("POST", path);
        self.check_room(path)?;
        if self.refuses_parts {
            return Err(object_store::Error::Generic {
                store: "test",
                source: "disk full".into(),
            });
        }
        self.memory.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.note(if options.head { "HEAD" } else { "GET" }, path);
        let at_once = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        let len = self.memory.head(path).await?.size;
        let (number, range) = {
            let mut asked = self.asked.lock().unwrap();
            let range = match &options.range {
                Some(GetRange::Bounded(range)) => range.clone(),
                Some(GetRange::Suffix(bytes)) => len.saturating_sub(*bytes)..len,
                _ => 0..len,
            };
            if !options.head {
                asked.push(range.clone());
            }
            (asked.len(), range)
        };
        // Later requests are answered first.
        tokio::time::sleep(Duration::from_millis(if number % 2 == 0 { 1 } else { 3 })).await;
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        let head = options.head;
        let found = self.memory.get_opts(path, options).await?;
        let fault = *self.fault.lock().unwrap();
        let Some((_, fault)) = fault.filter(|(request, _)| *request == number && !head) else {
            return Ok(found);
        };
        let (meta, attributes) = (found.meta.clone(), found.attributes.clone());
        let path = path.to_string();
        let bytes = found.bytes().await?;
        let other = match fault {
            Fault::ServerError => {
                return Err(object_store::Error::Generic {
                    store: "test",
                    source: "500 Internal Server Error at https://h/k?sig=SECRET".into(),
                });
            }
            Fault::Changed => {
                let source = "412".into();
                return Err(object_store::Error::Precondition { path, source });
            }
            Fault::Denied => {
                let source = "403".into();
                return Err(object_store::Error::PermissionDenied { path, source });
            }
            Fault::ShortBody => bytes.slice(..bytes.len() / 2),
            Fault::LongBody => [&bytes[..], b"more"].concat().into(),
        };
        let once = futures_util::stream::once(async move { Ok(other) });
        Ok(GetResult {
            payload: GetResultPayload::Stream(Box::pin(once)),
            meta,
            range,
            attributes,
        })
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.memory.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.note("LIST", prefix.unwrap_or(&Path::default()));
        self.memory.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.memory.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.note("copy", to);
        self.check_room(to)?;
        self.memory.copy_opts(from, to, options).await
    }
}
