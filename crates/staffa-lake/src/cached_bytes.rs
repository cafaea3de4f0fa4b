//! Which bytes of an answer are of the disk cache.

use object_store::{Attribute, GetResult};

/// The attribute of an answer that says how many of its bytes were in the cache: an answer carries nothing else that
/// a store in front of another one may add to.
pub(crate) const CACHED: &str = "staffa-disk-cache";

/// How many bytes of an answer were in the [`DiskCache`](crate::DiskCache), and so were not asked for: no
/// more than it has.
pub fn cached_bytes(answer: &GetResult) -> u64 {
    let told = answer.attributes.get(&Attribute::Metadata(CACHED.into()));
    let told = told.and_then(|told| told.parse().ok());
    told.unwrap_or(0).min(answer.range.end - answer.range.start)
}
