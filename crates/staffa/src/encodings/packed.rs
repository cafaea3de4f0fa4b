//! Bit-packed vectors: the layout that bitpack, frame of reference, alphabet and OnPair share.
//!
//! A full vector of 1,024 values is interleaved as in FastLanes ([`staffa_kernels::bitpack`]). The
//! tail (fewer values) is a plain little-endian bit string, so that ten values do not cost a whole
//! vector.

use std::ops::Range;

use staffa_kernels::{
    Packed, pack, pack_tail, packed_bytes, tail_bytes, unpack, unpack_one, unpack_one_tail,
    unpack_rows, unpack_tail,
};

use super::prelude::*;
use crate::decode::{Aggregator, Needs, aggregate_vectors, sum_above, take_each};

/// Bytes of `len` values of `width` bits.
pub(super) fn packed_len(len: usize, width: u32) -> usize {
    len / VECTOR * packed_bytes(width) + tail_bytes(len % VECTOR, width)
}

/// Appends one vector, full or the tail.
pub(super) fn pack_vector<T: Integer>(vector: &[T], width: u32, out: &mut Vec<u8>) {
    if vector.len() == VECTOR {
        pack(vector, width, out);
    } else {
        pack_tail(vector, width, out);
    }
}

/// Unpacks one vector, full or the tail, and adds `base`.
pub(super) fn unpack_vector<T: Integer>(
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
    let (bytes, values) = (packed.len(), out.len());
    corrupt_if!(
        !done,
        "{bytes} bytes do not hold {values} values of {width} bits"
    );
    Ok(())
}

/// Value `i` of a packed vector of `rows` values.
pub(super) fn unpack_value<T: Integer>(
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

/// Vectors of one width, one after another.
pub(super) struct PackedVectors<'a> {
    bytes: &'a [u8],
    width: u32,
    len: usize,
}

impl<'a> PackedVectors<'a> {
    /// The next bytes of a payload, as `len` values of `width` bits.
    pub(super) fn read(cursor: &mut Cursor<'a>, len: usize, width: u32) -> Result<Self> {
        let bytes = cursor.bytes(packed_len(len, width))?;
        Ok(Self { bytes, width, len })
    }

    /// Bytes of vector `v`.
    fn bytes(&self, v: usize) -> Result<&'a [u8]> {
        let start = v * packed_bytes(self.width);
        let bytes = packed_len(vector_len(self.len, v), self.width);
        within(self.bytes, start..start + bytes)
    }

    /// Unpacks vector `v` into the start of `buffer`; returns its values.
    pub(super) fn unpack<'b, T: Integer>(
        &self,
        v: usize,
        buffer: &'b mut [T],
    ) -> Result<&'b mut [T]> {
        let out = places(buffer, vector_len(self.len, v))?;
        unpack_vector(self.bytes(v)?, self.width, T::ZERO, out)?;
        Ok(out)
    }

    /// Unpacks the values of a range into `out`, which has a place for each. The range begins at a
    /// multiple of 128 values, and ends at one or at the last value.
    pub(super) fn unpack_range<T: Integer>(
        &self,
        range: Range<usize>,
        out: &mut [T],
    ) -> Result<()> {
        let (mut rest, mut at) = (places(out, range.len())?, range.start);
        while !rest.is_empty() {
            let (v, first) = (at / VECTOR, at % VECTOR);
            let len = rest.len().min(VECTOR - first);
            let (now, later) = rest.split_at_mut(len);
            let packed = self.bytes(v)?;
            let done = if vector_len(self.len, v) == VECTOR {
                unpack_rows(packed, self.width, first, now)
            } else {
                let part = tail_bytes(first, self.width)..tail_bytes(first + len, self.width);
                unpack_tail(within(packed, part)?, self.width, T::ZERO, now)
            };
            if !done {
                return Err(Error::internal("a range of whole rows expected"));
            }
            (rest, at) = (later, at + len);
        }
        Ok(())
    }
}

impl<T: Integer> Decoder<T> for PackedVectors<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        self.unpack(v, out).map(|_| ())
    }

    fn packed(&self, v: usize) -> Option<Packed<'_, T>> {
        let is_full = vector_len(self.len, v) == VECTOR;
        let packed = self.bytes(v).ok().filter(|_| is_full)?;
        Some(Packed {
            packed,
            width: self.width,
            base: T::ZERO,
        })
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        take_each(self, rows, cx, out, |v, i| {
            unpack_value(self.bytes(v).ok()?, self.width, vector_len(self.len, v), i)
        })
    }

    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
        cx: &mut Scratch,
    ) -> Result<()> {
        aggregate_sums(self, rows, into, cx, |v, kind| {
            sum_above(self.bytes(v).ok()?, self.width, T::ZERO, kind)
        })
    }
}

/// Aggregates vector by vector: `sum` of a full one where sums are all that is needed and it has
/// one, the values otherwise.
pub(super) fn aggregate_sums<T: Integer>(
    decoder: &impl Decoder<T>,
    rows: Option<&Bitmap>,
    into: &mut dyn Aggregator<T>,
    cx: &mut Scratch,
    sum: impl Fn(usize, Kind) -> Option<i128>,
) -> Result<()> {
    let (Needs::Sum(kind), None) = (into.needs(), rows) else {
        return aggregate_vectors(decoder, rows, into, cx);
    };
    let mut buffer = [T::ZERO; VECTOR];
    for v in 0..decoder.len().div_ceil(VECTOR) {
        let values = places(&mut buffer, vector_len(decoder.len(), v))?;
        if values.len() == VECTOR
            && let Some(sum) = sum(v, kind)
        {
            into.sum(sum)?;
            continue;
        }
        decoder.vector(v, cx, values)?;
        into.values(values)?;
    }
    Ok(())
}
