//! Column indexes: places and zone maps of the chunks and blocks of one leaf. FORMAT.md, section 5.
//!
//! ```text
//! column index = (bytes: varint | chunk) * row groups
//! chunk        = sources: varint | leaf: varint each (the reference columns of a derived chunk)
//!              | offset: varint | values: varint | values per block: u8, the power of two
//!              | shared parts: varint | blocks: varint
//!              | per shared part: bytes: varint, CRC-32C: u32
//!              | per block: bytes: varint, CRC-32C: u32, bytes of its strings: varint (0 where it has none), zone map
//! ```
//!
//! Shared parts and blocks lie one after another from the chunk's offset on. Every block but the last
//! of a chunk has the chunk's number of values per block. A chunk with values, one source and no blocks
//! is the chunk of its source: the columns are equal. No chunk reaches into the sections. A reader passes
//! over bytes of a chunk behind those that it knows.

use std::sync::Arc;

use super::{Bounds, Cursor, MAX_BLOCK_ROWS, ZoneMap, put_prefixed, put_varint};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Most sources of a chunk.
pub(crate) const MAX_SOURCES: usize = 15;

/// A chunk of at most so many bytes is read along with a column index behind it.
pub(crate) const SMALL_CHUNK_BYTES: u64 = 16 << 10;

/// Place of a shared dictionary.
#[derive(Debug, Clone)]
pub(crate) struct PartEntry {
    pub offset: u64,
    pub bytes: u64,
    pub checksum: u32,
}

/// Place and statistics of a block.
#[derive(Debug, Clone)]
pub(crate) struct BlockEntry {
    pub offset: u64,
    pub bytes: u64,
    pub checksum: u32,
    pub first_value: u64,
    pub values: usize,
    pub string_bytes: u64,
    pub zone: ZoneMap,
}

/// One leaf column of one row group.
#[derive(Debug, Clone)]
pub(crate) struct ChunkEntry {
    /// Leaves of the reference columns.
    pub sources: Vec<u32>,
    /// Whether the chunk is that of its source: the columns are equal.
    pub same: bool,
    pub offset: u64,
    pub bytes: u64,
    pub values: u64,
    /// Values of every block but the last: a power of two.
    pub block_rows: u32,
    pub shared: Vec<PartEntry>,
    pub blocks: Vec<BlockEntry>,
}

impl ChunkEntry {
    /// The leaf that this one is equal to, if any.
    pub(crate) fn equal(&self) -> Option<usize> {
        self.sources
            .first()
            .filter(|_| self.same)
            .map(|leaf| *leaf as usize)
    }
}

/// Zone map of several blocks together.
pub(crate) fn zone_of<'a>(blocks: impl Iterator<Item = &'a BlockEntry>) -> ZoneMap {
    let mut all = ZoneMap {
        nulls: 0,
        bounds: Bounds::None,
    };
    let mut bounded = true;
    for block in blocks {
        // One block with values but no bounds leaves all without bounds.
        bounded &= block.zone.bounds != Bounds::None || block.zone.nulls == block.values as u64;
        all = all.merge(&block.zone);
    }
    if !bounded {
        all.bounds = Bounds::None;
    }
    all
}

/// All chunks of one leaf column.
#[derive(Debug, Clone, Default)]
pub(crate) struct ColumnIndex {
    pub chunks: Vec<Arc<ChunkEntry>>,
}

impl ColumnIndex {
    /// Reads the index of a leaf in a file of so many row groups; its chunks end at `file_end` or before.
    pub(crate) fn read(
        bytes: &[u8],
        row_groups: usize,
        file_end: u64,
        limits: &Limits,
    ) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let mut chunks = Vec::new();
        for _ in 0..row_groups {
            let mut chunk = Cursor::new(cursor.prefixed()?);
            chunks.push(Arc::new(read_chunk(&mut chunk, file_end, limits)?));
        }
        cursor.finish("the column index")?;
        Ok(Self { chunks })
    }
}

impl ChunkEntry {
    /// Appends the entry to the index of its leaf.
    pub(crate) fn append_to(&self, index: &mut Vec<u8>) {
        put_prefixed(index, &self.write());
    }

    fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.sources.len() as u64);
        for leaf in &self.sources {
            put_varint(&mut out, (*leaf).into());
        }
        put_varint(&mut out, self.offset);
        put_varint(&mut out, self.values);
        out.push(self.block_rows.trailing_zeros() as u8);
        put_varint(&mut out, self.shared.len() as u64);
        put_varint(&mut out, self.blocks.len() as u64);
        for part in &self.shared {
            put_varint(&mut out, part.bytes);
            out.extend(part.checksum.to_le_bytes());
        }
        for block in &self.blocks {
            put_varint(&mut out, block.bytes);
            out.extend(block.checksum.to_le_bytes());
            put_varint(&mut out, block.string_bytes);
            block.zone.write(&mut out);
        }
        out
    }
}

/// Bytes of a chunk that have a place so far: its parts lie one after another.
struct Extent {
    end: u64,
    file_end: u64,
}

impl Extent {
    /// Offset of the next part, of `bytes` bytes.
    fn next(&mut self, bytes: u64) -> Result<u64> {
        let (start, file_end) = (self.end, self.file_end);
        let end = start.checked_add(bytes).filter(|end| *end <= file_end);
        self.end = end.ok_or_else(|| {
            Error::corrupt(format!(
                "a chunk that ends at {file_end} or before expected, it has {bytes} bytes at {start}"
            ))
        })?;
        Ok(start)
    }
}

fn read_block(
    cursor: &mut Cursor<'_>,
    place: &mut Extent,
    first_value: u64,
    count: u64,
    limits: &Limits,
) -> Result<BlockEntry> {
    let (bytes, checksum) = (cursor.varint()?, cursor.u32()?);
    let string_bytes = cursor.varint_up_to(limits.block_bytes, "bytes of a block's strings")?;
    let zone = ZoneMap::read(cursor)?;
    if zone.nulls > count {
        return Err(Error::corrupt(format!(
            "at most {count} NULLs expected, found {}",
            zone.nulls
        )));
    }
    Ok(BlockEntry {
        offset: place.next(bytes)?,
        bytes,
        checksum,
        first_value,
        values: count as usize,
        string_bytes: string_bytes as u64,
        zone,
    })
}

fn read_chunk(cursor: &mut Cursor<'_>, file_end: u64, limits: &Limits) -> Result<ChunkEntry> {
    let sources = cursor.varint_up_to(MAX_SOURCES as u64, "number of sources of a chunk")?;
    let leaf = |_| Ok(cursor.varint_up_to(limits.leaves.min(u32::MAX.into()), "leaf")? as u32);
    let sources = (0..sources).map(leaf).collect::<Result<Vec<_>>>()?;
    let offset = cursor.varint()?;
    let values = cursor.varint_up_to(limits.row_group_values, "values of a chunk")? as u64;
    let log2 = cursor.u8()?;
    let block_rows = 1u32
        .checked_shl(log2.into())
        .filter(|rows| *rows <= MAX_BLOCK_ROWS);
    let block_rows = block_rows.ok_or_else(|| {
        Error::corrupt(format!(
            "blocks of at most {MAX_BLOCK_ROWS} values expected, found 2^{log2}"
        ))
    })?;
    let (parts, blocks) = (cursor.varint()?, cursor.varint()?);
    let same = sources.len() == 1 && blocks == 0 && parts == 0 && values > 0;
    if blocks != values.div_ceil(block_rows.into()) && !same || parts > 255 {
        return Err(Error::corrupt(format!(
            "{} blocks and at most 255 shared parts expected, found {blocks} and {parts}",
            values.div_ceil(block_rows.into())
        )));
    }
    let mut place = Extent {
        end: offset,
        file_end,
    };
    let mut shared = Vec::new();
    for _ in 0..parts {
        let (bytes, checksum) = (cursor.varint()?, cursor.u32()?);
        shared.push(PartEntry {
            offset: place.next(bytes)?,
            bytes,
            checksum,
        });
    }
    // The number is not checked yet: allocate for the usual one at most.
    let mut entries = Vec::with_capacity(blocks.min(64) as usize);
    for block in 0..blocks {
        let first_value = block * u64::from(block_rows);
        let count = u64::from(block_rows).min(values - first_value);
        let entry = read_block(cursor, &mut place, first_value, count, limits);
        entries.push(entry.map_err(|e| e.at(|p| p.block = Some(block as usize)))?);
    }
    Ok(ChunkEntry {
        sources,
        same,
        offset,
        bytes: place.end - offset,
        values,
        block_rows,
        shared,
        blocks: entries,
    })
}
