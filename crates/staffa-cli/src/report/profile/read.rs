//! The rows that the distributions are made of, column by column: memory is bounded by one column.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use staffa::{Error, File, Inspection, LeafInfo};

use super::{Profile, Shape};
use crate::error::{Failure, Result};
use crate::terminal::interrupt;

/// Values that are looked at in all columns together, and in one column.
const VALUES: u64 = 16 << 20;
const ROWS: Range<u64> = 4096..1 << 20;
/// Memory of a column.
const BYTES: u64 = 64 << 20;
/// Runs of rows of a table that is not read whole. Of each column a block is decoded per run.
const RUNS: Range<u64> = 4..64;
const BLOCKS: u64 = 4096;

/// The distribution of every leaf.
pub(in crate::report) fn profiles(file: &File, inspection: &Inspection) -> Result<Vec<Profile>> {
    let mut profiles = Vec::with_capacity(inspection.columns.len());
    let mut column: Option<(&str, u64, ArrayRef)> = None;
    for leaf in &inspection.columns {
        interrupt::check()?;
        // The leaves of a column are neighbours.
        let name = leaf.column.as_str();
        if column.as_ref().is_none_or(|(last, ..)| *last != name) {
            column = read(file, inspection, leaf)?;
        }
        let profile = column.as_ref().map(|(_, rows, array)| {
            let path = leaf.path.strip_prefix(name).unwrap_or_default();
            profile(*rows, array, path)
        });
        profiles.push(profile.unwrap_or_default());
    }
    Ok(profiles)
}

/// A column without a picture is no reason to have no report.
fn profile(rows: u64, array: &ArrayRef, path: &str) -> Profile {
    let Some(values) = child(array, path) else {
        return Profile::default();
    };
    Profile {
        rows,
        values: (values.len() - values.logical_null_count()) as u64,
        shape: Shape::of(&values).unwrap_or_default(),
    }
}

/// Some rows of the column of a leaf, and their number; None of a column of unknown type.
fn read<'i>(
    file: &File,
    inspection: &'i Inspection,
    leaf: &'i LeafInfo,
) -> Result<Option<(&'i str, u64, ArrayRef)>> {
    if inspection.rows == 0 || file.unknown_columns().contains(&leaf.column.as_str()) {
        return Ok(None);
    }
    let leaves = &inspection.columns;
    let own = leaves.iter().filter(|other| other.column == leaf.column);
    let bytes: u64 = own.map(|leaf| leaf.decoded_bytes).sum();
    let (rows, runs) = budget(inspection.rows, leaves.len() as u64, bytes);
    let names = [leaf.column.clone()];
    let batch = if rows == inspection.rows {
        file.take(0..rows).columns(names).read()
    } else {
        let rows = spread(inspection.rows, rows, runs);
        file.take(&rows).columns(names).read()
    };
    let batch = match batch {
        // Dictionaries of several row groups may not go into one array.
        Err(Error::Limit { .. } | Error::Unsupported { .. } | Error::Arrow(_)) => return Ok(None),
        batch => batch.map_err(|error| Failure::staffa("the table".as_ref(), error))?,
    };
    Ok(Some((&leaf.column, rows, batch.column(0).clone())))
}

/// How many rows of a column of so many bytes are read, in how many runs.
fn budget(rows: u64, columns: u64, bytes: u64) -> (u64, u64) {
    let wanted = (VALUES / columns.max(1)).clamp(ROWS.start, ROWS.end);
    let bytes_per_row = (bytes / rows.max(1)).max(1);
    let wanted = wanted.min(BYTES / bytes_per_row).max(1);
    let runs = (BLOCKS / columns.max(1)).clamp(RUNS.start, RUNS.end);
    (wanted.min(rows), runs.min(wanted))
}

/// Runs of rows at even distances, the first at the start of the table, the last at its end.
fn spread(all: u64, wanted: u64, runs: u64) -> Vec<u64> {
    let length = wanted / runs.max(1);
    let last = u128::from(all - length);
    let start = |run: u64| (last * u128::from(run) / u128::from((runs - 1).max(1))) as u64;
    let mut rows: Vec<u64> = Vec::with_capacity(wanted as usize);
    for run in 0..runs {
        let next = rows.last().map_or(0, |row| row + 1);
        rows.extend(start(run).max(next)..start(run) + length);
    }
    rows
}

/// The array at a path below another one, as the paths of leaves are written.
fn child(array: &ArrayRef, path: &str) -> Option<ArrayRef> {
    if path.is_empty() {
        return Some(array.clone());
    }
    match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let (first, last) = (list.offsets().first()?, list.offsets().last()?);
            let items = list
                .values()
                .slice(*first as usize, (last - first) as usize);
            child(&items, path.strip_prefix("[]")?)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let (first, last) = (list.offsets().first()?, list.offsets().last()?);
            let items = list
                .values()
                .slice(*first as usize, (last - first) as usize);
            child(&items, path.strip_prefix("[]")?)
        }
        DataType::FixedSizeList(..) => child(
            array.as_fixed_size_list().values(),
            path.strip_prefix("[]")?,
        ),
        DataType::Struct(fields) => {
            let path = path.strip_prefix('.')?;
            // Names may hold dots.
            fields.iter().enumerate().find_map(|(index, field)| {
                let rest = path.strip_prefix(field.name().as_str())?;
                let column = array.as_struct().column(index);
                child(&with_nulls(column, array.nulls())?, rest)
            })
        }
        _ => None,
    }
}

/// The array, NULL also where its parent is.
fn with_nulls(array: &ArrayRef, parent: Option<&NullBuffer>) -> Option<ArrayRef> {
    if parent.is_none() {
        return Some(array.clone());
    }
    let nulls = NullBuffer::union(array.nulls(), parent);
    let data = array.to_data().into_builder().nulls(nulls);
    Some(make_array(data.build().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::{Int64Array, StructArray};
    use arrow_schema::{Field, Fields};

    use super::*;

    #[test]
    fn runs_are_spread_over_the_table() {
        let rows = spread(1_000_000, 6400, 64);
        assert_eq!((rows.len(), rows[0], rows[6399]), (6400, 0, 999_999));
        assert!(rows.array_windows().all(|[a, b]| a < b));
        assert_eq!(spread(100, 1, 1), [0]);
        // Nearly all rows: no row twice.
        let dense = spread(1000, 999, 9);
        assert!(dense.array_windows().all(|[a, b]| a < b) && dense.last() == Some(&999));
    }

    #[test]
    fn wide_and_large_columns_are_read_in_part() {
        assert_eq!(budget(1000, 10, 8000), (1000, 64));
        assert_eq!(budget(1 << 30, 10, 8 << 30), (1 << 20, 64));
        assert_eq!(budget(1 << 30, 4096, 8 << 30), (4096, 4));
        // A MB per value.
        assert_eq!(budget(1000, 1, 1000 << 20), (64, 64));
    }

    #[test]
    fn children_are_null_where_their_parent_is() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let fields = Fields::from(vec![Field::new("x.y", DataType::Int64, true)]);
        let nulls = NullBuffer::from(vec![true, false, true]);
        let parent: ArrayRef = Arc::new(StructArray::new(fields, vec![values], Some(nulls)));
        let found = child(&parent, ".x.y").unwrap();
        assert_eq!((found.len(), found.null_count()), (3, 1));
        assert!(child(&parent, ".z").is_none());
    }
}
