//! Lists stored one after another: their lengths, and the place of their items.

use arrow_array::OffsetSizeTrait;
use arrow_buffer::{Buffer, NullBuffer};

use super::layout::MOST_ITEMS;
use crate::error::{Error, Result};
use crate::values::{LeafValues, PhysicalType};

/// The lists to take of an array.
pub(super) struct Plan {
    /// Number of items of each list, 0 under a NULL; words of 64 bits for large lists.
    pub(super) lengths: LeafValues,
    /// Row of the first item.
    pub(super) start: usize,
    /// Number of items.
    pub(super) items: usize,
    /// Rows of the items, unless they lie one after another from `start` on.
    pub(super) picks: Option<Vec<u32>>,
}

impl Plan {
    /// Lists and maps: list `i` is `offsets[i]..offsets[i + 1]`. `nulls` are those of the rows to
    /// take.
    pub(super) fn of_lists<O: OffsetSizeTrait>(
        offsets: &[O],
        picks: Option<&[u32]>,
        nulls: Option<&NullBuffer>,
    ) -> Result<Self> {
        if let (None, None, [first, .., last]) = (picks, nulls, offsets) {
            let lengths = offsets.windows(2).map(|w| w[1] - w[0]).collect();
            return Self::new(lengths, first.as_usize(), (*last - *first).as_usize(), None);
        }
        let range = |i: usize| {
            (
                offsets[i].as_usize(),
                (offsets[i + 1] - offsets[i]).as_usize(),
            )
        };
        Self::of_ranges::<O>(offsets.len() - 1, range, picks, nulls)
    }

    /// List views: list `i` is `sizes[i]` items from `offsets[i]` on.
    pub(super) fn of_views<O: OffsetSizeTrait>(
        offsets: &[O],
        sizes: &[O],
        picks: Option<&[u32]>,
        nulls: Option<&NullBuffer>,
    ) -> Result<Self> {
        Self::of_ranges::<O>(
            offsets.len(),
            |i| (offsets[i].as_usize(), sizes[i].as_usize()),
            picks,
            nulls,
        )
    }

    fn of_ranges<O: OffsetSizeTrait>(
        rows: usize,
        range: impl Fn(usize) -> (usize, usize),
        picks: Option<&[u32]>,
        nulls: Option<&NullBuffer>,
    ) -> Result<Self> {
        let rows = picks.map_or(rows, <[u32]>::len);
        // Under a NULL, a range may be anything.
        let range = |row: usize| match nulls {
            Some(nulls) if nulls.is_null(row) => (0, 0),
            _ => range(picks.map_or(row, |picks| picks[row] as usize)),
        };
        let filled = || (0..rows).map(range).filter(|(_, length)| *length > 0);
        let start = filled().next().map_or(0, |(start, _)| start);
        let (mut items, mut end, mut adjacent) = (0usize, start, true);
        for (start, length) in filled() {
            items = items.saturating_add(length);
            adjacent &= start == end;
            end = start + length;
            if !adjacent && u32::try_from(end).is_err() {
                return Err(too_many_items());
            }
        }
        // Lists that overlap may have far more items than the array.
        if items > MOST_ITEMS {
            return Err(too_many_items());
        }
        let lengths = (0..rows).map(|row| O::usize_as(range(row).1)).collect();
        let pick = || {
            filled()
                .flat_map(|(start, length)| start as u32..(start + length) as u32)
                .collect()
        };
        Self::new(lengths, start, items, (!adjacent).then(pick))
    }

    fn new<O: OffsetSizeTrait>(
        lengths: Vec<O>,
        start: usize,
        items: usize,
        picks: Option<Vec<u32>>,
    ) -> Result<Self> {
        if items > MOST_ITEMS {
            return Err(too_many_items());
        }
        let ty = if O::IS_LARGE {
            PhysicalType::U64
        } else {
            PhysicalType::U32
        };
        Ok(Self {
            lengths: LeafValues::Words(ty, Buffer::from_vec(lengths)),
            start,
            items,
            picks,
        })
    }
}

/// Rows of the items of fixed-size lists.
pub(super) fn each(picks: &[u32], size: usize) -> Result<Vec<u32>> {
    let items = picks
        .len()
        .checked_mul(size)
        .filter(|items| *items <= MOST_ITEMS)
        .ok_or_else(too_many_items)?;
    let mut out = Vec::with_capacity(items);
    for &pick in picks {
        let end = (pick as usize + 1)
            .checked_mul(size)
            .and_then(|end| u32::try_from(end).ok());
        let end = end.ok_or_else(too_many_items)?;
        out.extend(end - size as u32..end);
    }
    Ok(out)
}

pub(super) fn too_many_items() -> Error {
    Error::limit(format!(
        "more than {MOST_ITEMS} items in one row group: make row groups smaller"
    ))
}
