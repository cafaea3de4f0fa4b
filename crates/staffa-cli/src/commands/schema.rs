//! `schema`: the columns and their types.

use std::io::Write;
use std::path::PathBuf;

use arrow_schema::{DataType, Field};
use serde_json::{Map, Value, json};

use super::shown_paths;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::formats::ReadOptions;
use crate::print::{print_json, standard_output};
use crate::terminal::text::{Align, grid, printable};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  staffa schema trips.staffa\n  staffa schema trips.csv --json")]
pub(crate) struct Args {
    /// Any files that `convert` reads, folders and wildcards allowed
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadOptions,
}

/// Key of a field's metadata: the number of a type that this release does not know.
const UNKNOWN_TYPE: &str = "staffa.unknown_type";

pub(crate) fn run(args: &Args) -> Result<()> {
    let dataset = Dataset::open(&args.files, &args.read)?;
    let fields = dataset.schema.fields();
    if args.json {
        return print_json(&json!({
            "path": shown_paths(&args.files),
            "rows": dataset.rows,
            "fields": fields.iter().map(|field| describe(field)).collect::<Vec<_>>(),
            "metadata": dataset.schema.metadata(),
        }));
    }
    let mut rows = vec![["column", "type", "nullable"].map(String::from).to_vec()];
    for field in fields {
        list(field, 0, &mut rows);
    }
    let mut out = standard_output();
    grid(&mut out, &[Align::Left, Align::Left, Align::Left], &rows)?;
    Ok(out.flush()?)
}

/// Nested fields are indented below their parent; its type does not repeat them.
fn list(field: &Field, depth: usize, rows: &mut Vec<Vec<String>>) {
    let children = children(field.data_type());
    let data_type = match field.data_type() {
        DataType::Null if field.metadata().contains_key(UNKNOWN_TYPE) => {
            format!("unknown type {}", field.metadata()[UNKNOWN_TYPE])
        }
        DataType::Struct(_) => "Struct".to_string(),
        DataType::List(_) => "List".to_string(),
        DataType::LargeList(_) => "LargeList".to_string(),
        DataType::Map(..) => "Map".to_string(),
        other => other.to_string(),
    };
    rows.push(vec![
        format!("{}{}", "  ".repeat(depth), printable(field.name())),
        printable(&data_type),
        if field.is_nullable() { "yes" } else { "no" }.into(),
    ]);
    for child in children {
        list(child, depth + 1, rows);
    }
}

fn children(data_type: &DataType) -> Vec<&Field> {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(AsRef::as_ref).collect(),
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => vec![item],
        _ => Vec::new(),
    }
}

fn describe(field: &Field) -> Value {
    let mut out = Map::new();
    out.insert("name".into(), field.name().as_str().into());
    out.insert("type".into(), field.data_type().to_string().into());
    out.insert("nullable".into(), field.is_nullable().into());
    if !field.metadata().is_empty() {
        out.insert("metadata".into(), json!(field.metadata()));
    }
    let children: Vec<Value> = children(field.data_type())
        .into_iter()
        .map(describe)
        .collect();
    if !children.is_empty() {
        out.insert("children".into(), children.into());
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_fields_are_indented() {
        let point = Field::new_struct("at", vec![Field::new("x", DataType::Float64, false)], true);
        let mut rows = Vec::new();
        list(&point, 0, &mut rows);
        assert_eq!(rows, [["at", "Struct", "yes"], ["  x", "Float64", "no"]]);
        assert_eq!(describe(&point)["children"][0]["name"], "x");
    }
}
