//! `browse`: a file in the terminal.

use std::path::PathBuf;

use super::as_staffa;
use crate::browse;
use crate::error::Result;
use crate::formats::ReadOptions;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Views: rows, columns, encodings, zone maps, the file; `?` lists the keys, `q` leaves. Any row of a
file of any size is there at once; another table is converted first. Needs a terminal: without one
the exit code is 2.

Examples:
  staffa browse trips.staffa
  staffa browse trips.parquet
  staffa browse trips.csv --delimiter ';'")]
pub(crate) struct Args {
    /// A Staffa file, or any other that `convert` reads: it is shown as Staffa
    file: PathBuf,
    #[command(flatten)]
    read: ReadOptions,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    browse::check_terminal()?;
    let opened = as_staffa::open(&args.file, &args.read, false)?;
    let about = opened.about(&args.file);
    browse::run(opened.file.clone(), about)
}
