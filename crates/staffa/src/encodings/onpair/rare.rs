//! Tokens of [`OnPair`](super::OnPair) that are used too seldom to pay for their bytes in the table: each is
//! replaced by the two tokens that it was joined from.
//!
//! ```text
//! tokens, codes of a text -> uses of each token -> tokens that pay -> codes of these
//! ```
//!
//! Training joins a pair once it was seen some times; how often the token is used is known only when the text is
//! encoded.

use super::table::code_width;
use crate::error::{Error, Result};
use crate::values::{Strings, StringsBuf};

/// Times that tokens are dropped until the others fit a width of codes: each drop adds uses to others.
const DROPS: usize = 4;

/// Tokens that pay, and the codes of these that replace each of all tokens.
pub(super) struct Paying {
    pub(super) tokens: StringsBuf,
    /// Codes that replace token `i`: `codes[ends[i]..ends[i + 1]]`.
    codes: Vec<u32>,
    ends: Vec<usize>,
}

impl Paying {
    /// Tokens of one byte always stay; `pairs` are what the others were joined from, none where these stay, too.
    /// `None` where all tokens pay; an error for a code, or a part of a pair, of no token.
    pub(super) fn of(
        tokens: Strings<'_>,
        pairs: &[[u32; 2]],
        codes: &[u32],
    ) -> Result<Option<Self>> {
        if pairs.is_empty() {
            return Ok(None);
        }
        let no_token = || Error::internal("a code of no token");
        let mut uses = vec![0; tokens.len()];
        for code in codes {
            *uses.get_mut(*code as usize).ok_or_else(no_token)? += 1;
        }
        let lengths = tokens.lengths();
        let joined = Joined {
            lengths: &lengths,
            pairs,
            uses: &uses,
        };
        let Some(plan) = joined.smallest_plan() else {
            return Ok(None);
        };
        if plan.kept == tokens.len() {
            return Ok(None);
        }
        let mut paying = Self {
            tokens: StringsBuf::new(),
            codes: Vec::with_capacity(2 * tokens.len()),
            ends: vec![0],
        };
        let mut kept = 0;
        for (i, (token, is_kept)) in tokens.iter().zip(&plan.is_kept).enumerate() {
            if *is_kept {
                paying.tokens.push(token);
                paying.codes.push(kept);
                kept += 1;
            } else {
                let pair = i.checked_sub(joined.single_bytes());
                let pair = pair.and_then(|pair| pairs.get(pair));
                for part in pair.ok_or_else(no_token)? {
                    let (start, end) = paying.span(*part).ok_or_else(no_token)?;
                    paying.codes.extend_from_within(start..end);
                }
            }
            paying.ends.push(paying.codes.len());
        }
        Ok(Some(paying))
    }

    /// Where the codes are that replace a token, if it is known already.
    fn span(&self, token: u32) -> Option<(usize, usize)> {
        let (_, ends) = self.ends.split_at_checked(token as usize)?;
        let [start, end, ..] = *ends else { return None };
        Some((start, end))
    }

    /// What replaces codes, and `ends` among them; `None` for a code of no token, or an end behind the codes.
    pub(super) fn replace(&self, codes: &[u32], ends: &mut [usize]) -> Option<Vec<u32>> {
        let mut replaced = Vec::with_capacity(codes.len() + codes.len() / 8);
        let mut start = 0;
        for end in ends {
            for code in codes.get(start..*end)? {
                let (first, behind) = self.span(*code)?;
                match *self.codes.get(first..behind)? {
                    [code] => replaced.push(code),
                    ref codes => replaced.extend_from_slice(codes),
                }
            }
            (start, *end) = (*end, replaced.len());
        }
        Some(replaced)
    }
}

/// Tokens, the pairs that they were joined from but those of one byte, which are the first, and the uses of each.
struct Joined<'t> {
    lengths: &'t [u32],
    pairs: &'t [[u32; 2]],
    uses: &'t [u32],
}

/// The tokens that are kept, and what they and all codes take.
struct Plan {
    is_kept: Vec<bool>,
    kept: usize,
    /// Uses, with those of dropped tokens.
    uses: Vec<u32>,
    bits: usize,
}

impl Joined<'_> {
    fn single_bytes(&self) -> usize {
        self.lengths.len() - self.pairs.len()
    }

    /// The plan that takes the fewest bits, from codes of the present width on down to the first that is no better.
    fn smallest_plan(&self) -> Option<Plan> {
        let mut width = code_width(self.lengths.len());
        let (mut best, before) = (self.plan(width, 0), self.bits(width));
        while let Some(narrower) = width.checked_sub(1).and_then(|width| self.fitting(width))
            && narrower.bits < best.bits
        {
            best = narrower;
            width -= 1;
        }
        (best.bits < before).then_some(best)
    }

    /// Bits of all tokens and codes.
    fn bits(&self, width: u32) -> usize {
        let tokens = self.uses.iter().zip(self.lengths);
        tokens.map(|(uses, len)| bits(*uses, *len, width)).sum()
    }

    /// The plan for codes of so many bits; `None` where none is found.
    fn fitting(&self, width: u32) -> Option<Plan> {
        let most = 1 << width;
        if self.single_bytes() > most {
            return None;
        }
        let mut plan = self.plan(width, 0);
        for _ in 0..DROPS {
            if plan.kept <= most {
                return Some(plan);
            }
            let tokens = plan.is_kept.iter().zip(&plan.uses).zip(self.lengths);
            let joined = tokens.skip(self.single_bytes());
            let kept = joined.filter(|((is_kept, _), _)| **is_kept);
            let mut savings: Vec<i64> = kept
                .map(|((_, uses), len)| saved(*uses, *len, width))
                .collect();
            let (_, least, _) = savings.select_nth_unstable(plan.kept - most - 1);
            plan = self.plan(width, *least);
        }
        (plan.kept <= most).then_some(plan)
    }

    /// Drops the tokens that save no more than `least` bits, the last ones first: parts come before what they are
    /// joined to, and take over its uses.
    fn plan(&self, width: u32, least: i64) -> Plan {
        let mut uses = self.uses.to_vec();
        let mut is_kept = vec![true; uses.len()];
        let single_bytes = self.single_bytes();
        for (i, pair) in self.pairs.iter().enumerate().rev() {
            let token = single_bytes + i;
            let (Some(&used), Some(&len)) = (uses.get(token), self.lengths.get(token)) else {
                continue;
            };
            if saved(used, len, width) > least {
                continue;
            }
            for part in pair {
                if let Some(uses) = uses.get_mut(*part as usize) {
                    *uses = uses.saturating_add(used);
                }
            }
            if let Some(is_kept) = is_kept.get_mut(token) {
                *is_kept = false;
            }
        }
        let tokens = is_kept.iter().zip(&uses).zip(self.lengths);
        let kept = tokens.filter(|((is_kept, _), _)| **is_kept);
        let (kept, bits) = kept.fold((0, 0), |(kept, sum), ((_, uses), len)| {
            (kept + 1, sum + bits(*uses, *len, width))
        });
        Plan {
            is_kept,
            kept,
            uses,
            bits,
        }
    }
}

/// Bits of a token and its length in the table, and of its codes.
fn bits(uses: u32, len: u32, width: u32) -> usize {
    uses as usize * width as usize + 8 * (len as usize + 1)
}

/// Bits that a token saves: without it each of its codes is two.
fn saved(uses: u32, len: u32, width: u32) -> i64 {
    i64::from(uses) * i64::from(width) - 8 * (i64::from(len) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::arrays::Random;

    /// Tokens joined from random pairs, and random codes of them.
    fn random_tokens(random: &mut Random, joined: usize) -> (StringsBuf, Vec<[u32; 2]>) {
        let mut tokens: StringsBuf = b"abcd".chunks(1).collect();
        let mut pairs = Vec::new();
        for _ in 0..joined {
            let known = tokens.as_strings().len();
            let pair = [(); 2].map(|()| random.below(known) as u32);
            let parts = pair.map(|part| tokens.as_strings().get(part as usize).to_vec());
            let token = parts.concat();
            if token.len() <= 16 {
                tokens.push(&token);
                pairs.push(pair);
            }
        }
        (tokens, pairs)
    }

    fn text(tokens: Strings<'_>, codes: &[u32]) -> Vec<u8> {
        let tokens = codes.iter().map(|code| tokens.get(*code as usize));
        tokens.collect::<Vec<_>>().concat()
    }

    #[test]
    fn fewer_tokens_and_the_same_text() {
        let mut random = Random(7);
        let (mut replaced, mut all_pay) = (0, 0);
        for joined in [0, 1, 5, 60, 300, 2000] {
            for count in [0, 3, 200, 5000, 60_000] {
                let (tokens, pairs) = random_tokens(&mut random, joined);
                let tokens = tokens.as_strings();
                // Skewed: the first tokens are used most.
                let mut code = || {
                    let below = 1 + random.below(tokens.len());
                    random.below(below) as u32
                };
                let codes: Vec<u32> = (0..count).map(|_| code()).collect();
                let Some(paying) = Paying::of(tokens, &pairs, &codes).unwrap() else {
                    all_pay += 1;
                    continue;
                };
                replaced += 1;
                let mut ends = [codes.len() / 2, codes.len()];
                let fewer = paying.replace(&codes, &mut ends).unwrap();
                let half = text(paying.tokens.as_strings(), &fewer[..ends[0]]);
                assert_eq!(half, text(tokens, &codes[..codes.len() / 2]));
                assert!(paying.replace(&[tokens.len() as u32], &mut [1]).is_none());
                assert!(paying.replace(&[], &mut [1]).is_none());
                let kept = paying.tokens.as_strings();
                assert_eq!(text(kept, &fewer), text(tokens, &codes));
                let size = |tokens: Strings<'_>, codes: &[u32]| {
                    let width = code_width(tokens.len()) as usize;
                    codes.len() * width + 8 * (tokens.contents().len() + tokens.len())
                };
                assert!(kept.len() < tokens.len());
                assert!(size(kept, &fewer) < size(tokens, &codes));
                assert_eq!(kept.slice(0, 4).contents(), b"abcd");
            }
        }
        assert!(replaced > 5 && all_pay > 4, "{replaced}, {all_pay}");
    }

    #[test]
    fn a_code_of_no_token_is_refused() {
        let tokens: StringsBuf = [&b"a"[..], b"b", b"ab"].into_iter().collect();
        assert!(Paying::of(tokens.as_strings(), &[[0, 1]], &[3]).is_err());
        assert!(Paying::of(tokens.as_strings(), &[[0, 9]], &[0]).is_err());
    }
}
