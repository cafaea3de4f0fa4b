//! `inspect`: how a file is built. Row groups, then columns and their chunks, then blocks.

use std::io::Write;

use serde_json::json;
use staffa::{Inspection, LeafInfo};

use crate::cli::Inspect;
use crate::error::{Failure, Result};
use crate::terminal::text::Align::{Left, Right};
use crate::terminal::text::{bytes, counted, grid, number, printable, ratio, shortened};

/// Widest minimum or maximum.
const BOUND_WIDTH: usize = 24;

pub(super) fn run(args: &Inspect) -> Result<()> {
    let file = super::open_staffa(&args.file)?;
    let mut inspection = file
        .inspect()
        .map_err(|error| Failure::staffa(&args.file, error))?;
    inspection
        .columns
        .retain(|leaf| super::chosen(args.column.as_deref(), &leaf.column, &leaf.path));
    super::some_chosen(
        &file,
        args.column.as_deref(),
        !inspection.columns.is_empty(),
    )?;
    if args.json {
        let mut value = json!({"path": args.file.display().to_string()});
        if let (Some(out), serde_json::Value::Object(rest)) =
            (value.as_object_mut(), serde_json::to_value(&inspection)?)
        {
            out.extend(rest);
        }
        return super::print_json(&value);
    }
    let mut out = super::out();
    writeln!(
        out,
        "{}: {}, {}; format version {}, written by {}; blocks of {}, footer {}, column index {}",
        args.file.display(),
        counted(inspection.rows, "row"),
        bytes(inspection.file_bytes),
        inspection.format_version,
        printable(&inspection.writer),
        counted(u64::from(inspection.block_rows), "value"),
        bytes(inspection.footer_bytes),
        bytes(inspection.index_bytes)
    )?;
    row_groups(&mut out, &inspection)?;
    columns(&mut out, &inspection)?;
    if args.blocks || args.column.is_some() {
        for leaf in &inspection.columns {
            chunks(&mut out, leaf, args.blocks)?;
        }
    }
    Ok(out.flush()?)
}

fn row_groups(out: &mut dyn Write, inspection: &Inspection) -> Result<()> {
    let mut rows = vec![
        ["row group", "first row", "rows", "at byte", "bytes"]
            .map(String::from)
            .to_vec(),
    ];
    for (at, group) in inspection.row_groups.iter().enumerate() {
        rows.push(vec![
            at.to_string(),
            number(group.first_row),
            number(group.rows),
            number(group.offset),
            bytes(group.bytes),
        ]);
    }
    writeln!(out)?;
    Ok(grid(out, &[Right; 5], &rows)?)
}

fn columns(out: &mut dyn Write, inspection: &Inspection) -> Result<()> {
    let header = [
        "column", "type", "values", "NULLs", "chunks", "blocks", "bytes", "smaller", "min", "max",
    ];
    let mut rows = vec![header.map(String::from).to_vec()];
    for leaf in &inspection.columns {
        rows.push(vec![
            printable(&leaf.path),
            leaf.physical_type.clone(),
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
            bound(leaf.min.as_deref()),
            bound(leaf.max.as_deref()),
        ]);
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
    let mut rows = vec![
        ["part", "at byte", "bytes", "values", "NULLs", "min", "max"]
            .map(String::from)
            .to_vec(),
    ];
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
        if !blocks {
            continue;
        }
        for (at, part) in chunk.shared_parts.iter().enumerate() {
            let mut row = vec![
                format!("  shared part {at}"),
                number(part.offset),
                bytes(part.bytes),
            ];
            row.resize(7, String::new());
            rows.push(row);
        }
        for (at, block) in chunk.blocks.iter().enumerate() {
            rows.push(vec![
                format!("  block {at}"),
                number(block.offset),
                bytes(block.bytes),
                number(block.values),
                number(block.nulls),
                bound(block.min.as_deref()),
                bound(block.max.as_deref()),
            ]);
        }
    }
    Ok(grid(
        out,
        &[Left, Right, Right, Right, Right, Left, Left],
        &rows,
    )?)
}

fn bound(value: Option<&str>) -> String {
    value.map_or("-".into(), |text| shortened(&printable(text), BOUND_WIDTH))
}
