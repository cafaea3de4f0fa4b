//! Statistics of columns and the order of rows, from the end of the file alone.

use std::ffi::{CString, c_char};
use std::mem::offset_of;
use std::ptr;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_schema::ffi::FFI_ArrowSchema;
use staffa::{LeafStatistics, SortKey};

use super::arguments::{Versioned, borrowed, c_text, fill, give, item, place, take};
use super::arrow::{array_out, released_array, released_schema};
use super::error::{StaffaCode, StaffaError, guard};
use super::file::StaffaFile;
use crate::bounds::bounds;

/// What a file says of its leaf columns, and of the order of its rows.
#[derive(Debug)]
pub struct StaffaStatistics {
    columns: Vec<Column>,
    order: Vec<(CString, SortKey)>,
    schema: arrow_schema::SchemaRef,
}

/// A leaf column, with its texts for C.
#[derive(Debug)]
struct Column {
    path: CString,
    min: Option<CString>,
    max: Option<CString>,
    statistics: LeafStatistics,
}

/// What a file says of a leaf column. The texts live as long as the handle.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StaffaColumnStatistics {
    /// `sizeof(StaffaColumnStatistics)`, set by the caller.
    pub size: usize,
    /// Its path; the name of a flat column.
    pub path: *const c_char,
    /// NULLs.
    pub nulls: u64,
    /// At most the smallest value as text, or NULL; of floats NaN apart, of strings cut off at 16 bytes.
    pub min: *const c_char,
    /// At least the largest value as text, or NULL; of strings cut off at 16 bytes and rounded up.
    pub max: *const c_char,
    /// Estimate of the number of distinct values that are not NULL; exact below 256.
    pub distinct: u64,
    /// Bytes of all values, decoded: words, bits or strings.
    pub decoded_bytes: u64,
    /// Whether the values that are not NULL never decrease.
    pub ascending: bool,
    /// Whether they never increase.
    pub descending: bool,
}

/// A column by which the rows are sorted. The name lives as long as the handle.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StaffaSortKey {
    /// `sizeof(StaffaSortKey)`, set by the caller.
    pub size: usize,
    /// The name of a top-level column.
    pub column: *const c_char,
    /// From the largest value to the smallest.
    pub descending: bool,
    /// NULLs before all values, not behind them.
    pub nulls_first: bool,
}

// SAFETY: both are `repr(C)`, begin with the size; zeros are NULL, 0 and false.
unsafe impl Versioned for StaffaColumnStatistics {
    const FIRST: usize = offset_of!(StaffaColumnStatistics, descending) + 1;
}
// SAFETY: as above.
unsafe impl Versioned for StaffaSortKey {
    const FIRST: usize = offset_of!(StaffaSortKey, nulls_first) + 1;
}

/// Statistics of all leaf columns; none where the writer left them out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_file_statistics(
    file: *const StaffaFile,
    statistics: *mut *mut StaffaStatistics,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            give(statistics, "statistics", || {
                let file = &borrowed(file, "file")?.0;
                let column = |statistics: LeafStatistics| Column {
                    path: c_text(&statistics.path),
                    min: statistics.min.as_deref().map(c_text),
                    max: statistics.max.as_deref().map(c_text),
                    statistics,
                };
                let order = file.sort_order()?.into_iter();
                Ok(StaffaStatistics {
                    columns: file.statistics()?.into_iter().map(column).collect(),
                    order: order.map(|key| (c_text(&key.column), key)).collect(),
                    schema: file.schema().clone(),
                })
            })
        })
    }
}

/// Number of leaf columns; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_statistics_len(statistics: *const StaffaStatistics) -> usize {
    // SAFETY: the contract of `mod.rs`.
    unsafe { borrowed(statistics, "statistics") }.map_or(0, |all| all.columns.len())
}

/// Tells the statistics of a leaf column; `column->size` is set by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_statistics_get(
    statistics: *const StaffaStatistics,
    index: usize,
    column: *mut StaffaColumnStatistics,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let found = item(
                &borrowed(statistics, "statistics")?.columns,
                index,
                "column",
            )?;
            let pointer =
                |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |t| t.as_ptr());
            let told = StaffaColumnStatistics {
                size: 0,
                path: found.path.as_ptr(),
                nulls: found.statistics.nulls,
                min: pointer(&found.min),
                max: pointer(&found.max),
                distinct: found.statistics.distinct,
                decoded_bytes: found.statistics.decoded_bytes,
                ascending: found.statistics.ascending,
                descending: found.statistics.descending,
            };
            fill(column, &told, "column")
        })
    }
}

/// The bounds of a flat column as an Arrow array of its type with two values: at most the smallest, at least
/// the largest; NULL where they are unknown, and of strings and binaries, whose bounds are cut off. A column
/// of a nested type has two NULLs of type null. The caller releases array and schema.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_statistics_bounds(
    statistics: *const StaffaStatistics,
    index: usize,
    schema: *mut FFI_ArrowSchema,
    array: *mut FFI_ArrowArray,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let (schema, array) = (place(schema, "schema")?, place(array, "array")?);
            released_schema(schema);
            released_array(array);
            let all = borrowed(statistics, "statistics")?;
            let column = item(&all.columns, index, "column")?;
            let values = bounds(&all.schema, &column.statistics)?;
            array_out(&values, schema, array)
        })
    }
}

/// Number of columns by which the rows are sorted, as the writer has declared and checked; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_statistics_sort_keys(statistics: *const StaffaStatistics) -> usize {
    // SAFETY: the contract of `mod.rs`.
    unsafe { borrowed(statistics, "statistics") }.map_or(0, |all| all.order.len())
}

/// Tells a column by which the rows are sorted, the first one first; `key->size` is set by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_statistics_sort_key(
    statistics: *const StaffaStatistics,
    index: usize,
    key: *mut StaffaSortKey,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let order = &borrowed(statistics, "statistics")?.order;
            let (name, found) = item(order, index, "sort key")?;
            let told = StaffaSortKey {
                size: 0,
                column: name.as_ptr(),
                descending: found.descending,
                nulls_first: found.nulls_first,
            };
            fill(key, &told, "key")
        })
    }
}

/// Frees statistics; NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_statistics_free(statistics: *mut StaffaStatistics) {
    // SAFETY: the contract of `mod.rs`.
    drop(unsafe { take(statistics) });
}
