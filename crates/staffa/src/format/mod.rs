//! The file: header, row groups, column indexes, footer, trailer. FORMAT.md, section by section;
//! nothing is decoded here.
//!
//! | file | FORMAT.md |
//! |---|---|
//! | `cursor` | section 1, conventions: integers, varints, texts |
//! | `footer` | section 2, the file: header, footer, trailer |
//! | `schema` | section 3 |
//! | `column_index`, `zone_map` | section 5 |
//! | `block`, `shared_dictionary` | section 6 |
//! | `node` | section 7 |
//! | `checksum` | section 10 |
//! | `store` | bytes of a file, in memory or on disk |
//!
//! ```text
//! +--------+-------------+-----+-------------+----------------+--------+---------+
//! | header | row group 0 | ... | row group n | column indexes | footer | trailer |
//! +--------+-------------+-----+-------------+----------------+--------+---------+
//!            column chunk of leaf 0, of leaf 1, ...
//!            chunk = shared dictionaries, blocks
//! header   = "STFA" | format version: u16 | 0: u16
//! footer   = rows: u64 | row groups: u32 | leaves: u32 | values per block: u32 | rows of every row group: u32 each
//!          | per leaf: place of its column index: u64, bytes: u32 | schema | writer: text
//! trailer  = footer bytes: u32 | CRC-32C of footer, footer bytes, version and flags: u32 | format version: u16 | flags: u16 | "STFA"
//! ```
//!
//! The place of a column index follows from the number of its leaf, and the index is read only with
//! its column. No byte lies between the parts; bytes without a checksum are compared with their only
//! value.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub(crate) mod block;
mod checksum;
mod column_index;
mod cursor;
mod footer;
mod node;
mod schema;
pub(crate) mod shared_dictionary;
mod store;
mod zone_map;

#[cfg(feature = "experiments")]
pub(crate) use checksum::checksum;
pub(crate) use checksum::{checked, seal};
pub(crate) use column_index::{BlockEntry, ChunkEntry, ColumnIndex, PartEntry, zone_of};
pub(crate) use cursor::{Cursor, put_prefixed, put_varint};
pub(crate) use footer::Footer;
pub use node::{Node, NodeRef};
pub(crate) use schema::{check_type, decode_schema, encode_schema};
pub(crate) use store::Store;
pub(crate) use zone_map::{Bounds, ZoneMap};

/// First and last bytes of a file.
pub(crate) const MAGIC: [u8; 4] = *b"STFA";
/// The format version that this release writes.
pub const FORMAT_VERSION: u16 = 0;
/// Most values of a block.
pub(crate) const MAX_BLOCK_ROWS: u32 = 1 << 20;
/// Bytes of the header.
pub(crate) const HEADER_BYTES: u64 = 8;
/// Bytes of the trailer.
pub(crate) const TRAILER_BYTES: u64 = 16;

/// The header of a format version.
pub(crate) fn header(version: u16) -> [u8; HEADER_BYTES as usize] {
    let [a, b, c, d] = MAGIC;
    let [low, high] = version.to_le_bytes();
    [a, b, c, d, low, high, 0, 0]
}
