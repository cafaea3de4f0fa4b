//! The tokens of [`OnPair`](super::OnPair): trained on a text, found in it again.
//!
//! ```text
//! text -> sample -> pairs of neighbours that are seen often -> tokens -> codes of the whole text
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::VECTOR;

use super::super::bitpack::pack_vector;
use crate::values::{Strings, StringsBuf};

/// Longest token, bytes.
pub(super) const LONGEST: usize = 16;
/// Most tokens, and most of a text of at least [`LONG`] bytes, whose codes have a bit more then.
pub(super) const MOST: usize = 1 << 12;
const MOST_OF_LONG: usize = 1 << 13;
const LONG: usize = 3 << 19;
/// Bytes that training reads at the most; twice as many of a long text.
pub(super) const TRAINED: usize = 1 << 19;
/// How often a pair must be seen to become a token, at the most.
const OFTEN: usize = 8;
/// Bytes by which two tables of tokens are compared.
const COMPARED: usize = 1 << 16;

/// Set beside the code of a token of two bytes.
const TWO: u16 = 1 << 15;

/// Instead of the number of tokens where they stand in a shared part.
pub(super) const SHARED: u16 = u16::MAX;

/// The tokens that a payload of this encoding has of its own: their number, their lengths, their
/// bytes.
pub(super) fn table(payload: &[u8]) -> Option<&[u8]> {
    let count = u16::from_le_bytes(*payload.first_chunk()?);
    if count == SHARED {
        return None;
    }
    let lengths = 2 + usize::from(count) + 1;
    let bytes: usize = payload
        .get(2..lengths)?
        .iter()
        .map(|len| usize::from(*len))
        .sum();
    payload.get(..lengths + bytes)
}

/// The tokens of a table, as strings.
pub(super) fn strings_of(table: &[u8]) -> StringsBuf {
    let count = table
        .first_chunk()
        .map_or(0, |count| usize::from(u16::from_le_bytes(*count)) + 1);
    let (lengths, mut bytes) = table
        .get(2..)
        .and_then(|rest| rest.split_at_checked(count))
        .unwrap_or_default();
    let token = |len: &u8| {
        let (token, rest) = bytes
            .split_at_checked(usize::from(*len))
            .unwrap_or_default();
        bytes = rest;
        token
    };
    lengths.iter().map(token).collect()
}

/// Bits of a code among so many tokens.
pub(super) fn code_width(tokens: usize) -> u32 {
    usize::BITS - tokens.saturating_sub(1).leading_zeros()
}

/// Parts of a text, together at most `most` bytes, spread over it.
pub(super) fn sample(text: &[u8], most: usize) -> Vec<&[u8]> {
    const PART: usize = 4096;
    if text.len() <= most {
        return vec![text];
    }
    let parts = most / PART;
    let stride = text.len() / parts;
    (0..parts)
        .filter_map(|i| text.get(i * stride..(i * stride + PART).min(text.len())))
        .collect()
}

/// The first 16 bytes of a text as two words; 0 where it has fewer.
#[inline]
fn head(text: &[u8]) -> [u64; 2] {
    let bytes = text.first_chunk::<16>().copied().unwrap_or_else(|| {
        let mut bytes = [0; 16];
        bytes
            .iter_mut()
            .zip(text)
            .for_each(|(to, from)| *to = *from);
        bytes
    });
    let word = u128::from_le_bytes(bytes);
    [word as u64, (word >> 64) as u64]
}

/// The bits of the first `len` bytes of two words.
const fn mask(len: usize) -> [u64; 2] {
    let mask = if len >= LONGEST {
        u128::MAX
    } else {
        (1 << (8 * len)) - 1
    };
    [mask as u64, (mask >> 64) as u64]
}

/// [`mask`] of every length.
#[rustfmt::skip]
const MASKS: [[u64; 2]; LONGEST + 1] = [
    mask(0), mask(1), mask(2), mask(3), mask(4), mask(5), mask(6), mask(7), mask(8), mask(9), mask(10), mask(11), mask(12),
    mask(13), mask(14), mask(15), mask(16),
];

/// A token of four bytes or more.
#[derive(Debug, Clone, Copy, Default)]
struct Token {
    word: [u64; 2],
    len: u32,
    code: u32,
}

impl Token {
    #[inline]
    fn begins(&self, [low, high]: [u64; 2]) -> bool {
        let [low_mask, high_mask] = MASKS.get(self.len as usize).copied().unwrap_or_default();
        let [own_low, own_high] = self.word;
        (low ^ own_low) & low_mask | (high ^ own_high) & high_mask == 0
    }
}

/// Tokens with the same hash of their first four bytes, the longest first: `len` from place
/// `2 * start` of the arena on. There is room for the next power of two, at least 2.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    start: u16,
    len: u16,
}

/// How often pairs of codes were seen, of late: an entry is `pair << 4 | count`. Two pairs that
/// share a place take it from each other, so that what is seldom seen is forgotten.
struct Pairs {
    table: Vec<u32>,
    shift: u32,
}

impl Pairs {
    /// For a text of so many bytes.
    fn of(bytes: usize) -> Self {
        let bits = bytes.max(1).ilog2().clamp(10, 17);
        Self {
            table: vec![0; 2 << bits],
            shift: 64 - bits,
        }
    }

    /// Counts a pair once more, and forgets it once it has been seen `often`, at most [`OFTEN`]
    /// times.
    #[inline]
    fn is_often(&mut self, before: u32, code: u32, often: u32) -> bool {
        let key = before << 13 | code;
        let place = (u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        // Either of two places; of others there the one seen less is on its way out.
        let Some([a, b]) = self.table.as_chunks_mut::<2>().0.get_mut(place) else {
            return false;
        };
        let entry = if *a >> 4 == key || *b >> 4 != key && *a & 15 <= *b & 15 {
            a
        } else {
            b
        };
        if *entry >> 4 != key && *entry & 15 > 0 {
            *entry -= 1;
            return false;
        }
        *entry = (key << 4 | *entry & 15) + 1;
        let reached = *entry & 15 >= often;
        if reached {
            *entry &= !15;
        }
        reached
    }
}

/// Tokens, and the way from a text to their codes.
pub(super) struct Tokens {
    pub(super) strings: StringsBuf,
    /// Of 32 bits of a hash so many are not used.
    shift: u32,
    /// By a hash of their first four bytes.
    buckets: Vec<Bucket>,
    /// The tokens of all buckets, and places that a bucket has outgrown.
    arena: Vec<Token>,
    /// Tokens of three bytes, by a hash of them: the bytes and one, the code.
    threes: Vec<(u32, u32)>,
    /// By the first two bytes of a text, the longest token of at most two: its code, and whether it
    /// has two.
    shorts: Vec<u16>,
    /// Tokens of one byte, by it.
    singles: [u16; 256],
}

impl Tokens {
    /// Trained as suits the length of the text.
    pub(super) fn of(strings: Strings<'_>, trial: bool) -> Self {
        let text = strings.contents();
        if trial || text.len() < LONG {
            return Self::train(strings, if trial { TRAINED / 64 } else { TRAINED }, MOST);
        }
        let many = Self::train(strings, 2 * TRAINED, MOST_OF_LONG);
        let all = many.strings.as_strings();
        let few = Self::of_list(all.iter().take(MOST), MOST);
        let bytes = |tokens: &Self| {
            let sample = sample(text, COMPARED);
            let sampled: usize = sample.iter().map(|part| part.len()).sum();
            let codes = tokens.count(&sample);
            let share = text.len() as f64 / sampled.max(1) as f64;
            codes as f64 * share * f64::from(tokens.width()) / 8.0 + tokens.table_bytes() as f64
        };
        if bytes(&few) < bytes(&many) {
            few
        } else {
            many
        }
    }

    /// With a token for each of some bytes, and room for so many.
    fn of_bytes(bytes: &[u8], most: usize) -> Self {
        let bits = (2 * most).max(1 << 8).next_power_of_two().ilog2();
        let mut singles = [0; 256];
        for (code, byte) in (0u16..).zip(bytes) {
            singles
                .iter_mut()
                .skip(usize::from(*byte))
                .take(1)
                .for_each(|place| *place = code);
        }
        Self {
            strings: bytes.chunks(1).collect(),
            shift: 32 - bits,
            buckets: vec![Bucket::default(); 1 << bits],
            arena: Vec::new(),
            threes: vec![(0, 0); 1 << bits],
            shorts: singles.repeat(256),
            singles,
        }
    }

    /// With these tokens, those of one byte first, and room for so many.
    fn of_list<'t>(tokens: impl Iterator<Item = &'t [u8]> + Clone, most: usize) -> Self {
        let bytes: Vec<u8> = tokens
            .clone()
            .map_while(|token| {
                if let [byte] = token {
                    Some(*byte)
                } else {
                    None
                }
            })
            .collect();
        let mut list = Self::of_bytes(&bytes, most);
        tokens.skip(bytes.len()).for_each(|token| list.add(token));
        list
    }

    /// The tokens of a [`table`].
    pub(super) fn read(table: &[u8]) -> Self {
        let strings = strings_of(table);
        let strings = strings.as_strings();
        Self::of_list(strings.iter(), strings.len())
    }

    pub(super) fn train(strings: Strings<'_>, most_bytes: usize, most: usize) -> Self {
        let text = strings.contents();
        // A token costs its bytes and one: it must come often enough to pay, and not so seldom that
        // chance fills the table.
        let paying = text.len() / 24;
        let mut seen = [false; 256];
        text.iter().for_each(|byte| {
            seen.iter_mut()
                .skip(usize::from(*byte))
                .take(1)
                .for_each(|s| *s = true);
        });
        // A table is never empty.
        seen.iter_mut()
            .take(usize::from(text.is_empty()))
            .for_each(|s| *s = true);
        let bytes: Vec<u8> = (0..=255u8)
            .zip(seen)
            .filter(|(_, seen)| *seen)
            .map(|(byte, _)| byte)
            .collect();
        let mut tokens = Self::of_bytes(&bytes, most.min(256 + paying));
        let most = most.min(tokens.strings.as_strings().len() + paying);
        let sample = sample(text, most_bytes);
        let sampled: usize = sample.iter().map(|part| part.len()).sum();
        let often = (sampled / (MOST * 16)).clamp(3, OFTEN) as u32;
        let mut pairs = Pairs::of(sampled);
        for part in sample {
            let (mut rest, mut before) = (part, None::<(u32, usize)>);
            while !rest.is_empty() {
                let (code, len) = tokens.longest(rest);
                if tokens.strings.as_strings().len() >= most {
                    return tokens;
                }
                let consumed = part.len() - rest.len();
                rest = rest.get(len..).unwrap_or_default();
                before = match before {
                    Some((last, last_len)) if last_len + len <= LONGEST => {
                        if pairs.is_often(last, code, often) {
                            let joined = part
                                .get(consumed - last_len..consumed + len)
                                .unwrap_or_default();
                            let new = tokens.strings.as_strings().len() as u32;
                            tokens.add(joined);
                            Some((new, joined.len()))
                        } else {
                            Some((code, len))
                        }
                    }
                    _ => Some((code, len)),
                };
            }
        }
        tokens
    }

    fn add(&mut self, token: &[u8]) {
        let code = self.strings.as_strings().len() as u32;
        let (word, len) = (head(token), token.len());
        let [low, _] = word;
        match len {
            1 => {
                self.singles
                    .iter_mut()
                    .skip(low as usize)
                    .take(1)
                    .for_each(|place| *place = code as u16);
                let own = self.shorts.iter_mut().skip(low as usize).step_by(256);
                own.filter(|place| **place & TWO == 0)
                    .for_each(|place| *place = code as u16);
            }
            2 => self
                .shorts
                .iter_mut()
                .skip(low as usize)
                .take(1)
                .for_each(|place| *place = code as u16 | TWO),
            // Never full: there are more places than tokens.
            3 => {
                let place = self.three(low as u32);
                let Some(place) = self.threes.get_mut(place).filter(|(bytes, _)| *bytes == 0)
                else {
                    return;
                };
                *place = (low as u32 + 1, code);
            }
            _ => {
                if !self.insert(Token {
                    word,
                    len: len as u32,
                    code,
                }) {
                    return;
                }
            }
        }
        self.strings.push(token);
    }

    /// A hash of some bytes, as many bits as the tables need.
    #[inline]
    fn place(&self, bytes: u32) -> usize {
        (bytes.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }

    /// Where a token of three bytes stands, or would. There are more places than tokens.
    #[inline]
    fn three(&self, bytes: u32) -> usize {
        let mut place = self.place(bytes);
        // One branch, hardly ever taken: that no token is here is no rarer than that one is.
        let is_other = |held: u32| u32::from(held != 0) & u32::from(held != bytes + 1) == 1;
        while self
            .threes
            .get(place)
            .is_some_and(|(held, _)| is_other(*held))
        {
            place = (place + 1) & (self.threes.len() - 1);
        }
        place
    }

    /// Puts a token into its bucket; false where it stands there.
    fn insert(&mut self, token: Token) -> bool {
        let [low, _] = token.word;
        let place = self.place(low as u32);
        let Some(bucket) = self.buckets.get_mut(place) else {
            return false;
        };
        let (start, len) = (2 * usize::from(bucket.start), usize::from(bucket.len));
        let own = self.arena.get(start..start + len).unwrap_or_default();
        if own
            .iter()
            .any(|t| t.len == token.len && t.word == token.word)
        {
            return false;
        }
        let at = start + own.partition_point(|t| t.len > token.len);
        let at = if len != 1 && (len == 0 || len.is_power_of_two()) {
            let moved = self.arena.len();
            // No more than four places for every token: far fewer than there are numbers for.
            let Ok(start_of_pair) = u16::try_from(moved / 2) else {
                return false;
            };
            self.arena.extend_from_within(start..start + len);
            bucket.start = start_of_pair;
            self.arena
                .resize(moved + (len * 2).max(2), Token::default());
            at - start + moved
        } else {
            at
        };
        let end = 2 * usize::from(bucket.start) + len;
        self.arena.copy_within(at..end, at + 1);
        self.arena
            .iter_mut()
            .skip(at)
            .take(1)
            .for_each(|place| *place = token);
        bucket.len += 1;
        true
    }

    /// The longest token that a text which is not empty begins with: its code and its length.
    #[inline]
    fn longest(&self, text: &[u8]) -> (u32, usize) {
        match text.first_chunk::<LONGEST>() {
            Some(chunk) => self.longest_of(head(chunk), LONGEST),
            None => self.longest_of(head(text), text.len()),
        }
    }

    /// Likewise, going by the first words of a text of at least so many bytes. Everything is looked
    /// up whether it is wanted or not: what is found is hard to predict, and places in memory wait
    /// for one another otherwise.
    #[inline]
    fn longest_of(&self, word: [u64; 2], within: usize) -> (u32, usize) {
        let [low, _] = word;
        let bucket = self
            .buckets
            .get(self.place(low as u32))
            .copied()
            .unwrap_or_default();
        let three = low as u32 & 0x00ff_ffff;
        let (bytes, code_of_three) = self
            .threes
            .get(self.three(three))
            .copied()
            .unwrap_or_default();
        let short = self
            .shorts
            .get((low & 0xffff) as usize)
            .copied()
            .unwrap_or(0);
        let start = 2 * usize::from(bucket.start);
        for token in self
            .arena
            .get(start..start + usize::from(bucket.len))
            .unwrap_or_default()
        {
            if token.begins(word) && token.len as usize <= within {
                return (token.code, token.len as usize);
            }
        }
        if within < 2 {
            return (
                self.singles
                    .get((low & 0xff) as usize)
                    .map_or(0, |code| u32::from(*code)),
                1,
            );
        }
        let is_three = within >= 3 && bytes > 0;
        let code = if is_three {
            code_of_three
        } else {
            u32::from(short & !TWO)
        };
        (
            code,
            if is_three {
                3
            } else {
                1 + usize::from(short / TWO)
            },
        )
    }

    /// Appends the codes of a text.
    fn codes(&self, mut text: &[u8], codes: &mut Vec<u32>) {
        while let Some(chunk) = text.first_chunk::<LONGEST>() {
            let (code, len) = self.longest_of(head(chunk), LONGEST);
            codes.push(code);
            text = text.get(len..).unwrap_or_default();
        }
        while !text.is_empty() {
            let (code, len) = self.longest(text);
            codes.push(code);
            text = text.get(len..).unwrap_or_default();
        }
    }

    /// How many codes parts of a text take.
    pub(super) fn count(&self, parts: &[&[u8]]) -> usize {
        let mut codes = Vec::new();
        parts.iter().for_each(|part| self.codes(part, &mut codes));
        codes.len()
    }

    /// Whether every byte of a text has a token.
    pub(super) fn knows(&self, text: &[u8]) -> bool {
        let mut seen = [false; 256];
        text.iter().for_each(|byte| {
            seen.iter_mut()
                .skip(usize::from(*byte))
                .take(1)
                .for_each(|s| *s = true);
        });
        for token in self.strings.as_strings().iter() {
            if let [byte] = token {
                seen.iter_mut()
                    .skip(usize::from(*byte))
                    .take(1)
                    .for_each(|seen| *seen = false);
            }
        }
        !seen.contains(&true)
    }

    /// Tokens, ends and codes; with how many codes there are.
    pub(super) fn payload(&self, strings: Strings<'_>) -> (Vec<u8>, usize) {
        let mut payload = Vec::with_capacity(strings.contents().len() / 2);
        payload.extend((self.strings.as_strings().len() as u16 - 1).to_le_bytes());
        payload.extend(
            self.strings
                .as_strings()
                .lengths()
                .iter()
                .map(|len| *len as u8),
        );
        payload.extend_from_slice(&self.strings.data);
        let mut codes: Vec<u32> = Vec::new();
        for first in (0..strings.len()).step_by(VECTOR) {
            let rows = strings.slice(first, VECTOR.min(strings.len() - first));
            self.codes(rows.contents(), &mut codes);
            payload.extend((codes.len() as u32).to_le_bytes());
        }
        for vector in codes.chunks(VECTOR) {
            pack_vector(vector, self.width(), &mut payload);
        }
        (payload, codes.len())
    }

    pub(super) fn width(&self) -> u32 {
        code_width(self.strings.as_strings().len())
    }

    pub(super) fn table_bytes(&self) -> usize {
        self.strings.data.len() + self.strings.as_strings().len()
    }
}
