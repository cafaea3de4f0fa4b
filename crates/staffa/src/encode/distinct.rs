//! Codes: the distinct values are counted exactly, each gets a number in the order of first
//! occurrence.

use staffa_kernels::{Int as _, bounds};

use crate::values::{Physical as _, Values, for_ints, for_values, for_words};

/// Values as codes of their distinct values.
#[derive(Debug, Clone, Default)]
pub struct Coded {
    /// The code of every value.
    pub codes: Vec<u32>,
    /// For every code the first row that has it.
    pub firsts: Vec<u32>,
}

/// A value that is looked up by its hash.
pub(crate) trait Key: Copy {
    /// A digest of the key, quick to compare: equal for equal keys, rarely for others.
    type Gist: Copy + PartialEq + Default;

    fn gist(self) -> Self::Gist;

    fn hash(gist: Self::Gist) -> u64;

    /// Whether keys of the same gist are equal.
    fn same(self, _other: Self) -> bool {
        true
    }
}

/// A multiplication and a fold: the high bits of the product depend on all bits of the word.
#[inline]
fn mix(word: u64) -> u64 {
    let product = u128::from(word ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f;
    (product >> 64) as u64 ^ product as u64
}

macro_rules! word_keys {
    ($($ty:ty: $hash:expr),*) => {$(impl Key for $ty {
        type Gist = Self;

        #[inline]
        fn gist(self) -> Self {
            self
        }

        #[inline]
        fn hash(gist: Self) -> u64 {
            $hash(gist)
        }
    })*};
}
word_keys!(
    u8: |word| mix(u64::from(word)),
    u16: |word| mix(u64::from(word)),
    u32: |word| mix(u64::from(word)),
    u64: mix,
    u128: |word: u128| mix(word as u64 ^ mix((word >> 64) as u64)),
    staffa_kernels::U256: |word: staffa_kernels::U256| word.0.iter().fold(0, |hash, limb| mix(hash ^ limb))
);

/// A string: its length, and all its bytes in two words where it has at most 16, else a hash of
/// them and the last eight.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct StringGist {
    first: u64,
    last: u64,
    len: usize,
}

impl Key for &[u8] {
    type Gist = StringGist;

    #[inline]
    fn gist(self) -> StringGist {
        let len = self.len();
        // Words read twice where they overlap: no loop over bytes.
        let (first, last) = match (self.first_chunk::<8>(), self.last_chunk::<8>()) {
            (Some(first), Some(last)) if len <= 16 => {
                (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
            }
            (_, Some(last)) => {
                let (words, _) = self.as_chunks::<8>();
                let hash = words
                    .iter()
                    .fold(0, |hash, word| mix(hash ^ u64::from_le_bytes(*word)));
                (hash, u64::from_le_bytes(*last))
            }
            _ => {
                if let (Some(first), Some(last)) = (self.first_chunk::<4>(), self.last_chunk::<4>())
                {
                    (
                        u32::from_le_bytes(*first).into(),
                        u32::from_le_bytes(*last).into(),
                    )
                } else {
                    // At most three bytes; the string may be empty.
                    let byte = |i: usize| u64::from(self.get(i).copied().unwrap_or(0));
                    (
                        byte(0) | byte(len / 2) << 8 | byte(len.saturating_sub(1)) << 16,
                        0,
                    )
                }
            }
        };
        StringGist { first, last, len }
    }

    #[inline]
    fn hash(gist: StringGist) -> u64 {
        mix(mix(gist.first ^ gist.len as u64) ^ gist.last.rotate_left(7))
    }

    #[inline]
    fn same(self, other: Self) -> bool {
        self.len() <= 16 || self == other
    }
}

/// Gives codes to values, over one block or all blocks of a chunk, until too many are distinct.
#[derive(Debug)]
pub(crate) struct Coder<K: Key> {
    /// Half the hash, and the code plus one, at the place of the first bits of the hash or the next
    /// free one. At most half are taken. Small, so that many distinct values stay in the cache.
    table: Vec<(u32, u32)>,
    /// Bits of half a hash that are not part of its place.
    shift: u32,
    /// By code.
    keys: Vec<(K::Gist, K)>,
    seen: usize,
}

impl<K: Key> Coder<K> {
    /// With a table for this many values to begin with.
    pub(crate) fn new(values: usize) -> Self {
        let bits = (2 * values).next_power_of_two().ilog2().clamp(4, 10);
        Self {
            table: vec![(0, 0); 1 << bits],
            shift: 32 - bits,
            keys: Vec::new(),
            seen: 0,
        }
    }

    /// Distinct keys so far.
    pub(crate) fn distinct(&self) -> usize {
        self.keys.len()
    }

    /// The code of a key; the number of distinct keys so far where it is new.
    #[inline]
    pub(crate) fn code_of(&mut self, key: K) -> u32 {
        self.code_of_gist(key.gist(), key)
    }

    #[inline]
    fn code_of_gist(&mut self, gist: K::Gist, key: K) -> u32 {
        let half = (K::hash(gist) >> 32) as u32;
        let mask = self.table.len() - 1;
        let mut place = (half >> self.shift) as usize;
        loop {
            // The mask keeps every place within the table.
            let (held, code) = &mut self.table[place];
            if *code == 0 {
                self.keys.push((gist, key));
                (*held, *code) = (half, self.keys.len() as u32);
                break;
            }
            if *held == half
                && let (known, other) = self.keys[*code as usize - 1]
                && known == gist
                && other.same(key)
            {
                return *code - 1;
            }
            place = (place + 1) & mask;
        }
        if self.keys.len() * 2 > self.table.len() {
            self.grow();
        }
        self.keys.len() as u32 - 1
    }

    #[cold]
    fn grow(&mut self) {
        let bits = self.table.len().ilog2() + 2;
        self.keys.reserve((1 << (bits - 1)) - self.keys.len());
        self.shift = 32 - bits;
        let old = std::mem::replace(&mut self.table, vec![(0, 0); 1 << bits]);
        let mask = self.table.len() - 1;
        for (half, code) in old.into_iter().filter(|(_, code)| *code > 0) {
            let mut place = (half >> self.shift) as usize;
            while self.table[place].1 > 0 {
                place = (place + 1) & mask;
            }
            self.table[place] = (half, code);
        }
    }

    /// The codes of more values; `None` once more than `most` are distinct.
    fn code(&mut self, values: impl Iterator<Item = K>, most: usize) -> Option<Coded> {
        let mut coded = Coded {
            codes: Vec::with_capacity(values.size_hint().0),
            firsts: Vec::new(),
        };
        let mut last: Option<(K::Gist, K, u32)> = None;
        for (row, key) in (0u32..).zip(values) {
            let gist = key.gist();
            // Runs are common, and a comparison is cheaper than a hash.
            if let Some((before, known, code)) = last
                && before == gist
                && known.same(key)
            {
                coded.codes.push(code);
                continue;
            }
            let known = self.distinct();
            let code = self.code_of_gist(gist, key);
            if code as usize == known {
                if known >= most {
                    return None;
                }
                coded.firsts.push(row);
            }
            last = Some((gist, key, code));
            coded.codes.push(code);
        }
        self.seen += coded.codes.len();
        Some(coded)
    }
}

/// Codes of the values of one block; `None` where more than `most` are distinct.
pub(crate) fn of(values: Values<'_>, most: usize) -> Option<Coded> {
    if most < values.len() && mostly_distinct(values) {
        return None;
    }
    if let Some(words) = near(&[values]) {
        return of_near(&words, most, 1.0)?.pop();
    }
    for_values!(values,
        words(words) => Coder::new(words.len()).code(words.iter().copied(), most),
        bits(_) => None,
        bytes(strings) => Coder::new(strings.len()).code(strings.iter(), most),
    )
}

/// Whether far more than three quarters of many values are distinct, by equal ones in a sample of
/// single values: if a quarter were not distinct, it would have a hundred or so.
fn mostly_distinct(values: Values<'_>) -> bool {
    const SAMPLED: usize = 4096;
    const LEAST: usize = 4 * SAMPLED;
    let len = values.len();
    if len < LEAST {
        return false;
    }
    let part = len / SAMPLED;
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut rows = (0..SAMPLED).map(|i| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        i * part + (seed >> 33) as usize % part
    });
    // By chance, where one value in sixteen has an equal one.
    let few = SAMPLED * SAMPLED / len / 16;
    // By their hash; of two at one place the later is kept.
    let mut seen = vec![0u32; 4 * SAMPLED];
    let mut equal = 0;
    let mut is_few = |hash: u64| {
        let mark = hash as u32 | 1;
        let place = &mut seen[(hash >> 50) as usize % (4 * SAMPLED)];
        equal += usize::from(std::mem::replace(place, mark) == mark);
        equal <= few
    };
    for_values!(values,
        words(words) => rows.all(|row| is_few(hash_of(words[row]))),
        bits(_) => false,
        bytes(strings) => rows.all(|row| is_few(hash_of(strings.get(row)))),
    )
}

fn hash_of<K: Key>(key: K) -> u64 {
    K::hash(key.gist())
}

/// Words less the least of them, where these differences fit into a table smaller than one by
/// hashes.
fn near(blocks: &[Values<'_>]) -> Option<Vec<Vec<u32>>> {
    for_ints!(blocks.first()?.physical_type(), T => {
        let blocks: Vec<&[T]> = blocks.iter().map(|block| T::slice(*block)).collect::<Option<_>>()?;
        let (mut min, mut max) = (T::MAX, T::ZERO);
        let mut len = 0;
        for block in &blocks {
            let (least, most) = bounds(block, T::ZERO);
            (min, max) = (min.min(least), max.max(most));
            len += block.len() as u64;
            if max.to_u64().saturating_sub(min.to_u64()) >= 4 * len {
                return None;
            }
        }
        let less = |block: &[T]| block.iter().map(|w| (w.to_u64() - min.to_u64()) as u32).collect();
        Some(blocks.into_iter().map(less).collect())
    }, _ => None)
}

/// As [`of_blocks`], of small words.
fn of_near(blocks: &[Vec<u32>], most: usize, share: f64) -> Option<Vec<Coded>> {
    const NONE: u32 = u32::MAX;
    let mut known = vec![
        NONE;
        blocks
            .iter()
            .flatten()
            .max()
            .map_or(0, |max| *max as usize + 1)
    ];
    let (mut distinct, mut seen) = (0, 0);
    let mut out = Vec::with_capacity(blocks.len());
    for words in blocks {
        let mut coded = Coded {
            codes: Vec::with_capacity(words.len()),
            firsts: Vec::new(),
        };
        for (row, &word) in (0u32..).zip(words) {
            let code = known.get_mut(word as usize)?;
            if *code == NONE {
                if distinct >= most {
                    return None;
                }
                *code = distinct as u32;
                distinct += 1;
                coded.firsts.push(row);
            }
            coded.codes.push(*code);
        }
        seen += words.len();
        if distinct as f64 > seen as f64 * share {
            return None;
        }
        out.push(coded);
    }
    Some(out)
}

/// Codes over all blocks of a chunk, one [`Coded`] per block, whose `firsts` list the values that no
/// earlier block has; `None` where more than `share` of the values are distinct after some block, or
/// more than `most` in all.
pub(crate) fn of_blocks<'a>(blocks: &[Values<'a>], most: usize, share: f64) -> Option<Vec<Coded>> {
    fn run<'a, K: Key + 'a, I: Iterator<Item = K>>(
        blocks: impl Iterator<Item = Option<I>>,
        most: usize,
        share: f64,
    ) -> Option<Vec<Coded>> {
        let mut coder = Coder::new(1 << 16);
        let mut out = Vec::new();
        for block in blocks {
            out.push(coder.code(block?, most)?);
            if coder.distinct() as f64 > coder.seen as f64 * share {
                return None;
            }
        }
        Some(out)
    }
    if let Some(words) = near(blocks) {
        return of_near(&words, most, share);
    }
    if mostly_distinct(*blocks.first()?) {
        return None;
    }
    match blocks.first()? {
        Values::Bits(_) => None,
        Values::Bytes(_) => {
            let strings = |block: &Values<'a>| match block {
                Values::Bytes(strings) => Some(strings.iter()),
                _ => None,
            };
            run(blocks.iter().map(strings), most, share)
        }
        words => for_words!(words.physical_type(), T => {
            run(blocks.iter().map(|b| T::slice(*b).map(|s| s.iter().copied())), most, share)
        }, _ => None),
    }
}

impl Coded {
    /// For every code, the number of values that have it.
    pub(crate) fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0u32; self.firsts.len()];
        for &code in &self.codes {
            counts[code as usize] += 1;
        }
        counts
    }

    /// The same values with codes ordered by the `key` of their first rows.
    pub(crate) fn sorted_by<K: Ord>(&self, key: impl Fn(u32) -> K) -> Self {
        let codes = (0u32..).zip(&self.firsts);
        let mut order: Vec<(K, u32)> = codes.map(|(code, row)| (key(*row), code)).collect();
        order.sort_unstable();
        let mut renamed = vec![0u32; order.len()];
        for (new, (_, old)) in (0u32..).zip(&order) {
            renamed[*old as usize] = new;
        }
        let firsts = order.iter().map(|(_, old)| self.firsts[*old as usize]);
        Self {
            firsts: firsts.collect(),
            codes: self
                .codes
                .iter()
                .map(|code| renamed[*code as usize])
                .collect(),
        }
    }

    /// The same values with codes of this block alone, from codes of the whole chunk, which has
    /// `distinct` ones.
    pub(crate) fn localised(chunk_codes: &[u32], distinct: usize) -> Self {
        // For every code of the chunk, its code here plus one.
        let mut known = vec![0u32; distinct];
        let mut firsts = Vec::new();
        let localise = |(row, code): (u32, &u32)| {
            let place = &mut known[*code as usize];
            if *place == 0 {
                firsts.push(row);
                *place = firsts.len() as u32;
            }
            *place - 1
        };
        let codes = (0u32..).zip(chunk_codes).map(localise).collect();
        Self { codes, firsts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::StringsBuf;

    #[test]
    fn codes_follow_first_occurrence_and_stop_at_the_bound() {
        let values = [7u32, 7, 9, 7, 1, 9];
        let coded = of(Values::U32(&values), 3).unwrap();
        assert_eq!(
            (coded.codes, coded.firsts),
            (vec![0, 0, 1, 0, 2, 1], vec![0, 2, 4])
        );
        assert!(of(Values::U32(&values), 2).is_none());
        let strings: StringsBuf = [&b"a"[..], b"", b"a\0", b"a"].into_iter().collect();
        assert_eq!(
            of(Values::Bytes(strings.as_strings()), 9).unwrap().codes,
            [0, 1, 2, 0]
        );
    }

    #[test]
    fn codes_may_follow_the_order_of_values() {
        let values = [7u32, 7, 9, 7, 1, 9];
        let coded = of(Values::U32(&values), 3)
            .unwrap()
            .sorted_by(|row| values[row as usize]);
        assert_eq!(
            (coded.codes, coded.firsts),
            (vec![1, 1, 2, 1, 0, 2], vec![4, 0, 2])
        );
    }

    #[test]
    fn codes_of_a_chunk_become_codes_of_a_block() {
        let (a, b) = ([5u64, 6, 5, 8], [6u64, 9, 5, 9]);
        let blocks = of_blocks(&[Values::U64(&a), Values::U64(&b)], 100, 1.0).unwrap();
        assert_eq!(
            (&blocks[1].codes[..], &blocks[1].firsts[..]),
            (&[1, 3, 0, 3][..], &[1][..])
        );
        assert_eq!(Coded::localised(&blocks[0].codes, 4).codes, [0, 1, 0, 2]);
        let local = Coded::localised(&blocks[1].codes, 4);
        assert_eq!(
            (local.codes, local.firsts),
            (vec![0, 1, 2, 1], vec![0, 1, 2])
        );
        assert!(of_blocks(&[Values::U64(&a), Values::U64(&b)], 100, 0.5).is_none());
    }
}
