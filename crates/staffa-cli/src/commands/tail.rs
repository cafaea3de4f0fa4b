//! `tail`: the last rows.

use std::collections::VecDeque;
use std::path::PathBuf;

use arrow_array::RecordBatch;

use crate::dataset::Dataset;
use crate::error::Result;
use crate::formats::ReadOptions;
use crate::formats::scan::{ScanOptions, SelectOptions};
use crate::print::{PrintOptions, print_batches};
use crate::terminal::progress::Meter;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  staffa tail trips.staffa
  staffa tail 'logs/*.csv' -n 3 --columns id,price --where 'price is not null'
  staffa tail trips.parquet --json")]
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
    let dataset = Dataset::open(&args.files, &args.read)?;
    if let Some(rows) = dataset
        .rows
        .filter(|_| options.filter.is_none() && dataset.can_skip())
    {
        options.skip = rows.saturating_sub(args.rows);
    }
    let (schema, batches) = dataset.scan(&options, &Meter::default())?;
    let mut last: VecDeque<RecordBatch> = VecDeque::new();
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        last.push_back(batch);
        // Without the first batch there must be enough.
        while let Some(first) = last.front().map(|batch| batch.num_rows() as u64)
            && rows - first >= args.rows
        {
            rows -= first;
            last.pop_front();
        }
    }
    if let Some(first) = last.front_mut() {
        let extra = usize::try_from(rows.saturating_sub(args.rows)).unwrap_or(usize::MAX);
        let extra = extra.min(first.num_rows());
        *first = first.slice(extra, first.num_rows() - extra);
    }
    let batches = last.into_iter().map(Ok);
    print_batches(&schema, Box::new(batches), args.print, &args.read.csv_null)
}
