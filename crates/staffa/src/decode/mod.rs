//! Decoders: opened nodes, ready to answer a vector of 1,024 values at a time.
//!
//! Decoding goes through the whole cascade one vector at a time (MonetDB/X100; Super-Scalar RAM-CPU
//! Cache Compression, section 3): a parent asks its child for the same 1,024 values into scratch
//! that stays in the L1 cache, and the root writes straight into the output.
//!
//! What an `open` has accepted may still turn out to lie when its vectors are looked at (a code
//! past the dictionary): decoding answers with an error then, never with memory that is not its
//! own.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod aggregate;
mod all;
mod block;
mod context;
pub(crate) mod filter;
mod lazy;
mod reference;
mod scratch;
mod selection;
mod shared_dictionary;
mod take;

pub(crate) use aggregate::{
    Aggregator, Needs, StringAggregator, aggregate_codes, aggregate_runs, aggregate_strings,
    aggregate_vectors, integer, sum_above, sum_of,
};
pub use all::{Entries, decode_all, decode_all_strings, decode_strings, strings_bytes, words};
pub(crate) use block::{Block, Wanted};
pub use context::{Budget, OpenContext, Opener, Registry};
pub(crate) use filter::{
    Bulk, Range, StringTest, filter_codes, filter_runs, filter_strings, filter_vectors,
};
pub(crate) use lazy::{
    Lazy, LazyStrings, LazyWords, few_strings, few_words, get_or_try_init, is_few_strings,
    is_few_words, strings_of,
};
pub(crate) use reference::{Codes, Words};
pub use reference::{ReferenceStream, Source, StreamOf};
pub use scratch::Scratch;
pub(crate) use selection::{ChunkSelection, Selection, is_dense};
pub use shared_dictionary::SharedDictionary;
use staffa_kernels::{BytesDict, Int, Packed, U256};
pub(crate) use take::{
    Appended, by_vector, many, many_wanted, memory, no_code, no_row, take_bytes, take_codes,
    take_each, take_strings, take_vectors, take_words,
};

use crate::error::Result;
use crate::values::{Bitmap, Physical};

/// Decodes words of type `T`.
pub trait Decoder<T>: Send + Sync {
    /// How many values there are.
    fn len(&self) -> usize;

    /// Values of vector `v` into `out`, which has exactly [`vector_len`] places.
    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()>;

    /// Values at `rows`, which ascend, into `out`, which has a place for each. By default the
    /// vectors that they are in are decoded; an encoding that can do better than that does.
    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()>
    where
        T: Copy + Default,
    {
        take_vectors(self, rows, cx, out)
    }

    /// Vector `v`, where it is a full one and nothing but packed bits.
    fn packed(&self, _: usize) -> Option<Packed<'_, T>> {
        None
    }

    /// Which values pass. By default they are decoded and compared; an encoding that can answer for
    /// many at once does.
    fn filter(&self, range: &Range<T>, cx: &mut Scratch) -> Result<Bitmap>
    where
        T: Integer,
    {
        filter_vectors(self, range, cx)
    }

    /// Hands out the values of some rows, or of all, to be made into something small. By default
    /// they are decoded; an encoding hands out what it has, if that is enough for what is wanted.
    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
        cx: &mut Scratch,
    ) -> Result<()>
    where
        T: Copy + Default,
    {
        aggregate_vectors(self, rows, into, cx)
    }
}

/// Decodes byte strings.
pub trait BytesDecoder: Send + Sync {
    /// How many strings there are.
    fn len(&self) -> usize;

    /// Bytes of all strings of vector `v`.
    fn vector_bytes(&self, v: usize, cx: &mut Scratch) -> Result<usize>;

    /// Strings of vector `v`, one after another, at the start of `out`, which may be written to
    /// beyond them; their lengths to `lengths`, which has exactly [`vector_len`] places. Returns
    /// the bytes they take.
    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize>;

    /// Strings at `rows`, which ascend, appended to `out`. By default the vectors that they are in
    /// are decoded.
    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        take_strings(self, rows, cx, out)
    }

    /// The distinct strings and their codes, where it has such.
    fn dictionary(&self) -> Option<&dyn DictionaryStrings> {
        None
    }

    /// The length of every string, where it is known without its content.
    fn lengths(&self) -> Option<&dyn Decoder<u32>> {
        None
    }

    /// Hands out some strings, or all, to be made into something small; all that there are have at
    /// most `most` bytes.
    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        most: usize,
        into: &mut dyn StringAggregator,
        cx: &mut Scratch,
    ) -> Result<()> {
        aggregate_strings(self, rows, most, into, cx)
    }

    /// Which strings pass; a vector has at most `most` bytes of them.
    fn filter(&self, test: &StringTest<'_>, most: usize, cx: &mut Scratch) -> Result<Bitmap> {
        filter_strings(self, test, most, cx)
    }
}

/// Strings by their codes in a dictionary.
pub trait DictionaryStrings {
    /// The dictionary.
    fn strings(&self) -> Result<&BytesDict>;

    /// Whether it is the chunk's, and not of this block alone.
    fn shared(&self) -> bool {
        false
    }

    /// Codes of vector `v` into `out`, which has exactly [`vector_len`] places.
    fn codes(&self, v: usize, cx: &mut Scratch, out: &mut [u32]) -> Result<()>;
}

/// Decodes bits, all at once: a block has 8 KB of them at most.
pub trait BitsDecoder: Send + Sync {
    /// All bits.
    fn bits(&self) -> Result<Bitmap>;
}

/// A decoder of any type.
pub enum AnyDecoder<'a> {
    /// Of bits.
    Bits(Box<dyn BitsDecoder + 'a>),
    /// Of 8-bit words.
    U8(Box<dyn Decoder<u8> + 'a>),
    /// Of 16-bit words.
    U16(Box<dyn Decoder<u16> + 'a>),
    /// Of 32-bit words.
    U32(Box<dyn Decoder<u32> + 'a>),
    /// Of 64-bit words.
    U64(Box<dyn Decoder<u64> + 'a>),
    /// Of 128-bit words.
    U128(Box<dyn Decoder<u128> + 'a>),
    /// Of 256-bit words.
    U256(Box<dyn Decoder<U256> + 'a>),
    /// Of byte strings.
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

/// Words with decoders, and the way between typed and untyped ones.
pub trait Decodable: Physical {
    /// The untyped decoder.
    fn wrap<'a>(decoder: Box<dyn Decoder<Self> + 'a>) -> AnyDecoder<'a>;
    /// The typed decoder, where it decodes to this type.
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
