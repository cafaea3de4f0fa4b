//! Prefix sums of packed differences, without storing the differences.
//!
//! Differences of 1, 2, 4 and 8 bits are summed while they are packed, several to a word; those of
//! other widths in the registers that they are unpacked to.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::avx512::{add, lanes, shift, shift_right, splat};
#[cfg(target_arch = "x86_64")]
use super::bitpack::layout::ROW;
#[cfg(target_arch = "x86_64")]
use super::bitpack::packed_bytes;
#[cfg(target_arch = "x86_64")]
use super::bitpack::registers::rows_avx512;
use super::bitpack::{Packed, unpack};
use super::dispatch::dispatch;
use super::prefix_sum::prefix_sum;
#[cfg(target_arch = "x86_64")]
use super::prefix_sum::{lane_sums, last_lane, next_eight};
#[cfg(target_arch = "x86_64")]
use crate::word::VECTOR;
use crate::word::{Int, precompiled};

precompiled! {
    /// [`unpack`], then [`prefix_sum`] from `base`; `false` where `unpack` is.
    ///
    /// ```
    /// use staffa_kernels::{Packed, VECTOR, pack, unpack_prefix_sum};
    /// let (mut packed, mut out) = (Vec::new(), [0u32; VECTOR]);
    /// pack(&[1u32; VECTOR], 2, &mut packed);
    /// assert!(unpack_prefix_sum(Packed { packed: &packed, width: 2, base: 4 }, 100, &mut out));
    /// assert_eq!(out[..3], [105, 110, 115]);
    /// ```
    pub fn unpack_prefix_sum<'a, T: Int>(differences: Packed<'a, T>, base: T, out: &'a mut [T]) -> bool
        = sums;
}

dispatch! {
    fn sums<T: Int>(differences: Packed<'_, T>, base: T, out: &mut [T]) -> bool
        = two_steps, avx2: two_steps, avx512: sums_avx512;
}

/// The plain twin, as fast for 8 and 16 bits.
#[inline(always)]
fn two_steps<T: Int>(differences: Packed<'_, T>, base: T, out: &mut [T]) -> bool {
    let done = unpack(differences.packed, differences.width, differences.base, out);
    prefix_sum(base, out);
    done
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn sums_avx512<T: Int>(differences: Packed<'_, T>, base: T, out: &mut [T]) -> bool {
    let Packed {
        packed,
        width,
        base: step,
    } = differences;
    if T::BYTES < 4 || width == 0 || out.len() != VECTOR {
        return two_steps(differences, base, out);
    }
    let done = match width {
        1 => sum_fields::<T, 1>(differences, base, out),
        2 => sum_fields::<T, 2>(differences, base, out),
        4 => sum_fields::<T, 4>(differences, base, out),
        8 => sum_fields::<T, 8>(differences, base, out),
        _ => false,
    };
    if done {
        return true;
    }
    if T::BYTES == 4 {
        return two_steps(differences, base, out);
    }
    let mut bases = _mm512_set1_epi64(base.to_u64() as i64);
    rows_avx512(packed, width, step, |i, x| {
        // SAFETY: the values of a register from `i` on are among the 1,024.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(i).cast(), next_eight(&mut bases, x)) };
    })
}

/// Sums of 32 or 64 bits, of differences of `W` bits.
///
/// A packed word has a value of every row. Its fields, the values whose bits begin 16 apart, are
/// masked and summed with their words all at once: the sum of a row takes at most 16 bits. Only the
/// sums are unpacked. The additions of one row so serve two rows of 32 bits, or four of 64.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn sum_fields<T: Int, const W: usize>(differences: Packed<'_, T>, base: T, out: &mut [T]) -> bool {
    let Packed {
        packed,
        width,
        base: step,
    } = differences;
    // `W` rows of words; each has as many rows of values as a word has values, of `2 * lanes` each.
    let (rows, lanes) = (T::BITS as usize / W, lanes::<T>());
    if width as usize != W || packed.len() != packed_bytes(width) || out.len() != VECTOR {
        return false;
    }
    let field = splat(T::from_u64(0xffff));
    let mut before = first_bases(base, step);
    let steps = splat(step.wrapping_mul(T::from_u64(2 * lanes as u64)));
    for (word, row_of_words) in packed.as_chunks::<ROW>().0.iter().enumerate() {
        let sums = field_sums::<T, W>(row_of_words);
        for row in 0..rows {
            let bits = shift((row / (16 / W) * 16) as u32);
            let [low, high, total] =
                sums[row % (16 / W)].map(|x| _mm512_and_si512(shift_right::<T>(x, bits), field));
            // SAFETY: `W * rows` is the bits of a word, and `2 * lanes` for each of them are 1,024.
            unsafe {
                let to = out.as_mut_ptr().add((word * rows + row) * 2 * lanes);
                _mm512_storeu_si512(to.cast(), add::<T>(before[0], low));
                _mm512_storeu_si512(to.add(lanes).cast(), add::<T>(before[1], high));
            }
            before = before.map(|before| add::<T>(before, add::<T>(total, steps)));
        }
    }
    true
}

/// For both registers of the first row: `base`, and the steps to each of the lanes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn first_bases<T: Int>(base: T, step: T) -> [__m512i; 2] {
    let mut to_lanes = [T::ZERO; 32];
    let mut sum = base;
    for place in &mut to_lanes {
        sum = sum.wrapping_add(step);
        *place = sum;
    }
    // SAFETY (both): at most 16 words from at most the 16th on, of 32.
    [0, lanes::<T>()].map(|i| unsafe { _mm512_loadu_si512(to_lanes.as_ptr().add(i).cast()) })
}

/// Prefix sums of values 0, 16 / W, 2 * 16 / W and so on of the words in a row; then of values 1,
/// 16 / W + 1 ...: those of the first half, of the second half with all before it, and the total.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn field_sums<T: Int, const W: usize>(row_of_words: &[u8; ROW]) -> [[__m512i; 3]; 16] {
    // One value of W bits in every 16.
    let one = splat(T::from_u64(((1 << W) - 1) * 0x0001_0001_0001_0001));
    // SAFETY (both): two registers of 64 bytes are a row.
    let halves =
        [0, 64].map(|half| unsafe { _mm512_loadu_si512(row_of_words.as_ptr().add(half).cast()) });
    let mut sums = [[_mm512_setzero_si512(); 3]; 16];
    for (i, sums) in sums[..16 / W].iter_mut().enumerate() {
        let bits = shift((i * W) as u32);
        let [low, high] =
            halves.map(|x| lane_sums::<T>(_mm512_and_si512(shift_right::<T>(x, bits), one)));
        let high = add::<T>(high, last_lane::<T>(low));
        *sums = [low, high, last_lane::<T>(high)];
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::for_ints;
    use crate::testing::Rng;
    use crate::word::VECTOR;

    fn agree<T: Int>() {
        let mut rng = Rng(0x5eed);
        for width in 0..=T::BITS {
            let values: Vec<T> = rng.words(VECTOR);
            let (step, base) = (T::from_u64(rng.next()), T::from_u64(rng.next()));
            // One byte in front misaligns the words.
            let mut packed = vec![9];
            assert!(crate::pack(&values, width, &mut packed));
            let packed = &packed[1..];
            let differences = Packed {
                packed,
                width,
                base: step,
            };
            let (mut expected, mut out) = (vec![T::ZERO; VECTOR], vec![T::ZERO; VECTOR]);
            assert!(unpack(packed, width, step, &mut expected));
            let mut sum = base;
            for value in &mut expected {
                sum = sum.wrapping_add(*value);
                *value = sum;
            }
            assert!(unpack_prefix_sum(differences, base, &mut out));
            assert_eq!(out, expected, "{width} bits");
            assert!(!unpack_prefix_sum(differences, base, &mut out[1..]));
            let wider = Packed {
                width: width + 1,
                ..differences
            };
            assert!(!unpack_prefix_sum(wider, base, &mut out));
        }
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        for_ints!(agree);
    }
}
