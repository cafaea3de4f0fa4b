//! One leaf of one row group: where its blocks lie, and the one way in which they are opened.
//!
//! ```text
//! column index -> chunk: bytes of blocks, one range      -> checksum, header -> BlockRange -> open(i) -> Block
//!                        shared dictionaries             -> opened once for all blocks
//!                        chunks of its reference columns -> the same blocks of these, parsed
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::File;
use super::cache::{BlockSource, OpenBlock};
use super::column_builder::{ColumnBuilder, OutputLayout};
use super::decoded::decode_block;
use super::slots::BlockSize;
use crate::arrow::Leaf;
use crate::decode::{Block, SharedDictionary};
use crate::error::{Error, Place, Result};
use crate::format::block::{self, Parsed};
use crate::format::{BlockEntry, ChunkEntry, PartEntry, verify_checksum};
use crate::values::{DecodedLeaf, PhysicalType};

/// The reader of one column chunk.
pub(crate) struct ChunkReader<'f> {
    file: &'f File,
    /// The leaf that is read.
    pub leaf: &'f Leaf,
    /// Position of the leaf that stores the chunk: of equal columns one does.
    stored: usize,
    pub row_group: usize,
    chunk: Arc<ChunkEntry>,
}

impl<'f> ChunkReader<'f> {
    /// The reader of a leaf in a row group.
    pub fn new(file: &'f File, leaf: usize, row_group: usize) -> Result<Self> {
        let (stored, chunk) = file.stored_chunk(leaf, row_group)?;
        let leaf = file.leaf(leaf)?;
        Ok(Self {
            file,
            leaf,
            stored,
            row_group,
            chunk,
        })
    }

    /// Values of some blocks.
    pub fn decode(&self, blocks: Range<usize>, layout: OutputLayout) -> Result<DecodedLeaf> {
        let decode = || {
            let references = self.references()?;
            // A reader of some blocks is likely to come back for the next ones.
            let shared = self.shared(blocks.len() < self.chunk.blocks.len())?;
            let bytes = |reader: &ChunkReader<'_>| reader.read(reader.entries(&blocks));
            let source = BlockSource {
                bytes: bytes(self)?,
                references: references.iter().map(bytes).collect::<Result<_>>()?,
                shared,
            };
            let blocks = self.parse(&references, &blocks, &source)?;
            let mut out = ColumnBuilder::of_blocks(self.leaf, blocks.sizes(), layout)?;
            out.push_all(&blocks)?;
            out.finish()
        };
        decode().map_err(|e| e.at(|p| self.name(p)))
    }

    /// One block, opened now or before. `keep`: for the next read, and with it the bytes of its
    /// reference columns, which other columns may refer to.
    pub fn open_block(&self, block: usize, keep: bool) -> Result<Arc<OpenBlock>> {
        let cache = self.file.cache();
        if let Some(kept) = cache.block(self.stored, self.row_group, block) {
            return Ok(kept);
        }
        let open = || {
            let references = self.references()?;
            let blocks = block..block.saturating_add(1);
            let bytes = |reader: &ChunkReader<'_>, keep: bool| {
                if let Some(kept) = cache.bytes_of(reader.stored, reader.row_group, block) {
                    return Ok(kept);
                }
                let bytes = reader.read(reader.entries(&blocks))?;
                if keep {
                    cache.keep_bytes(reader.stored, reader.row_group, block, &bytes);
                }
                Ok(bytes)
            };
            let source = BlockSource {
                shared: self.shared(true)?,
                bytes: bytes(self, false)?,
                references: references
                    .iter()
                    .map(|reference| bytes(reference, keep))
                    .collect::<Result<_>>()?,
            };
            let opened = OpenBlock::try_new(source, |source| {
                self.parse(&references, &blocks, source)?.open(0)
            })?;
            let limits = self.file.limits();
            if keep && limits.cache_decoded && limits.cache_bytes > 0 {
                return opened.with(decode_block);
            }
            Ok(opened)
        };
        let opened = Arc::new(open().map_err(|e| e.at(|p| self.name_block(p, block)))?);
        if keep {
            cache.keep_block(self.stored, self.row_group, block, &opened);
        }
        Ok(opened)
    }

    /// That the shared dictionaries can be decoded, whether blocks use them or not.
    pub fn check_shared(&self) -> Result<()> {
        let check = || {
            let shared = self.shared(true)?;
            shared.iter().try_for_each(SharedDictionary::check)
        };
        check().map_err(|e| e.at(|p| self.name(p)))
    }

    /// Place and statistics of a block.
    pub fn block_entry(&self, block: usize) -> Result<&BlockEntry> {
        let entry = self.chunk.blocks.get(block);
        entry.ok_or_else(|| Error::internal(format!("no block {block}")))
    }

    /// Names the place of an error in the chunk.
    pub fn name(&self, place: &mut Place) {
        place.path = self.file.store().path().map(Into::into);
        place.column = Some(self.leaf.path.clone());
        place.row_group = Some(self.row_group);
    }

    /// Names the place of an error in a block.
    pub fn name_block(&self, place: &mut Place, block: usize) {
        place.block = Some(block);
        self.name(place);
    }

    /// The chunks of the reference columns.
    fn references(&self) -> Result<Vec<Self>> {
        let reference = |leaf: &u32| {
            let leaf = *leaf as usize;
            let chunk = self.file.chunk_entry(leaf, self.row_group)?;
            let fits = chunk.sources.is_empty()
                && leaf != self.stored
                && chunk.values == self.chunk.values
                && chunk.block_rows == self.chunk.block_rows;
            if !fits {
                return Err(Error::corrupt(format!(
                    "leaf {leaf} as a reference column: \
                     a column of as many values in the same blocks that is not derived itself expected"
                )));
            }
            Ok(Self {
                file: self.file,
                leaf: self.file.leaf(leaf)?,
                stored: leaf,
                row_group: self.row_group,
                chunk,
            })
        };
        self.chunk.sources.iter().map(reference).collect()
    }

    /// The shared dictionaries, opened now or before.
    fn shared(&self, keep: bool) -> Result<Arc<Vec<SharedDictionary>>> {
        if self.chunk.shared.is_empty() {
            return Ok(Arc::default());
        }
        let cache = self.file.cache();
        if let Some(shared) = cache.shared(self.stored, self.row_group) {
            return Ok(shared);
        }
        let shared = Arc::new(self.open_shared()?);
        if keep {
            cache.keep_shared(self.stored, self.row_group, &shared);
        }
        Ok(shared)
    }

    /// Opens all shared dictionaries, which lie one after another.
    fn open_shared(&self) -> Result<Vec<SharedDictionary>> {
        let bytes = self.chunk.shared.iter().map(|part| part.bytes).sum();
        let bytes = self.file.store().read(self.chunk.offset, bytes)?;
        let open = |part: &PartEntry| {
            let own = part_of(&bytes, part.offset - self.chunk.offset, part.bytes)?;
            let (values, opener) = (self.chunk.values as usize, self.file.opener());
            let open = || {
                verify_checksum(own, part.checksum, "a shared dictionary")?;
                SharedDictionary::open(bytes.slice_ref(own), values, opener)
            };
            open().map_err(|e| {
                e.within("shared dictionary")
                    .at(|p| p.offset = Some(part.offset))
            })
        };
        self.chunk.shared.iter().map(open).collect()
    }

    /// The blocks of a range that are there.
    fn entries(&self, blocks: &Range<usize>) -> &[BlockEntry] {
        let all = &self.chunk.blocks;
        let (start, end) = (blocks.start.min(all.len()), blocks.end.min(all.len()));
        all.get(start..end).unwrap_or(&[])
    }

    /// The bytes of neighbouring blocks, in one read.
    fn read(&self, blocks: &[BlockEntry]) -> Result<Bytes> {
        match (blocks.first(), blocks.last()) {
            (Some(first), Some(last)) => {
                let bytes = last.offset + last.bytes - first.offset;
                self.file.store().read(first.offset, bytes)
            }
            _ => Ok(Bytes::new()),
        }
    }

    /// Checks and parses the blocks of a range and those of the same rows of the reference columns.
    fn parse<'b>(
        &self,
        references: &[ChunkReader<'_>],
        blocks: &Range<usize>,
        source: &'b BlockSource,
    ) -> Result<BlockRange<'_, 'b>> {
        let entries = self.entries(blocks);
        let mut all = BlockRange {
            file: self.file,
            first: blocks.start,
            entries,
            blocks: Vec::with_capacity(entries.len()),
            references: Vec::with_capacity(entries.len() * references.len()),
            reference_count: references.len(),
            shared: &source.shared,
        };
        let start = entries.first().map_or(0, |entry| entry.offset);
        let mut plain_bytes = 0u64;
        for (number, entry) in (blocks.start..).zip(entries) {
            let block = self.parse_block(number, entry, start, &source.bytes)?;
            plain_bytes = plain_bytes.saturating_add(self.plain_bytes(&block));
            all.blocks.push(block);
            for (reference, bytes) in references.iter().zip(&source.references) {
                let others = reference.entries(blocks);
                let start = others.first().map_or(0, |entry| entry.offset);
                let other = others.get(number - blocks.start).ok_or_else(|| {
                    Error::corrupt(format!(
                        "a block {number} of each reference column expected"
                    ))
                })?;
                let parsed = reference.parse_block(number, other, start, bytes);
                all.references.push(parsed.map_err(|e| {
                    e.within(&format!("reference column {:?}", reference.leaf.path))
                })?);
            }
        }
        // Check the limit before allocating the chunk.
        let most = self.file.limits().block_bytes;
        if plain_bytes > most {
            return Err(Error::limit(format!(
                "a chunk of at most {most} bytes is allowed, found {plain_bytes}"
            )));
        }
        Ok(all)
    }

    /// Checks and parses one block, whose bytes lie in those from `start` of the file on.
    fn parse_block<'b>(
        &self,
        number: usize,
        entry: &BlockEntry,
        start: u64,
        bytes: &'b [u8],
    ) -> Result<Parsed<'b>> {
        let parse = || {
            let bytes = part_of(bytes, entry.offset - start, entry.bytes)?;
            verify_checksum(bytes, entry.checksum, "a block")?;
            let limits = self.file.limits();
            let block = block::parse(bytes, entry.values, self.leaf.ty, limits)?;
            if block.string_bytes as u64 != entry.string_bytes {
                return Err(Error::corrupt(format!(
                    "strings of {} bytes expected by the column index, found {}",
                    entry.string_bytes, block.string_bytes
                )));
            }
            let (found, most) = (self.plain_bytes(&block), limits.block_bytes);
            if found > most {
                return Err(Error::limit(format!(
                    "a block of at most {most} bytes is allowed, found {found}"
                )));
            }
            Ok(block)
        };
        parse().map_err(|e| e.at(|p| (p.block, p.offset) = (Some(number), Some(entry.offset))))
    }

    /// Bytes of a block once decoded.
    fn plain_bytes(&self, block: &Parsed<'_>) -> u64 {
        let width = self.leaf.ty.and_then(PhysicalType::width_bytes);
        let width = width.unwrap_or(1).max(self.leaf.width);
        (block.len as u64)
            .saturating_mul(width as u64)
            .saturating_add(block.string_bytes as u64)
    }
}

/// Bytes of a part of what was read.
fn part_of(bytes: &[u8], offset: u64, len: u64) -> Result<&[u8]> {
    let (start, end) = (offset as usize, (offset + len) as usize);
    let missing = || Error::internal(format!("{len} bytes at {offset} of {}", bytes.len()));
    bytes.get(start..end).ok_or_else(missing)
}

/// Neighbouring blocks, checked and parsed: each is opened on request, in any order, by any thread.
pub(crate) struct BlockRange<'r, 'b> {
    file: &'r File,
    /// Number of the first block in its chunk.
    first: usize,
    entries: &'r [BlockEntry],
    blocks: Vec<Parsed<'b>>,
    /// For each block the blocks of the same rows of the reference columns.
    references: Vec<Parsed<'b>>,
    reference_count: usize,
    shared: &'b [SharedDictionary],
}

impl<'b> BlockRange<'_, 'b> {
    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether the blocks may share a dictionary.
    pub fn is_shared(&self) -> bool {
        !self.shared.is_empty()
    }

    /// Declared size of each block.
    pub fn sizes(&self) -> impl Iterator<Item = BlockSize> + Clone {
        self.blocks.iter().map(|block| BlockSize {
            values: block.len,
            string_bytes: block.string_bytes,
        })
    }

    /// Opens block `i` of the range.
    pub fn open(&self, i: usize) -> Result<Block<'b>> {
        let start = i * self.reference_count;
        let references = self.references.get(start..start + self.reference_count);
        let (block, references) = self
            .blocks
            .get(i)
            .zip(references)
            .ok_or_else(|| Error::internal(format!("no block {i} of {}", self.len())))?;
        Block::open(block, self.shared, references, self.file.opener())
            .map_err(|e| e.at(|p| self.name(p, i)))
    }

    /// Names the place of an error in block `i` of the range.
    pub fn name(&self, place: &mut Place, i: usize) {
        place.block = Some(self.first + i);
        place.offset = self.entries.get(i).map(|entry| entry.offset);
    }
}
