//! Reading: an open file, its column chunks and blocks; scans, filters, rows by number, aggregates.
//!
//! ```text
//! File -> ChunkReader -> Block -> ColumnBuilder -> batch (whole rows), rows (selected rows)
//!                          |
//!                          +----> filter (bits), aggregate (a few values), dictionary, run_ends
//! Scan, take: which rows; cache: open blocks for the next take, of many files
//! ```

mod admission;
#[cfg(feature = "aggregate")]
mod aggregate;
mod batch;
mod block_range;
mod cache;
mod cached;
mod chunk_reader;
mod column_builder;
mod decoded_block;
mod dictionary;
mod domain;
mod file;
mod filter;
mod leaf_index;
mod may_match;
mod metrics;
mod opening;
mod prefetch;
mod ranges;
mod rows;
mod run_ends;
mod scan;
mod slots;
mod support;
mod take;

#[cfg(feature = "aggregate")]
pub use aggregate::{Aggregate, aggregate_batches};
pub(crate) use batch::{RowRange, read_batch, read_column};
pub use cache::{Cache, CacheInfo};
pub(crate) use chunk_reader::ChunkReader;
pub(crate) use column_builder::OutputLayout;
pub use file::File;
pub use metrics::{ScanCounts, ScanMetrics};
pub use opening::{OpenStep, Opening};
pub(crate) use ranges::SCAN_GAP;
pub(crate) use scan::schema_for;
pub use scan::{ArrowReader, Reader, Scan, Split, Step, Steps};
pub use take::{RowSelection, Take};
#[cfg(feature = "experiments")]
pub(crate) use {
    cache::OpenBlock, chunk_reader::Keep, column_builder::ColumnBuilder, slots::BlockSize,
};
