//! Shredding: a record batch to leaf arrays.
//!
//! Words, contents of strings and dictionaries are not copied. Of sliced arrays only the rows of the
//! batch are kept. Items are stored list after list: where NULL lists have items, or views overlap or
//! are out of order, the rows to take are computed once per list and passed down, so that each leaf
//! below is taken once at any depth.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Int16Type, Int32Type, Int64Type, RunEndIndexType,
};
use arrow_array::{Array, ArrowNativeTypeOp, RecordBatch, RunArray, downcast_integer};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_schema::{DataType, Field, Fields};
use arrow_select::dictionary::garbage_collect_any_dictionary;

use super::build::Mask;
use super::layout::{Layout, MOST_ITEMS, Node};
use super::shred_leaf::{values, words};
use super::shred_level::Level;
use super::shred_list::{Plan, each, too_many_items};
use crate::error::{Error, Result};
use crate::values::{Bitmap, LeafArray, LeafValues};

/// The leaves of a batch, in the order of `layout`, which must be its schema's.
///
/// A field that is not nullable, at any level, with a NULL that no NULL above hides is refused by
/// its path.
pub(crate) fn shred(batch: &RecordBatch, layout: &Layout) -> Result<Vec<LeafArray>> {
    shred_columns(batch, layout, 0..layout.fields.len())
}

/// As [`shred`], of a batch that has only these columns of the schema.
pub(crate) fn shred_columns(
    batch: &RecordBatch,
    layout: &Layout,
    columns: Range<usize>,
) -> Result<Vec<LeafArray>> {
    let mut shredder = Shredder::new(layout);
    shredder.first = layout.leaves_of(columns.start).start;
    let nodes = layout.fields.get(columns).unwrap_or_default();
    if batch.num_columns() != nodes.len() {
        return Err(Error::invalid(format!(
            "{} columns expected, found {}",
            nodes.len(),
            batch.num_columns()
        )));
    }
    let columns = batch.schema_ref().fields().iter().zip(batch.columns());
    for ((field, array), node) in columns.zip(nodes) {
        let level = Level::top(field.is_nullable(), None);
        shredder.node(node, array.as_ref(), field.name(), &level)?;
    }
    Ok(shredder.out)
}

/// The leaves of rows `rows` of the only column of `layout`; the array has all these rows.
pub(super) fn shred_rows(
    field: &Field,
    array: &dyn Array,
    layout: &Layout,
    rows: &[u32],
) -> Result<Vec<LeafArray>> {
    let mut shredder = Shredder::new(layout);
    let level = Level::top(field.is_nullable(), Some(rows));
    for node in &layout.fields {
        shredder.node(node, array, field.name(), &level)?;
    }
    Ok(shredder.out)
}

struct Shredder<'a> {
    layout: &'a Layout,
    /// The leaf that is the first of `out`.
    first: usize,
    out: Vec<LeafArray>,
}

impl<'a> Shredder<'a> {
    fn new(layout: &'a Layout) -> Self {
        let (first, out) = (0, Vec::new());
        Self { layout, first, out }
    }

    fn node(
        &mut self,
        node: &Node,
        array: &dyn Array,
        path: &str,
        level: &Level<'_>,
    ) -> Result<()> {
        Self::refuse_nulls(array, path, level)?;
        match (node, array.data_type()) {
            (Node::Null, DataType::Null) if level.rows(array) <= MOST_ITEMS => Ok(()),
            (Node::Null, DataType::Null) => Err(too_many_items()),
            (Node::Leaf(leaf), ty) => {
                let values = values(array, ty, self.layout.ty(*leaf), level);
                let values = values.map_err(|e| self.within(*leaf, e))?;
                self.push(*leaf, level.nulls(array.nulls()), values)
            }
            (
                Node::List { lengths, item },
                DataType::List(field)
                | DataType::LargeList(field)
                | DataType::ListView(field)
                | DataType::LargeListView(field)
                | DataType::Map(field, _),
            ) => self.list(*lengths, item, array, field, level),
            (
                Node::FixedList {
                    validity,
                    size,
                    item,
                },
                DataType::FixedSizeList(field, _),
            ) => self.fixed_list((*validity, *size), item, array, field, level),
            (Node::Struct { validity, children }, DataType::Struct(fields)) => {
                self.structs(*validity, children, array, fields, level)
            }
            (Node::Dictionary { codes, values }, DataType::Dictionary(key, _)) => {
                macro_rules! of {
                    ($key:ty) => {
                        self.dictionary::<$key>(*codes, values, array, level)
                    };
                }
                downcast_integer! {
                    key.as_ref() => (of),
                    _ => Err(self.mismatch(*codes, array))
                }
            }
            (Node::RunEnd { ends, values }, DataType::RunEndEncoded(index, _)) => {
                match index.data_type() {
                    DataType::Int16 => self.runs::<Int16Type>(*ends, values, array, level),
                    DataType::Int32 => self.runs::<Int32Type>(*ends, values, array, level),
                    DataType::Int64 => self.runs::<Int64Type>(*ends, values, array, level),
                    _ => Err(self.mismatch(*ends, array)),
                }
            }
            (_, ty) => Err(Error::invalid(format!(
                "column {path:?} is {ty}, which is not what the schema says"
            ))),
        }
    }

    fn mismatch(&self, leaf: usize, array: &dyn Array) -> Error {
        let path = self.layout.path(leaf);
        Error::invalid(format!(
            "column {path:?} is {}, which is not what the schema says",
            array.data_type()
        ))
    }

    /// Adds the path of a leaf to an error.
    fn within(&self, leaf: usize, error: Error) -> Error {
        error.at(|place| place.column = Some(self.layout.path(leaf).to_owned()))
    }

    fn push(&mut self, leaf: usize, nulls: Option<NullBuffer>, values: LeafValues) -> Result<()> {
        if leaf != self.first + self.out.len() {
            return Err(Error::invalid("the layout is of another schema"));
        }
        let bits =
            |nulls: NullBuffer| Bitmap::from_bytes(nulls.validity(), nulls.offset(), nulls.len());
        self.out.push(LeafArray {
            validity: nulls.map(bits),
            values,
        });
        Ok(())
    }

    /// Where there must be none, refuses the first NULL that no NULL above hides, by path and row.
    fn refuse_nulls(array: &dyn Array, path: &str, level: &Level<'_>) -> Result<()> {
        let no_null_runs = matches!(array.data_type(), DataType::RunEndEncoded(_, values) if !values.is_nullable());
        if level.nullable && !no_null_runs || !array.is_nullable() {
            return Ok(());
        }
        let Some(nulls) = level.nulls(array.logical_nulls().as_ref()) else {
            return Ok(());
        };
        let shown = |row: &usize| nulls.is_null(*row) && !level.above.hides(*row);
        match (0..nulls.len()).find(shown) {
            Some(row) => Err(Error::invalid(format!(
                "column {path:?} is not nullable, but row {row} of it is NULL"
            ))),
            None => Ok(()),
        }
    }

    fn list(
        &mut self,
        leaf: usize,
        item: &Node,
        array: &dyn Array,
        field: &Field,
        level: &Level<'_>,
    ) -> Result<()> {
        let nulls = level.nulls(array.nulls());
        let found = Plan::of(array, level.picks, nulls.as_ref());
        let found = found.map_err(|e| self.within(leaf, e))?;
        let (items, plan) = found.ok_or_else(|| self.mismatch(leaf, array))?;
        self.push(leaf, nulls, plan.lengths)?;
        let below = Level {
            in_list: true,
            ..Level::top(field.is_nullable(), plan.picks.as_deref())
        };
        let items = match plan.picks {
            None => items.slice(plan.start, plan.items),
            Some(_) => items,
        };
        let path = format!("{}[]", self.layout.path(leaf));
        self.node(item, items.as_ref(), &path, &below)
    }

    fn fixed_list(
        &mut self,
        (leaf, size): (usize, usize),
        item: &Node,
        array: &dyn Array,
        field: &Field,
        level: &Level<'_>,
    ) -> Result<()> {
        let list = array.as_fixed_size_list_opt();
        let list = list.ok_or_else(|| self.mismatch(leaf, array))?;
        let nulls = level.nulls(list.nulls());
        self.push(leaf, nulls.clone(), LeafValues::Empty(level.rows(list)))?;
        let picks = level.picks.map(|picks| each(picks, size)).transpose()?;
        let below = Level {
            above: Mask::below(&level.above, nulls.as_ref(), size),
            ..Level::top(field.is_nullable(), picks.as_deref())
        };
        let path = format!("{}[]", self.layout.path(leaf));
        self.node(item, list.values().as_ref(), &path, &below)
    }

    fn structs(
        &mut self,
        leaf: usize,
        children: &[Node],
        array: &dyn Array,
        fields: &Fields,
        level: &Level<'_>,
    ) -> Result<()> {
        let structs = array.as_struct_opt();
        let structs = structs.filter(|_| children.len() == fields.len());
        let structs = structs.ok_or_else(|| self.mismatch(leaf, array))?;
        let nulls = level.nulls(array.nulls());
        self.push(leaf, nulls.clone(), LeafValues::Empty(level.rows(array)))?;
        let above = Mask::below(&level.above, nulls.as_ref(), 1);
        for ((child, field), array) in children.iter().zip(fields).zip(structs.columns()) {
            let below = Level {
                above,
                ..Level::top(field.is_nullable(), level.picks)
            };
            let path = format!("{}.{}", self.layout.path(leaf), field.name());
            self.node(child, array.as_ref(), &path, &below)?;
        }
        Ok(())
    }

    fn dictionary<K: ArrowDictionaryKeyType>(
        &mut self,
        leaf: usize,
        node: &Node,
        array: &dyn Array,
        level: &Level<'_>,
    ) -> Result<()> {
        let mismatch = || self.mismatch(leaf, array);
        let collected;
        let mut dictionary = array.as_dictionary_opt::<K>().ok_or_else(mismatch)?;
        if level.in_list && !level.nullable && dictionary.values().is_nullable() {
            // Arrow refuses a NULL in the dictionary here, used or not: keep only the values in use.
            collected = garbage_collect_any_dictionary(dictionary)?;
            dictionary = collected.as_dictionary_opt::<K>().ok_or_else(mismatch)?;
        }
        let keys = dictionary.keys();
        let width = size_of::<K::Native>();
        let codes = words(keys.values().inner(), width, level.picks)?;
        let ty = self.layout.ty(leaf);
        let ty = ty.filter(|ty| ty.width_bytes() == Some(width));
        let codes = LeafValues::Words(ty.ok_or_else(mismatch)?, codes);
        self.push(leaf, level.nulls(keys.nulls()), codes)?;
        let below = level.values(None);
        let path = format!("{}{{values}}", self.layout.path(leaf));
        self.node(node, dictionary.values().as_ref(), &path, &below)
    }

    fn runs<R: RunEndIndexType>(
        &mut self,
        leaf: usize,
        node: &Node,
        array: &dyn Array,
        level: &Level<'_>,
    ) -> Result<()> {
        let mismatch = || self.mismatch(leaf, array);
        let runs = array.as_run_opt::<R>().ok_or_else(mismatch)?;
        let (values, ends, picks) = match level.picks {
            None => (
                runs.values_slice(),
                runs.run_ends().sliced_values().collect::<Vec<_>>(),
                None,
            ),
            Some(rows) => {
                let picked = picked_runs(runs, rows);
                let (ends, picks) = picked.map_err(|e| self.within(leaf, e))?;
                (runs.values().clone(), ends, Some(picks))
            }
        };
        let ty = self.layout.ty(leaf).ok_or_else(mismatch)?;
        if level.rows(array) > MOST_ITEMS {
            return Err(too_many_items());
        }
        self.push(leaf, None, LeafValues::Words(ty, Buffer::from_vec(ends)))?;
        let below = level.values(picks.as_deref());
        let path = format!("{}{{values}}", self.layout.path(leaf));
        self.node(node, values.as_ref(), &path, &below)
    }
}

/// Ends of the runs of `rows`, and the run of each.
fn picked_runs<R: RunEndIndexType>(
    runs: &RunArray<R>,
    rows: &[u32],
) -> Result<(Vec<R::Native>, Vec<u32>)> {
    let (mut ends, mut picks): (Vec<R::Native>, Vec<u32>) = (Vec::new(), Vec::new());
    for (i, run) in runs.get_physical_indices(rows)?.into_iter().enumerate() {
        let end = R::Native::from_usize(i + 1).ok_or_else(|| {
            let (most, wanted) = (R::Native::MAX_TOTAL_ORDER, rows.len());
            Error::limit(format!(
                "run ends of at most {most:?} are possible, {wanted} rows are wanted"
            ))
        })?;
        match (picks.last(), ends.last_mut()) {
            (Some(&last), Some(last_end)) if last as usize == run => *last_end = end,
            _ => {
                picks.push(run as u32);
                ends.push(end);
            }
        }
    }
    Ok((ends, picks))
}
