//! Take: rows by number, in any order, repeats allowed.
//!
//! Only blocks that hold a wanted row are read; each is decoded once however many of its rows are wanted.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array, new_empty_array};
use arrow_schema::{DataType, Schema};
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::read::File;
use crate::scan::schema_for;

/// A stretch of rows that is decoded together.
struct Piece {
    row_group: usize,
    rows: Range<usize>,
}

impl File {
    /// Rows by number, as one batch in the order asked; all columns where none are named.
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
            return Err(Error::invalid(format!("index {row} at position {i} is out of range, the table has {} rows", self.num_rows())));
        }
        let schema = schema_for(self.schema(), string_views);
        let columns = match columns {
            Some(names) => self.column_positions(names)?,
            None => (0..schema.fields().len()).collect(),
        };
        let arrays: Vec<ArrayRef> =
            columns.par_iter().map(|&column| self.take_column(column, &schema, rows)).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::new(schema.project(&columns)?), arrays, &options)?)
    }

    fn take_column(&self, column: usize, schema: &Schema, rows: &[u64]) -> Result<ArrayRef> {
        let field = schema.fields().get(column).ok_or_else(|| Error::corrupt(format!("no column {column}")))?;
        if rows.is_empty() {
            return Ok(new_empty_array(field.data_type()));
        }
        let leaves = self.layout().leaves_of(column);
        let flat = leaves.len() == 1 && self.leaf(leaves.start)?.flat;
        let (pieces, places) = self.pieces(rows, flat);
        let decode = |piece: &Piece| self.column(column, schema, piece.row_group, piece.rows.clone());
        let arrays = pieces.iter().map(decode).collect::<Result<Vec<_>>>()?;
        let borrowed: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        if interleaves(field.data_type()) {
            return Ok(interleave(&borrowed, &places)?);
        }
        let mut starts = vec![0u64];
        for array in &arrays {
            starts.push(starts.last().copied().unwrap_or(0) + array.len() as u64);
        }
        let flat = places.iter().map(|(piece, row)| starts.get(*piece).copied().unwrap_or(0) + *row as u64);
        Ok(take(&concat(&borrowed)?, &UInt64Array::from_iter_values(flat), None)?)
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

/// Whether Arrow can interleave arrays of a type; else they are joined and rows taken from the whole.
fn interleaves(ty: &DataType) -> bool {
    match ty {
        DataType::RunEndEncoded(..) | DataType::ListView(_) | DataType::LargeListView(_) | DataType::Dictionary(..) => false,
        DataType::List(f) | DataType::LargeList(f) | DataType::FixedSizeList(f, _) | DataType::Map(f, _) => interleaves(f.data_type()),
        DataType::Struct(fields) => fields.iter().all(|f| interleaves(f.data_type())),
        _ => true,
    }
}
