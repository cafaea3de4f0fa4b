//! Reports about a file, as JSON.

use serde::Serialize;
use serde_json::{Value, json};
use staffa::{ColumnExplain, ColumnWhy, EncodingTree, Error, File, Result};

/// The encoding trees, each with its one-line text.
pub(crate) fn explain(file: &File) -> Result<String> {
    let columns = file.explain()?;
    let columns = columns.iter().map(explain_with_text);
    to_json(&columns.collect::<Result<Vec<_>>>()?)
}

/// The estimates of the chooser; the chosen tree with its one-line text.
pub(crate) fn why(file: &File) -> Result<String> {
    let columns = file.why()?;
    let columns = columns.iter().map(why_with_text);
    to_json(&columns.collect::<Result<Vec<_>>>()?)
}

fn why_with_text(column: &ColumnWhy) -> Result<Value> {
    let mut value = serde_json::to_value(column).map_err(not_json)?;
    let chosen = column.chosen.as_ref().map(tree_with_text);
    value["chosen"] = chosen.transpose()?.into();
    Ok(value)
}

fn explain_with_text(column: &ColumnExplain) -> Result<Value> {
    let tree = tree_with_text;
    let mut value = serde_json::to_value(column).map_err(not_json)?;
    for (i, shared) in column.shared.iter().enumerate() {
        value["shared"][i]["tree"] = tree(&shared.tree)?;
    }
    for (i, block) in column.blocks.iter().enumerate() {
        value["blocks"][i]["validity"] = block.validity.as_ref().map(tree).transpose()?.into();
        value["blocks"][i]["values"] = block.values.as_ref().map(tree).transpose()?.into();
    }
    Ok(value)
}

fn tree_with_text(tree: &EncodingTree) -> Result<Value> {
    let mut value = serde_json::to_value(tree).map_err(not_json)?;
    value["text"] = json!(tree.to_string());
    Ok(value)
}

/// A report as JSON.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(not_json)
}

fn not_json(error: serde_json::Error) -> Error {
    Error::unsupported(format!("this report cannot be written as JSON: {error}"))
}
