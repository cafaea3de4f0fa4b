//! Tokens of [`OnPair`](super::OnPair), trained on a text.
//!
//! ```text
//! text -> sample -> frequent pairs of neighbours -> tokens
//! ```

use super::codes::GROUP_BITS_PER_CODE;
use super::table::LONGEST;
use super::tokens::Tokens;
use crate::error::Result;
use crate::values::{Strings, distinct_bytes};

/// Most tokens, and most of a text of at least [`LONG`] bytes, whose codes may have a bit more.
pub(super) const MOST: usize = 1 << 12;
const MOST_OF_LONG: usize = 1 << 13;
const LONG: usize = 3 << 19;
/// Most bytes that training reads; twice as many of a long text.
const TRAINED: usize = 1 << 19;
/// A pair that is seen as often becomes a token, in the largest sample.
const OFTEN: usize = 8;
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
    fn is_often(&mut self, before: u32, code: u32, often: u32) -> bool {
        let key = before << 13 | code;
        let place = (u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        // Either of two places; of two other pairs there the rarer one loses a count.
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

impl Tokens {
    /// Trained by the length of the text, with a token for each of these bytes: all that the text has.
    pub(super) fn of(strings: Strings<'_>, bytes: &[u8]) -> Result<Self> {
        let text = strings.contents();
        if text.len() < LONG {
            return Ok(Self::train(text, bytes, TRAINED, MOST));
        }
        let many = Self::train(text, bytes, 2 * TRAINED, MOST_OF_LONG);
        let all = many.strings.as_strings();
        let few = Self::of_list(all.iter().take(MOST), MOST);
        let bytes = |tokens: &Self| -> Result<usize> {
            Ok(tokens.estimated_bytes(text, COMPARED)? + tokens.table_bytes())
        };
        Ok(if bytes(&few)? < bytes(&many)? {
            few
        } else {
            many
        })
    }

    /// Trained on a sample alone, with a token for every byte of it and for these.
    pub(super) fn of_sample(strings: Strings<'_>, most_bytes: usize, others: &[u8]) -> Self {
        let text = strings.contents();
        let mut parts = sample(text, most_bytes);
        parts.push(others);
        Self::train(text, &distinct_bytes(&parts), most_bytes, MOST)
    }

    /// Codes of a text, by a sample of so many bytes.
    pub(super) fn estimated_codes(&self, text: &[u8], most: usize) -> Result<f64> {
        let sample = sample(text, most);
        let sampled: usize = sample.iter().map(|part| part.len()).sum();
        Ok(self.count(&sample)? as f64 * text.len() as f64 / sampled.max(1) as f64)
    }

    /// Bytes of these codes and of their groups.
    pub(super) fn estimated_bytes(&self, text: &[u8], most: usize) -> Result<usize> {
        let bits = f64::from(self.width()) + GROUP_BITS_PER_CODE;
        Ok((self.estimated_codes(text, most)? * bits / 8.0) as usize)
    }

    /// Trained on at most `most_bytes` of the text, with at most `most` tokens, and one for each of `bytes`.
    fn train(text: &[u8], bytes: &[u8], most_bytes: usize, most: usize) -> Self {
        // A token costs its bytes and one: it must come often enough to pay, and not so seldom that
        // chance fills the table.
        let paying = text.len() / 24;
        let mut tokens = Self::of_bytes(bytes, most.min(256 + paying));
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
                let Some(behind) = rest.get(len..) else {
                    return tokens;
                };
                rest = behind;
                before = match before {
                    Some((last, last_len))
                        if last_len + len <= LONGEST && pairs.is_often(last, code, often) =>
                    {
                        let joined = part.get(consumed - last_len..consumed + len);
                        let Some(joined) = joined else { return tokens };
                        let new = tokens.strings.as_strings().len() as u32;
                        tokens.add(joined);
                        Some((new, joined.len()))
                    }
                    _ => Some((code, len)),
                };
            }
        }
        tokens
    }
}
