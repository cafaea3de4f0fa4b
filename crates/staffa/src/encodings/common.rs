//! What most encodings need: nodes, matches over types, checked reads of payloads and buffers.

use std::ops::Range;

use staffa_kernels::{VECTOR, Word};

use crate::decode::{AnyDecoder, BitsDecoder, BytesDecoder, corrupt_if};
use crate::encode::Encoding;
use crate::error::{Error, Result};
use crate::format::{Cursor, Node, NodeRef};
use crate::values::{Bitmap, Kind, PhysicalType, Strings, Values};

/// The node of `values`, as [`Encoding::encode`] returns it.
#[allow(clippy::unnecessary_wraps, reason = "the type that `encode` returns")]
pub(super) fn node(
    encoding: &dyn Encoding,
    values: Values<'_>,
    payload: Vec<u8>,
    children: Vec<Node>,
) -> Result<Option<Node>> {
    let encoding = encoding.info().id;
    let (ty, len) = (values.physical_type(), values.len());
    Ok(Some(Node {
        encoding,
        ty,
        len,
        payload,
        children,
    }))
}

/// Matches [`Values`] of 8 to 64 bits, bound to `$words`; no node for other types.
macro_rules! encode_ints {
    ($values:expr, $words:ident => $body:expr) => {
        match $values {
            $crate::values::Values::U8($words) => $body,
            $crate::values::Values::U16($words) => $body,
            $crate::values::Values::U32($words) => $body,
            $crate::values::Values::U64($words) => $body,
            _ => Ok(None),
        }
    };
}
pub(super) use encode_ints;

/// Matches [`Values`] of 32 or 64 bits, bound to `$words`; no node for other types.
macro_rules! encode_floats {
    ($values:expr, $words:ident => $body:expr) => {
        match $values {
            $crate::values::Values::U32($words) => $body,
            $crate::values::Values::U64($words) => $body,
            _ => Ok(None),
        }
    };
}
pub(super) use encode_floats;

/// Runs `$body` with `$T` bound to a node's word of 8 to 64 bits; an error for other types.
macro_rules! open_ints {
    ($node:expr, $T:ident => $body:expr) => {
        $crate::values::for_ints!($node.ty, $T => $body, other => {
            Err($crate::error::Error::corrupt(format!("integers expected, found {other:?}")))
        })
    };
}
pub(super) use open_ints;

/// Runs `$body` with `$T` bound to a node's word of 32 or 64 bits; an error for other types.
macro_rules! open_floats {
    ($node:expr, $T:ident => $body:expr) => {
        match $node.ty {
            $crate::values::PhysicalType::U32 => {
                type $T = u32;
                $body
            }
            $crate::values::PhysicalType::U64 => {
                type $T = u64;
                $body
            }
            other => Err($crate::error::Error::corrupt(format!(
                "floats of 32 or 64 bits expected, found {other:?}"
            ))),
        }
    };
}
pub(super) use open_floats;

/// Whether values are words of at most 64 bits.
pub(super) fn fits_u64(ty: PhysicalType) -> bool {
    ty.width_bytes().is_some_and(|bytes| bytes <= 8)
}

/// Whether values are integers of at most 64 bits.
pub(super) fn is_integer(ty: PhysicalType, kind: Kind) -> bool {
    matches!(kind, Kind::Signed | Kind::Unsigned) && fits_u64(ty)
}

/// Whether values are floats of 32 or 64 bits.
pub(super) fn is_float(ty: PhysicalType, kind: Kind) -> bool {
    kind == Kind::Float && matches!(ty, PhysicalType::U32 | PhysicalType::U64)
}

/// The byte strings of an encoding that accepts nothing else.
pub(super) fn byte_strings(values: Values<'_>) -> Result<Strings<'_>> {
    match values {
        Values::Bytes(strings) => Ok(strings),
        _ => Err(Error::internal("byte strings expected")),
    }
}

/// The bits of an encoding that accepts nothing else.
pub(super) fn bits_of(values: Values<'_>) -> Result<&Bitmap> {
    match values {
        Values::Bits(bits) => Ok(bits),
        _ => Err(Error::internal("bits expected")),
    }
}

/// Refuses a node that does not decode to byte strings.
pub(super) fn expect_strings(node: &NodeRef<'_>) -> Result<()> {
    let found = node.ty;
    corrupt_if!(
        found != PhysicalType::Bytes,
        "byte strings expected, found {found:?}"
    );
    Ok(())
}

/// The decoder of byte strings, of any type.
#[allow(clippy::unnecessary_wraps, reason = "the type that `open` returns")]
pub(super) fn strings<'a>(decoder: impl BytesDecoder + 'a) -> Result<AnyDecoder<'a>> {
    Ok(AnyDecoder::Bytes(Box::new(decoder)))
}

/// Bits that are decoded when the node is opened.
impl BitsDecoder for Bitmap {
    fn bits(&self) -> Result<Bitmap> {
        Ok(self.clone())
    }
}

/// `23 exceptions`: the values of child `child`, for people.
pub(super) fn count_of(node: &NodeRef<'_>, child: usize, what: &str) -> String {
    node.children
        .get(child)
        .map_or_else(String::new, |child| format!("{} {what}", child.len))
}

/// `7 bits`: the first byte of the payload, for people.
pub(super) fn first_byte(node: &NodeRef<'_>, what: &str) -> String {
    node.payload
        .first()
        .map_or_else(String::new, |byte| format!("{byte} {what}"))
}

/// The next word of a payload.
pub(super) fn read_word<T: Word>(cursor: &mut Cursor<'_>) -> Result<T> {
    let word = T::read_le(cursor.bytes(T::BYTES)?);
    word.ok_or_else(|| Error::internal("a word of fewer bytes than it has"))
}

/// The next byte of a payload, 0 or 1.
pub(super) fn read_flag(cursor: &mut Cursor<'_>) -> Result<bool> {
    let flag = cursor.u8()?;
    corrupt_if!(flag > 1, "0 or 1 expected, found {flag}");
    Ok(flag == 1)
}

/// Little-endian number of at most 8 bytes.
pub(super) fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The start of a scratch buffer, as long as a vector.
pub(super) fn places<T>(buffer: &mut [T], len: usize) -> Result<&mut [T]> {
    let found = buffer.get_mut(..len);
    found.ok_or_else(|| {
        Error::internal(format!(
            "a vector of at most {VECTOR} values expected, found {len}"
        ))
    })
}

/// What is known of vector `v`.
pub(super) fn of_vector<T>(vectors: &[T], v: usize) -> Result<&T> {
    vectors.get(v).ok_or_else(|| no_vector(v, vectors.len()))
}

/// Where vector `v` starts and ends; `starts` has one entry more than there are vectors.
pub(super) fn span(starts: &[u32], v: usize) -> Result<Range<usize>> {
    match starts.get(v..v + 2) {
        Some(&[start, end]) => Ok(start as usize..end as usize),
        _ => Err(no_vector(v, starts.len().saturating_sub(1))),
    }
}

fn no_vector(v: usize, vectors: usize) -> Error {
    Error::internal(format!("a vector below {vectors} expected, found {v}"))
}

/// Bytes of a span that was checked when the node was opened.
pub(super) fn within(bytes: &[u8], span: Range<usize>) -> Result<&[u8]> {
    let Range { start, end } = span;
    let found = bytes.get(start..end);
    found.ok_or_else(|| {
        Error::internal(format!(
            "bytes {start} to {end} of {} expected",
            bytes.len()
        ))
    })
}

/// The entry of a byte in a table of all bytes.
#[allow(
    clippy::indexing_slicing,
    reason = "256 entries, and a byte is below 256"
)]
#[inline]
pub(super) fn entry<T>(table: &[T; 256], byte: u8) -> &T {
    &table[usize::from(byte)]
}

/// The entry of a byte in a table of all bytes.
#[allow(
    clippy::indexing_slicing,
    reason = "256 entries, and a byte is below 256"
)]
#[inline]
pub(super) fn entry_mut<T>(table: &mut [T; 256], byte: u8) -> &mut T {
    &mut table[usize::from(byte)]
}
