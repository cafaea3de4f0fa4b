//! `cat`: all rows.

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
  staffa cat trips.staffa --format csv > trips.csv
  staffa cat 'trips/*.staffa' --json --columns id,price | jq .price
  staffa cat trips.staffa --format arrow | python3 -c 'import pyarrow as pa, sys; print(pa.ipc.open_stream(sys.stdin.buffer).read_all())'")]
pub(crate) struct Args {
    /// Any files that `convert` reads, folders and wildcards allowed
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Maximum number of rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    print: PrintOptions,
    #[command(flatten)]
    select: SelectOptions,
    #[command(flatten)]
    read: ReadOptions,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut options = ScanOptions::new(&args.select)?;
    options.limit = args.limit;
    let dataset = Dataset::open(&args.files, &args.read)?;
    let (schema, batches) = dataset.scan(&options, &Meter::default())?;
    print_batches(&schema, batches, args.print, &args.read.csv_null)
}
