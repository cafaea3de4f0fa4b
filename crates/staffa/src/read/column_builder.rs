//! The output of a leaf: memory of exactly the declared size, out of the pool, to which its blocks
//! are decoded, or some of their rows.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use arrow_buffer::Buffer;
use arrow_schema::DataType;
use bytes::Bytes;
use rayon::prelude::*;
use staffa_kernels::{PlainStrings, PoolBuf, StringViews, zeros};

use super::block_range::BlockRange;
use super::slots::{BlockSize, Slot, fill_views_of, likely_bytes, put_ends, short, typed};
use crate::arrow::Leaf;
use crate::decode::{
    AnyDecoder, Appended, Block, Decodable, Scratch, SelectedValues, Selection, memory, take_bytes,
    take_words,
};
use crate::error::{Error, Result};
use crate::limits::threads;
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
    layout: OutputLayout,
    /// Of the output.
    ty: Option<PhysicalType>,
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
    /// None yet: all values so far are zeros or empty strings. All strings will have these bytes.
    Zeros(usize),
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
    ) -> Self {
        let len = blocks.clone().map(|block| block.values).sum();
        let bytes = blocks.map(|block| block.string_bytes).sum();
        Self::new(leaf, len, Output::new(layout.ty(leaf), bytes), layout)
    }

    /// For some rows of some blocks.
    pub fn of_rows(leaf: &'a Leaf, rows: usize, layout: OutputLayout) -> Result<Self> {
        let output = match layout.ty(leaf) {
            Some(PhysicalType::Bytes) if !layout.views => {
                let width = offset_bytes(leaf);
                let mut offsets = memory((rows + 1) * width)?;
                let first = offsets.as_mut_slice().get_mut(..width);
                first.ok_or_else(more_rows)?.fill(0);
                Output::Appended(offsets, Appended::default())
            }
            ty => Output::new(ty, 0),
        };
        Ok(Self::new(leaf, rows, output, layout))
    }

    fn new(leaf: &'a Leaf, len: usize, output: Output, layout: OutputLayout) -> Self {
        Self {
            leaf,
            layout,
            ty: layout.ty(leaf),
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
        if self.push_zeros(block)? {
            return Ok(());
        }
        self.allocate()?;
        let (ty, past_cache) = (self.ty, self.layout.past_cache);
        let mut cx = std::mem::take(&mut self.cx);
        let mut bits = Bitmap::default();
        for slot in self.slots(std::iter::once(size))? {
            bits = slot.fill(block, ty, past_cache, &mut cx)?;
        }
        self.cx = cx;
        self.join([(size, block.validity.as_ref(), &bits)])
    }

    /// Appends all values of a block while no value but zero was appended; `false`, with nothing appended,
    /// where there is another.
    fn push_zeros(&mut self, block: &Block<'_>) -> Result<bool> {
        let has_zeros = self.has_zeros(block)?;
        if has_zeros {
            self.extend_validity(block.validity.as_ref(), block.len);
            self.at += block.len;
        }
        Ok(has_zeros)
    }

    /// Whether no value but zero was appended, and a block has none either.
    fn has_zeros(&self, block: &Block<'_>) -> Result<bool> {
        Ok(matches!(self.output, Output::Zeros(_)) && block.is_zero()?)
    }

    /// Memory for values other than zero.
    fn allocate(&mut self) -> Result<()> {
        let Output::Zeros(bytes) = self.output else {
            return Ok(());
        };
        let (leaf, len, zeros) = (self.leaf, self.len, self.at);
        self.output = if let Some(width) = self.ty.and_then(PhysicalType::width_bytes) {
            Output::Words(memory(len * width)?)
        } else if self.layout.views {
            Output::views(leaf, len, self.layout.past_cache)?
        } else {
            let strings = PlainStrings::new(len, bytes, leaf.utf8, leaf.large);
            let missing = || Error::limit(format!("no memory for strings of {bytes} bytes"));
            Output::Strings(strings.ok_or_else(missing)?)
        };
        if zeros == 0 {
            return Ok(());
        }
        match &mut self.output {
            Output::Words(words) => {
                let width = self.ty.and_then(PhysicalType::width_bytes);
                let width = width.ok_or_else(wrong_output)?;
                let words = words.as_mut_slice().get_mut(..zeros * width);
                words.ok_or_else(more_rows)?.fill(0);
            }
            Output::Views(views) => {
                for mut slot in views.slots([zeros]).ok_or_else(more_rows)? {
                    slot.push_empty(zeros).then_some(()).ok_or_else(more_rows)?;
                }
                views.join().then_some(()).ok_or_else(fewer_strings)?;
            }
            Output::Strings(strings) => {
                for slot in strings.slots([(zeros, 0)]).ok_or_else(more_rows)? {
                    slot.finish(None)?;
                }
                strings.join().then_some(()).ok_or_else(fewer_strings)?;
            }
            _ => return Err(wrong_output()),
        }
        Ok(())
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
        let mut first = 0;
        while blocks.is_simple(first)
            && self
                .push_zeros(&blocks.open(first)?)
                .map_err(|e| at(e, first))?
        {
            first += 1;
        }
        if first == blocks.len() {
            return Ok(());
        }
        self.allocate()?;
        if blocks.is_shared() {
            self.share_table(&blocks.open(first)?)
                .map_err(|e| at(e, first))?;
        }
        let (ty, past_cache) = (self.ty, self.layout.past_cache);
        let fill = |cx: &mut Scratch, (i, slot): (usize, Slot<'_>)| {
            let i = first + i;
            let block = blocks.open(i)?;
            let bits = slot
                .fill(&block, ty, past_cache, cx)
                .map_err(|e| at(e, i))?;
            Ok((block.validity, bits))
        };
        let sizes = || blocks.sizes().skip(first);
        let slots = self.slots(sizes())?.into_par_iter().enumerate();
        let filled: Vec<Result<_>> = slots.map_init(Scratch::default, fill).collect();
        let filled = filled.into_iter().collect::<Result<Vec<_>>>()?;
        let joined = sizes().zip(&filled);
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
        let count = rows.len();
        if self.has_zeros(block)? {
            self.extend_validity(block.validity_of(rows)?.as_ref(), count);
            self.at += count;
            return Ok(());
        }
        self.allocate()?;
        let wanted = block.selected(rows)?;
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
            Output::Zeros(_) | Output::Strings(_) | Output::Appended(..) => {
                return Err(wrong_output());
            }
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
            Output::Zeros(_) | Output::Appended(..) => return Err(wrong_output()),
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
            Output::Zeros(_) => all_zeros(self.leaf, self.ty, self.layout, self.len)?,
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
    /// For values of a type; all strings will have these bytes.
    fn new(ty: Option<PhysicalType>, string_bytes: usize) -> Self {
        match ty {
            None => Self::Empty,
            Some(PhysicalType::Bits) => Self::Bits(Bitmap::default()),
            Some(_) => Self::Zeros(string_bytes),
        }
    }

    /// Memory for strings as views.
    fn views(leaf: &Leaf, len: usize, past_cache: bool) -> Result<Self> {
        let views = StringViews::new(len, leaf.utf8);
        let views = views.ok_or_else(|| Error::limit(format!("no memory for {len} views")))?;
        Ok(Self::Views(views.past_cache(past_cache)))
    }
}

/// `len` zeros or empty strings.
fn all_zeros(
    leaf: &Leaf,
    ty: Option<PhysicalType>,
    layout: OutputLayout,
    len: usize,
) -> Result<DecodedValues> {
    let found = if let Some(width) = ty.and_then(PhysicalType::width_bytes) {
        zeros(len * width)
            .zip(ty)
            .map(|(data, ty)| DecodedValues::Words(ty, data))
    } else if layout.views {
        StringViews::empty(len, leaf.utf8).map(DecodedValues::Views)
    } else {
        zeros((len + 1) * offset_bytes(leaf)).map(|offsets| DecodedValues::Bytes {
            large: leaf.large,
            offsets,
            data: Buffer::from(&[]),
        })
    };
    found.ok_or_else(|| Error::limit(format!("no memory for {len} values")))
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
