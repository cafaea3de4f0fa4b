//! `append`: rows into new files of a table's folder.

use std::path::PathBuf;

use staffa_lake::table::{Append, Folder, TableOptions};

use super::say_written;
use super::write_options::StaffaOptions;
use crate::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::files::input::check_url;
use crate::formats::ReadOptions;
use crate::formats::column_names::{ColumnNames, column_names};
use crate::formats::scan::{ScanOptions, SelectOptions};
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "staffa append [OPTIONS] <FOLDER> <INPUT>...",
    after_help = "\
The columns of the inputs must be those of the table, in any order, of types that the table's
columns hold; keys of its folders, as in year=2026, are columns as well. The new files appear
together, under names that no other file has.

Examples:
  staffa append trips today.csv
  staffa append s3://bucket/trips/ today.parquet
  staffa append by_city trips.staffa --partition-by city"
)]
pub(crate) struct Args {
    /// The folder of a table, or the URL of one; it need not be there yet
    folder: PathBuf,
    /// Input files, folders and wildcards allowed; `-` is the standard input (with --from)
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Of a table without files: columns whose values name folders, and are not in the files
    #[arg(long, value_name = "A,B", value_parser = column_names)]
    partition_by: Vec<ColumnNames>,
    /// Print neither a progress bar nor a summary
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    select: SelectOptions,
    #[command(flatten)]
    staffa: StaffaOptions,
    #[command(flatten)]
    read: ReadOptions,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    check_url(&args.folder)?;
    let fail = |error| Failure::of_table(&args.folder, error);
    let folder = Folder::new(&args.folder).map_err(fail)?;
    let mut scan = ScanOptions::new(&args.select)?;
    scan.threads = args.staffa.threads();
    interrupt::catch();
    let dataset = Dataset::open(&args.inputs, &args.read)?;
    let progress = Progress::new(dataset.bytes, args.quiet);
    let (schema, batches) = dataset.scan(&scan, &progress.meter())?;
    let mut options = TableOptions::default();
    options.partition_by = args
        .partition_by
        .iter()
        .flat_map(|names| names.0.clone())
        .collect();
    options.options = args.staffa.to_write_options(false);
    let mut append = Append::to(&folder, &schema, options).map_err(fail)?;
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        append.write(&batch).map_err(fail)?;
        rows += batch.num_rows() as u64;
        progress.batch(&batch, rows, false);
        interrupt::check()?;
    }
    let written = interrupt::without_interruption(|| append.finish()).map_err(fail)?;
    progress.finish();
    if !args.quiet {
        say_written(&args.folder, "new row", &written);
    }
    Ok(())
}
