//! Where the blocks of a leaf are decoded to: memory of exactly the declared size, out of the pool; or where some of their
//! rows are gathered.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::HashMap;

use arrow_buffer::Buffer;
use bytes::Bytes;
use staffa_kernels::{PoolBuf, StringViews, VECTOR, lengths_to_offsets_i32, lengths_to_offsets_i64};

use crate::arrow::Leaf;
use crate::bitmap::Bitmap;
use crate::block::{Block, Parsed, Wanted, expand};
use crate::decode::{AnyDecoder, Physical, Scratch, for_words, vector_len};
use crate::error::{Error, Result};
use crate::gather::{Appended, gather_bytes, gather_codes, gather_words, many_wanted, memory, no_code};
use crate::rows::BlockRows;
use crate::values::{DecodedLeaf, DecodedValues, PhysicalType};

/// Most bytes that are reserved for strings before they are seen.
const LIKELY: u64 = 16 << 20;

/// One leaf being put together.
pub(crate) struct Output<'a> {
    leaf: &'a Leaf,
    cx: Scratch,
    len: usize,
    /// Values so far.
    at: usize,
    validity: Option<Bitmap>,
    bits: Bitmap,
    words: Option<PoolBuf>,
    data: Option<PoolBuf>,
    /// Bytes of strings so far.
    data_at: usize,
    lengths: Vec<u32>,
    /// Strings by views, and of the chunk's dictionaries, by their places in memory, the tables.
    views: Option<(StringViews, HashMap<usize, usize>)>,
    /// Strings where only some are wanted, so that nothing tells how long they are.
    strings: Appended,
}

impl<'a> Output<'a> {
    /// For all values of some blocks.
    ///
    /// `views`: of strings, where the leaf has such.
    pub fn of_blocks(leaf: &'a Leaf, blocks: &[Parsed<'_>], views: bool) -> Result<Self> {
        let len = blocks.iter().map(|b| b.len).sum();
        if views && leaf.ty == Some(PhysicalType::Bytes) {
            return Self::of_views(leaf, len);
        }
        Self::new(leaf, len, Some(blocks.iter().map(|b| b.string_bytes).sum()))
    }

    /// For some rows of some blocks; strings as views on request.
    pub fn of_rows(leaf: &'a Leaf, rows: usize, views: bool) -> Result<Self> {
        if views && leaf.ty == Some(PhysicalType::Bytes) {
            return Self::of_views(leaf, rows);
        }
        Self::new(leaf, rows, None)
    }

    /// For strings as views.
    fn of_views(leaf: &'a Leaf, len: usize) -> Result<Self> {
        let views = StringViews::new(len, leaf.utf8);
        let views = views.ok_or_else(|| Error::limit(format!("no memory for {len} views")))?;
        let mut out = Self::new(leaf, 0, Some(0))?;
        (out.len, out.views) = (len, Some((views, HashMap::new())));
        Ok(out)
    }

    fn new(leaf: &'a Leaf, len: usize, string_bytes: Option<usize>) -> Result<Self> {
        let (mut words, mut data) = (None, None);
        match leaf.ty {
            Some(PhysicalType::Bytes) => {
                let mut offsets = memory((len + 1) * if leaf.large { 8 } else { 4 })?;
                offsets.as_mut_slice().iter_mut().take(8).for_each(|byte| *byte = 0);
                words = Some(offsets);
                data = string_bytes.map(memory).transpose()?;
            }
            Some(ty) => words = ty.width_bytes().map(|width| memory(len * width)).transpose()?,
            None => {}
        }
        let (cx, bits, lengths) = (Scratch::default(), Bitmap::default(), Vec::new());
        let strings = Appended::default();
        let (validity, views) = (None, None);
        Ok(Self { leaf, cx, len, at: 0, validity, bits, words, data, data_at: 0, lengths, views, strings })
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
    pub fn push_rows(&mut self, block: &Block<'_>, rows: &BlockRows) -> Result<()> {
        if rows.len() == block.len && rows.end() <= block.len {
            return self.push_all_rows(block);
        }
        let (wanted, count) = (block.wanted(rows)?, rows.len());
        self.extend_validity(wanted.validity.as_ref(), count);
        match self.leaf.ty {
            None => {}
            Some(PhysicalType::Bits) => self.bits.extend(&rows.of(&block.bits()?)),
            Some(PhysicalType::Bytes) if self.views.is_some() => self.push_views_of(block, &wanted, count)?,
            Some(PhysicalType::Bytes) => {
                self.strings.allow(block.string_bytes);
                if self.strings.len() == 0 {
                    // As if all rows were like those of the first block.
                    let likely = block.string_bytes as u64 * self.len as u64 / block.len.max(1) as u64;
                    self.strings.reserve((likely + likely / 8).min(LIKELY) as usize)?;
                }
                if let Some(AnyDecoder::Bytes(decoder)) = &block.values {
                    gather_bytes(decoder.as_ref(), &wanted.places, &mut self.cx, &mut self.strings)?;
                }
                let (mut found, end) = (std::mem::take(&mut self.strings.lengths), self.strings.len());
                if found.len() == count {
                    self.push_offsets(&found, end)?;
                } else {
                    let mut lengths = vec![0; count];
                    wanted.put(&found, &mut lengths)?;
                    self.push_offsets(&lengths, end)?;
                }
                found.clear();
                self.strings.lengths = found;
            }
            Some(ty) => for_words!(ty, T => {
                let out = self.words.as_mut().map(PoolBuf::words_mut::<T>).unwrap_or_default();
                let out = out.get_mut(self.at..self.at + count).ok_or_else(|| Error::corrupt("more rows than wanted"))?;
                match &block.values {
                    None => out.fill(T::default()),
                    Some(decoder) => {
                        let decoder = T::peek(decoder).ok_or_else(|| Error::corrupt(format!("values of {:?} expected", T::TYPE)))?;
                        if wanted.places.len() == count {
                            gather_words(decoder, &wanted.places, &mut self.cx, out)?;
                        } else {
                            let mut values = vec![T::default(); wanted.places.len()];
                            gather_words(decoder, &wanted.places, &mut self.cx, &mut values)?;
                            wanted.put(&values, out)?;
                        }
                    }
                }
            }, _ => {}),
        }
        self.at += count;
        Ok(())
    }

    /// Appends all rows of a block, where of others only some may be wanted.
    fn push_all_rows(&mut self, block: &Block<'_>) -> Result<()> {
        if self.leaf.ty != Some(PhysicalType::Bytes) || self.views.is_some() {
            return self.push(block);
        }
        self.extend_validity(block.validity.as_ref(), block.len);
        self.strings.allow(block.string_bytes);
        let (mut found, cx) = (Ok(0), &mut self.cx);
        let pushed = self.strings.push_all(block.len, block.string_bytes, |lengths, out| {
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
        self.extend_validity(block.validity.as_ref(), block.len);
        match self.leaf.ty {
            None => {}
            Some(PhysicalType::Bits) => self.bits.extend(&block.bits()?),
            Some(PhysicalType::Bytes) if self.views.is_some() => self.push_views(block)?,
            Some(PhysicalType::Bytes) => self.push_strings(block)?,
            Some(ty) => for_words!(ty, T => self.push_words::<T>(block)?, _ => {}),
        }
        self.at += block.len;
        Ok(())
    }

    fn push_words<T: Physical>(&mut self, block: &Block<'_>) -> Result<()> {
        let words = self.words.as_mut().map(PoolBuf::words_mut::<T>).unwrap_or_default();
        let Some(out) = words.get_mut(self.at..self.at + block.len) else {
            return Err(Error::corrupt("more values than declared"));
        };
        let Some(decoder) = &block.values else {
            out.fill(T::default());
            return Ok(());
        };
        let decoder = T::peek(decoder).ok_or_else(|| Error::corrupt(format!("values of {:?} expected", T::TYPE)))?;
        block.words(decoder, &mut self.cx, out)
    }

    /// Strings of a dictionary are checked and laid down once, and each row is a copy of a view.
    fn push_views(&mut self, block: &Block<'_>) -> Result<()> {
        let Some((views, tables)) = &mut self.views else { return Ok(()) };
        let wrong = || Error::corrupt("text expected, found other bytes, or more of them than declared");
        let Some(AnyDecoder::Bytes(decoder)) = &block.values else {
            return views.push_empty(block.len).then_some(()).ok_or_else(wrong);
        };
        let Some(coded) = decoder.coded() else {
            self.lengths.resize(block.len.max(self.lengths.len()), 0);
            let lengths = self.lengths.get_mut(..block.len).unwrap_or_default();
            let mut data = memory(block.string_bytes)?;
            let found = block.strings(&mut self.cx, lengths, data.as_mut_slice())?;
            let data = Buffer::from(Bytes::from_owner(data));
            return (found == block.string_bytes && views.push_strings(lengths, &data)).then_some(()).ok_or_else(wrong);
        };
        let dictionary = coded.strings()?;
        let place = std::ptr::from_ref(dictionary).addr();
        let known = tables.get(&place).copied().filter(|_| coded.shared());
        let table = known.or_else(|| views.table(dictionary)).ok_or_else(wrong)?;
        if coded.shared() {
            tables.insert(place, table);
        }
        let count = decoder.len();
        let validity = block.validity.as_ref().filter(|_| block.dense);
        let mut codes = vec![0; if validity.is_some() { block.len.max(count) } else { VECTOR.min(count) }];
        let mut pushed = true;
        for v in 0..count.div_ceil(VECTOR) {
            let start = if validity.is_some() { v * VECTOR } else { 0 };
            let codes = codes.get_mut(start..start + vector_len(count, v)).unwrap_or_default();
            coded.codes(v, &mut self.cx, codes)?;
            pushed &= validity.is_some() || views.push_codes(table, codes);
        }
        if let Some(validity) = validity {
            expand(&mut codes, count, validity)?;
            pushed = views.push_codes(table, &codes);
        }
        if !coded.shared() {
            views.forget_table();
        }
        pushed.then_some(()).ok_or_else(|| {
            let worst = codes.iter().max().copied().unwrap_or(0);
            Error::corrupt(format!("codes below {} expected, found {worst}", dictionary.len()))
        })
    }

    /// Strings of some rows, as views: by a dictionary that is not much larger than they are many, else out of memory of
    /// their own.
    fn push_views_of(&mut self, block: &Block<'_>, wanted: &Wanted<'_>, count: usize) -> Result<()> {
        let Some((views, tables)) = &mut self.views else { return Ok(()) };
        let wrong = || Error::corrupt("text expected, found other bytes, or more of them than declared");
        let Some(AnyDecoder::Bytes(decoder)) = &block.values else {
            return views.push_empty(count).then_some(()).ok_or_else(wrong);
        };
        let places = &wanted.places;
        if let Some(coded) = decoder.coded().filter(|_| many_wanted(places)) {
            let dictionary = coded.strings()?;
            let place = std::ptr::from_ref(dictionary).addr();
            let known = tables.get(&place).copied().filter(|_| coded.shared());
            let among = if coded.shared() { self.len } else { places.len() };
            if known.is_some() || dictionary.len() + dictionary.contents().len() / 16 <= among.saturating_mul(2) {
                let table = known.or_else(|| views.table(dictionary)).ok_or_else(wrong)?;
                if coded.shared() {
                    tables.insert(place, table);
                }
                let mut codes = gather_codes(coded, decoder.len(), places, &mut self.cx)?;
                if codes.len() < count {
                    let mut all = vec![0; count];
                    wanted.put(&codes, &mut all)?;
                    codes = all;
                }
                let pushed = views.push_codes(table, &codes);
                if !coded.shared() {
                    views.forget_table();
                }
                return pushed.then_some(()).ok_or_else(|| no_code(&codes, dictionary.len()));
            }
        }
        let mut strings = Appended::default();
        strings.allow(block.string_bytes);
        let likely = block.string_bytes as u64 * count as u64 / block.len.max(1) as u64;
        strings.reserve((likely + likely / 8).min(LIKELY) as usize)?;
        gather_bytes(decoder.as_ref(), places, &mut self.cx, &mut strings)?;
        let (mut lengths, data) = strings.into_parts()?;
        if lengths.len() < count {
            let mut all = vec![0; count];
            wanted.put(&lengths, &mut all)?;
            lengths = all;
        }
        let data = Buffer::from(Bytes::from_owner(data));
        (lengths.len() == count && views.push_strings(&lengths, &data)).then_some(()).ok_or_else(wrong)
    }

    fn push_strings(&mut self, block: &Block<'_>) -> Result<()> {
        let data = self.data.as_mut().map(PoolBuf::as_mut_slice).unwrap_or_default();
        let end = self.data_at + block.string_bytes;
        let out = data.get_mut(self.data_at..end).ok_or_else(|| Error::corrupt("more bytes than declared"))?;
        let mut large = std::mem::take(&mut self.lengths);
        // Offsets as wide as lengths take these in their own place.
        let lengths = if self.leaf.large {
            large.resize(block.len.max(large.len()), 0);
            large.get_mut(..block.len)
        } else {
            let offsets = self.words.as_mut().map(PoolBuf::words_mut::<u32>).unwrap_or_default();
            offsets.get_mut(self.at + 1..=self.at + block.len)
        };
        let lengths = lengths.ok_or_else(|| Error::corrupt("more strings than declared"))?;
        let found = block.strings(&mut self.cx, lengths, out)?;
        if found != block.string_bytes {
            return Err(Error::corrupt(format!("strings of {} bytes expected, found {found}", block.string_bytes)));
        }
        let done = if self.leaf.large {
            self.push_offsets(large.get(..block.len).unwrap_or_default(), end)
        } else {
            self.lengths_to_offsets(block.len, end)
        };
        self.lengths = large;
        done
    }

    /// Appends offsets after strings of these lengths, which end at `end`.
    fn push_offsets(&mut self, lengths: &[u32], end: usize) -> Result<()> {
        let (places, count) = (self.at + 1..=self.at + lengths.len(), lengths.len());
        let words = self.words.as_mut();
        let missing = || Error::corrupt("more strings than declared");
        if !self.leaf.large {
            let offsets = words.map(PoolBuf::words_mut::<u32>).unwrap_or_default();
            offsets.get_mut(places).ok_or_else(missing)?.copy_from_slice(lengths);
            return self.lengths_to_offsets(count, end);
        }
        let offsets = words.map(PoolBuf::words_mut::<u64>).unwrap_or_default();
        let offsets = offsets.get_mut(places).ok_or_else(missing)?;
        let done = lengths_to_offsets_i64(self.data_at as i64, lengths, offsets);
        self.strings_end(done.map(i64::cast_unsigned), end)
    }

    /// The next `count` offsets, which are lengths as yet, after strings that end at `end`.
    fn lengths_to_offsets(&mut self, count: usize, end: usize) -> Result<()> {
        let offsets = self.words.as_mut().map(PoolBuf::words_mut::<u32>).unwrap_or_default();
        let lengths = offsets.get_mut(self.at + 1..=self.at + count).unwrap_or_default();
        let base = i32::try_from(self.data_at).ok();
        let done = base.and_then(|base| lengths_to_offsets_i32(base, lengths));
        self.strings_end(done.map(|end| end as u64), end)
    }

    fn strings_end(&mut self, found: Option<u64>, end: usize) -> Result<()> {
        if found != Some(end as u64) {
            return Err(Error::corrupt(format!("offsets that end at {end} expected, found {found:?}")));
        }
        self.data_at = end;
        Ok(())
    }

    /// The leaf.
    pub fn finish(self) -> Result<DecodedLeaf> {
        debug_assert_eq!(self.at, self.len);
        let buffer = |memory: Option<PoolBuf>| {
            memory.map_or_else(|| Buffer::from(&[][..]), |m| Buffer::from(Bytes::from_owner(m)))
        };
        let values = match self.leaf.ty {
            None => DecodedValues::Empty(self.len),
            Some(PhysicalType::Bits) => DecodedValues::Bits(self.bits),
            Some(PhysicalType::Bytes) => {
                if let Some((views, _)) = self.views {
                    DecodedValues::Views(views)
                } else {
                    let data = self.data.map_or_else(|| self.strings.into_data(), Ok)?;
                    let (large, offsets) = (self.leaf.large, buffer(self.words));
                    DecodedValues::Bytes { large, offsets, data: buffer(Some(data)) }
                }
            }
            Some(ty) => DecodedValues::Words(ty, buffer(self.words)),
        };
        Ok(DecodedLeaf { validity: self.validity, values })
    }
}
