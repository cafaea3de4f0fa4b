//! Tokens of all lengths, and the longest one at a place.

use super::equal::Equal;
use super::tier::{LONGEST_TOKEN, Tier, TokenMatch, words};

/// Finds the longest of its tokens at each place of a text.
///
/// ```
/// let mut tokens = staffa_kernels::TokenMatcher::new(b"abc", 100);
/// assert!(tokens.add(b"abca"));
/// assert!(!tokens.add(b"abca"), "there already");
/// let mut codes = Vec::new();
/// tokens.codes(b"abcabcb", &mut codes);
/// assert_eq!(codes, [3, 1, 2, 1]);
/// ```
#[derive(Debug, Clone)]
pub struct TokenMatcher {
    /// Tokens so far.
    len: usize,
    /// By the row of the second byte of a text, and by its first, the longest token of at most two. The first row has
    /// those of one byte.
    shorts: Vec<[TokenMatch; 256]>,
    /// The row of a second byte: the first where no token of two bytes ends with it.
    rows: [u16; 256],
    of_3: Tier<3>,
    of_4: Tier<4>,
    of_6: Tier<6>,
    of_8: Tier<8>,
    of_12: Tier<12>,
}

impl TokenMatcher {
    /// With a token for each of some bytes, each given once, and tables for `most` tokens. Codes count tokens as they come.
    pub fn new(bytes: &[u8], most: usize) -> Self {
        let bits = most.clamp(1 << 7, 1 << 15).next_power_of_two().ilog2();
        let mut singles = [TokenMatch::UNKNOWN; 256];
        for (code, byte) in (0..=u16::MAX).zip(bytes) {
            singles[usize::from(*byte)] = TokenMatch::new(code, 1);
        }
        Self {
            len: bytes.len(),
            shorts: vec![singles],
            rows: [0; 256],
            of_3: Tier::new(bits),
            of_4: Tier::new(bits),
            of_6: Tier::new(bits),
            of_8: Tier::new(bits),
            of_12: Tier::new(bits),
        }
    }

    /// Adds a token of 2 to 16 bytes and gives it the next code; false, and nothing is changed, where it is there, has
    /// another length, or there are too many.
    pub fn add(&mut self, token: &[u8]) -> bool {
        let Ok(code) = u16::try_from(self.len) else {
            return false;
        };
        let found = TokenMatch::new(code, token.len());
        let is_new = match (token.len(), token) {
            (2, &[first, second]) => self.add_pair(first, second, found),
            (3, _) => self.of_3.add(token, found),
            (4..6, _) => self.of_4.add(token, found),
            (6..8, _) => self.of_6.add(token, found),
            (8..12, _) => self.of_8.add(token, found),
            (12..=LONGEST_TOKEN, _) => self.of_12.add(token, found),
            _ => false,
        };
        self.len += usize::from(is_new);
        is_new
    }

    fn add_pair(&mut self, first: u8, second: u8, found: TokenMatch) -> bool {
        let row = &mut self.rows[usize::from(second)];
        if *row == 0 {
            *row = self.shorts.len() as u16;
            self.shorts.push(self.shorts[0]);
        }
        let place = &mut self.shorts[usize::from(*row)][usize::from(first)];
        let is_new = place.bytes() < 2;
        if is_new {
            *place = found;
        }
        is_new
    }

    /// The longest token that a text begins with, one comparison after the other: the twin of what registers do, and
    /// the way of the last bytes of a text. A byte without a token
    /// has code 0, like the first token; an empty text has [`TokenMatch::NONE`].
    pub fn longest(&self, text: &[u8]) -> TokenMatch {
        let Some(first) = text.first() else {
            return TokenMatch::NONE;
        };
        let second = text.get(1).map(|second| self.rows[usize::from(*second)]);
        let short = self.shorts[usize::from(second.unwrap_or(0))][usize::from(*first)];
        let found = self.of_12.longest(text);
        let found = found.or_else(|| self.of_8.longest(text));
        let found = found.or_else(|| self.of_6.longest(text));
        let found = found.or_else(|| self.of_4.longest(text));
        let found = found.or_else(|| self.of_3.longest(text));
        found.unwrap_or(short)
    }

    /// The longest token that 16 bytes begin with.
    ///
    /// # Safety
    /// As that of [`Equal::masked`].
    #[inline(always)]
    pub(super) unsafe fn longest_by<E: Equal>(&self, text: &[u8; LONGEST_TOKEN]) -> TokenMatch {
        let words = words(text);
        let [low, _] = words;
        let row = usize::from(self.rows[low as usize >> 8 & 0xff]);
        // SAFETY: a row is pushed before a second byte names it.
        let short = unsafe { self.shorts.get_unchecked(row) }[low as usize & 0xff];
        // From short tokens to long ones: the last tier that has one is right.
        // SAFETY: the caller's.
        unsafe {
            let found = self.of_3.longest_or::<E>(words, short);
            let found = self.of_4.longest_or::<E>(words, found);
            let found = self.of_6.longest_or::<E>(words, found);
            let found = self.of_8.longest_or::<E>(words, found);
            self.of_12.longest_or::<E>(words, found)
        }
    }
}
