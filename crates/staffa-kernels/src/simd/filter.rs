//! Of many values those whose bit is set, one after another: what a filter keeps of a vector that
//! was decoded.
//!
//!   out[k] = values[position of the k-th set bit]
//!
//! Where a register is wide enough for it (AVX-512), it is packed at once; else every value is
//! written, and the place to write to moves on by its bit, so that nothing is guessed.

use crate::simd::dispatch::dispatch;
use crate::strings::dict::copy_string;
use crate::word::Word;
#[cfg(target_arch = "x86_64")]
#[allow(clippy::wildcard_imports)] // As everybody does.
use std::arch::x86_64::*;

/// Writes the values whose bit of `mask` is set to the start of `out`: how many they are. More of
/// `out` may be written.
///
/// `None` where there are fewer bits than values, or `out` is too small; bits past the last value
/// count for nothing.
///
/// ```
/// let mut out = [0u32; 2];
/// assert_eq!(staffa_kernels::filter(&[7, 8, 9, 1], &[0b1010], &mut out), Some(2));
/// assert_eq!(out, [8, 1]);
/// ```
pub fn filter<T: Word>(values: &[T], mask: &[u64], out: &mut [T]) -> Option<usize> {
    let count = ones(mask, values.len())?;
    filter_words(values, mask, out.get_mut(..count)?);
    Some(count)
}

/// How many of the first `len` bits are set; `None` where there are fewer bits.
pub(crate) fn ones(mask: &[u64], len: usize) -> Option<usize> {
    let whole: u32 = mask
        .get(..len / 64)?
        .iter()
        .map(|word| word.count_ones())
        .sum();
    let rest = match len % 64 {
        0 => 0,
        bits => (mask.get(len / 64)? & !(u64::MAX << bits)).count_ones(),
    };
    Some((whole + rest) as usize)
}

dispatch! {
    fn filter_words<T: Word>(values: &[T], mask: &[u64], out: &mut [T])
        = scalar, avx2: scalar, avx512: filter_avx512;
}

#[inline(always)]
fn scalar<T: Word>(values: &[T], mask: &[u64], out: &mut [T]) {
    one_by_one(values, mask, 0, out);
}

/// From the value `from` on, a multiple of 64.
#[inline(always)]
fn one_by_one<T: Word>(values: &[T], mask: &[u64], from: usize, out: &mut [T]) {
    let mut at = 0;
    for (values, word) in values[from..].chunks(64).zip(&mask[from / 64..]) {
        if *word == u64::MAX && values.len() == 64 {
            out[at..at + 64].copy_from_slice(values);
            at += 64;
            continue;
        }
        for (i, value) in values.iter().enumerate() {
            // Past the last one wanted there is no place.
            let Some(place) = out.get_mut(at) else { return };
            *place = *value;
            at += (word >> i & 1) as usize;
        }
    }
}

/// Words of 32 and 64 bits: a register of values at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
fn filter_avx512<T: Word>(values: &[T], mask: &[u64], out: &mut [T]) {
    if T::BYTES != 4 && T::BYTES != 8 {
        return scalar(values, mask, out);
    }
    let (lanes, mut at) = (64 / T::BYTES, 0);
    let whole = values.len() / 64 * 64;
    for start in (0..whole).step_by(lanes) {
        let own = mask[start / 64] >> (start % 64);
        let own = if lanes == 16 {
            own & 0xffff
        } else {
            own & 0xff
        };
        let count = own.count_ones() as usize;
        let (from, to) = (&values[start..start + lanes], &mut out[at..]);
        let room = to.len() >= lanes;
        assert!(to.len() >= count);
        // SAFETY: the load takes the `lanes` values of `from`; the store writes as many to `to`, if
        // that has room for them, else the first `count`, for which it has.
        unsafe {
            let loaded = _mm512_loadu_si512(from.as_ptr().cast());
            let to: *mut T = to.as_mut_ptr();
            if lanes == 16 {
                let packed = _mm512_maskz_compress_epi32(own as u16, loaded);
                let kept = if room {
                    0xffff
                } else {
                    (1u32 << count).wrapping_sub(1) as u16
                };
                _mm512_mask_storeu_epi32(to.cast(), kept, packed);
            } else {
                let packed = _mm512_maskz_compress_epi64(own as u8, loaded);
                let kept = if room {
                    0xff
                } else {
                    (1u32 << count).wrapping_sub(1) as u8
                };
                _mm512_mask_storeu_epi64(to.cast(), kept, packed);
            }
        }
        at += count;
    }
    one_by_one(values, mask, whole, &mut out[at..]);
}

/// Of strings that stand one after another in `bytes`, of these lengths, those whose bit of `mask`
/// is set: one after another at the start of `out`, their lengths at the start of `kept`; how many
/// strings and bytes they are. Up to 32 bytes of `out` behind them may be overwritten as well.
///
/// `None` where there are fewer bits or bytes than the lengths say, or `kept` or `out` is too
/// small; both then hold anything.
///
/// ```
/// let (mut kept, mut out) = ([0; 2], [0; 4]);
/// assert_eq!(staffa_kernels::filter_strings(&[1, 2, 3], b"abbccc", &[0b101], &mut kept, &mut out), Some((2, 4)));
/// assert_eq!((&out, kept), (b"accc", [1, 3]));
/// ```
pub fn filter_strings(
    lengths: &[u32],
    bytes: &[u8],
    mask: &[u64],
    kept: &mut [u32],
    out: &mut [u8],
) -> Option<(usize, usize)> {
    if mask.len() < lengths.len().div_ceil(64) {
        return None;
    }
    let (mut count, mut to, mut from) = (0, 0, 0usize);
    let mut ends = [0u32; 64];
    for (lengths, word) in lengths.chunks(64).zip(mask) {
        let ends = &mut ends[..lengths.len()];
        let sum = crate::sum_u32(lengths);
        let all = bytes.get(from..from.checked_add(usize::try_from(sum).ok()?)?)?;
        // Sums of lengths inside of `bytes`; those of 4 GiB and more in 64 strings are refused.
        u32::try_from(sum).ok()?;
        let mut end = 0;
        for (place, length) in ends.iter_mut().zip(lengths) {
            end += length;
            *place = end;
        }
        let mut left = if lengths.len() < 64 {
            word & !(u64::MAX << lengths.len())
        } else {
            *word
        };
        while left != 0 {
            let i = left.trailing_zeros() as usize;
            left &= left - 1;
            let len = lengths[i] as usize;
            let start = ends[i] as usize - len;
            *kept.get_mut(count)? = lengths[i];
            // What follows the string may be read with it, to the end of all.
            copy_string(bytes.get(from + start..)?, out.get_mut(to..)?, len)?;
            (count, to) = (count + 1, to + len);
        }
        from += all.len();
    }
    Some((count, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;
    use crate::word::U256;

    const LENS: [usize; 10] = [0, 1, 15, 16, 63, 64, 65, 200, 1000, 1024];

    fn mask(rng: &mut Rng, len: usize, share: usize) -> (Vec<bool>, Vec<u64>) {
        let bits: Vec<bool> = (0..len)
            .map(|i| rng.below(16) < share || share == 1 && i / 64 == 1)
            .collect();
        let mut words = vec![0u64; len.div_ceil(64)];
        bits.iter()
            .enumerate()
            .for_each(|(i, bit)| words[i / 64] |= u64::from(*bit) << (i % 64));
        (bits, words)
    }

    fn kept<T: Copy>(values: &[T], bits: &[bool]) -> Vec<T> {
        values
            .iter()
            .zip(bits)
            .filter(|(_, bit)| **bit)
            .map(|(value, _)| *value)
            .collect()
    }

    fn agrees<T: Word>(rng: &mut Rng) {
        for (len, share) in LENS
            .iter()
            .flat_map(|len| [0, 1, 8, 15, 16].map(|share| (*len, share)))
        {
            let (bits, mut words) = mask(rng, len, share);
            let bytes: Vec<u8> = (0..len * T::BYTES).map(|_| rng.next() as u8).collect();
            let values: Vec<T> = bytes
                .chunks(T::BYTES)
                .map(|bytes| T::read_le(bytes).unwrap())
                .collect();
            let expected = kept(&values, &bits);
            for room in [0, 1, 100] {
                let mut out = vec![T::default(); expected.len() + room];
                assert_eq!(filter(&values, &words, &mut out), Some(expected.len()));
                assert_eq!(out[..expected.len()], expected, "{len} {share}");
            }
            if !expected.is_empty() {
                assert_eq!(
                    filter(&values, &words, &mut vec![T::default(); expected.len() - 1]),
                    None
                );
                assert_eq!(
                    filter(&values, &words[1..], &mut vec![T::default(); len]),
                    None
                );
            }
            // Bits past the last value count for nothing.
            if len % 64 > 0 {
                words[len / 64] |= u64::MAX << (len % 64);
                let mut out = vec![T::default(); expected.len()];
                assert_eq!(filter(&values, &words, &mut out), Some(expected.len()));
                assert_eq!(out, expected);
            }
        }
    }

    #[test]
    fn words_agree_with_picking_one_by_one() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            agrees::<u8>(&mut rng);
            agrees::<u16>(&mut rng);
            agrees::<u32>(&mut rng);
            agrees::<u64>(&mut rng);
            agrees::<u128>(&mut rng);
            agrees::<U256>(&mut rng);
        });
    }

    #[test]
    fn strings_agree_with_picking_one_by_one() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for (len, share) in LENS
                .iter()
                .flat_map(|len| [0, 1, 8, 16].map(|share| (*len, share)))
            {
                for longest in [0, 1, 16, 33, 200] {
                    let (bits, words) = mask(&mut rng, len, share);
                    let lengths: Vec<u32> =
                        (0..len).map(|_| rng.below(longest + 1) as u32).collect();
                    let bytes: Vec<u8> = lengths
                        .iter()
                        .flat_map(|l| vec![rng.next() as u8; *l as usize])
                        .collect();
                    let mut rest = bytes.as_slice();
                    let mut expected = Vec::new();
                    for (length, bit) in lengths.iter().zip(&bits) {
                        let (string, others) = rest.split_at(*length as usize);
                        if *bit {
                            expected.extend_from_slice(string);
                        }
                        rest = others;
                    }
                    let wanted = kept(&lengths, &bits);
                    for slack in [0, 1, 31, 32, 100] {
                        let (mut found, mut out) =
                            (vec![0; wanted.len()], vec![0xaa; expected.len() + slack]);
                        let done = filter_strings(&lengths, &bytes, &words, &mut found, &mut out);
                        assert_eq!(done, Some((wanted.len(), expected.len())));
                        assert_eq!(
                            (&found, &out[..expected.len()]),
                            (&wanted, expected.as_slice())
                        );
                        assert!(
                            out[expected.len()..]
                                .iter()
                                .skip(32)
                                .all(|byte| *byte == 0xaa)
                        );
                    }
                    let mut found = vec![0; len];
                    if !expected.is_empty() {
                        let mut out = vec![0; expected.len() - 1];
                        assert_eq!(
                            filter_strings(&lengths, &bytes, &words, &mut found, &mut out),
                            None
                        );
                        let mut out = vec![0; bytes.len()];
                        assert_eq!(
                            filter_strings(&lengths, &bytes, &words[1..], &mut found, &mut out),
                            None
                        );
                        let short = &bytes[..bytes.len() - 1];
                        assert_eq!(
                            filter_strings(&lengths, short, &words, &mut found, &mut out),
                            None
                        );
                    }
                }
            }
            assert_eq!(
                filter_strings(&[u32::MAX; 3], b"", &[7], &mut [0; 3], &mut []),
                None
            );
        });
    }
}
