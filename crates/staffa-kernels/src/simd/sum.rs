//! Sums of values, of runs, and of packed values without unpacking them.
//!
//! Plain loops, which the compiler vectorises: sums of half words for as long as they fit, sums by
//! lane of packed words where no lane can overflow.

use super::bitpack::layout::{ROW, mask, place, words};
use super::bitpack::packed_bytes;
use super::dispatch::dispatch;
use crate::word::{Int, VECTOR};

dispatch! {
    /// The sum of the values.
    pub fn sum_u32(values: &[u32]) -> u64 = sum_u32_body;
}

#[inline(always)]
fn sum_u32_body(values: &[u32]) -> u64 {
    values.iter().map(|&v| u64::from(v)).sum()
}

dispatch! {
    /// The sum of all `value + flip`, each modulo 2^BITS: `flip` is 0 for unsigned numbers and the
    /// sign bit for signed ones, which become unsigned and larger by the sign bit.
    ///
    /// ```
    /// let values = [3i8, -1, 2].map(|v| v as u8);
    /// assert_eq!(staffa_kernels::sum(&values, 0), 3 + 255 + 2);
    /// assert_eq!(staffa_kernels::sum(&values, 128) as i64 - 3 * 128, 3 - 1 + 2);
    /// ```
    pub fn sum<T: Int>(values: &[T], flip: T) -> u128 = sum_body;
}

#[inline(always)]
fn sum_body<T: Int>(values: &[T], flip: T) -> u128 {
    // The sum of 2^16 halves of 32 bits fits 64 bits.
    let part = |part: &[T]| {
        let (mut low, mut high) = (0u64, 0u64);
        for value in part {
            let value = value.wrapping_add(flip).to_u64();
            low += value & 0xffff_ffff;
            high += value >> 32;
        }
        u128::from(low) + (u128::from(high) << 32)
    };
    values.chunks(1 << 16).map(part).sum()
}

dispatch! {
    /// `values[i] += times * others[i]`, modulo 2^BITS, for the shorter of both slices.
    ///
    /// ```
    /// let mut values = [1u8, 250];
    /// staffa_kernels::add_times(&mut values, &[2, 3], 10);
    /// assert_eq!(values, [21, 24]);
    /// ```
    pub fn add_times<T: Int>(values: &mut [T], others: &[T], times: T) = add_times_body;
}

#[inline(always)]
fn add_times_body<T: Int>(values: &mut [T], others: &[T], times: T) {
    let pairs = values.iter_mut().zip(others);
    // Most coefficients are 1 or -1, and a product of 64 bits takes three times as long as a sum.
    if times.to_u64() == 1 {
        pairs.for_each(|(value, other)| *value = value.wrapping_add(*other));
    } else if times == T::MAX {
        pairs.for_each(|(value, other)| *value = value.wrapping_sub(*other));
    } else {
        pairs.for_each(|(value, other)| *value = value.wrapping_add(other.wrapping_mul(times)));
    }
}

dispatch! {
    /// The sum of all `counts[i] * (values[i] + flip)`, with `flip` as in [`sum`].
    ///
    /// ```
    /// assert_eq!(staffa_kernels::sum_runs(&[7u8, 9], &[3, 2], 0), 3 * 7 + 2 * 9);
    /// ```
    pub fn sum_runs<T: Int>(values: &[T], counts: &[u32], flip: T) -> u128 = runs_body;
}

#[inline(always)]
fn runs_body<T: Int>(values: &[T], counts: &[u32], flip: T) -> u128 {
    let all: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let runs = values.iter().zip(counts);
    if all > u64::from(u32::MAX) {
        return runs
            .map(|(value, count)| {
                u128::from(value.wrapping_add(flip).to_u64()) * u128::from(*count)
            })
            .sum();
    }
    // The sum of fewer than 2^32 halves of 32 bits fits 64 bits.
    let (mut low, mut high) = (0u64, 0u64);
    for (value, count) in runs {
        let value = value.wrapping_add(flip).to_u64();
        low += (value & 0xffff_ffff) * u64::from(*count);
        high += (value >> 32) * u64::from(*count);
    }
    u128::from(low) + (u128::from(high) << 32)
}

/// The sum of a full vector, packed as by [`pack`](crate::pack); `None` where `width` is so large
/// that a lane could overflow, or `packed` does not have [`packed_bytes`].
///
/// ```
/// let (values, mut packed) = ([5u32; 1024], Vec::new());
/// staffa_kernels::pack(&values, 3, &mut packed);
/// assert_eq!(staffa_kernels::sum_packed::<u32>(&packed, 3), Some(5 * 1024));
/// ```
pub fn sum_packed<T: Int>(packed: &[u8], width: u32) -> Option<u64> {
    let mut lanes = [T::ZERO; ROW];
    let lanes = &mut lanes[..ROW / T::BYTES];
    sum_lanes(packed, width, lanes).then(|| lanes.iter().map(|lane| lane.to_u64()).sum())
}

dispatch! { fn sum_lanes<T: Int>(packed: &[u8], width: u32, lanes: &mut [T]) -> bool = lanes_body; }

/// The largest width whose sums fit: a lane has BITS values, and all lanes together have 64 bits.
#[inline(always)]
fn most_bits<T: Int>() -> u32 {
    (T::BITS - T::BITS.trailing_zeros()).min(64 - VECTOR.trailing_zeros())
}

/// Sums the values of each lane.
#[inline(always)]
fn lanes_body<T: Int>(packed: &[u8], width: u32, lanes: &mut [T]) -> bool {
    if width > most_bits::<T>() || packed.len() != packed_bytes(width) {
        return false;
    }
    if width == 0 {
        return true;
    }
    let mask = mask::<T>(width);
    let (rows, _) = packed.as_chunks::<ROW>();
    for row in 0..T::BITS as usize {
        let (word, shift) = place::<T>(row, width);
        let low = words::<T>(&rows[word]);
        if shift + width <= T::BITS {
            for (lane, low) in lanes.iter_mut().zip(low) {
                *lane = lane.wrapping_add((low >> shift) & mask);
            }
        } else {
            let high = words::<T>(&rows[word + 1]);
            for ((lane, low), high) in lanes.iter_mut().zip(low).zip(high) {
                *lane = lane.wrapping_add((low >> shift | high << (T::BITS - shift)) & mask);
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::for_ints;
    use crate::testing::Rng;

    fn agree<T: Int>() {
        let mut rng = Rng(0x50b5);
        for len in (0..40).chain([1000, 1024, 1 << 17]) {
            let values: Vec<T> = (0..len).map(|_| T::from_u64(rng.next())).collect();
            for flip in [T::ZERO, T::from_u64(1 << (T::BITS - 1))] {
                let expected: u128 = values
                    .iter()
                    .map(|v| u128::from(v.wrapping_add(flip).to_u64()))
                    .sum();
                assert_eq!(sum(&values, flip), expected);
                for bits in [4, 16, 32] {
                    let counts: Vec<u32> = (0..len)
                        .map(|_| (rng.next() >> (64 - bits)) as u32)
                        .collect();
                    let each = values
                        .iter()
                        .map(|v| u128::from(v.wrapping_add(flip).to_u64()));
                    let expected = each
                        .zip(&counts)
                        .map(|(v, count)| v * u128::from(*count))
                        .sum();
                    assert_eq!(sum_runs(&values, &counts, flip), expected);
                }
            }
        }
        for width in 0..=T::BITS {
            let value = |i| {
                if i % 3 == 0 {
                    T::MAX
                } else {
                    T::from_u64(rng.next())
                }
            };
            let values: Vec<T> = (0..VECTOR).map(value).map(|v| v & mask(width)).collect();
            let mut packed = Vec::new();
            assert!(crate::pack(&values, width, &mut packed));
            let expected: u64 = values.iter().map(|v| v.to_u64()).fold(0, u64::wrapping_add);
            let fits = width <= most_bits::<T>();
            assert_eq!(
                sum_packed::<T>(&packed, width),
                fits.then_some(expected),
                "{width} of {}",
                T::BITS
            );
            assert_eq!(
                sum_packed::<T>(&[packed.as_slice(), &[0]].concat(), width),
                None
            );
        }
    }

    #[test]
    fn others_are_added_with_their_coefficient() {
        fn agree<T: Int>() {
            let mut rng = Rng(0xadd);
            for len in [0, 1, 7, 64, 100, 1024] {
                let mut random = || {
                    (0..len)
                        .map(|_| T::from_u64(rng.next()))
                        .collect::<Vec<T>>()
                };
                let (values, others) = (random(), random());
                for times in
                    [0u64, 1, u64::MAX, 2, 60, 1 << 63, 0x1234_5678_9abc_def1].map(T::from_u64)
                {
                    let mut out = values.clone();
                    add_times(&mut out, &others, times);
                    let sum = |(a, b): (&T, &T)| {
                        T::from_u64(
                            a.to_u64()
                                .wrapping_add(b.to_u64().wrapping_mul(times.to_u64())),
                        )
                    };
                    assert!(out == values.iter().zip(&others).map(sum).collect::<Vec<_>>());
                }
            }
        }
        for_ints!(agree);
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        for_ints!(agree);
    }
}
