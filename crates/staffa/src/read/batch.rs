//! Batches of neighbouring rows: columns of one row group, decoded and assembled.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};

use super::File;
use super::chunk_reader::ChunkReader;
use super::column_builder::OutputLayout;
use super::dictionary::{cast_to_dictionary, dictionary_or_runs, read_dictionary};
use super::run_ends::read_runs;
use crate::arrow::{Node, assemble_within, view_leaves};
use crate::error::{Error, Result};
use crate::format::MAX_BLOCK_ROWS;
use crate::limits::{map_parallel, threads};
use crate::values::PhysicalType;

/// Larger batches leave the processor's caches before they are read.
const CACHE_BYTES: u64 = 8 << 20;

/// Estimated bytes of a string, with its offset or view.
const STRING_BYTES: usize = 16;

/// Fewer values are read by one thread: to wake another takes as long as to read some hundred.
const PARALLEL_VALUES: usize = 1024;

/// Rows in which a scan goes on: blocks of every column begin at their multiples.
pub(crate) const STEP_ROWS: usize = MAX_BLOCK_ROWS as usize;

/// Neighbouring rows of one row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowRange {
    pub row_group: usize,
    /// From the row group's first row on.
    pub rows: Range<usize>,
}

/// Where a row's bytes are taken to begin: after its share of the file's bytes.
pub(super) fn byte_of_row(file: &File, row: u64) -> u64 {
    let total = u128::from(file.num_rows().max(1));
    (u128::from(file.nbytes()) * u128::from(row) / total) as u64
}

/// Neighbouring rows in the order of the file, at most `step` at a time.
#[derive(Debug)]
pub(super) struct RowRanges {
    file: File,
    step: usize,
    /// What is left of the current row group.
    rest: RowRange,
    /// Rows after it, then whole row groups.
    more: VecDeque<RowRange>,
    groups: Range<usize>,
}

impl RowRanges {
    /// All rows of a file; `step` is at least 1.
    pub fn of_file(file: &File, step: usize) -> Self {
        Self {
            groups: 0..file.num_row_groups(),
            ..Self::within(file, step, [])
        }
    }

    /// All rows of the row groups that begin within a range of bytes: a row group of a share of the
    /// table's rows is taken to begin after that share of the bytes.
    pub fn of_bytes(file: &File, step: usize, bytes: &Range<u64>) -> Self {
        let first_rows = file.first_rows().into_iter();
        let begins: Vec<u64> = first_rows.map(|row| byte_of_row(file, row)).collect();
        let first = begins.partition_point(|begin| *begin < bytes.start);
        let end = begins.partition_point(|begin| *begin < bytes.end);
        Self {
            groups: first..end.max(first),
            ..Self::of_file(file, step)
        }
    }

    /// Some rows of row groups, in this order.
    pub fn within(file: &File, step: usize, ranges: impl IntoIterator<Item = RowRange>) -> Self {
        let none = RowRange {
            row_group: 0,
            rows: 0..0,
        };
        Self {
            file: file.clone(),
            step,
            rest: none,
            more: ranges.into_iter().collect(),
            groups: 0..0,
        }
    }
}

impl Iterator for RowRanges {
    type Item = RowRange;

    fn next(&mut self) -> Option<RowRange> {
        while self.rest.rows.is_empty() {
            if let Some(next) = self.more.pop_front() {
                self.rest = next;
                continue;
            }
            let row_group = self.groups.next()?;
            let rows = 0..*self.file.footer().row_groups.get(row_group)? as usize;
            self.rest = RowRange { row_group, rows };
        }
        let rows = &mut self.rest.rows;
        let first = rows.start..rows.start.saturating_add(self.step).min(rows.end);
        rows.start = first.end;
        Some(RowRange {
            row_group: self.rest.row_group,
            rows: first,
        })
    }
}

/// Columns of some rows, in parallel.
pub(crate) fn read_batch(
    file: &File,
    columns: &[usize],
    schema: &Schema,
    range: &RowRange,
) -> Result<RecordBatch> {
    let past_cache = decoded_bytes(file, columns, range)? > CACHE_BYTES;
    let read = |column: usize| read_column(file, column, schema, range, past_cache);
    batch_of(columns, schema, range.rows.len(), read)
}

/// A batch of `rows` rows, whose columns `read` reads: in parallel, where that is worth while.
pub(super) fn batch_of(
    columns: &[usize],
    schema: &Schema,
    rows: usize,
    read: impl Fn(usize) -> Result<ArrayRef> + Sync + Send,
) -> Result<RecordBatch> {
    let arrays = if columns.len() * rows < PARALLEL_VALUES {
        columns.iter().map(|column| read(*column)).collect()
    } else {
        map_parallel(columns.iter().copied(), read)
    };
    let schema = Arc::new(schema.project(columns)?);
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        schema, arrays?, &options,
    )?)
}

/// Estimated bytes of some rows once decoded.
fn decoded_bytes(file: &File, columns: &[usize], range: &RowRange) -> Result<u64> {
    let bytes = |leaf: usize| {
        // The read itself reports what is wrong with a column.
        let (Ok(spec), Ok(chunk)) = (file.leaf(leaf), file.chunk(leaf, range.row_group)) else {
            return 0;
        };
        let width = |ty: PhysicalType| ty.width_bytes().unwrap_or(STRING_BYTES) as u64;
        chunk.values.saturating_mul(spec.ty.map_or(0, width))
    };
    let leaves = columns
        .iter()
        .flat_map(|column| file.layout().leaves_of(*column));
    let all = leaves.map(bytes).fold(0, u64::saturating_add);
    let total = file.rows_of(range.row_group)?.max(1);
    Ok((u128::from(all) * range.rows.len() as u128 / total as u128) as u64)
}

/// One column of some rows, as an array of its field in `schema`; `past_cache`: written past the
/// processor's caches.
pub(crate) fn read_column(
    file: &File,
    column: usize,
    schema: &Schema,
    range: &RowRange,
    past_cache: bool,
) -> Result<ArrayRef> {
    let (field, node) = field_and_node(file, schema, column)?;
    let Some((leaf, plain)) = dictionary_or_runs(field, node) else {
        return read_plain(file, column, field, range, past_cache);
    };
    let reader = ChunkReader::new(file, leaf, range.row_group)?;
    let found = match field.data_type() {
        DataType::RunEndEncoded(..) => read_runs(&reader, plain.data_type(), &range.rows),
        _ => read_dictionary(&reader, plain.data_type(), &range.rows),
    };
    match found.map_err(|e| e.at(|p| reader.name(p)))? {
        Some(array) if !field.is_nullable() && array.logical_null_count() > 0 => {
            let error = Error::corrupt("the column is not nullable, but a value is NULL");
            Err(error.at(|p| reader.name(p)))
        }
        Some(array) => Ok(array),
        None => cast_to_dictionary(field, &read_plain(file, column, &plain, range, false)?),
    }
}

/// The field and the leaves of a column.
pub(super) fn field_and_node<'a>(
    file: &'a File,
    schema: &'a Schema,
    column: usize,
) -> Result<(&'a Field, &'a Node)> {
    file.check_known(column)?;
    let field = schema.fields().get(column);
    let found = field.zip(file.layout().fields.get(column));
    let (field, node) = found.ok_or_else(|| Error::internal(format!("no column {column}")))?;
    Ok((field, node))
}

/// One column of some rows, as an array of `field`: neither a dictionary nor runs.
pub(super) fn read_plain(
    file: &File,
    column: usize,
    field: &Field,
    range: &RowRange,
    past_cache: bool,
) -> Result<ArrayRef> {
    let RowRange {
        row_group,
        ref rows,
    } = *range;
    let total = file.rows_of(row_group)?;
    let (_, node) = field_and_node(file, file.schema(), column)?;
    let leaves = file.layout().leaves_of(column);
    // Nested columns are decoded whole and then cut: the place of a row's items depends on all
    // lengths before it.
    let (blocks, decoded) = if let Some(leaf) = file.flat_leaf(column) {
        let reader = ChunkReader::new(file, leaf, row_group)?;
        let (blocks, block_rows) = (reader.blocks_of(rows), reader.block_rows());
        let decoded = blocks.start * block_rows..(blocks.end * block_rows).min(total);
        (blocks, decoded)
    } else {
        (0..usize::MAX, 0..total)
    };
    let view_leaves = view_leaves(field.data_type(), node);
    // Within nested columns, leaves have no type of their own here.
    let of_leaf = match node {
        Node::Leaf(leaf) => OutputLayout::of(file.leaf(*leaf)?, field.data_type()),
        _ => OutputLayout::default(),
    };
    let decode = |leaf| {
        let layout = OutputLayout {
            views: view_leaves.binary_search(&leaf).is_ok(),
            past_cache,
            ..of_leaf
        };
        ChunkReader::new(file, leaf, row_group)?.decode(blocks.clone(), layout)
    };
    // One thread decodes a leaf when it is needed: less is in memory at once.
    let many = leaves.len() > 1 && leaves.len() * total >= PARALLEL_VALUES;
    let mut early = if many && threads() > 1 {
        map_parallel(leaves.clone(), |leaf| decode(leaf).map(Some))?
    } else {
        Vec::new()
    };
    let mut take = |leaf: usize| {
        let place = leaf.checked_sub(leaves.start);
        let early = place.and_then(|place| early.get_mut(place)?.take());
        early.map_or_else(|| decode(leaf), Ok)
    };
    let most = usize::try_from(file.limits().row_group_values).unwrap_or(usize::MAX);
    let array = assemble_within(most, field, node, decoded.len(), &mut take)
        .map_err(|e| e.at(file.place(leaves.start, row_group)))?;
    if *rows == decoded {
        return Ok(array);
    }
    let offset = rows.start.checked_sub(decoded.start);
    let within = offset.filter(|offset| offset + rows.len() <= array.len());
    let offset = within.ok_or_else(|| Error::internal(format!("no rows {rows:?} of {total}")))?;
    Ok(array.slice(offset, rows.len()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::Schema;

    use super::*;
    use crate::read::schema_for;
    use crate::testing::arrays::{Random, array, flat_types, one};
    use crate::write::WriteOptions;

    /// Blocks that end within a vector, with NULLs and without; strings plain and as views.
    #[test]
    fn values_past_the_caches_are_those_that_go_through_them() {
        let mut random = Random(8);
        for (i, ty) in flat_types().into_iter().enumerate() {
            let batch = one("a", true, array(&ty, i % 4 > 0, 3300, &mut random));
            let options = WriteOptions {
                block_rows: 1024,
                ..WriteOptions::default()
            };
            let bytes =
                crate::to_bytes(batch.schema(), std::slice::from_ref(&batch), options).unwrap();
            let file = File::from_bytes(bytes).unwrap();
            for views in [false, true] {
                let schema: Arc<Schema> = schema_for(file.schema(), views);
                for rows in [0..3300, 1600..3100] {
                    let range = RowRange { row_group: 0, rows };
                    let read = |past| read_column(&file, 0, &schema, &range, past).unwrap();
                    let found = read(true);
                    found.to_data().validate_full().unwrap();
                    assert_eq!(&found, &read(false), "{ty}");
                }
            }
        }
    }
}
