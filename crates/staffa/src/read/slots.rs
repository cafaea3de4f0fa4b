//! The memory of a leaf cut into a slot for each block, so that several threads fill them.
//!
//! ```text
//! words of block 0 | words of block 1 | ...          of strings their ends or views
//! bytes of block 0 | bytes of block 1 | ...          of strings
//! ```
//!
//! The declared size of each block was checked before, so each block is decoded straight to its
//! place.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use arrow_buffer::Buffer;
use bytes::Bytes;
use staffa_kernels::{
    StringSlot, VECTOR, ViewSlot, ViewStrings, Word, cast_slice_mut, lengths_to_offsets_i32,
    lengths_to_offsets_i64,
};

use crate::decode::{
    AnyDecoder, Appended, Block, Decodable, Decoder, DictionaryStrings, Scratch, SelectedValues,
    no_code, take_bytes, take_codes,
};
use crate::error::{Error, Result};
use crate::values::{Bitmap, COPIED, PhysicalType, expand, for_words, vector_len};

/// Declared size of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockSize {
    pub values: usize,
    /// Bytes of all strings.
    pub string_bytes: usize,
}

/// Memory for the values of one block.
pub(crate) enum Slot<'o> {
    /// Words; none for bits, and for leaves of validity alone.
    Words(&'o mut [u8]),
    Strings(StringSlot<'o>),
    Views(ViewSlot<'o>),
}

impl<'o> Slot<'o> {
    /// A slot of words of `width` bytes for each block, out of the memory for all of them; `None`
    /// where there is less.
    pub fn cut(
        mut words: &'o mut [u8],
        width: usize,
        blocks: impl Iterator<Item = BlockSize>,
    ) -> Option<Vec<Self>> {
        let slot = |block: BlockSize| {
            let (own, rest) =
                std::mem::take(&mut words).split_at_mut_checked(block.values * width)?;
            words = rest;
            Some(Self::Words(own))
        };
        blocks.map(slot).collect()
    }

    /// Decodes all values of a block. Returns bits, which need not begin with a byte of the output;
    /// none for other types.
    pub fn fill(
        self,
        block: &Block<'_>,
        ty: Option<PhysicalType>,
        past_cache: bool,
        cx: &mut Scratch,
    ) -> Result<Bitmap> {
        match (self, ty) {
            (Self::Strings(slot), _) => fill_strings(slot, block, cx)?,
            (Self::Views(mut slot), _) => fill_views(&mut slot, block, cx)?,
            (Self::Words(_), None) => {}
            (Self::Words(_), Some(PhysicalType::Bits)) => return block.bits(),
            (Self::Words(words), Some(ty)) => {
                for_words!(ty, T => fill_words::<T>(words, block, past_cache, cx)?, _ => {});
            }
        }
        Ok(Bitmap::default())
    }
}

fn fill_words<T: Decodable>(
    words: &mut [u8],
    block: &Block<'_>,
    past_cache: bool,
    cx: &mut Scratch,
) -> Result<()> {
    let out = places::<T>(words, block.len)?;
    let short = short::<T>(block)?;
    match short.as_ref().or(block.values.as_ref()) {
        None => {
            out.fill(T::default());
            Ok(())
        }
        Some(decoder) if past_cache => block.words_past_cache(typed(decoder)?, cx, out),
        Some(decoder) => block.words(typed(decoder)?, cx, out),
    }
}

/// Decodes decimals of 128 bits where words of 64 bits are wanted.
pub(crate) fn short<'b, T: Decodable>(block: &'b Block<'_>) -> Result<Option<AnyDecoder<'b>>> {
    if T::TYPE != PhysicalType::U64 {
        return Ok(None);
    }
    Ok(block.short()?.map(AnyDecoder::U64))
}

/// The decoder of words of type `T`.
pub(crate) fn typed<'b, 'a, T: Decodable>(
    decoder: &'b AnyDecoder<'a>,
) -> Result<&'b (dyn Decoder<T> + 'a)> {
    let other = || Error::corrupt(format!("values of {:?} expected", T::TYPE));
    T::peek(decoder).ok_or_else(other)
}

/// Decodes strings one after another.
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

/// An error where views were refused.
fn accepted(views: bool) -> Result<()> {
    let refused = "text expected, found other bytes, or more of them than declared";
    views.then_some(()).ok_or_else(|| Error::corrupt(refused))
}

/// Views are made directly until so many vectors of a block had a string that its view does not hold.
const MOST_REFUSED: usize = 3;

/// Decodes strings as views. Strings of a dictionary are checked and copied once, and each row
/// copies a view.
fn fill_views(views: &mut ViewSlot<'_>, block: &Block<'_>, cx: &mut Scratch) -> Result<()> {
    let Some(AnyDecoder::Bytes(decoder)) = &block.values else {
        return accepted(views.push_empty(block.len));
    };
    let count = decoder.len();
    let Some(codes) = decoder.dictionary() else {
        let bytes = block.string_bytes;
        let missing = || Error::limit(format!("no memory for strings of {bytes} bytes"));
        let mut strings = ViewStrings::new(views, bytes).ok_or_else(missing)?;
        let mut refused = 0;
        for v in 0..count.div_ceil(VECTOR) {
            if refused < MOST_REFUSED {
                if decoder.push_views(v, cx, &mut strings)? {
                    continue;
                }
                refused += 1;
            }
            strings.push(vector_len(count, v), |lengths, out| {
                decoder.vector(v, cx, lengths, out)
            })?;
        }
        let validity = block.validity.as_ref().filter(|_| block.compacted);
        return Ok(strings.finish(block.len, validity.map(Bitmap::words))?);
    };
    let dictionary = codes.strings()?;
    accepted(views.use_table(dictionary, codes.shared()))?;
    if block.compacted && block.validity.is_some() {
        let codes = codes_of_rows(block, codes, count, cx)?;
        return push_codes(views, &codes, dictionary.len());
    }
    let mut buffer = [0; VECTOR];
    for v in 0..count.div_ceil(VECTOR) {
        let (vector, _) = buffer.split_at_mut(vector_len(count, v));
        codes.codes(v, cx, vector)?;
        push_codes(views, vector, dictionary.len())?;
    }
    Ok(())
}

/// Appends the view of each code; the dictionary has `len` strings.
fn push_codes(views: &mut ViewSlot<'_>, codes: &[u32], len: usize) -> Result<()> {
    let pushed = views.push_codes(codes);
    pushed.then_some(()).ok_or_else(|| no_code(codes, len))
}

/// Codes of all rows of a block that has `count` of them; those of NULLs are 0 where it has none.
pub(crate) fn codes_of_rows(
    block: &Block<'_>,
    codes: &dyn DictionaryStrings,
    count: usize,
    cx: &mut Scratch,
) -> Result<Vec<u32>> {
    let mut all = vec![0u32; block.len.max(count)];
    let (present, _) = all.split_at_mut(count);
    for (v, vector) in present.chunks_mut(VECTOR).enumerate() {
        codes.codes(v, cx, vector)?;
    }
    if let Some(validity) = block.validity.as_ref().filter(|_| block.compacted) {
        expand(&mut all, count, validity)?;
    }
    Ok(all)
}

/// Appends strings of some rows of a block as views: views of its dictionary, if that is not much
/// larger than the rows are many, else of memory of their own. `all`: rows of all blocks, which may
/// share a dictionary.
pub(crate) fn fill_views_of(
    views: &mut ViewSlot<'_>,
    block: &Block<'_>,
    wanted: &SelectedValues<'_>,
    (count, all): (usize, usize),
    cx: &mut Scratch,
) -> Result<()> {
    let Some(AnyDecoder::Bytes(decoder)) = &block.values else {
        return accepted(views.push_empty(count));
    };
    let places = &wanted.places;
    if let Some(codes) = decoder.dictionary().filter(|_| places.is_many()) {
        let (strings, shared) = (codes.strings()?, codes.shared());
        let among = if shared { all } else { places.len() };
        let worth = strings.len() + strings.contents().len() / 16 <= among.saturating_mul(2);
        if worth || shared && views.shares_table(strings) {
            accepted(views.use_table(strings, shared))?;
            let codes = wanted.of_rows(take_codes(codes, places, cx)?, count)?;
            return push_codes(views, &codes, strings.len());
        }
    }
    let mut strings = Appended::default();
    strings.allow(block.string_bytes);
    strings.reserve(likely_bytes(block, count))?;
    take_bytes(decoder.as_ref(), places, cx, &mut strings)?;
    let (lengths, data) = strings.into_parts()?;
    let lengths = wanted.of_rows(lengths, count)?;
    accepted(views.push_strings(&lengths, &Buffer::from(Bytes::from_owner(data))))
}

/// Most bytes that are reserved for strings before they are seen.
const LIKELY: u64 = 16 << 20;

/// Estimated bytes of the strings of `rows` rows, from the mean of a block.
pub(crate) fn likely_bytes(block: &Block<'_>, rows: usize) -> usize {
    let likely = block.string_bytes as u64 * rows as u64 / block.len.max(1) as u64;
    (likely + likely / 8).min(LIKELY) as usize
}

/// Writes the end of each string, after `before` bytes of others; all together have `bytes` bytes.
pub(crate) fn put_ends(
    large: bool,
    before: usize,
    bytes: usize,
    lengths: &[u32],
    ends: &mut [u8],
) -> Result<()> {
    let last = if large {
        let ends = places::<u64>(ends, lengths.len())?;
        lengths_to_offsets_i64(before as i64, lengths, ends).map(i64::cast_unsigned)
    } else {
        let ends = places::<u32>(ends, lengths.len())?;
        let mut last = i32::try_from(before).ok();
        for (ends, lengths) in ends.chunks_mut(COPIED).zip(lengths.chunks(COPIED)) {
            ends.copy_from_slice(lengths);
            last = last.and_then(|before| lengths_to_offsets_i32(before, ends));
        }
        last.map(|end| end as u64)
    };
    let end = (before + bytes) as u64;
    if last != Some(end) {
        return Err(Error::corrupt(format!(
            "offsets that end at {end} expected, found {last:?}"
        )));
    }
    Ok(())
}

/// Memory for exactly `count` words.
fn places<T: Word>(bytes: &mut [u8], count: usize) -> Result<&mut [T]> {
    let places = cast_slice_mut(bytes).filter(|places: &&mut [T]| places.len() == count);
    places.ok_or_else(|| Error::internal(format!("memory for {count} values expected")))
}
