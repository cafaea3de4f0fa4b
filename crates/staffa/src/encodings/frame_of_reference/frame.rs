//! The frame of one vector: its base, and the width with the fewest bytes by the histogram of
//! widths.

use staffa_kernels::{bounds, count_above, widths};

use crate::decode::Integer;
use crate::values::Kind;

/// The frame of one vector.
#[derive(Clone, Copy)]
pub(super) struct Frame<T> {
    pub(super) base: T,
    /// Bits of a packed value.
    pub(super) width: u32,
    /// Bits that the largest value needs.
    pub(super) bits: u32,
    /// Bits that the distance from the least value to the base needs, where that value is an
    /// exception.
    pub(super) low_bits: u32,
    pub(super) exceptions: usize,
}

impl<T: Integer> Frame<T> {
    pub(super) fn of(vector: &[T], kind: Kind) -> Self {
        if vector.is_empty() {
            return Self::without_exceptions(T::ZERO, 0);
        }
        let flip = if kind == Kind::Signed {
            T::from_u64(1 << (T::BITS - 1))
        } else {
            T::ZERO
        };
        let (base, most) = bounds(vector, flip);
        let bits = T::BITS - most.wrapping_sub(base).leading_zeros();
        let frame = Self::without_exceptions(base, bits);
        if bits == 0 {
            return frame;
        }
        // Where neither half of the frame is nearly empty, no exceptions pay, and there is no need
        // for the histogram.
        let half = T::from_u64(1 << (bits - 1));
        let upper = count_above(vector, base, half);
        let rare = |rows: usize| rows * 8 < vector.len();
        if !rare(upper) && !rare(vector.len() - upper) {
            return frame;
        }
        let histogram = widths(vector, base);
        let (frame, cost) = frame.narrowed(vector, &histogram);
        // Where hardly any value is in the lower half of the frame, those are exceptions as well.
        let below: u32 = histogram.iter().take(frame.width as usize).sum();
        if frame.width < 4 || below as usize * 8 >= vector.len() {
            return frame;
        }
        match frame.raised(vector) {
            Some((raised, new)) if new + new / 64 < cost => raised,
            _ => frame,
        }
    }

    fn without_exceptions(base: T, bits: u32) -> Self {
        Self {
            base,
            width: bits,
            bits,
            low_bits: 0,
            exceptions: 0,
        }
    }

    /// With the least value of the frame's upper half as base, and its bits in all.
    fn raised(&self, vector: &[T]) -> Option<(Self, u64)> {
        let above = |v: &T| v.wrapping_sub(self.base);
        let upper = |v: &&T| T::BITS - above(v).leading_zeros() >= self.width;
        let over = vector.iter().filter(upper).map(above).min()?;
        let low_bits = T::BITS - over.leading_zeros();
        if low_bits >= T::BITS {
            return None;
        }
        let base = self.base.wrapping_add(over);
        // Values below the new base wrap around, to the greatest width.
        let mut histogram = widths(vector, base);
        let low: u32 = vector.iter().map(|v| u32::from(above(v) < over)).sum();
        let widest = histogram.get_mut(T::BITS as usize)?;
        *widest = widest.saturating_sub(low);
        let bits = histogram.iter().rposition(|count| *count > 0)? as u32;
        let frame = Self {
            base,
            width: bits,
            bits,
            low_bits,
            exceptions: low as usize,
        };
        Some(frame.narrowed(vector, &histogram))
    }

    /// With the width that has the fewest bytes, and its bits in all.
    fn narrowed(self, vector: &[T], histogram: &[u32; 65]) -> (Self, u64) {
        let bytes = exception_bytes::<T>(self.bits.max(self.low_bits), self.low_bits > 0);
        let exception_bits = 16 + 8 * bytes as u64;
        let rows = vector.len() as u64;
        let mut above = self.exceptions as u64;
        let mut best = self;
        let mut best_cost = rows * u64::from(self.width) + above * exception_bits;
        let counts = histogram
            .iter()
            .enumerate()
            .take(self.bits as usize + 1)
            .skip(1)
            .rev();
        for (width, &count) in counts {
            above += u64::from(count);
            let cost = rows * (width as u64 - 1) + above * exception_bits;
            // An exception costs a scalar patch: it must pay for itself, and not be the rule.
            if cost + cost / 64 < best_cost && above * 8 < rows {
                best = Self {
                    width: width as u32 - 1,
                    exceptions: above as usize,
                    ..self
                };
                best_cost = cost;
            }
        }
        (best, best_cost)
    }
}

/// Bytes of an exception of `bits`, with a sign where some lie below their base.
pub(super) fn exception_bytes<T: Integer>(bits: u32, signed: bool) -> usize {
    ((bits + u32::from(signed)).div_ceil(8) as usize).min(T::BYTES)
}
