//! `convert`: any format to any other, batch by batch.

use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::time::Instant;

use staffa_lake::table::TableFile;

use super::target::Target;
use super::write_batches;
use super::write_options::StaffaOptions;
use crate::dataset::{Dataset, discover};
use crate::error::{Failure, Result};
use crate::files::output::{is_stream, refuse_existing};
use crate::formats::scan::{ScanOptions, SelectOptions};
use crate::formats::{Format, ReadOptions};
use crate::terminal::progress::{Progress, duration};
use crate::terminal::{interrupt, text};

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "staffa convert [OPTIONS] <INPUT>... <OUTPUT>",
    after_help = "\
Formats, by file ending:
  .staffa                Staffa
  .parquet .pq           Parquet
  .csv .tsv              CSV
  .jsonl .ndjson .json   JSON lines, one object per line
  .arrow .feather .ipc   Arrow IPC file
  .arrows                Arrow IPC stream
CSV and JSON lines may end in .gz, .zst or .bz2 as well.

Examples:
  staffa convert trips.parquet trips.staffa
  staffa convert 'logs/*.csv' logs.staffa --profile small
  staffa convert trips.staffa cheap.parquet --columns id,price --where 'price < 10'
  staffa convert a.csv b.csv both.staffa --encoding city=fsst --encoding id=delta
  staffa convert texts.parquet texts.staffa --max-error embedding=0.001 --column-profile text=small
  curl -s https://example.org/t.csv | staffa convert - t.staffa --from csv
  staffa convert trips.staffa - --to csv | sort"
)]
pub(crate) struct Args {
    /// Input files, folders and wildcards allowed, then the output file; `-` is the standard input (with --from)
    /// or output (with --to)
    // One list, not two arguments: clap would take a single input before an option for the output.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Format of the output, if its file ending does not say: staffa, parquet, csv, json, arrow,
    /// arrows
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    to: Option<Format>,
    /// Replace an existing output
    #[arg(short, long)]
    force: bool,
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
    let started = Instant::now();
    let Some((output, inputs)) = args
        .files
        .split_last()
        .filter(|(_, inputs)| !inputs.is_empty())
    else {
        return Err(Failure::usage(
            "convert needs an input and an output, found one file (see `staffa convert --help`)",
        ));
    };
    let to = Format::of(output, args.to, "--to")?;
    if to != Format::Staffa {
        args.staffa.refuse_for(to)?;
    }
    refuse_existing(output, args.force)?;
    refuse_same_log(args.read.skip_bad_rows.as_deref(), output)?;
    let read = &args.read;
    let found = discover(inputs, read)?;
    refuse_own_output(&found, output)?;
    let mut options = ScanOptions::new(&args.select)?;
    options.threads = args.staffa.threads();

    interrupt::catch();
    let mut dataset = Dataset::of_files(&found, read)?;
    let input_bytes = dataset.bytes;
    let progress = Progress::new(input_bytes, args.quiet);
    let carried = dataset.take_carried()?;
    let (schema, batches) = dataset.scan(&options, &progress.meter())?;
    let target = Target {
        to,
        staffa: &args.staffa,
        read: &args.read,
        replace: args.force,
        carried: &carried,
    };
    let mut sink = target.create(output, &schema)?;
    target.note_losses(&schema);
    let rows = write_batches(batches, sink.as_mut(), &progress)?;
    let bytes = sink.finish()?;
    progress.finish();
    if !args.quiet && !is_stream(output) {
        let from = input_bytes.map_or_else(String::new, |before| {
            format!(" from {}", text::bytes(before))
        });
        // The file is written: an error of stderr does not matter.
        let _ = writeln!(
            stderr(),
            "{}: {}, {}{from}, in {}",
            output.display(),
            text::counted(rows, "row"),
            text::bytes(bytes),
            duration(started.elapsed())
        );
    }
    Ok(())
}

/// Refuses an output that is also the file of bad rows.
fn refuse_same_log(log: Option<&Path>, output: &Path) -> Result<()> {
    let absolute = |path: &Path| std::path::absolute(path).ok();
    match log {
        Some(log) if absolute(log) == absolute(output) => Err(Failure::usage(format!(
            "{}: this file is the output and also that of --skip-bad-rows",
            output.display()
        ))),
        _ => Ok(()),
    }
}

/// Refuses an output that is one of several inputs: the second `convert *.csv all.csv --force` would
/// read the output of the first. A single file may replace itself.
fn refuse_own_output(inputs: &[TableFile], output: &Path) -> Result<()> {
    let Ok(output) = fs::canonicalize(output) else {
        return Ok(());
    };
    let own = inputs
        .iter()
        .find(|input| fs::canonicalize(input.path()).is_ok_and(|input| input == output));
    match own {
        Some(file) if inputs.len() > 1 => Err(Failure::usage(format!(
            "{}: this file is the output and also one of several inputs",
            file.path().display()
        ))),
        _ => Ok(()),
    }
}
