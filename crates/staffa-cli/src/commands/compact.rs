//! `compact`: the small files of a table as files of a good size, in another folder.

use std::path::PathBuf;

use staffa::SortKey;
use staffa_lake::table::{CompactOptions, compact};

use super::say_written;
use super::write_options::StaffaOptions;
use crate::error::{Failure, Result};
use crate::files::input::check_url;
use crate::formats::column_names::{ColumnNames, column_names};
use crate::terminal::interrupt;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Keys of the table's folders, as in year=2026, name the new folders as well; rows are sorted within
them. The folder must have no Staffa files, and must not be the table's own, whose readers would
see every row twice.

Examples:
  staffa compact trips --to compacted
  staffa compact s3://bucket/trips/ --to s3://bucket/compacted/ --sort city,day
  staffa compact 'logs/day=2026-*/*.staffa' --to sorted --sort 'time desc' --memory 4096")]
pub(crate) struct Args {
    /// A folder, a wildcard or a URL of Staffa files
    source: PathBuf,
    /// The folder to write into, or the URL of one; it need not be there yet
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
    /// Sort by these columns, which the files declare; a name may be followed by desc, and by nulls first
    #[arg(long, value_name = "A,B", value_parser = column_names)]
    sort: Vec<ColumnNames>,
    /// MiB of rows that a sort holds in memory; the others wait in temporary files
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    memory: u64,
    /// MiB of a file, after which the next one is begun
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    file_size: u64,
    /// Print no summary
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    staffa: StaffaOptions,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    check_url(&args.source)?;
    check_url(&args.to)?;
    let names = args.sort.iter().flat_map(|names| &names.0);
    let keys = names.map(|name| name.parse::<SortKey>());
    let keys = keys.collect::<staffa::Result<Vec<_>>>();
    let mut options = CompactOptions::default();
    options.sort = keys.map_err(|error| Failure::usage(format!("--sort: {error}")))?;
    options.sort_bytes = args.memory << 20;
    options.table.bytes_per_file = Some(args.file_size << 20);
    options.table.options = args.staffa.to_write_options(false);
    interrupt::catch();
    options.cancel = interrupt::cancel();
    let written = compact(&args.source, &args.to, options);
    let written = written.map_err(|error| Failure::of_table(&args.source, error))?;
    if !args.quiet {
        say_written(&args.to, "row", &written);
    }
    Ok(())
}
