//! The feature set: what a reader must know to read a file, and which encodings each leaf has.
//! FORMAT.md, section 2.
//!
//! ```text
//! features = features: bit set | sets: varint | encodings: bit set * sets | (set: varint | leaves: varint) *
//! bit set  = bytes: u8 | bytes, the last of which is not 0; bit i is bit i mod 8 of byte i / 8
//! ```
//!
//! The pairs name the set of so many leaves each, in their order. A leaf's set has the encodings of
//! all of its chunks and of the streams of other leaves that these read. Bit 255 stands for all longer
//! ids.

use super::{Cursor, put_varint};
use crate::error::{Error, Result};

/// Feature bit: chunks that name sources.
pub(crate) const DERIVED_COLUMNS: u8 = 0;
/// The feature bits that this release knows.
const KNOWN: BitSet = BitSet([1 << DERIVED_COLUMNS, 0, 0, 0]);

/// A set of numbers up to 255: ids of encodings, or features.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BitSet([u64; 4]);

impl BitSet {
    /// Adds a number.
    pub(crate) fn insert(&mut self, number: u8) {
        if let Some(word) = self.0.get_mut(usize::from(number / 64)) {
            *word |= 1 << (number % 64);
        }
    }

    /// Whether the number is in the set.
    pub(crate) fn contains(self, number: u8) -> bool {
        let word = self.0.get(usize::from(number / 64));
        word.is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// The numbers of both.
    #[must_use]
    pub(crate) fn union(self, other: Self) -> Self {
        let mut all = self.0;
        all.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
        Self(all)
    }

    /// The numbers, ascending.
    pub(crate) fn numbers(self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(move |number| self.contains(*number))
    }

    fn write(self, out: &mut Vec<u8>) {
        let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        let len = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        out.push(len as u8);
        out.extend(bytes.iter().take(len));
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let len = cursor.u8()?;
        let bytes = cursor.bytes(usize::from(len))?;
        if len > 32 || bytes.last() == Some(&0) {
            return Err(Error::corrupt(format!(
                "a bit set of at most 32 bytes, the last one not 0, expected, found {len} bytes"
            )));
        }
        let mut set = Self::default();
        for (i, byte) in bytes.iter().enumerate() {
            if let Some(word) = set.0.get_mut(i / 8) {
                *word |= u64::from(*byte) << (8 * (i % 8));
            }
        }
        Ok(set)
    }
}

/// The feature set of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Features {
    /// Features of the file.
    pub features: BitSet,
    /// The different sets of encodings.
    sets: Vec<BitSet>,
    /// Position of its set, and first leaf, of each run of leaves with the same set.
    runs: Vec<(usize, usize)>,
}

impl Features {
    /// The feature set of leaves with these encodings.
    pub(crate) fn new(features: BitSet, leaves: impl IntoIterator<Item = BitSet>) -> Self {
        let mut all = Self {
            features,
            ..Self::default()
        };
        for (leaf, encodings) in leaves.into_iter().enumerate() {
            let set = all.sets.iter().position(|set| *set == encodings);
            let set = set.unwrap_or_else(|| {
                all.sets.push(encodings);
                all.sets.len() - 1
            });
            if all.runs.last().is_none_or(|(last, _)| *last != set) {
                all.runs.push((set, leaf));
            }
        }
        all
    }

    /// The encodings of a leaf.
    pub(crate) fn encodings(&self, leaf: usize) -> BitSet {
        let run = self.runs.partition_point(|(_, first)| *first <= leaf);
        let set = run.checked_sub(1).and_then(|run| self.runs.get(run));
        set.and_then(|(set, _)| self.sets.get(*set))
            .copied()
            .unwrap_or_default()
    }

    /// Appends the section's bytes; `leaves` is the number of leaves.
    pub(crate) fn write(&self, leaves: usize, out: &mut Vec<u8>) {
        self.features.write(out);
        put_varint(out, self.sets.len() as u64);
        self.sets.iter().for_each(|set| set.write(out));
        for (i, (set, first)) in self.runs.iter().enumerate() {
            let end = self.runs.get(i + 1).map_or(leaves, |(_, next)| *next);
            put_varint(out, *set as u64);
            put_varint(out, (end - first) as u64);
        }
    }

    /// Reads the section of a file of so many leaves.
    pub(crate) fn read(bytes: &[u8], leaves: usize) -> Result<Self> {
        let mut cursor = Cursor::new(bytes);
        let features = BitSet::read(&mut cursor)?;
        if let Some(unknown) = features.numbers().find(|bit| !KNOWN.contains(*bit)) {
            return Err(Error::unsupported(format!(
                "the file needs feature {unknown}, which this release does not know"
            )));
        }
        let count = cursor.varint_up_to(leaves as u64, "number of sets of encodings")?;
        let sets = (0..count)
            .map(|_| BitSet::read(&mut cursor))
            .collect::<Result<Vec<_>>>()?;
        let (mut runs, mut leaf) = (Vec::new(), 0);
        while leaf < leaves {
            let set = cursor.varint_up_to(count as u64, "position of a set of encodings")?;
            let run =
                cursor.varint_up_to((leaves - leaf) as u64, "leaves of a set of encodings")?;
            if set == count || run == 0 {
                return Err(Error::corrupt(format!(
                    "a set below {count} of 1 leaf or more expected, found {set} of {run}"
                )));
            }
            runs.push((set, leaf));
            leaf += run;
        }
        cursor.finish("the feature set")?;
        Ok(Self {
            features,
            sets,
            runs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = u8>) -> BitSet {
        let mut set = BitSet::default();
        numbers.into_iter().for_each(|number| set.insert(number));
        set
    }

    fn features() -> (Features, Vec<BitSet>) {
        let sets = [
            vec![0, 11],
            vec![0, 11],
            vec![255, 3],
            vec![],
            vec![0, 11],
            vec![63, 64],
        ];
        let sets: Vec<BitSet> = sets.into_iter().map(of).collect();
        (Features::new(of([DERIVED_COLUMNS]), sets.clone()), sets)
    }

    #[test]
    fn a_feature_set_round_trips() {
        let (features, sets) = features();
        let mut bytes = Vec::new();
        features.write(sets.len(), &mut bytes);
        let read = Features::read(&bytes, sets.len()).unwrap();
        assert_eq!(read, features);
        for (leaf, set) in sets.iter().enumerate() {
            assert_eq!(read.encodings(leaf), *set, "leaf {leaf}");
        }
        assert!(Features::read(&bytes, sets.len() - 1).is_err());
        assert!(Features::read(&bytes, sets.len() + 1).is_err());
        for cut in 0..bytes.len() {
            assert!(
                Features::read(&bytes[..cut], sets.len()).is_err(),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn each_unknown_feature_is_refused_by_its_number() {
        for bit in 1..=u8::MAX {
            let mut bytes = Vec::new();
            Features::new(of([bit]), []).write(0, &mut bytes);
            let error = Features::read(&bytes, 0).unwrap_err();
            assert!(
                error.to_string().contains(&format!("feature {bit},")),
                "{error}"
            );
        }
    }

    #[test]
    fn any_change_is_read_or_refused() {
        let (features, sets) = features();
        let mut bytes = Vec::new();
        features.write(sets.len(), &mut bytes);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                if let Ok(read) = Features::read(&changed, sets.len()) {
                    (0..sets.len()).for_each(|leaf| _ = read.encodings(leaf));
                }
            }
        }
    }
}
