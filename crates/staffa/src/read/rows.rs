//! Rows of columns: which values of which blocks they are, and these gathered.
//!
//! ```text
//! rows of a row group -> flat column:     the same values of its leaf
//!                     -> struct:          the same rows of every field
//!                     -> list:            the items between two offsets, which are read whole and kept
//!                     -> fixed-size list: the items at row * size
//! values of a leaf    -> per block: its values that are wanted
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_empty_array};
use arrow_schema::{Field, Schema};
use staffa_kernels::{PoolVec, cast_slice};

use super::File;
use super::cache::OpenBlock;
use super::column_builder::ColumnBuilder;
use super::dictionary::{cast_to_dictionary, dictionary_or_runs};
use crate::arrow::{Node, assemble, concat, reads_views, take};
use crate::decode::{ChunkSelection, Selection, words};
use crate::error::{Error, Result};
use crate::values::{DecodedLeaf, DecodedValues, PhysicalType};

/// Wanted values of one block.
#[derive(Debug)]
pub(crate) struct BlockSelection {
    pub row_group: usize,
    pub block: usize,
    /// From the block's first value on.
    pub rows: Selection,
}

/// Wanted rows of one row group.
#[derive(Debug)]
pub(crate) struct Group {
    row_group: usize,
    /// From the row group's first row on.
    rows: Arc<ChunkSelection>,
    /// The same by block.
    picks: Vec<BlockSelection>,
}

/// How a leaf's block that has wanted values is opened.
pub(crate) type Opener<'a> = dyn Fn(usize, &BlockSelection) -> Result<Arc<OpenBlock>> + Sync + 'a;

impl File {
    /// Rows of a row group.
    pub(crate) fn group(&self, row_group: usize, rows: ChunkSelection) -> Group {
        let picks = self.picks(row_group, &rows);
        Group {
            row_group,
            rows: Arc::new(rows),
            picks,
        }
    }

    /// Values of a leaf by block.
    fn picks(&self, row_group: usize, values: &ChunkSelection) -> Vec<BlockSelection> {
        let blocks = values
            .by_block(u64::from(self.footer().block_rows))
            .into_iter();
        blocks
            .map(|(block, rows)| BlockSelection {
                row_group,
                block,
                rows,
            })
            .collect()
    }

    /// Whether rows of a column can be gathered out of its blocks: nothing in it is a dictionary or
    /// runs of Arrow's.
    fn gathers(&self, column: usize) -> bool {
        fn gathers(node: &Node) -> bool {
            match node {
                Node::Null | Node::Leaf(_) => true,
                Node::List { item, .. } | Node::FixedList { item, .. } => gathers(item),
                Node::Struct { children, .. } => children.iter().all(gathers),
                Node::Dictionary { .. } | Node::RunEnd { .. } => false,
            }
        }
        self.layout().fields.get(column).is_some_and(gathers)
    }

    /// Rows of a column: gathered where it [gathers](Self::gathers), else out of whole row groups.
    pub(crate) fn take_column(
        &self,
        column: usize,
        schema: &Schema,
        groups: &[Group],
        open: &Opener<'_>,
    ) -> Result<ArrayRef> {
        let (Some(node), Some(field)) = (
            self.layout().fields.get(column),
            schema.fields().get(column),
        ) else {
            return Err(Error::corrupt(format!("no column {column}")));
        };
        match dictionary_or_runs(field, node) {
            Some((_, plain)) => cast_to_dictionary(
                field,
                &self.gather_column_as(&plain, node, column, groups, open)?,
            ),
            None => self.gather_column_as(field, node, column, groups, open),
        }
    }

    /// [`take_column`](Self::take_column), as an array of this field.
    fn gather_column_as(
        &self,
        field: &Field,
        node: &Node,
        column: usize,
        groups: &[Group],
        open: &Opener<'_>,
    ) -> Result<ArrayRef> {
        let views = |leaf| reads_views(field.data_type(), node, leaf);
        if let Node::Leaf(leaf) = node {
            let picks: Vec<&BlockSelection> =
                groups.iter().flat_map(|group| &group.picks).collect();
            let len = groups.iter().map(|group| group.rows.len()).sum();
            return assemble(field, node, len, &mut |_| {
                self.take_leaf(*leaf, &picks, len, views(*leaf), open)
            });
        }
        let gathers = self.gathers(column);
        let of_group = |group: &Group| {
            if !gathers {
                let total = self
                    .footer()
                    .row_groups
                    .get(group.row_group)
                    .copied()
                    .unwrap_or(0);
                let whole =
                    self.column_as(field, column, group.row_group, 0..total as usize, false)?;
                // Row groups have less than 2^32 rows.
                let rows: Vec<u32> = group
                    .rows
                    .list()
                    .into_iter()
                    .map(|row| row as u32)
                    .collect();
                return take(field, &whole, &rows)
                    .map_err(|e| e.at(|p| p.column = Some(field.name().clone())));
            }
            let mut leaves = Vec::new();
            self.leaves(node, group.row_group, &group.rows, &mut leaves)?;
            let mut gather = |leaf| {
                let found = leaves.iter().find(|(of, _)| *of == leaf);
                let (_, values) = found.ok_or_else(|| Error::corrupt(format!("no leaf {leaf}")))?;
                let picks = self.picks(group.row_group, values);
                self.take_leaf(
                    leaf,
                    &picks.iter().collect::<Vec<_>>(),
                    values.len(),
                    views(leaf),
                    open,
                )
            };
            assemble(field, node, group.rows.len(), &mut gather)
        };
        let mut arrays = groups.iter().map(of_group).collect::<Result<Vec<_>>>()?;
        if arrays.len() < 2 {
            return Ok(arrays
                .pop()
                .unwrap_or_else(|| new_empty_array(field.data_type())));
        }
        let schema = Arc::new(Schema::new(vec![field.clone()]));
        let batch = |array| RecordBatch::try_new(schema.clone(), vec![array]);
        let batches = arrays
            .into_iter()
            .map(batch)
            .collect::<Result<Vec<_>, _>>()?;
        let all = concat(&schema, &batches)?;
        let all = all.ok_or_else(|| {
            let what = "rows of several row groups do not go into one array of this type: ask for fewer rows at once";
            let error = Error::limit(format!("{}: {what}", field.data_type()));
            error.at(|p| p.column = Some(field.name().clone()))
        })?;
        Ok(all.column(0).clone())
    }

    /// Which values of every leaf below `node` these rows have.
    fn leaves(
        &self,
        node: &Node,
        row_group: usize,
        rows: &Arc<ChunkSelection>,
        out: &mut Vec<(usize, Arc<ChunkSelection>)>,
    ) -> Result<()> {
        match node {
            Node::Null => Ok(()),
            Node::Leaf(leaf) => {
                out.push((*leaf, rows.clone()));
                Ok(())
            }
            Node::Struct { validity, children } => {
                out.push((*validity, rows.clone()));
                children
                    .iter()
                    .try_for_each(|child| self.leaves(child, row_group, rows, out))
            }
            Node::FixedList {
                validity,
                size,
                item,
            } => {
                out.push((*validity, rows.clone()));
                let size = *size as u64;
                let items = self.items(item, row_group, rows, |row| row.checked_mul(size))?;
                self.leaves(item, row_group, &items, out)
            }
            Node::List { lengths, item } => {
                out.push((*lengths, rows.clone()));
                let offsets = self.offsets(*lengths, row_group)?;
                let offset = |row| {
                    usize::try_from(row)
                        .ok()
                        .and_then(|row| offsets.get(row).copied())
                };
                let items = self.items(item, row_group, rows, offset)?;
                self.leaves(item, row_group, &items, out)
            }
            Node::Dictionary { .. } | Node::RunEnd { .. } => {
                Err(Error::invalid("a column that does not gather"))
            }
        }
    }

    /// The items of lists, from the offset of each to that of the next.
    fn items(
        &self,
        item: &Node,
        row_group: usize,
        rows: &ChunkSelection,
        offset: impl Fn(u64) -> Option<u64>,
    ) -> Result<Arc<ChunkSelection>> {
        let leaf = match item {
            Node::Null => return Ok(Arc::new(ChunkSelection::List(Vec::new()))),
            Node::Leaf(leaf) => leaf,
            Node::List { lengths, .. } => lengths,
            Node::FixedList { validity, .. } | Node::Struct { validity, .. } => validity,
            Node::Dictionary { codes, .. } => codes,
            Node::RunEnd { ends, .. } => ends,
        };
        let there = self.chunk(*leaf, row_group)?.values;
        let most = self.limits().block_bytes / 8;
        rows.items(offset, there, most, u64::from(self.footer().block_rows))
            .map(Arc::new)
    }

    /// Where the lists of a row group begin, and the end.
    fn offsets(&self, lengths: usize, row_group: usize) -> Result<Arc<PoolVec<u64>>> {
        if let Some(offsets) = self.cache().offsets(lengths, row_group) {
            return Ok(offsets);
        }
        let DecodedLeaf { validity, values } =
            self.decode_leaf(lengths, row_group, 0..usize::MAX)?;
        let mut offsets = words::<u64>(values.len() + 1)?;
        let valid = |row| validity.as_ref().is_none_or(|valid| valid.get(row));
        let summed = match &values {
            DecodedValues::Words(PhysicalType::U32, words) => {
                let lengths = cast_slice::<u32>(words.as_slice()).unwrap_or_default();
                sums(
                    lengths.iter().map(|length| u64::from(*length)),
                    valid,
                    &mut offsets,
                )
            }
            DecodedValues::Words(PhysicalType::U64, words) => {
                let lengths = cast_slice::<u64>(words.as_slice()).unwrap_or_default();
                sums(lengths.iter().copied(), valid, &mut offsets)
            }
            _ => {
                return Err(Error::corrupt(
                    "lengths of lists expected, found other values",
                ));
            }
        };
        summed
            .ok_or_else(|| Error::corrupt("the lengths of the lists add up to more than 2^64"))?;
        let offsets = Arc::new(offsets);
        self.cache().keep_offsets(lengths, row_group, &offsets);
        Ok(offsets)
    }

    /// Values of one leaf, `len` in all; strings as views on request.
    fn take_leaf(
        &self,
        leaf: usize,
        picks: &[&BlockSelection],
        len: usize,
        views: bool,
        open: &Opener<'_>,
    ) -> Result<DecodedLeaf> {
        let mut out = ColumnBuilder::of_rows(self.leaf(leaf)?, len, views)?;
        for pick in picks {
            let pushed = open(leaf, pick)
                .and_then(|opened| opened.with(|block| out.push_rows(block, &pick.rows)));
            pushed.map_err(|e| {
                e.at(|p| p.block = Some(pick.block))
                    .at(self.place(leaf, pick.row_group))
            })?;
        }
        out.finish()
    }
}

/// 0, and the sum of the lengths up to each; those of rows that are not `valid` do not count.
fn sums(
    lengths: impl Iterator<Item = u64>,
    valid: impl Fn(usize) -> bool,
    out: &mut [u64],
) -> Option<()> {
    let (first, places) = out.split_first_mut()?;
    *first = 0;
    let mut end = 0u64;
    for ((row, length), place) in lengths.enumerate().zip(places) {
        end = end.checked_add(if valid(row) { length } else { 0 })?;
        *place = end;
    }
    Some(())
}
