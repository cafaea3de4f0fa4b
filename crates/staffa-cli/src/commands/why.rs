//! `explain --why`: what the chooser estimates for each encoding, and why it rejects others.

use std::io::Write;
use std::path::Path;

use serde_json::json;
use staffa::{ColumnWhy, Considered, File, RelationWhy, SharedWhy};

use super::ColumnOption;
use crate::error::{Failure, Result};
use crate::print::{print_json, standard_output};
use crate::terminal::text::Align::{Left, Right};
use crate::terminal::text::{bytes, counted, grid, printable};

pub(super) fn run(path: &Path, file: &File, column: &ColumnOption, json: bool) -> Result<()> {
    let mut columns = file.why().map_err(|error| Failure::staffa(path, error))?;
    column.select(&mut columns, file, |column| (&column.column, &column.path))?;
    if json {
        let path = path.display().to_string();
        return print_json(&json!({"path": path, "columns": columns}));
    }
    let mut out = standard_output();
    let rows = counted(file.num_rows(), "row");
    writeln!(out, "{}: {rows}", path.display())?;
    for column in &columns {
        print_column(&mut out, column)?;
    }
    Ok(out.flush()?)
}

fn print_column(out: &mut dyn Write, column: &ColumnWhy) -> Result<()> {
    let chosen = column
        .chosen
        .as_ref()
        .map_or_else(|| "only NULLs".to_owned(), ToString::to_string);
    writeln!(
        out,
        "\n{}: block {} of row group {}, {} of {}",
        printable(&column.path),
        column.block,
        column.row_group,
        bytes(column.bytes),
        bytes(column.plain_bytes)
    )?;
    writeln!(out, "  chosen: {chosen}")?;
    let rows: Vec<_> = column.considered.iter().map(considered_row).collect();
    grid(out, &[Left, Right, Left], &rows)?;
    if let Some(shared) = &column.shared {
        let dictionary = shared_dictionary(shared);
        writeln!(out, "  shared dictionary of row group 0: {dictionary}")?;
    }
    print_relations(out, &column.relations)
}

fn considered_row(considered: &Considered) -> Vec<String> {
    let estimate = considered.estimate.map_or_else(
        || "-".to_owned(),
        |estimate| format!("about {}", bytes(estimate)),
    );
    vec![
        format!("  {}", considered.encoding),
        estimate,
        considered.reason.unwrap_or_default().to_owned(),
    ]
}

fn shared_dictionary(shared: &SharedWhy) -> String {
    let outcome = if shared.taken {
        "used".to_owned()
    } else {
        format!("not used, {}", shared.reason)
    };
    match (shared.distinct, shared.alone, shared.shared) {
        (Some(distinct), Some(alone), Some(with)) => format!(
            "{outcome}: {}{} instead of {}, {}",
            if shared.encoded { "" } else { "about " },
            bytes(with),
            bytes(alone),
            counted(distinct, "distinct value")
        ),
        _ => outcome,
    }
}

/// The reference columns considered.
fn print_relations(out: &mut dyn Write, relations: &[RelationWhy]) -> Result<()> {
    if relations.is_empty() {
        let line = "  derived from other columns: none seems to make it smaller";
        return Ok(writeln!(out, "{line}")?);
    }
    writeln!(out, "  derived from other columns, in row group 0:")?;
    let row = |relation: &RelationWhy| {
        let what = match (relation.encoding, relation.validity) {
            (Some(encoding @ "equal"), _) | (Some(encoding), false) => encoding.to_owned(),
            (Some(encoding), true) => format!("{encoding}, with validity"),
            (None, _) => "validity".to_owned(),
        };
        let references: Vec<String> = relation.by.iter().map(|path| printable(path)).collect();
        let outcome = if relation.taken {
            "used"
        } else {
            relation.reason
        };
        vec![
            format!("    {what}: {}", references.join(", ")),
            format!(
                "{}{} instead of {}",
                if relation.encoded { "" } else { "about " },
                bytes(relation.derived),
                bytes(relation.alone)
            ),
            outcome.to_owned(),
        ]
    };
    let rows: Vec<_> = relations.iter().map(row).collect();
    Ok(grid(out, &[Left, Right, Left], &rows)?)
}
