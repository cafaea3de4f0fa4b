//! Take: rows by number, in any order, repeats allowed; a range of rows; those that a mask marks.
//!
//! ```text
//! range, mask, ascending list -> rows in the order of the file, block by block; whole blocks as in a scan
//! any other list              -> a bit for every row that is wanted, or sorted where these would be too many
//!                             -> as above, and every row asked for from its place among those
//! ```
//!
//! Only blocks that hold a wanted row are read; each is opened once however many of its rows are
//! wanted, and where values can be read by themselves, no others are decoded. Opened blocks are
//! kept for the next take.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array as _, BooleanArray, RecordBatch, RecordBatchOptions};

use super::rows::{BlockSelection, Group};
use super::{File, each_column, schema_for};
use crate::arrow::take;
use crate::decode::ChunkSelection;
use crate::error::{Error, Result};
use crate::values::Bitmap;

/// Rows of a table. Made of a range, a slice, or a mask.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RowSelection<'s> {
    /// From a row up to another one.
    Range(Range<u64>),
    /// By number, in any order, repeats allowed.
    List(&'s [u64]),
    /// A boolean for every row of the table: those that are true.
    Mask(&'s BooleanArray),
}

impl From<Range<u64>> for RowSelection<'_> {
    fn from(rows: Range<u64>) -> Self {
        Self::Range(rows)
    }
}

impl<'s> From<&'s [u64]> for RowSelection<'s> {
    fn from(rows: &'s [u64]) -> Self {
        Self::List(rows)
    }
}

impl<'s> From<&'s BooleanArray> for RowSelection<'s> {
    fn from(mask: &'s BooleanArray) -> Self {
        Self::Mask(mask)
    }
}

/// Rows of a table for each that is wanted, from which on a bit for each takes longer than to sort
/// these.
const SPARSE: u64 = 512;

/// Rows in the order of the file.
struct Selected {
    groups: Vec<Group>,
    /// How many are asked for.
    count: usize,
    /// For every row asked, its place among them, where the order is another.
    order: Option<Vec<u32>>,
}

impl File {
    /// Rows by number, as one batch in the order asked; all columns where none are named.
    ///
    /// Refused where no array of a column's type can hold so many rows: 16-bit run ends reach
    /// 32,767, and the values of dictionaries of several row groups together may be more than the
    /// keys can number.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch, cast::AsArray, types::Int64Type};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let file = staffa::File::from_bytes(bytes)?;
    /// let rows = file.take(&[700, 3, 700], None, false)?;
    /// assert_eq!(rows.column(0).as_primitive::<Int64Type>().values(), &[700, 3, 700]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn take(
        &self,
        rows: &[u64],
        columns: Option<&[String]>,
        string_views: bool,
    ) -> Result<RecordBatch> {
        self.select(rows, columns, string_views)
    }

    /// A range of rows, those that a mask marks, or those of a list, as one batch; else as
    /// [`take`](Self::take).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{BooleanArray, Int64Array, RecordBatch, cast::AsArray, types::Int64Type};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let file = staffa::File::from_bytes(bytes)?;
    /// let rows = file.select(700..703, None, false)?;
    /// assert_eq!(rows.column(0).as_primitive::<Int64Type>().values(), &[700, 701, 702]);
    /// let mask: BooleanArray = (0..1000).map(|row| Some(row % 400 == 1)).collect();
    /// let rows = file.select(&mask, None, false)?;
    /// assert_eq!(rows.column(0).as_primitive::<Int64Type>().values(), &[1, 401, 801]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn select<'s>(
        &self,
        rows: impl Into<RowSelection<'s>>,
        columns: Option<&[String]>,
        string_views: bool,
    ) -> Result<RecordBatch> {
        let schema = schema_for(self.schema(), string_views);
        let columns = match columns {
            Some(names) => self.column_positions(names)?,
            None => (0..schema.fields().len()).collect(),
        };
        let Selected {
            groups,
            count,
            order,
        } = self.selected(&rows.into())?;
        let open =
            |leaf, pick: &BlockSelection| self.opened_and_kept(leaf, pick.row_group, pick.block);
        let column = |column: &usize| {
            let array = self.take_column(*column, &schema, &groups, &open)?;
            match (&order, schema.fields().get(*column)) {
                (Some(order), Some(field)) => take(field, &array, order)
                    .map_err(|e| e.at(|p| p.column = Some(field.name().clone()))),
                _ => Ok(array),
            }
        };
        let arrays = each_column(&columns, count, column)?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(
            Arc::new(schema.project(&columns)?),
            arrays,
            &options,
        )?)
    }

    /// Where the rows lie, in the order of the file.
    fn selected(&self, rows: &RowSelection<'_>) -> Result<Selected> {
        let (total, block_rows) = (self.num_rows(), u64::from(self.footer().block_rows));
        let (groups, order, count) = match rows {
            RowSelection::Range(rows) => {
                if rows.start > rows.end || rows.end > total {
                    let Range { start, end } = rows;
                    return Err(Error::invalid(format!(
                        "rows {start} to {end} are out of range, the table has {total} rows"
                    )));
                }
                let own = |group: Range<u64>| {
                    let start = rows.start.max(group.start);
                    let end = rows.end.min(group.end).max(start);
                    ChunkSelection::of_range(start - group.start..end - group.start, block_rows)
                };
                (self.groups(own), None, (rows.end - rows.start) as usize)
            }
            RowSelection::Mask(mask) => {
                if mask.len() as u64 != total {
                    return Err(Error::invalid(format!(
                        "a mask of as many rows as the table has, {total}, expected, found {}",
                        mask.len()
                    )));
                }
                // What is NULL is not marked.
                let marked = match mask.nulls().filter(|nulls| nulls.null_count() > 0) {
                    Some(nulls) => Cow::Owned(mask.values() & nulls.inner()),
                    None => Cow::Borrowed(mask.values()),
                };
                let own = |group: Range<u64>| {
                    let (start, len) = (group.start as usize, (group.end - group.start) as usize);
                    let bits = Bitmap::from_bytes(marked.values(), marked.offset() + start, len);
                    ChunkSelection::of_bits(0, bits)
                };
                (self.groups(own), None, marked.count_set_bits())
            }
            RowSelection::List(rows) => {
                if let Some((i, row)) = rows.iter().enumerate().find(|(_, row)| **row >= total) {
                    return Err(Error::invalid(format!(
                        "index {row} at position {i} is out of range, the table has {total} rows"
                    )));
                }
                let ascending = rows.array_windows().all(|[a, b]| a < b);
                let (sorted, order) = if ascending {
                    (Cow::Borrowed(*rows), None)
                } else {
                    let (sorted, order) = in_order(rows, total)?;
                    (Cow::Owned(sorted), Some(order))
                };
                let mut rest = sorted.as_ref();
                let own = |group: Range<u64>| {
                    let here = rest.partition_point(|row| *row < group.end);
                    let (here, later) = rest.split_at_checked(here).unwrap_or_default();
                    rest = later;
                    ChunkSelection::of_list(
                        here.iter().map(|row| row - group.start).collect(),
                        block_rows,
                    )
                };
                (self.groups(own), order, rows.len())
            }
        };
        Ok(Selected {
            groups,
            count,
            order,
        })
    }

    /// Rows of every row group that has some: `own` has them, given which rows of the table these
    /// are.
    fn groups(&self, mut own: impl FnMut(Range<u64>) -> ChunkSelection) -> Vec<Group> {
        let (mut groups, mut first) = (Vec::new(), 0u64);
        for (row_group, &count) in self.footer().row_groups.iter().enumerate() {
            let end = first + u64::from(count);
            let here = own(first..end);
            if here.len() > 0 {
                groups.push(self.group(row_group, here));
            }
            first = end;
        }
        groups
    }
}

/// The rows in the order of the file, each once, and for every row asked for its place among them.
fn in_order(rows: &[u64], total: u64) -> Result<(Vec<u64>, Vec<u32>)> {
    if u32::try_from(rows.len()).is_err() {
        return Err(Error::limit(format!("{} rows at once", rows.len())));
    }
    if total / SPARSE > rows.len() as u64 {
        let mut sorted = rows.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let place = |row: &u64| sorted.partition_point(|other| other < row) as u32;
        let order = rows.iter().map(place).collect();
        return Ok((sorted, order));
    }
    let mut words = vec![0u64; total.div_ceil(64) as usize];
    for row in rows {
        if let Some(word) = words.get_mut((row / 64) as usize) {
            *word |= 1 << (row % 64);
        }
    }
    let mut before = 0;
    let ranks = words.iter().map(|word| {
        let rank = before;
        before += word.count_ones();
        rank
    });
    let ranks: Vec<u32> = ranks.collect();
    let place = |row: &u64| {
        let word = (row / 64) as usize;
        let own = words
            .get(word)
            .map_or(0, |word| (word & ((1 << (row % 64)) - 1)).count_ones());
        ranks.get(word).copied().unwrap_or(0) + own
    };
    let order = rows.iter().map(place).collect();
    let mut sorted = Vec::with_capacity(before as usize);
    for (start, &word) in (0u64..).step_by(64).zip(&words) {
        let mut left = word;
        while left != 0 {
            sorted.push(start + u64::from(left.trailing_zeros()));
            left &= left - 1;
        }
    }
    Ok((sorted, order))
}
