//! Strings to bits: which begin with a prefix, or are equal to it.
//!
//! The first 16 bytes of a string take one load and one comparison, whatever its length: a call of
//! `memcmp` and the branch on its result take longer than decoding the string.

use super::copy::first_16;
use crate::simd::dispatch::dispatch;
use crate::simd::sum_u32;

/// Bytes of the first comparison.
const HEAD: usize = 16;

dispatch! {
    /// Sets bit `i % 64` of `out[i / 64]` where string `i` begins with `prefix`, or, if `whole`,
    /// where it is equal to `prefix`; clears it elsewhere, and the bits past the last string. The
    /// strings stand one after another in `bytes`; those past the end of `out` are passed over.
    ///
    /// `false`, with anything in `out`, where `lengths` exceed `bytes`.
    ///
    /// ```
    /// let mut out = [0];
    /// assert!(staffa_kernels::begin_with(&[3, 1, 2], b"abcaab", b"ab", false, &mut out));
    /// assert_eq!(out, [0b101]);
    /// assert!(staffa_kernels::begin_with(&[3, 1, 2], b"abcaab", b"ab", true, &mut out));
    /// assert_eq!(out, [0b100]);
    /// ```
    pub fn begin_with(lengths: &[u32], bytes: &[u8], prefix: &[u8], whole: bool, out: &mut [u64]) -> bool = begin_body;
}

#[inline(always)]
fn begin_body(lengths: &[u32], bytes: &[u8], prefix: &[u8], whole: bool, out: &mut [u64]) -> bool {
    if sum_u32(lengths) > bytes.len() as u64 {
        return false;
    }
    let wanted = first_16(prefix);
    let mask = if prefix.len() < HEAD {
        (1 << (8 * prefix.len())) - 1
    } else {
        u128::MAX
    };
    let mut at = 0;
    for (word, lengths) in out.iter_mut().zip(lengths.chunks(64)) {
        *word = 0;
        for (i, length) in lengths.iter().enumerate() {
            let len = *length as usize;
            let long = if whole {
                len == prefix.len()
            } else {
                len >= prefix.len()
            };
            let rest = &bytes[at..];
            let mut found = long & ((first_16(rest) ^ wanted) & mask == 0);
            if prefix.len() > HEAD && found {
                found = rest.starts_with(prefix);
            }
            *word |= u64::from(found) << i;
            at += len;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    #[test]
    fn agrees_with_one_string_at_a_time() {
        on_every_level(|| {
            let mut rng = Rng(0x9ef1);
            for count in [0, 1, 63, 64, 65, 200, 1024] {
                let mut letter = |i| {
                    if i < 18 {
                        b'a'
                    } else {
                        b'a' + rng.below(2) as u8
                    }
                };
                let strings: Vec<Vec<u8>> = (0..count)
                    .map(|i| (0..i * 7 % 24).map(&mut letter).collect())
                    .collect();
                let lengths: Vec<u32> = strings.iter().map(|string| string.len() as u32).collect();
                let bytes = strings.concat();
                let prefixes = (0..24).map(|len| vec![b'a'; len]);
                let picked: Vec<Vec<u8>> = (0..20)
                    .filter_map(|_| strings.get(rng.below(count)).cloned())
                    .collect();
                for prefix in prefixes
                    .chain(picked)
                    .chain([b"b".to_vec(), b"aaaaaaaaaaaaaaaaaab".to_vec()])
                {
                    for whole in [false, true] {
                        let mut out = vec![u64::MAX; count.div_ceil(64)];
                        assert!(begin_with(&lengths, &bytes, &prefix, whole, &mut out));
                        for i in 0..out.len() * 64 {
                            let is = |s: &Vec<u8>| {
                                if whole {
                                    *s == prefix
                                } else {
                                    s.starts_with(&prefix)
                                }
                            };
                            assert_eq!(
                                out[i / 64] >> (i % 64) & 1 == 1,
                                strings.get(i).is_some_and(is),
                                "{i} of {count}"
                            );
                        }
                    }
                }
                if !bytes.is_empty() {
                    assert!(!begin_with(
                        &lengths,
                        &bytes[1..],
                        b"a",
                        false,
                        &mut [0; 16]
                    ));
                }
            }
        });
    }
}
