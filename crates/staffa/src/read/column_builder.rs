//! Where the blocks of a leaf are decoded to: memory of exactly the declared size, out of the pool;
//! or where some of their rows are gathered.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use arrow_buffer::Buffer;
use bytes::Bytes;
use rayon::prelude::*;
use staffa_kernels::{PlainStrings, PoolBuf, StringViews};

use super::slots::{PlainSlot, Slot, ThreadScratch, fill_views_of, likely_bytes, put_ends};
use crate::arrow::Leaf;
use crate::decode::{
    AnyDecoder, Appended, Block, Decodable, SelectedValues, Selection, memory, take_bytes,
    take_words,
};
use crate::error::{Error, Result};
use crate::format::block::Parsed;
use crate::values::{Bitmap, DecodedLeaf, DecodedValues, Physical, PhysicalType, for_words};

/// How values are laid down.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OutputLayout {
    /// Strings as views, where there are such.
    pub views: bool,
    /// Past the caches, which could not hold them until they are read.
    pub past_cache: bool,
}

/// One leaf being put together.
pub(crate) struct ColumnBuilder<'a> {
    leaf: &'a Leaf,
    past_cache: bool,
    hand: ThreadScratch,
    len: usize,
    /// Values so far.
    at: usize,
    validity: Option<Bitmap>,
    bits: Bitmap,
    words: Option<PoolBuf>,
    /// Bytes of strings so far.
    data_at: usize,
    /// Strings by views.
    views: Option<StringViews>,
    /// All strings, one after another.
    plain: Option<PlainStrings>,
    /// Strings where only some are wanted, so that nothing tells how long they are.
    strings: Appended,
}

impl<'a> ColumnBuilder<'a> {
    /// For all values of some blocks.
    pub fn of_blocks(leaf: &'a Leaf, blocks: &[Parsed<'_>], form: OutputLayout) -> Result<Self> {
        let (len, past_cache) = (blocks.iter().map(|b| b.len).sum(), form.past_cache);
        if form.views && leaf.ty == Some(PhysicalType::Bytes) {
            return Self::of_views(leaf, len, past_cache);
        }
        let string_bytes = blocks.iter().map(|b| b.string_bytes).sum();
        if leaf.ty == Some(PhysicalType::Bytes) {
            let plain = PlainStrings::new(len, string_bytes, leaf.utf8, leaf.large);
            let plain = plain.ok_or_else(|| {
                Error::limit(format!("no memory for strings of {string_bytes} bytes"))
            })?;
            return Ok(Self {
                plain: Some(plain),
                ..Self::without_memory(leaf, len)
            });
        }
        Ok(Self {
            past_cache,
            ..Self::new(leaf, len)?
        })
    }

    /// For some rows of some blocks; strings as views on request.
    pub fn of_rows(leaf: &'a Leaf, rows: usize, views: bool) -> Result<Self> {
        if views && leaf.ty == Some(PhysicalType::Bytes) {
            return Self::of_views(leaf, rows, false);
        }
        Self::new(leaf, rows)
    }

    /// For strings as views.
    fn of_views(leaf: &'a Leaf, len: usize, past_cache: bool) -> Result<Self> {
        let views = StringViews::new(len, leaf.utf8);
        let views = views.ok_or_else(|| Error::limit(format!("no memory for {len} views")))?;
        Ok(Self {
            views: Some(views.past_cache(past_cache)),
            ..Self::without_memory(leaf, len)
        })
    }

    fn without_memory(leaf: &'a Leaf, len: usize) -> Self {
        let (hand, bits, strings) = (
            ThreadScratch::default(),
            Bitmap::default(),
            Appended::default(),
        );
        let (validity, words, views, plain) = (None, None, None, None);
        Self {
            leaf,
            past_cache: false,
            hand,
            len,
            at: 0,
            validity,
            bits,
            words,
            data_at: 0,
            views,
            plain,
            strings,
        }
    }

    fn new(leaf: &'a Leaf, len: usize) -> Result<Self> {
        let mut words = None;
        match leaf.ty {
            Some(PhysicalType::Bytes) => {
                let mut offsets = memory((len + 1) * if leaf.large { 8 } else { 4 })?;
                offsets
                    .as_mut_slice()
                    .iter_mut()
                    .take(8)
                    .for_each(|byte| *byte = 0);
                words = Some(offsets);
            }
            Some(ty) => {
                words = ty
                    .width_bytes()
                    .map(|width| memory(len * width))
                    .transpose()?;
            }
            None => {}
        }
        Ok(Self {
            words,
            ..Self::without_memory(leaf, len)
        })
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

    /// Appends some rows of a block.
    pub fn push_rows(&mut self, block: &Block<'_>, rows: &Selection) -> Result<()> {
        if rows.len() == block.len && rows.end() <= block.len {
            return self.push_all_rows(block);
        }
        let (wanted, count) = (block.selected(rows)?, rows.len());
        self.extend_validity(wanted.validity.as_ref(), count);
        match self.leaf.ty {
            None => {}
            Some(PhysicalType::Bits) => self.bits.extend(&rows.of(&block.bits()?)),
            Some(PhysicalType::Bytes) if self.views.is_some() => {
                self.push_views(block, &wanted, count)?;
            }
            Some(PhysicalType::Bytes) => {
                self.strings.allow(block.string_bytes);
                if self.strings.len() == 0 {
                    self.strings.reserve(likely_bytes(block, self.len))?;
                }
                if let Some(AnyDecoder::Bytes(decoder)) = &block.values {
                    take_bytes(
                        decoder.as_ref(),
                        &wanted.places,
                        &mut self.hand.cx,
                        &mut self.strings,
                    )?;
                }
                let found = std::mem::take(&mut self.strings.lengths);
                let mut lengths = wanted.of_rows(found, count)?;
                self.push_offsets(&lengths, self.strings.len())?;
                lengths.clear();
                self.strings.lengths = lengths;
            }
            Some(ty) => for_words!(ty, T => {
                let out = self.words.as_mut().map(PoolBuf::words_mut::<T>).unwrap_or_default();
                let out = out.get_mut(self.at..self.at + count).ok_or_else(|| Error::corrupt("more rows than wanted"))?;
                match &block.values {
                    None => out.fill(T::default()),
                    Some(decoder) => {
                        let decoder = T::peek(decoder).ok_or_else(|| Error::corrupt(format!("values of {:?} expected", T::TYPE)))?;
                        if wanted.places.len() == count {
                            take_words(decoder, &wanted.places, &mut self.hand.cx, out)?;
                        } else {
                            let mut values = vec![T::default(); wanted.places.len()];
                            take_words(decoder, &wanted.places, &mut self.hand.cx, &mut values)?;
                            wanted.put(&values, out)?;
                        }
                    }
                }
            }, _ => {}),
        }
        self.at += count;
        Ok(())
    }

    /// Strings of some rows, as views.
    fn push_views(
        &mut self,
        block: &Block<'_>,
        wanted: &SelectedValues<'_>,
        count: usize,
    ) -> Result<()> {
        let (all, cx) = (self.len, &mut self.hand.cx);
        let declared = || Error::corrupt("more strings than declared");
        let views = self.views.as_mut().ok_or_else(declared)?;
        let slots = views.slots([count]).ok_or_else(declared)?;
        slots
            .into_iter()
            .try_for_each(|mut slot| fill_views_of(&mut slot, block, wanted, (count, all), cx))?;
        views
            .join()
            .then_some(())
            .ok_or_else(|| Error::corrupt("as many strings as declared expected"))
    }

    /// Appends all rows of a block, where of others only some may be wanted.
    fn push_all_rows(&mut self, block: &Block<'_>) -> Result<()> {
        if self.leaf.ty != Some(PhysicalType::Bytes) || self.views.is_some() {
            return self.push(block);
        }
        self.extend_validity(block.validity.as_ref(), block.len);
        self.strings.allow(block.string_bytes);
        let (mut found, cx) = (Ok(0), &mut self.hand.cx);
        let pushed = self
            .strings
            .push_all(block.len, block.string_bytes, |lengths, out| {
                found = block.strings(cx, lengths, out);
                found.as_ref().ok().copied()
            });
        found.and(pushed)?;
        let lengths = std::mem::take(&mut self.strings.lengths);
        self.push_offsets(&lengths, self.strings.len())?;
        self.strings.lengths = lengths;
        self.strings.lengths.clear();
        self.at += block.len;
        Ok(())
    }

    /// Appends all values of a block.
    pub fn push(&mut self, block: &Block<'_>) -> Result<()> {
        let mut hand = std::mem::take(&mut self.hand);
        let slots = self.slots(std::iter::once((block.len, block.string_bytes)))?;
        let filled = slots
            .into_iter()
            .try_fold(Bitmap::default(), |_, slot| slot.fill(block, &mut hand));
        self.hand = hand;
        let bits = filled?;
        self.join([(
            block.len,
            block.string_bytes,
            block.validity.as_ref(),
            &bits,
        )])
    }

    /// Appends all values of some blocks, which several threads fill where there are such.
    ///
    /// `each` opens a block by its number among these and hands it on; `shared`: there may be a
    /// dictionary that is theirs.
    pub fn push_all(
        &mut self,
        blocks: &[Parsed<'_>],
        shared: bool,
        each: impl Fn(usize, &mut dyn FnMut(&Block<'_>) -> Result<()>) -> Result<()> + Sync,
    ) -> Result<()> {
        if blocks.len() < 2 || rayon::current_num_threads() < 2 {
            return (0..blocks.len()).try_for_each(|i| each(i, &mut |block| self.push(block)));
        }
        if shared {
            each(0, &mut |block| self.share(block))?;
        }
        let slots = self.slots(blocks.iter().map(|block| (block.len, block.string_bytes)))?;
        let fill = |hand: &mut ThreadScratch, (i, slot): (usize, Slot<'_>)| {
            let (mut slot, mut found) = (Some(slot), (None, Bitmap::default()));
            each(i, &mut |block| {
                let bits = slot.take().map(|slot| slot.fill(block, hand)).transpose()?;
                found = (block.validity.clone(), bits.unwrap_or_default());
                Ok(())
            })?;
            Ok(found)
        };
        let filled: Vec<Result<_>> = slots
            .into_par_iter()
            .enumerate()
            .map_init(ThreadScratch::default, fill)
            .collect();
        let filled = filled.into_iter().collect::<Result<Vec<_>>>()?;
        let joined = blocks.iter().zip(&filled);
        self.join(joined.map(|(block, (validity, bits))| {
            (block.len, block.string_bytes, validity.as_ref(), bits)
        }))
    }

    /// Decodes the dictionary that a block shares with others, for which threads would wait idly
    /// while one decodes it.
    fn share(&mut self, block: &Block<'_>) -> Result<()> {
        let Some(AnyDecoder::Bytes(decoder)) = &block.values else {
            return Ok(());
        };
        let Some(coded) = decoder.dictionary().filter(|coded| coded.shared()) else {
            return Ok(());
        };
        let strings = coded.strings()?;
        let slots = self
            .views
            .as_mut()
            .and_then(|views| views.slots([0]))
            .unwrap_or_default();
        for mut slot in slots {
            // What is no text is found again, and named, where it is used.
            let _ = slot.use_table(strings, true);
        }
        Ok(())
    }

    /// Slots for the next blocks, of so many values and bytes of strings each.
    fn slots(&mut self, blocks: impl Iterator<Item = (usize, usize)>) -> Result<Vec<Slot<'_>>> {
        if let Some(views) = &mut self.views {
            let slots = views.slots(blocks.map(|(values, _)| values));
            let slots = slots.ok_or_else(|| Error::corrupt("more values than declared"))?;
            return Ok(slots.into_iter().map(Slot::Views).collect());
        }
        if let Some(plain) = &mut self.plain {
            let slots = plain
                .slots(blocks)
                .ok_or_else(|| Error::corrupt("more strings than declared"))?;
            return Ok(slots.into_iter().map(Slot::Strings).collect());
        }
        let width = self
            .leaf
            .ty
            .and_then(PhysicalType::width_bytes)
            .unwrap_or(0);
        let words = self
            .words
            .as_mut()
            .map(PoolBuf::as_mut_slice)
            .unwrap_or_default();
        let words = words.get_mut(self.at * width..).unwrap_or_default();
        let slots = PlainSlot::cut(
            self.leaf,
            words,
            self.past_cache,
            blocks.map(|(values, _)| values),
        )?;
        Ok(slots.into_iter().map(Slot::Plain).collect())
    }

    /// Takes in blocks whose slots were filled: of each its values, bytes of strings, and what need
    /// not begin with a byte.
    fn join<'f>(
        &mut self,
        blocks: impl IntoIterator<Item = (usize, usize, Option<&'f Bitmap>, &'f Bitmap)>,
    ) -> Result<()> {
        let joined = self.views.as_mut().is_none_or(StringViews::join)
            && self.plain.as_mut().is_none_or(PlainStrings::join);
        if !joined {
            return Err(Error::corrupt("as many strings as declared expected"));
        }
        for (len, string_bytes, validity, bits) in blocks {
            self.extend_validity(validity, len);
            self.bits.extend(bits);
            self.at += len;
            self.data_at += string_bytes;
        }
        Ok(())
    }

    /// Appends offsets after strings of these lengths, which end at `end`.
    fn push_offsets(&mut self, lengths: &[u32], end: usize) -> Result<()> {
        let width = if self.leaf.large { 8 } else { 4 };
        let ends = self
            .words
            .as_mut()
            .map(PoolBuf::as_mut_slice)
            .unwrap_or_default();
        let ends = ends
            .get_mut((self.at + 1) * width..(self.at + 1 + lengths.len()) * width)
            .unwrap_or_default();
        put_ends(
            self.leaf.large,
            self.data_at,
            end - self.data_at,
            lengths,
            ends,
        )?;
        self.data_at = end;
        Ok(())
    }

    /// The leaf.
    pub fn finish(self) -> Result<DecodedLeaf> {
        debug_assert_eq!(self.at, self.len);
        let buffer = |memory: Option<PoolBuf>| {
            memory.map_or_else(
                || Buffer::from(&[][..]),
                |m| Buffer::from(Bytes::from_owner(m)),
            )
        };
        let values = match self.leaf.ty {
            None => DecodedValues::Empty(self.len),
            Some(PhysicalType::Bits) => DecodedValues::Bits(self.bits),
            Some(PhysicalType::Bytes) => {
                if let Some(views) = self.views {
                    DecodedValues::Views(views)
                } else if let Some(plain) = self.plain {
                    DecodedValues::Strings(plain)
                } else {
                    let (large, offsets) = (self.leaf.large, buffer(self.words));
                    DecodedValues::Bytes {
                        large,
                        offsets,
                        data: buffer(Some(self.strings.into_data()?)),
                    }
                }
            }
            Some(ty) => DecodedValues::Words(ty, buffer(self.words)),
        };
        Ok(DecodedLeaf {
            validity: self.validity,
            values,
        })
    }
}
