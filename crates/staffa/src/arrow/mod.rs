//! Arrow arrays <-> leaf columns. FORMAT.md, section 4.
//!
//! ```text
//! write   batches --concat--> one batch per row group --shred--> leaf arrays
//! read    decoded leaves --assemble--> one array per column --take--> some rows of it
//! both    Schema --Layout::new--> the leaves of each column
//! ```
//!
//! Every Arrow type is accepted but unions. Types, names, nullability, metadata (of extension types,
//! too) and values come back as they were written, but for values under a NULL.
//!
//! Leaves become Arrow arrays, and arrays leaves, only here. Arrow arrays are also named by
//! `predicate` (Arrow's kernels over a batch) and `read` (dictionaries and runs as blocks store
//! them, results of aggregates); encodings and `decode` know only values.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod assemble;
mod assemble_leaf;
pub(crate) mod build;
mod concat;
mod dictionaries;
mod domain;
mod layout;
mod memory;
mod shred;
mod shred_leaf;
mod shred_level;
mod shred_list;
mod take;
mod validate;

pub(crate) use assemble::{
    assemble, assemble_within, view_leaves, with_short_decimals, with_string_views,
};
pub(crate) use assemble_leaf::leaf_array;
pub(crate) use build::boolean_buffer;
pub(crate) use concat::{batch_of, concat, join_column, no_column, surely_join};
pub(crate) use domain::Domain;
pub(crate) use layout::{Layout, Leaf, Node, unknown_column};
pub(crate) use memory::Dictionaries;
pub use memory::arrow_bytes;
pub(crate) use shred::{shred, shred_columns};
pub(crate) use take::take;
pub use validate::validate_array;

#[cfg(test)]
mod tests;
