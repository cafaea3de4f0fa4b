//! Decoders: opened nodes, which decode vectors of 1,024 values.
//!
//! A vector goes through the whole cascade at once (MonetDB/X100; Super-Scalar RAM-CPU Cache
//! Compression, section 3): a parent decodes the same 1,024 values of its child into scratch that
//! stays in the L1 cache, and the root writes into the output.
//!
//! A node that `open` accepts may still be corrupt (a code past the end of the dictionary): decoding
//! it gives an error, never memory that is not its own.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod aggregate;
mod all;
mod appended;
mod block;
mod context;
mod filter;
mod lazy;
mod reference;
mod scratch;
mod selection;
mod set;
mod shared_dictionary;
mod short;
mod stream;
mod string_vector;
mod take;

pub(crate) use aggregate::{
    Aggregator, Needs, StringAggregator, aggregate_codes, aggregate_strings, aggregate_vectors,
    integer, sum_above, sum_of,
};
pub use all::{Entries, decode_all, decode_all_strings, decode_strings, strings_bytes, words};
pub(crate) use appended::{Appended, memory};
pub(crate) use block::{Block, SelectedValues};
pub use context::{Budget, OpenContext, Opener, Registry};
pub(crate) use filter::{
    Bulk, Range, StringTest, WordTest, bits_by_vector, filter_codes, filter_runs, filter_strings,
    filter_vectors,
};
pub(crate) use lazy::{
    Lazy, LazyStrings, LazyWords, get_or_try_init, read_unsorted_strings, take_unsorted,
};
pub(crate) use reference::AlignedWords;
pub use reference::{ReferenceBlock, ReferenceStream};
pub use scratch::Scratch;
pub(crate) use scratch::vector_places;
pub(crate) use selection::{ChunkSelection, Selection, prefers_bitmap, prefers_bitmap_of_strings};
pub(crate) use set::WordSet;
pub use shared_dictionary::SharedDictionary;
pub(crate) use short::short_words;
use staffa_kernels::{BytesDict, Int, Packed, U256, ViewStrings, Word, filter};
pub use stream::StreamOf;
pub(crate) use stream::check_places;
pub(crate) use string_vector::{
    StringVector, check_bytes, longer_than_declared, read_string_vector, spans,
};
pub(crate) use take::{
    by_vector, many, many_of, no_code, no_row, take_bytes, take_codes, take_each, take_strings,
    take_vectors, take_words,
};

use crate::error::{Error, Result};
use crate::values::{Bitmap, Physical, vector_len};

/// Returns [`Error::corrupt`](crate::error::Error::corrupt) with a message where something is wrong.
macro_rules! corrupt_if {
    ($wrong:expr, $($message:tt)*) => {
        if $wrong {
            return Err($crate::error::Error::corrupt(format!($($message)*)));
        }
    };
}
pub(crate) use corrupt_if;

/// Which values are decoded.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'r> {
    /// Those of a vector.
    Vector(usize),
    /// Those at some rows, which ascend.
    At(&'r [u32]),
}

impl Rows<'_> {
    /// Decodes these values of a decoder into `out`, which has a place for each.
    pub fn decode<T: Word>(
        self,
        decoder: &(impl Decoder<T> + ?Sized),
        cx: &mut Scratch,
        out: &mut [T],
    ) -> Result<()> {
        match self {
            Self::Vector(v) => decoder.vector(v, cx, out),
            Self::At(rows) => decoder.take(rows, cx, out),
        }
    }
}

/// [`Decoder::vector`] and [`Decoder::take`] by the decoder's own `read`, which takes [`Rows`]: for
/// values that follow from the values of children at the same rows.
macro_rules! read_by_rows {
    ($T:ty) => {
        fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [$T]) -> Result<()> {
            self.read($crate::decode::Rows::Vector(v), cx, out)
        }

        fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [$T]) -> Result<()> {
            self.read($crate::decode::Rows::At(rows), cx, out)
        }
    };
}
pub(crate) use read_by_rows;

/// The values of runs, and the rows at which these end.
pub type Runs<'a, T> = (&'a [T], &'a [u32]);

/// Decodes words of type `T`.
///
/// Every method answers a corrupt node with an error: [`open`](Registry::open) need not have seen
/// all of it. Rows are numbers of values, NULLs left out where the block is compacted.
pub trait Decoder<T>: Send + Sync {
    /// Number of values.
    fn len(&self) -> usize;

    /// Decodes vector `v` into `out`, which has [`vector_len`] places.
    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()>;

    /// Decodes the values at `rows` into `out`, which has a place for each; rows ascend, and one
    /// past the end is an error. By default the vectors of the rows are decoded.
    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()>
    where
        T: Word,
    {
        take_vectors(self, rows, cx, out)
    }

    /// Decodes the values of vector `v` whose bit is set into `out`, which has a place for each; bits
    /// past the last value count for none, and any other number of places is an error. `room` has
    /// [`vector_len`] places, for values of every width. By default the vector is decoded, then
    /// filtered; an encoding need not look at the values of other rows.
    fn selected(
        &self,
        v: usize,
        bits: &[u64],
        cx: &mut Scratch,
        room: &mut [T],
        out: &mut [T],
    ) -> Result<()>
    where
        T: Word,
    {
        self.vector(v, cx, room)?;
        match filter(room, bits, out) {
            Some(count) if count == out.len() => Ok(()),
            _ => Err(Error::corrupt(format!(
                "{} selected rows of vector {v} expected, found others: it has {} values",
                out.len(),
                room.len()
            ))),
        }
    }

    /// Vector `v` as packed bits, where it is full and nothing else is to be done to it.
    fn packed(&self, _v: usize) -> Option<Packed<'_, T>> {
        None
    }

    /// The same values as words of 64 bits, where they are stored so.
    fn short(&self) -> Result<Option<Box<dyn Decoder<u64> + '_>>> {
        Ok(None)
    }

    /// The value of all rows, where they are stored as one.
    fn constant(&self) -> Option<T> {
        None
    }

    /// All values as runs, where they are stored so.
    fn runs(&self) -> Result<Option<Runs<'_, T>>> {
        Ok(None)
    }

    /// Which values pass: a bit for each. By default all vectors are decoded and
    /// compared.
    fn filter(&self, test: &WordTest<T>, cx: &mut Scratch) -> Result<Bitmap>
    where
        T: Integer,
    {
        filter_vectors(self, test, cx)
    }

    /// Hands the selected values, or all, to an aggregator; `rows` has a bit for each value. By
    /// default vectors are decoded; an encoding hands out what it has (runs, entries, sums) where
    /// that is what the aggregator [needs](Aggregator::needs).
    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
        cx: &mut Scratch,
    ) -> Result<()>
    where
        T: Word,
    {
        aggregate_vectors(self, rows, into, cx)
    }
}

impl<T, D: Decoder<T> + ?Sized> Decoder<T> for &D {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        (**self).vector(v, cx, out)
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()>
    where
        T: Word,
    {
        (**self).take(rows, cx, out)
    }

    fn selected(
        &self,
        v: usize,
        bits: &[u64],
        cx: &mut Scratch,
        room: &mut [T],
        out: &mut [T],
    ) -> Result<()>
    where
        T: Word,
    {
        (**self).selected(v, bits, cx, room, out)
    }

    fn packed(&self, v: usize) -> Option<Packed<'_, T>> {
        (**self).packed(v)
    }

    fn short(&self) -> Result<Option<Box<dyn Decoder<u64> + '_>>> {
        (**self).short()
    }

    fn constant(&self) -> Option<T> {
        (**self).constant()
    }

    fn runs(&self) -> Result<Option<Runs<'_, T>>> {
        (**self).runs()
    }

    fn filter(&self, test: &WordTest<T>, cx: &mut Scratch) -> Result<Bitmap>
    where
        T: Integer,
    {
        (**self).filter(test, cx)
    }

    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
        cx: &mut Scratch,
    ) -> Result<()>
    where
        T: Word,
    {
        (**self).aggregate(rows, into, cx)
    }
}

/// Decodes byte strings; errors and rows as of [`Decoder`].
///
/// `max_bytes` is what the block declares for all its strings: a decoder that finds more has a
/// corrupt node.
pub trait BytesDecoder: Send + Sync {
    /// Number of strings.
    fn len(&self) -> usize;

    /// Bytes of all strings of vector `v`.
    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize>;

    /// At least the bytes of all strings of vector `v`, where these are not known unless the vector is decoded.
    fn vector_room(&self, v: usize, cx: &mut Scratch) -> Result<usize> {
        self.vector_bytes(v, cx)
    }

    /// Decodes the strings of vector `v`, one after another, to the start of `out`, which has
    /// room for [their bytes](Self::vector_bytes) or more; bytes behind them may be overwritten.
    /// The length of each string goes to `lengths`, which has [`vector_len`] places. Returns the
    /// bytes of all strings.
    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize>;

    /// Whether decoding all of vector `v` costs less than taking `rows` of its strings.
    fn is_dense(&self, v: usize, rows: usize) -> bool {
        prefers_bitmap_of_strings(rows, vector_len(self.len(), v))
    }

    /// Appends the strings of vector `v` as views where these hold them and are made without the strings
    /// before; else `false`, with nothing appended.
    fn push_views(&self, _v: usize, _: &mut Scratch, _: &mut ViewStrings<'_, '_>) -> Result<bool> {
        Ok(false)
    }

    /// Appends the strings at `rows`, which ascend; a row past the end is an error. By default the
    /// vectors of the rows are decoded.
    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        take_strings(self, rows, cx, out)
    }

    /// The strings as entries of a dictionary and a code for each row, where they are stored so.
    fn dictionary(&self) -> Option<&dyn DictionaryStrings> {
        None
    }

    /// The length of every string, where it is stored apart from the content.
    fn lengths(&self) -> Option<&dyn Decoder<u32>> {
        None
    }

    /// Hands the selected strings, or all, to an aggregator; `rows` has a bit for each string. By
    /// default the entries of the dictionary, or the strings of decoded vectors.
    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        max_bytes: usize,
        into: &mut dyn StringAggregator,
        cx: &mut Scratch,
    ) -> Result<()> {
        aggregate_strings(self, rows, max_bytes, into, cx)
    }

    /// Which strings pass: a bit for each. By default all vectors are decoded and tested.
    fn filter(&self, test: &StringTest<'_>, max_bytes: usize, cx: &mut Scratch) -> Result<Bitmap> {
        filter_strings(self, test, max_bytes, cx)
    }
}

/// Strings stored as entries of a dictionary and codes.
pub trait DictionaryStrings {
    /// The entries, decoded on first use.
    fn strings(&self) -> Result<&BytesDict>;

    /// Whether the dictionary is shared by the blocks of a column chunk.
    fn shared(&self) -> bool {
        false
    }

    /// The code of every row. A code may be past the end of the entries: whoever looks it up checks
    /// that.
    fn decoder(&self) -> &dyn Decoder<u32>;

    /// Decodes the codes of vector `v` into `out`, which has [`vector_len`] places.
    fn codes(&self, v: usize, cx: &mut Scratch, out: &mut [u32]) -> Result<()> {
        self.decoder().vector(v, cx, out)
    }
}

/// Decodes bits, all at once: a block has 8 KB of them at most.
pub trait BitsDecoder: Send + Sync {
    /// All bits.
    fn bits(&self) -> Result<Bitmap>;
}

/// A decoder of any physical type.
pub enum AnyDecoder<'a> {
    /// Bits.
    Bits(Box<dyn BitsDecoder + 'a>),
    /// 8-bit words.
    U8(Box<dyn Decoder<u8> + 'a>),
    /// 16-bit words.
    U16(Box<dyn Decoder<u16> + 'a>),
    /// 32-bit words.
    U32(Box<dyn Decoder<u32> + 'a>),
    /// 64-bit words.
    U64(Box<dyn Decoder<u64> + 'a>),
    /// 128-bit words.
    U128(Box<dyn Decoder<u128> + 'a>),
    /// 256-bit words.
    U256(Box<dyn Decoder<U256> + 'a>),
    /// Byte strings.
    Bytes(Box<dyn BytesDecoder + 'a>),
}

/// Matches [`AnyDecoder`]: one arm for words of every width, one for bits, one for byte strings.
macro_rules! for_decoder {
    ($decoder:expr, words($w:pat) => $words:expr, bits($b:pat) => $bits:expr, bytes($s:pat) => $bytes:expr $(,)?) => {
        match $decoder {
            $crate::decode::AnyDecoder::U8($w) => $words,
            $crate::decode::AnyDecoder::U16($w) => $words,
            $crate::decode::AnyDecoder::U32($w) => $words,
            $crate::decode::AnyDecoder::U64($w) => $words,
            $crate::decode::AnyDecoder::U128($w) => $words,
            $crate::decode::AnyDecoder::U256($w) => $words,
            $crate::decode::AnyDecoder::Bits($b) => $bits,
            $crate::decode::AnyDecoder::Bytes($s) => $bytes,
        }
    };
}
pub(crate) use for_decoder;

/// Words that have decoders, and the way between typed and untyped decoders.
pub trait Decodable: Physical {
    /// The untyped decoder.
    fn wrap<'a>(decoder: Box<dyn Decoder<Self> + 'a>) -> AnyDecoder<'a>;
    /// The typed decoder; `None` where it decodes to another type.
    fn unwrap(decoder: AnyDecoder<'_>) -> Option<Box<dyn Decoder<Self> + '_>>;
    /// The typed decoder, borrowed.
    fn peek<'b, 'a>(decoder: &'b AnyDecoder<'a>) -> Option<&'b (dyn Decoder<Self> + 'a)>;
}

macro_rules! decodable {
    ($($ty:ident => $variant:ident),*) => {$(
        impl Decodable for $ty {
            fn wrap<'a>(decoder: Box<dyn Decoder<Self> + 'a>) -> AnyDecoder<'a> {
                AnyDecoder::$variant(decoder)
            }
            fn unwrap(decoder: AnyDecoder<'_>) -> Option<Box<dyn Decoder<Self> + '_>> {
                if let AnyDecoder::$variant(decoder) = decoder { Some(decoder) } else { None }
            }
            fn peek<'b, 'a>(decoder: &'b AnyDecoder<'a>) -> Option<&'b (dyn Decoder<Self> + 'a)> {
                if let AnyDecoder::$variant(decoder) = decoder { Some(decoder.as_ref()) } else { None }
            }
        }
    )*};
}
decodable!(u8 => U8, u16 => U16, u32 => U32, u64 => U64, u128 => U128, U256 => U256);

/// Words that arithmetic encodings work on: 8 to 64 bits.
pub trait Integer: Decodable + Int {}

impl<T: Decodable + Int> Integer for T {}
