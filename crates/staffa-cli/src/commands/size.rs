//! `size`: where the bytes of a file are, column by column, the largest first.

use std::io::Write;

use serde_json::json;

use crate::cli::Size;
use crate::error::{Failure, Result};
use crate::terminal::text::{Align, bar, bytes, counted, grid, percent, printable, ratio};

/// Characters of the longest bar.
const BAR: usize = 24;

struct Part {
    name: String,
    bytes: u64,
    decoded: u64,
    data_type: String,
}

pub(super) fn run(args: &Size) -> Result<()> {
    let file = super::open_staffa(&args.file)?;
    let inspection = file
        .inspect()
        .map_err(|error| Failure::staffa(&args.file, error))?;
    let schema = file.schema();
    // A nested column is the sum of its leaves.
    let mut parts: Vec<Part> = schema
        .fields()
        .iter()
        .map(|field| {
            let leaves = || {
                inspection
                    .columns
                    .iter()
                    .filter(|leaf| leaf.column == *field.name())
            };
            Part {
                name: field.name().clone(),
                bytes: leaves().map(|leaf| leaf.bytes).sum(),
                decoded: leaves().map(|leaf| leaf.decoded_bytes).sum(),
                data_type: field.data_type().to_string(),
            }
        })
        .collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    let columns: u64 = parts.iter().map(|part| part.bytes).sum();
    let decoded: u64 = parts.iter().map(|part| part.decoded).sum();
    let other = inspection.file_bytes.saturating_sub(columns);
    if args.json {
        let columns: Vec<_> = parts
            .iter()
            .map(|part| {
                json!({
                    "column": part.name,
                    "type": part.data_type,
                    "bytes": part.bytes,
                    "decoded_bytes": part.decoded,
                })
            })
            .collect();
        return super::print_json(&json!({
            "path": args.file.display().to_string(),
            "rows": inspection.rows,
            "file_bytes": inspection.file_bytes,
            "decoded_bytes": decoded,
            "columns": columns,
            "other_bytes": other,
        }));
    }
    let largest = parts.first().map_or(0, |part| part.bytes).max(other);
    let line = |name: String, size: u64, decoded: u64| {
        let decoded_shown = if decoded > 0 {
            bytes(decoded)
        } else {
            String::new()
        };
        let smaller = if decoded > 0 {
            ratio(decoded, size)
        } else {
            String::new()
        };
        let share = percent(size, inspection.file_bytes);
        vec![
            printable(&name),
            bytes(size),
            share,
            decoded_shown,
            smaller,
            bar(size, largest, BAR),
        ]
    };
    let mut rows = vec![
        ["column", "bytes", "of file", "decoded", "smaller", ""]
            .map(String::from)
            .to_vec(),
    ];
    rows.extend(
        parts
            .into_iter()
            .map(|part| line(part.name, part.bytes, part.decoded)),
    );
    rows.push(line("(header and footer)".into(), other, 0));
    let mut out = super::out();
    writeln!(
        out,
        "{}: {}, {} in the file, {} decoded ({})\n",
        args.file.display(),
        counted(inspection.rows, "row"),
        bytes(inspection.file_bytes),
        bytes(decoded),
        ratio(decoded, inspection.file_bytes)
    )?;
    let align = [
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ];
    grid(&mut out, &align, &rows)?;
    Ok(out.flush()?)
}
