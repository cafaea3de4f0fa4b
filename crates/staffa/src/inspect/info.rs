//! The parts of a file, read from its footer and column indexes alone.

use std::collections::BTreeMap;

use super::bounds::shown;
use super::{column_name, decoded_bytes};
use crate::error::Result;
use crate::format::{
    BlockEntry, ChunkEntry, FORMAT_VERSION, HEADER_BYTES, PartEntry, SortKey, ZoneMap, zone_of,
};
use crate::read::File;

/// The parts of a file.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Inspection {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Version of the format.
    pub format_version: u16,
    /// The program that wrote it.
    pub writer: String,
    /// Its id, in hexadecimal.
    pub id: Option<String>,
    /// Keys and values of the user, as text: what is no UTF-8 is replaced.
    pub metadata: BTreeMap<String, String>,
    /// Rows of the table.
    pub rows: u64,
    /// The order of the rows, where the writer was told it.
    pub sort_order: Vec<SortKey>,
    /// Bytes of sections, footer and trailer.
    pub footer_bytes: u64,
    /// Bytes of all column indexes.
    pub index_bytes: u64,
    /// The row groups.
    pub row_groups: Vec<RowGroupInfo>,
    /// The leaf columns.
    pub columns: Vec<LeafInfo>,
}

impl Inspection {
    /// The largest number of values that the blocks of a column have, but for the last of a chunk.
    pub fn block_rows(&self) -> u32 {
        let chunks = self.columns.iter().flat_map(|column| &column.chunks);
        chunks.map(|chunk| chunk.block_rows).max().unwrap_or(0)
    }
}

/// A row group.
#[derive(Debug, Clone, serde::Serialize)]
pub struct RowGroupInfo {
    /// Its first row in the table.
    pub first_row: u64,
    /// Its rows.
    pub rows: u64,
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// A leaf column; a nested column has several.
#[derive(Debug, Clone, serde::Serialize)]
pub struct LeafInfo {
    /// Its path; the name of a flat column.
    pub path: String,
    /// The top-level column it belongs to.
    pub column: String,
    /// The physical type of its values: `u32`, `bytes`, `validity`; `unknown type 40` where this release
    /// does not know the column's type.
    pub physical_type: String,
    /// Bytes of its chunks and its index.
    pub bytes: u64,
    /// Bytes its values and validity take in Arrow memory.
    pub decoded_bytes: u64,
    /// Values, NULLs included.
    pub values: u64,
    /// NULLs.
    pub nulls: u64,
    /// At most the smallest value; of floats NaN apart, of strings cut off at 16 bytes.
    pub min: Option<String>,
    /// At least the largest value; of floats NaN apart, of strings cut off at 16 bytes and rounded up.
    pub max: Option<String>,
    /// One per row group.
    pub chunks: Vec<ChunkInfo>,
}

/// A column chunk.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ChunkInfo {
    /// Its row group.
    pub row_group: usize,
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Its values.
    pub values: u64,
    /// Values of each of its blocks but the last.
    pub block_rows: u32,
    /// Its NULLs.
    pub nulls: u64,
    /// The exact sum of its values, where the file has statistics of chunks.
    pub sum: Option<String>,
    /// Its reference columns, where it is derived.
    pub references: Vec<String>,
    /// The parts that its blocks share.
    pub shared_parts: Vec<PartInfo>,
    /// Its blocks.
    pub blocks: Vec<BlockInfo>,
}

/// A shared part.
#[derive(Debug, Clone, serde::Serialize)]
pub struct PartInfo {
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// A block.
#[derive(Debug, Clone, serde::Serialize)]
pub struct BlockInfo {
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Its first value in the chunk.
    pub first_value: u64,
    /// Its values.
    pub values: u64,
    /// Its NULLs.
    pub nulls: u64,
    /// At most the smallest value; of floats NaN apart, of strings cut off at 16 bytes.
    pub min: Option<String>,
    /// At least the largest value; of floats NaN apart, of strings cut off at 16 bytes and rounded up.
    pub max: Option<String>,
    /// The position of both between the bounds of the column, from 0, its smallest value, to 1,
    /// its largest: enough to draw the zone maps.
    pub span: Option<[f64; 2]>,
}

impl File {
    /// The parts of the file, from footer and column indexes alone.
    pub fn inspect(&self) -> Result<Inspection> {
        let footer = self.footer();
        let leaves = 0..footer.leaves.len();
        let mut columns: Vec<LeafInfo> = leaves
            .map(|leaf| self.leaf_info(leaf))
            .collect::<Result<_>>()?;
        let chunks = columns.iter_mut().flat_map(|leaf| &mut leaf.chunks);
        for (chunk, statistics) in chunks.zip(self.chunk_statistics()?) {
            chunk.sum = statistics.sum;
        }
        let mut first_row = 0;
        let row_group = |(i, rows): (usize, &u32)| {
            let chunks = || columns.iter().filter_map(|leaf| leaf.chunks.get(i));
            let offsets = chunks().filter(|c| c.bytes > 0).map(|c| c.offset);
            let rows = u64::from(*rows);
            first_row += rows;
            RowGroupInfo {
                first_row: first_row - rows,
                rows,
                offset: offsets.min().unwrap_or(HEADER_BYTES),
                bytes: chunks().map(|c| c.bytes).sum(),
            }
        };
        let row_groups = footer
            .row_groups
            .iter()
            .enumerate()
            .map(row_group)
            .collect();
        let metadata = self.metadata()?.into_iter();
        let text =
            |(key, value): (String, Vec<u8>)| (key, String::from_utf8_lossy(&value).into_owned());
        let index_bytes = footer.leaves.iter().map(|index| index.bytes).sum();
        Ok(Inspection {
            file_bytes: self.nbytes(),
            format_version: FORMAT_VERSION,
            writer: footer.writer.clone(),
            id: footer
                .id
                .map(|id| format!("{:032x}", u128::from_be_bytes(id))),
            metadata: metadata.map(text).collect(),
            rows: footer.rows,
            sort_order: self.sort_order()?,
            footer_bytes: self.nbytes() - footer.offset,
            index_bytes,
            row_groups,
            columns,
        })
    }

    fn leaf_info(&self, leaf: usize) -> Result<LeafInfo> {
        let (index, spec) = (self.index(leaf)?, self.leaf(leaf)?);
        let contents = self.contents(leaf)?;
        let zone = zone_of(contents.iter().flat_map(|c| &c.blocks));
        let chunks = index.chunks.iter().zip(&contents).enumerate();
        let chunks = chunks.map(|(row_group, (chunk, content))| {
            self.chunk_info(leaf, row_group, chunk, content, &zone)
        });
        let chunks = chunks.collect();
        let (min, max) = shown(self, leaf, &zone);
        let index_bytes = self
            .footer()
            .leaves
            .get(leaf)
            .map_or(0, |index| index.bytes);
        let chunk_bytes: u64 = index.chunks.iter().map(|c| c.bytes).sum();
        let ty = |ty| format!("{ty:?}").to_lowercase();
        Ok(LeafInfo {
            path: spec.path.to_string(),
            column: column_name(self.schema(), spec.column)?,
            physical_type: match spec.unknown {
                Some(tag) => format!("unknown type {tag}"),
                None => spec.ty.map_or_else(|| "validity".to_owned(), ty),
            },
            bytes: index_bytes + chunk_bytes,
            decoded_bytes: decoded_bytes(spec, &contents),
            values: contents.iter().map(|c| c.values).sum(),
            nulls: zone.nulls,
            min,
            max,
            chunks,
        })
    }

    /// A chunk, and the chunk with its blocks, which is another one where two columns are equal.
    fn chunk_info(
        &self,
        leaf: usize,
        row_group: usize,
        chunk: &ChunkEntry,
        content: &ChunkEntry,
        zone: &ZoneMap,
    ) -> ChunkInfo {
        let block = |block: &BlockEntry| {
            let (min, max) = shown(self, leaf, &block.zone);
            BlockInfo {
                offset: block.offset,
                bytes: block.bytes,
                first_value: block.first_value,
                values: block.values as u64,
                nulls: block.zone.nulls,
                min,
                max,
                span: block.zone.bounds.span_in(&zone.bounds),
            }
        };
        let part = |part: &PartEntry| PartInfo {
            offset: part.offset,
            bytes: part.bytes,
        };
        ChunkInfo {
            row_group,
            offset: content.offset,
            bytes: chunk.bytes,
            values: chunk.values,
            block_rows: content.block_rows,
            nulls: content.blocks.iter().map(|b| b.zone.nulls).sum(),
            sum: None,
            references: self.references(chunk),
            shared_parts: chunk.shared.iter().map(part).collect(),
            blocks: chunk.blocks.iter().map(block).collect(),
        }
    }
}
