//! Columns told by others: the values of another column, as a block that is encoded in terms of
//! them sees them.
//!
//! A flat column's block may be encoded in terms of the same block of one other flat column of its
//! row group, which itself is in terms of none. What it refers to is a *stream* of that block: its
//! values, or the first child of their root (the codes of a dictionary, the digits of ALP).
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::OnceLock;

use staffa_kernels::{PoolVec, VECTOR, filter};

use super::{
    Budget, Decodable, Decoder, Integer, OpenContext, Opener, Scratch, Selection, decode_all,
    get_or_try_init, no_row, words,
};
use crate::error::{Error, Result};
use crate::format::NodeRef;
use crate::format::block::Parsed;
use crate::values::{Bitmap, PhysicalType, Values, expand, for_ints};

/// Which stream of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamOf {
    /// Its values.
    Values = 0,
    /// The first child of the values' root.
    FirstChild = 1,
    /// Which rows are not NULL, as bits.
    Validity = 2,
}

impl StreamOf {
    /// By its byte on disk.
    pub fn from_byte(byte: u8) -> Result<Self> {
        match byte {
            0 => Ok(Self::Values),
            1 => Ok(Self::FirstChild),
            2 => Ok(Self::Validity),
            other => Err(Error::corrupt(format!(
                "stream 0, 1 or 2 of another column expected, found {other}"
            ))),
        }
    }

    /// The node of the stream in a block.
    fn node<'n, 'a>(self, root: &'n NodeRef<'a>) -> Result<&'n NodeRef<'a>> {
        match self {
            Self::Values => Ok(root),
            Self::FirstChild => root.child_of_same_length(0, "stream of another column"),
            Self::Validity => Err(Error::corrupt(
                "a stream of words of another column expected, found its validity",
            )),
        }
    }
}

/// A stream of another column as the writer has it: one word for every value to be encoded.
#[derive(Debug, Clone, Copy)]
pub struct ReferenceStream<'a> {
    /// Which it is.
    pub from: StreamOf,
    /// Its words.
    pub words: Values<'a>,
    /// How many times they are taken, where several make a sum.
    pub times: i64,
}

/// A stream, ready to be decoded: a word for every value of the asking block.
pub(crate) enum Words<'a, T> {
    /// Its values are those of the stream.
    Same(Box<dyn Decoder<T> + 'a>),
    /// One of them has no values for its NULLs.
    AlignedStream(Box<AlignedStream<'a, T>>),
}

impl<T: Decodable> Words<'_, T> {
    /// Words of vector `v`.
    pub(crate) fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        match self {
            Self::Same(decoder) => decoder.vector(v, cx, out),
            Self::AlignedStream(placed) => {
                let words = placed.all()?.get(v * VECTOR..).unwrap_or_default();
                out.iter_mut()
                    .zip(words)
                    .for_each(|(out, word)| *out = *word);
                Ok(())
            }
        }
    }

    /// Bytes that it holds, or may come to hold.
    pub(crate) fn held(&self) -> u64 {
        match self {
            Self::Same(_) => 0,
            Self::AlignedStream(placed) => (placed.rows * T::BYTES + placed.rows / 4) as u64,
        }
    }

    /// Words of vector `v`, as they are at hand or by way of `buffer`, which has a place for each.
    pub(crate) fn vector_in<'b>(
        &'b self,
        v: usize,
        cx: &mut Scratch,
        buffer: &'b mut [T],
    ) -> Result<&'b [T]> {
        match self {
            Self::Same(decoder) => {
                decoder.vector(v, cx, buffer)?;
                Ok(buffer)
            }
            Self::AlignedStream(placed) => {
                let words = placed.all()?.get(v * VECTOR..).unwrap_or_default();
                Ok(words.get(..buffer.len()).unwrap_or(words))
            }
        }
    }

    /// Words at `rows`, which ascend.
    pub(crate) fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        match self {
            Self::Same(decoder) => decoder.take(rows, cx, out),
            Self::AlignedStream(placed) => placed.take(rows, cx, out),
        }
    }
}

/// A stream whose values are not one for one those of the asking block; where the source is NULL
/// and has no value, the word is 0.
pub(crate) struct AlignedStream<'a, T> {
    /// The stream; `None` where the source is NULL everywhere.
    decoder: Option<Box<dyn Decoder<T> + 'a>>,
    /// Rows of both blocks.
    rows: usize,
    /// Of these rows, those for which the asking block has values.
    asking: Option<Bitmap>,
    /// Of these rows, those for which the source has values.
    present: Option<Bitmap>,
    /// The words of the asking block, once whole vectors are asked for.
    all: OnceLock<PoolVec<T>>,
}

impl<T: Decodable> AlignedStream<'_, T> {
    /// Values of the asking block.
    fn len(&self) -> usize {
        self.asking.as_ref().map_or(self.rows, Bitmap::count_ones)
    }

    fn all(&self) -> Result<&[T]> {
        get_or_try_init(&self.all, || self.decode()).map(|all| &**all)
    }

    fn decode(&self) -> Result<PoolVec<T>> {
        let Some(decoder) = &self.decoder else {
            let mut none = words::<T>(self.len())?;
            none.fill(T::default());
            return Ok(none);
        };
        let (mut all, mut cx) = (words::<T>(self.rows)?, Scratch::default());
        let found = all
            .get_mut(..decoder.len())
            .ok_or_else(|| unsupported_value(self.rows, decoder.len()))?;
        for (v, vector) in found.chunks_mut(VECTOR).enumerate() {
            decoder.vector(v, &mut cx, vector)?;
        }
        if let Some(present) = &self.present {
            expand(&mut all, decoder.len(), present)?;
        }
        let Some(asking) = &self.asking else {
            return Ok(all);
        };
        let mut asked = words::<T>(self.len())?;
        match filter(&all, asking.words(), &mut asked) {
            Some(count) if count == asked.len() => Ok(asked),
            _ => Err(unsupported_value(asked.len(), asking.len())),
        }
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
        let rows = match &self.asking {
            Some(asking) => asking
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
                    return Err(Error::corrupt("rows as bits"));
                };
                let found = out
                    .get_mut(..places.len())
                    .ok_or_else(|| unsupported_value(self.rows, places.len()))?;
                decoder.take(&places, cx, found)?;
                expand(out, places.len(), &rows.of(present))?;
            }
        }
        Ok(())
    }
}

/// Codes of any width: words less a base. A word below the base, or too far above it, becomes a
/// code beyond any group.
pub(crate) trait Codes: Send + Sync {
    /// Bytes that they hold, or may come to hold.
    fn held(&self) -> u64;

    /// Codes of vector `v`.
    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [u32]) -> Result<()>;

    /// Codes at `rows`, which ascend.
    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [u32]) -> Result<()>;
}

struct CodesOf<'a, T> {
    words: Words<'a, T>,
    base: u64,
}

impl<T: Integer> CodesOf<'_, T> {
    fn above(&self, words: &[T], out: &mut [u32]) {
        for (code, word) in out.iter_mut().zip(words) {
            *code = word.to_u64().wrapping_sub(self.base).min(u32::MAX.into()) as u32;
        }
    }
}

impl<T: Integer> Codes for CodesOf<'_, T> {
    fn held(&self) -> u64 {
        self.words.held()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [u32]) -> Result<()> {
        let mut buffer = [T::ZERO; VECTOR];
        let words = buffer.get_mut(..out.len()).unwrap_or_default();
        self.words.vector(v, cx, words)?;
        self.above(words, out);
        Ok(())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [u32]) -> Result<()> {
        let mut words = vec![T::ZERO; rows.len()];
        self.words.take(rows, cx, &mut words)?;
        self.above(&words, out);
        Ok(())
    }
}

/// Words that are as wide as codes are decoded in place.
struct CodesOfU32<'a> {
    words: Words<'a, u32>,
    base: u32,
}

impl Codes for CodesOfU32<'_> {
    fn held(&self) -> u64 {
        self.words.held()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [u32]) -> Result<()> {
        self.words.vector(v, cx, out)?;
        if self.base > 0 {
            out.iter_mut()
                .for_each(|code| *code = code.wrapping_sub(self.base));
        }
        Ok(())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [u32]) -> Result<()> {
        self.words.take(rows, cx, out)?;
        out.iter_mut()
            .for_each(|code| *code = code.wrapping_sub(self.base));
        Ok(())
    }
}

/// A block of another column, for the block of the same rows that is encoded in terms of it.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// What its streams are opened with.
    pub(crate) opener: Opener,
    /// The block.
    pub(crate) block: Parsed<'a>,
    /// The rows for which the asking block has values, where it has none for NULLs.
    pub(crate) rows: Option<Bitmap>,
}

fn unsupported_value(expected: usize, found: usize) -> Error {
    Error::corrupt(format!(
        "a stream of {expected} values expected, found {found}"
    ))
}

impl<'a> Source<'a> {
    /// The type of a stream; `None` where the block holds NULLs alone.
    pub(crate) fn physical_type(&self, from: StreamOf) -> Result<Option<PhysicalType>> {
        self.block
            .values
            .as_ref()
            .map(|root| Ok(from.node(root)?.ty))
            .transpose()
    }

    /// A stream for a decoder: a word for every value of the asking block, of which there are
    /// `len`.
    pub(crate) fn open<T: Decodable>(&self, from: StreamOf, len: usize) -> Result<Words<'a, T>> {
        let rows = self.block.len;
        let open = |root: &NodeRef<'a>| self.context(T::BYTES).open_words::<T>(from.node(root)?);
        let decoder = self.block.values.as_ref().map(open).transpose()?;
        let validity = self
            .block
            .validity
            .as_ref()
            .filter(|_| self.block.compacted);
        let (decoder, validity, asking) = match (decoder, validity, &self.rows) {
            (Some(decoder), None, None) if decoder.len() == len => return Ok(Words::Same(decoder)),
            others => others,
        };
        let present = validity
            .map(|node| self.context(1).open_bits(node)?.bits())
            .transpose()?;
        if let Some(decoder) = &decoder {
            let expected = present.as_ref().map_or(rows, Bitmap::count_ones);
            if decoder.len() != expected {
                return Err(unsupported_value(expected, decoder.len()));
            }
        }
        let placed = AlignedStream {
            decoder,
            rows,
            asking: asking.clone(),
            present,
            all: OnceLock::new(),
        };
        if placed.len() != len || asking.as_ref().is_some_and(|asking| asking.len() != rows) {
            return Err(unsupported_value(len, placed.len()));
        }
        Ok(Words::AlignedStream(Box::new(placed)))
    }

    /// All words of a stream, as [`open`](Self::open) has them.
    pub(crate) fn words<T: Decodable>(&self, from: StreamOf, len: usize) -> Result<PoolVec<T>> {
        match self.open::<T>(from, len)? {
            Words::Same(decoder) => decode_all(decoder.as_ref()),
            Words::AlignedStream(placed) => placed.decode(),
        }
    }

    /// As for any block; dictionaries of the whole chunk are not at hand.
    fn context(&self, width: usize) -> OpenContext<'a> {
        let plain = (width * self.block.len) as u64;
        let budget = Budget::for_block(plain, self.block.len);
        self.opener.context(budget, &[], Vec::new())
    }

    /// A stream of bits, one for every value of the asking block, of which there are `len`; 0 where
    /// the source is NULL and has no value for it.
    pub(crate) fn bits(&self, from: StreamOf, len: usize) -> Result<Bitmap> {
        let rows = self.block.len;
        let valid = match &self.block.validity {
            Some(node) => self.context(1).open_bits(node)?.bits()?,
            None => Bitmap::filled(rows, true),
        };
        let bits = match (from, &self.block.values) {
            (StreamOf::Validity, _) => valid,
            (_, None) => Bitmap::filled(rows, false),
            (_, Some(root)) => {
                let bits = self.context(1).open_bits(from.node(root)?)?.bits()?;
                if self.block.compacted {
                    bits.scattered(&valid)
                } else {
                    bits
                }
            }
        };
        let bits = match &self.rows {
            Some(wanted) => bits.gathered(wanted),
            None => bits,
        };
        if bits.len() != len {
            return Err(Error::corrupt(format!(
                "a stream of {len} bits expected, found {}",
                bits.len()
            )));
        }
        Ok(bits)
    }

    /// A stream as codes above a base.
    pub(crate) fn codes(
        &self,
        from: StreamOf,
        base: u64,
        len: usize,
    ) -> Result<Box<dyn Codes + 'a>> {
        let ty = self.physical_type(from)?.unwrap_or(PhysicalType::U32);
        if let (PhysicalType::U32, Ok(base)) = (ty, u32::try_from(base)) {
            return Ok(Box::new(CodesOfU32 {
                words: self.open(from, len)?,
                base,
            }));
        }
        for_ints!(ty, T => Ok(Box::new(CodesOf { words: self.open::<T>(from, len)?, base })),
            other => Err(Error::corrupt(format!("a stream of integers expected, found {other:?}"))))
    }
}
