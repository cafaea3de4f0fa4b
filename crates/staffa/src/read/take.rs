//! Take: rows by number, in any order, repeats allowed; a range of rows; the rows of a mask.
//!
//! ```text
//! range, mask, ascending list -> rows in the order of the file, block by block; whole blocks as in a scan
//! any other list              -> a bit for every row of the list, or sorted where bits would be too many
//!                             -> as above, then each row of the list from its rank among those
//! ```
//!
//! Only blocks that hold a selected row are read, each once. An encoding with point access decodes
//! no other value. The file's cache keeps opened blocks for the next take (see `admission`).

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::{Array as _, BooleanArray, RecordBatch};

use super::admission::Admission;
use super::batch::{STEP_ROWS, batch_of, field_and_node};
use super::rows::{GroupSelection, RowReader};
use super::{File, schema_for};
use crate::arrow::take;
use crate::decode::ChunkSelection;
use crate::error::{Error, Result};
use crate::values::Bitmap;

/// Rows of a table: a range, a list, or a mask.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RowSelection<'s> {
    /// From a row up to another one, exclusive.
    Range(Range<u64>),
    /// By number, in any order, repeats allowed.
    List(&'s [u64]),
    /// A boolean for every row of the table; NULL is not true.
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

impl<'s, const N: usize> From<&'s [u64; N]> for RowSelection<'s> {
    fn from(rows: &'s [u64; N]) -> Self {
        Self::List(rows)
    }
}

impl<'s> From<&'s Vec<u64>> for RowSelection<'s> {
    fn from(rows: &'s Vec<u64>) -> Self {
        Self::List(rows)
    }
}

impl<'s> From<&'s BooleanArray> for RowSelection<'s> {
    fn from(mask: &'s BooleanArray) -> Self {
        Self::Mask(mask)
    }
}

/// Rows of a table per row of a list, above which to sort the list is faster than a bit per row.
const SPARSE: u64 = 512;

/// Selected rows in the order of the file.
struct Selected {
    groups: Vec<GroupSelection>,
    /// Number of rows of the result.
    count: usize,
    /// For each row of the result its rank among the selected rows, if the order differs.
    order: Option<Vec<u32>>,
}

/// A builder for a read of single rows, made by [`File::take`].
#[derive(Debug, Clone)]
#[must_use = "nothing is read before `read`"]
pub struct Take<'f> {
    file: &'f File,
    rows: RowSelection<'f>,
    columns: Option<Vec<String>>,
    string_views: bool,
}

impl File {
    /// Rows by number, in any order and with repeats, of a range, or of a mask.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{BooleanArray, Int64Array, RecordBatch, cast::AsArray, types::Int64Type};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let file = staffa::File::from_bytes(bytes)?;
    /// let rows = file.take(&[700, 3, 700]).columns(["n"]).read()?;
    /// assert_eq!(rows.column(0).as_primitive::<Int64Type>().values(), &[700, 3, 700]);
    /// let rows = file.take(700..703).read()?;
    /// assert_eq!(rows.column(0).as_primitive::<Int64Type>().values(), &[700, 701, 702]);
    /// let mask: BooleanArray = (0..1000).map(|row| Some(row % 400 == 1)).collect();
    /// let rows = file.take(&mask).read()?;
    /// assert_eq!(rows.column(0).as_primitive::<Int64Type>().values(), &[1, 401, 801]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn take<'f>(&'f self, rows: impl Into<RowSelection<'f>>) -> Take<'f> {
        Take {
            file: self,
            rows: rows.into(),
            columns: None,
            string_views: false,
        }
    }

    /// Former form of [`take`](Self::take).
    #[deprecated(since = "0.1.0", note = "use `take(rows).columns(..).read()`")]
    pub fn select<'s>(
        &self,
        rows: impl Into<RowSelection<'s>>,
        columns: Option<&[String]>,
        string_views: bool,
    ) -> Result<RecordBatch> {
        let mut take = Take {
            file: self,
            rows: rows.into(),
            columns: None,
            string_views,
        };
        take.columns = columns.map(<[String]>::to_vec);
        take.read()
    }
}

impl Take<'_> {
    /// Top-level columns by name, in the order wanted; all by default.
    pub fn columns<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Strings and binaries as views.
    pub fn string_views(mut self, on: bool) -> Self {
        self.string_views = on;
        self
    }

    /// Reads the rows, as one batch in the order of the list.
    ///
    /// Fails for an unknown column, for a row out of range, and where no array of a column's type can
    /// hold the rows: 16-bit run ends reach 32,767, and dictionaries of several row groups together may
    /// have more values than the keys can number.
    pub fn read(self) -> Result<RecordBatch> {
        let file = self.file;
        let schema = schema_for(file.schema(), self.string_views);
        let columns = match &self.columns {
            Some(names) => file.column_positions(names)?,
            None => (0..schema.fields().len()).collect(),
        };
        let selected = Selected::new(file, &self.rows)?;
        let reader = RowReader {
            file,
            schema: &schema,
            groups: &selected.groups,
            filtered: None,
            admission: Admission::of_take(file, &columns),
        };
        reader.begin(&columns)?;
        batch_of(&columns, &schema, selected.count, |column| {
            let array = reader.column(column)?;
            let Some(order) = &selected.order else {
                return Ok(array);
            };
            let (field, _) = field_and_node(file, &schema, column)?;
            take(field, &array, order).map_err(|e| e.at(|p| p.column = Some(field.name().clone())))
        })
    }
}

impl Selected {
    fn new(file: &File, rows: &RowSelection<'_>) -> Result<Self> {
        match rows {
            RowSelection::Range(rows) => Self::of_range(file, rows),
            RowSelection::Mask(mask) => Self::of_mask(file, mask),
            RowSelection::List(rows) => Self::of_list(file, rows),
        }
    }

    fn of_range(file: &File, rows: &Range<u64>) -> Result<Self> {
        let total = file.num_rows();
        if rows.start > rows.end || rows.end > total {
            let Range { start, end } = rows;
            return Err(Error::invalid(format!(
                "rows {start} to {end} are out of range, the table has {total} rows"
            )));
        }
        let own = |group: Range<u64>| {
            let start = rows.start.max(group.start);
            let end = rows.end.min(group.end).max(start);
            ChunkSelection::of_range(start - group.start..end - group.start, STEP_ROWS as u64)
        };
        Ok(Self {
            groups: groups(file, own),
            count: (rows.end - rows.start) as usize,
            order: None,
        })
    }

    fn of_mask(file: &File, mask: &BooleanArray) -> Result<Self> {
        let total = file.num_rows();
        if mask.len() as u64 != total {
            return Err(Error::invalid(format!(
                "a mask of as many rows as the table has, {total}, expected, found {}",
                mask.len()
            )));
        }
        let marked = match mask.nulls().filter(|nulls| nulls.null_count() > 0) {
            Some(nulls) => Cow::Owned(mask.values() & nulls.inner()),
            None => Cow::Borrowed(mask.values()),
        };
        let own = |group: Range<u64>| {
            let (start, len) = (group.start as usize, (group.end - group.start) as usize);
            let bits = Bitmap::from_bytes(marked.values(), marked.offset() + start, len);
            ChunkSelection::of_bits(0, bits)
        };
        Ok(Self {
            groups: groups(file, own),
            count: marked.count_set_bits(),
            order: None,
        })
    }

    fn of_list(file: &File, rows: &[u64]) -> Result<Self> {
        let total = file.num_rows();
        if let Some((i, row)) = rows.iter().enumerate().find(|(_, row)| **row >= total) {
            return Err(Error::invalid(format!(
                "index {row} at position {i} is out of range, the table has {total} rows"
            )));
        }
        let ascending = rows.array_windows().all(|[a, b]| a < b);
        let (sorted, order) = if ascending {
            (Cow::Borrowed(rows), None)
        } else {
            let (sorted, order) = in_order(rows, total)?;
            (Cow::Owned(sorted), Some(order))
        };
        let mut rest = sorted.as_ref();
        let own = |group: Range<u64>| {
            let here = rest.partition_point(|row| *row < group.end);
            let (here, later) = rest.split_at(here);
            rest = later;
            let rows = here.iter().map(|row| row - group.start);
            ChunkSelection::of_list(rows.collect(), STEP_ROWS as u64)
        };
        Ok(Self {
            groups: groups(file, own),
            count: rows.len(),
            order,
        })
    }
}

/// Selections of every row group that has selected rows; `own` selects among some rows of the
/// table.
fn groups(file: &File, mut own: impl FnMut(Range<u64>) -> ChunkSelection) -> Vec<GroupSelection> {
    let (mut groups, mut first) = (Vec::new(), 0u64);
    for (row_group, &count) in file.footer().row_groups.iter().enumerate() {
        let end = first + u64::from(count);
        let here = own(first..end);
        if here.len() > 0 {
            groups.push(GroupSelection::new(row_group, here));
        }
        first = end;
    }
    groups
}

/// The rows of a list in the order of the file, each once, and the rank of each row of the list
/// among them.
fn in_order(rows: &[u64], total: u64) -> Result<(Vec<u64>, Vec<u32>)> {
    if u32::try_from(rows.len()).is_err() {
        return Err(Error::limit(format!("{} rows at once", rows.len())));
    }
    if total / SPARSE > rows.len() as u64 || u32::try_from(total).is_err() {
        let mut sorted = rows.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let rank = |row: &u64| sorted.partition_point(|other| other < row) as u32;
        let order = rows.iter().map(rank).collect();
        return Ok((sorted, order));
    }
    let mut bits = Bitmap::filled(total as usize, false);
    rows.iter().for_each(|row| bits.set(*row as usize, true));
    let mut before = 0;
    let ranks = bits.words().iter().map(|word| {
        let rank = before;
        before += word.count_ones();
        rank
    });
    let ranks: Vec<u32> = ranks.collect();
    let rank = |row: &u64| {
        let place = (row / 64) as usize;
        let found = bits.words().get(place).zip(ranks.get(place));
        let past = || Error::internal(format!("row {row} of {total}"));
        let (word, before) = found.ok_or_else(past)?;
        Ok(before + (word & ((1 << (row % 64)) - 1)).count_ones())
    };
    let order = rows.iter().map(rank).collect::<Result<_>>()?;
    let sorted = bits.positions().into_iter().map(u64::from);
    Ok((sorted.collect(), order))
}
