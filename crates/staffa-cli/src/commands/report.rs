//! `report`: one HTML page about a file.

use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;

use super::as_staffa;
use crate::error::{Failure, Result};
use crate::files::output::{Output, is_stream, refuse_existing};
use crate::formats::ReadOptions;
use crate::report::{ParquetSizes, Report, html_page, measure_parquet};
use crate::terminal::interrupt;
use crate::terminal::progress::{Progress, duration};
use crate::terminal::text::{bytes, counted};

/// A table larger than this in memory is written as Parquet only with `--parquet always`: a smaller
/// one takes seconds.
const MAX_AUTO_BYTES: u64 = 2_000_000_000;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The page is one file and loads nothing from elsewhere. It shows the distribution, the smallest and
the largest value of each column, the bytes of columns and encodings (a treemap), encoding trees
and zone maps, the size as Parquet, metadata, and some rows as they are: consider who may read
them.

Examples:
  staffa report trips.staffa -o trips.html
  staffa report trips.parquet -o as_staffa.html
  staffa report large.staffa -o large.html --parquet never --rows 0
  staffa report trips.staffa -o - | gzip > trips.html.gz")]
pub(crate) struct Args {
    /// A Staffa file, or any other that `convert` reads: the report is of it as Staffa; `-` is the
    /// standard input (with --from)
    file: PathBuf,
    /// The page to write; `-` is the standard output
    #[arg(short, long, value_name = "PAGE")]
    output: PathBuf,
    /// Replace an existing page
    #[arg(short, long)]
    force: bool,
    /// Print neither a progress bar nor a summary
    #[arg(short, long)]
    quiet: bool,
    /// Number of rows to show: the first 20 and others from the whole table; 0 shows none
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(..=1000))]
    rows: u64,
    /// Measure the size as Parquet, without a file: auto (up to 2 GB in memory), always, never
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    parquet: ParquetWhen,
    #[command(flatten)]
    read: ReadOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ParquetWhen {
    Auto,
    Always,
    Never,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let started = Instant::now();
    refuse_existing(&args.output, args.force)?;
    refuse_own_file(&args.file, &args.output)?;
    interrupt::catch();
    let opened = as_staffa::open(&args.file, &args.read, args.quiet)?;
    let file = &opened.file;
    let parquet = parquet_sizes(args, file)?;
    interrupt::check()?;
    let about = opened.about(&args.file);
    let report = Report::of(file, about, args.rows, parquet)?;
    interrupt::check()?;
    let page = html_page(&report);
    let mut output = Output::create(&args.output, args.force)?;
    let output_name = output.name();
    output
        .write_all(page.as_bytes())
        .map_err(|error| Failure::io(&output_name, &error))?;
    let size = output.finish()?;
    if !args.quiet && !is_stream(&args.output) {
        // The page is written: an error of stderr does not matter.
        let _ = writeln!(
            stderr(),
            "{}: {}, {}, in {}",
            args.output.display(),
            counted(report.fields as u64, "column"),
            bytes(size),
            duration(started.elapsed())
        );
    }
    Ok(())
}

fn parquet_sizes(args: &Args, file: &staffa::File) -> Result<ParquetSizes> {
    let not_measured = |why: &str| Ok(ParquetSizes::NotMeasured(why.into()));
    match args.parquet {
        ParquetWhen::Never => return not_measured("--parquet never was given."),
        _ if file.num_rows() == 0 => return not_measured("There are no rows to write."),
        ParquetWhen::Auto | ParquetWhen::Always => {}
    }
    let inspection = file
        .inspect()
        .map_err(|error| Failure::staffa(&args.file, error))?;
    let decoded = inspection
        .columns
        .iter()
        .map(|column| column.decoded_bytes)
        .sum();
    if decoded > MAX_AUTO_BYTES && args.parquet == ParquetWhen::Auto {
        let size = bytes(decoded);
        return not_measured(&format!(
            "The table takes {size} in memory; --parquet always measures tables of any size."
        ));
    }
    let progress = Progress::new(Some(decoded), args.quiet);
    let measured = measure_parquet(file, &progress);
    progress.finish();
    measured.map(ParquetSizes::Measured)
}

/// Refuses to replace the table by its report, even with --force.
fn refuse_own_file(file: &Path, output: &Path) -> Result<()> {
    match (fs::canonicalize(file), fs::canonicalize(output)) {
        (Ok(file), Ok(page)) if file == page => Err(Failure::usage(format!(
            "{}: the report would replace the table",
            output.display()
        ))),
        _ => Ok(()),
    }
}
