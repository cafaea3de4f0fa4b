//! The coder: a table of hashes that numbers distinct values.

use super::Coded;

/// A value that is looked up by its hash.
pub(crate) trait Key: Copy {
    /// A digest of the key, quick to compare: equal for equal keys, rarely for others.
    type Gist: Copy + PartialEq + Default;

    /// What the table holds of a key.
    type Held: Copy + PartialEq + Default;

    /// Whether what is held tells the key, so that no list of keys is needed.
    const EXACT: bool;

    fn gist(self) -> Self::Gist;

    fn hash(gist: Self::Gist) -> u64;

    fn held(gist: Self::Gist, hash: u64) -> Self::Held;

    /// The upper half of the hash.
    fn half(held: Self::Held) -> u32;

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
        type Held = Self;

        const EXACT: bool = true;

        #[inline]
        fn gist(self) -> Self {
            self
        }

        #[inline]
        fn hash(gist: Self) -> u64 {
            $hash(gist)
        }

        #[inline]
        fn held(gist: Self, _: u64) -> Self {
            gist
        }

        #[inline]
        fn half(held: Self) -> u32 {
            (Self::hash(held) >> 32) as u32
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
    /// Half the hash.
    type Held = u32;

    const EXACT: bool = false;

    #[inline]
    fn gist(self) -> StringGist {
        let len = self.len();
        // Words read twice where they overlap: no loop over bytes.
        if let (Some(first), Some(last)) = (self.first_chunk(), self.last_chunk()) {
            let last = u64::from_le_bytes(*last);
            let first = if len <= 16 {
                u64::from_le_bytes(*first)
            } else {
                let (words, _) = self.as_chunks();
                let words = words.iter().map(|word| u64::from_le_bytes(*word));
                words.fold(0, |hash, word| mix(hash ^ word))
            };
            return StringGist { first, last, len };
        }
        let ends = self.first_chunk().zip(self.last_chunk());
        let (first, last) = if let Some((first, last)) = ends {
            (u32::from_le_bytes(*first), u32::from_le_bytes(*last))
        } else {
            // At most three bytes; the string may be empty.
            let bytes = [self.last(), self.get(len / 2), self.first()];
            let bytes = bytes.into_iter().flatten();
            (bytes.fold(0, |word, byte| word << 8 | u32::from(*byte)), 0)
        };
        StringGist {
            first: first.into(),
            last: last.into(),
            len,
        }
    }

    #[inline]
    fn hash(gist: StringGist) -> u64 {
        // Above the bytes of short strings, so that these differ for others.
        let len = (gist.len as u64).rotate_left(48);
        mix(mix(gist.first ^ len) ^ gist.last.rotate_left(7))
    }

    #[inline]
    fn held(_: StringGist, hash: u64) -> u32 {
        (hash >> 32) as u32
    }

    #[inline]
    fn half(held: u32) -> u32 {
        held
    }

    #[inline]
    fn same(self, other: Self) -> bool {
        self.len() <= 16 || self == other
    }
}

/// Gives codes to values, over one block or all blocks of a chunk, until too many are distinct.
#[derive(Debug)]
pub(crate) struct Coder<K: Key> {
    /// What is held of a key, and its code plus one, at the place of the first bits of its hash or the next
    /// free one. At most half are taken. Small, so that many distinct values stay in the cache.
    table: Vec<(K::Held, u32)>,
    /// Bits of half a hash that are not part of its place.
    shift: u32,
    distinct: u32,
    /// By code, where the table does not tell them.
    keys: Vec<(K::Gist, K)>,
}

/// Values whose table has room for all of them.
const FEW: usize = 1024;

/// Values by which those to come are judged: whether they come in runs.
const JUDGED: usize = 512;

impl<K: Key> Coder<K> {
    /// With a table for this many values to begin with.
    pub(crate) fn new(values: usize) -> Self {
        let bits = (2 * values).next_power_of_two().ilog2().clamp(4, 10);
        // Of a few values all may be distinct, and the table does not grow.
        let is_few = values <= FEW;
        let bits = if is_few { bits + 1 } else { bits };
        let keys = if is_few && !K::EXACT { values } else { 0 };
        Self {
            table: vec![(K::Held::default(), 0); 1 << bits],
            shift: 32 - bits,
            distinct: 0,
            keys: Vec::with_capacity(keys),
        }
    }

    /// Distinct keys so far.
    pub(crate) fn distinct(&self) -> usize {
        self.distinct as usize
    }

    /// The code of a key; the number of distinct keys so far where it is new.
    #[inline]
    pub(crate) fn code_of(&mut self, key: K) -> u32 {
        self.code_of_gist(key.gist(), key)
    }

    #[inline]
    fn code_of_gist(&mut self, gist: K::Gist, key: K) -> u32 {
        let hash = K::hash(gist);
        let held = K::held(gist, hash);
        let mut place = ((hash >> 32) as u32 >> self.shift) as usize;
        loop {
            let Some((other, code)) = self.table.get_mut(place) else {
                // The first place follows the last.
                place = 0;
                continue;
            };
            if *code == 0 {
                self.distinct += 1;
                (*other, *code) = (held, self.distinct);
                if !K::EXACT {
                    self.keys.push((gist, key));
                }
                break;
            }
            let is_same = |known: &(K::Gist, K)| known.0 == gist && known.1.same(key);
            if *other == held
                && (K::EXACT || self.keys.get(*code as usize - 1).is_some_and(is_same))
            {
                return *code - 1;
            }
            place += 1;
        }
        if self.distinct() * 2 > self.table.len() {
            self.grow();
        }
        self.distinct - 1
    }

    #[cold]
    fn grow(&mut self) {
        let bits = self.table.len().ilog2() + 2;
        if !K::EXACT {
            self.keys.reserve((1 << (bits - 1)) - self.keys.len());
        }
        self.shift = 32 - bits;
        let larger = vec![(K::Held::default(), 0); 1 << bits];
        let old = std::mem::replace(&mut self.table, larger);
        for (held, code) in old.into_iter().filter(|(_, code)| *code > 0) {
            let mut place = (K::half(held) >> self.shift) as usize;
            loop {
                match self.table.get_mut(place) {
                    Some(free @ (_, 0)) => break *free = (held, code),
                    Some(_) => place += 1,
                    None => place = 0,
                }
            }
        }
    }

    /// The codes of more values; `None` once more than `most` are distinct.
    pub(super) fn code(
        &mut self,
        values: impl Iterator<Item = K> + Clone,
        most: usize,
    ) -> Option<Coded> {
        // In runs a comparison is cheaper than a hash; elsewhere its outcome is hard to predict.
        let gists = || values.clone().take(JUDGED).map(K::gist);
        let neighbours = gists().zip(gists().skip(1));
        let equal = neighbours.filter(|(a, b)| a == b).count();
        if 2 * equal >= values.size_hint().0.min(JUDGED) {
            self.code_runs::<true>(values, most)
        } else {
            self.code_runs::<false>(values, most)
        }
    }

    fn code_runs<const RUNS: bool>(
        &mut self,
        values: impl Iterator<Item = K>,
        most: usize,
    ) -> Option<Coded> {
        let mut coded = Coded::with_capacity(values.size_hint().0);
        let mut last: Option<(K::Gist, K, u32)> = None;
        for (row, key) in (0u32..).zip(values) {
            let gist = key.gist();
            if RUNS
                && let Some((before, known, code)) = last
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
            if RUNS {
                last = Some((gist, key, code));
            }
            coded.codes.push(code);
        }
        Some(coded)
    }
}

/// The hash of a key.
#[inline]
pub(crate) fn hash_of<K: Key>(key: K) -> u64 {
    K::hash(key.gist())
}
