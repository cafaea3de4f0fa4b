//! Reading: an open file, its chunks and blocks, and what is asked of them: scans, filters, rows by
//! number, aggregates.

pub(crate) mod aggregate;
mod cache;
mod chunk_reader;
pub(crate) mod column_builder;
mod decoded;
pub(crate) mod dictionary;
mod file;
mod filter;
mod prefetch;
mod rows;
pub(crate) mod run_ends;
mod scan;
mod slots;
mod take;

pub use aggregate::{Aggregate, aggregate_batches};
pub(crate) use cache::OpenBlock;
pub use file::File;
pub(crate) use file::each_column;
pub use scan::{Reader, Scan, Split};
pub(crate) use scan::{is_flat, schema_for};
pub use take::RowSelection;
