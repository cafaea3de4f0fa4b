//! Reference columns: the values of a column as a block of a derived column sees them.
//!
//! A block of a flat column may be derived from the blocks of the same rows of other flat columns of
//! its row group, which are not derived themselves. It refers to a *stream* of such a block by its
//! role: its values, the codes of their dictionary, their digits, or its validity. A stream is
//! *aligned* to the derived block when it has one word for each of its values.

use std::sync::OnceLock;

use staffa_kernels::{PoolVec, VECTOR, filter};

use super::all::decode_into;
use super::{
    Budget, Decodable, Decoder, Integer, OpenContext, Opener, Rows, Scratch, Selection, StreamOf,
    corrupt_if, decode_all, get_or_try_init, no_row, read_by_rows, vector_places, words,
};
use crate::error::{Error, Result};
use crate::format::NodeRef;
use crate::format::block::Parsed;
use crate::values::{Bitmap, PhysicalType, Values, expand, for_ints};

/// A stream of a reference column as the writer has it: one word for each value to be encoded.
#[derive(Debug, Clone, Copy)]
pub struct ReferenceStream<'a> {
    /// The position of the reference column among those of the chunk.
    pub column: u8,
    /// Which stream it is.
    pub from: StreamOf,
    /// Its words.
    pub words: Values<'a>,
    /// Its coefficient in a sum of several streams.
    pub coefficient: i64,
}

/// A stream, one word for each value of the derived block.
pub(crate) enum AlignedWords<'a, T> {
    /// The stream has these words as it is: both blocks have values for the same rows.
    Same(Box<dyn Decoder<T> + 'a>),
    /// The derived block or the reference block is compacted.
    Aligned(Box<AlignedStream<'a, T>>),
}

impl<T: Decodable> AlignedWords<'_, T> {
    /// Words of `rows`, borrowed where they are decoded, else decoded into `buffer`, which has a place
    /// for each.
    pub(crate) fn read<'b>(
        &'b self,
        rows: Rows<'_>,
        cx: &mut Scratch,
        buffer: &'b mut [T],
    ) -> Result<&'b [T]> {
        match (self, rows) {
            (Self::Same(decoder), _) => rows.decode(decoder.as_ref(), cx, buffer)?,
            (Self::Aligned(stream), Rows::Vector(v)) => return stream.vector(v, buffer.len()),
            (Self::Aligned(stream), Rows::At(rows)) => stream.take(rows, cx, buffer)?,
        }
        Ok(buffer)
    }
}

/// A stream whose words are not one for one those of the derived block: of a compacted block, or for
/// one. The word of a NULL without a value is 0.
pub(crate) struct AlignedStream<'a, T> {
    /// The stream; `None` where all rows of the reference block are NULL.
    decoder: Option<Box<dyn Decoder<T> + 'a>>,
    /// Rows of both blocks.
    rows: usize,
    /// The rows for which the derived block has values; `None` for all.
    derived: Option<Bitmap>,
    /// The rows for which the reference block has values; `None` for all.
    present: Option<Bitmap>,
    /// The words of all values of the derived block, decoded for the first whole vector.
    all: OnceLock<PoolVec<T>>,
}

impl<T: Decodable> AlignedStream<'_, T> {
    /// Number of values of the derived block.
    fn len(&self) -> usize {
        self.derived.as_ref().map_or(self.rows, Bitmap::count_ones)
    }

    fn all(&self) -> Result<&[T]> {
        get_or_try_init(&self.all, || self.decode()).map(|all| &**all)
    }

    /// The first `count` words of vector `v`.
    fn vector(&self, v: usize, count: usize) -> Result<&[T]> {
        let words = self.all()?.get(v * VECTOR..);
        words
            .and_then(|words| words.get(..count))
            .ok_or_else(|| no_row((v * VECTOR + count) as u32, self.len()))
    }

    /// Values of the reference block straight to those of the derived one: a row that only one of
    /// the blocks has is in neither buffer.
    fn decode(&self) -> Result<PoolVec<T>> {
        let mut aligned = words::<T>(self.len())?;
        let Some(decoder) = &self.decoder else {
            aligned.fill(T::default());
            return Ok(aligned);
        };
        let both = self.derived.as_ref().zip(self.present.as_ref());
        let both =
            both.map(|(derived, present)| (derived.gathered(present), present.gathered(derived)));
        let (wanted, found) = match &both {
            Some((wanted, found)) => (Some(wanted), Some(found)),
            None => (self.derived.as_ref(), self.present.as_ref()),
        };
        let count = decode_wanted(decoder.as_ref(), wanted, &mut aligned)?;
        match found {
            Some(found) => expand(&mut aligned, count, found)?,
            None if count != aligned.len() => return Err(other_len(aligned.len(), count)),
            None => {}
        }
        Ok(aligned)
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        if let Some(all) = self.all.get() {
            for (row, place) in rows.iter().zip(out) {
                *place = *all
                    .get(*row as usize)
                    .ok_or_else(|| no_row(*row, all.len()))?;
            }
            return Ok(());
        }
        let rows = match &self.derived {
            Some(derived) => derived
                .nth(rows)
                .ok_or_else(|| no_row(rows.last().copied().unwrap_or(0), self.rows))?,
            None => rows.to_vec(),
        };
        match (&self.decoder, &self.present) {
            (None, _) => out.fill(T::default()),
            (Some(decoder), None) => decoder.take(&rows, cx, out)?,
            (Some(decoder), Some(present)) => {
                let rows = Selection::List(rows);
                let Selection::List(places) = rows.among(present) else {
                    return Err(Error::internal("a list of rows became bits"));
                };
                let found = out
                    .get_mut(..places.len())
                    .ok_or_else(|| other_len(self.rows, places.len()))?;
                decoder.take(&places, cx, found)?;
                if places.len() < out.len() {
                    expand(out, places.len(), &rows.of(present))?;
                }
            }
        }
        Ok(())
    }
}

/// Decodes the values whose bit is set, or all, to the start of `out`; returns their number.
fn decode_wanted<T: Decodable>(
    decoder: &dyn Decoder<T>,
    wanted: Option<&Bitmap>,
    out: &mut [T],
) -> Result<usize> {
    let (len, room) = (decoder.len(), out.len());
    let too_many = || other_len(room, len);
    let mut cx = Scratch::default();
    let Some(wanted) = wanted.filter(|wanted| wanted.count_ones() < len) else {
        let out = out.get_mut(..len).ok_or_else(too_many)?;
        decode_into(decoder, &mut cx, out)?;
        return Ok(len);
    };
    let (mut buffer, mut at) = ([T::default(); VECTOR], 0);
    for v in 0..len.div_ceil(VECTOR) {
        let wanted = wanted.vector(v);
        if wanted.iter().all(|word| *word == 0) {
            continue;
        }
        let values = vector_places(&mut buffer, len, v)?;
        decoder.vector(v, &mut cx, values)?;
        let out = out.get_mut(at..).ok_or_else(too_many)?;
        at += filter(values, wanted, out).ok_or_else(too_many)?;
    }
    Ok(at)
}

/// An aligned stream as codes: words of any width less a base. A word below the base, or 2^32 or more
/// above it, becomes a code past any dictionary.
struct AlignedCodes<'a, T> {
    words: AlignedWords<'a, T>,
    base: u64,
    len: usize,
}

impl<T: Integer> AlignedCodes<'_, T> {
    fn read(&self, rows: Rows<'_>, cx: &mut Scratch, out: &mut [u32]) -> Result<()> {
        let above = |word: u64| word.wrapping_sub(self.base).min(u32::MAX.into()) as u32;
        cx.with(out.len(), |cx, buffer| {
            let words = self.words.read(rows, cx, buffer)?;
            let codes = out.iter_mut().zip(words);
            if T::BITS == 32 && self.base <= T::MAX.to_u64() {
                // Words as wide as codes wrap around to codes past any dictionary.
                let base = T::from_u64(self.base);
                codes.for_each(|(code, word)| *code = word.wrapping_sub(base).to_u64() as u32);
            } else {
                codes.for_each(|(code, word)| *code = above(word.to_u64()));
            }
            Ok(())
        })
    }
}

impl<T: Integer> Decoder<u32> for AlignedCodes<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    read_by_rows!(u32);
}

/// A block of a reference column, for the derived block of the same rows.
#[derive(Debug, Clone)]
pub struct ReferenceBlock<'a> {
    /// Opens its streams.
    pub(crate) opener: Opener,
    /// The block.
    pub(crate) block: Parsed<'a>,
    /// The rows for which the derived block has values, where it is compacted.
    pub(crate) rows: Option<Bitmap>,
}

fn other_len(expected: usize, found: usize) -> Error {
    Error::corrupt(format!(
        "a stream of {expected} values expected, found {found}"
    ))
}

impl<'a> ReferenceBlock<'a> {
    /// The type of a stream; `None` where the block holds NULLs alone.
    pub(crate) fn physical_type(&self, from: StreamOf) -> Result<Option<PhysicalType>> {
        self.block
            .values
            .as_ref()
            .map(|root| Ok(from.node(root, self.opener.registry)?.ty))
            .transpose()
    }

    /// Opens a stream of words for a derived block of `len` values.
    pub(crate) fn open<T: Decodable>(
        &self,
        from: StreamOf,
        len: usize,
        budget: &mut Budget,
    ) -> Result<AlignedWords<'a, T>> {
        let rows = self.block.len;
        // Its words are decoded for the derived block once more, if only a vector at a time.
        budget.take((rows * T::BYTES) as u64, "a stream of another column")?;
        let mut open = |root: &NodeRef<'a>| {
            let node = from.node(root, self.opener.registry)?;
            self.open_within(budget, |cx| cx.open_words::<T>(node))
        };
        let decoder = self.block.values.as_ref().map(&mut open).transpose()?;
        let validity = self
            .block
            .validity
            .as_ref()
            .filter(|_| self.block.compacted);
        let present = validity
            .map(|node| self.open_within(budget, |cx| cx.open_bits(node)?.bits()))
            .transpose()?;
        if let Some(decoder) = &decoder {
            let expected = present.as_ref().map_or(rows, Bitmap::count_ones);
            if decoder.len() != expected {
                return Err(other_len(expected, decoder.len()));
            }
        }
        let stream = AlignedStream {
            decoder,
            rows,
            derived: self.rows.clone(),
            present,
            all: OnceLock::new(),
        };
        let is_other = |derived: &Bitmap| derived.len() != rows;
        if stream.len() != len || stream.derived.as_ref().is_some_and(is_other) {
            return Err(other_len(len, stream.len()));
        }
        match stream.decoder {
            Some(decoder) if stream.derived == stream.present => Ok(AlignedWords::Same(decoder)),
            decoder => Ok(AlignedWords::Aligned(Box::new(AlignedStream {
                decoder,
                ..stream
            }))),
        }
    }

    /// All words of a stream of a block just written.
    pub(crate) fn words<T: Decodable>(&self, from: StreamOf, len: usize) -> Result<PoolVec<T>> {
        match self.open::<T>(from, len, &mut Budget::new(u64::MAX))? {
            AlignedWords::Same(decoder) => decode_all(decoder.as_ref()),
            AlignedWords::Aligned(stream) => stream.decode(),
        }
    }

    /// Opens nodes of the block within the budget of the derived one, without shared dictionaries:
    /// streams of values in these are not opened.
    fn open_within<R>(
        &self,
        budget: &mut Budget,
        open: impl FnOnce(&mut OpenContext<'a>) -> Result<R>,
    ) -> Result<R> {
        let own = std::mem::replace(budget, Budget::new(0));
        let mut cx = self.opener.context(own, &[], Vec::new());
        let opened = open(&mut cx);
        *budget = cx.budget;
        opened
    }

    /// A stream of bits for a derived block of `len` values; the bit of a NULL without a value is 0.
    pub(crate) fn bits(&self, from: StreamOf, len: usize, budget: &mut Budget) -> Result<Bitmap> {
        let rows = self.block.len;
        let valid = match &self.block.validity {
            Some(node) => self.open_within(budget, |cx| cx.open_bits(node)?.bits())?,
            None => Bitmap::filled(rows, true),
        };
        let bits = match (from, &self.block.values) {
            (StreamOf::Validity, _) => valid,
            (_, None) => Bitmap::filled(rows, false),
            (_, Some(root)) => {
                let node = from.node(root, self.opener.registry)?;
                let bits = self.open_within(budget, |cx| cx.open_bits(node)?.bits())?;
                if self.block.compacted {
                    bits.scattered(&valid)
                } else {
                    bits
                }
            }
        };
        let bits = match &self.rows {
            Some(rows) => bits.gathered(rows),
            None => bits,
        };
        corrupt_if!(
            bits.len() != len,
            "a stream of {len} bits expected, found {}",
            bits.len()
        );
        Ok(bits)
    }

    /// Opens a stream as codes above a base, for a derived block of `len` values.
    pub(crate) fn codes(
        &self,
        from: StreamOf,
        base: u64,
        len: usize,
        budget: &mut Budget,
    ) -> Result<Box<dyn Decoder<u32> + 'a>> {
        let ty = self.physical_type(from)?.unwrap_or(PhysicalType::U32);
        for_ints!(ty, T => {
            let words = self.open::<T>(from, len, budget)?;
            Ok(Box::new(AlignedCodes { words, base, len }))
        }, other => Err(Error::corrupt(format!("a stream of integers expected, found {other:?}"))))
    }
}
