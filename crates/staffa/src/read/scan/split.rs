//! Splits: shares of a scan that are read by themselves, here or in another process.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]
#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::ops::Range;

use super::checked::is_flat;
use super::{Scan, ScanTask};
use crate::error::{Error, Result};
use crate::read::File;
use crate::read::batch::{RowRange, RowRanges, STEP_ROWS, byte_of_row};

/// A share of a scan that can be read by itself: some rows of one row group, made by
/// [`Scan::splits`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    pub(super) range: RowRange,
    /// Its first row in the table.
    first_row: u64,
    bytes: Range<u64>,
}

impl Split {
    fn new(file: &File, first_rows: &[u64], range: RowRange) -> Result<Self> {
        let group = first_rows.get(range.row_group);
        let group = group.ok_or_else(|| Error::internal("a split of no row group"))?;
        let first_row = group + range.rows.start as u64;
        let end = first_row + range.rows.len() as u64;
        Ok(Self {
            bytes: byte_of_row(file, first_row)..byte_of_row(file, end),
            range,
            first_row,
        })
    }

    /// Its rows, before any filter.
    pub fn num_rows(&self) -> usize {
        self.range.rows.len()
    }

    /// Its rows, by their numbers in the table: all that another process needs, which opens the file
    /// too, for [`File::split`].
    pub fn rows(&self) -> Range<u64> {
        self.first_row..self.first_row + self.num_rows() as u64
    }

    /// Its row group, counted from 0.
    pub fn row_group(&self) -> usize {
        self.range.row_group
    }

    /// About where its bytes lie in the file, by the share of its rows, as
    /// [`Scan::byte_range`] takes them: for engines that place work near the data.
    pub fn bytes(&self) -> Range<u64> {
        self.bytes.clone()
    }
}

impl File {
    /// The split of some rows, as [`Split::rows`] tells them.
    ///
    /// Fails where the rows are not a whole split: they lie in one row group, begin with it or at a
    /// multiple of 65,536 rows behind its beginning, and likewise end.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..200_000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// # let planner = staffa::File::from_bytes(bytes.clone())?;
    /// let splits = planner.scan().splits(65_536)?;
    /// let rows = splits[1].rows();
    /// assert_eq!(rows, 65_536..131_072);
    ///
    /// # let worker = staffa::File::from_bytes(bytes)?;
    /// let split = worker.split(rows)?;
    /// let batch = worker.scan().split(split).reader()?.next().unwrap()?;
    /// assert_eq!(batch.num_rows(), 65_536);
    /// # Ok(())
    /// # }
    /// ```
    pub fn split(&self, rows: Range<u64>) -> Result<Split> {
        let refused = || {
            let Range { start, end } = &rows;
            Error::invalid(format!(
                "rows {start} to {end} are no split of a table of {} rows in {} row groups: whole row \
                 groups expected, or 65,536 rows and multiples of them within one",
                self.num_rows(),
                self.num_row_groups()
            ))
        };
        let first_rows = self.first_rows();
        let row_group = first_rows.partition_point(|first| *first <= rows.start);
        let row_group = row_group.checked_sub(1).ok_or_else(refused)?;
        let group = *first_rows.get(row_group).ok_or_else(refused)?;
        let (start, len) = (rows.start - group, self.rows_of(row_group)? as u64);
        let end = rows
            .end
            .checked_sub(group)
            .filter(|end| *end <= len && *end > start);
        let end = end.ok_or_else(refused)?;
        let step = STEP_ROWS as u64;
        if !start.is_multiple_of(step) || !(end.is_multiple_of(step) || end == len) {
            return Err(refused());
        }
        let rows = start as usize..end as usize;
        Split::new(self, &first_rows, RowRange { row_group, rows })
    }

    /// The first row of each row group.
    pub(in crate::read) fn first_rows(&self) -> Vec<u64> {
        let mut before = 0;
        let first = |rows: &u32| {
            before += u64::from(*rows);
            before - u64::from(*rows)
        };
        self.footer().row_groups.iter().map(first).collect()
    }
}

impl Scan {
    /// The scan cut into splits of about `rows` rows, in the file's order: for engines that read
    /// with threads of their own. Splits are whole blocks; whole row groups where a column that is
    /// read or tested is nested. Splits whose zone maps exclude a match are left out.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..200_000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let scan = staffa::File::from_bytes(bytes)?.scan();
    /// let mut rows = Vec::new();
    /// for split in scan.splits(65_536)? {
    ///     for batch in scan.clone().split(split).reader()? {
    ///         rows.push(batch?.num_rows());
    ///     }
    /// }
    /// assert_eq!(rows, [65_536, 65_536, 65_536, 3_392]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn splits(&self, rows: usize) -> Result<Vec<Split>> {
        let (file, columns, filter) = (&self.file, self.positions()?, self.bound_filter()?);
        let step = if is_flat(file, &columns, filter.as_ref()) {
            rows.max(1).checked_next_multiple_of(STEP_ROWS)
        } else {
            None
        };
        if let Some(filter) = &filter
            && !file.known_may_match(&filter.bound)?
        {
            return Ok(Vec::new());
        }
        let ranges = RowRanges::of_file(file, step.unwrap_or(usize::MAX));
        let tasks = ranges.map(|range| ScanTask::new(file, range));
        let may_match = |task: &ScanTask| match &filter {
            Some(filter) => task.may_match(&filter.bound),
            None => true,
        };
        let first_rows = file.first_rows();
        let splits = tasks.filter(may_match);
        let split = |task: ScanTask| Split::new(file, &first_rows, task.range);
        splits.map(split).collect()
    }

    /// Reads only the rows of `split`; offset and limit count within it.
    #[must_use]
    pub fn split(self, split: Split) -> Self {
        self.several_splits([split])
    }

    /// Reads only the rows of some splits, in this order; offset and limit count within them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch, cast::AsArray, types::Int64Type};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..200_000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let scan = staffa::File::from_bytes(bytes)?.scan();
    /// let splits = scan.splits(65_536)?;
    /// let last_first = scan.several_splits(splits.into_iter().rev());
    /// let batch = last_first.reader()?.next().unwrap()?;
    /// assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(0), 196_608);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn several_splits(mut self, splits: impl IntoIterator<Item = Split>) -> Self {
        self.splits = Some(splits.into_iter().collect());
        self
    }

    /// Bytes of the rows of a split, decoded, before any filter: by the summaries of the columns that are
    /// read, as if all rows had as many. `None` where the file has no summaries.
    pub fn decoded_bytes(&self, split: &Split) -> Result<Option<u64>> {
        let (summaries, columns) = (self.file.summaries()?, self.positions()?);
        if summaries.is_empty() {
            return Ok(None);
        }
        let leaves = columns
            .iter()
            .flat_map(|column| self.file.layout().leaves_of(*column));
        let bytes = leaves.filter_map(|leaf| Some(summaries.get(leaf)?.decoded_bytes));
        let all = u128::from(bytes.fold(0, u64::saturating_add));
        let share = all * split.num_rows() as u128 / u128::from(self.file.num_rows().max(1));
        Ok(Some(u64::try_from(share).unwrap_or(u64::MAX)))
    }

    /// The name of [`splits`](Self::splits) before.
    #[deprecated(since = "0.1.0", note = "use `splits`")]
    pub fn parts(&self, rows: usize) -> Result<Vec<Split>> {
        self.splits(rows)
    }

    /// The name of [`split`](Self::split) before.
    #[must_use]
    #[deprecated(since = "0.1.0", note = "use `split`")]
    pub fn part(self, split: Split) -> Self {
        self.split(split)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, Int64Array, ListArray, RecordBatch, types::Int64Type};

    use super::*;
    use crate::{WriteOptions, to_bytes};

    fn file(rows: usize) -> File {
        let n = Int64Array::from_iter_values(0..rows as i64);
        let lists = (0..rows).map(|row| Some(vec![Some(row as i64); row % 3]));
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
        let batch = RecordBatch::try_from_iter([
            ("n", Arc::new(n) as Arc<dyn Array>),
            ("lists", Arc::new(lists)),
        ]);
        let (batch, options) = (batch.unwrap(), WriteOptions::new().row_group_rows(150_000));
        File::from_bytes(to_bytes(batch.schema(), &[batch], options).unwrap()).unwrap()
    }

    fn read(scan: &Scan, split: Split) -> Result<Vec<RecordBatch>> {
        scan.clone().split(split).reader()?.collect()
    }

    #[test]
    fn splits_are_made_again_elsewhere() {
        let file = file(200_000);
        for columns in [&["n"][..], &["lists"], &["lists", "n"]] {
            let scan = file.scan().columns(columns.iter().copied());
            let splits = scan.splits(STEP_ROWS).unwrap();
            assert_eq!(splits.len(), if columns == ["n"] { 4 } else { 2 });
            let mut rows = 0;
            for split in splits {
                let again = file.split(split.rows()).unwrap();
                assert_eq!(again, split);
                rows += read(&scan, again)
                    .unwrap()
                    .iter()
                    .map(RecordBatch::num_rows)
                    .sum::<usize>();
            }
            assert_eq!(rows, 200_000);
        }
    }

    #[test]
    fn rows_that_are_no_split_are_refused() {
        let file = file(200_000);
        for (start, end) in [
            (200_000, 200_001),
            (u64::MAX, u64::MAX),
            (0, 150_001),
            (0, 200_000),
            (1, 150_000),
            (0, 65_537),
            (150_000, u64::MAX),
            (65_536, 0),
            (65_536, 65_536),
        ] {
            let refused = file.split(start..end).unwrap_err();
            assert!(
                matches!(refused, Error::InvalidArgument(_)),
                "{start} to {end}: {refused}"
            );
        }
    }

    #[test]
    fn bytes_of_a_split_are_its_share_of_the_columns() {
        let scan = file(200_000).scan().columns(["n"]);
        let splits = scan.splits(STEP_ROWS).unwrap();
        let bytes = splits
            .iter()
            .map(|split| scan.decoded_bytes(split).unwrap());
        assert_eq!(
            bytes.collect::<Vec<_>>(),
            [524_288, 524_288, 151_424, 400_000].map(Some)
        );
    }
}
