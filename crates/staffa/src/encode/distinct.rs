//! Codes: the distinct values are counted exactly, each gets a number in the order of first
//! occurrence.

use staffa_kernels::{Int, bounds};

use super::Coder;
use super::coder::hash_of;
use crate::error::{Error, Result};
use crate::values::{Physical as _, Values, for_ints, for_values, for_words};

/// Values as codes of their distinct values.
#[derive(Debug, Clone, Default)]
pub struct Coded {
    /// The code of every value.
    pub codes: Vec<u32>,
    /// For every code the first row that has it.
    pub firsts: Vec<u32>,
}

/// Codes of the values of one block; `None` where more than `most` are distinct.
pub(crate) fn of(values: Values<'_>, most: usize) -> Option<Coded> {
    if most < values.len() && has_few_copies(values) {
        return None;
    }
    exactly(values, most)
}

/// Codes of the values of one block, for the search for related columns; `None` where more than three quarters are
/// distinct. Values of which each comes twice are related to others of which each comes twice.
pub(crate) fn of_related(values: Values<'_>) -> Option<Coded> {
    if mostly_distinct(values, |_| FEW_COPIES) {
        return None;
    }
    exactly(values, values.len() * 3 / 4)
}

fn exactly(values: Values<'_>, most: usize) -> Option<Coded> {
    let blocks = [values];
    match near(&blocks) {
        Some(words) => of_near(&words, most, 1.0)?.pop(),
        None => by_hash(&blocks, most, 1.0)?.pop(),
    }
}

/// Codes over all blocks of a chunk, one [`Coded`] per block, whose `firsts` list the values that no
/// earlier block has; `None` where more than `share` of the values are distinct after some block, or
/// more than `most` in all.
pub(crate) fn of_blocks(blocks: &[Values<'_>], most: usize, share: f64) -> Option<Vec<Coded>> {
    match near(blocks) {
        Some(words) => of_near(&words, most, share),
        None if has_few_copies(*blocks.first()?) => None,
        None => by_hash(blocks, most, share),
    }
}

/// As [`of_blocks`], by a table of hashes.
fn by_hash(blocks: &[Values<'_>], most: usize, share: f64) -> Option<Vec<Coded>> {
    let first = blocks.first()?;
    match first {
        Values::Bits(_) => None,
        Values::Bytes(_) => {
            let mut coder = Coder::new(first.len());
            while_few(blocks, share, |block| match block {
                Values::Bytes(strings) => coder.code(strings.iter(), most),
                _ => None,
            })
        }
        words => for_words!(words.physical_type(), T => {
            let mut coder = Coder::new(words.len());
            while_few(blocks, share, |block| coder.code(T::slice(*block)?.iter().copied(), most))
        }, _ => None),
    }
}

/// Most values of a sample.
const SAMPLED: usize = 4096;

/// Copies of a value, on average, where a column is related to others, or a dictionary of strings saves something
/// (decision 30).
const FEW_COPIES: f64 = 1.125;

/// Copies of a value, on average, from which on a dictionary saves a quarter: each row takes the bits of a code, and each
/// copy its share of the value.
fn least_copies(values: Values<'_>) -> f64 {
    if matches!(values, Values::Bytes(_)) {
        return FEW_COPIES;
    }
    let range = for_ints!(values.physical_type(), T => T::slice(values).map(|words| {
        let [unsigned, signed] = sign_flips::<T>().map(|flip| {
            let (least, most) = bounds(words, flip);
            u64::BITS - most.wrapping_sub(least).to_u64().leading_zeros()
        });
        unsigned.min(signed)
    }), _ => None);
    let (rows, bits) = (
        (values.len() as f64).log2(),
        f64::from(range.unwrap_or(128)),
    );
    let pays = |copies: &f64| rows - copies.log2() + bits / copies <= bits * 0.75;
    let mut copies = (5..32).map(|quarters| f64::from(quarters) / 4.0);
    copies.find(pays).unwrap_or(8.0)
}

/// Whether there are too few copies for a dictionary.
fn has_few_copies(values: Values<'_>) -> bool {
    mostly_distinct(values, least_copies)
}

/// Whether of many values there are fewer copies, on average, by equal ones in a sample of single values.
fn mostly_distinct(values: Values<'_>, copies: impl FnOnce(Values<'_>) -> f64) -> bool {
    const LEAST: usize = 2048;
    let len = values.len();
    if len < LEAST {
        return false;
    }
    let sampled = SAMPLED.min(len / 4);
    let part = len / sampled;
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut rows = (0..sampled).map(|i| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        i * part + (seed >> 33) as usize % part
    });
    // Each row equals `copies - 1` of all rows, and so that share of the sampled ones before it.
    let few = ((sampled * sampled / 2 / len) as f64 * (copies(values) - 1.0)) as usize;
    // By their hash; of two at one place the later is kept.
    let mut seen = vec![0u32; 4 * sampled];
    let places = seen.len() as u64;
    let mut equal = 0;
    let mut is_few = |hash: u64| {
        let mark = hash as u32 | 1;
        let place = seen.get_mut((((hash >> 32) * places) >> 32) as usize);
        let is_equal = place.is_some_and(|place| std::mem::replace(place, mark) == mark);
        equal += usize::from(is_equal);
        equal <= few
    };
    for_values!(values,
        words(words) => rows.filter_map(|row| words.get(row)).all(|word| is_few(hash_of(*word))),
        bits(_) => false,
        bytes(strings) => rows.all(|row| is_few(hash_of(strings.get(row)))),
    )
}

/// Words less the least of them, where these differences fit into a table smaller than one by
/// hashes.
fn near(blocks: &[Values<'_>]) -> Option<Vec<Vec<u32>>> {
    for_ints!(blocks.first()?.physical_type(), T => {
        let blocks: Vec<&[T]> = blocks.iter().map(|block| T::slice(*block)).collect::<Option<_>>()?;
        let min = sign_flips::<T>().into_iter().find_map(|flip| least_of_near(&blocks, flip))?;
        let less = |block: &[T]| block.iter().map(|w| w.wrapping_sub(min).to_u64() as u32).collect();
        Some(blocks.into_iter().map(less).collect())
    }, _ => None)
}

/// Offsets for [`bounds`]: 0 orders words as unsigned numbers, the sign bit as signed ones. Differences are signed.
fn sign_flips<T: Int>() -> [T; 2] {
    [T::ZERO, T::from_u64(1 << (T::BITS - 1))]
}

/// The least word in the order of `flip`; `None` once the words span four times their number or more.
fn least_of_near<T: Int>(blocks: &[&[T]], flip: T) -> Option<T> {
    let (mut min, mut max) = (T::MAX, T::ZERO);
    let mut len = 0;
    for block in blocks {
        let (least, most) = bounds(block, flip);
        min = min.min(least.wrapping_add(flip));
        max = max.max(most.wrapping_add(flip));
        len += block.len() as u64;
        if max.to_u64().saturating_sub(min.to_u64()) >= 4 * len {
            return None;
        }
    }
    Some(min.wrapping_sub(flip))
}

/// As [`of_blocks`], of small words.
fn of_near(blocks: &[Vec<u32>], most: usize, share: f64) -> Option<Vec<Coded>> {
    const NONE: u32 = u32::MAX;
    let largest = blocks.iter().flatten().max();
    let mut known = vec![NONE; largest.map_or(0, |largest| *largest as usize + 1)];
    let mut distinct = 0;
    while_few(blocks, share, |words| {
        let mut coded = Coded::with_capacity(words.len());
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
        Some(coded)
    })
}

/// The codes of block after block; `None` once more than `share` of the values are distinct.
fn while_few<'b, B>(
    blocks: &'b [B],
    share: f64,
    mut code: impl FnMut(&'b B) -> Option<Coded>,
) -> Option<Vec<Coded>> {
    let (mut distinct, mut seen) = (0, 0);
    let coded = blocks.iter().map(|block| {
        let coded = code(block)?;
        distinct += coded.firsts.len();
        seen += coded.codes.len();
        (distinct as f64 <= seen as f64 * share).then_some(coded)
    });
    coded.collect()
}

impl Coded {
    /// Without values, and room for the codes of `len`.
    pub(super) fn with_capacity(len: usize) -> Self {
        Self {
            codes: Vec::with_capacity(len),
            firsts: Vec::new(),
        }
    }

    /// For every code, the number of values that have it.
    pub(crate) fn counts(&self) -> Vec<u32> {
        Self::counts_of(&self.codes, self.firsts.len())
    }

    /// For each of `distinct` codes, how often it is among `codes`.
    pub(crate) fn counts_of(codes: &[u32], distinct: usize) -> Vec<u32> {
        // Of equal codes one count waits for the other: where codes are few, four rows in turn have counts of their own.
        if distinct * 4 > codes.len() {
            counted::<1>(codes, distinct)
        } else {
            counted::<4>(codes, distinct)
        }
    }

    /// The same values with codes ordered by the `key` of their first rows.
    pub(crate) fn sorted_by<K: Ord>(&self, key: impl Fn(u32) -> K) -> Self {
        let codes = (0u32..).zip(&self.firsts);
        let mut order: Vec<_> = codes.map(|(code, row)| (key(*row), code, *row)).collect();
        order.sort_unstable();
        let mut renamed = vec![0; order.len()];
        for (new, (_, old, _)) in (0u32..).zip(&order) {
            if let Some(renamed) = renamed.get_mut(*old as usize) {
                *renamed = new;
            }
        }
        let mut codes = self.codes.clone();
        for code in &mut codes {
            // A code without a value stays one, which no decoder accepts.
            *code = renamed.get(*code as usize).copied().unwrap_or(u32::MAX);
        }
        let firsts = order.into_iter().map(|(_, _, row)| row).collect();
        Self { codes, firsts }
    }

    /// The same values with codes of this block alone, from codes of the whole chunk, which has
    /// `distinct` ones.
    pub(crate) fn localised(chunk_codes: &[u32], distinct: usize) -> Result<Self> {
        // For every code of the chunk, its code here plus one.
        let mut known = vec![0u32; distinct];
        let mut coded = Self::with_capacity(chunk_codes.len());
        for (row, code) in (0u32..).zip(chunk_codes) {
            let place = known.get_mut(*code as usize);
            let place = place
                .ok_or_else(|| Error::internal("a code beyond the chunk's distinct values"))?;
            if *place == 0 {
                coded.firsts.push(row);
                *place = coded.firsts.len() as u32;
            }
            coded.codes.push(*place - 1);
        }
        Ok(coded)
    }
}

fn counted<const TURNS: usize>(codes: &[u32], distinct: usize) -> Vec<u32> {
    let mut counts = vec![0u32; distinct * TURNS];
    let mut count = |code: u32, turn| {
        if let Some(count) = counts.get_mut(code as usize * TURNS + turn) {
            *count += 1;
        }
    };
    let (turns, rest) = codes.as_chunks::<TURNS>();
    for codes in turns {
        (0..TURNS)
            .zip(codes)
            .for_each(|(turn, code)| count(*code, turn));
    }
    rest.iter().for_each(|code| count(*code, 0));
    let (counts, _) = counts.as_chunks::<TURNS>();
    counts.iter().map(|counts| counts.iter().sum()).collect()
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

    /// By a sample, from 2,048 values on.
    #[test]
    fn a_dictionary_is_tried_where_it_would_save_a_quarter() {
        // Of each value as many copies, far from each other.
        let words = |len: u64, copies: u64| -> Vec<u64> {
            let value = |row: u64| hash_of(row % (len / copies));
            (0..len).map(value).collect()
        };
        for len in [2048, 8192, 16_384, 65_536] {
            let is_tried = |copies| {
                let words = words(len, copies);
                of(Values::U64(&words), words.len() * 3 / 4).is_some()
            };
            assert_eq!([1, 4, 8].map(is_tried), [false, true, true], "{len} words");
            let narrow: Vec<u32> = words(len, 8).iter().map(|word| *word as u32).collect();
            assert!(of(Values::U32(&narrow), narrow.len() * 3 / 4).is_some());
        }
    }

    #[test]
    fn words_near_each_other_are_unsigned_or_signed() {
        fn of<T: Int + crate::values::Physical>() {
            let middle = T::from_u64(1 << (T::BITS - 1));
            let one = T::from_u64(1);
            for around in [T::ZERO, one, middle, T::MAX, middle.wrapping_sub(one)] {
                let words = [0, 2, 1, 0, 3].map(|n| around.wrapping_add(T::from_u64(n)));
                let less = words.map(|word| word.wrapping_sub(one).wrapping_sub(one));
                for words in [words, less] {
                    let blocks = [T::values(&words), T::values(&[])];
                    let near = near(&blocks).unwrap();
                    assert!(
                        near.iter()
                            .flatten()
                            .all(|word| (*word as usize) < 4 * words.len())
                    );
                    let coded = of_blocks(&blocks, 100, 1.0).unwrap();
                    assert_eq!(coded[0].codes, [0, 1, 2, 0, 3]);
                }
            }
            let far = [
                T::ZERO,
                T::from_u64(T::MAX.to_u64() / 3),
                T::from_u64(T::MAX.to_u64() / 3 * 2),
            ];
            assert!(near(&[T::values(&far)]).is_none());
        }
        of::<u8>();
        of::<u16>();
        of::<u32>();
        of::<u64>();
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
    fn codes_are_counted() {
        for (rows, distinct) in [(0, 0), (1, 1), (6, 5), (1003, 7), (1000, 251), (100, 99)] {
            let codes: Vec<u32> = (0..rows).map(|row| row * row % distinct).collect();
            let expected =
                (0..distinct).map(|code| codes.iter().filter(|c| **c == code).count() as u32);
            assert_eq!(
                Coded::counts_of(&codes, distinct as usize),
                expected.collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn codes_of_a_chunk_become_codes_of_a_block() {
        let (a, b) = ([5u64, 6, 5, 8], [6u64, 9, 5, 9]);
        let blocks = of_blocks(&[Values::U64(&a), Values::U64(&b)], 100, 1.0).unwrap();
        assert_eq!(
            (&blocks[1].codes[..], &blocks[1].firsts[..]),
            (&[1, 3, 0, 3][..], &[1][..])
        );
        assert_eq!(
            Coded::localised(&blocks[0].codes, 4).unwrap().codes,
            [0, 1, 0, 2]
        );
        let local = Coded::localised(&blocks[1].codes, 4).unwrap();
        assert_eq!(
            (local.codes, local.firsts),
            (vec![0, 1, 2, 1], vec![0, 1, 2])
        );
        assert!(of_blocks(&[Values::U64(&a), Values::U64(&b)], 100, 0.5).is_none());
    }
}
