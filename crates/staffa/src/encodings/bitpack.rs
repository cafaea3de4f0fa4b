//! Bit packing: every value in the same number of bits, vectors interleaved as in FastLanes.
//!
//! ```text
//! payload = width: u8 | full vectors: 128 * width bytes each | tail: ceil(rows * width / 8) bytes
//! ```
//!
//! The layout of a full vector is that of [`staffa_kernels::bitpack`]; the tail (fewer than 1,024
//! values) is a plain little-endian bit string, so that ten values do not cost a whole vector.
//! Frame of reference is the same with a base and a width per vector; this node costs one byte
//! beside the bits.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{
    Packed, VECTOR, pack, pack_tail, packed_bytes, tail_bytes, unpack, unpack_one, unpack_one_tail,
    unpack_tail,
};

use crate::decode::{
    Aggregator, AnyDecoder, Decodable, Decoder, Integer, Needs, OpenContext, Scratch,
    aggregate_vectors, sum_above, take_each,
};
use crate::encode::{Chooser, Encoding, Info, PointAccess, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{Bitmap, Kind, Physical, PhysicalType, Values, for_ints, vector_len};

/// See the [module](self).
pub struct BitPack;

impl Encoding for BitPack {
    fn info(&self) -> &Info {
        &Info {
            id: 2,
            name: "bitpack",
            about: "unsigned integers in as many bits as the largest needs",
            point_access: PointAccess::Value,
            decode_picos: 100,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        kind != Kind::Float && ty.width_bytes().is_some_and(|bytes| bytes <= 8)
    }

    fn estimate(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        _: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        for_ints!(values.physical_type(), T => {
            let values = T::slice(values).unwrap_or_default();
            Ok(Some(8 + packed_len(values.len(), width_of(values))))
        }, _ => Ok(None))
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        for_ints!(values.physical_type(), T => {
            let words = T::slice(values).unwrap_or_default();
            let width = width_of(words);
            if chooser.is_trial() {
                let payload = vec![0; (words.len() * width as usize).div_ceil(8)];
                return Ok(Some(Node { encoding: 2, ty: T::TYPE, len: words.len(), payload, children: vec![] }));
            }
            let mut payload = Vec::with_capacity(1 + packed_len(words.len(), width));
            payload.push(width as u8);
            for vector in words.chunks(VECTOR) {
                pack_vector(vector, width, &mut payload);
            }
            Ok(Some(Node { encoding: 2, ty: T::TYPE, len: words.len(), payload, children: vec![] }))
        }, _ => Ok(None))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, _: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(0)?;
        for_ints!(node.ty, T => {
            let mut cursor = node.cursor();
            let width = u32::from(cursor.u8()?);
            if width > T::BITS {
                return Err(Error::corrupt(format!("width of at most {} bits expected, found {width}", T::BITS)));
            }
            let packed = cursor.bytes(packed_len(node.len, width))?;
            cursor.finish("packed values")?;
            Ok(T::wrap(Box::new(Bits { packed, width, len: node.len })))
        }, other => Err(Error::corrupt(format!("integers expected, found {other:?}"))))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        node.payload
            .first()
            .map(|width| format!("{width} bits"))
            .unwrap_or_default()
    }
}

/// Bits that the largest value needs.
fn width_of<T: Integer>(values: &[T]) -> u32 {
    let all = values.iter().fold(0, |all, v| all | v.to_u64());
    64 - all.leading_zeros()
}

/// Bytes of `len` values of `width` bits.
fn packed_len(len: usize, width: u32) -> usize {
    len / VECTOR * packed_bytes(width) + tail_bytes(len % VECTOR, width)
}

/// Appends one vector, full or the tail.
pub(crate) fn pack_vector<T: Integer>(vector: &[T], width: u32, out: &mut Vec<u8>) {
    if vector.len() == VECTOR {
        pack(vector, width, out);
    } else {
        pack_tail(vector, width, out);
    }
}

/// Unpacks one vector, full or the tail, and adds `base`.
pub(crate) fn unpack_vector<T: Integer>(
    packed: &[u8],
    width: u32,
    base: T,
    out: &mut [T],
) -> Result<()> {
    let done = if out.len() == VECTOR {
        unpack(packed, width, base, out)
    } else {
        unpack_tail(packed, width, base, out)
    };
    if !done {
        return Err(Error::corrupt(format!(
            "{} bytes do not hold {} values of {width} bits",
            packed.len(),
            out.len()
        )));
    }
    Ok(())
}

/// Value `i` of a packed vector of `rows` values.
pub(crate) fn unpack_value<T: Integer>(
    packed: &[u8],
    width: u32,
    rows: usize,
    i: usize,
) -> Option<T> {
    if rows == VECTOR {
        unpack_one(packed, width, i)
    } else {
        unpack_one_tail(packed, width, i)
    }
}

/// Bytes of one vector of `len` values.
pub(crate) fn vector_bytes(len: usize, width: u32) -> usize {
    if len == VECTOR {
        packed_bytes(width)
    } else {
        tail_bytes(len, width)
    }
}

struct Bits<'a> {
    packed: &'a [u8],
    width: u32,
    len: usize,
}

impl<T: Integer> Decoder<T> for Bits<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        let start = v * packed_bytes(self.width);
        let packed = self
            .packed
            .get(start..start + vector_bytes(out.len(), self.width))
            .unwrap_or_default();
        unpack_vector(packed, self.width, T::ZERO, out)
    }

    fn packed(&self, v: usize) -> Option<Packed<'_, T>> {
        let bytes = packed_bytes(self.width);
        let packed = self
            .packed
            .get(v * bytes..(v + 1) * bytes)
            .filter(|_| vector_len(self.len, v) == VECTOR)?;
        Some(Packed {
            packed,
            width: self.width,
            base: T::ZERO,
        })
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        take_each(self, rows, cx, out, |v, i| {
            let (start, rows) = (v * packed_bytes(self.width), vector_len(self.len, v));
            unpack_value(
                self.packed
                    .get(start..start + vector_bytes(rows, self.width))?,
                self.width,
                rows,
                i,
            )
        })
    }

    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
        cx: &mut Scratch,
    ) -> Result<()> {
        let (Needs::Sum(kind), None) = (into.needs(), rows) else {
            return aggregate_vectors(self, rows, into, cx);
        };
        let mut buffer = [T::ZERO; VECTOR];
        for v in 0..self.len.div_ceil(VECTOR) {
            let (n, start) = (vector_len(self.len, v), v * packed_bytes(self.width));
            let packed = self
                .packed
                .get(start..start + vector_bytes(n, self.width))
                .unwrap_or_default();
            if n == VECTOR
                && let Some(sum) = sum_above(packed, self.width, T::ZERO, kind)
            {
                into.sum(sum)?;
                continue;
            }
            let values = buffer.get_mut(..n).unwrap_or_default();
            unpack_vector(packed, self.width, T::ZERO, values)?;
            into.values(values)?;
        }
        Ok(())
    }
}

crate::conformance!(BitPack);
