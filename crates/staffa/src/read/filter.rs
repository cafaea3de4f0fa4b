//! Filters: which rows of a unit of work match, and these rows of the columns wanted.
//!
//! ```text
//! zone maps of a block's rows -> none match | else, part by part of the predicate:
//! zone map of a block         -> none or all of it match | else: open the block -> select on encoded data -> one bit a row
//! rows that match             -> per block: gather them, by themselves or out of decoded vectors
//! ```
//!
//! Of a conjunction, later parts look only at blocks in which rows are left. Columns without a
//! plain flat form (nested ones, Arrow's dictionaries and runs) are decoded and compared by Arrow's
//! kernels.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use memchr::memmem::Finder;

use super::cache::OpenBlock;
use super::rows::BlockSelection;
use super::{File, each_column};
use crate::decode::{
    AnyDecoder, Block, Bulk, ChunkSelection, Decoder, Integer, Scratch, StringTest,
};
use crate::error::Result;
use crate::format::{BlockEntry, ZoneMap};
use crate::predicate::{
    Bound, Compare, Half, Node, Test, Value, may_be_true, must_be_true, true_rows,
};
use crate::values::{Bitmap, Kind};
use crate::{arrow, decode};

/// Rows of one row group that are filtered together: whole blocks.
pub(crate) struct ScanTask<'f> {
    file: &'f File,
    row_group: usize,
    rows: Range<usize>,
    /// Blocks of the predicate's columns, by leaf and number: likely to be wanted again.
    opened: HashMap<(usize, usize), Arc<OpenBlock>>,
}

/// One row of so many: where more match, all are decoded, if that is allowed.
const LOOSE: usize = 4;

/// A block of a unit.
struct TaskBlock {
    block: usize,
    /// Its rows, from the unit's first on.
    rows: Range<usize>,
}

impl<'f> ScanTask<'f> {
    /// Rows `rows` of a row group, which begin with a block and end with one.
    pub fn new(file: &'f File, row_group: usize, rows: Range<usize>) -> Self {
        Self {
            file,
            row_group,
            rows,
            opened: HashMap::new(),
        }
    }

    /// Whether zone maps leave room for a match.
    pub fn may_match(&self, bound: &Bound) -> bool {
        let mut blocks = self.blocks();
        blocks.any(|TaskBlock { block, rows }| {
            bound.may_match(rows.len() as u64, &|column| self.zone(column, block))
        })
    }

    /// Which rows match.
    pub fn found(&mut self, bound: &Bound) -> Result<Bitmap> {
        let mut within = Bitmap::default();
        for TaskBlock { block, rows } in self.blocks() {
            let may = bound.may_match(rows.len() as u64, &|column| self.zone(column, block));
            within.extend(&Bitmap::filled(rows.len(), may));
        }
        self.node(&bound.root, &within)
    }

    /// A block, opened now or for the filter.
    pub fn opened(&self, leaf: usize, block: usize) -> Result<Arc<OpenBlock>> {
        match self.opened.get(&(leaf, block)) {
            Some(opened) => Ok(opened.clone()),
            None => self.file.opened(leaf, self.row_group, block),
        }
    }

    /// The rows that match, with these columns; `None` where there are none. Loosely: with others
    /// too, where many match.
    pub fn matching(
        mut self,
        bound: &Bound,
        columns: &[usize],
        schema: &SchemaRef,
        loose: bool,
    ) -> Result<Option<RecordBatch>> {
        let found = self.found(bound)?;
        let count = found.count_ones();
        if count == 0 {
            return Ok(None);
        }
        if count == self.rows.len() || loose && count > self.rows.len() / LOOSE {
            return self
                .file
                .batch(columns, schema, self.row_group, self.rows)
                .map(Some);
        }
        let rows = ChunkSelection::of_bits(self.rows.start as u64, found);
        let groups = [self.file.group(self.row_group, rows)];
        let open = |leaf, pick: &BlockSelection| self.opened(leaf, pick.block);
        let gathered = |column: &usize| self.file.take_column(*column, schema, &groups, &open);
        let arrays = each_column(columns, count, gathered)?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(Some(RecordBatch::try_new_with_options(
            Arc::new(schema.project(columns)?),
            arrays,
            &options,
        )?))
    }

    fn blocks(&self) -> impl Iterator<Item = TaskBlock> + use<> {
        let (block_rows, Range { start, end }) =
            (self.file.footer().block_rows as usize, self.rows.clone());
        (start / block_rows..end.div_ceil(block_rows)).map(move |block| {
            let first = (block * block_rows).max(start);
            TaskBlock {
                block,
                rows: first - start..((block + 1) * block_rows).min(end) - start,
            }
        })
    }

    /// The zone map of a flat column's block; `None` where there is none, or it cannot be read: the
    /// test will say why.
    fn zone(&self, column: &str, block: usize) -> Option<ZoneMap> {
        let (position, _) = self.file.schema().column_with_name(column)?;
        let Some(arrow::Node::Leaf(leaf)) = self.file.layout().fields.get(position) else {
            return None;
        };
        let chunk = self.file.chunk(*leaf, self.row_group).ok()?;
        Some(chunk.blocks.get(block)?.zone.clone())
    }

    /// Those of the rows `within` for which a part of the predicate is true.
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
            | Node::Match { column, .. } => self.leaf(node, column, within),
        }
    }

    /// Those of the rows `within` for which a test of one column is true.
    fn leaf(&mut self, node: &Node, column: &str, within: &Bitmap) -> Result<Bitmap> {
        let (file, schema) = (self.file, self.file.schema());
        let position = schema.index_of(column)?;
        let Some(arrow::Node::Leaf(leaf)) = file.layout().fields.get(position) else {
            return Ok(self
                .by_arrow(node, position, schema, self.rows.clone())?
                .and(within));
        };
        let leaf = *leaf;
        let chunk = file.chunk(leaf, self.row_group)?;
        let mut found = Bitmap::default();
        for TaskBlock { block, rows } in self.blocks() {
            let wanted = within.slice(rows.start, rows.len());
            let entry = chunk.blocks.get(block);
            let all = if wanted.is_zero() {
                Some(false)
            } else {
                entry.and_then(|entry| decided(node, entry))
            };
            if let Some(all) = all {
                found.extend(&if all {
                    wanted
                } else {
                    Bitmap::filled(rows.len(), false)
                });
                continue;
            }
            let opened = self.opened(leaf, block)?;
            let kind = file.leaf(leaf)?.kind;
            let tested = opened.with(|block| test(node, block, kind));
            let tested = tested.map_err(|e| {
                e.at(|p| p.block = Some(block))
                    .at(file.place(leaf, self.row_group))
            })?;
            self.opened.insert((leaf, block), opened);
            let tested = if let Some(tested) = tested {
                tested
            } else {
                let rows = self.rows.start + rows.start..self.rows.start + rows.end;
                self.by_arrow(node, position, schema, rows)?
            };
            found.extend(&tested.and(&wanted));
        }
        Ok(found)
    }

    /// Decoded and compared.
    fn by_arrow(
        &self,
        node: &Node,
        column: usize,
        schema: &Schema,
        rows: Range<usize>,
    ) -> Result<Bitmap> {
        let batch = self.file.batch(&[column], schema, self.row_group, rows)?;
        let found = true_rows(node, &batch)?;
        Ok(Bitmap::from_bytes(
            found.values(),
            found.offset(),
            found.len(),
        ))
    }
}

/// Whether all rows of a block match, or none, by its zone map.
fn decided(node: &Node, entry: &BlockEntry) -> Option<bool> {
    let (rows, zone) = (entry.values as u64, &|_: &str| Some(entry.zone.clone()));
    match (
        may_be_true(node, rows, zone),
        must_be_true(node, rows, zone),
    ) {
        (false, _) => Some(false),
        (true, true) => Some(true),
        (true, false) => None,
    }
}

/// The rows of a block for which a test is true; `None` where Arrow's kernels must say.
fn test(node: &Node, block: &Block<'_>, kind: Kind) -> Result<Option<Bitmap>> {
    let valid = || {
        block
            .validity
            .clone()
            .unwrap_or_else(|| Bitmap::filled(block.len, true))
    };
    let (op, value) = match node {
        Node::Null(_) => return Ok(Some(Bitmap::filled(block.len, true).without(&valid()))),
        Node::NotNull(_) => return Ok(Some(valid())),
        Node::Compare(_, op, literal) => (*op, &literal.value),
        Node::Match {
            test,
            text,
            negated,
            ..
        } => return matching(*test, text, *negated, block),
        Node::All(_) | Node::Any(_) => return Ok(None),
    };
    let mut cx = Scratch::default();
    let found = match (&block.values, value) {
        (None, _) => return Ok(Some(Bitmap::filled(block.len, false))),
        (Some(AnyDecoder::Bits(decoder)), Value::Bit(value)) => {
            let bits = decoder.bits()?;
            let all = Bitmap::filled(bits.len(), true);
            match (holds(op, false.cmp(value)), holds(op, true.cmp(value))) {
                (false, false) => Some(Bitmap::filled(bits.len(), false)),
                (false, true) => Some(bits),
                (true, false) => Some(all.without(&bits)),
                (true, true) => Some(all),
            }
        }
        (Some(AnyDecoder::U8(decoder)), value) => {
            words(decoder.as_ref(), op, value, kind, &mut cx)?
        }
        (Some(AnyDecoder::U16(decoder)), value) => {
            words(decoder.as_ref(), op, value, kind, &mut cx)?
        }
        (Some(AnyDecoder::U32(decoder)), value) => {
            words(decoder.as_ref(), op, value, kind, &mut cx)?
        }
        (Some(AnyDecoder::U64(decoder)), value) => {
            words(decoder.as_ref(), op, value, kind, &mut cx)?
        }
        (Some(AnyDecoder::Bytes(decoder)), Value::Bytes(value)) => {
            let value = value.as_slice();
            let equal = |string: &[u8]| string == value;
            let other = |string: &[u8]| holds(op, string.cmp(value));
            let test = if op == Compare::Eq {
                StringTest {
                    passes: &equal,
                    bulk: Bulk::Equal(value),
                }
            } else {
                StringTest {
                    passes: &other,
                    bulk: Bulk::Each,
                }
            };
            Some(decoder.filter(&test, block.string_bytes, &mut cx)?)
        }
        _ => return Ok(None),
    };
    Ok(found.map(|found| block.of_rows(found)))
}

/// A test of text by its bytes; `None` where Arrow's kernel must say.
fn matching(test: Test, text: &[u8], negated: bool, block: &Block<'_>) -> Result<Option<Bitmap>> {
    let decoder = match &block.values {
        None => return Ok(Some(Bitmap::filled(block.len, false))),
        Some(AnyDecoder::Bytes(decoder)) => decoder,
        Some(_) => return Ok(None),
    };
    let (finder, mut cx) = (Finder::new(text), Scratch::default());
    let starts = |string: &[u8]| string.starts_with(text) != negated;
    let contains = |string: &[u8]| finder.find(string).is_some() != negated;
    let test = match test {
        Test::StartsWith => StringTest {
            passes: &starts,
            bulk: Bulk::Begin(text, negated),
        },
        Test::Contains => StringTest {
            passes: &contains,
            bulk: Bulk::Contain(&finder, negated),
        },
        Test::Like => return Ok(None),
    };
    let found = decoder.filter(&test, block.string_bytes, &mut cx)?;
    Ok(Some(block.of_rows(found)))
}

/// A comparison of words with a value; `None` where it is not one of their kind.
fn words<T: Integer>(
    decoder: &dyn Decoder<T>,
    op: Compare,
    value: &Value,
    kind: Kind,
    cx: &mut Scratch,
) -> Result<Option<Bitmap>> {
    let word = match (value, kind, T::BYTES) {
        (Value::Int(value), Kind::Signed | Kind::Unsigned, _) => value.as_i128() as u64,
        (Value::Float(value), Kind::Float, 2) => Half::from_f64(*value).to_bits().into(),
        (Value::Float(value), Kind::Float, 4) => (*value as f32).to_bits().into(),
        (Value::Float(value), Kind::Float, 8) => value.to_bits(),
        _ => return Ok(None),
    };
    decoder
        .filter(&decode::Range::of(op, T::from_u64(word), kind), cx)
        .map(Some)
}

/// Whether a comparison holds, of values that stand in this order.
fn holds(op: Compare, order: Ordering) -> bool {
    match op {
        Compare::Eq => order.is_eq(),
        Compare::NotEq => order.is_ne(),
        Compare::Lt => order.is_lt(),
        Compare::LtEq => order.is_le(),
        Compare::Gt => order.is_gt(),
        Compare::GtEq => order.is_ge(),
    }
}
