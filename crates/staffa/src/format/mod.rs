//! The file: header, row groups, column indexes, sections, footer, trailer. FORMAT.md, section by section;
//! nothing is decoded here.
//!
//! | file | FORMAT.md |
//! |---|---|
//! | `cursor` | section 1, conventions: integers, varints, texts |
//! | `trailer`, `footer`, `footer_parts`, `section`, `features`, `summary`, `sort_order`, `chunk_statistics` | section 2, the file: header, sections, footer, trailer |
//! | `schema` | section 3 |
//! | `column_index`, `zone_map` | section 5 |
//! | `block`, `shared_dictionary` | section 6 |
//! | `node` | section 7 |
//! | `checksum` | section 10 |
//! | `store`, `source`, `fetched` | bytes of a file, in memory, on disk or elsewhere |
//!
//! ```text
//! +--------+-------------+-----+-------------+----------------+----------+--------+---------+
//! | header | row group 0 | ... | row group n | column indexes | sections | footer | trailer |
//! +--------+-------------+-----+-------------+----------------+----------+--------+---------+
//!            column chunk of leaf 0, of leaf 1, ...
//!            chunk = shared dictionaries, blocks
//! header   = "STFA" | format version: u16 | 0: u16
//! sections = summaries | chunk statistics | sort order | metadata | writer | features | table | column indexes | schema | file id
//! table    = row groups: varint | rows: varint * row groups
//! column indexes = per leaf: (bytes between the index before and this one: varint | its bytes: varint | its CRC-32C: u32)
//! metadata = count: varint | (key: text | value: bytes: varint, bytes) * count
//! footer   = place and checksum of every section: see `section`
//! trailer  = footer bytes: u32 | CRC-32C of footer, footer bytes, version and flags: u32 | format version: u16 | flags: u16 | "STFA"
//! ```
//!
//! The place of a column index follows from the number of its leaf, and the index is read only with
//! its column. No byte lies between the parts; bytes without a checksum are compared with their only
//! value.

pub(crate) mod block;
mod checksum;
mod chunk_statistics;
mod column_index;
mod cursor;
mod features;
mod fetched;
mod footer;
mod footer_parts;
mod node;
mod schema;
mod section;
pub(crate) mod shared_dictionary;
mod sort_order;
mod source;
mod store;
mod summary;
mod trailer;
mod zone_map;

pub(crate) use checksum::{checksum, verify_checksum};
pub(crate) use chunk_statistics::ChunkSummary;
pub(crate) use column_index::{
    BlockEntry, ChunkEntry, ColumnIndex, PartEntry, SMALL_CHUNK_BYTES, zone_of,
};
pub(crate) use cursor::{Cursor, put_prefixed, put_varint};
pub(crate) use features::{BitSet, DERIVED_COLUMNS, Features};
pub(crate) use fetched::Fetched;
pub(crate) use footer::{Footer, IndexEntry, Metadata};
pub(crate) use footer_parts::FooterParts;
pub(crate) use node::TreeSize;
pub use node::{Node, NodeRef};
pub(crate) use schema::{UnknownType, check_type, decode_schema, encode_schema};
pub(crate) use section::SUMMARIES;
pub use sort_order::SortKey;
pub use source::Source;
pub(crate) use store::Store;
pub(crate) use summary::Summary;
pub(crate) use trailer::check_header;
pub(crate) use zone_map::{Bounds, ZoneMap, bounds_overlap};

/// First and last bytes of a file.
pub(crate) const MAGIC: [u8; 4] = *b"STFA";
/// The format version that this release writes.
pub const FORMAT_VERSION: u16 = 1;
/// Most values of a block.
pub(crate) const MAX_BLOCK_ROWS: u32 = 1 << 16;
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
