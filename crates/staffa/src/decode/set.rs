//! Words that are in a set, as in `x IN (..)`.

use hashbrown::HashSet;

use super::Integer;
use crate::values::Kind;

/// Words from the least to the greatest of a set for which it has bits: 8 KiB of them.
const MOST_BITS: u64 = 1 << 16;

/// A set of words, and whether those in it pass or all others.
#[derive(Debug)]
pub struct WordSet<T> {
    /// The least word, in the order of the kind; floats in that of their bits.
    base: T,
    /// Every word less the base, in order.
    offsets: Vec<T>,
    members: Members,
    inside: bool,
}

/// The offsets once more, to look one up.
#[derive(Debug)]
enum Members {
    Bits(Vec<u64>),
    Hashed(HashSet<u64>),
}

impl<T: Integer> WordSet<T> {
    /// The set of these words of a kind; floats are as their bits.
    pub fn of(words: impl Iterator<Item = T>, kind: Kind, inside: bool) -> Self {
        let mut offsets: Vec<T> = words.collect();
        // Below all words of the kind.
        let low = match kind {
            Kind::Signed => T::from_u64(1 << (T::BITS - 1)),
            _ => T::ZERO,
        };
        offsets.sort_unstable_by_key(|word| word.wrapping_sub(low));
        offsets.dedup();
        let base = offsets.first().copied().unwrap_or(T::ZERO);
        offsets
            .iter_mut()
            .for_each(|word| *word = word.wrapping_sub(base));
        let each = offsets.iter().map(|offset| offset.to_u64());
        let span = offsets.last().map_or(0, |last| last.to_u64());
        let members = if span < MOST_BITS {
            let mut bits = vec![0; span as usize / 64 + 1];
            for offset in each {
                if let Some(word) = bits.get_mut(offset as usize / 64) {
                    *word |= 1 << (offset % 64);
                }
            }
            Members::Bits(bits)
        } else {
            Members::Hashed(each.collect())
        };
        Self {
            base,
            offsets,
            members,
            inside,
        }
    }

    /// Sets the bits of values that pass.
    pub fn test(&self, values: &[T], out: &mut [u64]) {
        match &self.members {
            // No word is in it, not even the base.
            _ if self.offsets.is_empty() => self.each(values, out, |_| false),
            Members::Bits(bits) => self.each(values, out, |offset| {
                let at = usize::try_from(offset / 64).ok();
                let word = at.and_then(|at| bits.get(at));
                word.is_some_and(|word| word >> (offset % 64) & 1 == 1)
            }),
            Members::Hashed(set) => self.each(values, out, |offset| set.contains(&offset)),
        }
    }

    fn each(&self, values: &[T], out: &mut [u64], is_in: impl Fn(u64) -> bool) {
        for (word, values) in out.iter_mut().zip(values.chunks(64)) {
            *word = 0;
            for (i, value) in values.iter().enumerate() {
                let offset = value.wrapping_sub(self.base).to_u64();
                *word |= u64::from(is_in(offset) == self.inside) << i;
            }
        }
    }

    /// Whether all words from `first` to `first + span` pass, or none; `None` where only some may.
    pub fn decided(&self, first: T, span: T) -> Option<bool> {
        let from = first.wrapping_sub(self.base);
        if span > T::MAX.wrapping_sub(from) {
            return None;
        }
        let to = from.wrapping_add(span);
        let next = self.offsets.partition_point(|offset| *offset < from);
        match self.offsets.get(next) {
            Some(offset) if *offset <= to => (from == to).then_some(self.inside),
            _ => Some(!self.inside),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::arrays::Random;

    fn agrees<T: Integer>(kind: Kind) {
        let mut random = Random(7);
        let bits = u64::from(T::BITS);
        for count in [0, 1, 2, 9, 300] {
            for spread in [4, 12, bits] {
                let mut some = |count: usize| -> Vec<T> {
                    let word = |_| T::from_u64(random.next() >> (64 - spread.min(bits)));
                    // Around zero, so that words of a sign wrap.
                    (0..count)
                        .map(word)
                        .map(|word| word.wrapping_sub(T::from_u64(5)))
                        .collect()
                };
                let (members, mut values) = (some(count), some(200));
                values.extend(&members);
                for inside in [true, false] {
                    let set = WordSet::of(members.iter().copied(), kind, inside);
                    let mut out = vec![u64::MAX; values.len().div_ceil(64)];
                    set.test(&values, &mut out);
                    for (i, value) in values.iter().enumerate() {
                        let passes = members.contains(value) == inside;
                        assert_eq!(out[i / 64] >> (i % 64) & 1 == 1, passes);
                        assert_eq!(set.decided(*value, T::ZERO), Some(passes));
                        let next = |step| value.wrapping_add(T::from_u64(step));
                        let members_of = (0..4).filter(|step| members.contains(&next(*step)));
                        // The order begins with the base, and the words must not pass its end.
                        let end = set.base.wrapping_sub(T::from_u64(1));
                        let fits = end.wrapping_sub(*value) >= T::from_u64(3);
                        let decided = (fits && members_of.count() == 0).then_some(!inside);
                        assert_eq!(set.decided(*value, T::from_u64(3)), decided);
                    }
                }
            }
        }
    }

    #[test]
    fn words_in_a_set_pass_or_all_others() {
        for kind in [Kind::Signed, Kind::Unsigned, Kind::Float] {
            agrees::<u8>(kind);
            agrees::<u16>(kind);
            agrees::<u32>(kind);
            agrees::<u64>(kind);
        }
    }
}
