//! How many values a block has: a reader of one row reads and checks a block.
//!
//! Blocks are small where values are long (decision 50): these lose next to nothing by it, since few of
//! them are equal, and a scan is as quick.

use super::WriteOptions;
use super::plan::ColumnPlan;
use crate::arrow::Leaf;
use crate::encode::{Access, Profile};
use crate::values::{Kind, LeafArray, PhysicalType};

/// Bytes that a block decodes to, about, at most.
const MOST: usize = 4 << 20;
/// The same for strings with tokens that all blocks share.
const MOST_OF_TOKENS: usize = 1 << 20;
/// The same for strings with such tokens of at least [`LONG`] bytes on average.
const MOST_OF_LONG_TOKENS: usize = 256 << 10;
/// The same for strings of at least [`VERY_LONG`] bytes that do not repeat.
const MOST_OF_VERY_LONG: usize = 128 << 10;
/// The same for rows of floats of at least [`VECTOR_BYTES`]: vectors, as of embeddings.
const MOST_OF_VECTORS: usize = 64 << 10;
/// The same for rows by number.
const MOST_OF_RANDOM: usize = 64 << 10;
/// A vector may lie in two blocks.
const MOST_OF_RANDOM_VECTORS: usize = 32 << 10;

const LONG: usize = 100;
const VERY_LONG: usize = 1000;
const VECTOR_BYTES: usize = 256;

/// Values of the blocks of a chunk, powers of two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockRows {
    pub rows: usize,
    /// Fewer, for strings that do not repeat.
    pub smaller: Option<Smaller>,
}

/// Blocks of fewer strings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Smaller {
    pub rows: usize,
    /// Whether they must share tokens.
    pub with_tokens: bool,
}

impl BlockRows {
    /// Blocks of as many values, whatever they are.
    pub fn of_all(rows: usize) -> Self {
        Self {
            rows,
            smaller: None,
        }
    }

    /// For a leaf of a row group of `rows` rows.
    pub(super) fn of(
        leaf: &Leaf,
        array: &LeafArray,
        rows: usize,
        column: &ColumnPlan,
        options: &WriteOptions,
    ) -> Self {
        let (values, bytes) = (array.values.len(), array.values.bytes());
        let average = bytes.div_ceil(values.max(1)).max(1);
        let of_bytes = |most: usize| options.block_rows.min(1 << (most / average).max(1).ilog2());
        let are_floats = leaf.item && leaf.kind == Kind::Float;
        if options.access == Access::Random {
            return Self::of_all(of_bytes(if are_floats {
                MOST_OF_RANDOM_VECTORS
            } else {
                MOST_OF_RANDOM
            }));
        }
        let all = Self::of_all(of_bytes(MOST));
        // What `small` chooses loses too much by small blocks.
        if column.profile == Profile::Small {
            return all;
        }
        // So may what is asked for by name.
        let is_free = column.requested_encoding.is_none();
        if are_floats && is_free && bytes / rows.max(1) >= VECTOR_BYTES {
            return Self::of_all(of_bytes(MOST_OF_VECTORS));
        }
        let (most, with_tokens) = match average {
            VERY_LONG.. if is_free => (MOST_OF_VERY_LONG, false),
            LONG.. => (MOST_OF_LONG_TOKENS, true),
            _ => (MOST_OF_TOKENS, true),
        };
        let fewer = of_bytes(most);
        let is_useful = fewer < all.rows && values >= 2 * fewer;
        let smaller = leaf.ty == Some(PhysicalType::Bytes) && is_useful;
        Self {
            smaller: smaller.then_some(Smaller {
                rows: fewer,
                with_tokens,
            }),
            ..all
        }
    }
}
