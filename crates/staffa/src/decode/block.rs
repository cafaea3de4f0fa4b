//! Blocks ready to be decoded: the trees of validity and values, opened.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::borrow::Cow;

use staffa_kernels::{VECTOR, Word, fill_past_cache};

use super::{
    AnyDecoder, Budget, Decodable, Decoder, Opener, Scratch, Selection, SharedDictionary, Source,
    no_row, words,
};
use crate::error::{Error, Result};
use crate::format::block::Parsed;
use crate::values::{Bitmap, expand};

/// A block, ready to be decoded.
pub(crate) struct Block<'a> {
    /// How many values, NULLs included.
    pub len: usize,
    /// Where some are NULL.
    pub validity: Option<Bitmap>,
    /// Of the values; `None` where there are none but NULLs.
    pub values: Option<AnyDecoder<'a>>,
    /// Whether there is no value for a NULL.
    pub compacted: bool,
    /// Bytes of all strings.
    pub string_bytes: usize,
    /// Bytes that the decoders hold beside what they borrow.
    pub held: u64,
}

impl<'a> Block<'a> {
    /// Opens both trees.
    ///
    /// `sources` are the blocks of the same rows of the columns in terms of which this one is.
    pub fn open(
        parsed: &Parsed<'a>,
        shared: &'a [SharedDictionary],
        sources: &[Parsed<'a>],
        opener: &Opener,
    ) -> Result<Self> {
        let width = parsed
            .values
            .as_ref()
            .and_then(|v| v.ty.width_bytes())
            .unwrap_or(1);
        let plain = (parsed.len * width + parsed.string_bytes) as u64;
        if plain > opener.limits.block_bytes {
            return Err(Error::limit(format!(
                "a block of at most {} bytes is allowed, found {plain}",
                opener.limits.block_bytes
            )));
        }
        let budget = Budget::for_block(plain, parsed.len);
        let most = budget.left();
        let told = |rows: Option<&Bitmap>| {
            sources
                .iter()
                .map(|block| Source {
                    opener: *opener,
                    block: block.clone(),
                    rows: rows.cloned(),
                })
                .collect()
        };
        let mut cx = opener.context(budget, shared, told(None));
        let validity = parsed
            .validity
            .as_ref()
            .map(|node| cx.open_bits(node)?.bits())
            .transpose()?;
        let valid = validity.as_ref().map_or(parsed.len, Bitmap::count_ones);
        if parsed.compacted && parsed.values.as_ref().map_or(0, |v| v.len) != valid {
            return Err(Error::corrupt(format!(
                "{valid} values expected, as many as are valid"
            )));
        }
        if let Some(rows) = validity.as_ref().filter(|_| parsed.compacted) {
            cx.sources = told(Some(rows));
        }
        let values = parsed
            .values
            .as_ref()
            .map(|node| cx.open(node))
            .transpose()?;
        let (len, compacted, string_bytes) = (parsed.len, parsed.compacted, parsed.string_bytes);
        let held = most - cx.budget.left()
            + cx.budget.beside()
            + validity.as_ref().map_or(0, |v| v.words().len() as u64 * 8);
        Ok(Self {
            len,
            validity,
            values,
            compacted,
            string_bytes,
            held,
        })
    }

    /// All words into `out`, which has a place for every value; those under a NULL mean nothing.
    pub fn words<T: Decodable>(
        &self,
        decoder: &dyn Decoder<T>,
        cx: &mut Scratch,
        out: &mut [T],
    ) -> Result<()> {
        let count = decoder.len();
        let Some(present) = out.get_mut(..count) else {
            return Err(Error::corrupt(format!(
                "at most {} values expected, found {count}",
                self.len
            )));
        };
        for (v, vector) in present.chunks_mut(VECTOR).enumerate() {
            decoder.vector(v, cx, vector)?;
        }
        if let Some(validity) = self.validity.as_ref().filter(|_| self.compacted) {
            expand(out, count, validity)?;
        }
        Ok(())
    }

    /// As [`words`](Self::words), past the caches.
    pub fn words_past_cache<T: Decodable>(
        &self,
        decoder: &dyn Decoder<T>,
        cx: &mut Scratch,
        out: &mut [T],
    ) -> Result<()> {
        if self.compacted && self.validity.is_some() {
            // Put apart in the L2 cache.
            let mut all = words::<T>(out.len())?;
            self.words(decoder, cx, &mut all)?;
            return fill_past_cache(out, |v, values| {
                let from = all.get(v * VECTOR..v * VECTOR + values.len());
                values.copy_from_slice(
                    from.ok_or_else(|| Error::corrupt(format!("vector {v} is not there")))?,
                );
                Ok(())
            });
        }
        let found = out.get_mut(..decoder.len());
        let found = found.ok_or_else(|| {
            Error::corrupt(format!(
                "{} values expected, found {}",
                self.len,
                decoder.len()
            ))
        })?;
        fill_past_cache(found, |v, values| decoder.vector(v, cx, values))
    }

    /// All strings at the start of `out`, and the length of each, NULLs being empty. Returns the
    /// bytes they take.
    pub fn strings(&self, cx: &mut Scratch, lengths: &mut [u32], out: &mut [u8]) -> Result<usize> {
        let Some(AnyDecoder::Bytes(decoder)) = &self.values else {
            lengths.fill(0);
            return Ok(0);
        };
        let count = decoder.len();
        let Some(present) = lengths.get_mut(..count) else {
            return Err(Error::corrupt(format!(
                "at most {} values expected, found {count}",
                self.len
            )));
        };
        let mut at = 0;
        for (v, vector) in present.chunks_mut(VECTOR).enumerate() {
            at += decoder.vector(v, cx, vector, out.get_mut(at..).unwrap_or_default())?;
        }
        if let Some(validity) = self.validity.as_ref().filter(|_| self.compacted) {
            expand(lengths, count, validity)?;
        }
        Ok(at)
    }

    /// Where the values of `rows` are to be found.
    pub fn wanted<'r>(&self, rows: &'r Selection) -> Result<Wanted<'r>> {
        if rows.end() > self.len {
            return Err(no_row(rows.end() as u32 - 1, self.len));
        }
        let validity = self.validity.as_ref().map(|all| rows.of(all));
        let places = match self.validity.as_ref().filter(|_| self.compacted) {
            Some(all) => Cow::Owned(rows.among(all)),
            None => Cow::Borrowed(rows),
        };
        Ok(Wanted { places, validity })
    }

    /// Which of the values some rows have, or all; `None` where all values are wanted.
    pub fn values_of<'r>(&'r self, rows: Option<&'r Bitmap>) -> Option<Cow<'r, Bitmap>> {
        match (rows, &self.validity) {
            (None, None) => None,
            (None, Some(validity)) => (!self.compacted).then_some(Cow::Borrowed(validity)),
            (Some(rows), None) => Some(Cow::Borrowed(rows)),
            (Some(rows), Some(validity)) if self.compacted => {
                Some(Cow::Owned(rows.gathered(validity)))
            }
            (Some(rows), Some(validity)) => Some(Cow::Owned(rows.and(validity))),
        }
    }

    /// All bits, those under a NULL being 0.
    pub fn bits(&self) -> Result<Bitmap> {
        let Some(AnyDecoder::Bits(decoder)) = &self.values else {
            return Ok(Bitmap::filled(self.len, false));
        };
        Ok(self.of_rows(decoder.bits()?))
    }

    /// Bits of the values as bits of the rows, those under a NULL being 0.
    pub fn of_rows(&self, bits: Bitmap) -> Bitmap {
        match &self.validity {
            None => bits,
            Some(validity) if self.compacted => bits.scattered(validity),
            Some(validity) => bits.and(validity),
        }
    }
}

/// Some rows of a block.
pub(crate) struct Wanted<'r> {
    /// Where their values stand among those of the block; where it has none for NULLs, those of the
    /// others.
    pub places: Cow<'r, Selection>,
    /// Which of the rows are not NULL.
    pub validity: Option<Bitmap>,
}

impl Wanted<'_> {
    /// Puts the values of the places to their rows.
    pub fn put<T: Word>(&self, values: &[T], out: &mut [T]) -> Result<()> {
        if values.len() == out.len() {
            out.copy_from_slice(values);
            return Ok(());
        }
        let present = out.get_mut(..values.len()).zip(self.validity.as_ref());
        let (present, validity) = present.ok_or_else(|| Error::corrupt("more values than rows"))?;
        present.copy_from_slice(values);
        expand(out, values.len(), validity)
    }

    /// Words of the places as words of all `count` rows.
    pub fn of_rows(&self, found: Vec<u32>, count: usize) -> Result<Vec<u32>> {
        if found.len() == count {
            return Ok(found);
        }
        let mut all = vec![0; count];
        self.put(&found, &mut all)?;
        Ok(all)
    }
}
