//! `head`: the first rows.

use std::path::PathBuf;

use crate::dataset::Dataset;
use crate::error::Result;
use crate::formats::ReadOptions;
use crate::formats::scan::{ScanOptions, SelectOptions};
use crate::print::{PrintOptions, print_batches};
use crate::terminal::progress::Meter;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  staffa head trips.staffa
  staffa head trips.staffa -n 3 --columns id,price --where 'price is not null'
  staffa head trips.parquet --json")]
pub(crate) struct Args {
    /// Any files that `convert` reads, folders and wildcards allowed
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Number of rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    rows: u64,
    #[command(flatten)]
    print: PrintOptions,
    #[command(flatten)]
    select: SelectOptions,
    #[command(flatten)]
    read: ReadOptions,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut options = ScanOptions::new(&args.select)?;
    options.limit = Some(args.rows);
    let dataset = Dataset::open(&args.files, &args.read)?;
    let (schema, batches) = dataset.scan(&options, &Meter::default())?;
    print_batches(&schema, batches, args.print, &args.read.csv_null)
}
