//! One leaf of one row group being read: the bytes of its blocks, checked, parsed, opened and
//! decoded.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;

use bytes::Bytes;

use super::File;
use super::cache::{OpenBlock, Sources};
use super::column_builder::{ColumnBuilder, OutputLayout};
use crate::arrow::Leaf;
use crate::decode::{Block, SharedDictionary};
use crate::error::{Error, Place, Result};
use crate::format::block::{self, Parsed};
use crate::format::{BlockEntry, ChunkEntry, PartEntry};
use crate::values::{DecodedLeaf, PhysicalType};

/// One chunk being read.
pub(crate) struct LeafReader<'a> {
    pub file: &'a File,
    pub leaf: &'a Leaf,
    pub chunk: &'a ChunkEntry,
}

impl LeafReader<'_> {
    /// The values of some blocks.
    ///
    /// `references` are the columns in terms of which this one is.
    pub fn decode(
        &self,
        blocks: Range<usize>,
        shared: &[SharedDictionary],
        references: &[LeafReader<'_>],
        form: OutputLayout,
    ) -> Result<DecodedLeaf> {
        let limits = self.file.limits();
        let wanted = self.wanted(&blocks);
        let bytes = self.block_bytes(wanted)?;
        let parsed = self.parse(wanted, blocks.start, &bytes)?;
        let other_bytes = references
            .iter()
            .map(|t| t.block_bytes(t.wanted(&blocks)))
            .collect::<Result<Vec<_>>>()?;
        let mut others: Vec<Vec<Parsed<'_>>> = wanted.iter().map(|_| Vec::new()).collect();
        for (reference, bytes) in references.iter().zip(&other_bytes) {
            let parsed = reference.parse(reference.wanted(&blocks), blocks.start, bytes);
            let parsed = parsed.map_err(|e| {
                e.within(&format!(
                    "column {:?}, which tells this one",
                    reference.leaf.path
                ))
            })?;
            others
                .iter_mut()
                .zip(parsed)
                .for_each(|(of_block, parsed)| of_block.push(parsed));
        }
        let at = |i: usize| {
            let offset = wanted.get(i).map(|entry| entry.offset);
            move |p: &mut Place| (p.block, p.offset) = (Some(blocks.start + i), offset)
        };
        let (found, most) = (
            parsed.iter().map(|b| self.plain_bytes(b)).sum::<u64>(),
            limits.block_bytes,
        );
        if found > most {
            return Err(Error::limit(format!(
                "a chunk of at most {most} bytes is allowed, found {found}"
            )));
        }
        let mut out = ColumnBuilder::of_blocks(self.leaf, &parsed, form)?;
        out.push_all(&parsed, !shared.is_empty(), |i, push| {
            let block = parsed
                .get(i)
                .ok_or_else(|| Error::corrupt("no such block"))?;
            let open = Block::open(
                block,
                shared,
                others.get(i).map(Vec::as_slice).unwrap_or_default(),
                self.file.opener(),
            );
            open.and_then(|block| push(&block)).map_err(|e| e.at(at(i)))
        })?;
        out.finish()
    }

    /// One block, opened to be kept with its bytes and those of the columns that tell it.
    pub fn open_block(
        &self,
        block: usize,
        references: &[LeafReader<'_>],
        sources: Sources,
    ) -> Result<OpenBlock> {
        let blocks = block..block.saturating_add(1);
        OpenBlock::try_new(
            sources,
            |Sources {
                 bytes,
                 references: others,
                 shared,
             }| {
                let parse = |reader: &LeafReader<'_>, bytes| {
                    reader
                        .parse(reader.wanted(&blocks), block, bytes)?
                        .pop()
                        .ok_or_else(|| Error::corrupt("no such block"))
                };
                let parsed = parse(self, bytes)?;
                let others = references.iter().zip(others).map(|(reference, bytes)| {
                    parse(reference, bytes).map_err(|e| {
                        e.within(&format!(
                            "column {:?}, which tells this one",
                            reference.leaf.path
                        ))
                    })
                });
                Block::open(
                    &parsed,
                    shared,
                    &others.collect::<Result<Vec<_>>>()?,
                    self.file.opener(),
                )
            },
        )
    }

    /// The blocks of a range that are there.
    pub fn wanted(&self, blocks: &Range<usize>) -> &[BlockEntry] {
        let all = &self.chunk.blocks;
        all.get(blocks.start.min(all.len())..blocks.end.min(all.len()))
            .unwrap_or_default()
    }

    /// The bytes of some blocks, one after another.
    pub fn block_bytes(&self, wanted: &[BlockEntry]) -> Result<Bytes> {
        match (wanted.first(), wanted.last()) {
            (Some(first), Some(last)) => self
                .file
                .store()
                .read(first.offset, last.offset + last.bytes - first.offset),
            _ => Ok(Bytes::new()),
        }
    }

    /// Blocks, of which the first is block `first` of the chunk, checked and parsed.
    fn parse<'b>(
        &self,
        wanted: &[BlockEntry],
        first: usize,
        bytes: &'b [u8],
    ) -> Result<Vec<Parsed<'b>>> {
        let start = wanted.first().map_or(0, |entry| entry.offset);
        let parse = |(i, entry): (usize, &BlockEntry)| {
            let from = (entry.offset - start) as usize;
            let block = bytes
                .get(from..from + entry.bytes as usize)
                .unwrap_or_default();
            let block = block::parse(block, entry.values, self.leaf.ty, self.file.limits())
                .and_then(|block| self.within_limit(block, entry));
            block.map_err(|e| e.at(|p| (p.block, p.offset) = (Some(first + i), Some(entry.offset))))
        };
        wanted.iter().enumerate().map(parse).collect()
    }

    /// `ColumnPlan` before there is memory for the whole chunk.
    fn within_limit<'b>(&self, block: Parsed<'b>, entry: &BlockEntry) -> Result<Parsed<'b>> {
        if block.string_bytes as u64 != entry.string_bytes {
            return Err(Error::corrupt(format!(
                "strings of {} bytes expected by the column index, found {}",
                entry.string_bytes, block.string_bytes
            )));
        }
        let (found, most) = (self.plain_bytes(&block), self.file.limits().block_bytes);
        if found > most {
            return Err(Error::limit(format!(
                "a block of at most {most} bytes is allowed, found {found}"
            )));
        }
        Ok(block)
    }

    /// Bytes that a block takes once decoded.
    fn plain_bytes(&self, block: &Parsed<'_>) -> u64 {
        let width = self
            .leaf
            .ty
            .and_then(PhysicalType::width_bytes)
            .unwrap_or(1)
            .max(self.leaf.width);
        (block.len as u64)
            .saturating_mul(width as u64)
            .saturating_add(block.string_bytes as u64)
    }

    /// All shared parts, which lie one after another.
    pub fn open_shared(&self) -> Result<Vec<SharedDictionary>> {
        let bytes = self.chunk.shared.iter().map(|part| part.bytes).sum();
        let bytes = self.file.store().read(self.chunk.offset, bytes)?;
        let open = |part: &PartEntry| {
            let from = (part.offset - self.chunk.offset) as usize;
            let part_bytes = bytes
                .get(from..from + part.bytes as usize)
                .map(|found| bytes.slice_ref(found));
            let shared = SharedDictionary::open(
                &part_bytes.unwrap_or_default(),
                self.chunk.values as usize,
                self.file.opener(),
            );
            shared.map_err(|e| e.within("shared part").at(|p| p.offset = Some(part.offset)))
        };
        self.chunk.shared.iter().map(open).collect()
    }
}
