//! The memory of a leaf cut into a slot for each block, so that several threads fill them.
//!
//! ```text
//! words of block 0 | words of block 1 | ...          of strings their ends or views
//! bytes of block 0 | bytes of block 1 | ...          of strings
//! ```
//!
//! How much each takes was declared and checked before, so every block goes to its place at once.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use arrow_buffer::Buffer;
use bytes::Bytes;
use staffa_kernels::{
    StringSlot, VECTOR, ViewSlot, Word, cast_slice_mut, lengths_to_offsets_i32,
    lengths_to_offsets_i64,
};

use crate::arrow::Leaf;
use crate::decode::{
    AnyDecoder, Appended, Block, Decodable, Scratch, SelectedValues, memory, no_code, take_bytes,
    take_codes,
};
use crate::error::{Error, Result};
use crate::values::{Bitmap, PhysicalType, expand, for_words, vector_len};

/// Where the values of one block go.
pub(crate) enum Slot<'o> {
    Plain(PlainSlot<'o>),
    Strings(StringSlot<'o>),
    Views(ViewSlot<'o>),
}

/// Where words go one after another.
pub(crate) struct PlainSlot<'o> {
    leaf: &'o Leaf,
    words: &'o mut [u8],
    past_cache: bool,
}

/// What a thread uses again for its next block.
#[derive(Default)]
pub(crate) struct ThreadScratch {
    pub cx: Scratch,
    pub lengths: Vec<u32>,
}

impl Slot<'_> {
    /// All values of a block; gives back bits, which need not begin with a byte there.
    pub fn fill(self, block: &Block<'_>, hand: &mut ThreadScratch) -> Result<Bitmap> {
        match self {
            Self::Plain(slot) => slot.fill(block, &mut hand.cx),
            Self::Strings(slot) => {
                fill_strings(slot, block, &mut hand.cx).map(|()| Bitmap::default())
            }
            Self::Views(mut slot) => fill_views(&mut slot, block, hand).map(|()| Bitmap::default()),
        }
    }
}

impl<'o> PlainSlot<'o> {
    /// The slots of blocks of so many values each, in memory for all of them.
    pub fn cut(
        leaf: &'o Leaf,
        mut words: &'o mut [u8],
        past_cache: bool,
        blocks: impl Iterator<Item = usize>,
    ) -> Result<Vec<Self>> {
        let width = leaf.ty.and_then(PhysicalType::width_bytes).unwrap_or(0);
        let slot = |values: usize| {
            let declared = || Error::corrupt("more values than declared");
            let (head, tail) = std::mem::take(&mut words)
                .split_at_mut_checked(values * width)
                .ok_or_else(declared)?;
            words = tail;
            Ok(Self {
                leaf,
                words: head,
                past_cache,
            })
        };
        blocks.map(slot).collect()
    }

    fn fill(self, block: &Block<'_>, cx: &mut Scratch) -> Result<Bitmap> {
        match self.leaf.ty {
            None => {}
            Some(PhysicalType::Bits) => return block.bits(),
            Some(ty) => for_words!(ty, T => self.fill_words::<T>(block, cx)?, _ => {}),
        }
        Ok(Bitmap::default())
    }

    fn fill_words<T: Decodable>(self, block: &Block<'_>, cx: &mut Scratch) -> Result<()> {
        let out = places::<T>(self.words, block.len)?;
        let Some(decoder) = &block.values else {
            out.fill(T::default());
            return Ok(());
        };
        let decoder = T::peek(decoder)
            .ok_or_else(|| Error::corrupt(format!("values of {:?} expected", T::TYPE)))?;
        if self.past_cache {
            block.words_past_cache(decoder, cx, out)
        } else {
            block.words(decoder, cx, out)
        }
    }
}

/// Strings one after another.
fn fill_strings(mut slot: StringSlot<'_>, block: &Block<'_>, cx: &mut Scratch) -> Result<()> {
    let Some(AnyDecoder::Bytes(decoder)) = &block.values else {
        return Ok(slot.finish(None)?);
    };
    let count = decoder.len();
    for v in 0..count.div_ceil(VECTOR) {
        slot.push(vector_len(count, v), |lengths, out| {
            decoder.vector(v, cx, lengths, out)
        })?;
    }
    let validity = block.validity.as_ref().filter(|_| block.compacted);
    Ok(slot.finish(validity.map(Bitmap::words))?)
}

/// Strings of a dictionary are checked and laid down once, and each row is a copy of a view.
fn fill_views(views: &mut ViewSlot<'_>, block: &Block<'_>, hand: &mut ThreadScratch) -> Result<()> {
    let wrong =
        || Error::corrupt("text expected, found other bytes, or more of them than declared");
    let ThreadScratch { cx, lengths } = hand;
    let Some(AnyDecoder::Bytes(decoder)) = &block.values else {
        return views.push_empty(block.len).then_some(()).ok_or_else(wrong);
    };
    let Some(coded) = decoder.dictionary() else {
        lengths.resize(block.len.max(lengths.len()), 0);
        let lengths = lengths.get_mut(..block.len).unwrap_or_default();
        let mut data = memory(block.string_bytes)?;
        let found = block.strings(cx, lengths, data.as_mut_slice())?;
        let data = Buffer::from(Bytes::from_owner(data));
        return (found == block.string_bytes && views.push_strings(lengths, &data))
            .then_some(())
            .ok_or_else(wrong);
    };
    let dictionary = coded.strings()?;
    if !views.use_table(dictionary, coded.shared()) {
        return Err(wrong());
    }
    let count = decoder.len();
    let validity = block.validity.as_ref().filter(|_| block.compacted);
    let mut codes = vec![
        0;
        if validity.is_some() {
            block.len.max(count)
        } else {
            VECTOR.min(count)
        }
    ];
    let mut pushed = true;
    for v in 0..count.div_ceil(VECTOR) {
        let start = if validity.is_some() { v * VECTOR } else { 0 };
        let codes = codes
            .get_mut(start..start + vector_len(count, v))
            .unwrap_or_default();
        coded.codes(v, cx, codes)?;
        pushed &= validity.is_some() || views.push_codes(codes);
    }
    if let Some(validity) = validity {
        expand(&mut codes, count, validity)?;
        pushed = views.push_codes(&codes);
    }
    pushed.then_some(()).ok_or_else(|| {
        let worst = codes.iter().max().copied().unwrap_or(0);
        Error::corrupt(format!(
            "codes below {} expected, found {worst}",
            dictionary.len()
        ))
    })
}

/// Strings of some rows of a block: by a dictionary that is not much larger than they are many,
/// else out of memory of their own. `all`: rows of all blocks, which may share a dictionary.
pub(crate) fn fill_views_of(
    views: &mut ViewSlot<'_>,
    block: &Block<'_>,
    wanted: &SelectedValues<'_>,
    (count, all): (usize, usize),
    cx: &mut Scratch,
) -> Result<()> {
    let wrong =
        || Error::corrupt("text expected, found other bytes, or more of them than declared");
    let Some(AnyDecoder::Bytes(decoder)) = &block.values else {
        return views.push_empty(count).then_some(()).ok_or_else(wrong);
    };
    let places = &wanted.places;
    if let Some(coded) = decoder.dictionary().filter(|_| places.is_many()) {
        let (strings, shared) = (coded.strings()?, coded.shared());
        let among = if shared { all } else { places.len() };
        let worth = strings.len() + strings.contents().len() / 16 <= among.saturating_mul(2);
        if worth || shared && views.shares_table(strings) {
            if !views.use_table(strings, shared) {
                return Err(wrong());
            }
            let codes = wanted.of_rows(take_codes(coded, decoder.len(), places, cx)?, count)?;
            return views
                .push_codes(&codes)
                .then_some(())
                .ok_or_else(|| no_code(&codes, strings.len()));
        }
    }
    let mut strings = Appended::default();
    strings.allow(block.string_bytes);
    strings.reserve(likely_bytes(block, count))?;
    take_bytes(decoder.as_ref(), places, cx, &mut strings)?;
    let (lengths, data) = strings.into_parts()?;
    let lengths = wanted.of_rows(lengths, count)?;
    views
        .push_strings(&lengths, &Buffer::from(Bytes::from_owner(data)))
        .then_some(())
        .ok_or_else(wrong)
}

/// Most bytes that are reserved for strings before they are seen.
const LIKELY: u64 = 16 << 20;

/// Bytes of the strings of so many rows, were all like those of this block.
pub(crate) fn likely_bytes(block: &Block<'_>, rows: usize) -> usize {
    let likely = block.string_bytes as u64 * rows as u64 / block.len.max(1) as u64;
    (likely + likely / 8).min(LIKELY) as usize
}

/// Where strings of these lengths end, of `bytes` bytes in all, after `before` bytes.
pub(crate) fn put_ends(
    large: bool,
    before: usize,
    bytes: usize,
    lengths: &[u32],
    ends: &mut [u8],
) -> Result<()> {
    if !large {
        let ends = places::<u32>(ends, lengths.len())?;
        ends.copy_from_slice(lengths);
        return lengths_to_ends(before, bytes, ends);
    }
    let last = lengths_to_offsets_i64(before as i64, lengths, places::<u64>(ends, lengths.len())?);
    end_at(before + bytes, last.map(i64::cast_unsigned))
}

/// As [`put_ends`], in the place of the lengths.
fn lengths_to_ends(before: usize, bytes: usize, lengths: &mut [u32]) -> Result<()> {
    let last = i32::try_from(before)
        .ok()
        .and_then(|before| lengths_to_offsets_i32(before, lengths));
    end_at(before + bytes, last.map(|end| end as u64))
}

fn end_at(end: usize, found: Option<u64>) -> Result<()> {
    if found != Some(end as u64) {
        return Err(Error::corrupt(format!(
            "offsets that end at {end} expected, found {found:?}"
        )));
    }
    Ok(())
}

/// Memory as places for exactly `count` words.
fn places<T: Word>(bytes: &mut [u8], count: usize) -> Result<&mut [T]> {
    let places = cast_slice_mut(bytes).filter(|places: &&mut [T]| places.len() == count);
    places.ok_or_else(|| Error::corrupt(format!("a place for each of {count} values expected")))
}
