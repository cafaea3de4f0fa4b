//! Bytes that the rows of an array take in Arrow memory, without those of rows it was sliced from.
//!
//! `ArrayData::get_slice_memory_size` counts all items that a slice of lists shares with its array,
//! all values of a dictionary and all runs, and no contents of views.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryViewType, ByteViewType, Int16Type, Int32Type, Int64Type, RunEndIndexType, StringViewType,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch};
use arrow_data::{ArrayData, MAX_INLINE_VIEW_LEN};
use arrow_schema::DataType;

/// Views that are looked at to learn the bytes of one of them: the mean of more is that of their buffers.
const LOOKED_AT: usize = 8;

/// Bytes of the rows of a batch in Arrow memory, as [`WriteSummary::arrow_bytes`](crate::WriteSummary::arrow_bytes)
/// has them: buffers count within the slice that the batch is of them, the values of a dictionary at most once per
/// row, each as the mean of all; strings of views and items of list views count for each row that has them.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// let numbers = Arc::new(Int64Array::from_iter_values(0..1000));
/// let batch = RecordBatch::try_from_iter([("n", numbers as _)]).unwrap();
/// assert_eq!(staffa::arrow_bytes(&batch.slice(300, 10)), 80);
/// ```
pub fn arrow_bytes(batch: &RecordBatch) -> u64 {
    sum(batch.columns().iter().map(|column| memory_of_rows(column))) as u64
}

/// Bytes of the rows of an array: offsets, views, contents and validity; of a dictionary the keys,
/// and its values at most once per row.
///
/// Linear in the rows for views, list views and what lies below them; else constant per buffer.
fn memory_of_rows(array: &dyn Array) -> usize {
    let bytes = match array.data_type() {
        DataType::Utf8View => view_bytes::<StringViewType>(array),
        DataType::BinaryView => view_bytes::<BinaryViewType>(array),
        DataType::List(_) => array
            .as_list_opt::<i32>()
            .map_or(0, |lists| list_bytes(lists.offsets(), lists.values())),
        DataType::LargeList(_) => array
            .as_list_opt::<i64>()
            .map_or(0, |lists| list_bytes(lists.offsets(), lists.values())),
        DataType::Map(..) => array.as_map_opt().map_or(0, |map| {
            let entries: ArrayRef = Arc::new(map.entries().clone());
            list_bytes(map.offsets(), &entries)
        }),
        DataType::ListView(_) => list_view_bytes::<i32>(array),
        DataType::LargeListView(_) => list_view_bytes::<i64>(array),
        DataType::FixedSizeList(..) => {
            let lists = array.as_fixed_size_list_opt();
            lists.map_or(0, |lists| memory_of_rows(lists.values()))
        }
        DataType::Struct(_) => {
            let fields = array
                .as_struct_opt()
                .map_or(&[][..], |array| array.columns());
            sum(fields.iter().map(|field| memory_of_rows(field)))
        }
        // The keys have the validity; runs have none.
        DataType::Dictionary(..) => {
            return array.as_any_dictionary_opt().map_or(0, |array| {
                let (values, rows) = (array.values(), array.len());
                let values = memory_of_some(values, 0..values.len(), rows.min(values.len()));
                memory_of_rows(array.keys()).saturating_add(values)
            });
        }
        DataType::RunEndEncoded(..) => {
            return run_bytes::<Int16Type>(array)
                .saturating_add(run_bytes::<Int32Type>(array))
                .saturating_add(run_bytes::<Int64Type>(array));
        }
        // Booleans, numbers, strings with offsets: their buffers are known by the array's range.
        _ => {
            let bytes = array.to_data().get_slice_memory_size();
            return bytes.unwrap_or_else(|_| array.get_array_memory_size());
        }
    };
    let validity = array.nulls().map_or(0, |nulls| nulls.len().div_ceil(8));
    bytes.saturating_add(validity)
}

fn sum(bytes: impl Iterator<Item = usize>) -> usize {
    bytes.fold(0, usize::saturating_add)
}

/// Bytes of `count` values out of those in a range of rows, each as large as the mean.
fn memory_of_some(values: &ArrayRef, range: Range<usize>, count: usize) -> usize {
    let end = range.end.min(values.len());
    let start = range.start.min(end);
    let (bytes, all) = if end - start > LOOKED_AT * count && has_views(values.data_type()) {
        (values.get_buffer_memory_size(), values.len())
    } else {
        (
            memory_of_rows(&values.slice(start, end - start)),
            end - start,
        )
    };
    let bytes = bytes as u128 * count as u128 / all.max(1) as u128;
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Whether bytes of such values are known row by row alone.
fn has_views(ty: &DataType) -> bool {
    contains(ty, &|ty| {
        matches!(
            ty,
            DataType::Utf8View
                | DataType::BinaryView
                | DataType::ListView(_)
                | DataType::LargeListView(_)
        )
    })
}

/// Whether a type, or one in it, is of a kind.
fn contains(ty: &DataType, is_kind: &impl Fn(&DataType) -> bool) -> bool {
    is_kind(ty)
        || match ty {
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::ListView(field)
            | DataType::LargeListView(field)
            | DataType::FixedSizeList(field, _)
            | DataType::Map(field, _)
            | DataType::RunEndEncoded(_, field) => contains(field.data_type(), is_kind),
            DataType::Struct(fields) => fields
                .iter()
                .any(|field| contains(field.data_type(), is_kind)),
            DataType::Dictionary(_, values) => contains(values, is_kind),
            _ => false,
        }
}

/// Views, and the contents that do not stand in them.
fn view_bytes<T: ByteViewType>(array: &dyn Array) -> usize {
    let Some(views) = array.as_byte_view_opt::<T>() else {
        return 0;
    };
    let contents = views.views().iter().enumerate().map(|(row, view)| {
        let length = *view as u32;
        let has_contents = length > MAX_INLINE_VIEW_LEN && !views.is_null(row);
        if has_contents { length as usize } else { 0 }
    });
    sum(contents).saturating_add(size_of_val::<[u128]>(views.views()))
}

/// Offsets, and the items between the first and the last.
fn list_bytes<O: OffsetSizeTrait>(offsets: &[O], items: &ArrayRef) -> usize {
    let contents = match offsets {
        [first, .., last] => {
            let (first, last) = (first.as_usize(), last.as_usize());
            memory_of_some(items, first..last, last.saturating_sub(first))
        }
        _ => 0,
    };
    contents.saturating_add(size_of_val(offsets))
}

/// Offsets and sizes, and the items of the lists.
fn list_view_bytes<O: OffsetSizeTrait>(array: &dyn Array) -> usize {
    let Some(views) = array.as_list_view_opt::<O>() else {
        return 0;
    };
    // The range that holds all lists. They may lie in it with gaps; items of several are counted
    // for each, as they are written.
    let (mut start, mut end, mut items) = (usize::MAX, 0, 0usize);
    for (row, (first, size)) in views.offsets().iter().zip(views.sizes().iter()).enumerate() {
        let (first, size) = (first.as_usize(), size.as_usize());
        if size > 0 && !views.is_null(row) {
            start = start.min(first);
            end = end.max(first.saturating_add(size));
            items = items.saturating_add(size);
        }
    }
    let contents = memory_of_some(views.values(), start..end, items);
    contents.saturating_add(2 * size_of_val::<[O]>(views.offsets()))
}

/// Ends and values of the runs that hold the rows; 0 where the type of the ends is another.
fn run_bytes<E: RunEndIndexType>(array: &dyn Array) -> usize {
    let Some(runs) = array.as_run_opt::<E>().filter(|runs| !runs.is_empty()) else {
        return 0;
    };
    let first = runs.get_start_physical_index();
    let count = runs.get_end_physical_index().saturating_sub(first) + 1;
    let values = memory_of_some(runs.values(), first..first + count, count);
    values.saturating_add(count * size_of::<E::Native>())
}

/// Dictionaries of the batches that wait for their row group: each batch may keep one of its own in memory.
#[derive(Default)]
pub(crate) struct Dictionaries {
    /// By the addresses of their values.
    seen: HashSet<usize>,
}

impl Dictionaries {
    /// Bytes of the dictionaries of a batch that those before it do not have; of the first batch 0.
    pub(crate) fn new_bytes(&mut self, batch: &RecordBatch) -> usize {
        let is_first = self.seen.is_empty();
        let mut bytes = 0usize;
        let columns = batch.columns().iter();
        for column in columns.filter(|column| has_dictionary(column.data_type())) {
            each_dictionary(&column.to_data(), &mut |values| {
                if self.seen.insert(address(values)) && !is_first {
                    bytes = bytes.saturating_add(values.get_buffer_memory_size());
                }
            });
        }
        bytes
    }

    /// Forgets them: the batches are gone.
    pub(crate) fn clear(&mut self) {
        self.seen.clear();
    }
}

fn has_dictionary(ty: &DataType) -> bool {
    contains(ty, &|ty| matches!(ty, DataType::Dictionary(..)))
}

/// Calls `each` with the values of every dictionary in an array.
fn each_dictionary(data: &ArrayData, each: &mut impl FnMut(&ArrayData)) {
    if let (DataType::Dictionary(..), [values]) = (data.data_type(), data.child_data()) {
        each(values);
    }
    data.child_data()
        .iter()
        .for_each(|child| each_dictionary(child, each));
}

/// Where the first buffer of an array stands; 0 without any.
fn address(data: &ArrayData) -> usize {
    let own = data.buffers().first();
    own.map_or_else(
        || data.child_data().first().map_or(0, address),
        |buffer| buffer.as_ptr() as usize,
    )
}

#[cfg(test)]
mod tests;
