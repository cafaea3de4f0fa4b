//! One file per command, with its arguments.

pub(crate) mod aggregate;
pub(crate) mod append;
mod as_staffa;
pub(crate) mod bench;
pub(crate) mod browse;
pub(crate) mod cat;
pub(crate) mod compact;
pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod diff;
pub(crate) mod encodings;
pub(crate) mod explain;
pub(crate) mod head;
pub(crate) mod index;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod report;
pub(crate) mod sample;
pub(crate) mod schema;
pub(crate) mod size;
pub(crate) mod split;
pub(crate) mod stats;
pub(crate) mod tail;
mod target;
pub(crate) mod verify;
mod why;
mod write_options;

use std::io::{Write, stderr};
use std::path::{Path, PathBuf};

use staffa_lake::table::TableSummary;

use crate::dataset::discover;
use crate::error::{Failure, Result};
use crate::files::STANDARD;
use crate::files::input::url_of;
use crate::formats::scan::{Batches, find_column};
use crate::formats::{ReadOptions, Sink};
use crate::terminal::interrupt;
use crate::terminal::progress::Progress;
use crate::terminal::text::{bytes, counted};

/// Opens a Staffa file: a path, or a folder or a wildcard that names one.
fn open_staffa(path: &Path) -> Result<staffa::File> {
    if path == Path::new(STANDARD) {
        return Err(Failure::usage(
            "this command needs a file, not the standard input",
        ));
    }
    let found = discover(&[path.to_path_buf()], &ReadOptions::default())?;
    let [file] = found.as_slice() else {
        return Err(Failure::usage(format!(
            "{}: {} files, and this command takes one; `staffa merge` makes one of them",
            path.display(),
            found.len()
        )));
    };
    let path = file.path();
    let opened = match url_of(path) {
        Some(url) => staffa_lake::open(url),
        None => staffa::File::open(path),
    };
    opened.map_err(|error| Failure::staffa(path, error))
}

/// The option that selects a column.
#[derive(Debug, clap::Args)]
struct ColumnOption {
    /// Only this column (a top-level name or the path of a leaf)
    #[arg(long)]
    column: Option<String>,
}

impl ColumnOption {
    /// Keeps the selected items; `names` gives the top-level name and the path of an item. An unknown
    /// column is an error.
    fn select<T>(
        &self,
        items: &mut Vec<T>,
        file: &staffa::File,
        names: fn(&T) -> (&str, &str),
    ) -> Result<()> {
        let Some(wanted) = &self.column else {
            return Ok(());
        };
        items.retain(|item| {
            let (column, path) = names(item);
            wanted == column || wanted == path
        });
        if items.is_empty() {
            find_column(file.schema(), wanted)?;
        }
        Ok(())
    }
}

/// Writes batches to a table that is not finished by that; returns the number of rows.
fn write_batches(batches: Batches, sink: &mut dyn Sink, progress: &Progress) -> Result<u64> {
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        let before = sink.encoded_bytes();
        sink.write(&batch)?;
        rows += batch.num_rows() as u64;
        let waits = before.is_some() && before == sink.encoded_bytes();
        progress.batch(&batch, rows, waits);
        interrupt::check()?;
    }
    progress.show_step(&format!("{}, writing the last ones", counted(rows, "row")));
    Ok(rows)
}

/// Says what was written into a table's folder.
fn say_written(folder: &Path, rows: &str, written: &TableSummary) {
    // The files are written: an error of stderr does not matter.
    let _ = writeln!(
        stderr(),
        "{}: {} in {}, {}",
        folder.display(),
        counted(written.rows, rows),
        counted(written.files.len() as u64, "file"),
        bytes(written.file_bytes)
    );
}

/// Paths for JSON output, as they were given.
fn shown_paths(paths: &[PathBuf]) -> String {
    let paths = paths.iter().map(|path| path.display().to_string());
    paths.collect::<Vec<_>>().join(" ")
}

/// Splits `COLUMN=VALUE`; `expected` is for the error.
fn column_value<'a>(text: &'a str, expected: &str) -> Result<(&'a str, &'a str), String> {
    // At the last `=`: the name of a column may hold one, the value does not.
    let parts = text
        .rsplit_once('=')
        .filter(|(column, value)| !column.is_empty() && !value.is_empty());
    parts.ok_or_else(|| format!("expected {expected}"))
}
