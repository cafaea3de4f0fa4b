//! Tokens of [`OnPair`](super::OnPair), trained on a text.
//!
//! ```text
//! text -> sample -> frequent pairs of neighbours -> tokens
//! ```

use std::hint::select_unpredictable;

use staffa_kernels::{TOKENS_AT_ONCE, TokenMatch};

use super::codes::GROUP_BITS_PER_CODE;
use super::table::LONGEST;
use super::tokens::Tokens;
use crate::values::{Strings, distinct_bytes};

/// Most tokens, and most of a text of at least [`LONG`] bytes, whose codes may have a bit more.
pub(super) const MOST: usize = 1 << 12;
const MOST_OF_LONG: usize = 1 << 13;
const LONG: usize = 3 << 19;
/// Most bytes that training reads; twice as many of a long text.
const TRAINED: usize = 1 << 19;
/// A pair that is seen as often becomes a token, in the largest sample.
const OFTEN: usize = 8;
/// The same in a small sample (decision 46).
const OFTEN_IN_FEW: usize = 5;
/// Bytes whose codes an estimate counts: twice as many tell nothing more.
pub(super) const ESTIMATED: usize = TRAINED / 64;
/// Bytes that an estimate trains on, and by which a block is compared with its chunk.
pub(super) const SAMPLED: usize = TRAINED / 32;
/// Bytes of the sample by which two tables of tokens are compared.
pub(super) const COMPARED: usize = 1 << 16;
/// Bytes that a trial reads: for training, and for the number of codes.
pub(super) const TRIED: usize = 1 << 12;

/// Parts of a text, at most `most` bytes in all, evenly spread from its start on.
pub(super) fn sample(text: &[u8], most: usize) -> Vec<&[u8]> {
    // The smallest sample has one part.
    const PART: usize = TRIED;
    if text.len() <= most {
        return vec![text];
    }
    let parts = most / PART;
    let stride = text.len() / parts;
    (0..parts)
        .filter_map(|i| text.get(i * stride..(i * stride + PART).min(text.len())))
        .collect()
}

/// Bits of a code in a pair, of which two and a count are an entry.
const CODE_BITS: u32 = MOST_OF_LONG.ilog2();
const _: () = assert!(2 * CODE_BITS + 4 <= u32::BITS);

/// Counts of pairs of codes: an entry is `pair << 4 | count`. Pairs that share a place take it from
/// each other, so that rare ones are forgotten.
struct Pairs {
    table: Vec<u32>,
    shift: u32,
}

impl Pairs {
    /// For a text of `bytes`.
    fn of(bytes: usize) -> Self {
        let bits = bytes.max(1).ilog2().clamp(10, 17);
        Self {
            table: vec![0; 2 << bits],
            shift: 64 - bits,
        }
    }

    /// Counts a pair once more; whether it has been seen `often`, at most [`OFTEN`] times, after which
    /// it is forgotten.
    #[inline]
    #[allow(
        clippy::needless_bitwise_bool,
        reason = "lazy operators are branches: 1.05 of the time of a write"
    )]
    fn is_often(&mut self, before: u32, code: u32, often: u32) -> bool {
        let key = before << CODE_BITS | code;
        let place = (u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        let Some(places) = self.table.as_chunks_mut::<2>().0.get_mut(place) else {
            return false;
        };
        let (pair, count) = (|entry: u32| entry >> 4, |entry: u32| entry & 15);
        // Either of two places; of two other pairs there the rarer one loses a count. By selections: branches would be
        // hard to predict.
        let [a, b] = *places;
        let is_second = (pair(a) != key) & ((pair(b) == key) | (count(a) > count(b)));
        let entry = select_unpredictable(is_second, b, a);
        let is_own = (pair(entry) == key) | (count(entry) == 0);
        let counted = (key << 4 | count(entry)) + 1;
        let reached = is_own & (count(counted) >= often);
        let own = select_unpredictable(reached, key << 4, counted);
        let new = select_unpredictable(is_own, own, entry.wrapping_sub(1));
        *places = select_unpredictable(is_second, [a, new], [new, b]);
        reached
    }
}

/// Parts of a text one after the other, and the last token of the current one.
struct Walk<'p, 't> {
    parts: std::slice::Iter<'p, &'t [u8]>,
    part: &'t [u8],
    at: usize,
    before: Option<(u32, usize)>,
}

impl<'p, 't> Walk<'p, 't> {
    fn of(parts: &'p [&'t [u8]]) -> Self {
        Self {
            parts: parts.iter(),
            part: &[],
            at: 0,
            before: None,
        }
    }

    fn rest(&self) -> &'t [u8] {
        self.part.get(self.at..).unwrap_or_default()
    }

    fn is_done(&self) -> bool {
        self.rest().is_empty() && self.parts.len() == 0
    }

    fn next_part(&mut self) {
        self.part = self.parts.next().copied().unwrap_or_default();
        (self.at, self.before) = (0, None);
    }
}

/// What training knows of pairs.
struct Training {
    tokens: Tokens,
    pairs: Pairs,
    often: u32,
    most: usize,
}

impl Training {
    /// Takes the next tokens of a walk; false once there are enough.
    #[inline]
    fn take(&mut self, walk: &mut Walk<'_, '_>, found: &[TokenMatch]) -> bool {
        for found in found {
            let (start, code, len) = (walk.at, u32::from(found.code()), found.bytes());
            walk.at += len;
            if let Some((last, last_len)) = walk.before.replace((code, len))
                && last_len + len <= LONGEST
                && self.pairs.is_often(last, code, self.often)
                && let Some(joined) = walk.part.get(start - last_len..walk.at)
            {
                let new = self.tokens.strings.as_strings().len();
                if new >= self.most {
                    return false;
                }
                if self.tokens.add(joined) {
                    self.tokens.pairs.push([last, code]);
                    walk.before = Some((new as u32, joined.len()));
                }
            }
        }
        true
    }

    /// Takes the next token of a walk, or goes on to its next part; false once there are enough tokens.
    fn take_next(&mut self, walk: &mut Walk<'_, '_>) -> bool {
        let found = self.tokens.matcher.longest(walk.rest());
        if found == TokenMatch::NONE {
            walk.next_part();
            return true;
        }
        self.take(walk, &[found])
    }

    /// Takes all parts, some tokens of one half and of the other in turn: they were found before the tokens that they make,
    /// so that a text is not matched by those of its last bytes.
    fn read(&mut self, parts: &[&[u8]]) {
        let (first, second) = parts.split_at(parts.len() / 2);
        let [mut one, mut other] = [Walk::of(first), Walk::of(second)];
        let mut found = [[TokenMatch::NONE; TOKENS_AT_ONCE]; 2];
        loop {
            let matcher = &self.tokens.matcher;
            let steps = matcher.next_of_two([one.rest(), other.rest()], &mut found);
            let [of_one, of_other] = found.each_ref().map(|found| found.get(..steps));
            let goes_on = if steps > 0 {
                self.take(&mut one, of_one.unwrap_or_default())
                    && self.take(&mut other, of_other.unwrap_or_default())
            } else if !one.is_done() && (one.rest().len() < LONGEST || other.is_done()) {
                self.take_next(&mut one)
            } else if !other.is_done() {
                self.take_next(&mut other)
            } else {
                return;
            };
            if !goes_on {
                return;
            }
        }
    }
}

impl Tokens {
    /// Trained by the length of the text, with a token for each of these bytes: all that the text has.
    pub(super) fn of(strings: Strings<'_>, bytes: &[u8]) -> Self {
        let text = strings.contents();
        if text.len() < LONG {
            return Self::train(text, bytes, TRAINED, MOST);
        }
        let many = Self::train(text, bytes, 2 * TRAINED, MOST_OF_LONG);
        let all = many.strings.as_strings();
        let mut few = Self::of_list(all.iter().take(MOST), MOST);
        // They have the codes that they had among many only if each of them was added.
        if few.strings.as_strings().len() == MOST {
            let joined = many.pairs.iter().take(MOST.saturating_sub(bytes.len()));
            few.pairs.extend(joined);
        }
        let bytes = |tokens: &Self| tokens.estimated_bytes(text, COMPARED) + tokens.table_bytes();
        if bytes(&few) < bytes(&many) {
            few
        } else {
            many
        }
    }

    /// Trained on a sample alone, with a token for every byte of it and for these.
    pub(super) fn of_sample(strings: Strings<'_>, most_bytes: usize, others: &[u8]) -> Self {
        let text = strings.contents();
        let mut parts = sample(text, most_bytes);
        parts.push(others);
        Self::train(text, &distinct_bytes(&parts), most_bytes, MOST)
    }

    /// Codes of a text, by a sample of so many bytes.
    pub(super) fn estimated_codes(&self, text: &[u8], most: usize) -> f64 {
        let sample = sample(text, most);
        let sampled: usize = sample.iter().map(|part| part.len()).sum();
        self.count(&sample) as f64 * text.len() as f64 / sampled.max(1) as f64
    }

    /// Bytes of these codes and of their groups.
    pub(super) fn estimated_bytes(&self, text: &[u8], most: usize) -> usize {
        let bits = f64::from(self.width()) + GROUP_BITS_PER_CODE;
        (self.estimated_codes(text, most) * bits / 8.0) as usize
    }

    /// Trained on at most `most_bytes` of the text, with at most `most` tokens, and one for each of `bytes`.
    fn train(text: &[u8], bytes: &[u8], most_bytes: usize, most: usize) -> Self {
        // A token costs its bytes and one: it must come often enough to pay, and not so seldom that
        // chance fills the table.
        let paying = text.len() / 24;
        let sample = sample(text, most_bytes);
        let sampled: usize = sample.iter().map(|part| part.len()).sum();
        let often = (sampled / (MOST * 16)).clamp(OFTEN_IN_FEW, OFTEN) as u32;
        // A token is a pair that was seen `often`.
        let most = most.min(bytes.len() + paying.min(sampled / often as usize));
        let tokens = Self::of_bytes(bytes, most);
        let mut training = Training {
            tokens,
            pairs: Pairs::of(sampled),
            often,
            most,
        };
        match *sample {
            [text] => {
                let (first, second) = text.split_at(text.len() / 2);
                training.read(&[first, second]);
            }
            _ => training.read(&sample),
        }
        training.tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::arrays::Random;

    /// A frequent word of either half becomes a token, however the halves and their parts are cut.
    #[test]
    fn both_halves_of_a_text_are_read() {
        let mut random = Random(5);
        for (first, second) in [(200, 200), (30, 2000), (2000, 30), (40_000, 300)] {
            let mut half = |word: &str, words| {
                let noise = |random: &mut Random| char::from(b'0' + random.below(10) as u8);
                let words = (0..words).map(|_| format!("{word}{}", noise(&mut random)));
                words.collect::<String>()
            };
            let text = half("avenue", first) + &half("street", second);
            let bytes = distinct_bytes(&[text.as_bytes()]);
            for most_bytes in [text.len(), TRAINED] {
                let tokens = Tokens::train(text.as_bytes(), &bytes, most_bytes, MOST);
                let has = |word: &str| {
                    tokens
                        .strings
                        .as_strings()
                        .iter()
                        .any(|t| t == word.as_bytes())
                };
                assert!(has("avenue") && has("street"), "{first} words and {second}");
            }
        }
    }

    #[test]
    fn tokens_are_no_more_than_asked_for() {
        let text = "to be or not to be, that is the question; ".repeat(500);
        let bytes = distinct_bytes(&[text.as_bytes()]);
        for most in [bytes.len(), bytes.len() + 1, bytes.len() + 20] {
            let tokens = Tokens::train(text.as_bytes(), &bytes, TRAINED, most);
            assert_eq!(tokens.strings.as_strings().len(), most);
        }
        for short in ["", "t", "to be or not"] {
            let bytes = distinct_bytes(&[short.as_bytes()]);
            let tokens = Tokens::train(short.as_bytes(), &bytes, TRAINED, MOST);
            assert_eq!(tokens.strings.as_strings().len(), bytes.len());
        }
    }
}
