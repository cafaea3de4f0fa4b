//! Tokens of some lengths, by a hash of their first bytes.

use std::hint::select_unpredictable;

use super::equal::{Equal, LANES};
use crate::strings::copy::first_16;

/// Bytes of the longest token.
pub const LONGEST_TOKEN: usize = 16;

/// A bit behind those of four tokens.
const LAST: u32 = 1 << LANES;

/// A token that a text begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenMatch(
    /// `length << 16 | code`
    u32,
);

impl TokenMatch {
    /// Where there is none: of no bytes.
    pub const NONE: Self = Self(0);

    /// A byte without a token.
    pub(super) const UNKNOWN: Self = Self::new(0, 1);

    pub(super) const fn new(code: u16, len: usize) -> Self {
        Self((len as u32) << 16 | code as u32)
    }

    /// The code of the token.
    #[inline(always)]
    pub const fn code(self) -> u16 {
        self.0 as u16
    }

    /// Its bytes: 1 to 16.
    #[inline(always)]
    pub const fn bytes(self) -> usize {
        (self.0 >> 16) as usize
    }
}

/// A mask of the first bytes of a word.
#[inline(always)]
fn mask(bytes: usize) -> u64 {
    match bytes {
        0 => 0,
        8.. => u64::MAX,
        _ => u64::MAX >> (64 - 8 * bytes),
    }
}

/// The first 16 bytes of a text as two words; 0 where it has fewer.
#[inline(always)]
pub(super) fn words(text: &[u8]) -> [u64; 2] {
    let word = first_16(text);
    [word as u64, (word >> 64) as u64]
}

/// Four tokens of a tier, the longest first. Aligned, so that no register is loaded across two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct Group {
    /// Of their first eight bytes or, in a long tier, their last: those that are not 0 in `masks`.
    words: [u64; LANES],
    masks: [u64; LANES],
    matches: [TokenMatch; LANES],
    /// [`LAST`], or 0 where the next group has shorter tokens of the same hash.
    last: u32,
}

impl Group {
    /// No text begins with any of its tokens.
    const EMPTY: Self = Self {
        words: [1; LANES],
        masks: [0; LANES],
        matches: [TokenMatch::NONE; LANES],
        last: LAST,
    };
}

/// A token: its first eight bytes, its last eight, its match.
type Entry = ([u64; 2], TokenMatch);

/// Tokens of `FEWEST` bytes and somewhat more, by a hash of so many bytes. A tier is long where these are eight or
/// more.
#[derive(Debug, Clone)]
pub(super) struct Tier<const FEWEST: usize> {
    /// Bits of a hash.
    bits: u32,
    /// The first group of each hash; the empty group where there is none.
    buckets: Vec<u16>,
    /// The empty group, then those of each hash one after another. A bucket names one of them, and one that is not the
    /// last has another behind it. A hash may have all tokens: a text made for that is matched at a few MB/s.
    groups: Vec<Group>,
    /// In a long tier, the first eight bytes of the tokens of each group; elsewhere none.
    heads: Vec<[u64; LANES]>,
}

impl<const FEWEST: usize> Tier<FEWEST> {
    const IS_LONG: bool = FEWEST >= 8;

    pub(super) fn new(bits: u32) -> Self {
        Self {
            bits,
            buckets: vec![0; 1 << bits],
            groups: vec![Group::EMPTY],
            heads: vec![[0; LANES]; usize::from(Self::IS_LONG)],
        }
    }

    /// The hash of the first bytes of a text.
    #[inline(always)]
    fn place(&self, [low, high]: [u64; 2]) -> usize {
        let key = match FEWEST {
            0..8 => low << (64 - 8 * FEWEST),
            8 => low,
            // All bits of the last bytes into those of the others.
            _ => low ^ (high << (128 - 8 * FEWEST)).wrapping_mul(0xa076_1d64_78bd_642f),
        };
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.bits)) as usize
    }

    /// The token in one of the places of the groups from `first` on.
    fn entry(&self, first: usize, place: usize) -> Entry {
        let (group, lane) = (first + place / LANES, place % LANES);
        let of = &self.groups[group];
        let words = match self.heads.get(group) {
            Some(heads) => [heads[lane], of.words[lane]],
            None => [of.words[lane], 0],
        };
        (words, of.matches[lane])
    }

    fn put(&mut self, first: usize, place: usize, (words, found): Entry) {
        let (group, lane) = (first + place / LANES, place % LANES);
        let bytes = found.bytes();
        let (word, mask) = match self.heads.get_mut(group) {
            Some(heads) => {
                heads[lane] = words[0];
                (words[1], mask(bytes - 8))
            }
            None => (words[0], mask(bytes)),
        };
        let of = &mut self.groups[group];
        (of.words[lane], of.masks[lane], of.matches[lane]) = (word, mask, found);
    }

    /// Adds a token; false where it is there, or there are too many.
    pub(super) fn add(&mut self, token: &[u8], found: TokenMatch) -> bool {
        let words = words(token);
        let bucket = self.place(words);
        let mut first = usize::from(self.buckets[bucket]);
        // The empty group belongs to nobody.
        let mut groups = usize::from(first > 0);
        while groups > 0 && self.groups[first + groups - 1].last != LAST {
            groups += 1;
        }
        // Places behind the tokens are in the last group.
        let mut count = LANES * groups;
        while count > 0 && self.entry(first, count - 1).1 == TokenMatch::NONE {
            count -= 1;
        }
        let tokens = (0..count).map(|place| self.entry(first, place));
        let is_same = |(its, other): Entry| its == words && other.bytes() == found.bytes();
        if tokens.clone().any(is_same) {
            return false;
        }
        let at = tokens.take_while(|(_, its)| its.bytes() > found.bytes());
        let at = at.count();
        if count == LANES * groups {
            // There is room for the next power of two.
            if groups == 0 || groups.is_power_of_two() {
                let moved = self.groups.len();
                let Ok(place) = u16::try_from(moved) else {
                    return false;
                };
                let room = moved + (2 * groups).max(1);
                self.groups.extend_from_within(first..first + groups);
                self.groups.resize(room, Group::EMPTY);
                if Self::IS_LONG {
                    self.heads.extend_from_within(first..first + groups);
                    self.heads.resize(room, [0; LANES]);
                }
                self.buckets[bucket] = place;
                first = moved;
            }
            if groups > 0 {
                self.groups[first + groups - 1].last = 0;
            }
        }
        for place in (at..count).rev() {
            self.put(first, place + 1, self.entry(first, place));
        }
        self.put(first, at, (words, found));
        true
    }

    /// The longest token that a text begins with, one comparison after the other.
    pub(super) fn longest(&self, text: &[u8]) -> Option<TokenMatch> {
        let [low, high] = words(text);
        let mut group = usize::from(self.buckets[self.place([low, high])]);
        loop {
            for lane in 0..LANES {
                let (its, found) = self.entry(group, lane);
                let bytes = found.bytes();
                let begins =
                    [low & mask(bytes), high & mask(bytes.saturating_sub(8))] == its && bytes > 0;
                if begins && bytes <= text.len() {
                    return Some(found);
                }
            }
            if self.groups[group].last == LAST {
                return None;
            }
            group += 1;
        }
    }

    /// The longest token that a text begins with, by its first 16 bytes, or else `other`.
    ///
    /// # Safety
    /// As that of [`Equal::masked`].
    #[inline(always)]
    pub(super) unsafe fn longest_or<E: Equal>(
        &self,
        words: [u64; 2],
        mut other: TokenMatch,
    ) -> TokenMatch {
        // SAFETY: there is a bucket for each hash of as many bits. `add` makes groups, and in a long tier as many heads,
        // before a bucket names them or the group before is no longer the last; nothing is removed.
        unsafe {
            let mut at = usize::from(*self.buckets.get_unchecked(self.place(words)));
            loop {
                let group = self.groups.get_unchecked(at);
                let equal = if Self::IS_LONG {
                    E::whole(self.heads.get_unchecked(at), words[0])
                        & E::masked(&group.words, &group.masks, words[1])
                } else {
                    E::masked(&group.words, &group.masks, words[0])
                };
                let lane = equal.trailing_zeros() as usize % LANES;
                other = select_unpredictable(equal != 0, group.matches[lane], other);
                // One branch, hardly ever not taken. Of two, one would tell whether there is a token.
                if equal | group.last != 0 {
                    return other;
                }
                at += 1;
            }
        }
    }
}
