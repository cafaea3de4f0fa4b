//! `aggregate`: counts, minima, maxima, sums and means, from the statistics of the file where possible.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use staffa::Aggregate;

use super::{column_value, open_staffa};
use crate::error::{Failure, Result};
use crate::formats::scan::FilterOption;
use crate::print::{PrintOptions, print_batches};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Aggregates: rows, count (of non-NULL values), nulls, min, max, sum, mean, distinct (number of distinct values), sorted
(whether the values ascend)

Examples:
  staffa aggregate trips.staffa price=min,max,mean city=distinct
  staffa aggregate trips.staffa price=sum --where \"city = 'Oban'\" --json")]
pub(crate) struct Args {
    /// A Staffa file
    file: PathBuf,
    /// A column and its aggregates
    #[arg(required = true, value_name = "COLUMN=AGGREGATE,..", value_parser = aggregates)]
    aggregates: Vec<(String, Vec<Wanted>)>,
    #[command(flatten)]
    filter: FilterOption,
    #[command(flatten)]
    print: PrintOptions,
}

/// An aggregate of the library, or one made of several of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Of(Aggregate),
    /// Sum and count.
    Mean,
}

impl Wanted {
    fn parts(self) -> Vec<Aggregate> {
        match self {
            Self::Of(aggregate) => vec![aggregate],
            Self::Mean => vec![Aggregate::Sum, Aggregate::Count],
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let filter = args.filter.parse()?;
    let file = open_staffa(&args.file)?;
    let wanted = args.aggregates.iter();
    let wanted: Vec<(&String, Wanted)> = wanted
        .flat_map(|(column, all)| all.iter().map(move |one| (column, *one)))
        .collect();
    let parts = wanted.iter().flat_map(|(column, wanted)| {
        wanted
            .parts()
            .into_iter()
            .map(move |part| (column.as_str(), part))
    });
    let found = file
        .aggregate(&parts.collect::<Vec<_>>(), filter.as_ref())
        .map_err(|error| Failure::staffa(&args.file, error))?;
    let row = with_means(&found, &wanted)?;
    let schema = row.schema();
    print_batches(&schema, Box::new(std::iter::once(Ok(row))), args.print, &[])
}

/// The row with a mean in place of each sum and count that make it.
fn with_means(found: &RecordBatch, wanted: &[(&String, Wanted)]) -> Result<RecordBatch> {
    let schema = found.schema();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    let mut at = 0;
    for (name, wanted) in wanted {
        match wanted {
            Wanted::Of(_) => {
                fields.push(schema.field(at).clone());
                columns.push(found.column(at).clone());
            }
            Wanted::Mean => {
                fields.push(Field::new(format!("mean({name})"), DataType::Float64, true));
                columns.push(mean(found.column(at), found.column(at + 1))?);
            }
        }
        at += wanted.parts().len();
    }
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new(schema, columns).map_err(|error| Failure::arrow("aggregate", &error))
}

fn mean(sum: &ArrayRef, count: &ArrayRef) -> Result<ArrayRef> {
    let float = |array: &ArrayRef| -> Result<Option<f64>> {
        let numbers = match array.data_type() {
            DataType::Duration(_) => {
                cast(array, &DataType::Int64).and_then(|words| cast(&words, &DataType::Float64))
            }
            _ => cast(array, &DataType::Float64),
        };
        let numbers = numbers.map_err(|error| Failure::arrow("mean", &error))?;
        Ok(numbers
            .as_primitive::<Float64Type>()
            .iter()
            .next()
            .flatten())
    };
    let mean = float(sum)?
        .zip(float(count)?)
        .map(|(sum, count)| sum / count);
    Ok(Arc::new(Float64Array::from(vec![mean])))
}

fn aggregates(text: &str) -> Result<(String, Vec<Wanted>), String> {
    let (column, names) = column_value(text, "COLUMN=AGGREGATE, as in `price=min,max`")?;
    let all = names.split(',').map(|name| {
        if name == "mean" {
            return Ok(Wanted::Mean);
        }
        let parsed = name.parse().map(Wanted::Of);
        parsed.map_err(|error: staffa::Error| error.to_string())
    });
    Ok((column.into(), all.collect::<Result<_, _>>()?))
}
