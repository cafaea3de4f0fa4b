//! Writing: batches to row groups, leaves to chunks, chunks to any sink, or to a file that appears
//! whole or not at all.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod atomic_file;
mod block_input;
pub(crate) mod block_rows;
pub(crate) mod choose;
pub(crate) mod chunk;
pub(crate) mod chunk_statistics;
pub(crate) mod correlate;
mod encoder;
mod join;
mod options;
mod plan;
mod remembered;
pub(crate) mod rounding;
mod row_group;
mod shared_dictionary;
mod similar;
pub(crate) mod sort_order;
pub(crate) mod summary;
mod unsupported_value;
mod verify;
mod window;
mod writer;

pub use atomic_file::AtomicFile;
#[cfg(feature = "experiments")]
pub(crate) use block_input::BlockInput;
pub use options::WriteOptions;
pub(crate) use shared_dictionary::Sharing;
pub use writer::{WriteSummary, Writer, to_bytes};

use crate::error::{Error, Result};

/// One of the leaves or columns of a table.
fn at_mut<T>(all: &mut [T], i: usize) -> Result<&mut T> {
    all.get_mut(i)
        .ok_or_else(|| Error::internal("a leaf or column beyond the layout"))
}
