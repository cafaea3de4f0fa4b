//! What was asked for single columns by name: checked before a byte is written.

use arrow_schema::Schema;

use super::WriteOptions;
use super::rounding::Rounding;
use crate::arrow::{Layout, Leaf, unknown_column};
use crate::encode::Profile;
use crate::encodings::POOL;
use crate::error::{Error, Result};
use crate::values::{Kind, PhysicalType};

/// What was asked for a leaf.
#[derive(Debug, Clone)]
pub(crate) struct ColumnPlan {
    /// The encoding, where one was.
    pub encoding: Option<String>,
    /// What the chooser weighs.
    pub profile: Profile,
    /// To what its floats are rounded.
    pub rounding: Option<Rounding>,
}

/// What the options ask for each leaf; and how the floats of each column are rounded.
pub(crate) fn asked(
    options: &WriteOptions,
    layout: &Layout,
    schema: &Schema,
) -> Result<(Vec<ColumnPlan>, Vec<Option<Rounding>>)> {
    let any = ColumnPlan {
        encoding: None,
        profile: options.profile,
        rounding: None,
    };
    let mut asked = vec![any; layout.leaves().len()];
    let mut roundings = vec![None; schema.fields().len()];
    for (path, name) in &options.encodings {
        let leaf = find_leaf(layout, schema, path)?;
        check_encoding(path, name, layout.leaves().get(leaf))?;
        asked
            .iter_mut()
            .skip(leaf)
            .take(1)
            .for_each(|asked| asked.encoding = Some(name.clone()));
    }
    for (path, profile) in &options.profiles {
        let leaves = match schema
            .fields()
            .iter()
            .position(|field| field.name() == path)
        {
            Some(column) => layout.leaves_of(column),
            None => find_leaf(layout, schema, path).map(|leaf| leaf..leaf + 1)?,
        };
        asked
            .iter_mut()
            .take(leaves.end)
            .skip(leaves.start)
            .for_each(|asked| asked.profile = *profile);
    }
    for (path, bound) in &options.max_errors {
        let (column, rounding) = rounding(layout, schema, path, *bound)?;
        for (asked, leaf) in asked
            .iter_mut()
            .zip(layout.leaves())
            .filter(|(_, leaf)| leaf.column == column)
        {
            asked.rounding = Some(rounding).filter(|_| leaf.kind == Kind::Float);
        }
        roundings
            .iter_mut()
            .skip(column)
            .take(1)
            .for_each(|place| *place = Some(rounding));
    }
    Ok((asked, roundings))
}

fn check_encoding(path: &str, name: &str, leaf: Option<&Leaf>) -> Result<()> {
    let encoding = POOL.by_name(name)?;
    if encoding.info().needs_reference {
        return Err(Error::invalid(format!(
            "column {path:?}: {name} is in terms of another column and is chosen where it is smaller, not by name"
        )));
    }
    let form = leaf.and_then(|leaf| Some((leaf.ty?, leaf.kind)));
    if form.is_some_and(|(ty, kind)| encoding.accepts(ty, kind)) {
        return Ok(());
    }
    let able = form
        .map(|(ty, kind)| POOL.accepting(ty, kind))
        .unwrap_or_default();
    Err(Error::invalid(format!(
        "encoding {name} cannot hold column {path:?}; these can: {}",
        able.join(", ")
    )))
}

/// The column that a path names, and how its floats are rounded: all of them alike.
fn rounding(layout: &Layout, schema: &Schema, path: &str, bound: f64) -> Result<(usize, Rounding)> {
    let column = match schema
        .fields()
        .iter()
        .position(|field| field.name() == path)
    {
        Some(column) => column,
        None => find_leaf(layout, schema, path)
            .map(|leaf| layout.leaves().get(leaf).map_or(0, |leaf| leaf.column))?,
    };
    let floats = layout
        .leaves_of(column)
        .filter_map(|i| layout.leaves().get(i))
        .filter(|l| l.kind == Kind::Float);
    let floats: Vec<&Leaf> = floats.collect();
    let name = schema
        .fields()
        .get(column)
        .map_or(path, |field| field.name());
    let refused = |what: String| {
        Err(Error::invalid(format!(
            "column {path:?}: a bound on the error {what}"
        )))
    };
    if name != path && !matches!(floats.as_slice(), [only] if only.path == path) {
        return refused(format!("is for all floats of a column: name {name:?}"));
    }
    if floats.is_empty()
        || !floats
            .iter()
            .all(|l| matches!(l.ty, Some(PhysicalType::U32 | PhysicalType::U64)))
    {
        return refused("is for floats of 32 and 64 bits".to_owned());
    }
    match Rounding::within(bound) {
        Some(rounding) => Ok((column, rounding)),
        None => refused(format!("must be a positive number, found {bound}")),
    }
}

fn find_leaf(layout: &Layout, schema: &Schema, path: &str) -> Result<usize> {
    if let Some(leaf) = layout.leaves().iter().position(|leaf| leaf.path == path) {
        return Ok(leaf);
    }
    let Some(column) = schema
        .fields()
        .iter()
        .position(|field| field.name() == path)
    else {
        return Err(unknown_column(path, schema));
    };
    let own: Vec<&str> = layout
        .leaves_of(column)
        .filter_map(|i| layout.leaves().get(i))
        .map(|leaf| leaf.path.as_str())
        .collect();
    Err(Error::invalid(format!(
        "column {path:?} has several parts, name one of them: {}",
        own.join(", ")
    )))
}
