//! The command line: the list of commands, and usage errors as one sentence.

use std::ffi::OsString;
use std::io::{Write, stdout};

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::commands::{
    aggregate, append, bench, browse, cat, compact, convert, count, diff, encodings, explain, head,
    index, inspect, man, report, sample, schema, size, split, stats, tail, verify,
};
use crate::error::{EXIT_CODES, Exit, Failure, Result};

/// Staffa: an open columnar file format. Convert, inspect, verify and benchmark tables.
#[derive(Debug, Parser)]
#[command(name = "staffa", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Convert between Staffa, Parquet, CSV, JSON lines and Arrow IPC
    Convert(convert::Args),
    /// Join several files of one schema to one: the same as `convert` with several inputs
    #[command(
        override_usage = "staffa merge [OPTIONS] <INPUT>... <OUTPUT>",
        after_help = "Columns are matched by name.\n\nExamples:\n  staffa merge a.csv b.csv both.staffa\n  staffa merge 'logs/*.staffa' logs.staffa --profile small"
    )]
    Merge(convert::Args),
    /// Split a table into several files, by rows or by the values of a column
    Split(split::Args),
    /// Add rows to a table of several files: new files in its folder, or below its URL
    Append(append::Args),
    /// Write the small files of a table as larger ones into another folder, sorted if asked
    Compact(compact::Args),
    /// Write the index of a folder or URL, by which readers open its files without a request each
    Index(index::Args),
    /// Print the columns and their types
    Schema(schema::Args),
    /// Count rows
    Count(count::Args),
    /// Print NULLs, distinct values, bounds, mean and most frequent values of each column
    Stats(stats::Args),
    /// Compare two tables: their columns, then their rows
    Diff(diff::Args),
    /// Print counts, minima, maxima, sums and means of columns of a Staffa file
    Aggregate(aggregate::Args),
    /// Print the first rows
    Head(head::Args),
    /// Print the last rows
    Tail(tail::Args),
    /// Print random rows
    Sample(sample::Args),
    /// Print all rows, as a table, CSV, JSON lines or an Arrow stream
    Cat(cat::Args),
    /// Show the structure of a Staffa file: row groups, column chunks, blocks
    Inspect(inspect::Args),
    /// Show the bytes of each column; other formats are measured as if converted
    Size(size::Args),
    /// Show the encodings of each column of a Staffa file
    Explain(explain::Args),
    /// Write an HTML report: sizes, encodings, order, some rows; other formats as if converted
    Report(report::Args),
    /// Browse rows, columns, encodings and zone maps in the terminal
    Browse(browse::Args),
    /// Check every byte: checksums, structure, and that every block decodes
    Verify(verify::Args),
    /// Compare a table as Staffa and as Parquet: size, write and scan speed
    Bench(bench::Args),
    /// Query files in SQL with DuckDB: `staffa sql "select count(*) from 'x.staffa'"`; part of the
    /// Python package
    Sql(Sql),
    /// List the encodings for `convert --encoding`
    Encodings(encodings::Args),
    /// Write the manual pages
    Man(man::Args),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  staffa completions bash > ~/.local/share/bash-completion/completions/staffa"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// The arguments of the Python package's program; see `python/staffa/__main__.py`.
#[derive(Debug, Args)]
struct Sql {
    /// The query and its options
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// Parses the arguments, of which the first is the program's name, and runs the command.
pub(crate) fn run(arguments: &[OsString]) -> Result<()> {
    match Cli::try_parse_from(arguments) {
        Ok(cli) => cli.command.run(),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(error.print()?),
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                error.print()?;
                Err(Failure::reported(Exit::Usage))
            }
            _ => Err(Failure::usage(usage_error(
                &error.render().to_string(),
                arguments,
            ))),
        },
    }
}

impl Command {
    fn run(self) -> Result<()> {
        match self {
            Self::Convert(args) | Self::Merge(args) => convert::run(&args),
            Self::Split(args) => split::run(&args),
            Self::Append(args) => append::run(&args),
            Self::Compact(args) => compact::run(&args),
            Self::Index(args) => index::run(&args),
            Self::Stats(args) => stats::run(&args),
            Self::Diff(args) => diff::run(&args),
            Self::Tail(args) => tail::run(&args),
            Self::Sample(args) => sample::run(&args),
            Self::Man(args) => man::run(&args, Cli::command()),
            Self::Schema(args) => schema::run(&args),
            Self::Count(args) => count::run(&args),
            Self::Aggregate(args) => aggregate::run(&args),
            Self::Head(args) => head::run(&args),
            Self::Cat(args) => cat::run(&args),
            Self::Inspect(args) => inspect::run(&args),
            Self::Size(args) => size::run(&args),
            Self::Explain(args) => explain::run(&args),
            Self::Report(args) => report::run(&args),
            Self::Browse(args) => browse::run(&args),
            Self::Verify(args) => verify::run(&args),
            Self::Bench(args) => bench::run(&args),
            Self::Sql(_) => Err(Failure::usage(
                "this program has no SQL engine: the Python package, from the wheel with the extra `duckdb`, has one under the same name",
            )),
            Self::Encodings(args) => encodings::run(&args),
            Self::Completions { shell } => {
                // Generated in memory: the generator panics if its writer fails.
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Cli::command(), "staffa", &mut script);
                Ok(stdout().write_all(&script)?)
            }
        }
    }
}

/// Clap's message as one sentence, without its label and the usage below it.
fn usage_error(message: &str, arguments: &[OsString]) -> String {
    let before = |text: &str, end: &str| {
        text.split_once(end)
            .map_or(text, |(before, _)| before)
            .to_owned()
    };
    let message = message.trim_start_matches("error: ");
    let message = before(message, "\n\nUsage:");
    let message = before(&message, "\n\nFor more information");
    // A tip with another spelling is helpful, one about hyphens is not.
    let message = match message.split_once("\n\n  tip: ") {
        Some((message, tip)) if !tip.starts_with("to pass") => format!("{message}; {tip}"),
        Some((message, _)) => message.to_owned(),
        None => message,
    };
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let cli = Cli::command();
    let command = arguments.get(1).and_then(|name| cli.find_subcommand(name));
    let help = match command {
        Some(command) => format!("staffa {} --help", command.get_name()),
        None => "staffa --help".into(),
    };
    format!("{message} (see `{help}`)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn usage_errors_are_one_sentence() {
        let Err(error) = Cli::try_parse_from(["staffa", "head"]) else {
            unreachable!()
        };
        let text = usage_error(
            &error.render().to_string(),
            &["staffa".into(), "head".into()],
        );
        assert_eq!(
            text,
            "the following required arguments were not provided: <FILE>... (see `staffa head --help`)"
        );
    }
}
