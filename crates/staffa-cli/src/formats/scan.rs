//! What a scan reads: columns, filter and limit.
//!
//! A Staffa file applies these itself, block by block. The batches of other formats are filtered
//! here, with the library's evaluation, so that `--where` keeps the same rows in every format.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use clap::Args;
use staffa::Predicate;

use super::bad_rows::BadRows;
use super::column_names::{ColumnNames, column_names};
use crate::error::{Failure, Result};
use crate::terminal::text::quoted_name;

/// A stream of record batches.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// The options that select rows and columns.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Rows and columns")]
pub(crate) struct SelectOptions {
    /// Only these columns, in this order; a name in double quotes may hold a comma: id,"price, net"
    #[arg(long, value_name = "A,B", value_parser = column_names)]
    columns: Vec<ColumnNames>,
    #[command(flatten)]
    pub(crate) filter: FilterOption,
}

/// The option that selects rows.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FilterOption {
    /// Only rows that match: `price < 10 and (name = 'x' or "odd name" is not null)`
    #[arg(long = "where", value_name = "FILTER")]
    filter: Option<String>,
}

impl FilterOption {
    /// Parses the filter; columns are not looked up yet.
    pub(crate) fn parse(&self) -> Result<Option<Predicate>> {
        let parsed = self.filter.as_deref().map(str::parse).transpose();
        parsed.map_err(|error: staffa::Error| {
            let message = error.to_string();
            let message = message.trim_start_matches("predicate, ");
            Failure::usage(format!("--where: {message}"))
        })
    }
}

/// The columns, rows and threads of a scan.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScanOptions {
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) filter: Option<Predicate>,
    pub(crate) limit: Option<u64>,
    /// Rows to pass over at the start; only where `Dataset::can_skip` and without a filter.
    pub(crate) skip: u64,
    pub(crate) threads: Option<usize>,
    /// Where rows of text go that do not parse; None makes them an error.
    pub(crate) bad_rows: Option<BadRows>,
}

impl ScanOptions {
    /// Parses the filter; `check` looks columns up later.
    pub(crate) fn new(select: &SelectOptions) -> Result<Self> {
        let columns = select.columns.iter().flat_map(|names| names.0.clone());
        Ok(Self {
            columns: (!select.columns.is_empty()).then(|| columns.collect()),
            filter: select.filter.parse()?,
            ..Self::default()
        })
    }

    /// Checks all column names and the types of the filter; returns the schema of the result.
    pub(crate) fn check(&self, schema: &Schema) -> Result<SchemaRef> {
        if let Some(filter) = &self.filter {
            let _fits = row_filter(filter, schema)?;
        }
        let Some(columns) = &self.columns else {
            return Ok(Arc::new(schema.clone()));
        };
        let mut indices = Vec::with_capacity(columns.len());
        for name in columns {
            let index = find_column(schema, name)?;
            if indices.contains(&index) {
                return Err(Failure::usage(format!(
                    "--columns: {name:?} is given twice"
                )));
            }
            indices.push(index);
        }
        schema
            .project(&indices)
            .map(Arc::new)
            .map_err(|error| Failure::arrow("--columns", &error))
    }

    /// The indices of the columns to read, those of the filter included, in the order of the file;
    /// None for all.
    pub(crate) fn projection(&self, schema: &Schema) -> Result<Option<Vec<usize>>> {
        let Some(columns) = &self.columns else {
            return Ok(None);
        };
        let mut indices = columns
            .iter()
            .map(|name| find_column(schema, name))
            .collect::<Result<Vec<_>>>()?;
        if let Some(filter) = &self.filter {
            let positions = filter.column_positions(schema);
            indices.extend(positions.map_err(|error| Failure::usage(format!("--where: {error}")))?);
        }
        indices.sort_unstable();
        indices.dedup();
        Ok(Some(indices))
    }

    /// Applies filter, columns and limit to batches that hold at least the `projection`.
    pub(crate) fn apply(&self, batches: Batches) -> Batches {
        let options = self.clone();
        let mut left = self.limit.unwrap_or(u64::MAX);
        let mut filter: Option<RowFilter> = None;
        Box::new(batches.map_while(move |batch| {
            if left == 0 {
                return None;
            }
            let result = batch.and_then(|batch| {
                let batch = match (&options.filter, &mut filter) {
                    (None, _) => batch,
                    (Some(_), Some(filter)) => filter(&batch)?,
                    (Some(predicate), empty) => {
                        empty.insert(row_filter(predicate, &batch.schema())?)(&batch)?
                    }
                };
                let batch = project(&batch, options.columns.as_deref())?;
                let rows = batch
                    .num_rows()
                    .min(usize::try_from(left).unwrap_or(usize::MAX));
                left -= rows as u64;
                Ok(batch.slice(0, rows))
            });
            Some(result)
        }))
    }
}

/// The batches up to and including the first error: a reader may not be asked again after one.
pub(crate) fn until_error(
    mut batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
) -> Batches {
    let mut failed = false;
    Box::new(std::iter::from_fn(move || {
        if failed {
            return None;
        }
        let batch = batches.next()?;
        failed = batch.is_err();
        Some(batch)
    }))
}

fn project(batch: &RecordBatch, columns: Option<&[String]>) -> Result<RecordBatch> {
    let Some(columns) = columns else {
        return Ok(batch.clone());
    };
    let schema = batch.schema();
    let indices = columns
        .iter()
        .map(|name| find_column(&schema, name))
        .collect::<Result<Vec<_>>>()?;
    batch
        .project(&indices)
        .map_err(|error| Failure::arrow("--columns", &error))
}

/// The index of a column; the error lists the columns of the schema.
pub(crate) fn find_column(schema: &Schema, name: &str) -> Result<usize> {
    schema.index_of(name).map_err(|_| {
        const SHOWN: usize = 12;
        let fields = schema.fields().iter();
        let mut known: Vec<String> = fields.map(|field| quoted_name(field.name())).collect();
        let hidden = known.len().saturating_sub(SHOWN);
        known.truncate(SHOWN);
        let more = if hidden > 0 {
            format!(" and {hidden} more")
        } else {
            String::new()
        };
        Failure::usage(format!(
            "there is no column {name:?}; the columns are {}{more}",
            known.join(", ")
        ))
    })
}

/// Keeps the rows of a batch that match a predicate.
type RowFilter = Box<dyn Fn(&RecordBatch) -> Result<RecordBatch> + Send>;

/// Binds a predicate to a schema; checks its columns and types.
fn row_filter(predicate: &Predicate, schema: &Schema) -> Result<RowFilter> {
    let bound = predicate
        .bind(schema)
        .map_err(|error| Failure::usage(format!("--where: {error}")))?;
    Ok(Box::new(move |batch| {
        let kept = bound
            .evaluate(batch)
            .map_err(|error| Failure::unsupported(format!("--where: {error}")))?;
        filter_record_batch(batch, &kept).map_err(|error| Failure::arrow("--where", &error))
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;
    use crate::error::Exit;

    fn batch() -> RecordBatch {
        let ids: ArrayRef = Arc::new(
            (0..100)
                .map(|i| (i % 10 != 0).then_some(i))
                .collect::<Int64Array>(),
        );
        let names: ArrayRef = Arc::new(StringArray::from_iter_values(
            (0..100).map(|i| format!("n{}", i % 7)),
        ));
        RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("name", names, false)])
            .unwrap()
    }

    fn select(columns: Option<&str>, filter: Option<&str>) -> SelectOptions {
        SelectOptions {
            columns: columns
                .and_then(|names| column_names(names).ok())
                .into_iter()
                .collect(),
            filter: FilterOption {
                filter: filter.map(Into::into),
            },
        }
    }

    fn options(columns: Option<&str>, filter: Option<&str>) -> ScanOptions {
        ScanOptions::new(&select(columns, filter)).unwrap()
    }

    #[test]
    fn batches_of_any_format_are_filtered_projected_and_cut() {
        let mut options = options(Some("name"), Some("id < 20 and name = 'n1'"));
        let all: Vec<_> = options
            .apply(Box::new([Ok(batch()), Ok(batch())].into_iter()))
            .map(Result::unwrap)
            .collect();
        // 1, 8 and 15.
        assert_eq!(
            all.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(),
            [3, 3]
        );
        assert_eq!(all[0].schema().fields().len(), 1);
        options.limit = Some(4);
        let cut = options.apply(Box::new(
            [Ok(batch()), Ok(batch()), Ok(batch())].into_iter(),
        ));
        assert_eq!(cut.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 4);
    }

    #[test]
    fn unknown_names_and_wrong_types_are_usage_errors() {
        let schema = batch().schema();
        for (columns, filter) in [
            (Some("nope"), None),
            (None, Some("nope = 1")),
            (None, Some("id = 'x'")),
        ] {
            let failure = options(columns, filter).check(&schema).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{failure}");
        }
        let twice = options(Some("id,id"), None).check(&schema).unwrap_err();
        assert_eq!(twice.message, "--columns: \"id\" is given twice");
        let syntax = ScanOptions::new(&select(None, Some("id <"))).unwrap_err();
        assert_eq!(syntax.exit, Exit::Usage);
    }

    #[test]
    fn the_projection_includes_the_filter() {
        let schema = batch().schema();
        assert_eq!(
            options(None, Some("id = 1")).projection(&schema).unwrap(),
            None
        );
        assert_eq!(
            options(Some("name"), Some("id = 1"))
                .projection(&schema)
                .unwrap(),
            Some(vec![0, 1])
        );
    }
}
