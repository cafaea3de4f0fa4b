//! `explain`: the encodings of each column. Blocks with trees of the same shape are counted together;
//! the most common tree is drawn with the bytes of all its blocks.

use std::io::Write;
use std::path::PathBuf;

use serde_json::json;
use staffa::{BlockExplain, ColumnExplain, EncodingTree};

use super::{ColumnOption, open_staffa, why};
use crate::error::{Failure, Result};
use crate::print::{print_json, standard_output};
use crate::terminal::text::Align::{Left, Right};
use crate::terminal::text::{bytes, counted, grid, number, printable, smaller};
use crate::trees::{draw_tree, group_by_shape};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  staffa explain trips.staffa
  staffa explain trips.staffa --column price --blocks
  staffa explain trips.staffa --column price --why")]
pub(crate) struct Args {
    /// A Staffa file
    file: PathBuf,
    #[command(flatten)]
    column: ColumnOption,
    /// The encodings of each block, one block per line
    #[arg(long)]
    blocks: bool,
    /// Estimates for the first block of a column: every encoding, a shared dictionary, reference
    /// columns; and the reason against each rejected one
    #[arg(long, conflicts_with = "blocks")]
    why: bool,
    /// Print JSON, with all blocks
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let file = open_staffa(&args.file)?;
    if args.why {
        return why::run(&args.file, &file, &args.column, args.json);
    }
    let mut columns = file
        .explain()
        .map_err(|error| Failure::staffa(&args.file, error))?;
    args.column
        .select(&mut columns, &file, |column| (&column.column, &column.path))?;
    if args.json {
        return print_json(&json!({
            "path": args.file.display().to_string(),
            "rows": file.num_rows(),
            "columns": columns,
        }));
    }
    let mut out = standard_output();
    writeln!(
        out,
        "{}: {}",
        args.file.display(),
        counted(file.num_rows(), "row")
    )?;
    for column in &columns {
        writeln!(out)?;
        title(&mut out, column)?;
        if args.blocks {
            each_block(&mut out, column)?;
        } else {
            summary(&mut out, column)?;
        }
    }
    Ok(out.flush()?)
}

fn title(out: &mut dyn Write, column: &ColumnExplain) -> Result<()> {
    Ok(writeln!(
        out,
        "{}: {} in {}, decoded {} ({})",
        printable(&column.path),
        bytes(column.bytes),
        counted(column.blocks.len() as u64, "block"),
        bytes(column.decoded_bytes),
        smaller(column.decoded_bytes, column.bytes)
    )?)
}

fn summary(out: &mut dyn Write, column: &ColumnExplain) -> Result<()> {
    let shared: Vec<&EncodingTree> = column.shared.iter().map(|part| &part.tree).collect();
    draw_most_common(out, "shared", "dictionary", &shared)?;
    let values: Vec<&EncodingTree> = column
        .blocks
        .iter()
        .filter_map(|block| block.values.as_ref())
        .collect();
    draw_most_common(out, "values", "block", &values)?;
    let validity: Vec<&EncodingTree> = column
        .blocks
        .iter()
        .filter_map(|block| block.validity.as_ref())
        .collect();
    draw_most_common(out, "validity", "block", &validity)
}

fn draw_most_common(
    out: &mut dyn Write,
    what: &str,
    noun: &str,
    trees: &[&EncodingTree],
) -> Result<()> {
    let groups = group_by_shape(trees);
    let Some((first, others)) = groups.split_first() else {
        return Ok(());
    };
    let share = if others.is_empty() {
        counted(first.count, noun)
    } else {
        format!(
            "{} of {}",
            number(first.count),
            counted(trees.len() as u64, noun)
        )
    };
    let mut rows = Vec::new();
    draw_tree(&first.tree, "  ", "  ", &mut rows);
    if let Some(root) = rows.first_mut().and_then(|row| row.first_mut()) {
        *root = format!("  {what}: {}", root.trim_start());
    }
    if let Some(last) = rows.first_mut().and_then(|row| row.last_mut()) {
        *last = share;
    }
    grid(out, &[Left, Left, Right, Left], &rows)?;
    for other in others {
        writeln!(
            out,
            "  also {} in {}, {}",
            other.shape,
            counted(other.count, noun),
            bytes(other.tree.bytes)
        )?;
    }
    Ok(())
}

fn each_block(out: &mut dyn Write, column: &ColumnExplain) -> Result<()> {
    for part in &column.shared {
        writeln!(
            out,
            "  row group {} shared dictionary, {}: {}",
            part.row_group,
            bytes(part.bytes),
            part.tree
        )?;
    }
    let header = ["row group", "block", "rows", "bytes", "encodings"]
        .map(String::from)
        .to_vec();
    let lines = column.blocks.iter().map(|block| {
        vec![
            block.row_group.to_string(),
            block.block.to_string(),
            number(block.rows),
            bytes(block.bytes),
            trees(block),
        ]
    });
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(lines).collect();
    Ok(grid(out, &[Right, Right, Right, Right, Left], &rows)?)
}

fn trees(block: &BlockExplain) -> String {
    match (&block.values, &block.validity) {
        (Some(values), Some(validity)) => format!("{values}; validity: {validity}"),
        (Some(values), None) => values.to_string(),
        (None, Some(validity)) => format!("validity: {validity}"),
        (None, None) => "-".into(),
    }
}
