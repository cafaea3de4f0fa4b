//! Writing: batches to row groups, leaves to chunks, chunks to a file that appears whole or not at
//! all.

pub(crate) mod chunk;
pub(crate) mod correlate;
mod options;
mod plan;
pub(crate) mod rounding;
mod unsupported_value;
mod writer;

pub use options::{WriteOptions, WriteSummary};
pub use writer::{Writer, to_bytes};
