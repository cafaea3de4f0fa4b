//! Take: rows by number, in any order, repeats allowed.
//!
//! Only blocks that hold a wanted row are read; each is opened once however many of its rows are wanted, and where values
//! can be read by themselves, no others are decoded. Opened blocks are kept for the next take.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};

use crate::arrow::pick;
use crate::error::{Error, Result};
use crate::pick::{Group, Pick};
use crate::read::{File, each_column};
use crate::scan::schema_for;
use crate::selection::Rows;

/// Rows in the order of the file.
struct Selected {
    groups: Vec<Group>,
    /// For every row asked, its place among them, where the order is another.
    order: Option<Vec<u32>>,
}

impl File {
    /// Rows by number, as one batch in the order asked; all columns where none are named.
    ///
    /// Refused where no array of a column's type can hold so many rows: 16-bit run ends reach 32,767, and the values of
    /// dictionaries of several row groups together may be more than the keys can number.
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
    pub fn take(&self, rows: &[u64], columns: Option<&[String]>, string_views: bool) -> Result<RecordBatch> {
        if let Some((i, row)) = rows.iter().enumerate().find(|(_, row)| **row >= self.num_rows()) {
            return Err(Error::invalid(format!(
                "index {row} at position {i} is out of range, the table has {} rows",
                self.num_rows()
            )));
        }
        let schema = schema_for(self.schema(), string_views);
        let columns = match columns {
            Some(names) => self.column_positions(names)?,
            None => (0..schema.fields().len()).collect(),
        };
        let Selected { groups, order } = self.selected(rows)?;
        let open = |leaf, pick: &Pick| self.opened_and_kept(leaf, pick.row_group, pick.block);
        let column = |column: &usize| {
            let array = self.gather_column(*column, &schema, &groups, &open)?;
            match (&order, schema.fields().get(*column)) {
                (Some(order), Some(field)) => {
                    pick(field, &array, order).map_err(|e| e.at(|p| p.column = Some(field.name().clone())))
                }
                _ => Ok(array),
            }
        };
        let arrays = each_column(&columns, rows.len(), column)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::new(schema.project(&columns)?), arrays, &options)?)
    }

    /// Where the rows lie, in the order of the file.
    fn selected(&self, rows: &[u64]) -> Result<Selected> {
        let ascending = rows.array_windows().all(|[a, b]| a < b);
        let (sorted, order) = if ascending {
            (Cow::Borrowed(rows), None)
        } else {
            let mut sorted = rows.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            let place = |row: &u64| u32::try_from(sorted.partition_point(|other| other < row));
            let order = rows.iter().map(place).collect::<Result<Vec<_>, _>>();
            let order = order.map_err(|_| Error::limit(format!("{} rows at once", rows.len())))?;
            (Cow::Owned(sorted), Some(order))
        };
        let (mut groups, mut rest, mut first) = (Vec::new(), sorted.as_ref(), 0u64);
        for (row_group, &count) in self.footer().row_groups.iter().enumerate() {
            let end = first + u64::from(count);
            let (here, later) = rest.split_at_checked(rest.partition_point(|row| *row < end)).unwrap_or_default();
            if !here.is_empty() {
                let rows =
                    Rows::of_list(here.iter().map(|row| row - first).collect(), u64::from(self.footer().block_rows));
                groups.push(self.group(row_group, rows));
            }
            (rest, first) = (later, end);
        }
        Ok(Selected { groups, order })
    }
}
