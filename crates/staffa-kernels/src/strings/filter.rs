//! Strings whose bit is set, one after another: those that a filter keeps of a decoded vector.

use super::copy::copy_string;
use crate::simd::sum_u32;

/// Copies the strings whose bit of `mask` is set, one after another, to the start of `out`, and
/// their lengths to the start of `kept`; returns the number of strings and of bytes. The strings
/// stand one after another in `bytes`, with these `lengths`. Up to 32 bytes of `out` behind the
/// copied ones may be overwritten as well.
///
/// `None` where there are fewer bits or bytes than `lengths` needs, or `kept` or `out` is too small;
/// both then hold anything.
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
        let sum = sum_u32(lengths);
        let all = bytes.get(from..from.checked_add(usize::try_from(sum).ok()?)?)?;
        // Ends are within `bytes`; 64 strings of 4 GiB and more are refused.
        u32::try_from(sum).ok()?;
        let every = u64::MAX >> (64 - lengths.len());
        if *word & every == every {
            kept.get_mut(count..count + lengths.len())?
                .copy_from_slice(lengths);
            out.get_mut(to..to + all.len())?.copy_from_slice(all);
            (count, to, from) = (count + lengths.len(), to + all.len(), from + all.len());
            continue;
        }
        let mut end = 0;
        for (place, length) in ends.iter_mut().zip(lengths) {
            end += length;
            *place = end;
        }
        let mut left = *word & every;
        while left != 0 {
            let i = left.trailing_zeros() as usize;
            left &= left - 1;
            let len = lengths[i] as usize;
            let start = ends[i] as usize - len;
            *kept.get_mut(count)? = lengths[i];
            // The copy may read on behind the string, to the end of `bytes`.
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

    fn agree(rng: &mut Rng, len: usize, share: usize, longest: usize) {
        let (bits, words) = rng.bits(len, share);
        let lengths: Vec<u32> = (0..len).map(|_| rng.below(longest + 1) as u32).collect();
        let strings: Vec<Vec<u8>> = lengths.iter().map(|l| rng.bytes(*l as usize)).collect();
        let bytes = strings.concat();
        let wanted = strings.iter().zip(&bits).filter(|(_, bit)| **bit);
        let wanted: Vec<&[u8]> = wanted.map(|(string, _)| string.as_slice()).collect();
        let expected = wanted.concat();
        let kept: Vec<u32> = wanted.iter().map(|string| string.len() as u32).collect();
        for slack in [0, 1, 31, 32, 100] {
            let (mut found, mut out) = (vec![0; kept.len()], vec![0xaa; expected.len() + slack]);
            let done = filter_strings(&lengths, &bytes, &words, &mut found, &mut out);
            assert_eq!(done, Some((kept.len(), expected.len())));
            assert_eq!(
                (&found, &out[..expected.len()]),
                (&kept, expected.as_slice())
            );
            assert!(
                out[expected.len()..]
                    .iter()
                    .skip(32)
                    .all(|byte| *byte == 0xaa)
            );
        }
        if !expected.is_empty() {
            let (mut found, mut out) = (vec![0; len], vec![0; bytes.len()]);
            let mut filter = |bytes: &[u8], words: &[u64], room: usize| {
                filter_strings(&lengths, bytes, words, &mut found, &mut out[..room])
            };
            assert_eq!(filter(&bytes, &words, expected.len() - 1), None);
            assert_eq!(filter(&bytes, &words[1..], bytes.len()), None);
            assert_eq!(filter(&bytes[1..], &words, bytes.len()), None);
        }
    }

    #[test]
    fn agrees_with_one_string_at_a_time() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for len in [0, 1, 15, 16, 63, 64, 65, 200, 1000, 1024] {
                for share in [0, 1, 8, 16] {
                    for longest in [0, 1, 16, 33, 200] {
                        agree(&mut rng, len, share, longest);
                    }
                }
            }
            let long = [u32::MAX; 3];
            assert_eq!(filter_strings(&long, b"", &[7], &mut [0; 3], &mut []), None);
        });
    }
}
