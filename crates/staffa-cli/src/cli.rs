//! The command line: every command, option and line of help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::error::EXIT_CODES;
use crate::formats::Format;

/// Staffa: an open columnar file format. Convert tables, look into files, verify and measure them.
#[derive(Debug, Parser)]
#[command(name = "staffa", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Convert between Staffa, Parquet, CSV, JSON lines and Arrow IPC
    Convert(Convert),
    /// Print the columns and their types
    Schema(Schema),
    /// Count rows
    Count(Count),
    /// Counts, smallest and largest values, sums of columns of a Staffa file
    Aggregate(Aggregate),
    /// Print the first rows
    Head(Head),
    /// Print all rows, as a table, CSV, JSON lines or an Arrow stream
    Cat(Cat),
    /// Show how a Staffa file is built: row groups, column chunks, blocks
    Inspect(Inspect),
    /// Show how many bytes each column of a Staffa file takes
    Size(Size),
    /// Show how each column of a Staffa file is encoded
    Explain(Explain),
    /// Make a page of HTML that shows a Staffa file: sizes, encodings, order, some rows
    Report(Report),
    /// Check every byte: checksums, structure, and that all of it decodes
    Verify(Verify),
    /// Measure a table as Staffa and as Parquet: size, write and scan speed
    Bench(Bench),
    /// Ask in SQL, by DuckDB: `staffa sql "select count(*) from 'x.staffa'"`; with the Python
    /// package only
    Sql(Sql),
    /// List the encodings that `convert --encoding` takes
    Encodings(Encodings),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  staffa completions bash > ~/.local/share/bash-completion/completions/staffa"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// What the Python package's program takes; `python/staffa/__main__.py` has the same.
#[derive(Debug, Args)]
pub(crate) struct Sql {
    /// The query and its options
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<std::ffi::OsString>,
}

/// How input that is not Staffa is read.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Reading {
    /// Format of the input, where its name does not say: staffa, parquet, csv, json, arrow, arrows
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) from: Option<Format>,
    /// CSV and JSON lines: guess the types from this many rows; 0 reads all of them twice
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) infer_rows: usize,
    /// CSV and JSON lines: keep these columns as text, whatever they look like
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) text: Vec<String>,
    /// CSV: the text that stands for NULL (repeatable) [default: an empty field]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) csv_null: Vec<String>,
    /// CSV: what separates the fields; `tab` or `\t` for a tab [default: a comma, in .tsv a tab]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// CSV: there is no line of column names
    #[arg(long)]
    pub(crate) no_header: bool,
}

/// Which rows and columns.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Rows and columns")]
pub(crate) struct Selecting {
    /// Only these columns, in this order
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// Only rows where this holds: `price < 10 and (name = 'x' or "odd name" is not null)`
    #[arg(long = "where", value_name = "FILTER")]
    pub(crate) filter: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "staffa convert [OPTIONS] <INPUT>... <OUTPUT>",
    after_help = "\
Formats, by the end of the name:
  .staffa                Staffa
  .parquet .pq           Parquet
  .csv .tsv              CSV
  .jsonl .ndjson .json   JSON lines, one object per line
  .arrow .feather .ipc   Arrow IPC file
  .arrows                Arrow IPC stream

Examples:
  staffa convert trips.parquet trips.staffa
  staffa convert 'logs/*.csv' logs.staffa --profile small
  staffa convert trips.staffa cheap.parquet --columns id,price --where 'price < 10'
  staffa convert a.csv b.csv both.staffa --encoding city=fsst --encoding id=delta
  staffa convert texts.parquet texts.staffa --max-error embedding=0.001 --column-profile text=small
  curl -s https://example.org/t.csv | staffa convert - t.staffa --from csv
  staffa convert trips.staffa - --to csv | sort"
)]
pub(crate) struct Convert {
    /// Files to read, wildcards allowed, and last the file to write; `-` is the standard input
    /// (with --from) or output (with --to)
    // One list, not two arguments: clap would take a lone input before an option for the output.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Format of the output, where its name does not say: staffa, parquet, csv, json, arrow, arrows
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) to: Option<Format>,
    /// Replace the output where it exists
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Neither a progress bar nor a summary
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    #[command(flatten)]
    pub(crate) writing: Writing,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How Staffa output is written.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Writing Staffa")]
pub(crate) struct Writing {
    /// What matters: fast (to write), balanced, small (on disk) [default: balanced]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    pub(crate) profile: Option<ProfileName>,
    /// What matters for one column (repeatable)
    #[arg(long, value_name = "COLUMN=NAME", value_parser = column_profile)]
    pub(crate) column_profile: Vec<(String, ProfileName)>,
    /// How the file will be read: scan, random (rows by number) [default: scan]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    pub(crate) access: Option<AccessName>,
    /// Encode a column this way (repeatable); `staffa encodings` lists the names
    #[arg(long, value_name = "COLUMN=NAME", value_parser = encoding)]
    pub(crate) encoding: Vec<(String, String)>,
    /// Round the floats of a column, each by at most this much (repeatable); all else is exact
    #[arg(long, value_name = "COLUMN=BOUND", value_parser = max_error)]
    pub(crate) max_error: Vec<(String, f64)>,
    /// Never choose this encoding (repeatable), to keep reading cheap, say; by name a column can
    /// still have it
    #[arg(long, value_name = "NAME")]
    pub(crate) without: Vec<String>,
    /// Most rows of a row group
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) row_group_rows: Option<u64>,
    /// Threads to read and encode with [default: all processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Encode each column by itself, never in terms of another one
    #[arg(long)]
    pub(crate) no_relate: bool,
    /// Do not decode and compare each block before it is written
    #[arg(long)]
    pub(crate) no_verify: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    Fast,
    Balanced,
    Small,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AccessName {
    Scan,
    Random,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  staffa schema trips.staffa\n  staffa schema trips.csv --json")]
pub(crate) struct Schema {
    /// Any file that `convert` reads
    pub(crate) file: PathBuf,
    /// For programs
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  staffa count trips.staffa
  staffa count 'trips/*.staffa' --where \"city = 'Oban' and price between 5 and 10\"")]
pub(crate) struct Count {
    /// Any files that `convert` reads, wildcards allowed
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// For programs
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Aggregates: rows, count (of values that are not NULL), nulls, min, max, sum, distinct (how many different values),
sorted (whether they ascend)

Examples:
  staffa aggregate trips.staffa price=min,max,sum city=distinct
  staffa aggregate trips.staffa price=sum --where \"city = 'Oban'\" --json")]
pub(crate) struct Aggregate {
    /// A Staffa file
    pub(crate) file: PathBuf,
    /// A column and what is to be known of it
    #[arg(required = true, value_name = "COLUMN=AGGREGATE,..", value_parser = aggregates)]
    pub(crate) wanted: Vec<(String, Vec<staffa::Aggregate>)>,
    /// Only over rows where this holds: `city = 'Oban'`
    #[arg(long = "where", value_name = "FILTER")]
    pub(crate) filter: Option<String>,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

impl Aggregate {
    /// The filter as other commands have it.
    pub(crate) fn selecting(&self) -> Selecting {
        Selecting {
            columns: None,
            filter: self.filter.clone(),
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  staffa head trips.staffa
  staffa head trips.staffa -n 3 --columns id,price --where 'price is not null'
  staffa head trips.parquet --json")]
pub(crate) struct Head {
    /// Any file that `convert` reads
    pub(crate) file: PathBuf,
    /// How many rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) rows: u64,
    #[command(flatten)]
    pub(crate) printing: Printing,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  staffa cat trips.staffa --format csv > trips.csv
  staffa cat 'trips/*.staffa' --json --columns id,price | jq .price
  staffa cat trips.staffa --format arrow | python3 -c 'import pyarrow as pa, sys; print(pa.ipc.open_stream(sys.stdin.buffer).read_all())'")]
pub(crate) struct Cat {
    /// Any files that `convert` reads, wildcards allowed
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// At most this many rows
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) printing: Printing,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How rows are printed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Printing {
    /// How to print: table, csv, json (one object per line), arrow (an IPC stream)
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "table",
        hide_possible_values = true
    )]
    pub(crate) format: PrintFormat,
    /// The same as --format json: one object per line
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrintFormat {
    Table,
    Csv,
    Json,
    Arrow,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  staffa inspect trips.staffa
  staffa inspect trips.staffa --column price --blocks
  staffa inspect trips.staffa --json | jq '.row_groups | length'")]
pub(crate) struct Inspect {
    /// A Staffa file
    pub(crate) file: PathBuf,
    /// Only this column (a top-level name or the path of a leaf)
    #[arg(long)]
    pub(crate) column: Option<String>,
    /// List the blocks of each column chunk
    #[arg(long)]
    pub(crate) blocks: bool,
    /// For programs; always with blocks
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  staffa size trips.staffa\n  staffa size trips.staffa --json | jq '.columns[0]'"
)]
pub(crate) struct Size {
    /// A Staffa file
    pub(crate) file: PathBuf,
    /// For programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  staffa explain trips.staffa
  staffa explain trips.staffa --column price --blocks
  staffa explain trips.staffa --column price --why")]
pub(crate) struct Explain {
    /// A Staffa file
    pub(crate) file: PathBuf,
    /// Only this column (a top-level name or the path of a leaf)
    #[arg(long)]
    pub(crate) column: Option<String>,
    /// The encodings of each block, one per line
    #[arg(long)]
    pub(crate) blocks: bool,
    /// What the chooser thinks of every encoding for a column's first block, of a shared
    /// dictionary, and of the other columns in terms of which it could be; and why what lost did
    #[arg(long, conflicts_with = "blocks")]
    pub(crate) why: bool,
    /// For programs; always with blocks
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The page is one file and loads nothing from elsewhere. It shows where the bytes are (a treemap of columns and encodings),
the tree of encodings and the zone maps of each column along the rows, the size as Parquet, and some rows as they are:
mind who reads it.

Examples:
  staffa report trips.staffa -o trips.html
  staffa report large.staffa -o large.html --parquet never --rows 0
  staffa report trips.staffa -o - | gzip > trips.html.gz")]
pub(crate) struct Report {
    /// A Staffa file
    pub(crate) file: PathBuf,
    /// The page to write; `-` is the standard output
    #[arg(short, long, value_name = "PAGE")]
    pub(crate) output: PathBuf,
    /// Replace the page where it exists
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Neither a progress bar nor a summary
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Rows to show: the first three and others from all over the table; 0 shows none
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u64).range(..=1000))]
    pub(crate) rows: u64,
    /// Write the table as Parquet, to nowhere, for its sizes: auto (up to 2 GB in memory), always,
    /// never
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) parquet: ParquetWhen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ParquetWhen {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Every file is checked, whatever is wrong with the one before. The exit code is that of the first failure.

Examples:
  staffa verify trips.staffa
  staffa verify 'archive/*.staffa' --json")]
pub(crate) struct Verify {
    /// Staffa files, wildcards allowed
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// For programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The table is held in memory and written to memory, on one core; times are CPU time where the system tells it. The
variants take turns, so that a busy machine disturbs all alike. What Staffa wrote is read back and compared.

Examples:
  staffa bench trips.staffa
  staffa bench trips.csv --profile small --runs 9 --json")]
pub(crate) struct Bench {
    /// Any file that `convert` reads
    pub(crate) file: PathBuf,
    /// Rounds; the median counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// At most this many rows [default: as many as 2 GB of memory hold]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// How Staffa is written: fast, balanced, small (repeatable) [default: balanced]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    pub(crate) profile: Vec<ProfileName>,
    /// For programs
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) selecting: Selecting,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  staffa encodings\n  staffa convert t.csv t.staffa --encoding city=fsst"
)]
pub(crate) struct Encodings {
    /// For programs
    #[arg(long)]
    pub(crate) json: bool,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
            _ => Err(
                "expected one ASCII character other than a quote or a line end, or `tab`".into(),
            ),
        },
    }
}

fn encoding(text: &str) -> Result<(String, String), String> {
    let (column, name) = of_column(text, "COLUMN=NAME, as in `city=fsst`")?;
    Ok((column.into(), name.into()))
}

fn column_profile(text: &str) -> Result<(String, ProfileName), String> {
    let (column, name) = of_column(text, "COLUMN=NAME, as in `city=small`")?;
    let profile = ProfileName::from_str(name, false);
    Ok((
        column.into(),
        profile.map_err(|_| format!("expected fast, balanced or small, found {name:?}"))?,
    ))
}

fn max_error(text: &str) -> Result<(String, f64), String> {
    let (column, bound) = of_column(text, "COLUMN=BOUND, as in `embedding=0.001`")?;
    Ok((
        column.into(),
        bound
            .parse()
            .map_err(|_| format!("expected a number, found {bound:?}"))?,
    ))
}

fn aggregates(text: &str) -> Result<(String, Vec<staffa::Aggregate>), String> {
    let (column, names) = of_column(text, "COLUMN=AGGREGATE, as in `price=min,max`")?;
    let all = names.split(',').map(|name| {
        name.parse()
            .map_err(|error: staffa::Error| error.to_string())
    });
    Ok((column.into(), all.collect::<Result<_, _>>()?))
}

fn of_column<'a>(text: &'a str, expected: &str) -> Result<(&'a str, &'a str), String> {
    // The last `=`: a column's name may hold one, what is asked for never does.
    let parts = text
        .rsplit_once('=')
        .filter(|(column, asked)| !column.is_empty() && !asked.is_empty());
    parts.ok_or_else(|| format!("expected {expected}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn delimiters_and_encodings_parse() {
        assert_eq!(delimiter("tab"), Ok(b'\t'));
        assert_eq!(delimiter(";"), Ok(b';'));
        assert!(delimiter("ab").is_err() && delimiter("\"").is_err() && delimiter("é").is_err());
        assert_eq!(encoding("a=b=alp"), Ok(("a=b".into(), "alp".into())));
        assert_eq!(
            column_profile("a=b=small"),
            Ok(("a=b".into(), ProfileName::Small))
        );
        assert_eq!(max_error("a=1e-3"), Ok(("a".into(), 1e-3)));
        assert!(column_profile("a=tiny").is_err() && max_error("a=b").is_err());
        assert!(encoding("alp").is_err() && encoding("=alp").is_err() && encoding("a=").is_err());
    }
}
