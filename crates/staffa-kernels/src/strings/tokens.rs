//! Tokens of at most 16 bytes: codes to bytes.
//!
//!   row = a token's bytes and whatever follows, 16 in all      length = one byte, in a table of
//!   its own
//!
//! A row is copied whole, then `out` goes on by the token's length, so that the next row overwrites
//! what was too much: no branch for a token. Rows of one size need no place to be loaded before
//! their bytes, and never cross a cache line.

use crate::simd::dispatch::dispatch;
use crate::simd::gather::max_u32;
use crate::strings::dict::BytesDict;

/// Bytes of a row: the longest token.
const ROW: usize = 16;

/// Codes between two looks at how much room is left.
const STEP: usize = 8;

/// Tokens, prepared for decoding.
///
/// ```
/// let tokens = staffa_kernels::TokenRows::new(&[4, 1], b"httpx").unwrap();
/// let mut out = [0; 9];
/// assert_eq!(tokens.decode(&[0, 1, 0], &mut out), Some(9));
/// assert_eq!(&out, b"httpxhttp");
/// ```
#[derive(Clone, Debug)]
pub struct TokenRows {
    /// As many as lengths, aligned to their size. Nothing changes the two after they are made.
    rows: Vec<u128>,
    /// At most `ROW` each.
    lengths: Vec<u8>,
}

impl TokenRows {
    /// Of tokens of these lengths, one after another in `data`. `None` when one has more than 16
    /// bytes, or `data` ends before them or behind them.
    pub fn new(lengths: &[u8], data: &[u8]) -> Option<Self> {
        let mut rows = Vec::with_capacity(lengths.len());
        let mut rest = data;
        for &length in lengths {
            if usize::from(length) > ROW {
                return None;
            }
            // Bytes behind the token do not matter.
            let (token, behind) = rest.split_at_checked(length.into())?;
            rows.push(
                rest.first_chunk()
                    .map_or_else(|| padded(token), |row| u128::from_le_bytes(*row)),
            );
            rest = behind;
        }
        rest.is_empty().then(|| Self {
            rows,
            lengths: lengths.to_vec(),
        })
    }

    /// Of a dictionary's strings. `None` when one has more than 16 bytes.
    pub fn of(strings: &BytesDict) -> Option<Self> {
        let bytes_of = |range: std::ops::Range<usize>| strings.contents().get(range);
        let rows = strings
            .ranges()
            .map(|range| Some(padded(bytes_of(range).filter(|token| token.len() <= ROW)?)));
        let lengths = strings.ranges().map(|range| range.len() as u8).collect();
        Some(Self {
            rows: rows.collect::<Option<_>>()?,
            lengths,
        })
    }

    /// The number of tokens.
    #[inline]
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there are no tokens.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Bytes of memory that so many tokens take.
    #[inline]
    pub fn bytes_of(tokens: usize) -> usize {
        (ROW + 1) * tokens
    }

    /// Token `i`.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        let row = self.rows.get(i..=i)?;
        crate::as_bytes(row).get(..usize::from(*self.lengths.get(i)?))
    }

    /// The tokens of these codes one after another at the start of `out`: the bytes written. Up to
    /// 16 bytes of `out` behind them may be overwritten as well.
    ///
    /// `None` when a code is out of range, or `out` is too small; `out` then holds anything.
    #[inline]
    pub fn decode(&self, codes: &[u32], out: &mut [u8]) -> Option<usize> {
        decode(self, codes, out)
    }

    /// The sum of the lengths of the tokens that these codes stand for; `None` when one is out of
    /// range.
    #[inline]
    pub fn decoded_bytes(&self, codes: &[u32]) -> Option<u64> {
        decoded_bytes(self, codes)
    }

    #[inline(always)]
    fn covers(&self, codes: &[u32]) -> bool {
        codes.is_empty() || (max_u32(codes) as usize) < self.lengths.len()
    }
}

/// A token's row: `u128`s are kept as the bytes they have in memory, which is little-endian.
#[inline(always)]
fn padded(token: &[u8]) -> u128 {
    let mut row = [0; ROW];
    row[..token.len()].copy_from_slice(token);
    u128::from_le_bytes(row)
}

dispatch! { fn decode(tokens: &TokenRows, codes: &[u32], out: &mut [u8]) -> Option<usize> = decode_body; }

#[inline(always)]
fn decode_body(tokens: &TokenRows, codes: &[u32], out: &mut [u8]) -> Option<usize> {
    if !tokens.covers(codes) {
        return None;
    }
    let mut at = 0;
    let mut steps = codes.chunks_exact(STEP);
    for step in steps.by_ref() {
        if out.len() - at >= STEP * ROW {
            for &code in step {
                // SAFETY: `covers` has found every code below the number of tokens. At most 7 of 16
                // bytes come before it.
                at += unsafe { put(tokens, code, out, at) };
            }
        } else {
            at = decode_exactly(tokens, step, out, at)?;
        }
    }
    decode_exactly(tokens, steps.remainder(), out, at)
}

dispatch! { fn decoded_bytes(tokens: &TokenRows, codes: &[u32]) -> Option<u64> = decoded_bytes_body; }

#[inline(always)]
fn decoded_bytes_body(tokens: &TokenRows, codes: &[u32]) -> Option<u64> {
    if !tokens.covers(codes) {
        return None;
    }
    // SAFETY: `covers` has found every code below the number of tokens.
    Some(
        codes
            .iter()
            .map(|&code| u64::from(unsafe { *tokens.lengths.get_unchecked(code as usize) }))
            .sum(),
    )
}

/// Stores the row of `code` at `at`; the token's length.
///
/// # Safety
/// `code` must be below the number of tokens, `at + ROW <= out.len()`.
#[inline(always)]
unsafe fn put(tokens: &TokenRows, code: u32, out: &mut [u8], at: usize) -> usize {
    // SAFETY: the caller's; there are as many rows as lengths, and no `out` in them.
    unsafe {
        let row = tokens.rows.as_ptr().add(code as usize).cast::<u8>();
        std::ptr::copy_nonoverlapping(row, out.as_mut_ptr().add(at), ROW);
        usize::from(*tokens.lengths.get_unchecked(code as usize))
    }
}

/// From `at` on, a code at a time, not a byte past the end.
#[inline(always)]
fn decode_exactly(
    tokens: &TokenRows,
    codes: &[u32],
    out: &mut [u8],
    mut at: usize,
) -> Option<usize> {
    for &code in codes {
        if out.len() - at >= ROW {
            // SAFETY: `covers` has found every code below the number of tokens; there is room.
            at += unsafe { put(tokens, code, out, at) };
        } else {
            let token = tokens.get(code as usize)?;
            out.get_mut(at..at + token.len())?.copy_from_slice(token);
            at += token.len();
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    #[test]
    fn agrees_with_the_scalar_twin() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for longest in [0, 1, 3, 15, 16] {
                for count in [1, 2, 50, 4096] {
                    let tokens: Vec<Vec<u8>> = (0..count)
                        .map(|_| {
                            (0..rng.below(longest + 1))
                                .map(|_| rng.next() as u8)
                                .collect()
                        })
                        .collect();
                    let lengths: Vec<u8> = tokens.iter().map(|token| token.len() as u8).collect();
                    let rows = TokenRows::new(&lengths, &tokens.concat()).unwrap();
                    let mut offsets = vec![0];
                    offsets.extend(tokens.iter().scan(0, |end, token| {
                        *end += token.len() as u32;
                        Some(*end)
                    }));
                    let same = TokenRows::of(&BytesDict::new(&offsets, &tokens.concat()).unwrap())
                        .unwrap();
                    assert!(
                        (0..count)
                            .all(|i| rows.get(i) == Some(&tokens[i]) && same.get(i) == rows.get(i))
                    );
                    assert!((rows.len(), rows.is_empty(), rows.get(count)) == (count, false, None));
                    for len in [0, 1, 7, 8, 9, 100, 1024] {
                        let mut codes: Vec<u32> =
                            (0..len).map(|_| rng.below(count) as u32).collect();
                        let expected: Vec<u8> = codes
                            .iter()
                            .flat_map(|c| &tokens[*c as usize])
                            .copied()
                            .collect();
                        let bytes = expected.len();
                        assert_eq!(rows.decoded_bytes(&codes), Some(bytes as u64));
                        for slack in [0, 1, 15, 16, 127, 128, 300] {
                            for rows in [&rows, &same] {
                                let mut out = vec![0xaa; bytes + slack];
                                assert_eq!(rows.decode(&codes, &mut out), Some(bytes));
                                assert_eq!(out[..bytes], expected);
                                assert!(out[bytes..].iter().skip(ROW).all(|&b| b == 0xaa));
                            }
                        }
                        if bytes > 0 {
                            assert_eq!(rows.decode(&codes, &mut vec![0; bytes - 1]), None);
                        }
                        if len > 0 {
                            codes[rng.below(len)] = count as u32;
                            assert_eq!(rows.decode(&codes, &mut vec![0; bytes + 300]), None);
                            assert_eq!(rows.decoded_bytes(&codes), None);
                        }
                    }
                }
            }
        });
    }

    #[test]
    fn wrong_tokens_are_refused() {
        assert!(TokenRows::new(&[17], &[0; 17]).is_none());
        assert!(TokenRows::new(&[2, 2], b"abc").is_none());
        assert!(TokenRows::new(&[2], b"abc").is_none());
        assert!(TokenRows::new(&[], b"").unwrap().is_empty());
        assert!(TokenRows::of(&BytesDict::new(&[0, 17], &[0; 17]).unwrap()).is_none());
    }
}
