//! The memory of a leaf cut into a slot for each block, so that several threads fill them.
//!
//! ```text
//! words of block 0 | words of block 1 | ...          of strings their ends, counted from the first block's beginning
//! bytes of block 0 | bytes of block 1 | ...          of strings
//! ```
//!
//! How much each takes was declared and checked before, so every block goes to its place at once.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{Word, cast_slice_mut, lengths_to_offsets_i32, lengths_to_offsets_i64};

use crate::arrow::Leaf;
use crate::bitmap::Bitmap;
use crate::block::Block;
use crate::decode::{Physical, Scratch, for_words};
use crate::error::{Error, Result};
use crate::values::PhysicalType;

/// Where the values of one block go.
pub(crate) struct Slot<'o> {
    leaf: &'o Leaf,
    words: &'o mut [u8],
    strings: &'o mut [u8],
    /// Bytes of strings before.
    before: usize,
}

/// What a thread uses again for its next block.
#[derive(Default)]
pub(crate) struct Hand {
    pub cx: Scratch,
    pub lengths: Vec<u32>,
}

impl<'o> Slot<'o> {
    /// The slots of blocks of so many values and bytes of strings each, in memory for all of them.
    ///
    /// `words` begins with the place of the first value, of strings with that of its end; `before`: bytes of strings before.
    pub fn cut(
        leaf: &'o Leaf,
        mut words: &'o mut [u8],
        mut strings: &'o mut [u8],
        mut before: usize,
        blocks: impl Iterator<Item = (usize, usize)>,
    ) -> Result<Vec<Self>> {
        let width = match leaf.ty {
            Some(PhysicalType::Bytes) if leaf.large => 8,
            Some(PhysicalType::Bytes) => 4,
            ty => ty.and_then(PhysicalType::width_bytes).unwrap_or(0),
        };
        let slot = |(values, bytes): (usize, usize)| {
            let declared = || Error::corrupt("more values than declared");
            let (head, tail) = std::mem::take(&mut words).split_at_mut_checked(values * width).ok_or_else(declared)?;
            let (text, rest) = std::mem::take(&mut strings).split_at_mut_checked(bytes).ok_or_else(declared)?;
            let slot = Self { leaf, words: head, strings: text, before };
            (words, strings, before) = (tail, rest, before + bytes);
            Ok(slot)
        };
        blocks.map(slot).collect()
    }

    /// All values of a block; gives back bits, which need not begin with a byte there.
    pub fn fill(self, block: &Block<'_>, hand: &mut Hand) -> Result<Bitmap> {
        match self.leaf.ty {
            None => {}
            Some(PhysicalType::Bits) => return block.bits(),
            Some(PhysicalType::Bytes) => self.fill_strings(block, hand)?,
            Some(ty) => for_words!(ty, T => self.fill_words::<T>(block, &mut hand.cx)?, _ => {}),
        }
        Ok(Bitmap::default())
    }

    fn fill_words<T: Physical>(self, block: &Block<'_>, cx: &mut Scratch) -> Result<()> {
        let out = places::<T>(self.words, block.len)?;
        let Some(decoder) = &block.values else {
            out.fill(T::default());
            return Ok(());
        };
        let decoder = T::peek(decoder).ok_or_else(|| Error::corrupt(format!("values of {:?} expected", T::TYPE)))?;
        block.words(decoder, cx, out)
    }

    fn fill_strings(self, block: &Block<'_>, hand: &mut Hand) -> Result<()> {
        hand.lengths.resize(block.len.max(hand.lengths.len()), 0);
        let lengths = hand.lengths.get_mut(..block.len).unwrap_or_default();
        let found = block.strings(&mut hand.cx, lengths, self.strings)?;
        if found != block.string_bytes {
            return Err(Error::corrupt(format!("strings of {} bytes expected, found {found}", block.string_bytes)));
        }
        put_ends(self.leaf.large, self.before, found, lengths, self.words)
    }
}

/// Where strings of these lengths end, of `bytes` bytes in all, after `before` bytes.
pub(crate) fn put_ends(large: bool, before: usize, bytes: usize, lengths: &[u32], ends: &mut [u8]) -> Result<()> {
    let done = if large {
        lengths_to_offsets_i64(before as i64, lengths, places::<u64>(ends, lengths.len())?).map(|end| end as u64)
    } else {
        let ends = places::<u32>(ends, lengths.len())?;
        let before = i32::try_from(before).ok();
        before.and_then(|before| lengths_to_offsets_i32(before, lengths, ends)).map(|end| end as u64)
    };
    let end = before as u64 + bytes as u64;
    if done != Some(end) {
        return Err(Error::corrupt(format!("offsets that end at {end} expected, found {done:?}")));
    }
    Ok(())
}

/// Memory as places for exactly `count` words.
fn places<T: Word>(bytes: &mut [u8], count: usize) -> Result<&mut [T]> {
    let places = cast_slice_mut(bytes).filter(|places: &&mut [T]| places.len() == count);
    places.ok_or_else(|| Error::corrupt(format!("a place for each of {count} values expected")))
}
