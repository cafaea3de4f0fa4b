//! `verify`: checks and decodes every byte of every file.

use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use staffa::{Edition, File, VerifyReport};
use staffa_lake::table::is_staffa;

use super::open_staffa;
use crate::error::{Failure, Result};
use crate::files::input::find;
use crate::print::{print_json, standard_output};
use crate::terminal::progress::{Progress, duration};
use crate::terminal::text::{bytes, counted};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every file is checked, even after a failure. The exit code is that of the first failure.

Examples:
  staffa verify trips.staffa
  staffa verify 'archive/*.staffa' --json
  staffa verify trips.staffa --reader core-1")]
pub(crate) struct Args {
    /// Staffa files, folders and wildcards allowed
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also check that a reader of this edition can read the file: core-1
    #[arg(long, value_name = "EDITION")]
    reader: Option<Edition>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut out = standard_output();
    let mut results = Vec::new();
    let mut exit = None;
    for file in find(&args.files, &is_staffa)? {
        let (path, started) = (file.path(), Instant::now());
        let result = verify(path, args.reader);
        if args.json {
            results.push(describe(path, &result, started.elapsed()));
        } else if let Ok(report) = &result {
            writeln!(
                out,
                "{}: {}",
                path.display(),
                sentence(report, started.elapsed())
            )?;
            out.flush()?;
        }
        if let Err(failure) = result {
            let _ = writeln!(stderr(), "{failure}");
            exit.get_or_insert(failure.exit);
        }
    }
    if args.json {
        print_json(&results)?;
    }
    exit.map_or(Ok(()), |exit| Err(Failure::reported(exit)))
}

fn verify(path: &Path, reader: Option<Edition>) -> Result<VerifyReport> {
    let file = open_staffa(path)?;
    if let Some(edition) = reader {
        check_edition(&file, edition, path)?;
    }
    let progress = Progress::new(Some(file.nbytes()), false);
    let bytes_per_row = file.nbytes() as f64 / file.num_rows().max(1) as f64;
    let meter = progress.meter();
    let mut before = 0;
    let result = file.verify(&mut |rows| {
        let bytes = (rows.saturating_sub(before) as f64 * bytes_per_row) as u64;
        before = rows;
        meter.add(bytes);
        progress.advance(bytes, rows);
    });
    result.map_err(|error| Failure::staffa(path, error))
}

/// Refuses a file that needs more than the encodings of an edition, and names these by column.
fn check_edition(file: &File, edition: Edition, path: &Path) -> Result<()> {
    const SHOWN: usize = 8;
    let beyond = file.beyond(edition);
    if beyond.is_empty() {
        return Ok(());
    }
    let shown = beyond.iter().take(SHOWN);
    let mut needs: Vec<String> = shown
        .map(|leaf| format!("{:?} needs {}", leaf.path, leaf.encodings.join(", ")))
        .collect();
    if beyond.len() > SHOWN {
        needs.push(format!("and {} columns more", beyond.len() - SHOWN));
    }
    let what = format!(
        "a reader of {edition} cannot read it: column {}",
        needs.join(", ")
    );
    Err(Failure::staffa(path, staffa::Error::unsupported(what)))
}

fn sentence(report: &VerifyReport, time: Duration) -> String {
    let unknown = match report.unknown_columns.as_slice() {
        [] => String::new(),
        columns => format!(
            ", not decoded, as their types are unknown: {}",
            columns.join(", ")
        ),
    };
    format!(
        "ok, {} in {} of {}, {} read, {} decoded, {}{unknown}",
        counted(report.rows, "row"),
        counted(report.blocks, "block"),
        counted(report.leaves, "column"),
        bytes(report.bytes),
        bytes(report.decoded_bytes),
        duration(time)
    )
}

fn describe(path: &Path, result: &Result<VerifyReport>, time: Duration) -> Value {
    let path = path.display().to_string();
    match result {
        Ok(report) => {
            json!({"path": path, "ok": true, "seconds": time.as_secs_f64(), "report": report})
        }
        Err(failure) => {
            json!({"path": path, "ok": false, "exit_code": failure.exit as u8, "error": failure.message})
        }
    }
}
