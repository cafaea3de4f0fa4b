//! How many values a block has: who reads one row reads and checks a block.
//!
//! Blocks are small where values are long (decision 50): of these few are equal, so that they lose next to nothing
//! by it, and a scan is as quick.

use super::WriteOptions;
use super::plan::ColumnPlan;
use crate::arrow::Leaf;
use crate::encode::{Access, Profile};
use crate::values::{Bitmap, Kind, LeafArray, PhysicalType};

/// Bytes that a block decodes to, at most, about.
const BYTES: usize = 4 << 20;
/// The same where strings have tokens that all blocks share.
const BYTES_OF_TOKENS: usize = 1 << 20;
/// The same where such strings are long, or very long.
const BYTES_OF_LONG_TOKENS: usize = 512 << 10;
const BYTES_OF_VERY_LONG_TOKENS: usize = 256 << 10;
/// The same where very long strings look like noise.
const BYTES_OF_NOISE: usize = 128 << 10;
/// The same of vectors.
const BYTES_OF_VECTORS: usize = 64 << 10;
/// The same where rows are read by number, and there of floats in lists, of which a row may lie in two blocks.
const BYTES_OF_RANDOM: usize = 64 << 10;
const BYTES_OF_RANDOM_FLOATS: usize = 32 << 10;

/// Bytes of a string, on average, from which on strings are long.
const LONG: usize = 100;
const VERY_LONG: usize = 1000;
/// Bytes of a row of floats that is a vector, as embeddings are. Shorter rows share a block with many others, longer ones
/// have several.
const VECTOR: std::ops::RangeInclusive<usize> = 256..=32 << 10;

/// Values of the blocks of a chunk: powers of two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockRows {
    pub rows: usize,
    /// Fewer, for strings that share tokens.
    pub of_tokens: Option<usize>,
    /// Fewer still, for long ones.
    pub of_long_tokens: Option<usize>,
    /// Fewer, for strings that look like noise.
    pub of_noise: Option<usize>,
    /// Fewer, for vectors.
    pub of_vectors: Option<usize>,
}

impl BlockRows {
    /// As many, whatever the values are.
    pub fn of_all(rows: usize) -> Self {
        Self {
            rows,
            of_tokens: None,
            of_long_tokens: None,
            of_noise: None,
            of_vectors: None,
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
            let most = if are_floats {
                BYTES_OF_RANDOM_FLOATS
            } else {
                BYTES_OF_RANDOM
            };
            return Self::of_all(of_bytes(most));
        }
        let all = Self::of_all(of_bytes(BYTES));
        // What `small` chooses loses too much by small blocks.
        if column.profile == Profile::Small {
            return all;
        }
        // So may an encoding that is asked for.
        let is_free = column.requested_encoding.is_none();
        // Floats of structs in lists keep the blocks of their siblings, of which they may be derived.
        let are_alone = are_floats && leaf.path.ends_with("[]");
        let fewer = |most: usize| {
            Some(of_bytes(most)).filter(|rows| *rows < all.rows && values >= 2 * rows)
        };
        if are_alone && is_free && VECTOR.contains(&(bytes / rows.max(1))) {
            return Self {
                of_vectors: fewer(BYTES_OF_VECTORS),
                ..all
            };
        }
        if leaf.ty != Some(PhysicalType::Bytes) {
            return all;
        }
        let valid = array.validity.as_ref().map_or(values, Bitmap::count_ones);
        let string = bytes / valid.max(1);
        Self {
            of_tokens: fewer(BYTES_OF_TOKENS),
            of_long_tokens: match string {
                VERY_LONG.. => fewer(BYTES_OF_VERY_LONG_TOKENS),
                LONG.. => fewer(BYTES_OF_LONG_TOKENS),
                _ => None,
            },
            of_noise: fewer(BYTES_OF_NOISE).filter(|_| is_free && string >= VERY_LONG),
            ..all
        }
    }
}
