//! Opening a file behind an object store: its footer once, from then on from DataFusion's cache.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::{DataFusionError, HashMap, Result};
use datafusion::execution::cache::cache_manager::{
    CachedFileMetadataEntry, FileMetadata, FileMetadataCache,
};
use datafusion::object_store::path::Path;
use datafusion::object_store::{GetResultPayload, ObjectMeta, ObjectStore, ObjectStoreExt};
use staffa::File;

/// What an open file counts for in the cache at least: it holds a file descriptor, of which a
/// process may have some 1,000, and the cache 50 MB.
const CACHED_BYTES: usize = 64 << 10;

/// Opens a file, or finds it open in the cache. A local file is read where it is; one of a remote
/// store is fetched whole.
pub(crate) async fn open(
    store: &Arc<dyn ObjectStore>,
    object: &ObjectMeta,
    cache: Option<&Arc<FileMetadataCache>>,
) -> Result<File> {
    let found = cache.and_then(|cache| cache.get(&object.location));
    if let Some(entry) = found.filter(|entry| entry.is_valid_for(object))
        && let Some(cached) = entry.file_metadata.as_any().downcast_ref::<OpenFile>()
    {
        return Ok(cached.0.clone());
    }
    let got = store.get(&object.location).await?;
    let (file, held_bytes) = match got.payload {
        GetResultPayload::File(_, path) => (File::open(path), CACHED_BYTES),
        GetResultPayload::Stream(_) => {
            let bytes = got.bytes().await?;
            let held_bytes = bytes.len();
            (File::from_bytes(bytes), held_bytes)
        }
    };
    let file = file.map_err(|e| error(&object.location, e))?;
    if let Some(cache) = cache {
        let open = Arc::new(OpenFile(file.clone(), held_bytes));
        let entry = CachedFileMetadataEntry::new(object.clone(), open);
        cache.put(&object.location, entry);
    }
    Ok(file)
}

/// An error of the library as one of DataFusion, with the file that it is about.
pub(crate) fn error(location: &Path, e: staffa::Error) -> DataFusionError {
    let error = DataFusionError::External(Box::new(e));
    error.context(format!("Staffa file {location}"))
}

/// An open file in DataFusion's cache, and the bytes of memory that it counts for.
struct OpenFile(File, usize);

impl FileMetadata for OpenFile {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn memory_size(&self) -> usize {
        self.1
    }

    fn extra_info(&self) -> HashMap<String, String> {
        HashMap::from_iter([("rows".to_owned(), self.0.num_rows().to_string())])
    }
}
