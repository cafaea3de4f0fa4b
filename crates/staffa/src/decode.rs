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

use std::borrow::Borrow;
use std::ops::Deref;

use staffa_kernels::{BytesDict, BytesDictBuilder, Int, Packed, PoolVec, U256, VECTOR, Word};

use crate::bitmap::Bitmap;
use crate::encoding;
use crate::error::{Error, Result};
use crate::fold::{Fold, FoldStrings, fold_strings, fold_vectors};
use crate::gather::{Appended, gather_strings, gather_vectors};
use crate::node::NodeRef;
use crate::select::{Range, StringTest, select_strings, select_vectors};
use crate::shared::SharedPart;
use crate::source::Source;
use crate::values::{PhysicalType, Values};

/// Decodes words of type `T`.
pub trait Decoder<T>: Send + Sync {
    /// How many values there are.
    fn len(&self) -> usize;

    /// Values of vector `v` into `out`, which has exactly [`vector_len`] places.
    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()>;

    /// Values at `rows`, which ascend, into `out`, which has a place for each. By default the
    /// vectors that they are in are decoded; an encoding that can do better than that does.
    fn gather(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()>
    where
        T: Copy + Default,
    {
        gather_vectors(self, rows, cx, out)
    }

    /// Vector `v`, where it is a full one and nothing but packed bits.
    fn packed(&self, _: usize) -> Option<Packed<'_, T>> {
        None
    }

    /// Which values pass. By default they are decoded and compared; an encoding that can answer for
    /// many at once does.
    fn select(&self, range: &Range<T>, cx: &mut Scratch) -> Result<Bitmap>
    where
        T: Integer,
    {
        select_vectors(self, range, cx)
    }

    /// Hands out the values of some rows, or of all, to be made into something small. By default
    /// they are decoded; an encoding hands out what it has, if that is enough for what is wanted.
    fn fold(&self, rows: Option<&Bitmap>, into: &mut dyn Fold<T>, cx: &mut Scratch) -> Result<()>
    where
        T: Copy + Default,
    {
        fold_vectors(self, rows, into, cx)
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
    fn gather(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        gather_strings(self, rows, cx, out)
    }

    /// The distinct strings and their codes, where it has such.
    fn coded(&self) -> Option<&dyn CodedStrings> {
        None
    }

    /// The length of every string, where it is known without its content.
    fn lengths(&self) -> Option<&dyn Decoder<u32>> {
        None
    }

    /// Hands out some strings, or all, to be made into something small; all that there are have at
    /// most `most` bytes.
    fn fold(
        &self,
        rows: Option<&Bitmap>,
        most: usize,
        into: &mut dyn FoldStrings,
        cx: &mut Scratch,
    ) -> Result<()> {
        fold_strings(self, rows, most, into, cx)
    }

    /// Which strings pass; a vector has at most `most` bytes of them.
    fn select(&self, test: &StringTest<'_>, most: usize, cx: &mut Scratch) -> Result<Bitmap> {
        select_strings(self, test, most, cx)
    }
}

/// Strings by their codes in a dictionary.
pub trait CodedStrings {
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

/// Rows in vector `v` of `len` values.
pub fn vector_len(len: usize, v: usize) -> usize {
    len.saturating_sub(v.saturating_mul(VECTOR)).min(VECTOR)
}

/// Words that a column can hold, and the way between the typed and the untyped shapes.
pub trait Physical: Word {
    /// The type's name on disk.
    const TYPE: PhysicalType;
    /// The untyped slice.
    fn values(slice: &[Self]) -> Values<'_>;
    /// The typed slice, where the values have this type.
    fn slice(values: Values<'_>) -> Option<&[Self]>;
    /// The untyped decoder.
    fn wrap<'a>(decoder: Box<dyn Decoder<Self> + 'a>) -> AnyDecoder<'a>;
    /// The typed decoder, where it decodes to this type.
    fn unwrap(decoder: AnyDecoder<'_>) -> Option<Box<dyn Decoder<Self> + '_>>;
    /// The typed decoder, borrowed.
    fn peek<'b, 'a>(decoder: &'b AnyDecoder<'a>) -> Option<&'b (dyn Decoder<Self> + 'a)>;
}

macro_rules! physical {
    ($($ty:ident => $variant:ident),*) => {$(
        impl Physical for $ty {
            const TYPE: PhysicalType = PhysicalType::$variant;
            fn values(slice: &[Self]) -> Values<'_> {
                Values::$variant(slice)
            }
            fn slice(values: Values<'_>) -> Option<&[Self]> {
                if let Values::$variant(slice) = values { Some(slice) } else { None }
            }
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
physical!(u8 => U8, u16 => U16, u32 => U32, u64 => U64, u128 => U128, U256 => U256);

/// Words that arithmetic encodings work on: 8 to 64 bits.
pub trait Integer: Physical + Int {}
impl<T: Physical + Int> Integer for T {}

/// Runs `$body` with `$T` bound to the word type of `$ty`, or `$other` for bits and byte strings.
macro_rules! for_words {
    ($ty:expr, $T:ident => $body:expr, $other_ty:pat => $other:expr) => {
        match $ty {
            $crate::values::PhysicalType::U8 => {
                type $T = u8;
                $body
            }
            $crate::values::PhysicalType::U16 => {
                type $T = u16;
                $body
            }
            $crate::values::PhysicalType::U32 => {
                type $T = u32;
                $body
            }
            $crate::values::PhysicalType::U64 => {
                type $T = u64;
                $body
            }
            $crate::values::PhysicalType::U128 => {
                type $T = u128;
                $body
            }
            $crate::values::PhysicalType::U256 => {
                type $T = staffa_kernels::U256;
                $body
            }
            $other_ty => $other,
        }
    };
}
pub(crate) use for_words;

/// Runs `$body` with `$T` bound to the integer type of `$ty`, or `$other` where arithmetic has no
/// meaning.
macro_rules! for_ints {
    ($ty:expr, $T:ident => $body:expr, $other_ty:pat => $other:expr) => {
        match $ty {
            $crate::values::PhysicalType::U8 => {
                type $T = u8;
                $body
            }
            $crate::values::PhysicalType::U16 => {
                type $T = u16;
                $body
            }
            $crate::values::PhysicalType::U32 => {
                type $T = u32;
                $body
            }
            $crate::values::PhysicalType::U64 => {
                type $T = u64;
                $body
            }
            $other_ty => $other,
        }
    };
}
pub(crate) use for_ints;

/// Buffers of one vector that decoders borrow and give back, so that a scan allocates none.
#[derive(Debug, Default)]
pub struct Scratch {
    u32s: Vec<Vec<u32>>,
    u64s: Vec<Vec<u64>>,
    bytes: Vec<Vec<u8>>,
}

impl Scratch {
    /// A buffer of one vector of 32-bit words with arbitrary content.
    pub fn take_u32(&mut self) -> Vec<u32> {
        self.u32s.pop().unwrap_or_else(|| vec![0; VECTOR])
    }

    /// Gives a buffer back.
    pub fn give_u32(&mut self, buffer: Vec<u32>) {
        self.u32s.push(buffer);
    }

    /// A buffer of one vector of 64-bit words with arbitrary content.
    pub fn take_u64(&mut self) -> Vec<u64> {
        self.u64s.pop().unwrap_or_else(|| vec![0; VECTOR])
    }

    /// Gives a buffer back.
    pub fn give_u64(&mut self, buffer: Vec<u64>) {
        self.u64s.push(buffer);
    }

    /// A buffer of so many bytes with arbitrary content: strings of one vector.
    pub fn take_bytes(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self.bytes.pop().unwrap_or_default();
        buffer.resize(len, 0);
        buffer
    }

    /// Gives a buffer back.
    pub fn give_bytes(&mut self, buffer: Vec<u8>) {
        self.bytes.push(buffer);
    }
}

/// The memory that decoders of one block may hold beside their output.
#[derive(Debug)]
pub struct Budget {
    left: u64,
    beside: u64,
}

impl Budget {
    /// So many bytes.
    pub fn new(bytes: u64) -> Self {
        Self {
            left: bytes,
            beside: 0,
        }
    }

    /// What is left of it.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// What may be held beside it, for other columns.
    pub fn beside(&self) -> u64 {
        self.beside
    }

    /// Counts what may be held for another column, which the size of that bounds.
    pub fn count_beside(&mut self, bytes: u64) {
        self.beside = self.beside.saturating_add(bytes);
    }

    /// Takes `bytes` out of the budget, before they are allocated.
    pub fn take(&mut self, bytes: u64, what: &str) -> Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| {
            Error::limit(format!(
                "{what}: {bytes} bytes needed, {} left of what the block declares",
                self.left
            ))
        })?;
        Ok(())
    }
}

/// Values that are the chunk's, or a block's own.
pub enum Entries<'a, B: ?Sized, O> {
    /// Of a shared part.
    Shared(&'a B),
    /// Decoded when the block was opened.
    Own(O),
}

impl<B: ?Sized, O: Borrow<B>> Deref for Entries<'_, B, O> {
    type Target = B;
    fn deref(&self) -> &B {
        match self {
            Self::Shared(values) => values,
            Self::Own(values) => values.borrow(),
        }
    }
}

/// What an encoding's `open` is given beside its node.
pub struct OpenContext<'a> {
    /// Memory for what must be decoded at open.
    pub budget: Budget,
    /// The chunk's shared parts.
    pub shared: &'a [SharedPart],
    /// The same rows of the columns in terms of which this one is.
    pub sources: Vec<Source<'a>>,
}

impl<'a> OpenContext<'a> {
    /// A column in terms of which this one is.
    pub fn source(&self, i: usize) -> Result<&Source<'a>> {
        let named = self.sources.len();
        let missing = || {
            Error::corrupt(format!(
                "in terms of other column {i}, but the column index names {named}"
            ))
        };
        self.sources.get(i).ok_or_else(missing)
    }

    /// A shared part of the chunk.
    pub fn shared_part(&self, i: usize) -> Result<&'a SharedPart> {
        let missing = || {
            Error::corrupt(format!(
                "shared part {i} is not there, the chunk has {}",
                self.shared.len()
            ))
        };
        self.shared.get(i).ok_or_else(missing)
    }

    /// A decoder of `T` for a node.
    pub fn open_words<T: Physical>(
        &mut self,
        node: &NodeRef<'a>,
    ) -> Result<Box<dyn Decoder<T> + 'a>> {
        let found = node.ty;
        T::unwrap(self.open(node)?).ok_or_else(|| {
            Error::corrupt(format!("values of {:?} expected, found {found:?}", T::TYPE))
        })
    }

    /// A decoder of byte strings for a node.
    pub fn open_bytes(&mut self, node: &NodeRef<'a>) -> Result<Box<dyn BytesDecoder + 'a>> {
        match self.open(node)? {
            AnyDecoder::Bytes(decoder) => Ok(decoder),
            _ => Err(Error::corrupt(format!(
                "byte strings expected, found {:?}",
                node.ty
            ))),
        }
    }

    /// A decoder of bits for a node.
    pub fn open_bits(&mut self, node: &NodeRef<'a>) -> Result<Box<dyn BitsDecoder + 'a>> {
        match self.open(node)? {
            AnyDecoder::Bits(decoder) => Ok(decoder),
            _ => Err(Error::corrupt(format!(
                "bits expected, found {:?}",
                node.ty
            ))),
        }
    }

    /// A decoder for a node, by the one list of encodings.
    pub fn open(&mut self, node: &NodeRef<'a>) -> Result<AnyDecoder<'a>> {
        let encoding = encoding::by_id(node.encoding).ok_or_else(|| {
            Error::unsupported(format!(
                "encoding {} is not known to this release",
                node.encoding
            ))
        })?;
        encoding
            .open(node, self)
            .map_err(|e| e.within(encoding.name()))
    }

    /// All values of a node, where an encoding needs them at hand.
    pub fn all_words<T: Physical>(&mut self, node: &NodeRef<'a>, what: &str) -> Result<PoolVec<T>> {
        self.budget.take((node.len * T::BYTES) as u64, what)?;
        let decoder = self.open_words::<T>(node)?;
        decode_all(decoder.as_ref())
    }

    /// All strings of a node, where an encoding needs them at hand.
    pub fn all_strings(&mut self, node: &NodeRef<'a>, what: &str) -> Result<BytesDict> {
        let decoder = self.open_bytes(node)?;
        decode_all_strings(decoder.as_ref(), &mut self.budget, what)
    }
}

/// Memory for so many words, out of the pool; they hold anything.
pub fn words<T: Word>(len: usize) -> Result<PoolVec<T>> {
    PoolVec::new(len)
        .ok_or_else(|| Error::limit(format!("no memory for {len} values of {} bytes", T::BYTES)))
}

/// All values of a decoder.
pub fn decode_all<T: Physical>(decoder: &dyn Decoder<T>) -> Result<PoolVec<T>> {
    let mut out = words(decoder.len())?;
    let mut cx = Scratch::default();
    for (v, chunk) in out.chunks_mut(VECTOR).enumerate() {
        decoder.vector(v, &mut cx, chunk)?;
    }
    Ok(out)
}

/// Bytes of all strings of a decoder, with which there is room for these in the budget.
pub fn strings_bytes(decoder: &dyn BytesDecoder, budget: &mut Budget, what: &str) -> Result<usize> {
    let (mut cx, len) = (Scratch::default(), decoder.len());
    budget.take(len as u64 * 8, what)?;
    let mut total = 0u64;
    for v in 0..len.div_ceil(VECTOR) {
        total += decoder.vector_bytes(v, &mut cx)? as u64;
        if total > u64::from(u32::MAX) {
            return Err(Error::limit(format!("{what}: strings of more than 4 GiB")));
        }
    }
    budget.take(total, what)?;
    Ok(total as usize)
}

/// All strings of a decoder.
pub fn decode_all_strings(
    decoder: &dyn BytesDecoder,
    budget: &mut Budget,
    what: &str,
) -> Result<BytesDict> {
    decode_strings(decoder, strings_bytes(decoder, budget, what)?, what)
}

/// All strings of a decoder, which take so many bytes.
pub fn decode_strings(decoder: &dyn BytesDecoder, bytes: usize, what: &str) -> Result<BytesDict> {
    let (mut cx, len) = (Scratch::default(), decoder.len());
    let all = BytesDictBuilder::new(len, bytes);
    let mut all =
        all.ok_or_else(|| Error::limit(format!("{what}: no memory for {bytes} bytes")))?;
    let mut lengths = cx.take_u32();
    for v in 0..len.div_ceil(VECTOR) {
        let lengths = lengths.get_mut(..vector_len(len, v)).unwrap_or_default();
        let written = decoder.vector(v, &mut cx, lengths, all.room())?;
        if staffa_kernels::sum_u32(lengths) != written as u64 || !all.push(lengths) {
            return Err(Error::corrupt(format!(
                "{what}: strings of {bytes} bytes expected, found {written} more"
            )));
        }
    }
    all.finish().ok_or_else(|| {
        Error::corrupt(format!(
            "{what}: strings of {bytes} bytes expected, found fewer"
        ))
    })
}
