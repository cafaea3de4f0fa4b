//! Staffa files in object stores.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = staffa_lake::open("s3://bucket/table.staffa")?;
//! for batch in file.scan().columns(["price"]).filter("day >= '2026-01-01'".parse()?).reader()? {
//!     println!("{} rows", batch?.num_rows());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | URL | store | credentials |
//! |---|---|---|
//! | `s3://bucket/key` | Amazon S3, and what speaks its protocol | environment (`AWS_*`), the instance, static keys of `AWS_PROFILE` |
//! | `gs://bucket/key` | Google Cloud Storage | environment (`GOOGLE_*`), the instance |
//! | `az://container/key`, `abfss://` | Azure Blob Storage | environment (`AZURE_*`), the instance |
//! | `https://host/path` | any server that answers ranges | none |
//! | `file:///path` | local disk | none |
//!
//! A file is opened by one request for its last 64 KiB; whatever is read later must be of the same
//! object (`If-Match`), or is an error. A scan asks for ranges joined over gaps of 1 MiB and cut at
//! 16 MiB, 16 at once, at most 128 MiB ahead of the batches. All functions block; the requests run
//! on threads of their own, which are begun anew after a fork.
//!
//! A [`DiskCache`] keeps what was read on the local disk (feature `disk-cache`): for the process by
//! [`DiskCache::set_process`], or by `STAFFA_DISK_CACHE=FOLDER=SIZE` in the environment.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod cached_bytes;
mod counters;
#[cfg(feature = "disk-cache")]
mod disk_cache;
mod error;
mod list;
mod location;
mod profile;
mod reader;
mod runtime;
mod source;
pub mod table;
mod upload;

use std::sync::Arc;

pub use cached_bytes::cached_bytes;
pub use counters::Counters;
#[cfg(feature = "disk-cache")]
pub use disk_cache::{CachedStore, DiskCache, DiskCacheInfo};
pub use error::message_of;
pub use list::{Object, list, names_several};
pub use location::{Location, is_url, name_of};
pub use reader::ObjectReader;
pub use runtime::ask_while_waiting;
pub use source::ObjectSource;
use staffa::{File, Limits, Result};
pub use upload::{ObjectWriter, Upload, remove};

/// Opens a file by its URL.
pub fn open(url: &str) -> Result<File> {
    open_with(&Location::parse(url)?, Limits::default())
}

/// Opens an object within limits other than the default ones.
pub fn open_with(location: &Location, limits: Limits) -> Result<File> {
    File::open_source_with(Arc::new(ObjectSource::open(location)?), limits)
}
