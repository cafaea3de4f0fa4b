//! Offsets of strings: where one ends and the next begins.

use arrow_array::OffsetSizeTrait;
use arrow_buffer::{OffsetBuffer, ScalarBuffer};

use crate::simd::dispatch::dispatch;
use crate::simd::{prefix_sum, sum_u32};
use crate::word::VECTOR;

/// Turns lengths into offsets in place: `offsets[i] = base + sum(lengths[..=i])`. Returns the last
/// offset (`base` where there are none); `None`, with nothing changed, when it overflows.
///
/// ```
/// let mut lengths = [1, 0, 2];
/// assert_eq!(staffa_kernels::lengths_to_offsets_i32(10, &mut lengths), Some(13));
/// assert_eq!(lengths, [11, 11, 13]);
/// ```
pub fn lengths_to_offsets_i32(base: i32, lengths: &mut [u32]) -> Option<i32> {
    let last = i32::try_from(last_offset(i64::from(base), lengths)?).ok()?;
    prefix_sum(base as u32, lengths);
    Some(last)
}

/// `offsets[i] = base + sum(lengths[..=i])`. Returns the last offset (`base` where there are none);
/// `None` when it overflows, or there are not as many offsets as lengths.
pub fn lengths_to_offsets_i64(base: i64, lengths: &[u32], offsets: &mut [u64]) -> Option<i64> {
    let last = last_offset(base, lengths).filter(|_| lengths.len() == offsets.len())?;
    let mut base = base as u64;
    // A vector at a time, so that the second pass finds it in the cache.
    for (lengths, offsets) in lengths.chunks(VECTOR).zip(offsets.chunks_mut(VECTOR)) {
        for (offset, &length) in offsets.iter_mut().zip(lengths) {
            *offset = u64::from(length);
        }
        prefix_sum(base, offsets);
        base = offsets.last().copied()?;
    }
    Some(last)
}

/// The last and largest offset; `None` when it overflows.
fn last_offset(base: i64, lengths: &[u32]) -> Option<i64> {
    // The sum of fewer than 2^32 lengths below 2^32 cannot overflow.
    if u32::try_from(lengths.len()).is_err() {
        return None;
    }
    base.checked_add_unsigned(sum_u32(lengths))
}

/// Checks that offsets do not decrease and lie within `bytes`.
///
/// # Errors
/// The offsets as they were, where they do not.
pub fn rising_offsets<O: OffsetSizeTrait>(
    offsets: ScalarBuffer<O>,
    bytes: usize,
) -> Result<OffsetBuffer<O>, ScalarBuffer<O>> {
    let within = offsets.first().is_some_and(|first| *first >= O::zero())
        && offsets.last().is_some_and(|last| last.as_usize() <= bytes);
    if !within || !rise(&offsets) {
        return Err(offsets);
    }
    // SAFETY: the first offset is not below zero, and none is below the one before.
    Ok(unsafe { OffsetBuffer::new_unchecked(offsets) })
}

dispatch! { fn rise<O: OffsetSizeTrait>(offsets: &[O]) -> bool = rise_body; }

/// Without an early end, so that the loop vectorises.
#[inline(always)]
fn rise_body<O: OffsetSizeTrait>(offsets: &[O]) -> bool {
    let [_, next @ ..] = offsets else {
        return true;
    };
    // A fold vectorises without long steps, and so without a long rest.
    #[allow(clippy::needless_bitwise_bool)]
    let falls = offsets
        .iter()
        .zip(next)
        .fold(false, |any, (a, b)| any | (a > b));
    !falls
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    /// Lengths as offsets of both widths, from a random base and up to the largest offsets.
    fn agree(rng: &mut Rng, len: usize) {
        let lengths: Vec<u32> = (0..len).map(|_| rng.below(1000) as u32).collect();
        let sum: u64 = lengths.iter().map(|&l| u64::from(l)).sum();
        assert_eq!(sum_u32(&lengths), sum);
        let (mut small, mut large) = (lengths.clone(), vec![0; len]);
        let base = rng.next() as i32 >> 4;
        let last = i64::from(base) + sum as i64;
        let wide = i64::from(base);
        assert_eq!(lengths_to_offsets_i32(base, &mut small), Some(last as i32));
        assert_eq!(
            lengths_to_offsets_i64(wide, &lengths, &mut large),
            Some(last)
        );
        let mut at = base;
        for (i, &length) in lengths.iter().enumerate() {
            at += length as i32;
            assert_eq!((small[i], large[i]), (at as u32, at as u64));
        }
        let (narrow, wide) = (i32::MAX - sum as i32, i64::MAX - sum as i64);
        let mut copy = lengths.clone();
        assert_eq!(lengths_to_offsets_i32(narrow, &mut copy), Some(i32::MAX));
        assert_eq!(
            lengths_to_offsets_i64(wide, &lengths, &mut large),
            Some(i64::MAX)
        );
        if sum > 0 {
            copy.clone_from(&lengths);
            assert_eq!(lengths_to_offsets_i32(narrow + 1, &mut copy), None);
            assert_eq!(copy, lengths);
            assert_eq!(lengths_to_offsets_i64(wide + 1, &lengths, &mut large), None);
            assert_eq!(lengths_to_offsets_i64(0, &lengths[1..], &mut large), None);
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for len in [0, 1, 15, 1024, 1025, 5000] {
                agree(&mut rng, len);
            }
            assert_eq!(lengths_to_offsets_i32(0, &mut [u32::MAX; 3]), None);
            assert_eq!(sum_u32(&[u32::MAX; 100]), 100 * u64::from(u32::MAX));
        });
    }

    #[test]
    fn falling_offsets_are_refused() {
        on_every_level(|| {
            let rising = |offsets: &[i32]| rising_offsets(ScalarBuffer::from(offsets.to_vec()), 5);
            assert!(rising(&[0, 2, 5]).is_ok() && rising(&[5]).is_ok());
            for wrong in [&[][..], &[0, 3, 2], &[-1, 2], &[0, 6]] {
                assert!(rising(wrong).is_err(), "{wrong:?}");
            }
            let mut offsets: Vec<i64> = (0..1000).collect();
            let rising = |offsets: &[i64]| {
                rising_offsets(ScalarBuffer::from(offsets.to_vec()), 1000).is_ok()
            };
            assert!(rising(&offsets));
            offsets[700] = 698;
            assert!(!rising(&offsets));
        });
    }
}
