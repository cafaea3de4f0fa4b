//! The standard output: rows as a table, CSV, JSON lines or an Arrow stream; reports as JSON.

mod cells;
mod table;

use std::io::{BufWriter, Stdout, Write, stdout};

use arrow_schema::SchemaRef;
use clap::{Args, ValueEnum};

pub(crate) use self::cells::{cells, short_type, whole_cell};
use self::table::TablePrinter;
use crate::error::Result;
use crate::files::output::Output;
use crate::formats::scan::Batches;
use crate::formats::text_values::check_zones;
use crate::formats::{self, CsvDialect, Format};

/// How to print rows.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PrintOptions {
    /// Output format: table, csv, json (one object per line), arrow (an IPC stream)
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "table",
        hide_possible_values = true
    )]
    format: PrintFormat,
    /// The same as --format json: one object per line
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// The same as --format csv
    #[arg(long, conflicts_with_all = ["format", "json"])]
    csv: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PrintFormat {
    Table,
    Csv,
    Json,
    Arrow,
}

/// Prints batches; `csv_nulls` are the texts of NULL in CSV.
pub(crate) fn print_batches(
    schema: &SchemaRef,
    batches: Batches,
    options: PrintOptions,
    csv_nulls: &[String],
) -> Result<()> {
    let format = match options.format {
        _ if options.json => Format::Json,
        _ if options.csv => Format::Csv,
        PrintFormat::Json => Format::Json,
        PrintFormat::Csv => Format::Csv,
        PrintFormat::Arrow => Format::Arrows,
        PrintFormat::Table => return print_table(schema, batches),
    };
    let csv = CsvDialect::with_nulls(csv_nulls);
    let mut sink = formats::create(format, Output::standard(), schema, &csv)?;
    for batch in batches {
        sink.write(&batch?)?;
    }
    sink.finish()?;
    Ok(())
}

fn print_table(schema: &SchemaRef, batches: Batches) -> Result<()> {
    check_zones(schema)?;
    let mut out = standard_output();
    let mut printer = TablePrinter::new(schema);
    for batch in batches {
        printer.print(&mut out, &batch?)?;
    }
    printer.finish(&mut out)?;
    Ok(out.flush()?)
}

/// Prints a value as one indented JSON document.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let mut out = standard_output();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// The standard output, buffered. Errors are checked: a closed pipe ends the program without a
/// message.
pub(crate) fn standard_output() -> BufWriter<Stdout> {
    BufWriter::new(stdout())
}
