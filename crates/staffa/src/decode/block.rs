//! Open blocks: the decoders of validity and values.

use std::borrow::Cow;

use staffa_kernels::{VECTOR, Word, copy_past_cache, fill_past_cache};

use super::all::decode_into;
use super::short::ShortWords;
use super::{
    AnyDecoder, Budget, Decodable, Decoder, Opener, ReferenceBlock, Scratch, Selection,
    SharedDictionary, check_places, corrupt_if, for_decoder, longer_than_declared, no_row, words,
};
use crate::error::{Error, Result};
use crate::format::block::Parsed;
use crate::values::{Bitmap, expand};

/// An open block.
pub(crate) struct Block<'a> {
    /// Number of rows, NULLs included.
    pub len: usize,
    /// Which rows are valid; `None` where all are.
    pub validity: Option<Bitmap>,
    /// Decoder of the values; `None` where all rows are NULL.
    pub values: Option<AnyDecoder<'a>>,
    /// Whether there are no values for NULLs.
    pub compacted: bool,
    /// Bytes of all strings.
    pub string_bytes: usize,
    /// Bytes that the decoders hold beside what they borrow.
    pub held: u64,
}

/// Checks what a block declares before anything is allocated for it: its bytes, the size of its trees,
/// the places of streams of other columns.
fn check(parsed: &Parsed<'_>, references: &[Parsed<'_>], opener: &Opener) -> Result<()> {
    let width = parsed.values.as_ref().and_then(|v| v.ty.width_bytes());
    let plain = (parsed.len as u64)
        .saturating_mul(width.unwrap_or(1) as u64)
        .saturating_add(parsed.string_bytes as u64);
    let most = opener.limits.block_bytes;
    if plain > most {
        return Err(Error::limit(format!(
            "a block of at most {most} bytes is allowed, found {plain}"
        )));
    }
    Parsed::check_trees(parsed, references)?;
    if references.is_empty() {
        return Ok(());
    }
    let mut trees = [&parsed.validity, &parsed.values].into_iter().flatten();
    trees.try_for_each(|root| check_places(root, opener.registry))
}

fn is_default<T: Word>(word: T) -> bool {
    word == T::default()
}

impl<'a> Block<'a> {
    /// Opens both trees; `references` are the blocks of the same rows of the reference columns.
    pub fn open(
        parsed: &Parsed<'a>,
        shared: &'a [SharedDictionary],
        references: &[Parsed<'a>],
        opener: &Opener,
    ) -> Result<Self> {
        check(parsed, references, opener)?;
        let all = std::iter::once(parsed).chain(references);
        let plain = all.map(Parsed::decoded_bytes).fold(0, u64::saturating_add);
        let budget = Budget::for_block(plain);
        let before = budget.left();
        let references = |rows: Option<&Bitmap>| {
            references
                .iter()
                .map(|block| ReferenceBlock {
                    opener: *opener,
                    block: block.clone(),
                    rows: rows.cloned(),
                })
                .collect()
        };
        let mut cx = opener.context(budget, shared, references(None));
        let validity = parsed
            .validity
            .as_ref()
            .map(|node| cx.open_bits(node)?.bits())
            .transpose()?;
        let valid = validity.as_ref().map_or(parsed.len, Bitmap::count_ones);
        let values = parsed.values.as_ref().map_or(0, |v| v.len);
        let is_other = parsed.compacted && values != valid;
        corrupt_if!(is_other, "{valid} values expected, as many as are valid");
        if let Some(rows) = validity.as_ref().filter(|_| parsed.compacted) {
            cx.references = references(Some(rows));
        }
        let values = parsed
            .values
            .as_ref()
            .map(|node| cx.open(node))
            .transpose()?;
        let (len, compacted, string_bytes) = (parsed.len, parsed.compacted, parsed.string_bytes);
        let held = before - cx.budget.left()
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

    /// Whether all values are zeros or empty strings, as far as that is known without decoding them: all rows
    /// are NULL, or one value is stored for all.
    pub fn is_zero(&self) -> Result<bool> {
        let Some(values) = &self.values else {
            return Ok(self.string_bytes == 0);
        };
        for_decoder!(values,
            words(words) => Ok(words.constant().is_some_and(is_default)),
            bits(_) => Ok(false),
            bytes(strings) => match strings.dictionary() {
                Some(codes) if self.string_bytes == 0 && codes.decoder().constant() == Some(0) => {
                    let strings = codes.strings()?;
                    Ok(!strings.is_empty() && strings.contents().is_empty())
                }
                _ => Ok(false),
            },
        )
    }

    /// Decodes decimals of 128 bits as words of 64 bits; `None` for other values.
    pub fn short(&self) -> Result<Option<Box<dyn Decoder<u64> + '_>>> {
        let Some(AnyDecoder::U128(wide)) = &self.values else {
            return Ok(None);
        };
        let words = || {
            let validity = self.validity.as_ref().filter(|_| !self.compacted);
            let wide = wide.as_ref();
            Box::new(ShortWords { wide, validity }) as _
        };
        Ok(Some(wide.short()?.unwrap_or_else(words)))
    }

    /// Decodes all words into `out`, which has a place for each row; words under NULLs are arbitrary.
    pub fn words<T: Decodable>(
        &self,
        decoder: &dyn Decoder<T>,
        cx: &mut Scratch,
        out: &mut [T],
    ) -> Result<()> {
        let count = decoder.len();
        let present = out.get_mut(..count).ok_or_else(|| self.too_many(count))?;
        decode_into(decoder, cx, present)?;
        if let Some(validity) = self.validity.as_ref().filter(|_| self.compacted) {
            expand(out, count, validity)?;
        }
        Ok(())
    }

    fn too_many(&self, count: usize) -> Error {
        let most = self.len;
        Error::corrupt(format!("at most {most} values expected, found {count}"))
    }

    /// As [`words`](Self::words), with stores that bypass the caches.
    pub fn words_past_cache<T: Decodable>(
        &self,
        decoder: &dyn Decoder<T>,
        cx: &mut Scratch,
        out: &mut [T],
    ) -> Result<()> {
        if self.compacted && self.validity.is_some() {
            // Expanded in the L2 cache first.
            let mut all = words::<T>(out.len())?;
            self.words(decoder, cx, &mut all)?;
            copy_past_cache(&all, out);
            return Ok(());
        }
        let count = decoder.len();
        let found = out.get_mut(..count).ok_or_else(|| self.too_many(count))?;
        fill_past_cache(found, |v, values| decoder.vector(v, cx, values))
    }

    /// Decodes all strings to the start of `out`, and the length of each, NULLs being empty. Returns
    /// the bytes of all strings.
    pub fn strings(&self, cx: &mut Scratch, lengths: &mut [u32], out: &mut [u8]) -> Result<usize> {
        let Some(AnyDecoder::Bytes(decoder)) = &self.values else {
            lengths.fill(0);
            return Ok(0);
        };
        let count = decoder.len();
        let present = lengths
            .get_mut(..count)
            .ok_or_else(|| self.too_many(count))?;
        let mut at = 0;
        for (v, vector) in present.chunks_mut(VECTOR).enumerate() {
            let out = out.get_mut(at..).ok_or_else(longer_than_declared)?;
            at += decoder.vector(v, cx, vector, out)?;
        }
        if let Some(validity) = self.validity.as_ref().filter(|_| self.compacted) {
            expand(lengths, count, validity)?;
        }
        Ok(at)
    }

    /// Which of the selected rows are valid; `None` where all rows are.
    pub fn validity_of(&self, rows: &Selection) -> Result<Option<Bitmap>> {
        if rows.end() > self.len {
            return Err(no_row(rows.end() as u32 - 1, self.len));
        }
        Ok(self.validity.as_ref().map(|all| rows.of(all)))
    }

    /// The values of the selected rows.
    pub fn selected<'r>(&self, rows: &'r Selection) -> Result<SelectedValues<'r>> {
        let validity = self.validity_of(rows)?;
        let places = match self.validity.as_ref().filter(|_| self.compacted) {
            Some(all) => Cow::Owned(rows.among(all)),
            None => Cow::Borrowed(rows),
        };
        Ok(SelectedValues { places, validity })
    }

    /// Which values the selected rows have, or all rows; `None` for all values.
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

    /// All bits; those of NULLs are 0.
    pub fn bits(&self) -> Result<Bitmap> {
        let Some(AnyDecoder::Bits(decoder)) = &self.values else {
            return Ok(Bitmap::filled(self.len, false));
        };
        Ok(self.of_rows(decoder.bits()?))
    }

    /// Bits of the values as bits of the rows; those of NULLs are 0.
    pub fn of_rows(&self, bits: Bitmap) -> Bitmap {
        match &self.validity {
            None => bits,
            Some(validity) if self.compacted => bits.scattered(validity),
            Some(validity) => bits.and(validity),
        }
    }
}

/// The values of selected rows of a block.
pub(crate) struct SelectedValues<'r> {
    /// Their places among the values of the block; a compacted block has none for NULLs.
    pub places: Cow<'r, Selection>,
    /// Which of the selected rows are valid; `None` where all are.
    pub validity: Option<Bitmap>,
}

impl SelectedValues<'_> {
    /// Copies the values of the places to the places of their rows.
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

    /// Words of the places as words of the `count` selected rows; 0 for NULLs.
    pub fn of_rows(&self, found: Vec<u32>, count: usize) -> Result<Vec<u32>> {
        if found.len() == count {
            return Ok(found);
        }
        let mut all = vec![0; count];
        self.put(&found, &mut all)?;
        Ok(all)
    }
}
