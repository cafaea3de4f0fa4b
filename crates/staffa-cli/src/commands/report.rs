//! `report`: one page of HTML that shows a file to people.

use std::ffi::OsStr;
use std::fs;
use std::io::{Write, stderr};
use std::path::Path;
use std::time::Instant;

use crate::cli::{ParquetWhen, Report as Args};
use crate::error::{Failure, Result};
use crate::files::output::{Output, is_stream, refuse_existing};
use crate::report::parquet::{self, Compared};
use crate::report::{Report, page};
use crate::terminal::interrupt;
use crate::terminal::progress::{Progress, duration};
use crate::terminal::text::{bytes, counted};

/// A table larger than this in memory is written as Parquet only where that is asked for: up to
/// there it takes seconds.
const MOST_BYTES: u64 = 2_000_000_000;

pub(super) fn run(args: &Args) -> Result<()> {
    let started = Instant::now();
    refuse_existing(&args.output, args.force)?;
    let file = super::open_staffa(&args.file)?;
    refuse_own_file(&args.file, &args.output)?;
    interrupt::catch();
    let fail = |error| Failure::staffa(&args.file, error);
    let compared = compare(args, &file)?;
    interrupt::check()?;
    let name = args
        .file
        .file_name()
        .unwrap_or(OsStr::new("table.staffa"))
        .to_string_lossy()
        .into_owned();
    let report = Report::gather(&file, name, args.rows, compared).map_err(fail)?;
    interrupt::check()?;
    let page = page(&report);
    let mut output = Output::create(&args.output, args.force)?;
    let place = output.name();
    output
        .write_all(page.as_bytes())
        .map_err(|error| Failure::io(&place, &error))?;
    let size = output.finish()?;
    if !args.quiet && !is_stream(&args.output) {
        // The page is written: a closed stderr changes nothing about that.
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

fn compare(args: &Args, file: &staffa::File) -> Result<Compared> {
    let left_out = |why: &str| Ok(Compared::LeftOut(why.into()));
    match args.parquet {
        ParquetWhen::Never => return left_out("It was left out by --parquet never."),
        _ if file.num_rows() == 0 => return left_out("There are no rows to write."),
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
    if decoded > MOST_BYTES && args.parquet == ParquetWhen::Auto {
        let size = bytes(decoded);
        return left_out(&format!(
            "The table takes {size} in memory: --parquet always measures however large it is."
        ));
    }
    let progress = Progress::new(Some(decoded), args.quiet);
    let measured = parquet::measure(file, &progress);
    progress.finish();
    measured.map(Compared::Measured)
}

/// A page in place of the table would be the loss of it, --force or not.
fn refuse_own_file(file: &Path, output: &Path) -> Result<()> {
    match (fs::canonicalize(file), fs::canonicalize(output)) {
        (Ok(file), Ok(page)) if file == page => Err(Failure::usage(format!(
            "{}: the report would replace the table",
            output.display()
        ))),
        _ => Ok(()),
    }
}
