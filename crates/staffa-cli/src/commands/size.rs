//! `size`: the bytes of each column, the largest first.

use std::cmp::Reverse;
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};
use staffa::{File, Inspection};

use super::as_staffa::{self, MadeOf};
use crate::error::{Failure, Result};
use crate::formats::{Format, ReadOptions};
use crate::print::{print_json, standard_output};
use crate::terminal::text::Align::{Left, Right};
use crate::terminal::text::{bar, bytes, counted, grid, percent, printable, ratio, smaller};

/// Characters of the longest bar.
const BAR: usize = 24;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  staffa size trips.staffa\n  staffa size trips.parquet\n  staffa size trips.staffa --json | jq '.columns[0]'"
)]
pub(crate) struct Args {
    /// A Staffa file, or any other that `convert` reads, folders and wildcards allowed: it is
    /// measured as Staffa; `-` is the standard input (with --from)
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadOptions,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let opened = as_staffa::open(&args.file, &args.read, args.json)?;
    let file = &opened.file;
    let inspection = file
        .inspect()
        .map_err(|error| Failure::staffa(&args.file, error))?;
    let sizes = Sizes::new(file, &inspection);
    if args.json {
        let mut value = sizes.describe(args, &inspection);
        if let (Some(made_of), Some(fields)) = (opened.made_of, value.as_object_mut()) {
            fields.insert("format".into(), made_of.format.name().into());
            fields.insert("original_bytes".into(), made_of.bytes.into());
        }
        return print_json(&value);
    }
    let mut out = standard_output();
    if let Some(MadeOf {
        format,
        bytes: Some(original),
    }) = opened.made_of
    {
        let (what, as_staffa) = match format {
            Format::Staffa => ("in several Staffa files".to_owned(), "in one"),
            other => (format!("as {}", other.name()), "as Staffa"),
        };
        writeln!(
            out,
            "{}: {} {what}, {} {as_staffa} ({})\n",
            args.file.display(),
            bytes(original),
            bytes(inspection.file_bytes),
            smaller(original, inspection.file_bytes)
        )?;
    }
    writeln!(
        out,
        "{}: {}, {} in the file, {} decoded ({})\n",
        args.file.display(),
        counted(inspection.rows, "row"),
        bytes(inspection.file_bytes),
        bytes(sizes.decoded),
        smaller(sizes.decoded, inspection.file_bytes)
    )?;
    let align = [Left, Right, Right, Right, Right, Left];
    grid(&mut out, &align, &sizes.rows(inspection.file_bytes))?;
    Ok(out.flush()?)
}

struct Sizes {
    columns: Vec<ColumnSize>,
    decoded: u64,
    /// Header and footer.
    other: u64,
}

struct ColumnSize {
    name: String,
    bytes: u64,
    decoded: u64,
    data_type: String,
}

impl Sizes {
    fn new(file: &File, inspection: &Inspection) -> Self {
        let fields = file.schema().fields().iter();
        let mut columns: Vec<ColumnSize> = fields
            .map(|field| {
                // A nested column is the sum of its leaves.
                let leaves = inspection.columns.iter();
                let leaves = leaves.filter(|leaf| leaf.column == *field.name());
                ColumnSize {
                    name: field.name().clone(),
                    bytes: leaves.clone().map(|leaf| leaf.bytes).sum(),
                    decoded: leaves.map(|leaf| leaf.decoded_bytes).sum(),
                    data_type: field.data_type().to_string(),
                }
            })
            .collect();
        columns.sort_by_key(|column| Reverse(column.bytes));
        let encoded: u64 = columns.iter().map(|column| column.bytes).sum();
        Self {
            decoded: columns.iter().map(|column| column.decoded).sum(),
            other: inspection.file_bytes.saturating_sub(encoded),
            columns,
        }
    }

    fn describe(&self, args: &Args, inspection: &Inspection) -> Value {
        let columns = self.columns.iter().map(|column| {
            json!({
                "column": column.name,
                "type": column.data_type,
                "bytes": column.bytes,
                "decoded_bytes": column.decoded,
            })
        });
        json!({
            "path": args.file.display().to_string(),
            "rows": inspection.rows,
            "file_bytes": inspection.file_bytes,
            "decoded_bytes": self.decoded,
            "columns": columns.collect::<Vec<_>>(),
            "other_bytes": self.other,
        })
    }

    fn rows(&self, file_bytes: u64) -> Vec<Vec<String>> {
        let header = ["column", "bytes", "of file", "decoded", "smaller", ""];
        let first = self.columns.first().map_or(0, |column| column.bytes);
        let largest = first.max(self.other);
        let row = |name: &str, size: u64, decoded: Option<u64>| {
            vec![
                printable(name),
                bytes(size),
                percent(size, file_bytes),
                decoded.map_or_else(String::new, bytes),
                decoded.map_or_else(String::new, |decoded| ratio(decoded, size)),
                bar(size, largest, BAR),
            ]
        };
        let mut rows = vec![header.map(String::from).to_vec()];
        rows.extend(self.columns.iter().map(|column| {
            let decoded = Some(column.decoded).filter(|decoded| *decoded > 0);
            row(&column.name, column.bytes, decoded)
        }));
        rows.push(row("(header and footer)", self.other, None));
        rows
    }
}
