//! Splits: shares of a scan that threads or machines read by themselves.

use std::mem::offset_of;

use staffa::Split;

use super::arguments::{Versioned, borrowed, borrowed_mut, fill, give, item, take};
use super::error::{StaffaCode, StaffaError, guard};
use super::scan::StaffaScan;

/// The splits of a scan, in the order of the file.
#[derive(Debug)]
pub struct StaffaSplits(Vec<Split>);

/// A share of a scan: some rows of one row group. `first_row` and `rows` are all that another process needs,
/// which opens the file too.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StaffaSplit {
    /// `sizeof(StaffaSplit)`, set by the caller.
    pub size: usize,
    /// Its row group, counted from 0.
    pub row_group: u64,
    /// Its first row in the table.
    pub first_row: u64,
    /// Its rows, before any filter.
    pub rows: u64,
    /// About where its bytes begin in the file, by the share of the rows.
    pub byte_offset: u64,
    /// About how many they are.
    pub byte_len: u64,
}

// SAFETY: `repr(C)`, begins with the size, and holds integers.
unsafe impl Versioned for StaffaSplit {
    const FIRST: usize = offset_of!(StaffaSplit, byte_len) + 8;
}

/// The scan cut into splits of about `rows` rows; whole row groups for `SIZE_MAX`. Splits are whole blocks of
/// 65,536 rows; whole row groups where a column that is read or tested is nested. Those whose zone maps
/// exclude a match are left out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_splits(
    scan: *const StaffaScan,
    rows: usize,
    splits: *mut *mut StaffaSplits,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            give(splits, "splits", || {
                Ok(StaffaSplits(borrowed(scan, "scan")?.whole().splits(rows)?))
            })
        })
    }
}

/// Number of splits; 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_splits_len(splits: *const StaffaSplits) -> usize {
    // SAFETY: the contract of `mod.rs`.
    unsafe { borrowed(splits, "splits") }.map_or(0, |splits| splits.0.len())
}

/// Tells a split; `split->size` is set by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_splits_get(
    splits: *const StaffaSplits,
    index: usize,
    split: *mut StaffaSplit,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let found = item(&borrowed(splits, "splits")?.0, index, "split")?;
            let (rows, bytes) = (found.rows(), found.bytes());
            let told = StaffaSplit {
                size: 0,
                row_group: found.row_group() as u64,
                first_row: rows.start,
                rows: rows.end - rows.start,
                byte_offset: bytes.start,
                byte_len: bytes.end - bytes.start,
            };
            fill(split, &told, "split")
        })
    }
}

/// Frees splits; NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_splits_free(splits: *mut StaffaSplits) {
    // SAFETY: the contract of `mod.rs`.
    drop(unsafe { take(splits) });
}

/// Restricts the scan to a split, by its rows as `staffa_splits_get` told them; called again, to several, in
/// this order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn staffa_scan_add_split(
    scan: *mut StaffaScan,
    first_row: u64,
    rows: u64,
    error: *mut *mut StaffaError,
) -> StaffaCode {
    // SAFETY: the contract of `mod.rs`.
    unsafe {
        guard(error, || {
            let scan = borrowed_mut(scan, "scan")?;
            let split = scan.file.split(first_row..first_row.saturating_add(rows))?;
            scan.splits.push(split);
            Ok(())
        })
    }
}
