//! Selected values: a list of rows where they are few, a bit for each row where they are many.
//!
//! A list costs some nanoseconds a value to make and to follow. Bits cost next to nothing to make,
//! and compact a decoded vector by a register at a time (Data Formats in Analytical DBMSs, figure
//! 28: selection vectors against bitmaps).

use std::ops::Range;

use super::{corrupt_if, many};
use crate::error::{Error, Result};
use crate::values::Bitmap;

/// From one selected value of this many on, bits are faster than a list (decision 38).
const SHARE: u64 = 16;

/// The same of the strings of a decoded vector, whose places are summed up either way.
const SHARE_OF_STRINGS: usize = 6;

/// Whether a bitmap is faster than a list for `selected` of `total` values.
pub(crate) fn prefers_bitmap(selected: u64, total: u64) -> bool {
    selected.saturating_mul(SHARE) >= total
}

/// As [`prefers_bitmap`], for strings of a vector.
pub(crate) fn prefers_bitmap_of_strings(selected: usize, total: usize) -> bool {
    selected * SHARE_OF_STRINGS >= total
}

/// Selected values of a block.
#[derive(Debug, Clone)]
pub(crate) enum Selection {
    /// Their rows, ascending, each once.
    List(Vec<u32>),
    /// A bit for each row, up to the last selected one or beyond, and the number of set bits.
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

    /// End of the rows: the last selected row is before it.
    pub fn end(&self) -> usize {
        match self {
            Self::List(rows) => rows.last().map_or(0, |row| *row as usize + 1),
            Self::Bits(bits, _) => bits.len(),
        }
    }

    /// The bits of the selected rows, in order.
    pub fn of(&self, bits: &Bitmap) -> Bitmap {
        match self {
            Self::List(rows) => {
                let bit = |row: &u32| u64::from(bits.get(*row as usize));
                let word =
                    |rows: &[u32]| rows.iter().rev().fold(0, |word, row| word << 1 | bit(row));
                Bitmap::from_words(rows.chunks(64).map(word).collect(), rows.len())
            }
            Self::Bits(selected, _) => bits.gathered(selected),
        }
    }

    /// The selected rows whose bit is set, by their rank among all set bits.
    #[must_use]
    pub fn among(&self, all: &Bitmap) -> Self {
        match self {
            Self::Bits(selected, _) => {
                let ranks = selected.gathered(all);
                let count = ranks.count_ones();
                Self::Bits(ranks, count)
            }
            Self::List(rows) => Self::List(all.ranks(rows)),
        }
    }
}

/// The rows of set bits, of which the first is row `first`.
fn rows_of(first: u64, bits: &Bitmap) -> Vec<u64> {
    bits.positions()
        .into_iter()
        .map(|position| first + u64::from(position))
        .collect()
}

/// Selected values of a column chunk.
#[derive(Debug)]
pub(crate) enum ChunkSelection {
    /// Their rows, ascending, each once.
    List(Vec<u64>),
    /// A bit for each row from `first` on, which is the first row of a block.
    Bits {
        first: u64,
        bits: Bitmap,
        count: usize,
    },
}

impl ChunkSelection {
    /// Selects rows, which ascend, each once.
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

    /// Selects a range of rows.
    pub fn of_range(rows: Range<u64>, block_rows: u64) -> Self {
        let first = rows.start / block_rows.max(1) * block_rows;
        let mut bits = Bitmap::filled(rows.end.saturating_sub(first) as usize, false);
        bits.set_range((rows.start - first) as usize..bits.len());
        Self::of_bits(first, bits)
    }

    /// Selects by a bit for each row from `first` on, which is the first row of a block.
    pub fn of_bits(first: u64, bits: Bitmap) -> Self {
        let count = bits.count_ones();
        if prefers_bitmap(count as u64, bits.len() as u64) {
            return Self::Bits { first, bits, count };
        }
        Self::List(rows_of(first, &bits))
    }

    /// Number of selected values.
    pub fn len(&self) -> usize {
        match self {
            Self::List(rows) => rows.len(),
            Self::Bits { count, .. } => *count,
        }
    }

    /// The selected rows.
    pub fn list(&self) -> Vec<u64> {
        match self {
            Self::List(rows) => rows.clone(),
            Self::Bits { first, bits, .. } => rows_of(*first, bits),
        }
    }

    /// The selection by blocks: each block that has selected values, and its selection.
    pub fn by_block(&self, block_rows: u64) -> Vec<(usize, Selection)> {
        let mut blocks = Vec::new();
        match self {
            Self::List(rows) => {
                let mut rest = rows.as_slice();
                while let Some(first) = rest.first() {
                    let block = first / block_rows;
                    let start = block * block_rows;
                    // A binary search instead of a division for each row; rows do not repeat.
                    let near = rest.get(..block_rows as usize).unwrap_or(rest);
                    let count = near.partition_point(|value| value - start < block_rows);
                    let (own, others) = rest.split_at_checked(count.max(1)).unwrap_or((rest, &[]));
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

    /// Stretches of selected rows, each with its end.
    fn spans(&self) -> Vec<(u64, u64)> {
        match self {
            Self::List(rows) => rows.iter().map(|row| (*row, row + 1)).collect(),
            Self::Bits { first, bits, .. } => bits
                .runs()
                .map(|run| (first + run.start, first + run.end))
                .collect(),
        }
    }

    /// Selects the items of the selected lists; list `i` has items `offset(i)..offset(i + 1)`. An
    /// error for more than `max_items`, or for an item that is not before `end`.
    pub fn items(
        &self,
        offset: impl Fn(u64) -> Option<u64>,
        end: u64,
        max_items: u64,
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
        corrupt_if!(
            *last > end,
            "lists of {end} items in all expected, found an end at {last}"
        );
        // Check the limit before allocating the items.
        let count = spans.iter().fold(0u64, |sum, (start, end)| {
            sum.saturating_add(end.saturating_sub(*start))
        });
        if count > max_items {
            return Err(Error::limit(format!(
                "at most {max_items} items are read at once, found {count}"
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
    fn selected_values_are_found_among_valid_ones() {
        let mut random = Random(4);
        for share in [0, 1, 5, 10] {
            let valid: Bitmap = (0..700).map(|_| random.below(10) < share).collect();
            let selected: Bitmap = (0..650).map(|_| random.below(3) == 0).collect();
            let list = Selection::List(selected.ones().collect());
            let bits = Selection::Bits(selected.clone(), selected.count_ones());
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
            let ranks = selected.ones().filter(|row| valid.get(*row as usize));
            assert_eq!(
                few,
                ranks
                    .map(|row| valid.slice(0, row as usize).count_ones() as u32)
                    .collect::<Vec<_>>()
            );
        }
    }
}
