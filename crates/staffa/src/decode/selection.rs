//! Which values are wanted: a list where they are few, one bit each where they are many.
//!
//! A list costs some nanoseconds a value to make and to follow, bits cost next to nothing to make,
//! and what they leave of a decoded vector is packed by a register at a time (Data Formats in
//! Analytical DBMSs, figure 28: selection vectors against bitmaps).
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;

use super::many;
use crate::error::{Error, Result};
use crate::values::Bitmap;

/// One of so many: where more are wanted they are told by bits, and vectors decoded for them.
/// Measured: at one of ten a list takes 0.6 to 0.8 of the time, at one of three 1.2 to 2.1 times as
/// much.
const SHARE: u64 = 6;

/// Whether so many of `among` are better told by a bit each.
pub(crate) fn prefers_bitmap(wanted: u64, among: u64) -> bool {
    wanted.saturating_mul(SHARE) >= among
}

/// Wanted values of a block.
#[derive(Debug, Clone)]
pub(crate) enum Selection {
    /// Their numbers, ascending, each once.
    List(Vec<u32>),
    /// A bit for each, up to the last one wanted or beyond; how many are set.
    Bits(Bitmap, usize),
}

impl Selection {
    /// Number of selected values.
    pub fn len(&self) -> usize {
        match self {
            Self::List(rows) => rows.len(),
            Self::Bits(_, count) => *count,
        }
    }

    /// Whether decoding the vectors of the selected values costs less than reading each by itself.
    pub fn is_many(&self) -> bool {
        match self {
            Self::List(rows) => many(rows),
            Self::Bits(..) => true,
        }
    }

    /// One more than the last that may be wanted.
    pub fn end(&self) -> usize {
        match self {
            Self::List(rows) => rows.last().map_or(0, |row| *row as usize + 1),
            Self::Bits(bits, _) => bits.len(),
        }
    }

    /// Of these bits, those of the values wanted.
    pub fn of(&self, bits: &Bitmap) -> Bitmap {
        match self {
            Self::List(rows) => {
                let bit = |row: &u32| u64::from(bits.get(*row as usize));
                let word =
                    |rows: &[u32]| rows.iter().rev().fold(0, |word, row| word << 1 | bit(row));
                Bitmap::from_words(rows.chunks(64).map(word).collect(), rows.len())
            }
            Self::Bits(wanted, _) => bits.gathered(wanted),
        }
    }

    /// Where the values wanted stand among those whose bit is set.
    #[must_use]
    pub fn among(&self, all: &Bitmap) -> Self {
        match self {
            Self::Bits(wanted, _) => {
                let own = wanted.gathered(all);
                let count = own.count_ones();
                Self::Bits(own, count)
            }
            Self::List(rows) => {
                let (mut before, mut word) = (0, 0);
                let mut rank = |row: u32| {
                    let own = row as usize / 64;
                    before += all
                        .words()
                        .get(word..own)
                        .unwrap_or_default()
                        .iter()
                        .map(|w| w.count_ones())
                        .sum::<u32>();
                    word = own;
                    before
                        + all
                            .words()
                            .get(own)
                            .map_or(0, |w| (w & ((1 << (row % 64)) - 1)).count_ones())
                };
                // Each is written, and stays where its bit is set: nothing is guessed.
                let (mut own, mut count) = (vec![0; rows.len()], 0);
                for &row in rows {
                    if let Some(place) = own.get_mut(count) {
                        *place = rank(row);
                    }
                    count += usize::from(all.get(row as usize));
                }
                own.truncate(count);
                Self::List(own)
            }
        }
    }
}

/// The places of set bits, counted from `first`.
fn numbers(first: u64, bits: &Bitmap) -> Vec<u64> {
    bits.positions()
        .into_iter()
        .map(|place| first + u64::from(place))
        .collect()
}

/// Wanted values of a column chunk.
#[derive(Debug)]
pub(crate) enum ChunkSelection {
    /// Their numbers, ascending, each once.
    List(Vec<u64>),
    /// A bit for each from `first` on, with which a block begins.
    Bits {
        first: u64,
        bits: Bitmap,
        count: usize,
    },
}

impl ChunkSelection {
    /// Of numbers that ascend, each once.
    pub fn of_list(rows: Vec<u64>, block_rows: u64) -> Self {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Self::List(rows);
        };
        let first = first / block_rows.max(1) * block_rows;
        let among = last - first + 1;
        if !prefers_bitmap(rows.len() as u64, among) {
            return Self::List(rows);
        }
        let mut bits = Bitmap::filled(among as usize, false);
        rows.iter()
            .for_each(|row| bits.set((row - first) as usize, true));
        Self::Bits {
            first,
            bits,
            count: rows.len(),
        }
    }

    /// Of neighbours.
    pub fn of_range(rows: Range<u64>, block_rows: u64) -> Self {
        let first = rows.start / block_rows.max(1) * block_rows;
        let mut bits = Bitmap::filled(rows.end.saturating_sub(first) as usize, false);
        bits.set_range((rows.start - first) as usize..bits.len());
        Self::of_bits(first, bits)
    }

    /// Of a bit for each from `first` on, with which a block begins.
    pub fn of_bits(first: u64, bits: Bitmap) -> Self {
        let count = bits.count_ones();
        if prefers_bitmap(count as u64, bits.len() as u64) {
            return Self::Bits { first, bits, count };
        }
        Self::List(numbers(first, &bits))
    }

    /// How many are wanted.
    pub fn len(&self) -> usize {
        match self {
            Self::List(rows) => rows.len(),
            Self::Bits { count, .. } => *count,
        }
    }

    /// Their numbers.
    pub fn list(&self) -> Vec<u64> {
        match self {
            Self::List(rows) => rows.clone(),
            Self::Bits { first, bits, .. } => numbers(*first, bits),
        }
    }

    /// The same by block: the number of each block that has wanted values, and which.
    pub fn by_block(&self, block_rows: u64) -> Vec<(usize, Selection)> {
        let mut blocks = Vec::new();
        match self {
            Self::List(rows) => {
                let mut rest = rows.as_slice();
                while let Some(first) = rest.first() {
                    let block = first / block_rows;
                    let start = block * block_rows;
                    // Searched, not divided for each: among as many as a block can have.
                    let near = rest.get(..block_rows as usize).unwrap_or(rest);
                    let count = near.partition_point(|value| value - start < block_rows);
                    let (own, others) = rest.split_at_checked(count.max(1)).unwrap_or_default();
                    // A block has at most 2^32 values.
                    let rows = own.iter().map(|value| (value - start) as u32).collect();
                    blocks.push((block as usize, Selection::List(rows)));
                    rest = others;
                }
            }
            Self::Bits { first, bits, .. } => {
                let size = block_rows as usize;
                for (i, start) in (0..bits.len()).step_by(size).enumerate() {
                    let own = bits.slice(start, size.min(bits.len() - start));
                    let count = own.count_ones();
                    let selection = match count {
                        0 => continue,
                        _ if prefers_bitmap(count as u64, own.len() as u64) => {
                            Selection::Bits(own, count)
                        }
                        _ => Selection::List(own.positions()),
                    };
                    blocks.push(((first / block_rows) as usize + i, selection));
                }
            }
        }
        blocks
    }

    /// Stretches of neighbours, each with its end.
    fn spans(&self) -> Vec<(u64, u64)> {
        match self {
            Self::List(rows) => rows.iter().map(|row| (*row, row + 1)).collect(),
            Self::Bits { first, bits, .. } => bits
                .runs()
                .map(|run| (first + run.start, first + run.end))
                .collect(),
        }
    }

    /// The items of these lists, where items of list `i` are those from `offset(i)` to
    /// `offset(i + 1)`; at most so many, and all before `end`.
    pub fn items(
        &self,
        offset: impl Fn(u64) -> Option<u64>,
        end: u64,
        most: u64,
        block_rows: u64,
    ) -> Result<Self> {
        let spans = self
            .spans()
            .into_iter()
            .map(|(from, to)| offset(from).zip(offset(to)));
        let spans = spans
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| Error::corrupt("lists expected, found fewer"))?;
        let (Some((first, _)), Some((_, last))) = (spans.first(), spans.last()) else {
            return Ok(Self::List(Vec::new()));
        };
        if *last > end {
            return Err(Error::corrupt(format!(
                "lists of {end} items in all expected, found an end at {last}"
            )));
        }
        // ColumnPlan before there is memory for them.
        let count = spans.iter().fold(0u64, |sum, (start, end)| {
            sum.saturating_add(end.saturating_sub(*start))
        });
        if count > most {
            return Err(Error::limit(format!(
                "at most {most} items are read at once, found {count}"
            )));
        }
        let first = first / block_rows.max(1) * block_rows;
        let among = last.saturating_sub(first);
        if !prefers_bitmap(count, among) {
            return Ok(Self::List(
                spans.iter().flat_map(|(start, end)| *start..*end).collect(),
            ));
        }
        let mut bits = Bitmap::filled(among as usize, false);
        spans.iter().for_each(|(start, end)| {
            bits.set_range((start - first) as usize..(end - first) as usize);
        });
        Ok(Self::Bits {
            first,
            bits,
            count: count as usize,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::arrays::Random;

    #[test]
    fn lists_and_bits_are_the_same_values() {
        let mut random = Random(3);
        for (len, share) in [
            (1, 1),
            (5000, 1),
            (5000, 30),
            (5000, 600),
            (5000, 1000),
            (70, 500),
        ] {
            let start = 128 * random.below(3) as u64;
            let bits: Bitmap = (0..len).map(|_| random.below(1000) < share).collect();
            let list: Vec<u64> = bits.ones().map(|row| start + u64::from(row)).collect();
            let forms = [
                ChunkSelection::of_list(list.clone(), 128),
                ChunkSelection::of_bits(start, bits),
                ChunkSelection::List(list.clone()),
            ];
            for rows in &forms {
                assert_eq!((rows.len(), rows.list()), (list.len(), list.clone()));
                let blocks = rows
                    .by_block(128)
                    .into_iter()
                    .flat_map(|(block, selection)| {
                        let own = match &selection {
                            Selection::List(rows) => rows.clone(),
                            Selection::Bits(bits, _) => bits.ones().collect(),
                        };
                        assert!(
                            own.len() == selection.len()
                                && own.iter().all(|row| (*row as usize) < selection.end())
                        );
                        own.into_iter()
                            .map(move |row| block as u64 * 128 + u64::from(row))
                    });
                assert_eq!(blocks.collect::<Vec<_>>(), list);
                let offset = |row: u64| Some(row * row % 3 + row * 4);
                let items = rows.items(offset, u64::MAX, u64::MAX, 128).unwrap();
                let expected = list
                    .iter()
                    .flat_map(|row| offset(*row).unwrap()..offset(row + 1).unwrap());
                assert_eq!(items.list(), expected.collect::<Vec<_>>());
                if items.len() > 0 {
                    assert!(
                        rows.items(offset, u64::MAX, items.len() as u64 - 1, 128)
                            .is_err()
                    );
                    assert!(
                        rows.items(offset, *items.list().last().unwrap(), u64::MAX, 128)
                            .is_err()
                    );
                    assert!(rows.items(|_| None, u64::MAX, u64::MAX, 128).is_err());
                }
            }
        }
    }

    #[test]
    fn values_wanted_are_found_among_those_that_are_not_null() {
        let mut random = Random(4);
        for share in [0, 1, 5, 10] {
            let valid: Bitmap = (0..700).map(|_| random.below(10) < share).collect();
            let wanted: Bitmap = (0..650).map(|_| random.below(3) == 0).collect();
            let list = Selection::List(wanted.ones().collect());
            let bits = Selection::Bits(wanted.clone(), wanted.count_ones());
            assert_eq!(list.of(&valid), bits.of(&valid));
            let (Selection::List(few), Selection::Bits(many, count)) =
                (list.among(&valid), bits.among(&valid))
            else {
                panic!("another form")
            };
            assert_eq!(
                (many.ones().collect::<Vec<_>>(), count),
                (few.clone(), few.len())
            );
            let ranks = wanted.ones().filter(|row| valid.get(*row as usize));
            assert_eq!(
                few,
                ranks
                    .map(|row| valid.slice(0, row as usize).count_ones() as u32)
                    .collect::<Vec<_>>()
            );
        }
    }
}
