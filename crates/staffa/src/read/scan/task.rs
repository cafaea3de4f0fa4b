//! Tasks of a scan: neighbouring rows of one row group, read or filtered together.
//!
//! ```text
//! zone maps of a block's rows -> none match | else, part by part of the predicate:
//! zone map of a block         -> none or all of it match | else: open the block -> filter encoded data -> one bit a row
//! rows that match             -> per block: take them, one by one or out of decoded vectors
//! ```
//!
//! Of a conjunction, later parts look only at blocks in which rows are left. Columns without a
//! plain flat form (nested ones, Arrow's dictionaries and runs) are decoded and compared by Arrow's
//! kernels.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::hash_map::Entry;
use std::ops::Range;

use crate::arrow;
use crate::error::{Error, Result};
use crate::format::{ZoneMap, zone_of};
use crate::predicate::{Bound, Node, top_level, true_rows};
use crate::read::File;
use crate::read::batch::{RowRange, STEP_ROWS, read_batch};
use crate::read::chunk_reader::{ChunkReader, Keep};
use crate::read::filter::{by_zone_map, rows_where};
use crate::read::rows::{OpenBlocks, first_leaf};
use crate::values::Bitmap;

/// Some rows of one row group: whole blocks of every column that is tested.
pub(crate) struct ScanTask {
    pub file: File,
    pub range: RowRange,
    /// Blocks of the predicate's columns: likely to be read again.
    pub opened: OpenBlocks,
}

impl ScanTask {
    /// A task for rows that begin with a block and end with one.
    pub fn new(file: &File, range: RowRange) -> Self {
        Self {
            file: file.clone(),
            range,
            opened: OpenBlocks::new(),
        }
    }

    /// Whether zone maps leave room for a match.
    pub fn may_match(&self, bound: &Bound) -> bool {
        let mut steps = self.steps();
        steps.any(|rows| bound.may_match(rows.len() as u64, &|column| self.zone(column, &rows)))
    }

    /// One bit per row: whether it matches.
    pub fn matches(&mut self, bound: &Bound) -> Result<Bitmap> {
        if !self.range.rows.start.is_multiple_of(STEP_ROWS) {
            return Err(Error::internal("a task within a block"));
        }
        self.check_rows(&bound.root)?;
        let within = self.rows_that_may_match(bound);
        self.node(&bound.root, &within)
    }

    /// Adds the byte ranges that [`matches`](Self::matches) may read: blocks whose zone maps leave
    /// room for a match, of columns that are tested.
    pub fn add_ranges(&self, bound: &Bound, out: &mut Vec<Range<u64>>) -> Result<()> {
        let may = self.rows_that_may_match(bound);
        if may.is_zero() {
            return Ok(());
        }
        self.add_node_ranges(&bound.root, &may, out)
    }

    fn add_node_ranges(&self, node: &Node, may: &Bitmap, out: &mut Vec<Range<u64>>) -> Result<()> {
        let column = match node {
            Node::All(parts) | Node::Any(parts) => {
                let mut parts = parts.iter();
                return parts.try_for_each(|part| self.add_node_ranges(part, may, out));
            }
            Node::Null(column)
            | Node::NotNull(column)
            | Node::Compare(column, ..)
            | Node::In { column, .. }
            | Node::Match { column, .. } => column,
        };
        let (file, range) = (&self.file, &self.range);
        let position = top_level(file.schema(), column)?;
        let Some(&arrow::Node::Leaf(leaf)) = file.layout().fields.get(position) else {
            return file.add_column_ranges(position, range, None, &self.opened, out);
        };
        let reader = ChunkReader::new(file, leaf, range.row_group)?;
        let size = reader.block_rows();
        let mut blocks = Vec::new();
        for block in reader.blocks_of(&range.rows) {
            let rows =
                (block * size).max(range.rows.start)..(block * size + size).min(range.rows.end);
            let (start, end) = (rows.start - range.rows.start, rows.end - range.rows.start);
            let room = may.count_of(start as u32..end as u32) > 0;
            if room && by_zone_map(node, reader.block_entry(block)?).is_none() {
                blocks.push(block);
            }
        }
        reader.add_ranges(blocks.into_iter(), out)
    }

    /// The rows of steps in which zone maps leave room for a match.
    fn rows_that_may_match(&self, bound: &Bound) -> Bitmap {
        let mut within = Bitmap::default();
        for rows in self.steps() {
            let may = bound.may_match(rows.len() as u64, &|column| self.zone(column, &rows));
            within.extend(&Bitmap::filled(rows.len(), may));
        }
        within
    }

    /// Checks that the columns of a predicate have the rows of the row group, before bits are
    /// allocated for these: it may declare any number.
    fn check_rows(&self, node: &Node) -> Result<()> {
        let column = match node {
            Node::All(parts) | Node::Any(parts) => {
                return parts.iter().try_for_each(|part| self.check_rows(part));
            }
            Node::Null(column)
            | Node::NotNull(column)
            | Node::Compare(column, ..)
            | Node::In { column, .. }
            | Node::Match { column, .. } => column,
        };
        let node = self
            .file
            .layout()
            .fields
            .get(top_level(self.file.schema(), column)?);
        let leaf = node.filter(|node| !matches!(node, arrow::Node::RunEnd { .. }));
        let Some(leaf) = leaf.and_then(first_leaf) else {
            return Ok(());
        };
        let row_group = self.range.row_group;
        let found = self.file.chunk(leaf, row_group)?.values;
        let rows = self.file.rows_of(row_group)?;
        if found != rows as u64 {
            let what = format!("a chunk of {rows} values expected, found {found}");
            return Err(Error::corrupt(what).at(self.file.place(leaf, row_group)));
        }
        Ok(())
    }

    /// The rows of the task, cut where blocks of every column end.
    fn steps(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let Range { start, end } = self.range.rows;
        let first = start / STEP_ROWS;
        (first..end.div_ceil(STEP_ROWS)).map(move |step| {
            let rows = step * STEP_ROWS..(step + 1) * STEP_ROWS;
            rows.start.max(start)..rows.end.min(end)
        })
    }

    /// The zone map of a flat column's blocks; `None` where there is none, or where it cannot be
    /// read: the test will report why.
    fn zone(&self, column: &str, rows: &Range<usize>) -> Option<ZoneMap> {
        let (position, _) = self.file.schema().column_with_name(column)?;
        let Some(arrow::Node::Leaf(leaf)) = self.file.layout().fields.get(position) else {
            return None;
        };
        let chunk = self.file.chunk(*leaf, self.range.row_group).ok()?;
        let size = chunk.block_rows as usize;
        match chunk
            .blocks
            .get(rows.start / size..rows.end.div_ceil(size))?
        {
            [one] => Some(one.zone.clone()),
            several => Some(zone_of(several.iter())),
        }
    }

    /// The rows of `within` for which a part of the predicate is true.
    fn node(&mut self, node: &Node, within: &Bitmap) -> Result<Bitmap> {
        match node {
            Node::All(parts) => {
                let mut all = within.clone();
                for part in parts {
                    if all.is_zero() {
                        break;
                    }
                    all = self.node(part, &all)?;
                }
                Ok(all)
            }
            Node::Any(parts) => {
                let (mut any, mut rest) = (Bitmap::filled(within.len(), false), within.clone());
                for part in parts {
                    if rest.is_zero() {
                        break;
                    }
                    let found = self.node(part, &rest)?;
                    rest = rest.without(&found);
                    any = any.or(&found);
                }
                Ok(any)
            }
            Node::Null(column)
            | Node::NotNull(column)
            | Node::Compare(column, ..)
            | Node::In { column, .. }
            | Node::Match { column, .. } => self.leaf(node, column, within),
        }
    }

    /// The rows of `within` for which a test of one column is true.
    fn leaf(&mut self, node: &Node, column: &str, within: &Bitmap) -> Result<Bitmap> {
        let (file, row_group) = (self.file.clone(), self.range.row_group);
        let file = &file;
        let position = top_level(file.schema(), column)?;
        let Some(&arrow::Node::Leaf(leaf)) = file.layout().fields.get(position) else {
            let tested = self.by_arrow(node, position, self.range.rows.clone())?;
            return Ok(tested.and(within));
        };
        let reader = ChunkReader::new(file, leaf, row_group)?;
        let (start, end) = (self.range.rows.start, self.range.rows.end);
        let mut found = Bitmap::default();
        for block in reader.blocks_of(&self.range.rows) {
            let first = block * reader.block_rows();
            let rows = first.max(start) - start..(first + reader.block_rows()).min(end) - start;
            let wanted = within.slice(rows.start, rows.len());
            let known = if wanted.is_zero() {
                Some(false)
            } else {
                by_zone_map(node, reader.block_entry(block)?)
            };
            found.extend(&match known {
                Some(true) => wanted,
                Some(false) => Bitmap::filled(rows.len(), false),
                None => {
                    let opened = match self.opened.entry((leaf, block)) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(place) => {
                            place.insert(reader.open_block(block, Keep::Nothing)?)
                        }
                    };
                    let tested = opened.with(|block| rows_where(node, block, reader.leaf));
                    let tested = tested.map_err(|e| e.at(|p| reader.name_block(p, block)))?;
                    let rows = start + rows.start..start + rows.end;
                    let tested = tested.map_or_else(|| self.by_arrow(node, position, rows), Ok)?;
                    tested.and(&wanted)
                }
            });
        }
        Ok(found)
    }

    /// Rows decoded and compared by Arrow's kernels.
    fn by_arrow(&self, node: &Node, column: usize, rows: Range<usize>) -> Result<Bitmap> {
        let row_group = self.range.row_group;
        let range = RowRange { row_group, rows };
        let batch = read_batch(&self.file, &[column], self.file.schema(), &range)?;
        let found = true_rows(node, &batch)?;
        Ok(Bitmap::from_bytes(
            found.values(),
            found.offset(),
            found.len(),
        ))
    }
}
