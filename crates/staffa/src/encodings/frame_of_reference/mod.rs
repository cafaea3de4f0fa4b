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
//! Exceptions are patched after a branch-free loop over the vector. The width is the one with the
//! fewest bytes by the histogram of widths. The base is the least value, or where hardly any value
//! is in the lower half above it, the least of the upper half: then exceptions lie below the base
//! as well.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{Packed, VECTOR, bounds, count_above, widths};

use super::bitpack::{pack_vector, unpack_value, unpack_vector, vector_bytes};
use crate::decode::filter::by_vector;
use crate::decode::{
    Aggregator, AnyDecoder, Decodable, Decoder, Integer, Needs, OpenContext, Range, Scratch,
    aggregate_vectors, integer, sum_above, take_each,
};
use crate::encode::{Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{Bitmap, Kind, Physical, PhysicalType, Values, for_ints, vector_len};

/// Set in the exception bytes where exceptions may lie below the base.
const SIGNED: u8 = 128;

/// A vector with more exceptions is unpacked for its sum.
const FEW: usize = 16;

/// See the [module](self).
pub struct FrameOfReference;

impl Encoding for FrameOfReference {
    fn info(&self) -> &Info {
        &Info {
            id: 3,
            name: "frame_of_reference",
            about: "integers above a base, bit-packed, base and width per 1,024 values, outliers as exceptions",
            decode_picos: 120,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        kind != Kind::Float && ty.width_bytes().is_some_and(|bytes| bytes <= 8)
    }

    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        for_ints!(values.physical_type(), T => {
            Ok(Some(size(T::slice(values).unwrap_or_default(), stats.kind(), chooser.vector_rows())))
        }, _ => Ok(None))
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        for_ints!(values.physical_type(), T => {
            let words = T::slice(values).unwrap_or_default();
            let payload = if chooser.is_trial() {
                vec![0; size(words, stats.kind(), chooser.vector_rows())]
            } else {
                encode(words, stats.kind())
            };
            Ok(Some(Node { encoding: 3, ty: T::TYPE, len: words.len(), payload, children: vec![] }))
        }, _ => Ok(None))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, _: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(0)?;
        for_ints!(node.ty, T => Ok(T::wrap(Box::new(open::<T>(node)?))),
            other => Err(Error::corrupt(format!("integers expected, found {other:?}"))))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        for_ints!(node.ty, T => open::<T>(node).map(|frames| {
            let mut widths: Vec<u32> = frames.vectors.iter().map(|v| v.width).collect();
            widths.sort_unstable();
            let exceptions = frames.vectors.iter().map(|v| v.exceptions.len).sum::<usize>();
            let middle = widths.get(widths.len() / 2).copied().unwrap_or(0);
            if exceptions > 0 { format!("{middle} bits, {exceptions} exceptions") } else { format!("{middle} bits") }
        }).unwrap_or_default(), _ => String::new())
    }
}

fn lesser<T: Integer>(a: T, b: T, kind: Kind) -> T {
    let less = if kind == Kind::Signed {
        a.signed_lt(b)
    } else {
        a < b
    };
    if less { a } else { b }
}

/// Bytes that a value needs.
fn byte_width<T: Integer>(value: T) -> usize {
    (T::BITS - value.leading_zeros()).div_ceil(8) as usize
}

/// The frame of one vector.
struct Frame<T> {
    base: T,
    /// Bits that values which are no exceptions need.
    width: u32,
    /// Bits that the largest value needs.
    bits: u32,
    /// Bits that the distance from the least value to the base needs, where that value is an
    /// exception.
    low_bits: u32,
    exceptions: usize,
}

impl<T: Integer> Frame<T> {
    fn of(vector: &[T], kind: Kind) -> Self {
        if vector.is_empty() {
            return Self {
                base: T::ZERO,
                width: 0,
                bits: 0,
                low_bits: 0,
                exceptions: 0,
            };
        }
        let flip = if kind == Kind::Signed {
            T::from_u64(1 << (T::BITS - 1))
        } else {
            T::ZERO
        };
        let (base, most) = bounds(vector, flip);
        let bits = T::BITS - most.wrapping_sub(base).leading_zeros();
        if bits == 0 {
            return Self {
                base,
                width: 0,
                bits,
                low_bits: 0,
                exceptions: 0,
            };
        }
        // Where neither half of the frame is nearly empty, no exceptions pay, and nothing need be
        // counted closely.
        let half = T::from_u64(1 << (bits - 1));
        let upper = count_above(vector, base, half);
        let rare = |rows: usize| rows * 8 < vector.len();
        if !rare(upper) && !rare(vector.len() - upper) {
            return Self {
                base,
                width: bits,
                bits,
                low_bits: 0,
                exceptions: 0,
            };
        }
        let histogram = widths(vector, base);
        let (frame, cost) = Self {
            base,
            width: bits,
            bits,
            low_bits: 0,
            exceptions: 0,
        }
        .narrowed(vector, &histogram);
        // Where hardly any value is in the lower half of the frame, those are exceptions as well.
        let below: u32 = histogram.iter().take(frame.width as usize).sum();
        if frame.width < 4 || below as usize * 8 >= vector.len() {
            return frame;
        }
        let raised = Self::raised(vector, &frame);
        let Some((raised, new)) = raised else {
            return frame;
        };
        if new + new / 64 < cost { raised } else { frame }
    }

    /// With the least value of the frame's upper half as base.
    fn raised(vector: &[T], frame: &Self) -> Option<(Self, u64)> {
        let above = |v: &T| v.wrapping_sub(frame.base);
        let upper = |v: &&T| T::BITS - above(v).leading_zeros() >= frame.width;
        let over = vector.iter().filter(upper).map(above).min()?;
        let low_bits = T::BITS - over.leading_zeros();
        if low_bits >= T::BITS {
            return None;
        }
        let base = frame.base.wrapping_add(over);
        // What is below the new base wraps around.
        let mut histogram = widths(vector, base);
        let low: u32 = vector.iter().map(|v| u32::from(above(v) < over)).sum();
        histogram
            .iter_mut()
            .skip(T::BITS as usize)
            .take(1)
            .for_each(|count| *count = count.saturating_sub(low));
        let bits = histogram.iter().rposition(|count| *count > 0)? as u32;
        Some(
            Self {
                base,
                width: bits,
                bits,
                low_bits,
                exceptions: low as usize,
            }
            .narrowed(vector, &histogram),
        )
    }

    /// With the width that has the fewest bytes, and its bits.
    fn narrowed(self, vector: &[T], histogram: &[u32; 65]) -> (Self, u64) {
        let exception_bits =
            16 + 8 * exception_bytes::<T>(self.bits.max(self.low_bits), self.low_bits > 0) as u64;
        let rows = vector.len() as u64;
        let mut above = self.exceptions as u64;
        let mut best = (self.width, self.exceptions);
        let mut best_cost = rows * u64::from(self.width) + above * exception_bits;
        for (width, &count) in histogram
            .iter()
            .enumerate()
            .take(self.bits as usize + 1)
            .skip(1)
            .rev()
        {
            above += u64::from(count);
            let cost = rows * (width as u64 - 1) + above * exception_bits;
            // An exception costs a scalar patch: it must pay for itself, and not be the rule.
            if cost + cost / 64 < best_cost && above * 8 < rows {
                best = (width as u32 - 1, above as usize);
                best_cost = cost;
            }
        }
        let (width, exceptions) = best;
        (
            Self {
                width,
                exceptions,
                ..self
            },
            best_cost,
        )
    }
}

/// Bytes of an exception that needs so many bits, with a sign where some lie below their base.
fn exception_bytes<T: Integer>(bits: u32, signed: bool) -> usize {
    ((bits + u32::from(signed)).div_ceil(8) as usize).min(T::BYTES)
}

/// Bytes of the payload, exactly; in a trial, where vectors are shorter, as if they had 1,024 rows.
pub(super) fn size<T: Integer>(values: &[T], kind: Kind, vector_rows: usize) -> usize {
    let (mut low, mut high) = (None::<T>, None::<T>);
    let (mut packed, mut exceptions, mut bits, mut signed) = (0, 0, 0, false);
    for vector in values.chunks(vector_rows) {
        let frame = Frame::of(vector, kind);
        packed += (vector.len() * frame.width as usize).div_ceil(8);
        if frame.exceptions > 0 {
            exceptions += frame.exceptions;
            bits = bits.max(frame.bits).max(frame.low_bits);
            signed |= frame.low_bits > 0;
        }
        low = Some(low.map_or(frame.base, |low| lesser(low, frame.base, kind)));
        high = Some(high.map_or(frame.base, |high| {
            if lesser(high, frame.base, kind) == high {
                frame.base
            } else {
                high
            }
        }));
    }
    let span = high.unwrap_or(T::ZERO).wrapping_sub(low.unwrap_or(T::ZERO));
    let per_vector = 1 + byte_width(span) + if exceptions > 0 { 2 } else { 0 };
    // In a trial a fraction of a vector has its share of the bytes that every vector needs.
    let vectors = if vector_rows == VECTOR {
        values.len().div_ceil(VECTOR) * VECTOR
    } else {
        values.len()
    };
    let fixed = if vector_rows == VECTOR {
        T::BYTES + 2
    } else {
        0
    };
    fixed
        + vectors * per_vector / VECTOR
        + exceptions * (2 + exception_bytes::<T>(bits, signed))
        + packed
}

fn encode<T: Integer>(values: &[T], kind: Kind) -> Vec<u8> {
    let frames: Vec<Frame<T>> = values
        .chunks(VECTOR)
        .map(|vector| Frame::of(vector, kind))
        .collect();
    let base = frames
        .iter()
        .map(|f| f.base)
        .reduce(|a, b| lesser(a, b, kind))
        .unwrap_or(T::ZERO);
    let base_bytes = frames
        .iter()
        .map(|f| byte_width(f.base.wrapping_sub(base)))
        .max()
        .unwrap_or(0);
    let some = || frames.iter().filter(|f| f.exceptions > 0);
    let bits = some().map(|f| f.bits.max(f.low_bits)).max().unwrap_or(0);
    let signed = some().any(|f| f.low_bits > 0);
    let exception_bytes = exception_bytes::<T>(bits, signed);
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
        for (frame, vector) in frames
            .iter()
            .zip(values.chunks(VECTOR))
            .filter(|(f, _)| f.exceptions > 0)
        {
            for (i, &v) in vector.iter().enumerate() {
                let value = v.wrapping_sub(frame.base);
                if T::BITS - value.leading_zeros() > frame.width {
                    out.extend((i as u16).to_le_bytes());
                    put(
                        &mut above,
                        if signed { value.zigzag() } else { value },
                        exception_bytes,
                    );
                }
            }
        }
        out.extend(above);
    }
    let mut low = Vec::with_capacity(VECTOR);
    for (frame, vector) in frames.iter().zip(values.chunks(VECTOR)) {
        low.clear();
        low.extend(vector.iter().map(|v| v.wrapping_sub(frame.base)));
        pack_vector(&low, frame.width, &mut out);
    }
    out
}

#[derive(Clone, Copy)]
struct Run {
    start: usize,
    len: usize,
}

struct Vector<T> {
    base: T,
    width: u32,
    packed: Run,
    /// Counted in exceptions.
    exceptions: Run,
}

struct Frames<'a, T> {
    len: usize,
    vectors: Vec<Vector<T>>,
    packed: &'a [u8],
    positions: &'a [u8],
    values: &'a [u8],
    exception_bytes: usize,
    signed: bool,
}

fn word<T: Integer>(bytes: &[u8]) -> T {
    let mut le = [0; 8];
    le.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    T::from_u64(u64::from_le_bytes(le))
}

fn open<'a, T: Integer>(node: &NodeRef<'a>) -> Result<Frames<'a, T>> {
    let mut cursor = node.cursor();
    let count = node.len.div_ceil(VECTOR);
    let base = T::read_le(cursor.bytes(T::BYTES)?).unwrap_or_default();
    let base_bytes = usize::from(cursor.u8()?);
    let exception_bytes = cursor.u8()?;
    let (signed, exception_bytes) = (
        exception_bytes & SIGNED != 0,
        usize::from(exception_bytes & !SIGNED),
    );
    if base_bytes > T::BYTES || exception_bytes > T::BYTES {
        return Err(Error::corrupt(format!(
            "bases and exceptions of at most {} bytes expected, found {base_bytes} and {exception_bytes}",
            T::BYTES
        )));
    }
    let widths = cursor.bytes(count)?;
    let bases = cursor.bytes(count * base_bytes)?;
    let counts = cursor.bytes(if exception_bytes > 0 { count * 2 } else { 0 })?;
    let (mut vectors, mut packed, mut exceptions) = (Vec::with_capacity(count), 0, 0);
    for (v, &width) in widths.iter().enumerate() {
        let width = u32::from(width);
        if width > T::BITS {
            return Err(Error::corrupt(format!(
                "width of at most {} bits expected, found {width}",
                T::BITS
            )));
        }
        let rows = vector_len(node.len, v);
        let own = bases
            .get(v * base_bytes..(v + 1) * base_bytes)
            .map_or(T::ZERO, word::<T>);
        let patches = counts.get(v * 2..v * 2 + 2).map_or(0, word::<u16>) as usize;
        if patches > rows {
            return Err(Error::corrupt(format!(
                "at most {rows} exceptions expected in vector {v}, found {patches}"
            )));
        }
        let bytes = vector_bytes(rows, width);
        vectors.push(Vector {
            base: base.wrapping_add(own),
            width,
            packed: Run {
                start: packed,
                len: bytes,
            },
            exceptions: Run {
                start: exceptions,
                len: patches,
            },
        });
        packed += bytes;
        exceptions += patches;
    }
    let positions = cursor.bytes(exceptions * 2)?;
    let values = cursor.bytes(exceptions * exception_bytes)?;
    let packed = cursor.bytes(packed)?;
    cursor.finish("packed values")?;
    Ok(Frames {
        len: node.len,
        vectors,
        packed,
        positions,
        values,
        exception_bytes,
        signed,
    })
}

impl<T: Integer> Frames<'_, T> {
    /// Places of a vector's exceptions.
    fn positions(&self, vector: &Vector<T>) -> &[u8] {
        let Run { start, len } = vector.exceptions;
        self.positions
            .get(start * 2..(start + len) * 2)
            .unwrap_or_default()
    }

    /// Value of the exceptions' number `i` above the base of its vector.
    fn exception(&self, i: usize) -> Option<T> {
        let bytes = self.values.get(i * self.exception_bytes..)?;
        // One load where there are bytes behind it.
        let value = match bytes.first_chunk::<8>() {
            Some(window) => T::from_u64(
                u64::from_le_bytes(*window) & (u64::MAX >> (64 - 8 * self.exception_bytes.max(1))),
            ),
            None => word::<T>(bytes.get(..self.exception_bytes)?),
        };
        Some(if self.signed { value.unzigzag() } else { value })
    }

    fn bits(&self, vector: &Vector<T>) -> &[u8] {
        self.packed
            .get(vector.packed.start..vector.packed.start + vector.packed.len)
            .unwrap_or_default()
    }
}

impl<T: Integer> Frames<'_, T> {
    /// The sum of a full vector: of its base, of what is packed, and of exceptions in the place of
    /// what is packed there.
    fn sum(&self, vector: &Vector<T>, kind: Kind) -> Option<i128> {
        let packed = self.bits(vector);
        if vector.exceptions.len > FEW {
            return None;
        }
        let mut sum = sum_above(packed, vector.width, vector.base, kind)?;
        let base = integer(vector.base, kind);
        let mut next = 0;
        for (number, position) in self.positions(vector).as_chunks::<2>().0.iter().enumerate() {
            let position = usize::from(u16::from_le_bytes(*position));
            // They ascend; else one may stand in the place of another.
            let low = unpack_value::<T>(packed, vector.width, VECTOR, position)
                .filter(|_| position >= next)?;
            let value = vector
                .base
                .wrapping_add(self.exception(vector.exceptions.start + number)?);
            sum += integer(value, kind) - base - i128::from(low.to_u64());
            next = position + 1;
        }
        Some(sum)
    }
}

impl<T: Integer> Decoder<T> for Frames<'_, T> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        let vector = self
            .vectors
            .get(v)
            .ok_or_else(|| Error::corrupt(format!("no vector {v}")))?;
        unpack_vector(self.bits(vector), vector.width, vector.base, out)?;
        for (i, position) in self.positions(vector).as_chunks::<2>().0.iter().enumerate() {
            let position = usize::from(u16::from_le_bytes(*position));
            let value = self
                .exception(vector.exceptions.start + i)
                .unwrap_or(T::ZERO);
            let place = out.get_mut(position).ok_or_else(|| {
                Error::corrupt(format!(
                    "exception within the vector expected, found position {position}"
                ))
            })?;
            *place = vector.base.wrapping_add(value);
        }
        Ok(())
    }

    fn packed(&self, v: usize) -> Option<Packed<'_, T>> {
        let vector = self
            .vectors
            .get(v)
            .filter(|vector| vector.exceptions.len == 0)?;
        let full = vector_len(self.len, v) == VECTOR;
        full.then(|| Packed {
            packed: self.bits(vector),
            width: vector.width,
            base: vector.base,
        })
    }

    fn filter(&self, range: &Range<T>, cx: &mut Scratch) -> Result<Bitmap> {
        by_vector(self.len, |v, words| {
            let vector = self
                .vectors
                .get(v)
                .ok_or_else(|| Error::corrupt(format!("no vector {v}")))?;
            let most = if vector.width < T::BITS {
                T::from_u64((1 << vector.width) - 1)
            } else {
                T::MAX
            };
            if vector.exceptions.len == 0
                && let Some(all) = range.decided(vector.base, most)
            {
                words.fill(if all { u64::MAX } else { 0 });
                return Ok(());
            }
            let mut buffer = [T::ZERO; VECTOR];
            let values = buffer
                .get_mut(..vector_len(self.len, v))
                .unwrap_or_default();
            self.vector(v, cx, values)?;
            range.test(values, words);
            Ok(())
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
        for (v, vector) in self.vectors.iter().enumerate() {
            let n = vector_len(self.len, v);
            if n == VECTOR
                && let Some(sum) = self.sum(vector, kind)
            {
                into.sum(sum)?;
                continue;
            }
            let values = buffer.get_mut(..n).unwrap_or_default();
            self.vector(v, cx, values)?;
            into.values(values)?;
        }
        Ok(())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        take_each(self, rows, cx, out, |v, i| {
            let vector = self.vectors.get(v)?;
            let mut exception = None;
            for (number, position) in self.positions(vector).chunks_exact(2).enumerate() {
                // The last one where several claim a place, as they are patched one after another.
                exception = if *position == (i as u16).to_le_bytes() {
                    Some(number)
                } else {
                    exception
                };
            }
            let above = match exception {
                Some(number) => self.exception(vector.exceptions.start + number)?,
                None => unpack_value(self.bits(vector), vector.width, vector_len(self.len, v), i)?,
            };
            Some(vector.base.wrapping_add(above))
        })
    }
}

crate::conformance!(FrameOfReference);
