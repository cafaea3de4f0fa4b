//! Take: rows by number, in any order, repeats allowed.
//!
//! Only blocks that hold a wanted row are read; each is opened once however many of its rows are wanted, and where values
//! can be read by themselves, no others are decoded. Opened blocks are kept for the next take.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow_schema::{Field, Schema};

use crate::arrow::{concat, pick};
use crate::error::{Error, Result};
use crate::pick::{Group, Pick};
use crate::read::{File, each_column};
use crate::scan::schema_for;

/// Rows in the order of the file.
struct Selected {
    groups: Vec<Group>,
    /// For every row asked, its place among them, where the order is another.
    order: Option<Vec<u32>>,
}

/// A stretch of rows that is decoded together.
struct Piece {
    row_group: usize,
    rows: Range<usize>,
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
            if !self.gathers(*column) {
                return self.take_column(*column, &schema, rows);
            }
            let array = self.gather_column(*column, &schema, &groups, &open)?;
            match (&order, schema.fields().get(*column)) {
                (Some(order), Some(field)) => pick(field, &array, order),
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
                groups.push(self.group(row_group, here.iter().map(|row| row - first).collect()));
            }
            (rest, first) = (later, end);
        }
        Ok(Selected { groups, order })
    }

    /// Rows of a column that does not gather: whole blocks are decoded.
    fn take_column(&self, column: usize, schema: &Schema, rows: &[u64]) -> Result<ArrayRef> {
        let field = schema.fields().get(column).ok_or_else(|| Error::corrupt(format!("no column {column}")))?;
        if rows.is_empty() {
            return Ok(new_empty_array(field.data_type()));
        }
        let leaves = self.layout().leaves_of(column);
        let flat = leaves.len() == 1 && self.leaf(leaves.start)?.flat;
        let (pieces, places) = self.pieces(rows, flat);
        let decode = |piece: &Piece| self.column(column, schema, piece.row_group, piece.rows.clone());
        gather(field, &pieces, &places, decode).map_err(|e| e.at(|p| p.column = Some(field.name().clone())))
    }

    /// Which stretches to decode, and for every row its stretch and its place in it.
    fn pieces(&self, rows: &[u64], flat: bool) -> (Vec<Piece>, Vec<(usize, usize)>) {
        let mut first_rows = Vec::with_capacity(self.num_row_groups());
        let mut end = 0u64;
        for &count in &self.footer().row_groups {
            first_rows.push(end);
            end += u64::from(count);
        }
        let unit = if flat { self.footer().block_rows as usize } else { usize::MAX };
        let mut known: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut pieces = Vec::new();
        let places = rows.iter().map(|&row| {
            let row_group = first_rows.partition_point(|first| *first <= row).saturating_sub(1);
            let within = (row - first_rows.get(row_group).copied().unwrap_or(0)) as usize;
            let total = self.footer().row_groups.get(row_group).copied().unwrap_or(0) as usize;
            let start = within / unit * unit;
            let piece = *known.entry((row_group, start)).or_insert_with(|| {
                pieces.push(Piece { row_group, rows: start..start.saturating_add(unit).min(total) });
                pieces.len() - 1
            });
            (piece, within - start)
        });
        let places = places.collect();
        (pieces, places)
    }
}

/// The wanted rows of each piece, one piece after another, and of these, rows in the order asked. A piece is given up
/// before the next is decoded.
fn gather(
    field: &Field,
    pieces: &[Piece],
    places: &[(usize, usize)],
    decode: impl Fn(&Piece) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    // Row groups have less than 2^32 rows.
    let mut wanted: Vec<Vec<u32>> = vec![Vec::new(); pieces.len()];
    for (piece, row) in places {
        if let Some(rows) = wanted.get_mut(*piece) {
            rows.push(*row as u32);
        }
    }
    if let ([piece], [rows]) = (pieces, wanted.as_slice()) {
        return pick(field, &decode(piece)?, rows);
    }
    let schema = Arc::new(Schema::new(vec![field.clone()]));
    let (mut batches, mut starts, mut end) = (Vec::new(), Vec::new(), 0);
    for (piece, rows) in pieces.iter().zip(&mut wanted) {
        rows.sort_unstable();
        rows.dedup();
        batches.push(RecordBatch::try_new(schema.clone(), vec![pick(field, &decode(piece)?, rows)?])?);
        starts.push(end);
        end += rows.len();
    }
    let Some(all) = concat(&schema, &batches)? else {
        let what = "rows of several row groups do not go into one array of this type: ask for fewer rows at once";
        return Err(Error::limit(format!("{}: {what}", field.data_type())));
    };
    let place = |(piece, row): &(usize, usize)| {
        let within = wanted.get(*piece).and_then(|rows| rows.binary_search(&(*row as u32)).ok());
        let place = starts.get(*piece).zip(within).map(|(start, within)| start + within);
        place.and_then(|place| u32::try_from(place).ok())
    };
    let order = places.iter().map(place).collect::<Option<Vec<u32>>>();
    let order = order.ok_or_else(|| Error::limit(format!("{} rows of one column at once", places.len())))?;
    if order.iter().enumerate().all(|(i, row)| i == *row as usize) && order.len() == end {
        return Ok(all.column(0).clone());
    }
    pick(field, all.column(0), &order)
}
