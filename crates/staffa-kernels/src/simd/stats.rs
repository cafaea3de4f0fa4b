//! Statistics of values: minimum and maximum, changes, bit widths.
//!
//! Plain loops, which the compiler vectorises where the instruction set has minima and comparisons
//! of the width.

use super::dispatch::dispatch;
use crate::word::{Int, Word};

dispatch! {
    /// Minimum and maximum in the order of `value + flip`, modulo 2^BITS: `flip` is 0 for unsigned
    /// numbers and the sign bit for signed ones. `(MAX - flip, 0 - flip)` where there are no values.
    ///
    /// ```
    /// let values = [3i8, -1, 2].map(|v| v as u8);
    /// assert_eq!(staffa_kernels::bounds(&values, 0), (2, 255));
    /// assert_eq!(staffa_kernels::bounds(&values, 128), (255, 3));
    /// ```
    pub fn bounds<T: Int>(values: &[T], flip: T) -> (T, T) = bounds_body;
}

#[inline(always)]
fn bounds_body<T: Int>(values: &[T], flip: T) -> (T, T) {
    let (mut min, mut max) = (T::MAX, T::ZERO);
    for value in values {
        let value = value.wrapping_add(flip);
        min = min.min(value);
        max = max.max(value);
    }
    (min.wrapping_sub(flip), max.wrapping_sub(flip))
}

dispatch! {
    /// The number of values that differ from the one before.
    ///
    /// ```
    /// assert_eq!(staffa_kernels::changes(&[7u8, 7, 9, 7]), 2);
    /// ```
    pub fn changes<T: Word>(values: &[T]) -> usize = changes_body;
}

#[inline(always)]
fn changes_body<T: Word>(values: &[T]) -> usize {
    let [_, next @ ..] = values else {
        return 0;
    };
    // Narrow counters vectorise better; they cannot overflow in 2^16 values.
    let parts = values.chunks(1 << 16).zip(next.chunks(1 << 16));
    parts
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| u32::from(a != b)).sum::<u32>() as usize)
        .sum()
}

dispatch! {
    /// The number of values that are at least `least` above `base`, modulo 2^BITS.
    ///
    /// ```
    /// assert_eq!(staffa_kernels::count_above(&[7u8, 9, 12, 255], 7, 5), 2);
    /// ```
    pub fn count_above<T: Int>(values: &[T], base: T, least: T) -> usize = count_body;
}

#[inline(always)]
fn count_body<T: Int>(values: &[T], base: T, least: T) -> usize {
    // Narrow counters, as in `changes`.
    let part = |part: &[T]| {
        part.iter()
            .map(|v| u32::from(v.wrapping_sub(base) >= least))
            .sum::<u32>() as usize
    };
    values.chunks(1 << 16).map(part).sum()
}

dispatch! {
    /// The number of values for each bit width above `base`: entry `i` counts those of `i` bits.
    ///
    /// ```
    /// let widths = staffa_kernels::widths(&[7u8, 8, 9, 11], 7);
    /// assert_eq!(widths[..4], [1, 1, 1, 1]);
    /// ```
    pub fn widths<T: Int>(values: &[T], base: T) -> [u32; 65] = widths_body;
}

#[inline(always)]
fn widths_body<T: Int>(values: &[T], base: T) -> [u32; 65] {
    let bits = |value: &T| (T::BITS - value.wrapping_sub(base).leading_zeros()) as usize;
    let mut counts = [0u32; 65];
    if values.len() <= 128 {
        values.iter().for_each(|value| counts[bits(value)] += 1);
        return counts;
    }
    // Four tables in turn: a single one would wait for its last store.
    let mut more = [[0u32; 65]; 3];
    let (fours, rest) = values.as_chunks::<4>();
    for [a, b, c, d] in fours {
        counts[bits(a)] += 1;
        more[0][bits(b)] += 1;
        more[1][bits(c)] += 1;
        more[2][bits(d)] += 1;
    }
    rest.iter().for_each(|value| counts[bits(value)] += 1);
    for part in more {
        counts
            .iter_mut()
            .zip(part)
            .for_each(|(sum, count)| *sum += count);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::for_ints;
    use crate::testing::Rng;

    fn agree<T: Int>() {
        let mut rng = Rng(0x5eed);
        for len in (0..70).chain([127, 128, 129, 1023, 1024, 1025]) {
            let values: Vec<T> = (0..len)
                .map(|_| T::from_u64(rng.next() >> (rng.next() % 64)))
                .collect();
            let (base, flip) = (T::from_u64(rng.next()), T::from_u64(1 << (T::BITS - 1)));
            for flip in [T::ZERO, flip] {
                assert!(
                    bounds(&values, flip) == bounds_body(&values, flip),
                    "{len} values"
                );
            }
            let signed = values
                .iter()
                .copied()
                .reduce(|a, b| if b.signed_lt(a) { b } else { a });
            assert!(signed.is_none_or(|least| least == bounds(&values, flip).0));
            for least in [T::ZERO, T::from_u64(rng.next()), T::MAX] {
                let expected = values
                    .iter()
                    .filter(|v| v.wrapping_sub(base) >= least)
                    .count();
                assert_eq!(count_above(&values, base, least), expected);
            }
            let expected = values.array_windows().filter(|[a, b]| a != b).count();
            assert_eq!(changes(&values), expected);
            let mut expected = [0; 65];
            values.iter().for_each(|v| {
                expected[(T::BITS - v.wrapping_sub(base).leading_zeros()) as usize] += 1;
            });
            assert_eq!(widths(&values, base), expected);
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        for_ints!(agree);
    }
}
