//! `stats`: each column in figures.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat;
use serde_json::{Value, json};
use staffa::{Aggregate, aggregate_batches};

use crate::dataset::Dataset;
use crate::error::{Failure, Result};
use crate::formats::ReadOptions;
use crate::formats::scan::{ScanOptions, SelectOptions};
use crate::formats::text_values::{as_text_values, check_zones};
use crate::print::{print_json, standard_output};
use crate::terminal::progress::Progress;
use crate::terminal::text::Align::{Left, Right};
use crate::terminal::text::{counted, grid, number, printable, shortened};

/// Different values that are counted in a column; of more, none are.
const MAX_DISTINCT: usize = 1_000_000;
/// Widest value.
const WIDTH: usize = 24;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
NULLs, distinct values, the smallest, the largest and the mean, the most frequent values with
their numbers. Every row is read; `staffa inspect` has NULLs and bounds of a Staffa file at once.
Floats are in total order: NaN is greater than all else, and max is NaN where a NaN occurs.

Examples:
  staffa stats trips.staffa
  staffa stats trips.csv --columns price,city --top 5
  staffa stats trips.parquet --where \"city = 'Oban'\" --json")]
pub(crate) struct Args {
    /// Any files that `convert` reads, folders and wildcards allowed
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Number of most frequent values to show
    #[arg(long, value_name = "N", default_value_t = 3)]
    top: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    select: SelectOptions,
    #[command(flatten)]
    read: ReadOptions,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let options = ScanOptions::new(&args.select)?;
    let dataset = Dataset::open(&args.files, &args.read)?;
    let progress = Progress::new(dataset.bytes, false);
    let (schema, batches) = dataset.scan(&options, &progress.meter())?;
    check_zones(&schema)?;
    let mut columns: Vec<Column> = schema
        .fields()
        .iter()
        .map(|field| Column::new(field))
        .collect();
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        for (column, values) in columns.iter_mut().zip(batch.columns()) {
            column.add(values)?;
        }
        progress.batch(&batch, rows, false);
    }
    progress.finish();
    let found = columns.into_iter().map(|column| column.finish(args.top));
    let found = found.collect::<Result<Vec<_>>>()?;
    if args.json {
        let columns: Vec<Value> = found.iter().map(Figures::describe).collect();
        return print_json(&json!({"rows": rows, "columns": columns}));
    }
    let mut out = standard_output();
    writeln!(out, "{}\n", counted(rows, "row"))?;
    let header = [
        "column",
        "type",
        "NULLs",
        "distinct",
        "min",
        "max",
        "mean",
        "top values",
    ];
    let mut lines = vec![header.map(String::from).to_vec()];
    lines.extend(found.iter().map(Figures::line));
    grid(
        &mut out,
        &[Left, Left, Right, Right, Left, Left, Right, Left],
        &lines,
    )?;
    Ok(out.flush()?)
}

/// A column as far as it is read.
struct Column {
    field: Field,
    nulls: u64,
    values: u64,
    sum: f64,
    /// Smallest and largest values of the batches, which are aggregated again from time to time.
    ends: Option<[Vec<ArrayRef>; 2]>,
    has_mean: bool,
    /// The numbers of the values; None of nested columns, or after too many.
    counts: Option<HashMap<String, u64>>,
}

impl Column {
    fn new(field: &Field) -> Self {
        let plain = !field.data_type().is_nested();
        let has = |aggregate| {
            let schema = std::sync::Arc::new(Schema::new(vec![Field::clone(field)]));
            aggregate_batches(&schema, [], &[(field.name(), aggregate)]).is_ok()
        };
        Self {
            field: field.clone(),
            nulls: 0,
            values: 0,
            sum: 0.0,
            ends: (plain && has(Aggregate::Min)).then(Default::default),
            has_mean: plain && is_number(field.data_type()),
            counts: plain.then(HashMap::new),
        }
    }

    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        let nulls = values.logical_null_count();
        self.nulls += nulls as u64;
        self.values += (values.len() - nulls) as u64;
        let fail = |error| Failure::arrow("stats", &error);
        if self.has_mean {
            let floats = cast(values, &DataType::Float64).map_err(fail)?;
            self.sum += floats
                .as_primitive::<Float64Type>()
                .iter()
                .flatten()
                .sum::<f64>();
        }
        if let Some([smallest, largest]) = &mut self.ends {
            for (ends, aggregate) in [(smallest, Aggregate::Min), (largest, Aggregate::Max)] {
                ends.push(extreme(&self.field, values, aggregate)?);
                if ends.len() > 1000 {
                    *ends = vec![of_ends(ends, aggregate)?];
                }
            }
        }
        self.count(values)
    }

    fn count(&mut self, values: &ArrayRef) -> Result<()> {
        let Some(counts) = &mut self.counts else {
            return Ok(());
        };
        let fail = |error| Failure::arrow("stats", &error);
        let values = as_text_values(values).map_err(fail)?;
        let options = FormatOptions::new().with_display_error(true);
        let formatter = ArrayFormatter::try_new(&values, &options).map_err(fail)?;
        let nulls = values.logical_nulls();
        for row in 0..values.len() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                continue;
            }
            *counts.entry(formatter.value(row).to_string()).or_default() += 1;
        }
        if counts.len() > MAX_DISTINCT {
            self.counts = None;
        }
        Ok(())
    }

    fn finish(self, top: usize) -> Result<Figures> {
        let text = |ends: &[ArrayRef], aggregate| -> Result<Option<String>> {
            let end = as_text_values(&of_ends(ends, aggregate)?);
            let end = end.map_err(|error| Failure::arrow("stats", &error))?;
            let options = FormatOptions::new().with_display_error(true);
            let formatter = ArrayFormatter::try_new(&end, &options);
            let formatter = formatter.map_err(|error| Failure::arrow("stats", &error))?;
            Ok((end.logical_null_count() == 0).then(|| formatter.value(0).to_string()))
        };
        let [min, max] = match &self.ends {
            Some([smallest, largest]) if !smallest.is_empty() => [
                text(smallest, Aggregate::Min)?,
                text(largest, Aggregate::Max)?,
            ],
            _ => [None, None],
        };
        let distinct = self.counts.as_ref().map(|counts| counts.len() as u64);
        let mut values: Vec<(String, u64)> = self.counts.into_iter().flatten().collect();
        values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        values.truncate(top);
        Ok(Figures {
            nested: self.field.data_type().is_nested(),
            data_type: self.field.data_type().to_string(),
            name: self.field.name().clone(),
            nulls: self.nulls,
            distinct,
            min,
            max,
            mean: (self.has_mean && self.values > 0).then(|| self.sum / self.values as f64),
            top: values,
        })
    }
}

fn is_number(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_number(values),
        other => other.is_numeric(),
    }
}

/// The smallest or largest value of an array, which has a type with an order.
fn extreme(field: &Field, values: &ArrayRef, aggregate: Aggregate) -> Result<ArrayRef> {
    let field = Field::clone(field)
        .with_data_type(values.data_type().clone())
        .with_nullable(true);
    let schema = std::sync::Arc::new(Schema::new(vec![field.with_name("x")]));
    let fail = |error| Failure::staffa("stats".as_ref(), error);
    let batch = RecordBatch::try_new(schema.clone(), vec![values.clone()]);
    let batch = batch.map_err(|error| Failure::arrow("stats", &error))?;
    let row = aggregate_batches(&schema, [Ok(batch)], &[("x", aggregate)]).map_err(fail)?;
    Ok(row.column(0).clone())
}

fn of_ends(ends: &[ArrayRef], aggregate: Aggregate) -> Result<ArrayRef> {
    let ends: Vec<&dyn Array> = ends.iter().map(AsRef::as_ref).collect();
    let all = concat(&ends).map_err(|error| Failure::arrow("stats", &error))?;
    extreme(
        &Field::new("x", all.data_type().clone(), true),
        &all,
        aggregate,
    )
}

/// A column in figures.
struct Figures {
    name: String,
    data_type: String,
    nested: bool,
    nulls: u64,
    /// None of nested columns, or if there are too many.
    distinct: Option<u64>,
    min: Option<String>,
    max: Option<String>,
    mean: Option<f64>,
    top: Vec<(String, u64)>,
}

impl Figures {
    fn line(&self) -> Vec<String> {
        let cut = |text: &str| shortened(&printable(text), WIDTH);
        let value = |text: &Option<String>| text.as_deref().map_or("-".into(), cut);
        let distinct = match self.distinct {
            Some(distinct) => number(distinct),
            None if self.nested => "-".into(),
            None => format!("over {}", number(MAX_DISTINCT as u64)),
        };
        // Values that are all different have no most frequent ones.
        let top = self.top.iter().filter(|(_, times)| *times > 1);
        let top: Vec<String> = top
            .map(|(text, times)| format!("{} ({})", cut(text), number(*times)))
            .collect();
        vec![
            cut(&self.name),
            cut(&self.data_type),
            number(self.nulls),
            distinct,
            value(&self.min),
            value(&self.max),
            self.mean.map_or("-".into(), |mean| {
                format!("{mean:.6}")
                    .trim_end_matches('0')
                    .trim_end_matches('.')
                    .into()
            }),
            if top.is_empty() {
                "-".into()
            } else {
                top.join(", ")
            },
        ]
    }

    fn describe(&self) -> Value {
        let top = self
            .top
            .iter()
            .map(|(value, rows)| json!({"value": value, "rows": rows}));
        json!({
            "column": self.name,
            "type": self.data_type,
            "nulls": self.nulls,
            "distinct": self.distinct,
            "min": self.min,
            "max": self.max,
            "mean": self.mean,
            "top": top.collect::<Vec<_>>(),
        })
    }
}
