//! The plan of a file: options and schema, checked before the first byte is written.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{Schema, SchemaRef};

use super::rounding::{self, Rounding};
use super::sort_order::SortCheck;
use super::{WriteOptions, at_mut};
use crate::arrow::{Layout, Leaf, unknown_column};
use crate::encode::Profile;
use crate::encodings::POOL;
use crate::encodings::edition::Edition;
use crate::error::{Error, Result};
use crate::format::{BitSet, MAX_BLOCK_ROWS, SortKey};
use crate::limits::Threads;
use crate::values::{Kind, PhysicalType};

/// What is settled before the first byte is written.
#[derive(Debug)]
pub(super) struct Plan {
    pub schema: SchemaRef,
    /// The schema of the file: the same, with the rounded floats marked.
    pub stored: SchemaRef,
    pub layout: Layout,
    pub options: WriteOptions,
    /// One per leaf.
    pub columns: Vec<ColumnPlan>,
    /// The declared order, checked batch by batch.
    pub sort_check: SortCheck,
    /// Encodings that the user excludes.
    pub excluded: BitSet,
    pub threads: Threads,
}

/// The options of a leaf.
#[derive(Debug, Clone)]
pub(super) struct ColumnPlan {
    pub requested_encoding: Option<String>,
    pub profile: Profile,
    pub rounding: Option<Rounding>,
}

impl Plan {
    pub(super) fn new(schema: SchemaRef, options: WriteOptions) -> Result<Self> {
        let rows = options.block_rows;
        if options.row_group_rows == 0 || !rows.is_power_of_two() || rows > MAX_BLOCK_ROWS as usize
        {
            return Err(Error::invalid(format!(
                "row groups of 1 row or more and blocks of a power of two up to {MAX_BLOCK_ROWS} values are possible, found {} and {rows}",
                options.row_group_rows
            )));
        }
        let layout = Layout::new(&schema)?;
        let (columns, roundings) = column_plans(&options, &layout, &schema)?;
        let rounded = |key: &SortKey| {
            let column = column_of(&schema, &key.column);
            column.is_some_and(|column| roundings.get(column).is_some_and(Option::is_some))
        };
        let mut keys = options.sort_order.iter().rev().skip(1);
        if let Some(key) = keys.find(|key| rounded(key)) {
            return Err(Error::invalid(format!(
                "sort order: column {:?}, whose floats are rounded, can only be the last key",
                key.column
            )));
        }
        let sort_check = SortCheck::new(&options.sort_order, &schema, &layout)?;
        let stored = Arc::new(rounding::mark(&schema, &roundings));
        let threads = Threads::new(options.threads)?;
        let mut excluded = POOL.excluded(&options.without)?;
        if let Some(edition) = options.edition {
            let outside = POOL.iter().map(|encoding| encoding.info().id);
            let outside = outside.filter(|id| !edition.contains(*id));
            outside.for_each(|id| excluded.insert(id));
        }
        Ok(Self {
            schema,
            stored,
            layout,
            options,
            columns,
            sort_check,
            excluded,
            threads,
        })
    }

    /// Refuses a batch of another schema and names the first column that differs; metadata may differ, and a
    /// column may be nullable as long as it has no NULL.
    pub(super) fn check(&self, batch: &RecordBatch) -> Result<()> {
        let (expected, found) = (&self.schema, batch.schema_ref());
        if expected.fields().len() != found.fields().len() {
            return Err(Error::invalid(format!(
                "batches of {} columns expected, found one of {}",
                expected.fields().len(),
                found.fields().len()
            )));
        }
        let columns = expected.fields().iter().zip(found.fields());
        for ((e, f), column) in columns.zip(batch.columns()) {
            if e.name() != f.name() || !e.data_type().equals_datatype(f.data_type()) {
                return Err(Error::invalid(format!(
                    "column {:?} of type {} expected, found {:?} of type {}",
                    e.name(),
                    e.data_type(),
                    f.name(),
                    f.data_type()
                )));
            }
            if !e.is_nullable() && column.null_count() > 0 {
                let row = (0..column.len()).find(|row| column.is_null(*row));
                return Err(Error::InvalidValue(format!(
                    "column {:?}: its schema declares it without NULLs, found one in row {} of a batch",
                    e.name(),
                    row.unwrap_or(0)
                )));
            }
        }
        Ok(())
    }
}

/// The plan of each leaf, and the rounding of each column.
fn column_plans(
    options: &WriteOptions,
    layout: &Layout,
    schema: &Schema,
) -> Result<(Vec<ColumnPlan>, Vec<Option<Rounding>>)> {
    let any = ColumnPlan {
        requested_encoding: None,
        profile: options.profile,
        rounding: None,
    };
    let mut plans = vec![any; layout.leaves().len()];
    let mut roundings = vec![None; schema.fields().len()];
    for (path, name) in &options.encodings {
        let (i, leaf) = find_leaf(layout, schema, path)?;
        check_encoding(path, name, leaf, options.edition)?;
        at_mut(&mut plans, i)?.requested_encoding = Some(name.clone());
    }
    for (path, profile) in &options.column_profiles {
        let leaves = match column_of(schema, path) {
            Some(column) => layout.leaves_of(column),
            None => find_leaf(layout, schema, path).map(|(leaf, _)| leaf..leaf + 1)?,
        };
        for leaf in leaves {
            at_mut(&mut plans, leaf)?.profile = *profile;
        }
    }
    for (path, bound) in &options.max_error {
        let (column, rounding) = rounding_of(layout, schema, path, *bound)?;
        for (plan, leaf) in plans.iter_mut().zip(layout.leaves()) {
            if leaf.column == column {
                plan.rounding = (leaf.kind == Kind::Float).then_some(rounding);
            }
        }
        *at_mut(&mut roundings, column)? = Some(rounding);
    }
    Ok((plans, roundings))
}

fn check_encoding(path: &str, name: &str, leaf: &Leaf, edition: Option<Edition>) -> Result<()> {
    let encoding = POOL.by_name(name)?;
    if let Some(edition) = edition.filter(|edition| !edition.contains(encoding.info().id)) {
        return Err(Error::invalid(format!(
            "column {path:?}: {name} is not in edition {edition}"
        )));
    }
    if encoding.info().needs_reference {
        return Err(Error::invalid(format!(
            "column {path:?}: {name} is for derived columns, chosen where it is smaller, not by name"
        )));
    }
    let able = match leaf.ty {
        Some(ty) if encoding.accepts(ty, leaf.kind) => return Ok(()),
        Some(ty) => POOL.accepting(ty, leaf.kind),
        None => Vec::new(),
    };
    Err(Error::invalid(format!(
        "encoding {name} cannot hold column {path:?}; these can: {}",
        able.join(", ")
    )))
}

/// The column of a path, and the rounding of its floats: the same for all of them.
fn rounding_of(
    layout: &Layout,
    schema: &Schema,
    path: &str,
    bound: f64,
) -> Result<(usize, Rounding)> {
    let column = match column_of(schema, path) {
        Some(column) => column,
        None => find_leaf(layout, schema, path)?.1.column,
    };
    let is_float = |leaf: &&Leaf| leaf.column == column && leaf.kind == Kind::Float;
    let floats: Vec<&Leaf> = layout.leaves().iter().filter(is_float).collect();
    let field = schema.fields().get(column);
    let name = field.map_or(path, |field| field.name());
    let refused = |what: String| {
        let what = format!("column {path:?}: a bound on the error {what}");
        Err(Error::invalid(what))
    };
    if name != path && !matches!(floats.as_slice(), [only] if *only.path == *path) {
        return refused(format!("is for all floats of a column: name {name:?}"));
    }
    let is_known = |leaf: &&Leaf| matches!(leaf.ty, Some(PhysicalType::U32 | PhysicalType::U64));
    if floats.is_empty() || !floats.iter().all(is_known) {
        return refused("is for floats of 32 and 64 bits".to_owned());
    }
    match Rounding::within(bound) {
        Some(rounding) => Ok((column, rounding)),
        None => refused(format!("must be a positive number, found {bound}")),
    }
}

/// The top-level column of this name.
fn column_of(schema: &Schema, name: &str) -> Option<usize> {
    schema
        .fields()
        .iter()
        .position(|field| field.name() == name)
}

fn find_leaf<'l>(layout: &'l Layout, schema: &Schema, path: &str) -> Result<(usize, &'l Leaf)> {
    let mut leaves = layout.leaves().iter().enumerate();
    if let Some(found) = leaves.find(|(_, leaf)| *leaf.path == *path) {
        return Ok(found);
    }
    let Some(column) = column_of(schema, path) else {
        return Err(unknown_column(path, schema));
    };
    let own = layout.leaves().iter().filter(|leaf| leaf.column == column);
    let own: Vec<&str> = own.map(|leaf| &*leaf.path).collect();
    Err(Error::invalid(format!(
        "column {path:?} has several parts, name one of them: {}",
        own.join(", ")
    )))
}
