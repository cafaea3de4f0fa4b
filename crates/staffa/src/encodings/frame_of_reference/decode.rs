//! Vectors of a frame of reference, opened and decoded.

use std::iter::repeat;

use staffa_kernels::Packed;

use super::super::packed::{aggregate_sums, packed_len, unpack_value, unpack_vector};
use super::super::prelude::*;
use super::SIGNED;
use crate::decode::bits_by_vector;
use crate::decode::{Aggregator, WordTest, integer, sum_above, take_each};

/// A vector with more exceptions is unpacked for its sum.
const FEW: usize = 16;

/// One vector.
struct Vector<'a, T> {
    rows: usize,
    base: T,
    width: u32,
    packed: &'a [u8],
    /// Where its exceptions stand, little-endian.
    positions: &'a [[u8; 2]],
    /// Values of its exceptions; those of later vectors follow.
    values: &'a [u8],
}

/// All vectors of a node.
pub(super) struct Frames<'a, T> {
    len: usize,
    vectors: Vec<Vector<'a, T>>,
    exception_bytes: usize,
    signed: bool,
}

impl<'a, T: Integer> Frames<'a, T> {
    pub(super) fn open(node: &NodeRef<'a>) -> Result<Self> {
        let mut cursor = node.cursor();
        let count = node.len.div_ceil(VECTOR);
        let base = read_word::<T>(&mut cursor)?;
        let (base_bytes, flags) = (usize::from(cursor.u8()?), cursor.u8()?);
        let (signed, exception_bytes) = (flags & SIGNED != 0, usize::from(flags & !SIGNED));
        let (bytes, most) = (base_bytes.max(exception_bytes), T::BYTES);
        corrupt_if!(
            bytes > most,
            "bases and exceptions of at most {most} bytes expected, found {bytes}"
        );
        let widths = cursor.bytes(count)?;
        let mut bases = Cursor::new(cursor.bytes(count * base_bytes)?);
        let counts = cursor.bytes(if exception_bytes > 0 { count * 2 } else { 0 })?;
        let counts = counts
            .as_chunks::<2>()
            .0
            .iter()
            .map(|n| usize::from(u16::from_le_bytes(*n)));
        let all: usize = counts.clone().sum();
        let mut positions = Cursor::new(cursor.bytes(all * 2)?);
        let mut values = cursor.bytes(all * exception_bytes)?;
        let mut vectors = Vec::with_capacity(count);
        for (v, (width, exceptions)) in widths.iter().zip(counts.chain(repeat(0))).enumerate() {
            let (rows, width) = (vector_len(node.len, v), u32::from(*width));
            let most = T::BITS;
            corrupt_if!(
                width > most,
                "at most {most} bits expected in vector {v}, found {width}"
            );
            corrupt_if!(
                exceptions > rows,
                "at most {rows} exceptions expected in vector {v}, found {exceptions}"
            );
            let above = little_endian(bases.bytes(base_bytes)?);
            vectors.push(Vector {
                rows,
                base: base.wrapping_add(T::from_u64(above)),
                width,
                packed: cursor.bytes(packed_len(rows, width))?,
                positions: positions.bytes(exceptions * 2)?.as_chunks().0,
                values,
            });
            let rest = values.get(exceptions * exception_bytes..);
            values = rest.ok_or_else(|| Error::internal("fewer exceptions than counted"))?;
        }
        cursor.finish("packed values")?;
        Ok(Self {
            len: node.len,
            vectors,
            exception_bytes,
            signed,
        })
    }

    /// `7 bits, 12 exceptions`: the middle width, and exceptions where there are some.
    pub(super) fn detail(&self) -> String {
        let mut widths: Vec<u32> = self.vectors.iter().map(|v| v.width).collect();
        widths.sort_unstable();
        let middle = widths.get(widths.len() / 2).copied().unwrap_or(0);
        match self
            .vectors
            .iter()
            .map(|v| v.positions.len())
            .sum::<usize>()
        {
            0 => format!("{middle} bits"),
            exceptions => format!("{middle} bits, {exceptions} exceptions"),
        }
    }

    /// Exception `i` of a vector, above its base.
    fn exception(&self, vector: &Vector<'_, T>, i: usize) -> Option<T> {
        let bytes = vector.values.get(i * self.exception_bytes..)?;
        // One load where there are bytes behind it.
        let value = match bytes.first_chunk::<8>() {
            Some(window) => {
                u64::from_le_bytes(*window) & (u64::MAX >> (64 - 8 * self.exception_bytes.max(1)))
            }
            None => little_endian(bytes.get(..self.exception_bytes)?),
        };
        let value = T::from_u64(value);
        Some(if self.signed { value.unzigzag() } else { value })
    }

    /// The sum of a full vector: of its base, of what is packed, and of exceptions in the place of
    /// what is packed there.
    fn sum(&self, vector: &Vector<'_, T>, kind: Kind) -> Option<i128> {
        if vector.positions.len() > FEW {
            return None;
        }
        let mut sum = sum_above(vector.packed, vector.width, vector.base, kind)?;
        let base = integer(vector.base, kind);
        let mut next = 0;
        for (i, position) in vector.positions.iter().enumerate() {
            let position = usize::from(u16::from_le_bytes(*position));
            // They ascend; else one may stand in the place of another.
            let low = vector.packed_value(position).filter(|_| position >= next)?;
            let value = vector.base.wrapping_add(self.exception(vector, i)?);
            sum += integer(value, kind) - base - i128::from(low.to_u64());
            next = position + 1;
        }
        Some(sum)
    }
}

impl<T: Integer> Vector<'_, T> {
    /// What is packed at a position, above the base.
    fn packed_value(&self, position: usize) -> Option<T> {
        unpack_value(self.packed, self.width, self.rows, position)
    }
}

impl<T: Integer> Decoder<T> for Frames<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        let vector = of_vector(&self.vectors, v)?;
        unpack_vector(vector.packed, vector.width, vector.base, out)?;
        for (i, position) in vector.positions.iter().enumerate() {
            let position = usize::from(u16::from_le_bytes(*position));
            let Some(place) = out.get_mut(position) else {
                return Err(Error::corrupt(format!(
                    "exception within the vector expected, found position {position}"
                )));
            };
            let value = self.exception(vector, i);
            let value = value.ok_or_else(|| Error::internal("fewer exceptions than positions"))?;
            *place = vector.base.wrapping_add(value);
        }
        Ok(())
    }

    fn packed(&self, v: usize) -> Option<Packed<'_, T>> {
        let &Vector {
            rows,
            base,
            width,
            packed,
            positions,
            ..
        } = self.vectors.get(v)?;
        (rows == VECTOR && positions.is_empty()).then_some(Packed {
            packed,
            width,
            base,
        })
    }

    fn filter(&self, test: &WordTest<T>, cx: &mut Scratch) -> Result<Bitmap> {
        let mut buffer = [T::ZERO; VECTOR];
        bits_by_vector(self.len, |v, words| {
            let vector = of_vector(&self.vectors, v)?;
            let most = if vector.width < T::BITS {
                T::from_u64((1 << vector.width) - 1)
            } else {
                T::MAX
            };
            if vector.positions.is_empty()
                && let Some(all) = test.decided(vector.base, most)
            {
                words.fill(if all { u64::MAX } else { 0 });
                return Ok(());
            }
            let values = places(&mut buffer, vector.rows)?;
            self.vector(v, cx, values)?;
            test.test(values, words);
            Ok(())
        })
    }

    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
        cx: &mut Scratch,
    ) -> Result<()> {
        let sum = |v: usize, kind| self.sum(self.vectors.get(v)?, kind);
        aggregate_sums(self, rows, into, cx, sum)
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        take_each(self, rows, cx, out, |v, i| {
            let vector = self.vectors.get(v)?;
            let mut exception = None;
            for (number, position) in vector.positions.iter().enumerate() {
                // The last one where several claim a place, as they are patched one after another.
                let is_here = *position == (i as u16).to_le_bytes();
                exception = if is_here { Some(number) } else { exception };
            }
            let above = match exception {
                Some(number) => self.exception(vector, number)?,
                None => vector.packed_value(i)?,
            };
            Some(vector.base.wrapping_add(above))
        })
    }
}
