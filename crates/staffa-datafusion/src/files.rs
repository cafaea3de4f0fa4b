//! Opening a file behind an object store: its footer once, from then on from DataFusion's cache.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::{DataFusionError, HashMap, Result};
use datafusion::execution::cache::cache_manager::{
    CachedFileMetadataEntry, FileMetadata, FileMetadataCache,
};
use datafusion::object_store::path::Path;
use datafusion::object_store::{GetResultPayload, ObjectMeta, ObjectStore};
use staffa::{File, OpenStep, Opening};

use crate::objects::Object;

/// What an open local file counts for in the cache: it holds a file descriptor, of which a process
/// may have some 1,000, and the cache 50 MB.
const LOCAL_BYTES: usize = 64 << 10;
/// The first request of a remote file.
const TAIL_BYTES: u64 = 64 << 10;

/// An open file.
#[derive(Clone)]
pub(crate) struct OpenFile {
    pub file: File,
    /// Where its ranges come from; `None` for a file of the local disk, which is read where it is.
    pub object: Option<Arc<Object>>,
}

/// Opens a file, or finds it open in the cache.
pub(crate) async fn open(
    store: &Arc<dyn ObjectStore>,
    meta: &ObjectMeta,
    cache: Option<&Arc<FileMetadataCache>>,
) -> Result<OpenFile> {
    let found = cache.and_then(|cache| cache.get(&meta.location));
    let valid = |entry: &CachedFileMetadataEntry| {
        entry.is_valid_for(meta) && entry.meta.e_tag == meta.e_tag
    };
    if let Some(entry) = found.filter(valid)
        && let Some(cached) = entry.file_metadata.as_any().downcast_ref::<Cached>()
        // The cache knows paths, which several stores may have.
        && Arc::ptr_eq(&cached.store, store)
    {
        return Ok(cached.open.clone());
    }
    let (open, bytes) = open_anew(store, meta).await?;
    if let Some(cache) = cache {
        let cached = Arc::new(Cached {
            open: open.clone(),
            store: store.clone(),
            bytes,
        });
        let entry = CachedFileMetadataEntry::new(meta.clone(), cached);
        cache.put(&meta.location, entry);
    }
    Ok(open)
}

/// Opens a file; also the bytes that it holds.
async fn open_anew(store: &Arc<dyn ObjectStore>, meta: &ObjectMeta) -> Result<(OpenFile, usize)> {
    let place = |e| error(&meta.location, e);
    let object = Object::new(store.clone(), meta.clone());
    let mut opening = Opening::new(meta.location.as_ref(), meta.size).with_statistics();
    let mut held = 0;
    // An empty object has no range; the error says what is missing.
    if meta.size > 0 {
        let tail = meta.size.saturating_sub(TAIL_BYTES)..meta.size;
        let found = object.get(&tail).await?;
        if let GetResultPayload::File(_, path) = &found.payload {
            let file = File::open(path).map_err(place)?;
            return Ok((OpenFile { file, object: None }, LOCAL_BYTES));
        }
        let bytes = object.bytes_of(found, &tail).await?;
        held += bytes.len();
        opening.give(&tail, bytes).map_err(place)?;
    }
    loop {
        match opening.next().map_err(place)? {
            OpenStep::Opened(file) => {
                let object = Some(Arc::new(object));
                // What was parsed takes as much again.
                return Ok((OpenFile { file, object }, 2 * held));
            }
            OpenStep::Needs(range) => {
                let (range, bytes) = object.read(range).await?;
                held += bytes.len();
                opening.give(&range, bytes).map_err(place)?;
            }
            step => {
                let what = format!("a step of opening that is not known: {step:?}");
                return Err(DataFusionError::Internal(what));
            }
        }
    }
}

/// An error of the library as one of DataFusion, with the file that it is about.
pub(crate) fn error(location: &Path, e: staffa::Error) -> DataFusionError {
    let error = DataFusionError::External(Box::new(e));
    error.context(format!("Staffa file {location}"))
}

/// An open file in DataFusion's cache.
struct Cached {
    open: OpenFile,
    store: Arc<dyn ObjectStore>,
    bytes: usize,
}

impl FileMetadata for Cached {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn memory_size(&self) -> usize {
        self.bytes
    }

    fn extra_info(&self) -> HashMap<String, String> {
        let rows = self.open.file.num_rows().to_string();
        HashMap::from_iter([("rows".to_owned(), rows)])
    }
}
