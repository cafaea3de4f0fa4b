//! Looking inside a file: its parts, its trees of encodings, why these were chosen, and whether all
//! of it is sound.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod bounds;
mod chunk_statistics;
mod explain;
mod info;
mod requirements;
mod statistics;
mod verify;
mod verify_statistics;
mod why;

use std::sync::Arc;

use arrow_schema::Schema;
pub use chunk_statistics::ChunkStatistics;
pub use explain::{BlockExplain, ColumnExplain, EncodingTree, SharedExplain};
pub use info::{BlockInfo, ChunkInfo, Inspection, LeafInfo, PartInfo, RowGroupInfo};
pub use requirements::LeafRequirement;
use staffa_kernels::cast_slice;
pub use statistics::LeafStatistics;
pub use verify::VerifyReport;
pub use why::{ColumnWhy, Considered, RelationWhy, SharedWhy};

use crate::arrow::Leaf;
use crate::error::{Error, Result};
use crate::format::ChunkEntry;
use crate::read::File;
use crate::values::{
    DecodedLeaf, DecodedValues, OwnedValues, Physical as _, PhysicalType, Strings, Values,
    for_words,
};

impl File {
    /// Paths of the reference columns of a chunk.
    fn references(&self, chunk: &ChunkEntry) -> Vec<String> {
        let path = |leaf: &u32| match self.leaf(*leaf as usize) {
            Ok(leaf) => leaf.path.to_string(),
            Err(_) => format!("leaf {leaf}"),
        };
        chunk.sources.iter().map(path).collect()
    }

    /// All chunks of a leaf; a column that is equal to another has the blocks of that one.
    fn contents(&self, leaf: usize) -> Result<Vec<Arc<ChunkEntry>>> {
        let row_groups = 0..self.num_row_groups();
        row_groups
            .map(|row_group| self.chunk(leaf, row_group))
            .collect()
    }
}

/// The values of a decoded leaf that are not NULL, and the count of NULLs.
fn with_present<R>(
    decoded: &DecodedLeaf,
    f: impl FnOnce(Values<'_>, u64) -> Result<R>,
) -> Result<R> {
    let len = decoded.values.len();
    let rows = match &decoded.validity {
        Some(validity) => validity.positions(),
        None => (0..len as u32).collect(),
    };
    let nulls = (len - rows.len()) as u64;
    let misaligned = || Error::internal("misaligned words or offsets");
    let (offsets, data): (Vec<u32>, &[u8]) = match &decoded.values {
        DecodedValues::Empty(_) => return f(Values::U8(&[]), nulls),
        DecodedValues::Bits(bits) => {
            return f(
                OwnedValues::take(Values::Bits(bits), &rows)?.borrow(),
                nulls,
            );
        }
        DecodedValues::Words(ty, data) => for_words!(ty, T => {
            let words = T::values(cast_slice(data.as_slice()).ok_or_else(misaligned)?);
            return f(OwnedValues::take(words, &rows)?.borrow(), nulls);
        }, _ => return Err(Error::internal("words of no width"))),
        DecodedValues::Strings(strings) => {
            let offsets = strings.offsets().map(|offset| offset as u32);
            (offsets.collect(), strings.data())
        }
        DecodedValues::Bytes {
            large: true,
            offsets,
            data,
        } => {
            let offsets = cast_slice::<u64>(offsets).ok_or_else(misaligned)?;
            (offsets.iter().map(|offset| *offset as u32).collect(), data)
        }
        DecodedValues::Bytes { offsets, data, .. } => {
            let offsets = cast_slice::<u32>(offsets).ok_or_else(misaligned)?;
            (offsets.to_vec(), data)
        }
        DecodedValues::Views(_) => return Err(Error::internal("views where none were requested")),
    };
    let strings = Values::Bytes(Strings::new(&offsets, data)?);
    f(OwnedValues::take(strings, &rows)?.borrow(), nulls)
}

/// The name of a top-level column.
fn column_name(schema: &Schema, column: usize) -> Result<String> {
    let field = schema.fields().get(column);
    let field = field.ok_or_else(|| Error::internal("a leaf without a column"))?;
    Ok(field.name().clone())
}

/// Bytes of the chunks of a leaf in Arrow memory: values, offsets, and a bitmap where there are
/// NULLs.
fn decoded_bytes(leaf: &Leaf, chunks: &[Arc<ChunkEntry>]) -> u64 {
    let offset_bytes = if leaf.large { 8 } else { 4 };
    let of_chunk = |chunk: &Arc<ChunkEntry>| {
        let has_nulls = chunk.blocks.iter().any(|b| b.zone.nulls > 0);
        let bitmap = chunk.values.div_ceil(8);
        let values = match (leaf.ty, leaf.ty.and_then(PhysicalType::width_bytes)) {
            (None, _) => 0,
            (_, Some(width)) => chunk.values * width as u64,
            (Some(PhysicalType::Bits), None) => bitmap,
            (Some(_), None) => {
                let strings: u64 = chunk.blocks.iter().map(|b| b.string_bytes).sum();
                strings + (chunk.values + 1) * offset_bytes
            }
        };
        values + if has_nulls { bitmap } else { 0 }
    };
    chunks.iter().map(of_chunk).sum()
}
