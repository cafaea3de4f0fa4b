//! Lists stored one after another: their lengths, and the place of their items.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
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
    /// The items of an array of lists, list views or maps, and the lists to take; `None` for other
    /// arrays. `nulls` are those of the rows to take.
    pub(super) fn of(
        array: &dyn Array,
        picks: Option<&[u32]>,
        nulls: Option<&NullBuffer>,
    ) -> Result<Option<(ArrayRef, Self)>> {
        match Self::of_width::<i32>(array, picks, nulls)? {
            None => Self::of_width::<i64>(array, picks, nulls),
            found => Ok(found),
        }
    }

    fn of_width<O: OffsetSizeTrait>(
        array: &dyn Array,
        picks: Option<&[u32]>,
        nulls: Option<&NullBuffer>,
    ) -> Result<Option<(ArrayRef, Self)>> {
        if let Some(views) = array.as_list_view_opt::<O>() {
            let (starts, sizes) = (views.offsets(), views.sizes());
            let range = |i: usize| Some((starts.get(i)?.as_usize(), sizes.get(i)?.as_usize()));
            let plan = Self::of_ranges::<O>(views.len(), range, picks, nulls)?;
            return Ok(Some((views.values().clone(), plan)));
        }
        if let Some(lists) = array.as_list_opt::<O>() {
            let plan = Self::of_lists::<O>(lists.offsets(), picks, nulls)?;
            return Ok(Some((lists.values().clone(), plan)));
        }
        let Some(map) = array.as_map_opt() else {
            return Ok(None);
        };
        let plan = Self::of_lists::<i32>(map.offsets(), picks, nulls)?;
        Ok(Some((Arc::new(map.entries().clone()), plan)))
    }

    /// Lists and maps: list `i` is `offsets[i]..offsets[i + 1]`.
    fn of_lists<O: OffsetSizeTrait>(
        offsets: &[O],
        picks: Option<&[u32]>,
        nulls: Option<&NullBuffer>,
    ) -> Result<Self> {
        if let (None, None, [first, .., last]) = (picks, nulls, offsets) {
            let lengths = offsets.array_windows().map(|[start, end]| *end - *start);
            let lengths = lengths.collect();
            return Self::new(lengths, first.as_usize(), (*last - *first).as_usize(), None);
        }
        let range = |i: usize| match offsets.get(i..i + 2) {
            Some([start, end]) => Some((start.as_usize(), (*end - *start).as_usize())),
            _ => None,
        };
        Self::of_ranges::<O>(offsets.len().saturating_sub(1), range, picks, nulls)
    }

    /// Lists each of which is a range of items: its start and its length.
    fn of_ranges<O: OffsetSizeTrait>(
        rows: usize,
        range: impl Fn(usize) -> Option<(usize, usize)>,
        picks: Option<&[u32]>,
        nulls: Option<&NullBuffer>,
    ) -> Result<Self> {
        let rows = picks.map_or(rows, <[u32]>::len);
        let mut ranges = Vec::with_capacity(rows);
        for row in 0..rows {
            let list = picks.map_or(Some(row), |picks| picks.get(row).map(|list| *list as usize));
            // Under a NULL, a range may be anything.
            let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
            let range = if is_null {
                Some((0, 0))
            } else {
                list.and_then(&range)
            };
            ranges
                .push(range.ok_or_else(|| Error::internal("a list beyond the end of its array"))?);
        }
        let filled = || ranges.iter().copied().filter(|(_, length)| *length > 0);
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
        let lengths = ranges
            .iter()
            .map(|(_, length)| O::usize_as(*length))
            .collect();
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
