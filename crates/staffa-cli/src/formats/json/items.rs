//! The items of lists: a small file may have lists of two billion, and a line of JSON is made in memory.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, OffsetSizeTrait, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

/// Most items of a value, those of all its lists together: each takes some bytes of the line.
pub(super) const MOST_ITEMS: u64 = 1 << 28;

/// The items of the largest value, if it has too many.
pub(super) fn too_many_items(array: &dyn Array) -> Option<u64> {
    let most = match Counts::of(array) {
        Counts::Same(_) if array.is_empty() => 0,
        Counts::Same(count) => count,
        Counts::Each(counts) => counts.into_iter().max().unwrap_or(0),
    };
    (most > MOST_ITEMS).then_some(most)
}

/// The items of every value of an array.
enum Counts {
    /// All values have as many.
    Same(u64),
    Each(Vec<u64>),
}

impl Counts {
    fn of(array: &dyn Array) -> Self {
        let rows = 0..array.len();
        let counts = match array.data_type() {
            DataType::List(_) => Self::of_list::<i32>(array),
            DataType::LargeList(_) => Self::of_list::<i64>(array),
            DataType::ListView(_) => Self::of_view::<i32>(array),
            DataType::LargeListView(_) => Self::of_view::<i64>(array),
            DataType::Map(..) => {
                let map = array.as_map();
                let entries = Self::of(map.entries());
                Self::in_ranges(&entries, ranges(map.value_offsets()))
            }
            DataType::FixedSizeList(_, size) => {
                let size = usize::try_from(*size).unwrap_or(0);
                match Self::of(array.as_fixed_size_list().values()) {
                    Self::Same(count) => Self::Same(times(size, count)),
                    each @ Self::Each(_) => {
                        Self::in_ranges(&each, rows.map(|row| row * size..(row + 1) * size))
                    }
                }
            }
            DataType::Struct(_) => {
                let columns = array.as_struct().columns().iter();
                let columns = columns.map(|column| Self::of(column.as_ref()));
                columns.fold(Self::Same(0), Self::and)
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                match Self::of(dictionary.values()) {
                    Self::Each(counts) if !counts.is_empty() => {
                        let keys = dictionary.normalized_keys().into_iter();
                        Self::Each(keys.map(|key| at(&counts, key)).collect())
                    }
                    same => same,
                }
            }
            DataType::RunEndEncoded(..) => {
                let data = array.to_data();
                let values = data.child_data().get(1).cloned().map(make_array);
                match values.map(|values| Self::of(values.as_ref())) {
                    // At most, which is exact where it matters: where one run has too many.
                    Some(Self::Each(counts)) => Self::Same(counts.into_iter().max().unwrap_or(0)),
                    Some(same) => same,
                    None => Self::Same(0),
                }
            }
            _ => Self::Same(0),
        };
        counts.without(array.nulls())
    }

    fn of_list<O: OffsetSizeTrait>(array: &dyn Array) -> Self {
        let list = array.as_list::<O>();
        Self::in_ranges(&Self::of(list.values()), ranges(list.value_offsets()))
    }

    fn of_view<O: OffsetSizeTrait>(array: &dyn Array) -> Self {
        let view = array.as_list_view::<O>();
        let starts = view.value_offsets().iter().map(|start| start.as_usize());
        let sizes = view.value_sizes().iter().map(|size| size.as_usize());
        let ranges = starts.zip(sizes).map(|(start, size)| start..start + size);
        Self::in_ranges(&Self::of(view.values()), ranges)
    }

    /// The items of lists of these ranges of values: the values, and the items of each.
    fn in_ranges(values: &Self, ranges: impl Iterator<Item = Range<usize>>) -> Self {
        let counts = match values {
            Self::Same(count) => ranges.map(|range| times(range.len(), *count)).collect(),
            Self::Each(counts) => {
                let mut sums = vec![0_u64];
                let mut sum = 0_u64;
                sums.extend(counts.iter().map(|count| {
                    sum = sum.saturating_add(*count);
                    sum
                }));
                let of = |range: Range<usize>| {
                    let inner = at(&sums, range.end).saturating_sub(at(&sums, range.start));
                    inner.saturating_add(range.len() as u64)
                };
                ranges.map(of).collect()
            }
        };
        Self::Each(counts)
    }

    /// The items of structs with these two columns.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Same(a), Self::Same(b)) => Self::Same(a.saturating_add(b)),
            (Self::Each(mut counts), Self::Same(more))
            | (Self::Same(more), Self::Each(mut counts)) => {
                let counts_mut = counts.iter_mut();
                counts_mut.for_each(|count| *count = count.saturating_add(more));
                Self::Each(counts)
            }
            (Self::Each(mut counts), Self::Each(more)) => {
                let both = counts.iter_mut().zip(more);
                both.for_each(|(count, more)| *count = count.saturating_add(more));
                Self::Each(counts)
            }
        }
    }

    /// NULL has no items.
    fn without(self, nulls: Option<&NullBuffer>) -> Self {
        let count = |row: usize, counts: &Self| match counts {
            Self::Same(count) => *count,
            Self::Each(counts) => at(counts, row),
        };
        match nulls {
            Some(nulls) if nulls.null_count() > 0 && !matches!(self, Self::Same(0)) => {
                let valid = nulls.iter().enumerate();
                let counts = valid.map(|(row, valid)| if valid { count(row, &self) } else { 0 });
                Self::Each(counts.collect())
            }
            _ => self,
        }
    }
}

fn at(counts: &[u64], index: usize) -> u64 {
    counts.get(index).copied().unwrap_or(0)
}

/// So many values with so many items each.
fn times(values: usize, items: u64) -> u64 {
    (values as u64).saturating_mul(items.saturating_add(1))
}

fn ranges<O: OffsetSizeTrait>(offsets: &[O]) -> impl Iterator<Item = Range<usize>> {
    let pairs = offsets.iter().zip(offsets.iter().skip(1));
    pairs.map(|(start, end)| start.as_usize()..end.as_usize())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, FixedSizeListArray, ListArray, NullArray, StructArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;

    use super::*;

    fn field(data_type: &DataType) -> Arc<Field> {
        Arc::new(Field::new("item", data_type.clone(), true))
    }

    fn fixed(items: ArrayRef, size: i32, nulls: Option<NullBuffer>) -> ArrayRef {
        let item = field(items.data_type());
        Arc::new(FixedSizeListArray::try_new(item, size, items, nulls).unwrap())
    }

    #[test]
    fn lists_of_nothing_are_counted_without_a_look_at_each_item() {
        let nulls = |rows| Arc::new(NullArray::new(rows)) as ArrayRef;
        let most = fixed(nulls(i32::MAX as usize), i32::MAX, None);
        assert_eq!(too_many_items(&most), Some(i32::MAX as u64));
        let none = NullBuffer::new_null(1);
        assert_eq!(
            too_many_items(&fixed(nulls(i32::MAX as usize), i32::MAX, Some(none))),
            None
        );
        // 2,000 lists of 1,000 lists of 1,000.
        let inner = fixed(nulls(2_000_000_000), 1000, None);
        assert_eq!(too_many_items(&inner), None);
        let outer = fixed(inner, 1000, None);
        assert_eq!(too_many_items(&outer), None);
        let offsets = OffsetBuffer::new(vec![0, 2, 2000].into());
        let list = ListArray::try_new(field(outer.data_type()), offsets, outer, None).unwrap();
        assert_eq!(too_many_items(&list), Some(1998 * (1 + 1000 * 1001)));
        let columns = vec![(field(list.data_type()), Arc::new(list) as ArrayRef)];
        let rows = StructArray::from(columns);
        assert_eq!(too_many_items(&rows), Some(1998 * (1 + 1000 * 1001)));
    }

    #[test]
    fn usual_lists_are_not_too_long() {
        let lists = vec![Some(vec![Some(1), None]), None, Some(vec![])];
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
        let Counts::Each(counts) = Counts::of(&list) else {
            unreachable!()
        };
        assert_eq!((counts, too_many_items(&list)), (vec![2, 0, 0], None));
    }
}
