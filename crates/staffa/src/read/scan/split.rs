//! Splits: shares of a scan that are read by themselves, by other threads or in other processes.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]
#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::ops::Range;

use super::checked::is_flat;
use super::{Scan, ScanTask};
use crate::error::{Error, Result};
use crate::read::File;
use crate::read::batch::{RowRange, RowRanges, STEP_ROWS};

/// A share of a scan that can be read by itself: some rows of one row group, made by
/// [`Scan::splits`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split(RowRange);

impl Split {
    /// The split of these rows of a row group, counted from its first row: [`row_group`](Self::row_group)
    /// and [`rows`](Self::rows) of a split that another process made of the same file. The scan that reads it
    /// refuses rows that the file does not have, and those that do not begin and end with a block.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..200_000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let scan = staffa::File::from_bytes(bytes)?.scan();
    /// let planned = scan.splits(65_536)?.remove(3);
    /// let (row_group, rows) = (planned.row_group(), planned.rows());
    ///
    /// let split = staffa::Split::new(row_group, rows);
    /// assert_eq!(scan.split(split).reader()?.next().unwrap()?.num_rows(), 3_392);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(row_group: usize, rows: Range<usize>) -> Self {
        Self(RowRange { row_group, rows })
    }

    /// The position of its row group in the file.
    pub fn row_group(&self) -> usize {
        self.0.row_group
    }

    /// Its rows, counted from the first one of the row group.
    pub fn rows(&self) -> Range<usize> {
        self.0.rows.clone()
    }

    /// Its rows, before any filter.
    pub fn num_rows(&self) -> usize {
        self.0.rows.len()
    }

    /// Its rows, which the file must have.
    pub(super) fn range_of(self, file: &File) -> Result<RowRange> {
        let Self(RowRange { row_group, rows }) = &self;
        let groups = file.num_row_groups();
        if *row_group >= groups {
            let what = format!("a split of row group {row_group}: the file has {groups}");
            return Err(Error::invalid(what));
        }
        let all = file.rows_of(*row_group)?;
        let is_end = |row: usize| row.is_multiple_of(STEP_ROWS) || row == all;
        if rows.start > rows.end || rows.end > all || !is_end(rows.start) || !is_end(rows.end) {
            return Err(Error::invalid(format!(
                "a split of rows {rows:?} of row group {row_group}: multiples of {STEP_ROWS} up to {all} expected"
            )));
        }
        Ok(self.0)
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
        let splits = tasks.filter(may_match);
        Ok(splits.map(|task| Split(task.range)).collect())
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
                let again = Split::new(split.row_group(), split.rows());
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
    fn rows_that_a_file_does_not_have_are_refused() {
        let scan = file(200_000).scan();
        for (row_group, rows) in [
            (2, 0..1),
            (usize::MAX, 0..0),
            (0, 0..150_001),
            (0, 1..150_000),
            (0, 0..65_537),
            (1, 0..usize::MAX),
            (
                1,
                Range {
                    start: 65_536,
                    end: 0,
                },
            ),
        ] {
            let refused = read(&scan, Split::new(row_group, rows.clone())).unwrap_err();
            assert!(
                matches!(refused, Error::InvalidArgument(_)),
                "{row_group} {rows:?}: {refused}"
            );
        }
        assert!(
            read(&scan, Split::new(1, 50_000..50_000))
                .unwrap()
                .is_empty()
        );
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
