//! Frame of reference with exceptions: each vector of 1,024 values has its own base and its own
//! width, and values that need more bits are exceptions (PFOR: Super-Scalar RAM-CPU Cache
//! Compression, section 3.1).
//!
//! ```text
//! payload = base: word | base bytes: u8 | exception bytes: u8, 128 more where they are zigzag
//!         | per vector: width u8
//!         | per vector: its base above `base`, in `base bytes` bytes
//!         | if exception bytes > 0, per vector: exceptions u16
//!         | exceptions: position in the vector u16 each, then value above the vector's base, `exception bytes` each
//!         | packed vectors, as in bitpack
//! ```
//!
//! Exceptions are patched after a branch-free loop over the vector. The base of a vector is its
//! least value. Where hardly any value lies in the lower half of the frame, the base is the least
//! value of the upper half, and exceptions lie below the base as well.

mod decode;
mod frame;

use decode::Frames;
use frame::{Frame, exception_bytes};

use super::packed::pack_vector;
use super::prelude::*;
use crate::values::for_ints;

/// Set in the exception bytes where exceptions may lie below the base.
const SIGNED: u8 = 128;

/// See the [module](self).
pub struct FrameOfReference;

impl Encoding for FrameOfReference {
    fn info(&self) -> &Info {
        &Info {
            id: 3,
            name: "frame_of_reference",
            about: "integers above a base, bit-packed, base and width per 1,024 values, outliers as exceptions",
            decode_picos: 120,
            bits: crate::encode::Bits::Same,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        kind != Kind::Float && fits_u64(ty)
    }

    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        encode_ints!(values, words => Ok(Some(size(words, stats.kind(), chooser.vector_rows()))))
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        encode_ints!(values, words => {
            let payload = if chooser.is_trial() {
                vec![0; size(words, stats.kind(), chooser.vector_rows())]
            } else {
                encode(words, stats.kind())
            };
            node(self, values, payload, vec![])
        })
    }

    fn open<'a>(&self, node: &NodeRef<'a>, _: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(0)?;
        open_ints!(node, T => Ok(T::wrap(Box::new(Frames::<T>::open(node)?))))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        let detail = for_ints!(node.ty, T => Frames::<T>::open(node).map(|frames| frames.detail()),
            _ => return String::new());
        detail.unwrap_or_default()
    }
}

/// Bytes of the payload, exactly. In a trial, where vectors are shorter, a vector has its share of
/// the bytes that one of 1,024 rows needs.
pub(super) fn size<T: Integer>(values: &[T], kind: Kind, vector_rows: usize) -> usize {
    let frames: Vec<Frame<T>> = values
        .chunks(vector_rows)
        .map(|v| Frame::of(v, kind))
        .collect();
    let header = Header::of(&frames, kind);
    let rows = values.chunks(vector_rows).map(<[T]>::len);
    let packed: usize = rows
        .zip(&frames)
        .map(|(rows, f)| (rows * f.width as usize).div_ceil(8))
        .sum();
    let exceptions: usize = frames.iter().map(|f| f.exceptions).sum();
    let per_vector = 1 + header.base_bytes + if exceptions > 0 { 2 } else { 0 };
    let (vectors, fixed) = if vector_rows == VECTOR {
        (values.len().next_multiple_of(VECTOR), T::BYTES + 2)
    } else {
        (values.len(), 0)
    };
    fixed + vectors * per_vector / VECTOR + exceptions * (2 + header.exception_bytes) + packed
}

/// What all vectors have in common.
struct Header<T> {
    base: T,
    base_bytes: usize,
    exception_bytes: usize,
    /// Whether exceptions may lie below their base.
    signed: bool,
}

impl<T: Integer> Header<T> {
    fn of(frames: &[Frame<T>], kind: Kind) -> Self {
        let lesser = |a: T, b: T| if is_less(b, a, kind) { b } else { a };
        let base = frames
            .iter()
            .map(|f| f.base)
            .reduce(lesser)
            .unwrap_or(T::ZERO);
        let above = frames
            .iter()
            .map(|f| f.base.wrapping_sub(base))
            .max()
            .unwrap_or(T::ZERO);
        let some = || frames.iter().filter(|f| f.exceptions > 0);
        let bits = some().map(|f| f.bits.max(f.low_bits)).max().unwrap_or(0);
        let signed = some().any(|f| f.low_bits > 0);
        let base_bytes = (T::BITS - above.leading_zeros()).div_ceil(8) as usize;
        Self {
            base,
            base_bytes,
            exception_bytes: exception_bytes::<T>(bits, signed),
            signed,
        }
    }
}

fn is_less<T: Integer>(a: T, b: T, kind: Kind) -> bool {
    if kind == Kind::Signed {
        a.signed_lt(b)
    } else {
        a < b
    }
}

fn encode<T: Integer>(values: &[T], kind: Kind) -> Vec<u8> {
    let frames: Vec<Frame<T>> = values.chunks(VECTOR).map(|v| Frame::of(v, kind)).collect();
    let vectors = || frames.iter().zip(values.chunks(VECTOR));
    let Header {
        base,
        base_bytes,
        exception_bytes,
        signed,
    } = Header::of(&frames, kind);
    let mut out = Vec::new();
    base.write_le(&mut out);
    out.extend([
        base_bytes as u8,
        exception_bytes as u8 | if signed { SIGNED } else { 0 },
    ]);
    out.extend(frames.iter().map(|f| f.width as u8));
    let put = |out: &mut Vec<u8>, value: T, bytes: usize| {
        out.extend(value.to_u64().to_le_bytes().iter().take(bytes));
    };
    frames
        .iter()
        .for_each(|f| put(&mut out, f.base.wrapping_sub(base), base_bytes));
    if exception_bytes > 0 {
        frames
            .iter()
            .for_each(|f| out.extend((f.exceptions as u16).to_le_bytes()));
        let mut above = Vec::new();
        for (frame, vector) in vectors().filter(|(f, _)| f.exceptions > 0) {
            for (i, v) in (0u16..).zip(vector) {
                let value = v.wrapping_sub(frame.base);
                if T::BITS - value.leading_zeros() > frame.width {
                    out.extend(i.to_le_bytes());
                    let value = if signed { value.zigzag() } else { value };
                    put(&mut above, value, exception_bytes);
                }
            }
        }
        out.extend(above);
    }
    let mut low = Vec::with_capacity(VECTOR);
    for (frame, vector) in vectors() {
        low.clear();
        low.extend(vector.iter().map(|v| v.wrapping_sub(frame.base)));
        pack_vector(&low, frame.width, &mut out);
    }
    out
}

crate::conformance!(FrameOfReference);
