//! `convert`: any format to any other, a batch at a time.

use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::cli::{AccessName, Convert, Writing};
use crate::dataset::{Inputs, expand};
use crate::error::{Failure, Result};
use crate::files::output::{Output, is_stream, refuse_existing};
use crate::formats::scan::Wanted;
use crate::formats::{self, CsvOptions, Format};
use crate::terminal::interrupt;
use crate::terminal::progress::{Progress, duration};
use crate::terminal::text;

pub(super) fn run(args: &Convert) -> Result<()> {
    let started = Instant::now();
    let Some((output, inputs)) = args
        .files
        .split_last()
        .filter(|(_, inputs)| !inputs.is_empty())
    else {
        return Err(Failure::usage(
            "convert takes an input and an output, found one file (see `staffa convert --help`)",
        ));
    };
    let to = Format::of(output, args.to, "--to")?;
    if to != Format::Staffa {
        refuse_staffa_options(&args.writing, to)?;
    }
    refuse_existing(output, args.force)?;
    let paths = expand(inputs)?;
    refuse_own_output(&paths, output)?;
    let mut wanted = Wanted::new(&args.selecting)?;
    wanted.threads = args.writing.threads.map(usize::from);

    interrupt::catch();
    let inputs = Inputs::open(&paths, &args.reading)?;
    let input_bytes = inputs.bytes;
    let progress = Progress::new(input_bytes, args.quiet);
    let (schema, batches) = inputs.scan(&wanted, &progress.meter())?;
    let mut sink = if to == Format::Staffa {
        formats::create_staffa(output, &schema, options(args))?
    } else {
        let csv = CsvOptions::new(output, &args.reading);
        formats::create(to, Output::create(output, args.force)?, &schema, &csv)?
    };
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        sink.write(&batch)?;
        rows += batch.num_rows() as u64;
        progress.batch(&batch, rows);
        interrupt::check()?;
    }
    let bytes = sink.finish()?;
    progress.finish();
    if !args.quiet && !is_stream(output) {
        let compared = match input_bytes {
            Some(before) => format!(" from {}", text::bytes(before)),
            None => String::new(),
        };
        // The file is written: a closed stderr changes nothing about that.
        let _ = writeln!(
            stderr(),
            "{}: {}, {}{compared}, in {}",
            output.display(),
            text::counted(rows, "row"),
            text::bytes(bytes),
            duration(started.elapsed())
        );
    }
    Ok(())
}

fn options(args: &Convert) -> staffa::WriteOptions {
    let writing = &args.writing;
    let mut options = staffa::WriteOptions::default();
    options.profile = writing.profile.map(super::profile).unwrap_or_default();
    options.profiles = writing
        .column_profile
        .iter()
        .map(|(column, name)| (column.clone(), super::profile(*name)))
        .collect();
    options.access = match writing.access {
        Some(AccessName::Random) => staffa::Access::Random,
        _ => staffa::Access::Scan,
    };
    options.encodings.clone_from(&writing.encoding);
    options.max_errors.clone_from(&writing.max_error);
    options.without.clone_from(&writing.without);
    options.threads = writing.threads.map(usize::from);
    options.relate = !writing.no_relate;
    options.verify = !writing.no_verify;
    options.overwrite = args.force;
    if let Some(rows) = writing.row_group_rows {
        options.row_group_rows = usize::try_from(rows).unwrap_or(usize::MAX);
    }
    options
}

/// Options that would do nothing are mistakes.
fn refuse_staffa_options(writing: &Writing, to: Format) -> Result<()> {
    let given = [
        ("--profile", writing.profile.is_some()),
        ("--column-profile", !writing.column_profile.is_empty()),
        ("--access", writing.access.is_some()),
        ("--encoding", !writing.encoding.is_empty()),
        ("--max-error", !writing.max_error.is_empty()),
        ("--without", !writing.without.is_empty()),
        ("--row-group-rows", writing.row_group_rows.is_some()),
        ("--no-relate", writing.no_relate),
        ("--no-verify", writing.no_verify),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::usage(format!(
            "{option} is for Staffa output, and this output is {}",
            to.name()
        ))),
        None => Ok(()),
    }
}

/// `convert *.csv all.csv --force` the second time would read what it replaces. One file may
/// replace itself.
fn refuse_own_output(inputs: &[PathBuf], output: &Path) -> Result<()> {
    let Ok(output) = fs::canonicalize(output) else {
        return Ok(());
    };
    let own = inputs
        .iter()
        .find(|input| fs::canonicalize(input).is_ok_and(|input| input == output));
    match own {
        Some(path) if inputs.len() > 1 => Err(Failure::usage(format!(
            "{}: this is the output and one of several inputs as well",
            path.display()
        ))),
        _ => Ok(()),
    }
}
