//! The output of a leaf: memory of exactly the declared size, out of the pool, to which its blocks
//! are decoded, or some of their rows.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use arrow_buffer::Buffer;
use arrow_schema::DataType;
use bytes::Bytes;
use rayon::prelude::*;
use staffa_kernels::{PlainStrings, PoolBuf, StringViews};

use super::block_range::BlockRange;
use super::slots::{BlockSize, Slot, fill_views_of, likely_bytes, put_ends, short, typed};
use super::threads::threads;
use crate::arrow::Leaf;
use crate::decode::{
    AnyDecoder, Appended, Block, Decodable, Scratch, SelectedValues, Selection, memory, take_bytes,
    take_words,
};
use crate::error::{Error, Result};
use crate::values::{Bitmap, DecodedLeaf, DecodedValues, PhysicalType, for_words};

/// Layout of the output.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OutputLayout {
    /// Strings as views.
    pub views: bool,
    /// Decimals of 128 bits as words of 64 bits.
    pub short: bool,
    /// Writes past the processor's caches, for output that is larger than they are.
    pub past_cache: bool,
}

impl OutputLayout {
    /// That of a leaf in an array of this type.
    pub fn of(leaf: &Leaf, ty: &DataType) -> Self {
        Self {
            views: matches!(ty, DataType::Utf8View | DataType::BinaryView),
            short: matches!(ty, DataType::Decimal64(..)) && leaf.ty == Some(PhysicalType::U128),
            past_cache: false,
        }
    }

    /// The type of the words of a leaf.
    fn ty(self, leaf: &Leaf) -> Option<PhysicalType> {
        if self.short {
            Some(PhysicalType::U64)
        } else {
            leaf.ty
        }
    }
}

/// Builds the output of one leaf.
pub(crate) struct ColumnBuilder<'a> {
    leaf: &'a Leaf,
    /// Of the output.
    ty: Option<PhysicalType>,
    past_cache: bool,
    cx: Scratch,
    /// Values of the finished output.
    len: usize,
    /// Values so far.
    at: usize,
    validity: Option<Bitmap>,
    /// Bytes of strings so far.
    string_bytes: usize,
    output: Output,
}

/// Memory for values of a type.
enum Output {
    /// None, for a leaf of validity alone.
    Empty,
    Bits(Bitmap),
    Words(PoolBuf),
    Views(StringViews),
    /// All strings of some blocks, whose bytes are declared.
    Strings(PlainStrings),
    /// Offsets and strings of some rows, whose bytes are not declared.
    Appended(PoolBuf, Appended),
}
impl<'a> ColumnBuilder<'a> {
    /// For all values of some blocks.
    pub fn of_blocks(
        leaf: &'a Leaf,
        blocks: impl Iterator<Item = BlockSize> + Clone,
        layout: OutputLayout,
    ) -> Result<Self> {
        let len = blocks.clone().map(|block| block.values).sum();
        let ty = layout.ty(leaf);
        let output = if ty != Some(PhysicalType::Bytes) {
            Output::of_width(ty, len)?
        } else if layout.views {
            Output::views(leaf, len, layout.past_cache)?
        } else {
            let bytes = blocks.map(|block| block.string_bytes).sum();
            let strings = PlainStrings::new(len, bytes, leaf.utf8, leaf.large);
            let missing = || Error::limit(format!("no memory for strings of {bytes} bytes"));
            Output::Strings(strings.ok_or_else(missing)?)
        };
        Ok(Self::new(leaf, len, output, layout))
    }

    /// For some rows of some blocks.
    pub fn of_rows(leaf: &'a Leaf, rows: usize, layout: OutputLayout) -> Result<Self> {
        let ty = layout.ty(leaf);
        let output = if ty != Some(PhysicalType::Bytes) {
            Output::of_width(ty, rows)?
        } else if layout.views {
            Output::views(leaf, rows, layout.past_cache)?
        } else {
            let width = offset_bytes(leaf);
            let mut offsets = memory((rows + 1) * width)?;
            let first = offsets.as_mut_slice().get_mut(..width);
            first.ok_or_else(more_rows)?.fill(0);
            Output::Appended(offsets, Appended::default())
        };
        Ok(Self::new(leaf, rows, output, layout))
    }

    fn new(leaf: &'a Leaf, len: usize, output: Output, layout: OutputLayout) -> Self {
        Self {
            leaf,
            ty: layout.ty(leaf),
            past_cache: layout.past_cache,
            cx: Scratch::default(),
            len,
            at: 0,
            validity: None,
            string_bytes: 0,
            output,
        }
    }

    /// Appends all values of a block.
    pub fn push(&mut self, block: &Block<'_>) -> Result<()> {
        let size = BlockSize {
            values: block.len,
            string_bytes: block.string_bytes,
        };
        let (ty, past_cache, mut cx) = (self.ty, self.past_cache, std::mem::take(&mut self.cx));
        let mut bits = Bitmap::default();
        for slot in self.slots(std::iter::once(size))? {
            bits = slot.fill(block, ty, past_cache, &mut cx)?;
        }
        self.cx = cx;
        self.join([(size, block.validity.as_ref(), &bits)])
    }

    /// Appends all values of some blocks, in parallel where there are threads.
    pub fn push_all(&mut self, blocks: &BlockRange<'_, '_>) -> Result<()> {
        let at = |e: Error, i| e.at(|p| blocks.name(p, i));
        if blocks.len() < 2 || threads() < 2 {
            for i in 0..blocks.len() {
                self.push(&blocks.open(i)?).map_err(|e| at(e, i))?;
            }
            return Ok(());
        }
        if blocks.is_shared() {
            self.share_table(&blocks.open(0)?).map_err(|e| at(e, 0))?;
        }
        let (ty, past_cache) = (self.ty, self.past_cache);
        let fill = |cx: &mut Scratch, (i, slot): (usize, Slot<'_>)| {
            let block = blocks.open(i)?;
            let bits = slot
                .fill(&block, ty, past_cache, cx)
                .map_err(|e| at(e, i))?;
            Ok((block.validity, bits))
        };
        let slots = self.slots(blocks.sizes())?.into_par_iter().enumerate();
        let filled: Vec<Result<_>> = slots.map_init(Scratch::default, fill).collect();
        let filled = filled.into_iter().collect::<Result<Vec<_>>>()?;
        let joined = blocks.sizes().zip(&filled);
        self.join(joined.map(|(size, (validity, bits))| (size, validity.as_ref(), bits)))
    }

    /// Appends some rows of a block.
    pub fn push_rows(&mut self, block: &Block<'_>, rows: &Selection) -> Result<()> {
        let all = rows.len() == block.len && rows.end() <= block.len;
        if matches!(self.output, Output::Appended(..)) {
            return self.append(block, (!all).then_some(rows));
        }
        if all {
            return self.push(block);
        }
        let (wanted, count) = (block.selected(rows)?, rows.len());
        self.extend_validity(wanted.validity.as_ref(), count);
        let cx = &mut self.cx;
        match &mut self.output {
            Output::Empty => {}
            Output::Bits(bits) => bits.extend(&rows.of(&block.bits()?)),
            Output::Views(views) => push_views(views, block, &wanted, (count, self.len), cx)?,
            Output::Words(words) => {
                let ty = self.ty.ok_or_else(wrong_output)?;
                for_words!(ty, T => {
                    let out = words.words_mut::<T>().get_mut(self.at..self.at + count);
                    push_words(out.ok_or_else(more_rows)?, block, &wanted, cx)?;
                }, _ => return Err(wrong_output()));
            }
            Output::Strings(_) | Output::Appended(..) => return Err(wrong_output()),
        }
        self.at += count;
        Ok(())
    }

    /// Appends strings of some rows of a block, or of all.
    fn append(&mut self, block: &Block<'_>, rows: Option<&Selection>) -> Result<()> {
        let wanted = rows.map(|rows| block.selected(rows)).transpose()?;
        let validity = match &wanted {
            Some(wanted) => wanted.validity.as_ref(),
            None => block.validity.as_ref(),
        };
        let count = rows.map_or(block.len, Selection::len);
        self.extend_validity(validity, count);
        let cx = &mut self.cx;
        let Output::Appended(offsets, strings) = &mut self.output else {
            return Err(wrong_output());
        };
        strings.allow(block.string_bytes);
        let mut lengths = if let Some(wanted) = wanted {
            if strings.len() == 0 {
                strings.reserve(likely_bytes(block, self.len))?;
            }
            if let Some(AnyDecoder::Bytes(decoder)) = &block.values {
                take_bytes(decoder.as_ref(), &wanted.places, cx, strings)?;
            }
            wanted.of_rows(std::mem::take(&mut strings.lengths), count)?
        } else {
            let mut found = Ok(0);
            let pushed = strings.push_all(block.len, block.string_bytes, |lengths, out| {
                found = block.strings(cx, lengths, out);
                found.as_ref().ok().copied()
            });
            found.and(pushed)?;
            std::mem::take(&mut strings.lengths)
        };
        let (large, width) = (self.leaf.large, offset_bytes(self.leaf));
        let ends = (self.at + 1) * width..(self.at + 1 + count) * width;
        let ends = offsets.as_mut_slice().get_mut(ends).ok_or_else(more_rows)?;
        let (before, end) = (self.string_bytes, strings.len());
        put_ends(large, before, end - before, &lengths, ends)?;
        lengths.clear();
        strings.lengths = lengths;
        self.string_bytes = end;
        self.at += count;
        Ok(())
    }

    /// The validity of `len` more values.
    fn extend_validity(&mut self, validity: Option<&Bitmap>, len: usize) {
        if validity.is_some() && self.validity.is_none() {
            self.validity = Some(Bitmap::filled(self.at, true));
        }
        if let Some(all) = &mut self.validity {
            match validity {
                Some(validity) => all.extend(validity),
                None => all.extend(&Bitmap::filled(len, true)),
            }
        }
    }

    /// Adds the dictionary that a block shares with others to the views: threads would wait for the
    /// one that decodes it.
    fn share_table(&mut self, block: &Block<'_>) -> Result<()> {
        if let (Some(AnyDecoder::Bytes(decoder)), Output::Views(views)) =
            (&block.values, &mut self.output)
            && let Some(codes) = decoder.dictionary().filter(|codes| codes.shared())
        {
            let strings = codes.strings()?;
            for mut slot in views.slots([0]).ok_or_else(more_rows)? {
                // The block that uses the dictionary reports strings that are no text.
                let _ = slot.use_table(strings, true);
            }
        }
        Ok(())
    }

    /// Slots for the next blocks.
    fn slots(&mut self, blocks: impl Iterator<Item = BlockSize>) -> Result<Vec<Slot<'_>>> {
        let slots = match &mut self.output {
            Output::Views(views) => {
                let slots = views.slots(blocks.map(|block| block.values));
                slots.map(|slots| slots.into_iter().map(Slot::Views).collect())
            }
            Output::Strings(strings) => {
                let slots = strings.slots(blocks.map(|block| (block.values, block.string_bytes)));
                slots.map(|slots| slots.into_iter().map(Slot::Strings).collect())
            }
            Output::Words(words) => {
                let width = self.ty.and_then(PhysicalType::width_bytes);
                let width = width.ok_or_else(wrong_output)?;
                let words = words.as_mut_slice().get_mut(self.at * width..);
                words.and_then(|words| Slot::cut(words, width, blocks))
            }
            Output::Empty | Output::Bits(_) => Slot::cut(&mut [], 0, blocks),
            Output::Appended(..) => return Err(wrong_output()),
        };
        slots.ok_or_else(more_rows)
    }

    /// Takes in blocks whose slots are filled: the size, validity and bits of each.
    fn join<'f>(
        &mut self,
        blocks: impl IntoIterator<Item = (BlockSize, Option<&'f Bitmap>, &'f Bitmap)>,
    ) -> Result<()> {
        let joined = match &mut self.output {
            Output::Views(views) => views.join(),
            Output::Strings(strings) => strings.join(),
            _ => true,
        };
        joined.then_some(()).ok_or_else(fewer_strings)?;
        for (size, validity, bits) in blocks {
            self.extend_validity(validity, size.values);
            if let Output::Bits(all) = &mut self.output {
                all.extend(bits);
            }
            self.at += size.values;
        }
        Ok(())
    }

    /// The decoded leaf.
    pub fn finish(self) -> Result<DecodedLeaf> {
        if self.at != self.len {
            let (found, expected) = (self.at, self.len);
            return Err(Error::internal(format!(
                "a leaf of {expected} values expected, found {found}"
            )));
        }
        let buffer = |memory| Buffer::from(Bytes::from_owner(memory));
        let values = match self.output {
            Output::Empty => DecodedValues::Empty(self.len),
            Output::Bits(bits) => DecodedValues::Bits(bits),
            Output::Views(views) => DecodedValues::Views(views),
            Output::Strings(strings) => DecodedValues::Strings(strings),
            Output::Words(words) => {
                let ty = self.ty.ok_or_else(wrong_output)?;
                DecodedValues::Words(ty, buffer(words))
            }
            Output::Appended(offsets, strings) => DecodedValues::Bytes {
                large: self.leaf.large,
                offsets: buffer(offsets),
                data: buffer(strings.into_data()?),
            },
        };
        Ok(DecodedLeaf {
            validity: self.validity,
            values,
        })
    }
}

impl Output {
    /// Memory for values of fixed width.
    fn of_width(ty: Option<PhysicalType>, len: usize) -> Result<Self> {
        let Some(ty) = ty else {
            return Ok(Self::Empty);
        };
        Ok(match ty.width_bytes() {
            Some(width) => Self::Words(memory(len * width)?),
            None => Self::Bits(Bitmap::default()),
        })
    }

    /// Memory for strings as views.
    fn views(leaf: &Leaf, len: usize, past_cache: bool) -> Result<Self> {
        let views = StringViews::new(len, leaf.utf8);
        let views = views.ok_or_else(|| Error::limit(format!("no memory for {len} views")))?;
        Ok(Self::Views(views.past_cache(past_cache)))
    }
}

/// Appends words of some rows of a block.
fn push_words<T: Decodable>(
    out: &mut [T],
    block: &Block<'_>,
    wanted: &SelectedValues<'_>,
    cx: &mut Scratch,
) -> Result<()> {
    let short = short::<T>(block)?;
    let Some(decoder) = short.as_ref().or(block.values.as_ref()) else {
        out.fill(T::default());
        return Ok(());
    };
    let (decoder, places) = (typed::<T>(decoder)?, &wanted.places);
    if places.len() == out.len() {
        return take_words(decoder, places, cx, out);
    }
    let mut values = vec![T::default(); places.len()];
    take_words(decoder, places, cx, &mut values)?;
    wanted.put(&values, out)
}

/// Appends strings of some rows of a block as views; `rows`: of this block, and of all.
fn push_views(
    views: &mut StringViews,
    block: &Block<'_>,
    wanted: &SelectedValues<'_>,
    rows: (usize, usize),
    cx: &mut Scratch,
) -> Result<()> {
    for mut slot in views.slots([rows.0]).ok_or_else(more_rows)? {
        fill_views_of(&mut slot, block, wanted, rows, cx)?;
    }
    views.join().then_some(()).ok_or_else(fewer_strings)
}

/// Bytes of an offset of strings.
fn offset_bytes(leaf: &Leaf) -> usize {
    if leaf.large { 8 } else { 4 }
}

fn more_rows() -> Error {
    Error::internal("blocks of more values than declared")
}

fn fewer_strings() -> Error {
    Error::corrupt("as many strings as declared expected")
}

fn wrong_output() -> Error {
    Error::internal("memory for values of another type")
}
