//! Selected rows of a column: the values of each leaf that these are, taken out of its blocks.
//!
//! ```text
//! rows of a row group -> flat column:     the same values of its leaf
//!                     -> struct:          the same rows of each field
//!                     -> list:            the items between two offsets, which are read whole and cached
//!                     -> fixed-size list: the items at row * size
//! values of a leaf    -> per block: a selection of its values
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use staffa_kernels::{PoolVec, cast_slice};

use super::File;
use super::admission::Admission;
use super::batch::{RowRange, STEP_ROWS, field_and_node, read_plain};
use super::cache::{Entry, Item, OpenBlock};
use super::chunk_reader::ChunkReader;
use super::column_builder::{ColumnBuilder, OutputLayout};
use super::dictionary::{cast_to_dictionary, dictionary_or_runs};
use super::ranges::TAKE_GAP;
use crate::arrow::{Node, assemble, concat, take, view_leaves};
use crate::decode::{ChunkSelection, Selection, words};
use crate::error::{Error, Result};
use crate::format::MAX_BLOCK_ROWS;
use crate::values::{Bitmap, DecodedLeaf, DecodedValues, PhysicalType};

/// Selected values of one block.
#[derive(Debug)]
struct BlockSelection {
    row_group: usize,
    block: usize,
    /// From the block's first value on.
    rows: Selection,
}

/// Selected rows of one row group.
#[derive(Debug)]
pub(super) struct GroupSelection {
    row_group: usize,
    /// From the row group's first row on.
    rows: Arc<ChunkSelection>,
    /// The same rows by block, for each size of blocks as a power of two.
    blocks: [OnceLock<Vec<BlockSelection>>; MAX_BLOCK_ROWS.ilog2() as usize + 1],
}

impl GroupSelection {
    pub fn new(row_group: usize, rows: ChunkSelection) -> Self {
        Self {
            row_group,
            blocks: [const { OnceLock::new() }; _],
            rows: Arc::new(rows),
        }
    }

    /// The rows by blocks of a leaf.
    fn blocks(&self, file: &File, leaf: usize) -> Result<&[BlockSelection]> {
        let block_rows = file.chunk(leaf, self.row_group)?.block_rows;
        let of_size = self.blocks.get(block_rows.trailing_zeros() as usize);
        let of_size = of_size.ok_or_else(|| Error::internal("a block of too many values"))?;
        Ok(of_size.get_or_init(|| by_block(self.row_group, &self.rows, block_rows)))
    }
}

/// Values of a leaf by block.
fn by_block(row_group: usize, values: &ChunkSelection, block_rows: u32) -> Vec<BlockSelection> {
    let blocks = values.by_block(block_rows.into()).into_iter();
    blocks
        .map(|(block, rows)| BlockSelection {
            row_group,
            block,
            rows,
        })
        .collect()
}

/// Open blocks of one row group, by leaf and number.
pub(super) type OpenBlocks = HashMap<(usize, usize), Arc<OpenBlock>>;

/// Selected rows of columns.
pub(super) struct RowReader<'a> {
    pub file: &'a File,
    pub schema: &'a Schema,
    pub groups: &'a [GroupSelection],
    /// Blocks that a filter has opened.
    pub filtered: Option<&'a OpenBlocks>,
    /// Which opened blocks the file's cache keeps.
    pub admission: Admission<'a>,
}

impl RowReader<'_> {
    /// Tells the source of a file that is elsewhere what the rows of some columns need. Of a list
    /// the items are known once the lengths are there.
    pub fn begin(&self, columns: &[usize]) -> Result<()> {
        if self.file.store().as_source().is_none() {
            return Ok(());
        }
        self.file.begin_indexes(columns.iter().copied())?;
        let mut ranges = Vec::new();
        for (column, group) in columns.iter().flat_map(|column| {
            let groups = self.groups.iter();
            groups.map(move |group| (*column, group))
        }) {
            let (_, node) = field_and_node(self.file, self.schema, column)?;
            match node {
                Node::Leaf(leaf) => {
                    let blocks = group.blocks(self.file, *leaf)?;
                    self.add_ranges(*leaf, blocks, &mut ranges)?;
                }
                node if !is_taken_by_block(node) => {
                    let rows = 0..self.file.rows_of(group.row_group)?;
                    let range = RowRange {
                        row_group: group.row_group,
                        rows,
                    };
                    let none = OpenBlocks::new();
                    self.file
                        .add_column_ranges(column, &range, None, &none, &mut ranges)?;
                }
                Node::List { lengths, .. } => {
                    let reader = ChunkReader::new(self.file, *lengths, group.row_group)?;
                    reader.add_ranges(0..reader.num_blocks(), &mut ranges)?;
                }
                _ => {}
            }
        }
        self.file.begin(ranges, TAKE_GAP);
        Ok(())
    }

    /// Adds the byte ranges of blocks of a leaf that are not open yet.
    fn add_ranges(
        &self,
        leaf: usize,
        blocks: &[BlockSelection],
        out: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let Some(first) = blocks.first() else {
            return Ok(());
        };
        let reader = ChunkReader::new(self.file, leaf, first.row_group)?;
        let numbers = blocks.iter().map(|selection| selection.block);
        reader.add_ranges(numbers.filter(|block| !reader.is_open(*block)), out)
    }

    /// The rows of a column.
    pub fn column(&self, column: usize) -> Result<ArrayRef> {
        let (field, node) = field_and_node(self.file, self.schema, column)?;
        match dictionary_or_runs(field, node) {
            Some((_, plain)) => cast_to_dictionary(field, &self.plain(column, &plain, node)?),
            None => self.plain(column, field, node),
        }
    }

    /// The rows of a column as an array of `field`: neither a dictionary nor runs.
    fn plain(&self, column: usize, field: &Field, node: &Node) -> Result<ArrayRef> {
        if let Node::Leaf(leaf) = node {
            let layout = OutputLayout::of(self.file.leaf(*leaf)?, field.data_type());
            let len = self.groups.iter().map(|group| group.rows.len()).sum();
            return assemble(field, node, len, &mut |_| {
                let blocks = self
                    .groups
                    .iter()
                    .map(|group| group.blocks(self.file, *leaf));
                let blocks = blocks.collect::<Result<Vec<_>>>()?;
                self.leaf(*leaf, layout, blocks.into_iter().flatten(), len)
            });
        }
        let schema = Arc::new(Schema::new(vec![field.clone()]));
        let of_group = |group: &GroupSelection| {
            let array = if is_taken_by_block(node) {
                self.nested(field, node, group)?
            } else {
                self.whole(column, field, group)?
            };
            Ok(RecordBatch::try_new(schema.clone(), vec![array])?)
        };
        let batches = self.groups.iter().map(of_group);
        let batches = batches.collect::<Result<Vec<_>>>()?;
        let all = match batches.as_slice() {
            [] => Some(RecordBatch::new_empty(schema)),
            [one] => Some(one.clone()),
            several => concat(&schema, several)?,
        };
        let all = all.ok_or_else(|| {
            let what = "rows of several row groups do not go into one array of this type: ask for fewer rows at once";
            let error = Error::limit(format!("{}: {what}", field.data_type()));
            error.at(|p| p.column = Some(field.name().clone()))
        })?;
        Ok(all.column(0).clone())
    }

    /// The rows of a column that is read whole: Arrow's dictionaries and runs.
    fn whole(&self, column: usize, field: &Field, group: &GroupSelection) -> Result<ArrayRef> {
        let range = RowRange {
            row_group: group.row_group,
            rows: 0..self.file.rows_of(group.row_group)?,
        };
        let whole = read_plain(self.file, column, field, &range, false)?;
        // Row groups have less than 2^32 rows.
        let rows: Vec<u32> = group.rows.list().iter().map(|row| *row as u32).collect();
        take(field, &whole, &rows).map_err(|e| e.at(|p| p.column = Some(field.name().clone())))
    }

    /// The rows of a nested column.
    fn nested(&self, field: &Field, node: &Node, group: &GroupSelection) -> Result<ArrayRef> {
        let (file, row_group) = (self.file, group.row_group);
        let mut leaves = Vec::new();
        Nested { file, row_group }.leaves(node, &group.rows, &mut leaves)?;
        if file.store().as_source().is_some() {
            let mut ranges = Vec::new();
            for (leaf, values) in &leaves {
                let blocks = by_block(row_group, values, file.chunk(*leaf, row_group)?.block_rows);
                self.add_ranges(*leaf, &blocks, &mut ranges)?;
            }
            file.begin(ranges, TAKE_GAP);
        }
        let views = view_leaves(field.data_type(), node);
        assemble(field, node, group.rows.len(), &mut |leaf| {
            // Depth first, as the leaves are numbered.
            let found = leaves.binary_search_by_key(&leaf, |(of, _)| *of);
            let found = found.ok().and_then(|found| leaves.get(found));
            let (_, values) = found.ok_or_else(|| Error::internal(format!("no leaf {leaf}")))?;
            let block_rows = self.file.chunk(leaf, group.row_group)?.block_rows;
            let blocks = by_block(group.row_group, values, block_rows);
            let layout = OutputLayout {
                views: views.binary_search(&leaf).is_ok(),
                ..OutputLayout::default()
            };
            self.leaf(leaf, layout, &blocks, values.len())
        })
    }

    /// Selected values of one leaf, `len` in all.
    fn leaf<'b>(
        &self,
        leaf: usize,
        layout: OutputLayout,
        blocks: impl IntoIterator<Item = &'b BlockSelection>,
        len: usize,
    ) -> Result<DecodedLeaf> {
        let mut out = ColumnBuilder::of_rows(self.file.leaf(leaf)?, len, layout)?;
        let mut last: Option<ChunkReader<'_>> = None;
        for selection in blocks {
            let reader = match last.take() {
                Some(reader) if reader.row_group == selection.row_group => reader,
                _ => ChunkReader::new(self.file, leaf, selection.row_group)?,
            };
            let reader = last.insert(reader);
            let number = selection.block;
            let known = self.filtered.and_then(|known| known.get(&(leaf, number)));
            let open = || self.admission.open(reader, number);
            let opened = known.map_or_else(open, |opened| Ok(opened.clone()))?;
            opened
                .with(|block| out.push_rows(block, &selection.rows))
                .map_err(|e| e.at(|p| reader.name_block(p, number)))?;
        }
        out.finish()
    }
}

/// Whether rows of a column are taken out of its blocks: none of its arrays is a dictionary or
/// runs.
fn is_taken_by_block(node: &Node) -> bool {
    match node {
        Node::Null | Node::Unknown | Node::Leaf(_) => true,
        Node::List { item, .. } | Node::FixedList { item, .. } => is_taken_by_block(item),
        Node::Struct { children, .. } => children.iter().all(is_taken_by_block),
        Node::Dictionary { .. } | Node::RunEnd { .. } => false,
    }
}

/// The leaf that has a value for each item of a node; `None` for NULLs without a leaf.
pub(super) fn first_leaf(node: &Node) -> Option<usize> {
    match node {
        Node::Null | Node::Unknown => None,
        Node::Leaf(leaf)
        | Node::List { lengths: leaf, .. }
        | Node::FixedList { validity: leaf, .. }
        | Node::Struct { validity: leaf, .. }
        | Node::Dictionary { codes: leaf, .. }
        | Node::RunEnd { ends: leaf, .. } => Some(*leaf),
    }
}

/// Leaves of nested columns in one row group.
struct Nested<'f> {
    file: &'f File,
    row_group: usize,
}

impl Nested<'_> {
    /// Adds the values that some rows have in each leaf below `node`.
    fn leaves(
        &self,
        node: &Node,
        rows: &Arc<ChunkSelection>,
        out: &mut Vec<(usize, Arc<ChunkSelection>)>,
    ) -> Result<()> {
        let Some(leaf) = first_leaf(node) else {
            return Ok(());
        };
        out.push((leaf, rows.clone()));
        match node {
            Node::Null | Node::Unknown | Node::Leaf(_) => Ok(()),
            Node::Struct { children, .. } => {
                let mut children = children.iter();
                children.try_for_each(|child| self.leaves(child, rows, out))
            }
            Node::FixedList { size, item, .. } => {
                let size = *size as u64;
                let items = self.items(item, rows, |row| row.checked_mul(size))?;
                self.leaves(item, &items, out)
            }
            Node::List { item, .. } => {
                let offsets = self.offsets(leaf)?;
                let offset = |row| offsets.get(usize::try_from(row).ok()?).copied();
                let items = self.items(item, rows, offset)?;
                self.leaves(item, &items, out)
            }
            Node::Dictionary { .. } | Node::RunEnd { .. } => {
                Err(Error::internal("a column that is not taken by block"))
            }
        }
    }

    /// The items of lists, from the offset of each to that of the next.
    fn items(
        &self,
        item: &Node,
        rows: &ChunkSelection,
        offset: impl Fn(u64) -> Option<u64>,
    ) -> Result<Arc<ChunkSelection>> {
        let Some(leaf) = first_leaf(item) else {
            return Ok(Arc::new(ChunkSelection::List(Vec::new())));
        };
        let values = self.file.chunk(leaf, self.row_group)?.values;
        let most = self.file.limits().block_bytes / 8;
        rows.items(offset, values, most, STEP_ROWS as u64)
            .map(Arc::new)
    }

    /// Offsets of all lists of the row group, from the leaf of their lengths.
    fn offsets(&self, lengths: usize) -> Result<Arc<PoolVec<u64>>> {
        let cache = self.file.cache();
        let chunk = (lengths, self.row_group);
        if let Some(Entry::Offsets(offsets)) = cache.get(chunk, Item::Offsets) {
            return Ok(offsets);
        }
        let reader = ChunkReader::new(self.file, lengths, self.row_group)?;
        let mut ranges = Vec::new();
        reader.add_ranges(0..reader.num_blocks(), &mut ranges)?;
        self.file.begin(ranges, TAKE_GAP);
        let DecodedLeaf { validity, values } =
            reader.decode(0..usize::MAX, OutputLayout::default())?;
        let mut offsets = words::<u64>(values.len() + 1)?;
        let summed = match &values {
            DecodedValues::Words(PhysicalType::U32, words) => cast_slice::<u32>(words)
                .map(|lengths| sums(lengths, validity.as_ref(), &mut offsets)),
            DecodedValues::Words(PhysicalType::U64, words) => cast_slice::<u64>(words)
                .map(|lengths| sums(lengths, validity.as_ref(), &mut offsets)),
            _ => None,
        };
        summed
            .ok_or_else(|| Error::corrupt("lengths of lists expected, found other values"))?
            .ok_or_else(|| Error::corrupt("the lengths of the lists add up to more than 2^64"))?;
        let offsets = Arc::new(offsets);
        cache.keep(chunk, Item::Offsets, Entry::Offsets(offsets.clone()));
        Ok(offsets)
    }
}

/// 0, and the sum of the lengths up to each; NULLs count as 0. `out` has a place more than there
/// are lengths. `None` where the sum takes more than 64 bits.
fn sums<T: Copy + Into<u64>>(
    lengths: &[T],
    validity: Option<&Bitmap>,
    out: &mut [u64],
) -> Option<()> {
    let (first, places) = out.split_first_mut()?;
    *first = 0;
    let (mut end, mut beyond) = (0u64, false);
    let parts = lengths.chunks(64).zip(places.chunks_mut(64)).enumerate();
    for (i, (lengths, places)) in parts {
        let mut valid = match validity {
            Some(validity) => *validity.words().get(i)?,
            None => u64::MAX,
        };
        for (length, place) in lengths.iter().zip(places) {
            // All bits where the row is valid.
            let mask = (valid & 1).wrapping_neg();
            let (sum, wraps) = end.overflowing_add((*length).into() & mask);
            (end, beyond, valid) = (sum, beyond | wraps, valid >> 1);
            *place = end;
        }
    }
    if beyond {
        return None;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_summed_up_without_those_of_nulls() {
        let lengths: Vec<u32> = (0..150).map(|row| row * 7 % 11).collect();
        let mut valid = Bitmap::filled(lengths.len(), true);
        for row in (0..lengths.len()).step_by(3) {
            valid.set(row, false);
        }
        for validity in [None, Some(&valid)] {
            let mut offsets = vec![9; lengths.len() + 1];
            sums(&lengths, validity, &mut offsets).unwrap();
            let mut end = 0;
            for (row, length) in lengths.iter().enumerate() {
                assert_eq!(offsets[row], end);
                end += u64::from(*length) * u64::from(validity.is_none_or(|valid| valid.get(row)));
            }
            assert_eq!(offsets.last(), Some(&end));
        }
        assert!(sums::<u32>(&[], None, &mut [7]).is_some());
        assert!(sums(&[u64::MAX, 1], None, &mut [0; 3]).is_none());
    }
}
