//! Summaries: what the footer says of a leaf, gathered block by block as they are written.

use std::cmp::Ordering;

use crate::encode::{self, hash_of};
use crate::format::{BitSet, Bounds, Summary, ZoneMap};
use crate::values::{Kind, Strings, Values, for_values};

/// Most hashes that a sketch keeps: exact for fewer distinct values, else off by 6% (standard
/// deviation).
const SKETCH: usize = 256;

/// The smallest hashes of the values: an estimate of how many are distinct, which does not depend
/// on their order or on how they are cut into blocks (Bar-Yossef and others, RANDOM 2002).
#[derive(Debug, Clone, Default)]
pub(crate) struct Sketch {
    /// Ascending, without repeats.
    hashes: Vec<u64>,
}

impl Sketch {
    /// Of some values.
    fn of(values: Values<'_>) -> Self {
        let hashes = for_values!(values,
            words(words) => smallest_of(words.iter().map(|word| hash(*word))),
            bits(bits) => {
                let ones = bits.count_ones();
                let seen = [(0u8, ones < bits.len()), (1, ones > 0)];
                let seen = seen.into_iter().filter(|(_, seen)| *seen);
                smallest_of(seen.map(|(bit, _)| hash(bit)))
            },
            bytes(strings) => smallest_of(strings.iter().map(hash)),
        );
        Self { hashes }
    }

    /// Of values whose distinct ones stand in these rows.
    fn of_distinct(values: Values<'_>, rows: &[u32]) -> Self {
        let rows = rows.iter().map(|row| *row as usize);
        let hashes = for_values!(values,
            words(words) => smallest_of(rows.filter_map(|row| words.get(row)).map(|word| hash(*word))),
            bits(_) => return Self::of(values),
            bytes(strings) => smallest_of(rows.map(|row| hash(strings.get(row)))),
        );
        Self { hashes }
    }

    /// Adds the values of another sketch.
    fn merge(&mut self, other: &Self) {
        self.hashes.extend(&other.hashes);
        smallest(&mut self.hashes);
        self.hashes.shrink_to_fit();
    }

    /// How many values are distinct.
    fn estimate(&self) -> u64 {
        match self.hashes.get(SKETCH - 1) {
            None => self.hashes.len() as u64,
            // The largest of the k smallest hashes lies at about k parts of all.
            Some(largest) => {
                let share = (*largest as f64 + 1.0) / 2f64.powi(64);
                ((SKETCH - 1) as f64 / share).round() as u64
            }
        }
    }
}

/// What the distinct values of a block tell of it.
#[derive(Debug, Clone)]
pub(crate) struct OfDistinct {
    pub sketch: Sketch,
    /// The zone map of strings; that of words is as quick by all of them.
    pub zone: Option<ZoneMap>,
}

impl OfDistinct {
    /// Of values whose distinct ones stand in these rows, and of NULLs.
    pub(super) fn new(values: Values<'_>, rows: &[u32], nulls: usize) -> Self {
        let zone = match values {
            Values::Bytes(strings) => Some(ZoneMap::of_distinct(strings, rows, nulls as u64)),
            _ => None,
        };
        Self {
            sketch: Sketch::of_distinct(values, rows),
            zone,
        }
    }
}

/// A hash by which values of arithmetic sequences are spread as others are: one multiplication keeps
/// their distances.
fn hash<K: encode::Key>(value: K) -> u64 {
    hash_of(hash_of(value))
}

/// Sorts hashes, and keeps the smallest ones.
fn smallest(hashes: &mut Vec<u64>) {
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(SKETCH);
}

/// The smallest of some hashes.
fn smallest_of(hashes: impl Iterator<Item = u64>) -> Vec<u64> {
    const ROOM: usize = 4 * SKETCH;
    // Most values were seen lately, or their hash is above all that are kept. What a slot holds at
    // first is no hash of its own.
    let mut seen: [u64; SKETCH] = std::array::from_fn(|i| !(i as u64));
    let mut kept = Vec::with_capacity(ROOM);
    let mut most = u64::MAX;
    hashes.for_each(|hash| {
        if hash > most {
            return;
        }
        let Some(slot) = seen.get_mut(hash as usize % SKETCH) else {
            return;
        };
        if std::mem::replace(slot, hash) == hash {
            return;
        }
        if kept.len() == ROOM {
            smallest(&mut kept);
            most = kept.get(SKETCH - 1).map_or(most, |largest| *largest);
        }
        kept.push(hash);
    });
    smallest(&mut kept);
    // A sketch stays until its row group is written.
    kept.shrink_to_fit();
    kept
}

/// A value by which others are ordered.
#[derive(Debug, Clone, PartialEq)]
enum Key {
    Int(i128),
    Float(f64),
    Bytes(Vec<u8>),
}

impl PartialOrd for Key {
    /// The order of zone maps: -0.0 is before 0.0, and a NaN has none.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) if a.is_nan() || b.is_nan() => None,
            (Self::Float(a), Self::Float(b)) => Some(a.total_cmp(b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}

/// The order of values, and the first and the last of them.
#[derive(Debug, Clone)]
struct Order {
    ascending: bool,
    descending: bool,
    ends: Option<(Key, Key)>,
}

impl Order {
    fn of(values: Values<'_>, kind: Kind) -> Self {
        match (values, kind) {
            (Values::Bits(bits), _) => keys((0..bits.len()).map(|i| Key::Int(bits.get(i).into()))),
            (Values::U8(v), Kind::Signed) => words(v, |v| (v as i8).into()),
            (Values::U16(v), Kind::Signed) => words(v, |v| (v as i16).into()),
            (Values::U32(v), Kind::Signed) => words(v, |v| (v as i32).into()),
            (Values::U64(v), Kind::Signed) => words(v, |v| (v as i64).into()),
            (Values::U128(v), Kind::Signed) => words(v, |v| v as i128),
            (Values::U8(v), Kind::Unsigned) => words(v, i128::from),
            (Values::U16(v), Kind::Unsigned) => words(v, i128::from),
            (Values::U32(v), Kind::Unsigned) => words(v, i128::from),
            (Values::U64(v), Kind::Unsigned) => words(v, i128::from),
            (Values::U32(v), Kind::Float) => {
                keys(v.iter().map(|v| Key::Float(f32::from_bits(*v).into())))
            }
            (Values::U64(v), Kind::Float) => keys(v.iter().map(|v| Key::Float(f64::from_bits(*v)))),
            (Values::Bytes(strings), _) => texts(strings),
            _ => Self {
                ascending: false,
                descending: false,
                ends: None,
            },
        }
    }

    /// The order of these values and then those of `next`.
    fn then(&mut self, next: &Self) {
        let between = match (&self.ends, &next.ends) {
            (Some((_, last)), Some((first, _))) => last.partial_cmp(first),
            _ => None,
        };
        self.ascending &= next.ascending && between.is_some_and(Ordering::is_le);
        self.descending &= next.descending && between.is_some_and(Ordering::is_ge);
        if let (Some((_, last)), Some((_, end))) = (&mut self.ends, &next.ends) {
            last.clone_from(end);
        } else {
            self.ends = None;
        }
    }
}

fn words<T: Copy>(values: &[T], key: impl Fn(T) -> i128) -> Order {
    Order {
        ascending: values.is_sorted_by_key(|v| key(*v)),
        descending: values.is_sorted_by(|a, b| key(*a) >= key(*b)),
        ends: values
            .first()
            .zip(values.last())
            .map(|(first, last)| (Key::Int(key(*first)), Key::Int(key(*last)))),
    }
}

fn texts(strings: Strings<'_>) -> Order {
    let all = || (0..strings.len()).map(|i| strings.prefixed(i));
    let key = |i: usize| Key::Bytes(strings.get(i).to_vec());
    let last = strings.len().checked_sub(1);
    Order {
        ascending: all().is_sorted(),
        descending: all().is_sorted_by(|a, b| a >= b),
        ends: last.map(|last| (key(0), key(last))),
    }
}

fn keys(values: impl DoubleEndedIterator<Item = Key> + Clone) -> Order {
    let mut ends = values.clone();
    let first = ends.next();
    let last = ends.next_back().or_else(|| first.clone());
    // A NaN has no order, not even alone.
    let ordered = first.partial_cmp(&first).is_some();
    Order {
        ascending: ordered && values.clone().is_sorted(),
        descending: ordered && values.is_sorted_by(|a, b| a >= b),
        ends: first.zip(last),
    }
}

/// What a block adds to the summary of its leaf.
#[derive(Debug, Clone)]
pub(crate) struct BlockSummary {
    distinct: Sketch,
    /// `None` where all values are NULL.
    order: Option<Order>,
    decoded_bytes: u64,
    /// Of its trees.
    encodings: BitSet,
}

impl BlockSummary {
    /// Of the values of a block, `None` where it has none, and its rows, NULLs included; `sketch`
    /// where it is known.
    pub(crate) fn of(
        values: Option<Values<'_>>,
        sketch: Option<Sketch>,
        kind: Kind,
        rows: usize,
        encodings: BitSet,
    ) -> Self {
        let distinct = sketch.or_else(|| values.map(Sketch::of));
        let width = |values: &Values<'_>| match values {
            Values::Bits(_) => rows.div_ceil(8),
            Values::Bytes(strings) => strings.contents().len(),
            words => rows * words.physical_type().width_bytes().unwrap_or(0),
        };
        Self {
            distinct: distinct.unwrap_or_default(),
            order: values.map(|values| Order::of(values, kind)),
            decoded_bytes: values.as_ref().map_or(0, width) as u64,
            encodings,
        }
    }
}

/// The summary of a leaf in the making.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeafSummary {
    distinct: Sketch,
    order: Option<Order>,
    decoded_bytes: u64,
    zone: Option<ZoneMap>,
    unbounded: bool,
    sources: Vec<u32>,
    /// Encodings of its own trees.
    pub encodings: BitSet,
}

impl LeafSummary {
    /// Adds a block, whose bounds are those of `zone`.
    pub(crate) fn add(&mut self, block: &BlockSummary, zone: &ZoneMap) {
        self.distinct.merge(&block.distinct);
        match (&mut self.order, &block.order) {
            (Some(order), Some(next)) => order.then(next),
            (order @ None, Some(next)) => *order = Some(next.clone()),
            (_, None) => {}
        }
        self.decoded_bytes += block.decoded_bytes;
        self.encodings = self.encodings.union(block.encodings);
        // All NULL, a block has no values; else none without bounds leaves the leaf without.
        self.unbounded |= zone.bounds == Bounds::None && block.order.is_some();
        self.zone = Some(match &self.zone {
            None => zone.clone(),
            Some(before) => before.merge(zone),
        });
    }

    /// Adds the leaves from which a chunk is derived.
    pub(super) fn add_sources(&mut self, sources: &[u32]) {
        self.sources.extend(sources);
        self.sources.sort_unstable();
        self.sources.dedup();
    }

    /// The leaves from which chunks are derived.
    pub(super) fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// The summary as it is written.
    pub(crate) fn finish(self) -> Summary {
        let mut zone = self.zone.unwrap_or(ZoneMap {
            nulls: 0,
            bounds: Bounds::None,
        });
        if self.unbounded {
            zone.bounds = Bounds::None;
        }
        let order = |is: fn(&Order) -> bool| self.order.as_ref().is_some_and(is);
        Summary {
            ascending: order(|order| order.ascending),
            descending: order(|order| order.descending),
            decoded_bytes: self.decoded_bytes,
            distinct: self.distinct.estimate(),
            zone,
            sources: self.sources,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::StringsBuf;

    fn summary(blocks: &[&[u32]]) -> Summary {
        let mut leaf = LeafSummary::default();
        for values in blocks {
            let block = BlockSummary::of(
                Some(Values::U32(values)),
                None,
                Kind::Signed,
                values.len(),
                BitSet::default(),
            );
            let zone = ZoneMap::of(Values::U32(values), Kind::Signed, 0);
            leaf.add(&block, &zone);
        }
        leaf.finish()
    }

    #[test]
    fn few_distinct_values_are_counted_and_many_estimated() {
        let values: Vec<u32> = (0..60_000).map(|i| i % 200).collect();
        assert_eq!(summary(&[&values, &values]).distinct, 200);
        for distinct in [1_000, 30_000, 60_000] {
            let values: Vec<u32> = (0..60_000).map(|i| i % distinct * 77).collect();
            let (low, high) = values.split_at(30_000);
            let found = summary(&[low, high]).distinct as f64 / f64::from(distinct);
            assert!((0.8..1.25).contains(&found), "{found} of {distinct}");
        }
    }

    #[test]
    fn short_strings_have_hashes_of_their_own() {
        let numbers: Vec<String> = (-128..128).map(|i: i32| i.to_string()).collect();
        let numbers: StringsBuf = numbers.iter().map(String::as_bytes).collect();
        let sketch = Sketch::of(Values::Bytes(numbers.as_strings()));
        assert_eq!(sketch.hashes.len(), 256);
    }

    #[test]
    fn the_order_goes_on_from_block_to_block() {
        let order = |blocks: &[&[u32]]| {
            let summary = summary(blocks);
            (summary.ascending, summary.descending)
        };
        assert_eq!(order(&[&[1, 2], &[2, 9]]), (true, false));
        assert_eq!(order(&[&[1, 2], &[1, 9]]), (false, false));
        assert_eq!(order(&[&[9, 2], &[1, u32::MAX]]), (false, true));
        assert_eq!(order(&[&[7], &[7, 7]]), (true, true));
        assert_eq!(order(&[]), (false, false));
    }

    #[test]
    fn zeros_are_ordered_by_their_sign() {
        let order = |floats: [f64; 3]| {
            Order::of(Values::U64(&floats.map(f64::to_bits)), Kind::Float).ascending
        };
        assert!(order([-0.0, 0.0, 1.0]) && !order([0.0, -0.0, 1.0]));
    }

    #[test]
    fn nan_has_no_order() {
        let floats = [1.0, f64::NAN, 2.0].map(f64::to_bits);
        let order = Order::of(Values::U64(&floats), Kind::Float);
        assert!(!order.ascending && !order.descending);
        let order = Order::of(Values::U64(&floats[1..2]), Kind::Float);
        assert!(!order.ascending && !order.descending);
    }
}
