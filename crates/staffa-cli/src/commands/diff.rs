//! `diff`: two tables, their columns first and then their rows.

use std::io::Write;
use std::path::PathBuf;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{Schema, SchemaRef};
use serde_json::{Value, json};

use crate::dataset::Dataset;
use crate::error::{Exit, Failure, Result};
use crate::formats::ReadOptions;
use crate::formats::scan::{Batches, ScanOptions, SelectOptions};
use crate::formats::text_values::{as_text_values, check_zone};
use crate::print::{print_json, standard_output};
use crate::terminal::progress::Meter;
use crate::terminal::text::{counted, number, printable, shortened};

/// Widest value.
const WIDTH: usize = 48;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Rows are compared in their order; the formats may differ. The exit code is 1 if anything differs.

Examples:
  staffa diff before.parquet after.staffa
  staffa diff a.csv b.csv --columns id,price --limit 100
  staffa diff a.staffa b.staffa --json | jq .rows_differing")]
pub(crate) struct Args {
    /// The one table: a file, a folder or a wildcard
    a: PathBuf,
    /// The other table
    b: PathBuf,
    /// Number of different values to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
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
    let open = |path: &PathBuf| {
        Dataset::open(std::slice::from_ref(path), &args.read)?.scan(&options, &Meter::default())
    };
    let (ours, theirs) = (open(&args.a)?, open(&args.b)?);
    let columns = differing_columns(&ours.0, &theirs.0);
    let mut comparison = Comparison::new(&ours.0, &theirs.0, args.limit);
    comparison.compare(Slices::new(ours.1), Slices::new(theirs.1))?;
    let same = columns.is_empty() && comparison.is_same();
    if args.json {
        print_json(&comparison.describe(&columns))?;
    } else {
        print(args, &columns, &comparison)?;
    }
    if same {
        Ok(())
    } else {
        Err(Failure::reported(Exit::Data))
    }
}

fn print(args: &Args, columns: &[String], comparison: &Comparison) -> Result<()> {
    let mut out = standard_output();
    for column in columns {
        writeln!(out, "{column}")?;
    }
    for difference in &comparison.shown {
        writeln!(
            out,
            "row {}, column {:?}: {} | {}",
            number(difference.row),
            printable(&difference.column),
            shortened(&printable(&difference.ours), WIDTH),
            shortened(&printable(&difference.theirs), WIDTH)
        )?;
    }
    let [ours, theirs] = comparison.rows;
    if ours != theirs {
        let (a, b) = (args.a.display(), args.b.display());
        writeln!(
            out,
            "{a} has {}, {b} has {}",
            counted(ours, "row"),
            counted(theirs, "row")
        )?;
    }
    match comparison.differing {
        0 if columns.is_empty() && ours == theirs => {
            writeln!(out, "same: {}", counted(ours, "row"))?;
        }
        0 => {}
        rows => writeln!(
            out,
            "{} of {} differ",
            number(rows),
            counted(ours.min(theirs), "row")
        )?,
    }
    Ok(out.flush()?)
}

/// The columns of one table alone, and those of other types.
fn differing_columns(ours: &Schema, theirs: &Schema) -> Vec<String> {
    let mut found = Vec::new();
    for field in ours.fields() {
        match theirs.field_with_name(field.name()) {
            Err(_) => found.push(format!(
                "column {:?}: only in the first table",
                printable(field.name())
            )),
            Ok(other) if other.data_type() != field.data_type() => found.push(format!(
                "column {:?}: {} | {}",
                printable(field.name()),
                field.data_type(),
                other.data_type()
            )),
            Ok(_) => {}
        }
    }
    for field in theirs.fields() {
        if ours.index_of(field.name()).is_err() {
            found.push(format!(
                "column {:?}: only in the second table",
                printable(field.name())
            ));
        }
    }
    found
}

/// A value that differs.
struct Difference {
    row: u64,
    column: String,
    ours: String,
    theirs: String,
}

struct Comparison {
    /// Columns of both tables with one type: name and positions.
    columns: Vec<(String, usize, usize)>,
    rows: [u64; 2],
    differing: u64,
    shown: Vec<Difference>,
    limit: usize,
}

impl Comparison {
    fn new(ours: &SchemaRef, theirs: &SchemaRef, limit: usize) -> Self {
        let both = ours.fields().iter().enumerate().filter_map(|(at, field)| {
            let (other, found) = theirs.column_with_name(field.name())?;
            (found.data_type() == field.data_type()).then(|| (field.name().clone(), at, other))
        });
        Self {
            columns: both.collect(),
            rows: [0, 0],
            differing: 0,
            shown: Vec::new(),
            limit,
        }
    }

    fn is_same(&self) -> bool {
        self.differing == 0 && self.rows[0] == self.rows[1]
    }

    fn compare(&mut self, mut ours: Slices, mut theirs: Slices) -> Result<()> {
        loop {
            let rows = ours.available()?.min(theirs.available()?);
            if rows == 0 {
                self.rows[0] += ours.count_rest()?;
                self.rows[1] += theirs.count_rest()?;
                return Ok(());
            }
            self.compare_slices(&ours.take(rows), &theirs.take(rows))?;
            self.rows.iter_mut().for_each(|sum| *sum += rows as u64);
        }
    }

    fn compare_slices(&mut self, ours: &RecordBatch, theirs: &RecordBatch) -> Result<()> {
        let mut rows: Vec<usize> = Vec::new();
        for (name, at, other) in &self.columns {
            let (a, b) = (ours.column(*at), theirs.column(*other));
            let mut found = Vec::new();
            differing_rows(a, b, 0, &mut found);
            for row in &found {
                if self.shown.len() < self.limit {
                    self.shown.push(Difference {
                        row: self.rows[0] + *row as u64,
                        column: name.clone(),
                        ours: shown(name, a, *row)?,
                        theirs: shown(name, b, *row)?,
                    });
                }
            }
            rows.extend(found);
        }
        rows.sort_unstable();
        rows.dedup();
        self.differing += rows.len() as u64;
        Ok(())
    }

    fn describe(&self, columns: &[String]) -> Value {
        let values = self.shown.iter().map(|found| {
            json!({"row": found.row, "column": found.column, "a": found.ours, "b": found.theirs})
        });
        json!({
            "same": columns.is_empty() && self.is_same(),
            "columns": columns,
            "rows": self.rows,
            "rows_differing": self.differing,
            "values": values.collect::<Vec<_>>(),
        })
    }
}

/// Appends the rows that differ, found by halves: most slices are equal as a whole.
fn differing_rows(a: &ArrayRef, b: &ArrayRef, first: usize, out: &mut Vec<usize>) {
    if a.to_data() == b.to_data() {
        return;
    }
    if a.len() <= 1 {
        out.push(first);
        return;
    }
    let half = a.len() / 2;
    differing_rows(&a.slice(0, half), &b.slice(0, half), first, out);
    let rest = a.len() - half;
    differing_rows(
        &a.slice(half, rest),
        &b.slice(half, rest),
        first + half,
        out,
    );
}

fn shown(column: &str, array: &ArrayRef, row: usize) -> Result<String> {
    let fail = |error| Failure::arrow("diff", &error);
    check_zone(column, array.data_type())?;
    let one = as_text_values(&array.slice(row, 1)).map_err(fail)?;
    let options = FormatOptions::new()
        .with_null("NULL")
        .with_display_error(true);
    let formatter = ArrayFormatter::try_new(&one, &options).map_err(fail)?;
    Ok(formatter.value(0).to_string())
}

/// Batches, cut as wanted.
struct Slices {
    batches: Batches,
    current: Option<RecordBatch>,
}

impl Slices {
    fn new(batches: Batches) -> Self {
        Self {
            batches,
            current: None,
        }
    }

    /// Rows of the current batch; 0 at the end.
    fn available(&mut self) -> Result<usize> {
        while self
            .current
            .as_ref()
            .is_none_or(|batch| batch.num_rows() == 0)
        {
            match self.batches.next().transpose()? {
                Some(batch) => self.current = Some(batch),
                None => return Ok(0),
            }
        }
        Ok(self.current.as_ref().map_or(0, RecordBatch::num_rows))
    }

    fn take(&mut self, rows: usize) -> RecordBatch {
        let batch = self.current.take();
        let batch = batch.unwrap_or_else(|| RecordBatch::new_empty(Schema::empty().into()));
        self.current = Some(batch.slice(rows, batch.num_rows() - rows));
        batch.slice(0, rows)
    }

    fn count_rest(&mut self) -> Result<u64> {
        let mut rows = self
            .current
            .take()
            .map_or(0, |batch| batch.num_rows() as u64);
        for batch in self.batches.by_ref() {
            rows += batch?.num_rows() as u64;
        }
        Ok(rows)
    }
}
