//! Escapes: every value that is the escape is replaced by the next of the exceptions, in place.
//!
//! A loop that looks for escapes mispredicts at most of them. In a register, one comparison finds
//! them all, and an expansion puts the next exceptions where they belong.

use crate::simd::dispatch::dispatch;
use crate::word::Int;
#[cfg(target_arch = "x86_64")]
#[allow(clippy::wildcard_imports)] // As everybody does.
use std::arch::x86_64::*;

/// Replaces values that are `escape` by the next of `exceptions`, as far as there are any; returns
/// how many values were the escape.
///
/// ```
/// let mut values = [1u32, 9, 2, 9];
/// assert_eq!(staffa_kernels::replace_escapes(&mut values, 9, &[700, 800]), 2);
/// assert_eq!(values, [1, 700, 2, 800]);
/// ```
#[inline]
pub fn replace_escapes<T: Int>(values: &mut [T], escape: T, exceptions: &[T]) -> usize {
    replace(values, escape, exceptions)
}

dispatch! {
    fn replace<T: Int>(values: &mut [T], escape: T, exceptions: &[T]) -> usize
        = scalar, avx2: scalar, avx512: expand_avx512;
}

#[inline(always)]
fn scalar<T: Int>(values: &mut [T], escape: T, exceptions: &[T]) -> usize {
    let mut found = 0;
    for places in values.chunks_mut(64) {
        let bit = |(i, place): (usize, &T)| u64::from(*place == escape) << i;
        let mut mask = places
            .iter()
            .enumerate()
            .map(bit)
            .fold(0, |mask, bit| mask | bit);
        while mask != 0 {
            let place = &mut places[mask.trailing_zeros() as usize];
            *place = exceptions.get(found).copied().unwrap_or(*place);
            found += 1;
            mask &= mask - 1;
        }
    }
    found
}

/// Sixteen values of 32 bits or eight of 64 at a time, while there are as many exceptions to load.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
#[inline]
fn expand_avx512<T: Int>(values: &mut [T], escape: T, exceptions: &[T]) -> usize {
    if T::BYTES != 4 && T::BYTES != 8 {
        return scalar(values, escape, exceptions);
    }
    let lanes = 64 / T::BYTES;
    let narrow = T::BYTES == 4;
    let escapes = if narrow {
        _mm512_set1_epi32(escape.to_u64() as i32)
    } else {
        _mm512_set1_epi64(escape.to_u64() as i64)
    };
    let mut found = 0;
    let mut chunks = values.chunks_exact_mut(lanes);
    for chunk in &mut chunks {
        // SAFETY: the chunk has 64 bytes.
        let x = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
        let mask = if narrow {
            _mm512_cmpeq_epi32_mask(x, escapes)
        } else {
            u16::from(_mm512_cmpeq_epi64_mask(x, escapes))
        };
        if mask == 0 {
            continue;
        }
        let Some(next) = exceptions.get(found..found + lanes) else {
            // The last ones.
            found += scalar(chunk, escape, &exceptions[found.min(exceptions.len())..]);
            continue;
        };
        // SAFETY: there are `lanes` exceptions, 64 bytes.
        let next = unsafe { _mm512_loadu_si512(next.as_ptr().cast()) };
        let x = if narrow {
            _mm512_mask_expand_epi32(x, mask, next)
        } else {
            _mm512_mask_expand_epi64(x, mask as u8, next)
        };
        // SAFETY: the chunk has 64 bytes.
        unsafe { _mm512_storeu_si512(chunk.as_mut_ptr().cast(), x) };
        found += mask.count_ones() as usize;
    }
    found
        + scalar(
            chunks.into_remainder(),
            escape,
            &exceptions[found.min(exceptions.len())..],
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    fn agree<T: Int>() {
        let mut rng = Rng(0x5eed);
        for (len, often) in (0..200)
            .chain([1023, 1024, 1025])
            .flat_map(|len| [(len, 2), (len, 9), (len, 100)])
        {
            let escape = T::from_u64(100);
            let values: Vec<T> = (0..len)
                .map(|_| {
                    if rng.next().is_multiple_of(often) {
                        escape
                    } else {
                        T::from_u64(rng.next() % 100)
                    }
                })
                .collect();
            let count = values.iter().filter(|v| **v == escape).count();
            for held in [count, count / 2, count + 20] {
                let exceptions: Vec<T> = (0..held).map(|_| T::from_u64(rng.next())).collect();
                let mut expected = values.clone();
                assert_eq!(scalar(&mut expected, escape, &exceptions), count);
                let mut out = values.clone();
                assert_eq!(replace_escapes(&mut out, escape, &exceptions), count);
                assert!(
                    out == expected,
                    "{len} values, {held} of {count} exceptions"
                );
            }
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        on_every_level(|| {
            agree::<u8>();
            agree::<u16>();
            agree::<u32>();
            agree::<u64>();
        });
    }
}
