//! Arrow <-> leaf columns: the only place that names Arrow's array types.
//!
//! ```text
//! write   batches --concat--> one batch per row group --shred--> leaf arrays
//! read    decoded leaves --assemble--> one array per column --pick--> some rows of it
//! both    Schema --Layout::new--> which leaves there are, and how they hang together
//!         Schema <--encode_schema, decode_schema--> bytes of the footer
//! ```
//!
//! Every Arrow type is accepted but unions. Types, names, nullability, metadata (extension types
//! with it) and values come back as they went in; what lies under a NULL does not.

mod assemble;
mod assemble_leaf;
pub(crate) mod build;
mod concat;
mod dictionaries;
mod layout;
mod shred;
mod shred_leaf;
mod shred_list;
mod take;

pub(crate) use assemble::{assemble, assemble_within, reads_views, with_string_views};
pub(crate) use assemble_leaf::leaf_array;
pub(crate) use build::boolean_buffer;
pub(crate) use concat::concat;
pub(crate) use layout::{Layout, Leaf, Node, unknown_column};
pub(crate) use shred::shred;
pub(crate) use take::take;

#[cfg(test)]
mod tests;
