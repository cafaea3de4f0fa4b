//! Decoders alone: a column opened once, then decoded into the caller's memory, for the program in
//! `bench/`.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use crate::decode::{AnyDecoder, Decodable, Integer, Scratch};
use crate::encode::{Chooser, Profile, Stats};
use crate::encodings::POOL;
use crate::error::{Error, Result};
use crate::read::{BlockSize, ChunkReader, ColumnBuilder, File, Keep, OpenBlock, OutputLayout};
use crate::values::Kind;

/// A column whose blocks are open.
#[derive(Debug)]
pub struct OpenColumn {
    file: File,
    leaf: usize,
    /// Row group and number of each block.
    places: Vec<(usize, usize)>,
    blocks: Vec<Arc<OpenBlock>>,
    cx: Scratch,
}

impl OpenColumn {
    /// Opens all blocks of a flat column.
    pub fn new(file: &File, column: &str) -> Result<Self> {
        let position = file.column_positions(&[column])?;
        let leaf = position
            .first()
            .and_then(|position| file.flat_leaf(*position));
        let leaf = leaf.ok_or_else(|| Error::invalid(format!("column {column:?} is nested")))?;
        let mut places = Vec::new();
        for row_group in 0..file.num_row_groups() {
            places.extend(
                (0..file.chunk(leaf, row_group)?.blocks.len()).map(|block| (row_group, block)),
            );
        }
        let blocks = places
            .iter()
            .map(|(row_group, block)| open(file, leaf, (*row_group, *block)));
        let blocks = blocks.collect::<Result<_>>()?;
        Ok(Self {
            file: file.clone(),
            leaf,
            places,
            blocks,
            cx: Scratch::default(),
        })
    }

    /// Values of each block.
    pub fn lens(&self) -> Vec<usize> {
        self.blocks
            .iter()
            .map(|block| block.with(|block| block.len))
            .collect()
    }

    /// Opens a block again: checksum, header, trees, and the work of its encodings before their
    /// first vector.
    pub fn reopen(&mut self, i: usize) -> Result<()> {
        let place = self.places.get(i).zip(self.blocks.get_mut(i));
        let (place, block) = place.ok_or_else(|| no_block(i))?;
        *block = open(&self.file, self.leaf, *place)?;
        Ok(())
    }

    /// All words of a block, into a place for each.
    pub fn words<T: Decodable>(&mut self, i: usize, out: &mut [T]) -> Result<()> {
        let block = self.blocks.get(i).ok_or_else(|| no_block(i))?;
        block.with(|block| match &block.values {
            Some(decoder) => {
                block.words(T::peek(decoder).ok_or_else(other_type)?, &mut self.cx, out)
            }
            None => Ok(()),
        })
    }

    /// One vector of a block without NULLs, into a place for each value.
    pub fn vector<T: Decodable>(&mut self, i: usize, v: usize, out: &mut [T]) -> Result<()> {
        let block = self.blocks.get(i).ok_or_else(|| no_block(i))?;
        block.with(|block| match &block.values {
            Some(decoder) => T::peek(decoder)
                .ok_or_else(other_type)?
                .vector(v, &mut self.cx, out),
            None => Ok(()),
        })
    }

    /// One value of a block without NULLs.
    pub fn value<T: Decodable>(&mut self, i: usize, row: u32) -> Result<T> {
        let block = self.blocks.get(i).ok_or_else(|| no_block(i))?;
        let mut out = [T::default()];
        block.with(|block| match &block.values {
            Some(decoder) => {
                T::peek(decoder)
                    .ok_or_else(other_type)?
                    .take(&[row], &mut self.cx, &mut out)
            }
            None => Ok(()),
        })?;
        let [value] = out;
        Ok(value)
    }

    /// Bytes of all strings of a block; 0 for a block that is not there.
    pub fn string_bytes(&self, i: usize) -> usize {
        self.blocks
            .get(i)
            .map_or(0, |block| block.with(|block| block.string_bytes))
    }

    /// All strings of a block, one after another, and the length of each.
    pub fn strings(&mut self, i: usize, lengths: &mut [u32], out: &mut [u8]) -> Result<usize> {
        let block = self.blocks.get(i).ok_or_else(|| no_block(i))?;
        block.with(|block| block.strings(&mut self.cx, lengths, out))
    }

    /// All strings of a block as views, as a scan makes them; the memory comes out of the pool and
    /// goes back.
    pub fn views(&mut self, i: usize) -> Result<()> {
        let block = self.blocks.get(i).ok_or_else(|| no_block(i))?;
        block.with(|block| {
            let size = BlockSize {
                values: block.len,
                string_bytes: block.string_bytes,
            };
            let layout = OutputLayout {
                views: true,
                ..OutputLayout::default()
            };
            let leaf = self.file.leaf(self.leaf)?;
            let mut out = ColumnBuilder::of_blocks(leaf, std::iter::once(size), layout);
            out.push(block)?;
            out.finish().map(drop)
        })
    }

    /// All bits of a block, in memory of their own; how many words they take.
    pub fn bits(&self, i: usize) -> Result<usize> {
        let block = self.blocks.get(i).ok_or_else(|| no_block(i))?;
        block.with(|block| match &block.values {
            Some(AnyDecoder::Bits(decoder)) => Ok(decoder.bits()?.words().len()),
            _ => Err(other_type()),
        })
    }
}

fn open(file: &File, leaf: usize, (row_group, block): (usize, usize)) -> Result<Arc<OpenBlock>> {
    ChunkReader::new(file, leaf, row_group)?.open_block(block, Keep::Nothing)
}

fn no_block(i: usize) -> Error {
    Error::invalid(format!("no block {i}"))
}

fn other_type() -> Error {
    Error::invalid("values of another type")
}

/// Bytes of unsigned words as a block of the requested encoding.
pub fn encode<T: Integer>(values: &[T], encoding: &str) -> Result<usize> {
    let values = T::values(values);
    let chooser = Chooser::root(&POOL, Profile::Balanced, Some(encoding));
    Ok(chooser
        .choose(values, &Stats::new(values, Kind::Unsigned))?
        .size())
}

/// The checksum of blocks, shared dictionaries and footers.
pub fn checksum(bytes: &[u8]) -> u32 {
    crate::format::checksum(bytes)
}
