//! `head` and `cat`: rows, as a table for people, or as CSV, JSON lines or an Arrow stream for
//! programs.

use std::io::Write;
use std::path::Path;

use arrow_schema::SchemaRef;

use crate::cli::{Cat, Head, PrintFormat, Printing, Reading};
use crate::dataset::{Inputs, expand};
use crate::error::Result;
use crate::files::output::Output;
use crate::formats::scan::Wanted;
use crate::formats::{self, Batches, CsvOptions, Format};
use crate::print::table::TablePrinter;
use crate::terminal::progress::Meter;

pub(super) fn head(args: &Head) -> Result<()> {
    let mut wanted = Wanted::new(&args.selecting)?;
    wanted.limit = Some(args.rows);
    let inputs = Inputs::open(std::slice::from_ref(&args.file), &args.reading)?;
    print(inputs, &wanted, args.printing, &args.reading)
}

pub(super) fn cat(args: &Cat) -> Result<()> {
    let mut wanted = Wanted::new(&args.selecting)?;
    wanted.limit = args.limit;
    let inputs = Inputs::open(&expand(&args.files)?, &args.reading)?;
    print(inputs, &wanted, args.printing, &args.reading)
}

fn print(inputs: Inputs, wanted: &Wanted, printing: Printing, reading: &Reading) -> Result<()> {
    let (schema, batches) = inputs.scan(wanted, &Meter::default())?;
    print_batches(schema, batches, printing, reading)
}

/// Batches as they are wanted.
pub(super) fn print_batches(
    schema: SchemaRef,
    batches: Batches,
    printing: Printing,
    reading: &Reading,
) -> Result<()> {
    let format = match printing.format {
        _ if printing.json => Format::Json,
        PrintFormat::Json => Format::Json,
        PrintFormat::Csv => Format::Csv,
        PrintFormat::Arrow => Format::Arrows,
        PrintFormat::Table => return print_table(schema, batches),
    };
    // The options of CSV describe the input here, but for what stands for NULL.
    let csv = CsvOptions::new(
        Path::new(""),
        &Reading {
            csv_null: reading.csv_null.clone(),
            ..Reading::default()
        },
    );
    let mut sink = formats::create(format, Output::standard(), &schema, &csv)?;
    for batch in batches {
        sink.write(&batch?)?;
    }
    sink.finish()?;
    Ok(())
}

fn print_table(schema: SchemaRef, batches: Batches) -> Result<()> {
    let mut out = super::out();
    let mut printer = TablePrinter::new(schema);
    for batch in batches {
        printer.print(&mut out, &batch?)?;
    }
    printer.finish(&mut out)?;
    Ok(out.flush()?)
}
