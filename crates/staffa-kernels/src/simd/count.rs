//! Values that equal or lie below another: how many, and where the last one is.
//!
//! Plain loops over blocks, which the compiler vectorises: the count of a block fits the narrowest
//! word, and a block is asked as a whole before a value of it is.

use super::dispatch::dispatch;
use crate::word::Int;

/// Values of a block.
const BLOCK: usize = 64;

dispatch! {
    /// How many values equal `value`.
    ///
    /// ```
    /// assert_eq!(staffa_kernels::count_equal(&[7u8, 2, 7], 7), 2);
    /// ```
    pub fn count_equal<T: Int>(values: &[T], value: T) -> usize = equal_body;
}

#[inline(always)]
fn equal_body<T: Int>(values: &[T], value: T) -> usize {
    let one = T::from_u64(1);
    let count = |block: &[T]| {
        let equal = |count: T, v: &T| count.wrapping_add(if *v == value { one } else { T::ZERO });
        block.iter().fold(T::ZERO, equal).to_u64() as usize
    };
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    blocks.iter().map(|block| count(block)).sum::<usize>() + count(rest)
}

/// Places for which one pass over the codes for each takes less than adding code by code.
const FEW: usize = 24;

dispatch! {
    /// Adds to `counts[code]` how often each code occurs. `false` where there is no place for a code;
    /// `counts` then holds anything.
    ///
    /// ```
    /// let mut counts = [1, 0, 0];
    /// assert!(staffa_kernels::count_codes(&[2, 0, 2], &mut counts));
    /// assert_eq!(counts, [2, 0, 2]);
    /// ```
    pub fn count_codes<>(codes: &[u8], counts: &mut [u32]) -> bool
        = codes_body, avx2: codes_body, avx512: codes_body;
}

#[inline(always)]
fn codes_body(codes: &[u8], counts: &mut [u32]) -> bool {
    if codes.len() < BLOCK || counts.len() > FEW {
        return codes.iter().all(|code| {
            let count = counts.get_mut(usize::from(*code));
            count.map(|count| *count += 1).is_some()
        });
    }
    let mut left = codes.len();
    for (code, count) in (0..).zip(counts) {
        let equal = equal_body(codes, code);
        *count += equal as u32;
        left -= equal;
        if left == 0 {
            break;
        }
    }
    left == 0
}

dispatch! {
    /// The position of the last value below `bound`.
    ///
    /// ```
    /// assert_eq!(staffa_kernels::last_below(&[1, 0, 3, 5], 4), Some(2));
    /// ```
    pub fn last_below<>(values: &[u32], bound: u32) -> Option<usize>
        = below_body, avx2: below_body, avx512: below_body;
}

#[inline(always)]
fn below_body(values: &[u32], bound: u32) -> Option<usize> {
    const LOOK: usize = 32;
    let below = |v: &u32| *v < bound;
    let (head, blocks) = values.as_rchunks::<LOOK>();
    for (i, block) in blocks.iter().enumerate().rev() {
        if block.iter().fold(false, |found, v| found | below(v)) {
            return block
                .iter()
                .rposition(below)
                .map(|at| head.len() + i * LOOK + at);
        }
    }
    head.iter().rposition(below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::{for_ints, on_every_level};
    use crate::testing::Rng;

    fn counts_agree<T: Int>() {
        let mut rng = Rng(0xc0de);
        for len in (0..70).chain([127, 128, 129, 1000, 1024]) {
            let values: Vec<T> = (0..len).map(|_| T::from_u64(rng.next() % 3)).collect();
            for value in [0, 1, 2, 3].map(T::from_u64) {
                let expected = values.iter().filter(|v| **v == value).count();
                assert_eq!(count_equal(&values, value), expected);
            }
            let same = vec![T::MAX; len];
            assert_eq!(count_equal(&same, T::MAX), len);
        }
    }

    #[test]
    fn equal_values_are_counted() {
        for_ints!(counts_agree);
    }

    #[test]
    fn codes_are_counted_if_they_have_places() {
        on_every_level(codes_agree);
    }

    fn codes_agree() {
        let mut rng = Rng(0xc0de);
        for places in [1, 2, 9, FEW, FEW + 1, 256] {
            for len in (0..70).chain([128, 1000, 1024]) {
                let mut codes: Vec<u8> = (0..len)
                    .map(|_| (rng.next() % places as u64) as u8)
                    .collect();
                let before: Vec<u32> = (0..places as u32).collect();
                let mut expected = before.clone();
                codes
                    .iter()
                    .for_each(|code| expected[usize::from(*code)] += 1);
                let mut counts = before.clone();
                assert!(count_codes(&codes, &mut counts));
                assert_eq!(counts, expected);
                if let (Some(last), Ok(code)) = (codes.last_mut(), u8::try_from(places)) {
                    *last = code;
                    assert!(!count_codes(&codes, &mut counts));
                }
            }
        }
        assert!(count_codes(&[], &mut []));
        assert!(!count_codes(&[0; 100], &mut []));
    }

    #[test]
    fn the_last_below_is_found() {
        on_every_level(last_agrees);
    }

    fn last_agrees() {
        let mut rng = Rng(0xbe10);
        for len in (0..70).chain([1000, 1024]) {
            let values: Vec<u32> = (0..len)
                .map(|_| rng.next() as u32 >> (rng.next() % 32))
                .collect();
            for bound in [0, 1, 2, 10, 1000, u32::MAX] {
                let expected = values.iter().rposition(|v| *v < bound);
                assert_eq!(last_below(&values, bound), expected);
            }
        }
    }
}
