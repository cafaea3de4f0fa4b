//! Statistics of the values of a block, for the viability rules: each is computed on first use.

use std::borrow::Cow;
use std::cell::OnceCell;

use staffa_kernels::changes;

use super::{Coded, Sequences, distinct, matches};
use crate::values::{Bitmap, Kind, Values, for_values, run_ends};

/// Codes of sorted strings, and the bytes that these and the strings take, about, where that was
/// estimated.
pub(crate) type Sorted = (Coded, Option<usize>);

/// Statistics of some values.
#[derive(Debug)]
pub struct Stats<'a> {
    values: Values<'a>,
    kind: Kind,
    runs: OnceCell<usize>,
    ends: OnceCell<Vec<u32>>,
    coded: OnceCell<Option<Cow<'a, Coded>>>,
    top: OnceCell<(u32, usize)>,
    sequences: OnceCell<Option<Sequences>>,
    /// The strings of the dictionary sorted, where it tried that.
    pub(crate) sorted: OnceCell<Option<Sorted>>,
    /// Bytes of codes and strings in the order of first occurrence, about.
    pub(crate) dictionary_bytes: OnceCell<usize>,
    /// Exponents and factors of ALP for floats, the best first.
    pub(crate) scales: OnceCell<Vec<(u8, u8)>>,
    /// Bytes of the lengths of strings, about: several encodings have them as a child.
    pub(crate) length_bytes: OnceCell<usize>,
}

impl<'a> Stats<'a> {
    /// Of values that are ordered by `kind`.
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
            dictionary_bytes: OnceCell::new(),
            scales: OnceCell::new(),
            length_bytes: OnceCell::new(),
        }
    }

    /// With known codes.
    pub(crate) fn with_codes(values: Values<'a>, kind: Kind, coded: Cow<'a, Coded>) -> Self {
        Self {
            coded: OnceCell::from(Some(coded)),
            ..Self::new(values, kind)
        }
    }

    /// Of values that are equal exactly where others are: they share the codes.
    pub(crate) fn like(values: Values<'a>, kind: Kind, others: &'a Stats<'_>) -> Self {
        let coded = others.coded.get();
        let borrowed = coded.map(|coded| coded.as_deref().map(Cow::Borrowed));
        Self {
            coded: borrowed.map_or_else(OnceCell::new, OnceCell::from),
            ..Self::new(values, kind)
        }
    }

    /// With codes, however many values are distinct: for an encoding requested by name.
    pub(crate) fn exhaustive(values: Values<'a>, kind: Kind) -> Self {
        Self {
            coded: OnceCell::from(distinct::of(values, usize::MAX).map(Cow::Owned)),
            ..Self::new(values, kind)
        }
    }

    /// The order of the values.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Runs of equal values.
    pub fn runs(&self) -> usize {
        *self.runs.get_or_init(|| {
            if self.values.is_empty() {
                return 0;
            }
            for_values!(self.values,
                words(words) => 1 + changes(words),
                bits(bits) => bit_runs(bits),
                bytes(strings) => 1 + if let Some(Some(coded)) = self.coded.get() {
                    // Codes compare faster than strings.
                    changes(&coded.codes)
                } else {
                    strings.iter().zip(strings.iter().skip(1)).filter(|(a, b)| a != b).count()
                },
            )
        })
    }

    /// A row of each distinct value, where these are known: of all rows, if they are equal.
    pub(crate) fn known_distinct(&self) -> Option<&[u32]> {
        match self.runs.get() {
            Some(1) => Some(&[0]),
            _ => Some(&self.known_codes()?.firsts),
        }
    }

    /// End of every run.
    pub fn ends(&self) -> &[u32] {
        self.ends
            .get_or_init(|| match (self.values, self.coded.get()) {
                (Values::Bytes(_), Some(Some(coded))) => run_ends(Values::U32(&coded.codes)),
                (values, _) => run_ends(values),
            })
    }

    /// The codes, where they were computed.
    pub(crate) fn known_codes(&self) -> Option<&Coded> {
        self.coded.get()?.as_deref()
    }

    /// Codes of the distinct values, counted exactly; `None` where three quarters or more of the
    /// values are distinct.
    pub fn dictionary(&self) -> Option<&Coded> {
        self.coded
            .get_or_init(|| distinct::of(self.values, self.values.len() * 3 / 4).map(Cow::Owned))
            .as_deref()
    }

    /// Whether distinct strings and codes take less than half of the strings' bytes: common substrings
    /// save less than that beyond what they save of the distinct ones. Only where codes are known.
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
        (distinct + strings.len() * width as usize / 8) * 2 < strings.contents().len()
    }

    /// Matches of values with earlier ones; `None` where there are few.
    pub fn sequences(&self) -> Option<&Sequences> {
        // Where most values are distinct there are none.
        let distinct = self.coded.get().is_some_and(Option::is_none);
        let found = || (!distinct).then(|| matches::of(self.values)).flatten();
        self.sequences.get_or_init(found).as_ref()
    }

    /// A row of the most frequent value, and how many rows have it. Without codes the value is found
    /// by a vote (Boyer and Moore): one that more than half the rows have, or else any.
    pub fn top(&self) -> Option<(u32, usize)> {
        if self.values.is_empty() {
            return None;
        }
        Some(*self.top.get_or_init(|| {
            if let Some(None) = self.coded.get()
                && !matches!(self.values, Values::Bits(_))
            {
                // Most values are distinct.
                return (0, 0);
            }
            if let Some(Some(coded)) = self.coded.get() {
                let counts = coded.counts().into_iter().zip(&coded.firsts);
                let best = counts.max_by_key(|(count, first)| (*count, u32::MAX - **first));
                return best.map_or((0, 0), |(count, first)| (*first, count as usize));
            }
            for_values!(self.values,
                words(words) => {
                    let rows = |value: &_| words.iter().map(|word| usize::from(word == value)).sum();
                    majority(words.len(), |row| words.get(row).copied(), rows)
                },
                bits(_) => (0, 0),
                bytes(strings) => {
                    let rows = |value: &&[u8]| strings.iter().filter(|string| string == value).count();
                    majority(strings.len(), |row| Some(strings.get(row)), rows)
                },
            )
        }))
    }
}

/// Runs of equal bits, of which there is one at least.
fn bit_runs(bits: &Bitmap) -> usize {
    let (len, mut before, mut runs) = (bits.len(), bits.get(0), 1);
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

/// Values by which the candidate of a vote is found.
const VOTERS: usize = 509;

/// The row of a value that more than half of all have, where there is one, and how many have it.
/// The candidate is found among a few values from all parts, which hardly ever misses a majority.
fn majority<K: PartialEq>(
    len: usize,
    at: impl Fn(usize) -> Option<K>,
    rows: impl Fn(&K) -> usize,
) -> (u32, usize) {
    let part = (len / VOTERS).max(1);
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let voter = |start: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let row = start + (seed >> 33) as usize % part;
        Some((row as u32, at(row)?))
    };
    let starts = (0..len / part * part).step_by(part);
    let voters: Vec<(u32, K)> = starts.filter_map(voter).collect();
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
