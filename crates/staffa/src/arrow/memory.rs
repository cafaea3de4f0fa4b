//! Bytes that the rows of an array take in Arrow memory, without those of rows it was sliced from.
//!
//! `ArrayData::get_slice_memory_size` counts all items that a slice of lists shares with its array,
//! all values of a dictionary and all runs, and no contents of views.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryViewType, ByteViewType, Int16Type, Int32Type, Int64Type, RunEndIndexType, StringViewType,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_data::MAX_INLINE_VIEW_LEN;
use arrow_schema::DataType;

/// Bytes of the rows of an array: offsets, views, contents and validity; of a dictionary the keys,
/// and its values at most once per row.
///
/// Linear in the rows for views, list views and what lies below them; else constant per buffer.
pub(crate) fn memory_of_rows(array: &dyn Array) -> usize {
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
    let bytes = memory_of_rows(&values.slice(start, end - start));
    let bytes = bytes as u128 * count as u128 / (end - start).max(1) as u128;
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Views, and the contents that do not stand in them.
fn view_bytes<T: ByteViewType>(array: &dyn Array) -> usize {
    let Some(views) = array.as_byte_view_opt::<T>() else {
        return 0;
    };
    let contents = views.views().iter().map(|view| {
        let length = *view as u32;
        let is_inline = length <= MAX_INLINE_VIEW_LEN;
        if is_inline { 0 } else { length as usize }
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

#[cfg(test)]
mod tests;
