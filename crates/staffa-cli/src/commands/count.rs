//! `count`: the number of rows, from the footer if there is no filter.

use std::io::Write;
use std::path::PathBuf;

use arrow_schema::Schema;
use serde_json::json;
use staffa_lake::table::TableFile;

use crate::dataset::{Dataset, discover};
use crate::error::Result;
use crate::formats::ReadOptions;
use crate::formats::scan::{ScanOptions, SelectOptions};
use crate::print::{print_json, standard_output};
use crate::terminal::progress::Progress;
use crate::terminal::text::{Align, grid};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  staffa count trips.staffa
  staffa count 'trips/*.staffa' --where \"city = 'Oban' and price between 5 and 10\"")]
pub(crate) struct Args {
    /// Any files that `convert` reads, folders and wildcards allowed
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    select: SelectOptions,
    #[command(flatten)]
    read: ReadOptions,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let options = ScanOptions::new(&args.select)?;
    let found = discover(&args.files, &args.read)?;
    let mut counts = if options.filter.is_some() || args.read.skip_damaged {
        count_table(&found, args, &options)?
    } else {
        let count = |file: &TableFile| {
            let rows = count_all(file, args, &options)?;
            Ok((file.path().display().to_string(), rows))
        };
        found.iter().map(count).collect::<Result<Vec<_>>>()?
    };
    let total: u64 = counts.iter().map(|(_, rows)| rows).sum();
    if args.json {
        let files: Vec<_> = counts
            .iter()
            .map(|(path, rows)| json!({"path": path, "rows": rows}))
            .collect();
        return print_json(&json!({"files": files, "rows": total}));
    }
    let mut out = standard_output();
    if counts.len() == 1 {
        writeln!(out, "{total}")?;
    } else {
        counts.push(("total".into(), total));
        let rows: Vec<_> = counts
            .into_iter()
            .map(|(path, rows)| vec![rows.to_string(), path])
            .collect();
        grid(&mut out, &[Align::Right, Align::Left], &rows)?;
    }
    Ok(out.flush()?)
}

/// The rows of each file of a table: its columns are those of all files, and damaged ones are left out.
fn count_table(
    files: &[TableFile],
    args: &Args,
    options: &ScanOptions,
) -> Result<Vec<(String, u64)>> {
    let dataset = Dataset::of_files(files, &args.read)?;
    let progress = Progress::new(dataset.bytes, false);
    let options = with_narrowest_column(options, &dataset.schema);
    dataset.count(&options, &progress)
}

/// The rows of a file, whatever the columns of the others.
fn count_all(file: &TableFile, args: &Args, options: &ScanOptions) -> Result<u64> {
    let dataset = Dataset::of_files(std::slice::from_ref(file), &args.read)?;
    options.check(&dataset.schema)?;
    if let Some(rows) = dataset.rows {
        return Ok(rows);
    }
    let progress = Progress::new(dataset.bytes, false);
    let options = with_narrowest_column(options, &dataset.schema);
    let counts = dataset.count(&options, &progress)?;
    Ok(counts.into_iter().map(|(_, rows)| rows).sum())
}

/// One column is enough to count rows: the narrowest, if no columns are given.
fn with_narrowest_column(options: &ScanOptions, schema: &Schema) -> ScanOptions {
    let mut options = options.clone();
    if options.columns.is_none() {
        let narrowest = schema
            .fields()
            .iter()
            .min_by_key(|field| field.data_type().primitive_width().unwrap_or(usize::MAX));
        options.columns = narrowest.map(|field| vec![field.name().clone()]);
    }
    options
}
