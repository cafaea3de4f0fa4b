//! Staffa: tables as small, checksummed blocks of cascaded lightweight encodings.
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
//! order; ARCHITECTURE.md says what each room does.
//!
//! Write a table, open it, read some of it:
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{Float64Array, RecordBatch, StringArray};
//! use staffa::{File, WriteOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let batch = RecordBatch::try_from_iter([
//!     ("city", Arc::new(StringArray::from(vec!["Oban", "Tobermory", "Oban"])) as _),
//!     ("price", Arc::new(Float64Array::from(vec![3.25, 0.99, 4.5])) as _),
//! ])?;
//! let bytes = staffa::to_bytes(batch.schema(), &[batch.clone()], WriteOptions::default())?;
//!
//! let file = File::from_bytes(bytes)?;
//! let mut reader = file.scan().filter("city = 'Oban'".parse()?).reader()?;
//! assert_eq!(reader.next().transpose()?.map(|b| b.num_rows()), Some(2));
//! # Ok(())
//! # }
//! ```
//!
//! For any bytes a read gives the written values or an [`Error`]: no panic, and no more memory than a
//! block declares and [`Limits`] allow.
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
use conformance;
pub use encode::{Access, Profile};
pub use encodings::edition::Edition;
pub use encodings::{EncodingInfo, list as encodings};
pub use error::{Error, Place, Result};
pub use format::{FORMAT_VERSION, SortKey};
pub use inspect::{
    BlockExplain, BlockInfo, ChunkInfo, ChunkStatistics, ColumnExplain, ColumnWhy, Considered,
    EncodingTree, Inspection, LeafInfo, LeafRequirement, LeafStatistics, PartInfo, RelationWhy,
    RowGroupInfo, SharedExplain, SharedWhy, VerifyReport,
};
pub use limits::{Cancel, Limits, retained_memory, set_retained_memory};
pub use predicate::{Compare, Literal, Predicate};
#[cfg(feature = "aggregate")]
pub use read::{Aggregate, aggregate_batches};
pub use read::{File, Reader, RowSelection, Scan, Split};
pub use write::{WriteOptions, WriteSummary, Writer, to_bytes};

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
