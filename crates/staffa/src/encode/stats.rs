//! Statistics of the values of a block: what the viability rules ask, each made once and only when
//! asked.

use std::cell::OnceCell;

use staffa_kernels::changes;

use super::{Coded, Sequences, distinct, matches};
use crate::values::{Kind, Values, for_words, run_ends};

/// Codes of sorted strings, and about what they and the strings take, where that has been looked
/// at.
pub(crate) type Sorted = (Coded, Option<usize>);

/// Statistics of some values.
#[derive(Debug)]
pub struct Stats<'a> {
    values: Values<'a>,
    kind: Kind,
    runs: OnceCell<usize>,
    ends: OnceCell<Vec<u32>>,
    coded: OnceCell<Option<Coded>>,
    top: OnceCell<(u32, usize)>,
    sequences: OnceCell<Option<Sequences>>,
    /// What the dictionary has found out about sorting its strings, for the next who asks.
    pub(crate) sorted: OnceCell<Option<Sorted>>,
    /// About what the lengths of strings take, which several encodings have as a child.
    pub(crate) length_bytes: OnceCell<usize>,
}

impl<'a> Stats<'a> {
    /// Of these values, which are ordered as `kind` says.
    pub fn new(values: Values<'a>, kind: Kind) -> Self {
        Self {
            values,
            kind,
            runs: OnceCell::new(),
            ends: OnceCell::new(),
            coded: OnceCell::new(),
            top: OnceCell::new(),
            sequences: OnceCell::new(),
            sorted: OnceCell::new(),
            length_bytes: OnceCell::new(),
        }
    }

    /// With codes that are known already.
    pub(crate) fn with_codes(values: Values<'a>, kind: Kind, coded: Coded) -> Self {
        Self {
            coded: OnceCell::from(Some(coded)),
            ..Self::new(values, kind)
        }
    }

    /// Of values that are equal where others are, whose codes they share.
    pub(crate) fn like(values: Values<'a>, kind: Kind, others: &Stats<'_>) -> Self {
        Self {
            coded: others.coded.clone(),
            ..Self::new(values, kind)
        }
    }

    /// With codes however many values are distinct: for an encoding that was asked for by name.
    pub(crate) fn exhaustive(values: Values<'a>, kind: Kind) -> Self {
        Self {
            coded: OnceCell::from(distinct::of(values, usize::MAX)),
            ..Self::new(values, kind)
        }
    }

    /// How the values are ordered.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Runs of equal values.
    pub fn runs(&self) -> usize {
        *self.runs.get_or_init(|| match self.values {
            _ if self.values.is_empty() => 0,
            // Codes compare faster than strings.
            Values::Bytes(_) if self.coded.get().is_some_and(Option::is_some) => {
                let codes = self
                    .dictionary()
                    .map(|coded| coded.codes.as_slice())
                    .unwrap_or_default();
                1 + changes(codes)
            }
            Values::Bits(bits) => {
                let len = bits.len();
                let mut before = bits.get(0);
                let mut runs = 1;
                for (i, &word) in bits.words().iter().enumerate() {
                    let changes = word ^ (word << 1 | u64::from(before));
                    let valid = len - i * 64;
                    let mask = if valid >= 64 {
                        u64::MAX
                    } else {
                        (1 << valid) - 1
                    };
                    runs += (changes & mask).count_ones() as usize;
                    before = word >> 63 == 1;
                }
                runs
            }
            Values::Bytes(strings) => {
                1 + strings
                    .iter()
                    .zip(strings.iter().skip(1))
                    .filter(|(a, b)| a != b)
                    .count()
            }
            words => for_words!(words.physical_type(), T => {
                1 + changes(<T as crate::values::Physical>::slice(words).unwrap_or_default())
            }, _ => 0),
        })
    }

    /// End of every run.
    pub fn ends(&self) -> &[u32] {
        self.ends
            .get_or_init(|| match (self.values, self.coded.get()) {
                (Values::Bytes(_), Some(Some(coded))) => run_ends(Values::U32(&coded.codes)),
                (values, _) => run_ends(values),
            })
    }

    /// Codes of the distinct values, counted exactly; `None` where three quarters or more of the
    /// values are distinct.
    pub fn dictionary(&self) -> Option<&Coded> {
        self.coded
            .get_or_init(|| distinct::of(self.values, self.values.len() * 3 / 4))
            .as_ref()
    }

    /// Whether strings, as their distinct ones and codes, take less than a quarter of their bytes:
    /// more than common substrings can save. Only where codes have been asked for.
    pub(crate) fn is_few_strings(&self) -> bool {
        let (Values::Bytes(strings), Some(Some(coded))) = (self.values, self.coded.get()) else {
            return false;
        };
        let distinct: usize = coded
            .firsts
            .iter()
            .map(|row| 1 + strings.get(*row as usize).len())
            .sum();
        let width = usize::BITS - coded.firsts.len().leading_zeros();
        (distinct + strings.len() * width as usize / 8) * 4 < strings.contents().len()
    }

    /// Lists of values that come again; `None` where there are few.
    pub fn sequences(&self) -> Option<&Sequences> {
        // Where most values are distinct there is nothing to look for.
        let distinct = self.coded.get().is_some_and(Option::is_none);
        self.sequences
            .get_or_init(|| {
                if distinct {
                    None
                } else {
                    matches::of(self.values)
                }
            })
            .as_ref()
    }

    /// A row of the value that most rows have, and how many have it. Without codes it is sought by
    /// a vote (Boyer and Moore), which finds a value that more than half the rows have, and else
    /// any.
    pub fn top(&self) -> Option<(u32, usize)> {
        if self.values.is_empty() {
            return None;
        }
        Some(*self.top.get_or_init(|| match self.coded.get() {
            Some(Some(coded)) => {
                let counts = coded.counts();
                let best = counts.iter().zip(&coded.firsts).max_by_key(|(count, first)| (**count, u32::MAX - **first));
                best.map_or((0, 0), |(count, first)| (*first, *count as usize))
            }
            _ => match self.values {
                Values::Bits(_) => (0, 0),
                Values::Bytes(strings) => {
                    let rows = |value: &&[u8]| strings.iter().filter(|string| string == value).count();
                    majority(strings.len(), |row| strings.get(row), rows)
                }
                words => for_words!(words.physical_type(), T => {
                    let words = <T as crate::values::Physical>::slice(words).unwrap_or_default();
                    let rows = |value: &T| words.iter().map(|word| usize::from(word == value)).sum();
                    majority(words.len(), |row| words.get(row).copied().unwrap_or_default(), rows)
                }, _ => (0, 0)),
            },
        }))
    }
}

/// Values by which the candidate of a vote is found.
const VOTERS: usize = 509;

/// The row of a value that more than half of all have, where there is one, and how many have it.
/// The candidate is found among a few values from all parts, which hardly ever misses one of which
/// there is more than half.
fn majority<K: PartialEq>(
    len: usize,
    at: impl Fn(usize) -> K,
    rows: impl Fn(&K) -> usize,
) -> (u32, usize) {
    let part = (len / VOTERS).max(1);
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let voter = |start: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let row = start + (seed >> 33) as usize % part;
        (row as u32, at(row))
    };
    let voters: Vec<(u32, K)> = (0..len / part * part).step_by(part).map(voter).collect();
    let (mut leading, mut votes): (Option<&(u32, K)>, _) = (None, 0usize);
    for voter in &voters {
        match leading {
            Some((_, value)) if *value == voter.1 => votes += 1,
            Some(_) if votes > 0 => votes -= 1,
            _ => (leading, votes) = (Some(voter), 1),
        }
    }
    let Some((row, value)) = leading else {
        return (0, 0);
    };
    let sampled = voters.iter().filter(|(_, v)| v == value).count();
    // Far from half of them.
    if sampled * 3 < voters.len() {
        (*row, 0)
    } else {
        (*row, rows(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Bitmap;

    #[test]
    fn the_top_value_is_found_with_codes_and_without() {
        let words = [5u32, 7, 7, 1, 7, 7, 2, 7];
        let values = Values::U32(&words);
        for stats in [
            Stats::new(values, Kind::Unsigned),
            Stats::exhaustive(values, Kind::Unsigned),
        ] {
            let (row, rows) = stats.top().unwrap();
            assert_eq!((words[row as usize], rows), (7, 5));
        }
        assert_eq!(Stats::new(Values::U32(&[]), Kind::Unsigned).top(), None);
    }

    #[test]
    fn runs_are_counted_for_every_type() {
        let words = [1u16, 1, 2, 2, 2, 1];
        assert_eq!(Stats::new(Values::U16(&words), Kind::Signed).runs(), 3);
        for len in [1usize, 63, 64, 65, 200] {
            let bits: Vec<bool> = (0..len).map(|i| i / 3 % 2 == 0).collect();
            let expected = 1 + bits.windows(2).filter(|w| w[0] != w[1]).count();
            let bits: Bitmap = bits.into_iter().collect();
            assert_eq!(
                Stats::new(Values::Bits(&bits), Kind::Unsigned).runs(),
                expected
            );
        }
        assert_eq!(Stats::new(Values::U16(&[]), Kind::Signed).runs(), 0);
    }
}
