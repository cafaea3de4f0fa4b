//! One file per command.

mod aggregate;
mod bench;
mod cat;
mod convert;
mod count;
mod encodings;
pub(crate) mod explain;
mod inspect;
mod report;
mod schema;
mod size;
mod verify;

use std::io::{BufWriter, Stdout, Write, stdout};
use std::path::Path;

use clap::CommandFactory;

use crate::cli::{Cli, Command, ProfileName};
use crate::error::{Failure, Result};

/// Does what was asked.
pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Convert(args) => convert::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Count(args) => count::run(&args),
        Command::Aggregate(args) => aggregate::run(&args),
        Command::Head(args) => cat::head(&args),
        Command::Cat(args) => cat::cat(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Size(args) => size::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Sql(_) => Err(Failure::usage(
            "this program has no SQL engine: `pip install 'staffa[duckdb]'` brings one that has, under the same name",
        )),
        Command::Encodings(args) => encodings::run(&args),
        Command::Completions { shell } => {
            // By way of memory: the generator takes any error of the writer for a bug.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "staffa", &mut script);
            Ok(stdout().write_all(&script)?)
        }
    }
}

/// The standard output, whose errors are checked: a closed pipe ends the program quietly.
fn out() -> BufWriter<Stdout> {
    BufWriter::new(stdout())
}

/// A value for programs, as one indented JSON document.
fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let mut out = out();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// A Staffa file, for the commands that look at how it is built.
fn open_staffa(path: &Path) -> Result<staffa::File> {
    if path == Path::new(crate::files::output::STANDARD) {
        return Err(Failure::usage(
            "this command needs a file, not the standard input",
        ));
    }
    staffa::File::open(path).map_err(|error| Failure::staffa(path, error))
}

/// Whether a leaf belongs to `--column`: the top-level name, or the path of the leaf itself.
fn chosen(wanted: Option<&str>, column: &str, path: &str) -> bool {
    wanted.is_none_or(|wanted| wanted == column || wanted == path)
}

/// Refuses a `--column` that chose nothing.
fn some_chosen(file: &staffa::File, wanted: Option<&str>, found: bool) -> Result<()> {
    match wanted {
        Some(name) if !found => crate::formats::scan::find(file.schema(), name).map(|_| ()),
        _ => Ok(()),
    }
}

fn profile(name: ProfileName) -> staffa::Profile {
    match name {
        ProfileName::Fast => staffa::Profile::Fast,
        ProfileName::Balanced => staffa::Profile::Balanced,
        ProfileName::Small => staffa::Profile::Small,
    }
}
