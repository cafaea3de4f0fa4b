//! Inclusive prefix sum: differences back to values, in place.
//!
//!   out[0] = base + d[0],  out[i] = out[i-1] + d[i]   (wrapping)
//!
//! A plain loop waits a cycle or more for every sum, and no compiler vectorises it. In a register,
//! `log2(lanes)` shifts and additions sum all lanes; from one register to the next only one
//! addition waits. Differences of 1, 2, 4 and 8 bits are summed while they are packed, several to a
//! word.

use crate::simd::bitpack::{Packed, unpack};
use crate::simd::dispatch::dispatch;
use crate::word::Int;
#[cfg(target_arch = "x86_64")]
use crate::{
    VECTOR,
    simd::bitpack::{packed_bytes, rows_avx512},
};
#[cfg(target_arch = "x86_64")]
#[allow(clippy::wildcard_imports)] // As everybody does: two dozen intrinsics.
use std::arch::x86_64::*;

/// Sums `values` up in place, from `base`: `out[0] = base + d[0]`, `out[i] = out[i-1] + d[i]`,
/// wrapping.
///
/// ```
/// let mut values = [1u32, 2, 3];
/// staffa_kernels::prefix_sum(10, &mut values);
/// assert_eq!(values, [11, 13, 16]);
/// ```
#[inline]
pub fn prefix_sum<T: Int>(base: T, values: &mut [T]) {
    T::prefix_sum(base, values);
}

#[inline(always)]
fn scalar<T: Int>(base: T, values: &mut [T]) {
    let mut sum = base;
    for value in values {
        sum = sum.wrapping_add(*value);
        *value = sum;
    }
}

dispatch! { pub(crate) fn u8<>(base: u8, values: &mut [u8]) = scalar, avx2: scan_avx2, avx512: scan_avx2; }
dispatch! { pub(crate) fn u16<>(base: u16, values: &mut [u16]) = scalar, avx2: scan_avx2, avx512: scan_avx2; }
dispatch! { pub(crate) fn u32<>(base: u32, values: &mut [u32]) = scalar, avx2: scan_avx2, avx512: scan_avx512_u32; }
dispatch! { pub(crate) fn u64<>(base: u64, values: &mut [u64]) = scalar, avx2: scan_avx2, avx512: scan_avx512_u64; }

/// In each half of 16 bytes: add the values shifted by 1, by 2, by 4 ... ; then the lower half's
/// sum to the upper half.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn scan_avx2<T: Int>(base: T, values: &mut [T]) {
    let add = |a, b| match T::BYTES {
        1 => _mm256_add_epi8(a, b),
        2 => _mm256_add_epi16(a, b),
        4 => _mm256_add_epi32(a, b),
        _ => _mm256_add_epi64(a, b),
    };
    // The bytes of the last value of a half, repeated.
    let mut last = [0; 32];
    for (i, byte) in last.iter_mut().enumerate() {
        *byte = (16 - T::BYTES + i % T::BYTES) as u8;
    }
    // SAFETY: 32 bytes.
    let last = unsafe { _mm256_loadu_si256(last.as_ptr().cast()) };
    let mut bases = match T::BYTES {
        1 => _mm256_set1_epi8(base.to_u64() as i8),
        2 => _mm256_set1_epi16(base.to_u64() as i16),
        4 => _mm256_set1_epi32(base.to_u64() as i32),
        _ => _mm256_set1_epi64x(base.to_u64() as i64),
    };
    let (whole, rest) = values.split_at_mut(values.len() - values.len() % (32 / T::BYTES));
    for chunk in whole.chunks_exact_mut(32 / T::BYTES) {
        // SAFETY: the chunk has 32 bytes.
        let mut x = unsafe { _mm256_loadu_si256(chunk.as_ptr().cast()) };
        if T::BYTES == 1 {
            x = add(x, _mm256_slli_si256::<1>(x));
        }
        if T::BYTES <= 2 {
            x = add(x, _mm256_slli_si256::<2>(x));
        }
        if T::BYTES <= 4 {
            x = add(x, _mm256_slli_si256::<4>(x));
        }
        x = add(x, _mm256_slli_si256::<8>(x));
        let sums = _mm256_shuffle_epi8(x, last);
        let lower_to_upper = _mm256_permute2x128_si256::<0x08>(sums, sums);
        let total = add(lower_to_upper, sums);
        x = add(x, lower_to_upper);
        // SAFETY: the chunk has 32 bytes.
        unsafe { _mm256_storeu_si256(chunk.as_mut_ptr().cast(), add(x, bases)) };
        // The one addition that waits for the chunk before.
        bases = add(bases, _mm256_permute2x128_si256::<0x11>(total, total));
    }
    scalar(whole.last().copied().unwrap_or(base), rest);
}

/// The sum of every lane and those before it, of 32 bits or 64.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn lane_sums<T: Int>(x: __m512i) -> __m512i {
    let zero = _mm512_setzero_si512();
    if T::BYTES == 4 {
        let x = _mm512_add_epi32(x, _mm512_alignr_epi32::<15>(x, zero));
        let x = _mm512_add_epi32(x, _mm512_alignr_epi32::<14>(x, zero));
        let x = _mm512_add_epi32(x, _mm512_alignr_epi32::<12>(x, zero));
        _mm512_add_epi32(x, _mm512_alignr_epi32::<8>(x, zero))
    } else {
        let x = _mm512_add_epi64(x, _mm512_alignr_epi64::<7>(x, zero));
        let x = _mm512_add_epi64(x, _mm512_alignr_epi64::<6>(x, zero));
        _mm512_add_epi64(x, _mm512_alignr_epi64::<4>(x, zero))
    }
}

/// The sums so far in every lane, and the step from one register of `u64` to the next.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn next_eight(bases: &mut __m512i, x: __m512i) -> __m512i {
    let x = lane_sums::<u64>(x);
    let sums = _mm512_add_epi64(x, *bases);
    // The one addition that waits for the values before.
    *bases = _mm512_add_epi64(*bases, _mm512_permutexvar_epi64(_mm512_set1_epi64(7), x));
    sums
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn scan_avx512_u64(base: u64, values: &mut [u64]) {
    let mut bases = _mm512_set1_epi64(base as i64);
    let (whole, rest) = values.as_chunks_mut::<8>();
    for chunk in &mut *whole {
        // SAFETY (both): the chunk has 64 bytes.
        let x = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
        let x = next_eight(&mut bases, x);
        unsafe { _mm512_storeu_si512(chunk.as_mut_ptr().cast(), x) };
    }
    scalar(whole.as_flattened().last().copied().unwrap_or(base), rest);
}

/// In every 128 bits: value `i` of register `j` becomes value `j` of register `i`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn transposed(of: [__m512i; 4]) -> [__m512i; 4] {
    let low = (
        _mm512_unpacklo_epi32(of[0], of[1]),
        _mm512_unpacklo_epi32(of[2], of[3]),
    );
    let high = (
        _mm512_unpackhi_epi32(of[0], of[1]),
        _mm512_unpackhi_epi32(of[2], of[3]),
    );
    [
        _mm512_unpacklo_epi64(low.0, low.1),
        _mm512_unpackhi_epi64(low.0, low.1),
        _mm512_unpacklo_epi64(high.0, high.1),
        _mm512_unpackhi_epi64(high.0, high.1),
    ]
}

/// Four registers at a time, as 16 times four values: transposed, so that three additions sum the
/// four, and only the totals are summed by shifts.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn scan_avx512_u32(base: u32, values: &mut [u32]) {
    // Fours in the order of the registers to fours in their own order, and back.
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    let mut bases = _mm512_set1_epi32(base as i32);
    let (whole, rest) = values.as_chunks_mut::<64>();
    for chunk in &mut *whole {
        let at = chunk.as_mut_ptr();
        // SAFETY (all four): the chunk has four times 16 values.
        let loaded = [0, 16, 32, 48].map(|i| unsafe { _mm512_loadu_si512(at.add(i).cast()) });
        let [first, second, third, fourth] = transposed(loaded);
        let second = _mm512_add_epi32(first, second);
        let third = _mm512_add_epi32(second, third);
        let fourth = _mm512_add_epi32(third, fourth);
        let totals = _mm512_permutexvar_epi32(order, fourth);
        let x = lane_sums::<u32>(totals);
        let before =
            _mm512_permutexvar_epi32(order, _mm512_add_epi32(_mm512_sub_epi32(x, totals), bases));
        // The one addition that waits for the chunk before.
        bases = _mm512_add_epi32(bases, _mm512_permutexvar_epi32(_mm512_set1_epi32(15), x));
        let sums = [first, second, third, fourth].map(|x| _mm512_add_epi32(x, before));
        for (i, x) in transposed(sums).into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(at.add(16 * i).cast(), x) };
        }
    }
    scalar(whole.as_flattened().last().copied().unwrap_or(base), rest);
}

/// [`unpack`], then [`prefix_sum`] from `base`, without storing the differences between; `false`
/// where `unpack` is.
///
/// ```
/// use staffa_kernels::{Packed, VECTOR, pack, unpack_prefix_sum};
/// let (mut packed, mut out) = (Vec::new(), [0u32; VECTOR]);
/// pack(&[1u32; VECTOR], 2, &mut packed);
/// assert!(unpack_prefix_sum(Packed { packed: &packed, width: 2, base: 4 }, 100, &mut out));
/// assert_eq!(out[..3], [105, 110, 115]);
/// ```
#[inline]
pub fn unpack_prefix_sum<T: Int>(differences: Packed<'_, T>, base: T, out: &mut [T]) -> bool {
    T::unpack_prefix_sum(differences, base, out)
}

/// The plain twin, and as good of 8 and 16 bits.
#[inline(always)]
pub(crate) fn two_steps<T: Int>(differences: Packed<'_, T>, base: T, out: &mut [T]) -> bool {
    let done = unpack(differences.packed, differences.width, differences.base, out);
    prefix_sum(base, out);
    done
}

dispatch! {
    pub(crate) fn unpack_sums_u32<>(differences: Packed<'_, u32>, base: u32, out: &mut [u32]) -> bool
        = two_steps, avx2: two_steps, avx512: unpack_scan_u32;
}
dispatch! {
    pub(crate) fn unpack_sums_u64<>(differences: Packed<'_, u64>, base: u64, out: &mut [u64]) -> bool
        = two_steps, avx2: two_steps, avx512: unpack_scan_u64;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn unpack_scan_u32(differences: Packed<'_, u32>, base: u32, out: &mut [u32]) -> bool {
    scan_fields(differences, base, out) || two_steps(differences, base, out)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn unpack_scan_u64(differences: Packed<'_, u64>, base: u64, out: &mut [u64]) -> bool {
    let Packed {
        packed,
        width,
        base: step,
    } = differences;
    if width == 0 || out.len() != VECTOR {
        return two_steps(differences, base, out);
    }
    if scan_fields(differences, base, out) {
        return true;
    }
    let mut bases = _mm512_set1_epi64(base as i64);
    rows_avx512(packed, width, step, |i, x| {
        // SAFETY: the values of a register from `i` on are among the 1,024.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(i).cast(), next_eight(&mut bases, x)) };
    })
}

/// [`scan_fields_of`], where the width is one of those that it is for.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn scan_fields<T: Int>(differences: Packed<'_, T>, base: T, out: &mut [T]) -> bool {
    match differences.width {
        1 => scan_fields_of::<T, 1>(differences, base, out),
        2 => scan_fields_of::<T, 2>(differences, base, out),
        4 => scan_fields_of::<T, 4>(differences, base, out),
        8 => scan_fields_of::<T, 8>(differences, base, out),
        _ => false,
    }
}

/// Sums up two rows (of 64 bits: four) by the additions of one. A packed word has a value of every
/// row; those whose bits begin 16 apart are masked, all at once, and summed with their words: the
/// sum of a row takes no more than 16 bits. Only the sums are unpacked. Of 32 and 64 bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn scan_fields_of<T: Int, const W: usize>(
    differences: Packed<'_, T>,
    base: T,
    out: &mut [T],
) -> bool {
    let Packed {
        packed,
        width,
        base: step,
    } = differences;
    // Rows of 128 bytes: `W` of words, each of which is as many of values as a word has values,
    // each of `2 * lanes`.
    let (rows, lanes) = (T::BITS as usize / W, 64 / T::BYTES);
    if width as usize != W || packed.len() != packed_bytes(width) || out.len() != VECTOR {
        return false;
    }
    let splat = |value: T| match T::BYTES {
        4 => _mm512_set1_epi32(value.to_u64() as i32),
        _ => _mm512_set1_epi64(value.to_u64() as i64),
    };
    let add = |a, b| match T::BYTES {
        4 => _mm512_add_epi32(a, b),
        _ => _mm512_add_epi64(a, b),
    };
    let right = |x, bits: usize| match T::BYTES {
        4 => _mm512_srl_epi32(x, _mm_cvtsi32_si128(bits as i32)),
        _ => _mm512_srl_epi64(x, _mm_cvtsi32_si128(bits as i32)),
    };
    let last = |x| match T::BYTES {
        4 => _mm512_permutexvar_epi32(_mm512_set1_epi32(15), x),
        _ => _mm512_permutexvar_epi64(_mm512_set1_epi64(7), x),
    };
    // One value of W bits in every 16.
    let one = splat(T::from_u64(((1 << W) - 1) * 0x0001_0001_0001_0001));
    let field = splat(T::from_u64(0xffff));
    // What comes before a row, and the steps to each of its lanes.
    let mut to_lanes = [T::ZERO; 32];
    let mut before_lane = base;
    for place in &mut to_lanes {
        before_lane = before_lane.wrapping_add(step);
        *place = before_lane;
    }
    // SAFETY (both): 16 words of at most 8 bytes, of 32.
    let mut before =
        [0, lanes].map(|i| unsafe { _mm512_loadu_si512(to_lanes.as_ptr().add(i).cast()) });
    let steps = splat(step.wrapping_mul(T::from_u64(2 * lanes as u64)));
    for word in 0..W {
        // SAFETY: `packed` has `W` rows of 128 bytes.
        let halves = [0, 64].map(|half| unsafe {
            _mm512_loadu_si512(packed.as_ptr().add(word * 128 + half).cast())
        });
        // Values 0, 16 / W, 2 * 16 / W and so on of the words; then values 1, 16 / W + 1 ...; of
        // the second half all before it, too; and of the whole row.
        let mut held = [[_mm512_setzero_si512(); 3]; 16];
        for (i, held) in held.iter_mut().enumerate().take(16 / W) {
            let [low, high] =
                halves.map(|x| lane_sums::<T>(_mm512_and_si512(right(x, i * W), one)));
            let high = add(high, last(low));
            *held = [low, high, last(high)];
        }
        for row in 0..rows {
            let [low, high, total] = held[row % (16 / W)]
                .map(|x| _mm512_and_si512(right(x, row / (16 / W) * 16), field));
            // SAFETY: `W * rows` is as many as a word has bits, `2 * lanes` of those are 1,024.
            unsafe {
                let to = out.as_mut_ptr().add((word * rows + row) * 2 * lanes);
                _mm512_storeu_si512(to.cast(), add(before[0], low));
                _mm512_storeu_si512(to.add(lanes).cast(), add(before[1], high));
            }
            before = before.map(|before| add(before, add(total, steps)));
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VECTOR;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    fn agree<T: Int>() {
        let mut rng = Rng(0x5eed);
        for len in (0..200).chain([1023, 1024, 1025, 4096]) {
            let values: Vec<T> = (0..len).map(|_| T::from_u64(rng.next())).collect();
            let base = T::from_u64(rng.next());
            let mut expected = values.clone();
            scalar(base, &mut expected);
            let mut out = values;
            prefix_sum(base, &mut out);
            assert_eq!(out, expected, "{len} values");
        }
        for width in 0..=T::BITS {
            let values: Vec<T> = (0..VECTOR).map(|_| T::from_u64(rng.next())).collect();
            let (step, base) = (T::from_u64(rng.next()), T::from_u64(rng.next()));
            let mut packed = vec![9];
            assert!(crate::pack(&values, width, &mut packed));
            let differences = Packed {
                packed: &packed[1..],
                width,
                base: step,
            };
            let (mut expected, mut out) = (vec![T::ZERO; VECTOR], vec![T::ZERO; VECTOR]);
            assert!(unpack(differences.packed, width, step, &mut expected));
            scalar(base, &mut expected);
            assert!(unpack_prefix_sum(differences, base, &mut out));
            assert_eq!(out, expected, "{width} bits");
            assert!(!unpack_prefix_sum(differences, base, &mut out[1..]));
            assert!(!unpack_prefix_sum(
                Packed {
                    width: width + 1,
                    ..differences
                },
                base,
                &mut out
            ));
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
