//! Tokens of [`OnPair`](super::OnPair), and the codes of a text by the longest token at each place.

use super::super::packed::pack_vector;
use super::super::prelude::*;
use super::codes::put_groups;
use super::table::{LONGEST, code_width, strings_of};
use super::train::TRIED;
use crate::limits::map_parallel;
use crate::values::{Strings, StringsBuf, distinct_bytes};

/// Set beside the code of a token of two bytes, and not beside that of one.
const TWO: u16 = 1 << 15;

/// Strings that a thread encodes at once.
const PART: usize = 4 * VECTOR;

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
    mask(0), mask(1), mask(2), mask(3), mask(4), mask(5), mask(6), mask(7), mask(8),
    mask(9), mask(10), mask(11), mask(12), mask(13), mask(14), mask(15), mask(16),
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
        let Some([low_mask, high_mask]) = MASKS.get(self.len as usize) else {
            return false;
        };
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

/// Tokens, and the tables that find the longest one at a place of a text.
pub(super) struct Tokens {
    pub(super) strings: StringsBuf,
    /// Low bits of a hash that are not used, of 32.
    shift: u32,
    /// By a hash of their first four bytes.
    buckets: Vec<Bucket>,
    /// The tokens of all buckets, and places that a bucket has outgrown.
    arena: Vec<Token>,
    /// Tokens of three bytes, by a hash of them: the bytes and one, the code.
    threes: Vec<(u32, u32)>,
    /// By the row of the second byte of a text, and by its first, the longest token of at most two: its
    /// code, and whether it has two. The first row has those of one byte.
    shorts: Vec<[u16; 256]>,
    /// The row of a second byte: the first where no token of two bytes ends with it.
    rows: [u16; 256],
    /// Codes of tokens of one byte, by the byte.
    singles: [u16; 256],
}

impl Tokens {
    /// With a token for each of some bytes, and room for `most`.
    pub(super) fn of_bytes(bytes: &[u8], most: usize) -> Self {
        let bits = (2 * most).max(1 << 8).next_power_of_two().ilog2();
        let mut singles = [0; 256];
        for (code, byte) in (0u16..).zip(bytes) {
            *entry_mut(&mut singles, *byte) = code;
        }
        Self {
            strings: bytes.chunks(1).collect(),
            shift: 32 - bits,
            buckets: vec![Bucket::default(); 1 << bits],
            arena: Vec::new(),
            threes: vec![(0, 0); 1 << bits],
            shorts: vec![singles],
            rows: [0; 256],
            singles,
        }
    }

    /// With these tokens, those of one byte first, and room for `most`.
    pub(super) fn of_list<'t>(tokens: impl Iterator<Item = &'t [u8]> + Clone, most: usize) -> Self {
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

    /// The tokens of a [table](super::table::table).
    pub(super) fn read(table: &[u8]) -> Option<Self> {
        let strings = strings_of(table)?;
        let strings = strings.as_strings();
        Some(Self::of_list(strings.iter(), strings.len()))
    }

    /// Adds a token, unless it is there.
    pub(super) fn add(&mut self, token: &[u8]) {
        let code = self.strings.as_strings().len() as u32;
        let (word, len) = (head(token), token.len());
        let [low, _] = word;
        let [first, second] = [low as u8, (low >> 8) as u8];
        match len {
            1 => {
                *entry_mut(&mut self.singles, first) = code as u16;
                for row in &mut self.shorts {
                    let place = entry_mut(row, first);
                    *place = if *place & TWO == 0 {
                        code as u16
                    } else {
                        *place
                    };
                }
            }
            2 => {
                let row = entry_mut(&mut self.rows, second);
                if *row == 0 {
                    *row = self.shorts.len() as u16;
                    self.shorts.push(self.singles);
                }
                if let Some(row) = self.shorts.get_mut(usize::from(*row)) {
                    *entry_mut(row, first) = code as u16 | TWO;
                }
            }
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
        // One branch, hardly ever taken: an empty place is as likely as a taken one.
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
        let Some(place) = self.arena.get_mut(at) else {
            return false;
        };
        *place = token;
        bucket.len += 1;
        true
    }

    /// The longest token at the start of a text that is not empty: its code and its length.
    #[inline]
    pub(super) fn longest(&self, text: &[u8]) -> (u32, usize) {
        match text.first_chunk::<LONGEST>() {
            Some(chunk) => self.longest_of(head(chunk), LONGEST),
            None => self.longest_of(head(text), text.len()),
        }
    }

    /// The longest token of at most `within` bytes at the start of a text, by its first words. All
    /// tables are read, whether needed or not: branches would be hard to predict, and loads would
    /// wait for one another. A bucket that is not there has no tokens.
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
        let [first, second] = [low as u8, (low >> 8) as u8];
        let row = self.shorts.get(usize::from(*entry(&self.rows, second)));
        let short = row.map_or(0, |row| *entry(row, first));
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
            return (u32::from(*entry(&self.singles, first)), 1);
        }
        let is_three = within >= 3 && bytes > 0;
        if is_three {
            (code_of_three, 3)
        } else {
            (u32::from(short & !TWO), 1 + usize::from(short / TWO))
        }
    }

    /// Appends the codes of a text.
    fn codes(&self, mut text: &[u8], codes: &mut Vec<u32>) -> Result<()> {
        let past = || Error::internal("a token past the end of the text");
        while let Some(chunk) = text.first_chunk::<LONGEST>() {
            let (code, len) = self.longest_of(head(chunk), LONGEST);
            codes.push(code);
            text = text.get(len..).ok_or_else(past)?;
        }
        while !text.is_empty() {
            let (code, len) = self.longest(text);
            codes.push(code);
            text = text.get(len..).ok_or_else(past)?;
        }
        Ok(())
    }

    /// Number of codes of parts of a text.
    pub(super) fn count(&self, parts: &[&[u8]]) -> Result<usize> {
        let mut codes = Vec::new();
        parts
            .iter()
            .try_for_each(|part| self.codes(part, &mut codes))?;
        Ok(codes.len())
    }

    /// Whether every byte of a text has a token.
    pub(super) fn knows(&self, text: &[u8]) -> bool {
        let strings = self.strings.as_strings();
        let has = |byte: &u8| strings.iter().any(|token| token == [*byte]);
        text.is_empty() || distinct_bytes(&[text]).iter().all(has)
    }

    /// The payload, tokens, ends and codes, and the number of codes.
    pub(super) fn payload(&self, strings: Strings<'_>) -> Result<(Vec<u8>, usize)> {
        let mut payload = self.head(strings.contents().len() / 2);
        // The codes of vectors that follow each other, and where those of each end.
        let of_part = |first: usize| -> Result<(Vec<u32>, Vec<usize>)> {
            let (mut codes, mut ends) = (Vec::new(), Vec::new());
            let behind = strings.len().min(first + PART);
            for first in (first..behind).step_by(VECTOR) {
                let rows = strings.slice(first, VECTOR.min(behind - first));
                self.codes(rows.contents(), &mut codes)?;
                ends.push(codes.len());
            }
            Ok((codes, ends))
        };
        let mut codes = Vec::new();
        for (part, ends) in map_parallel((0..strings.len()).step_by(PART), of_part)? {
            let before = codes.len();
            payload.extend(
                ends.iter()
                    .flat_map(|end| ((before + end) as u32).to_le_bytes()),
            );
            codes.extend(part);
        }
        put_groups(&codes, &self.strings.as_strings().lengths(), &mut payload)?;
        for vector in codes.chunks(VECTOR) {
            pack_vector(vector, self.width(), &mut payload);
        }
        Ok((payload, codes.len()))
    }

    /// A payload as long as that of the strings, about, with zeros for ends and codes.
    pub(super) fn sized_payload(&self, strings: Strings<'_>) -> Result<Vec<u8>> {
        let ends = 4 * strings.len().div_ceil(VECTOR);
        let codes = self.estimated_bytes(strings.contents(), 2 * TRIED)?;
        let mut payload = self.head(ends + codes);
        payload.resize(payload.len() + ends + codes, 0);
        Ok(payload)
    }

    /// The number of tokens and the tokens, with room for `more` bytes.
    fn head(&self, more: usize) -> Vec<u8> {
        let strings = self.strings.as_strings();
        let mut head = Vec::with_capacity(2 + self.table_bytes() + more);
        head.extend((strings.len() as u16 - 1).to_le_bytes());
        head.extend(strings.lengths().iter().map(|len| *len as u8));
        head.extend_from_slice(&self.strings.data);
        head
    }

    pub(super) fn width(&self) -> u32 {
        code_width(self.strings.as_strings().len())
    }

    pub(super) fn table_bytes(&self) -> usize {
        self.strings.data.len() + self.strings.as_strings().len()
    }
}
