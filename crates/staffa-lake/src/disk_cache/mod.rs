//! A cache on the local disk of what was read from object stores: the next query asks the store for no byte
//! that is there.
//!
//! ```text
//! request -> CachedStore -> files of the version    -> all there: no request
//!                        -> store, for what is missing -> answer, and a file written beside
//! ```
//!
//! The key is store, path, `ETag` and range, so that an object that was replaced is another one. Whatever goes
//! wrong with the folder (a damaged, cut or missing file, a full disk, a folder that is gone) is a request to
//! the store, never an error or a wrong row.

mod entry;
mod folder;
mod pending;
mod setting;
mod store;
mod usage;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use staffa::{Error, Result};

use self::entry::Version;
use self::folder::ObjectFolder;
use self::pending::Pending;
pub use self::store::CachedStore;
use self::usage::Usage;

/// The version of the layout; folders of others are left alone.
const LAYOUT: &str = "1";
/// What tells backup programs to leave a folder out.
const TAG_FILE: (&str, &str) = (
    "CACHEDIR.TAG",
    "Signature: 8a477f597d28d172789f06886806bc55\n# Bytes of Staffa files in object stores.\n",
);
/// Bytes that wait to be written, beyond which a read waits for its own.
const MOST_PENDING: u64 = 64 << 20;

/// A folder of the local disk that keeps what was read from object stores, within a budget of bytes; clones are the
/// same cache. Processes may share the folder.
///
/// What was used longest ago is removed first. The bytes count towards the budget as they lie on the disk; each
/// further process that writes at the same time may exceed it by a twentieth. The folder holds what
/// its objects hold: it is created for this user alone.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cache = staffa_lake::DiskCache::new("/var/cache/staffa", 100 << 30)?;
/// staffa_lake::DiskCache::set_process(Some(cache.clone()));
/// for _ in 0..2 {
///     let file = staffa_lake::open("s3://bucket/prices.staffa")?;
///     file.scan().columns(["price"]).reader()?.try_for_each(|batch| batch.map(drop))?;
/// }
/// let info = cache.info();
/// println!("{} reads without a request for data, {} with one", info.hits, info.misses);
/// cache.flush();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct DiskCache(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Where the files of this layout are.
    root: PathBuf,
    budget: u64,
    usage: Mutex<Usage>,
    pending: Arc<Pending>,
    hits: AtomicU64,
    misses: AtomicU64,
    hit_bytes: AtomicU64,
    miss_bytes: AtomicU64,
}

/// What a [`DiskCache`] holds, and how often it helped this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DiskCacheInfo {
    /// Ranges that were there.
    pub hits: u64,
    /// Ranges that were asked for, or a part of them.
    pub misses: u64,
    /// Bytes that were there.
    pub hit_bytes: u64,
    /// Bytes that were asked for.
    pub miss_bytes: u64,
    /// Bytes of the folder now, those of other processes among them.
    pub bytes: u64,
    /// Most bytes of the folder.
    pub budget_bytes: u64,
}

impl DiskCache {
    /// The budget where none is named: 10 GiB.
    pub const DEFAULT_BYTES: u64 = 10 << 30;

    /// A cache in a folder, which is created if it is not there. Fails where that is impossible, or the path is no
    /// folder; a folder that cannot be written is read.
    pub fn new(folder: impl AsRef<Path>, bytes: u64) -> Result<Self> {
        let folder = folder.as_ref();
        let io = |e| Error::io(folder, e);
        if folder.as_os_str().is_empty() {
            return Err(Error::invalid(
                "the disk cache: the path of a folder expected, found none",
            ));
        }
        folder::create_folder(folder).map_err(io)?;
        // Another folder may be the current one later.
        let folder = fs::canonicalize(folder).map_err(io)?;
        if !folder.is_dir() {
            return Err(Error::io(&folder, io::ErrorKind::NotADirectory.into()));
        }
        let (name, text) = TAG_FILE;
        let tag = folder.join(name);
        if !tag.exists() {
            // Nothing depends on it.
            let _ = fs::write(tag, text);
        }
        Ok(Self(Arc::new(Inner {
            root: folder.join(LAYOUT),
            budget: bytes,
            usage: Mutex::default(),
            pending: Arc::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            hit_bytes: AtomicU64::new(0),
            miss_bytes: AtomicU64::new(0),
        })))
    }

    /// What the cache holds, and how often it helped. Looks at all its files.
    pub fn info(&self) -> DiskCacheInfo {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DiskCacheInfo {
            hits: get(&self.0.hits),
            misses: get(&self.0.misses),
            hit_bytes: get(&self.0.hit_bytes),
            miss_bytes: get(&self.0.miss_bytes),
            bytes: usage::bytes_of(&self.0.root),
            budget_bytes: self.0.budget,
        }
    }

    /// Waits until what was read is written, half a minute at most: before a process ends.
    pub fn flush(&self) {
        self.0.pending.flush();
    }

    fn object(&self, store: &str, path: &str) -> ObjectFolder {
        ObjectFolder::new(&self.0.root, store, path)
    }

    /// Writes what was read; with `latest` as the newest version of the object.
    fn write(
        &self,
        object: &ObjectFolder,
        version: &Version,
        latest: bool,
        offset: u64,
        bytes: &[u8],
    ) {
        let room = usage::on_disk(bytes.len() as u64 + entry::most_head_bytes(bytes.len()));
        // The file of the newest version takes a page.
        let room = room + if latest { usage::on_disk(1) } else { 0 };
        let usage = || self.0.usage.lock().unwrap_or_else(PoisonError::into_inner);
        if !usage().make_room(&self.0.root, self.0.budget, room) {
            return;
        }
        let write = || {
            if latest {
                object.set_latest(version)?;
            }
            object.write(version, offset, bytes)
        };
        if write().is_err() {
            usage().give_back(room);
        }
    }

    /// Counts a range by what of it was there.
    fn count(&self, hit_bytes: u64, miss_bytes: u64) {
        let counter = if miss_bytes == 0 {
            &self.0.hits
        } else {
            &self.0.misses
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.0.hit_bytes.fetch_add(hit_bytes, Ordering::Relaxed);
        self.0.miss_bytes.fetch_add(miss_bytes, Ordering::Relaxed);
    }
}
