//! `inspect`: the structure of a file: row groups, then columns with their chunks and blocks.

use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use staffa::{ChunkInfo, File, Inspection, LeafInfo};

use super::{ColumnOption, open_staffa};
use crate::error::{Failure, Result};
use crate::print::{print_json, standard_output};
use crate::report::{leaf_type, marked_bounds};
use crate::terminal::text::Align::{Left, Right};
use crate::terminal::text::{bytes, counted, grid, number, printable, ratio, shortened};

/// Widest minimum or maximum.
const BOUND_WIDTH: usize = 24;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Smallest and largest values are those of the zone maps: of floats without NaN (`staffa aggregate`
has NaN above all else); of text at most 16 bytes, marked ≥ and ≤ where they are cut off.

Examples:
  staffa inspect trips.staffa
  staffa inspect trips.staffa --column price --blocks
  staffa inspect trips.staffa --json | jq '.row_groups | length'")]
pub(crate) struct Args {
    /// A Staffa file
    file: PathBuf,
    #[command(flatten)]
    column: ColumnOption,
    /// List the blocks of each column chunk
    #[arg(long)]
    blocks: bool,
    /// Print JSON, with all blocks
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let file = open_staffa(&args.file)?;
    let mut inspection = file
        .inspect()
        .map_err(|error| Failure::staffa(&args.file, error))?;
    args.column.select(&mut inspection.columns, &file, |leaf| {
        (&leaf.column, &leaf.path)
    })?;
    if args.json {
        return print_json(&describe(args, &inspection)?);
    }
    let mut out = standard_output();
    writeln!(
        out,
        "{}: {}, {}; format version {}, written by {}; blocks of {}, footer {}, column index {}",
        args.file.display(),
        counted(inspection.rows, "row"),
        bytes(inspection.file_bytes),
        inspection.format_version,
        printable(&inspection.writer),
        counted(u64::from(inspection.block_rows()), "value"),
        bytes(inspection.footer_bytes),
        bytes(inspection.index_bytes)
    )?;
    for (key, value) in &inspection.metadata {
        writeln!(out, "{}: {}", printable(key), printable(value))?;
    }
    if !inspection.sort_order.is_empty() {
        let keys = inspection.sort_order.iter().map(ToString::to_string);
        let keys = keys.collect::<Vec<_>>().join(", ");
        writeln!(out, "sorted by {}", printable(&keys))?;
    }
    row_groups(&mut out, &inspection)?;
    columns(&mut out, &file, &inspection)?;
    if args.blocks || args.column.column.is_some() {
        for leaf in &inspection.columns {
            chunks(&mut out, leaf, args.blocks)?;
        }
    }
    Ok(out.flush()?)
}

fn describe(args: &Args, inspection: &Inspection) -> Result<Value> {
    let mut value = json!({"path": args.file.display().to_string()});
    let inspection = serde_json::to_value(inspection)?;
    let (Some(out), Value::Object(fields)) = (value.as_object_mut(), inspection) else {
        return Err(Failure::internal("an inspection is not a JSON object"));
    };
    out.extend(fields);
    Ok(value)
}

fn row_groups(out: &mut dyn Write, inspection: &Inspection) -> Result<()> {
    let mut rows = vec![
        ["row group", "first row", "rows", "at byte", "bytes"]
            .map(String::from)
            .to_vec(),
    ];
    for (index, group) in inspection.row_groups.iter().enumerate() {
        rows.push(vec![
            index.to_string(),
            number(group.first_row),
            number(group.rows),
            number(group.offset),
            bytes(group.bytes),
        ]);
    }
    writeln!(out)?;
    Ok(grid(out, &[Right; 5], &rows)?)
}

fn columns(out: &mut dyn Write, file: &File, inspection: &Inspection) -> Result<()> {
    let header = [
        "column", "type", "values", "NULLs", "chunks", "blocks", "bytes", "smaller", "min", "max",
    ];
    let mut rows = vec![header.map(String::from).to_vec()];
    for leaf in &inspection.columns {
        let mut row = vec![
            printable(&leaf.path),
            printable(&leaf_type(file, leaf)),
            number(leaf.values),
            number(leaf.nulls),
            leaf.chunks.len().to_string(),
            leaf.chunks
                .iter()
                .map(|chunk| chunk.blocks.len())
                .sum::<usize>()
                .to_string(),
            bytes(leaf.bytes),
            ratio(leaf.decoded_bytes, leaf.bytes),
        ];
        row.extend(bounds(leaf, leaf.min.as_deref(), leaf.max.as_deref()));
        rows.push(row);
    }
    writeln!(out)?;
    Ok(grid(
        out,
        &[
            Left, Left, Right, Right, Right, Right, Right, Right, Left, Left,
        ],
        &rows,
    )?)
}

fn chunks(out: &mut dyn Write, leaf: &LeafInfo, blocks: bool) -> Result<()> {
    writeln!(out, "\ncolumn {}", printable(&leaf.path))?;
    let header = ["part", "at byte", "bytes", "values", "NULLs", "min", "max"];
    let mut rows = vec![header.map(String::from).to_vec()];
    for chunk in &leaf.chunks {
        rows.push(vec![
            format!("chunk of row group {}", chunk.row_group),
            number(chunk.offset),
            bytes(chunk.bytes),
            number(chunk.values),
            number(chunk.nulls),
            String::new(),
            String::new(),
        ]);
        if blocks {
            rows.extend(chunk_parts(leaf, chunk));
        }
    }
    let align = [Left, Right, Right, Right, Right, Left, Left];
    Ok(grid(out, &align, &rows)?)
}

/// The rows of the shared dictionaries and blocks of a chunk.
fn chunk_parts(leaf: &LeafInfo, chunk: &ChunkInfo) -> Vec<Vec<String>> {
    let dictionaries = chunk.shared_parts.iter().enumerate().map(|(index, part)| {
        let mut row = vec![
            format!("  shared dictionary {index}"),
            number(part.offset),
            bytes(part.bytes),
        ];
        row.resize(7, String::new());
        row
    });
    let blocks = chunk.blocks.iter().enumerate().map(|(index, block)| {
        let mut row = vec![
            format!("  block {index}"),
            number(block.offset),
            bytes(block.bytes),
            number(block.values),
            number(block.nulls),
        ];
        row.extend(bounds(leaf, block.min.as_deref(), block.max.as_deref()));
        row
    });
    dictionaries.chain(blocks).collect()
}

/// The smallest and the largest value.
fn bounds(leaf: &LeafInfo, min: Option<&str>, max: Option<&str>) -> [String; 2] {
    marked_bounds(&leaf.physical_type, min, max)
        .map(|bound| bound.map_or("-".into(), |text| shortened(&printable(&text), BOUND_WIDTH)))
}
