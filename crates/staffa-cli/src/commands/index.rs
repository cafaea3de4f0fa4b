//! `index`: what opening the files of a folder needs, in one file of the folder.

use std::io::Write;
use std::path::PathBuf;

use serde_json::json;
use staffa_lake::table::{Folder, INDEX_NAME, write_index};

use crate::error::{Failure, Result};
use crate::files::input::check_url;
use crate::print::{print_json, standard_output};
use crate::terminal::text::{bytes, counted};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The index is the Staffa file _staffa_metadata of the folder. Where it has a file as the listing of
the folder shows it, of the same bytes and the same version or time, the file is opened without a
request, and not read at all where a filter excludes it. Other files are opened as they are: an
old index costs requests, and decides nothing.

Examples:
  staffa index s3://bucket/trips/
  staffa index trips --json")]
pub(crate) struct Args {
    /// A folder of Staffa files, or the URL of one
    folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    check_url(&args.folder)?;
    let written = Folder::new(&args.folder).and_then(|folder| write_index(&folder));
    let written = written.map_err(|error| Failure::of_table(&args.folder, error))?;
    if args.json {
        return print_json(&json!({
            "folder": args.folder.display().to_string(),
            "files": written.files,
            "opened": written.opened,
            "rows": written.rows,
            "bytes": written.bytes,
        }));
    }
    let mut out = standard_output();
    writeln!(
        out,
        "{INDEX_NAME}: {} of {}, {}; {} opened for it",
        counted(written.files as u64, "file"),
        counted(written.rows, "row"),
        bytes(written.bytes),
        counted(written.opened as u64, "file"),
    )?;
    Ok(out.flush()?)
}
