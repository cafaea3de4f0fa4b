//! Dictionaries of tokens of 1 to 16 bytes: codes to bytes.
//!
//!   row    = the token's bytes, and any bytes behind them: 16 in all
//!   length = one byte, in a table of its own
//!
//! A whole row is copied, then the output advances by the token's length, so that the next row
//! overwrites the excess: no branch for a token. Rows of one size need no load of their place first,
//! and never cross a cache line.

use super::copy::first_16;
use super::dict::BytesDict;
use crate::simd::dispatch::dispatch;
use crate::simd::max_u32;
use crate::word::as_bytes;

/// Bytes of a row: the longest token.
const ROW: usize = 16;

/// Codes that are measured together: see [`TokenRows::group_ends`].
pub const TOKEN_GROUP: usize = 16;

/// Codes whose lengths and rows are loaded before the first of their rows is stored.
const STEP: usize = 4;

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
    /// One row for each length, aligned to its size. Both stay as they are once built.
    rows: Vec<u128>,
    /// Lengths of 1 to `ROW`.
    lengths: Vec<u8>,
}

impl TokenRows {
    /// Tokens of these lengths, one after another in `data`; `None` when a token has no byte or more
    /// than 16, or `data` is shorter or longer than the tokens.
    pub fn new(lengths: &[u8], data: &[u8]) -> Option<Self> {
        if !lengths.iter().all(|length| is_length(usize::from(*length))) {
            return None;
        }
        let mut end = 0;
        let row = |length: &u8| {
            let start = end;
            end += usize::from(*length);
            // Bytes behind the token do not matter.
            first_16(data.get(start..).unwrap_or_default())
        };
        let rows = lengths.iter().map(row).collect();
        (end == data.len()).then(|| Self {
            rows,
            lengths: lengths.to_vec(),
        })
    }

    /// The strings of a dictionary; `None` when one has no byte or more than 16.
    pub fn of(strings: &BytesDict) -> Option<Self> {
        let count = strings.len();
        let (mut rows, mut lengths) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for range in strings.ranges() {
            if !is_length(range.len()) {
                return None;
            }
            // Bytes behind the token do not matter.
            rows.push(first_16(strings.contents().get(range.start..)?));
            lengths.push(range.len() as u8);
        }
        Some(Self { rows, lengths })
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

    /// Bytes of memory of a dictionary of `tokens` tokens.
    #[inline]
    pub fn bytes_of(tokens: usize) -> usize {
        (ROW + 1) * tokens
    }

    /// Token `i`.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        let row = self.rows.get(i..=i)?;
        as_bytes(row).get(..usize::from(*self.lengths.get(i)?))
    }

    /// Writes the tokens of `codes` one after another to the start of `out`; returns the bytes
    /// written. Up to 16 bytes of `out` behind them may be overwritten as well.
    ///
    /// `None` when a code is out of range, or `out` is too small; `out` then holds anything.
    #[inline]
    pub fn decode(&self, codes: &[u32], out: &mut [u8]) -> Option<usize> {
        decode(self, codes, out)
    }

    /// Where the tokens of every [`TOKEN_GROUP`] codes end, among those of all; `false` when a code
    /// is out of range, there are not as many ends as groups, or all tokens have 4 GiB or more.
    ///
    /// ```
    /// let tokens = staffa_kernels::TokenRows::new(&[4, 1], b"httpx").unwrap();
    /// let mut ends = [0; 2];
    /// assert!(tokens.group_ends(&[0; 20], &mut ends));
    /// assert_eq!(ends, [64, 80]);
    /// ```
    #[inline]
    #[must_use]
    pub fn group_ends(&self, codes: &[u32], ends: &mut [u32]) -> bool {
        group_ends(self, codes, ends)
    }

    #[inline(always)]
    fn covers(&self, codes: &[u32]) -> bool {
        codes.is_empty() || (max_u32(codes) as usize) < self.lengths.len()
    }
}

/// Whether a token may have so many bytes. One without any would let few bytes claim codes without end.
#[inline]
fn is_length(bytes: usize) -> bool {
    (1..=ROW).contains(&bytes)
}

dispatch! { fn decode(tokens: &TokenRows, codes: &[u32], out: &mut [u8]) -> Option<usize> = decode_body; }

#[inline(always)]
fn decode_body(tokens: &TokenRows, codes: &[u32], out: &mut [u8]) -> Option<usize> {
    if !tokens.covers(codes) {
        return None;
    }
    let mut at = 0;
    let (mut steps, rest) = codes.as_chunks::<STEP>();
    while !steps.is_empty() {
        let sure = (out.len() - at) / (STEP * ROW);
        let (now, later) = steps.split_at(sure.clamp(1, steps.len()));
        at = if sure > 0 {
            // SAFETY: `covers` has found every code below the number of tokens. There is room for a
            // row for each code.
            unsafe { put_all(tokens, now, out, at) }
        } else {
            decode_exactly(tokens, now.as_flattened(), out, at)?
        };
        steps = later;
    }
    decode_exactly(tokens, rest, out, at)
}

/// Stores the rows of `codes` one after another from `at` on; returns where their tokens end.
///
/// The place of a store follows from the lengths before it. A load behind a store whose place is not
/// known yet waits: one code after the other takes twice the time of [`STEP`] in turn (Zen 3).
///
/// # Safety
/// Every code must be below the number of tokens, and `out` have [`ROW`] bytes from `at` on for each.
#[inline(always)]
unsafe fn put_all(
    tokens: &TokenRows,
    codes: &[[u32; STEP]],
    out: &mut [u8],
    mut at: usize,
) -> usize {
    for step in codes {
        // SAFETY: the caller's; there are as many rows as lengths.
        let length = |code| usize::from(unsafe { *tokens.lengths.get_unchecked(code as usize) });
        let row = |code| unsafe { *tokens.rows.get_unchecked(code as usize) };
        let (lengths, rows) = (step.map(length), step.map(row));
        for (row, length) in rows.into_iter().zip(lengths) {
            // SAFETY: the caller's: no code before has used more than `ROW` bytes.
            unsafe { out.as_mut_ptr().add(at).cast::<u128>().write_unaligned(row) };
            at += length;
        }
    }
    at
}

/// Compiled for the baseline only: where it can, the compiler collects lengths in registers, which
/// takes twice as long as to add them one by one (Zen 5).
fn group_ends(tokens: &TokenRows, codes: &[u32], ends: &mut [u32]) -> bool {
    let groups = codes.len().div_ceil(TOKEN_GROUP);
    let most = u32::MAX as usize / (TOKEN_GROUP * ROW);
    if ends.len() != groups || groups > most || !tokens.covers(codes) {
        return false;
    }
    // SAFETY: `covers` has found every code below the number of tokens.
    let length = |code: &u32| unsafe { u32::from(*tokens.lengths.get_unchecked(*code as usize)) };
    let (full, rest) = codes.as_chunks::<TOKEN_GROUP>();
    let full = full
        .iter()
        .map(|codes| codes.iter().map(length).sum::<u32>());
    let sums = full.chain((!rest.is_empty()).then(|| rest.iter().map(length).sum()));
    let mut end = 0;
    for (sum, place) in sums.zip(ends) {
        end += sum;
        *place = end;
    }
    true
}

/// Stores the row of `code` at `at`; returns the token's length.
///
/// # Safety
/// `code` must be below the number of tokens, `at + ROW <= out.len()`.
#[inline(always)]
unsafe fn put(tokens: &TokenRows, code: u32, out: &mut [u8], at: usize) -> usize {
    // SAFETY: the caller's; there are as many rows as lengths, and `out` does not overlap them.
    unsafe {
        let row = tokens.rows.as_ptr().add(code as usize).cast::<u8>();
        std::ptr::copy_nonoverlapping(row, out.as_mut_ptr().add(at), ROW);
        usize::from(*tokens.lengths.get_unchecked(code as usize))
    }
}

/// The plain twin: one code at a time from `at` on, not a byte past the end.
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

    fn agree(rows: &TokenRows, tokens: &[Vec<u8>], codes: &[u32]) {
        let expected: Vec<&[u8]> = codes
            .iter()
            .map(|&c| tokens[c as usize].as_slice())
            .collect();
        let expected = expected.concat();
        let bytes = expected.len();
        let group = |codes: &[u32]| codes.iter().map(|&c| tokens[c as usize].len() as u32).sum();
        let sums: Vec<u32> = codes.chunks(TOKEN_GROUP).map(group).collect();
        let mut ends = vec![0; sums.len()];
        assert!(rows.group_ends(codes, &mut ends));
        let differences = ends
            .iter()
            .scan(0, |end, next| Some(next - std::mem::replace(end, *next)));
        assert_eq!(differences.collect::<Vec<_>>(), sums);
        assert!(!rows.group_ends(codes, &mut vec![0; sums.len() + 1]));
        for slack in [0, 1, 15, 16, 127, 128, 300] {
            let mut out = vec![0xaa; bytes + slack];
            assert_eq!(rows.decode(codes, &mut out), Some(bytes));
            assert_eq!(out[..bytes], expected);
            assert!(out[bytes..].iter().skip(ROW).all(|&b| b == 0xaa));
        }
        if bytes > 0 {
            assert_eq!(rows.decode(codes, &mut vec![0; bytes - 1]), None);
        }
        let wrong = [codes, &[tokens.len() as u32]].concat();
        assert_eq!(rows.decode(&wrong, &mut vec![0; bytes + 300]), None);
        assert!(!rows.group_ends(&wrong, &mut vec![0; wrong.len().div_ceil(TOKEN_GROUP)]));
    }

    #[test]
    fn agrees_with_the_scalar_twin() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for longest in [1, 3, 15, 16] {
                for count in [1, 2, 50, 4096] {
                    let token = |_| {
                        let len = 1 + rng.below(longest);
                        rng.bytes(len)
                    };
                    let tokens: Vec<Vec<u8>> = (0..count).map(token).collect();
                    let lengths: Vec<u8> = tokens.iter().map(|token| token.len() as u8).collect();
                    let rows = TokenRows::new(&lengths, &tokens.concat()).unwrap();
                    let ends = tokens.iter().scan(0, |end, token| {
                        *end += token.len() as u32;
                        Some(*end)
                    });
                    let offsets: Vec<u32> = [0].into_iter().chain(ends).collect();
                    let dict = BytesDict::new(&offsets, &tokens.concat()).unwrap();
                    let same = TokenRows::of(&dict).unwrap();
                    for (i, token) in tokens.iter().enumerate() {
                        assert_eq!([rows.get(i), same.get(i)], [Some(token.as_slice()); 2]);
                    }
                    assert!((rows.len(), rows.is_empty(), rows.get(count)) == (count, false, None));
                    for len in [0, 1, 7, 8, 9, 100, 1024] {
                        let codes: Vec<u32> = (0..len).map(|_| rng.below(count) as u32).collect();
                        agree(&rows, &tokens, &codes);
                        agree(&same, &tokens, &codes);
                    }
                }
            }
        });
    }

    #[test]
    fn wrong_tokens_are_refused() {
        assert!(TokenRows::new(&[17], &[0; 17]).is_none());
        assert!(TokenRows::new(&[1, 0], b"a").is_none());
        assert!(TokenRows::new(&[2, 2], b"abc").is_none());
        assert!(TokenRows::new(&[2], b"abc").is_none());
        assert!(TokenRows::new(&[], b"").unwrap().is_empty());
        for offsets in [[0, 17, 18], [0, 0, 18]] {
            let strings = BytesDict::new(&offsets, &[0; 18]).unwrap();
            assert!(TokenRows::of(&strings).is_none());
        }
    }
}
