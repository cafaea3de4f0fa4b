//! Staffa is an open columnar file format and library: tables as small, checksummed blocks of cascaded
//! lightweight encodings, read and written as Arrow record batches.
//!
//! ```
//! # use std::sync::Arc;
//! # use arrow_array::{Float64Array, RecordBatch, StringArray};
//! use staffa::{File, WriteOptions, Writer, col};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let batch = RecordBatch::try_from_iter([
//! #     ("city", Arc::new(StringArray::from(vec!["Oban", "Tobermory", "Oban"])) as _),
//! #     ("price", Arc::new(Float64Array::from(vec![3.25, 0.99, 4.5])) as _),
//! # ])?;
//! # let folder = std::env::temp_dir().join(format!("staffa-first-page-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("prices.staffa");
//! let mut writer = Writer::create(&path, batch.schema(), WriteOptions::new())?;
//! writer.write(&batch)?;
//! writer.finish()?;
//! for batch in File::open(&path)?.scan().columns(["price"]).filter(col("city").eq("Oban")).reader()? {
//!     assert_eq!(batch?.num_rows(), 2);
//! }
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! | to | use |
//! |---|---|
//! | write a file, whole or not at all | [`Writer::create`], with [`WriteOptions`] |
//! | write to memory, a socket, a pipe | [`Writer::new`], [`to_bytes`] |
//! | open a file, or bytes in memory | [`File::open`], [`File::from_bytes`], within [`Limits`] |
//! | read columns and rows that match | [`File::scan`], with a [`Predicate`] from [`col`] or from text |
//! | hand batches to other libraries | [`Scan::into_reader`], Arrow's `RecordBatchReader` |
//! | read rows by number, range or mask | [`File::take`] |
//! | count, sum, smallest and largest | [`File::aggregate`] |
//! | look inside | [`File::statistics`], [`File::inspect`], [`File::explain`], [`File::verify`] |
//!
//! The folder `examples` has programs for these: `cargo run --example write`, `scan`, `take`, `metadata`,
//! `stream`.
//!
//! # Features
//!
//! | feature | on by default | brings |
//! |---|---|---|
//! | `aggregate` | yes | [`File::aggregate`]: counts, extremes, sums, from zone maps and encodings |
//! | `codecs` | yes | Zstd, LZ4, Brotli and pco as encodings, and `vbyte`, `stream_vbyte`; without it, blocks that have one are refused by name |
//!
//! # Errors
//!
//! For any bytes a read gives the written values or an [`Error`]: no panic, and no more memory than a
//! block declares and [`Limits`] allow. [`Error`] converts to Arrow's `ArrowError` and back.
//!
//! # How it works
//!
//! ```text
//! write  RecordBatch -> row group -> leaves -> values of a block -> cascade -> nodes -> block -> chunk -> file
//!        write/         arrow/       arrow/    values/             encode/    encodings/ format/ write/   format/
//!                       concat       shred                         statistics,
//!                                                                  estimates
//!
//! read   file -> column index -> block -> nodes -> decoders, 1,024 values at a time -> leaves -> RecordBatch
//!        format/ format/         format/  format/  encodings/ open them; decode/       read/     arrow/
//!        store   zone maps skip  checksum                                              builders  assemble
//!                blocks (predicate/)
//! ```
//!
//! A room names only rooms before it: `error`, `limits` < `values` < `format` < `arrow` <
//! `predicate` < `decode` < `encode` < `encodings` < `read` < `write` < `inspect`. Tests hold this
//! order; ARCHITECTURE.md says what each room does, FORMAT.md what the bytes mean.
#![forbid(unsafe_code)]
// Decoders serve the feature in more places than are worth a `cfg` each.
#![cfg_attr(not(feature = "aggregate"), allow(dead_code, unused_imports))]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

mod arrow;
mod decode;
mod encode;
mod encodings;
mod error;
mod format;
mod inspect;
mod limits;
mod predicate;
mod read;
#[cfg(any(test, feature = "experiments"))]
#[doc(hidden)]
pub mod testing;
mod values;
mod write;

/// Runs the conformance suite on one encoding; the last line of its file but for tests of its own.
macro_rules! conformance {
    ($encoding:ident) => {
        #[cfg(test)]
        mod conformance {
            #[test]
            fn conforms() {
                crate::testing::conformance::run(&super::$encoding);
            }
        }
    };
}
pub use arrow::{arrow_bytes, validate_array};
use conformance;
pub use encode::{Access, Profile};
pub use encodings::edition::Edition;
pub use encodings::{EncodingInfo, list as encodings};
pub use error::{Error, Place, Result};
pub use format::{FORMAT_VERSION, SortKey, Source};
pub use inspect::{
    BlockExplain, BlockInfo, ChunkInfo, ChunkStatistics, ColumnExplain, ColumnWhy, Considered,
    EncodingTree, Inspection, LeafInfo, LeafRequirement, LeafStatistics, PartInfo, RelationWhy,
    RowGroupInfo, SharedExplain, SharedWhy, VerifyReport,
};
pub use limits::{Cancel, Limits, retained_memory, set_retained_memory, with_threads};
pub use predicate::{Column, Compare, Literal, Predicate, col};
#[cfg(feature = "aggregate")]
pub use read::{Aggregate, aggregate_batches};
pub use read::{
    ArrowReader, Cache, CacheInfo, File, OpenStep, Opening, Reader, RowSelection, Scan, ScanCounts,
    ScanMetrics, Split, Step, Steps, Take,
};
pub use write::{AtomicFile, WriteOptions, WriteSummary, Writer, to_bytes};

/// Former name of [`Split`].
#[deprecated(since = "0.1.0", note = "use `Split`")]
pub type Part = Split;

/// Former name of [`RowSelection`].
#[deprecated(since = "0.1.0", note = "use `RowSelection`")]
pub type Selection<'s> = RowSelection<'s>;

/// Examples of the Rust guide, as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/rust.md")]
struct Guide;
