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
use super::block_range::BlockRange;
use super::cache::{BlockSource, Entry, Item, OpenBlock};
use super::column_builder::{ColumnBuilder, OutputLayout};
use super::decoded_block::decode_block;
use super::slots::BlockSize;
use crate::arrow::Leaf;
use crate::decode::SharedDictionary;
use crate::error::{Error, Place, Result};
use crate::format::block::{self, Parsed};
use crate::format::{BlockEntry, ChunkEntry, PartEntry, verify_checksum};
use crate::values::{DecodedLeaf, PhysicalType};

/// What of an opened block the file's cache keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    /// The bytes of its reference columns, to which others may refer.
    References,
    /// The block, and the bytes of its reference columns.
    Block,
}

/// The reader of one column chunk.
pub(crate) struct ChunkReader<'f> {
    pub file: &'f File,
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
        Ok(Self {
            file,
            leaf: file.leaf(leaf)?,
            stored,
            row_group,
            chunk,
        })
    }

    /// Values of some blocks.
    pub fn decode(&self, blocks: Range<usize>, layout: OutputLayout) -> Result<DecodedLeaf> {
        let decode = || {
            if self.file.reads().cached {
                return self.decode_opened(&blocks, layout);
            }
            self.count_blocks(self.entries(&blocks).len(), 0);
            let references = self.references()?;
            let bytes = |reader: &Self| reader.read(&blocks);
            let source = BlockSource {
                // A reader of some blocks is likely to come back for the next ones.
                shared: self.shared(blocks.len() < self.chunk.blocks.len())?,
                bytes: bytes(self)?,
                references: references.iter().map(bytes).collect::<Result<_>>()?,
            };
            let blocks = self.parse(&references, &blocks, &source)?;
            let mut out = ColumnBuilder::of_blocks(self.leaf, blocks.sizes(), layout);
            out.push_all(&blocks)?;
            out.finish()
        };
        decode().map_err(|e| e.at(|p| self.name(p)))
    }

    /// One block, opened now or before. `keep`: what of it, for the next read.
    pub fn open_block(&self, block: usize, keep: Keep) -> Result<Arc<OpenBlock>> {
        let cached = self.file.reads().cached;
        let keep_references = cached || keep != Keep::Nothing;
        let keep = cached || keep == Keep::Block;
        let cache = self.file.cache();
        let pinned = self.pins().and_then(|pins| pins.block(self.key(), block));
        if let Some(kept) = pinned.or_else(|| cache.block(self.key(), block)) {
            self.count_blocks(1, 1);
            return Ok(kept);
        }
        self.count_blocks(1, 0);
        let open = || {
            let references = self.references()?;
            let blocks = block..block.saturating_add(1);
            let bytes = |reader: &Self, is_reference: bool| {
                if let Some(kept) = cache.bytes_of(reader.key(), block) {
                    return Ok(kept);
                }
                let keep = if is_reference { keep_references } else { keep };
                let bytes = reader.to_keep(reader.read(&blocks)?, keep);
                if keep && is_reference {
                    cache.keep(
                        reader.key(),
                        Item::Bytes(block),
                        Entry::Bytes(bytes.clone()),
                    );
                }
                Ok(bytes)
            };
            let of_references = references.iter().map(|reference| bytes(reference, true));
            let source = BlockSource {
                shared: self.shared(true)?,
                bytes: bytes(self, false)?,
                references: of_references.collect::<Result<_>>()?,
            };
            let opened = OpenBlock::try_new(source, |source| {
                self.parse(&references, &blocks, source)?.open(0)
            })?;
            let decoded = self.file.reads().decoded;
            let decoded = decoded.unwrap_or(self.file.limits().cache_decoded);
            if keep && decoded && cache.is_used() {
                return opened.with(decode_block);
            }
            Ok(opened)
        };
        let opened = Arc::new(open().map_err(|e| e.at(|p| self.name_block(p, block)))?);
        if keep {
            cache.keep(self.key(), Item::Block(block), Entry::Block(opened.clone()));
        }
        Ok(opened)
    }

    /// Checks that the shared dictionaries can be decoded, whether blocks use them or not.
    pub fn check_shared(&self) -> Result<()> {
        let check = || {
            let shared = self.shared(true)?;
            shared.iter().try_for_each(SharedDictionary::check)
        };
        check().map_err(|e| e.at(|p| self.name(p)))
    }

    /// Adds the byte ranges that some blocks need: their own, those of the same blocks of the
    /// reference columns, the shared dictionaries. What was read along with an index is left out.
    pub fn add_ranges(
        &self,
        blocks: impl Iterator<Item = usize>,
        out: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let blocks: Vec<usize> = blocks.filter(|block| !self.pin(*block)).collect();
        if blocks.is_empty() {
            return Ok(());
        }
        let references = self.references()?;
        for reader in references.iter().chain([self]) {
            let entries = blocks
                .iter()
                .filter_map(|block| reader.chunk.blocks.get(*block));
            let own = entries.map(|entry| entry.offset..entry.offset + entry.bytes);
            out.extend(own.filter(|range| !self.file.is_ahead(reader.stored, range)));
        }
        let bytes = self.chunk.shared.iter().map(|part| part.bytes).sum::<u64>();
        let shared = self.chunk.offset..self.chunk.offset + bytes;
        if bytes > 0 && !self.file.is_ahead(self.stored, &shared) && !self.pin_shared() {
            out.push(shared);
        }
        Ok(())
    }

    /// Whether a block was opened before and is kept.
    pub fn is_open(&self, block: usize) -> bool {
        self.file.cache().holds(self.key(), Item::Block(block))
    }

    /// Number of blocks.
    pub fn num_blocks(&self) -> usize {
        self.chunk.blocks.len()
    }

    /// The leaf that stores the chunk.
    pub(super) fn stored(&self) -> usize {
        self.stored
    }

    /// Its key in the cache.
    pub(super) fn key(&self) -> (usize, usize) {
        (self.stored, self.row_group)
    }

    /// The blocks that hold some rows.
    pub fn blocks_of(&self, rows: &Range<usize>) -> Range<usize> {
        let size = self.block_rows();
        rows.start / size..rows.end.div_ceil(size)
    }

    /// Values of every block but the last; at least 1.
    pub fn block_rows(&self) -> usize {
        self.chunk.block_rows as usize
    }

    /// Place and statistics of a block.
    pub fn block_entry(&self, block: usize) -> Result<&BlockEntry> {
        let entry = self.chunk.blocks.get(block);
        entry.ok_or_else(|| Error::internal(format!("no block {block}")))
    }

    /// Names the place of an error in the chunk.
    pub fn name(&self, place: &mut Place) {
        place.path = self.file.store().path().map(Into::into);
        place.column = Some(self.leaf.path.to_string());
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
            self.file.check_reference(leaf)?;
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
        if let Some(shared) = self.pins().and_then(|pins| pins.shared(self.key())) {
            return Ok(shared);
        }
        if let Some(Entry::Shared(shared)) = cache.get(self.key(), Item::Shared) {
            return Ok(shared);
        }
        let shared = Arc::new(self.open_shared(keep)?);
        if keep {
            cache.keep(self.key(), Item::Shared, Entry::Shared(shared.clone()));
        }
        Ok(shared)
    }

    /// Opens all shared dictionaries, which lie one after another.
    fn open_shared(&self, keep: bool) -> Result<Vec<SharedDictionary>> {
        let bytes = self.chunk.shared.iter().map(|part| part.bytes).sum();
        let bytes = self
            .file
            .read_chunk(self.stored, self.chunk.offset, bytes)?;
        let bytes = self.to_keep(bytes, keep);
        let open = |part: &PartEntry| {
            let own = part_of(&bytes, part.offset - self.chunk.offset, part.bytes)?;
            let (values, opener) = (self.chunk.values as usize, self.file.opener());
            let open = || {
                verify_checksum(own, part.checksum, "a shared dictionary")?;
                SharedDictionary::open(bytes.slice_ref(own), values, &opener)
            };
            open().map_err(|e| {
                e.within("shared dictionary")
                    .at(|p| p.offset = Some(part.offset))
            })
        };
        self.chunk.shared.iter().map(open).collect()
    }

    /// Bytes that are to be kept: of a file elsewhere a copy, as they may be a small part of what one request
    /// has brought.
    fn to_keep(&self, bytes: Bytes, keep: bool) -> Bytes {
        if keep && self.file.store().is_planned() {
            Bytes::copy_from_slice(&bytes)
        } else {
            bytes
        }
    }

    /// The blocks of a range that are there.
    pub(super) fn entries(&self, blocks: &Range<usize>) -> &[BlockEntry] {
        let all = &self.chunk.blocks;
        let (start, end) = (blocks.start.min(all.len()), blocks.end.min(all.len()));
        all.get(start..end).unwrap_or(&[])
    }

    /// The bytes of the blocks of a range, in one read.
    fn read(&self, blocks: &Range<usize>) -> Result<Bytes> {
        let blocks = self.entries(blocks);
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else {
            return Ok(Bytes::new());
        };
        let bytes = last.offset + last.bytes - first.offset;
        self.file.read_chunk(self.stored, first.offset, bytes)
    }

    /// Checks and parses the blocks of a range and those of the same rows of the reference columns.
    fn parse<'b>(
        &self,
        references: &[ChunkReader<'_>],
        blocks: &Range<usize>,
        source: &'b BlockSource,
    ) -> Result<BlockRange<'_, 'b>> {
        let own = self.parse_blocks(blocks, &source.bytes)?;
        // Check the limit before allocating the chunk.
        let plain_bytes = own
            .iter()
            .map(|block| self.plain_bytes(size_of_block(block)));
        self.check_bytes(plain_bytes.fold(0, u64::saturating_add))?;
        let parse = |(reference, bytes): (&ChunkReader<'_>, &'b Bytes)| {
            let what = || format!("reference column {:?}", reference.leaf.path);
            let parsed = reference.parse_blocks(blocks, bytes);
            parsed.map_err(|e| e.within(&what()))
        };
        let references = references.iter().zip(&source.references).map(parse);
        Ok(BlockRange {
            file: self.file,
            leaf: self.leaf,
            first: blocks.start,
            entries: self.entries(blocks),
            blocks: own,
            references: references.collect::<Result<_>>()?,
            shared: &source.shared,
        })
    }

    /// Checks and parses the blocks of a range, which have these bytes.
    fn parse_blocks<'b>(&self, blocks: &Range<usize>, bytes: &'b [u8]) -> Result<Vec<Parsed<'b>>> {
        let entries = self.entries(blocks);
        let start = entries.first().map_or(0, |entry| entry.offset);
        let numbered = blocks.clone().zip(entries);
        let parsed = numbered.map(|(number, entry)| self.parse_block(number, entry, start, bytes));
        parsed.collect()
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
            let found = self.plain_bytes(size_of_block(&block));
            let most = limits.block_bytes;
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
    pub(super) fn plain_bytes(&self, block: BlockSize) -> u64 {
        let width = self.leaf.ty.and_then(PhysicalType::width_bytes);
        let width = width.unwrap_or(1).max(self.leaf.width);
        (block.values as u64)
            .saturating_mul(width as u64)
            .saturating_add(block.string_bytes as u64)
    }

    /// That blocks which are decoded together are within the limit.
    pub(super) fn check_bytes(&self, found: u64) -> Result<()> {
        let most = self.file.limits().block_bytes;
        if found > most {
            return Err(Error::limit(format!(
                "a chunk of at most {most} bytes is allowed, found {found}"
            )));
        }
        Ok(())
    }
}

fn size_of_block(block: &Parsed<'_>) -> BlockSize {
    BlockSize {
        values: block.len,
        string_bytes: block.string_bytes,
    }
}

/// Bytes of a part of what was read.
fn part_of(bytes: &[u8], offset: u64, len: u64) -> Result<&[u8]> {
    let (start, end) = (offset as usize, (offset + len) as usize);
    let missing = || Error::internal(format!("{len} bytes at {offset} of {}", bytes.len()));
    bytes.get(start..end).ok_or_else(missing)
}
