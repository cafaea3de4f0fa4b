//! `aggregate`: counts, minima, maxima, sums and means, from the statistics of the file where possible.

use std::path::PathBuf;

use staffa::Aggregate;

use super::{column_value, open_staffa};
use crate::error::{Failure, Result};
use crate::formats::scan::FilterOption;
use crate::print::{PrintOptions, print_batches};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Aggregates: rows, count (of non-NULL values), nulls, min, max, sum, mean, distinct (number of
distinct values), sorted (whether the values ascend)

Floats are in total order: -0.0 is less than 0.0, NaN greater than all else, so that max is NaN
where a NaN occurs.

Examples:
  staffa aggregate trips.staffa price=min,max,mean city=distinct
  staffa aggregate trips.staffa price=sum --where \"city = 'Oban'\" --json")]
pub(crate) struct Args {
    /// A Staffa file
    file: PathBuf,
    /// A column and its aggregates
    #[arg(required = true, value_name = "COLUMN=AGGREGATE,..", value_parser = aggregates)]
    aggregates: Vec<(String, Vec<Aggregate>)>,
    #[command(flatten)]
    filter: FilterOption,
    #[command(flatten)]
    print: PrintOptions,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let filter = args.filter.parse()?;
    let file = open_staffa(&args.file)?;
    let wanted = args.aggregates.iter();
    let wanted: Vec<(&str, Aggregate)> = wanted
        .flat_map(|(column, all)| all.iter().map(|one| (column.as_str(), *one)))
        .collect();
    let row = file
        .aggregate(&wanted, filter.as_ref())
        .map_err(|error| Failure::staffa(&args.file, error))?;
    let schema = row.schema();
    print_batches(&schema, Box::new(std::iter::once(Ok(row))), args.print, &[])
}

fn aggregates(text: &str) -> Result<(String, Vec<Aggregate>), String> {
    let (column, names) = column_value(text, "COLUMN=AGGREGATE, as in `price=min,max`")?;
    let all = names.split(',').map(|name| {
        name.parse()
            .map_err(|error: staffa::Error| error.to_string())
    });
    Ok((column.into(), all.collect::<Result<_, _>>()?))
}
