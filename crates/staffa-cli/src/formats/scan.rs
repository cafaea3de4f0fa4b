//! Which rows and columns: names checked against the schema, the filter, the limit.
//!
//! A Staffa file answers these itself, block by block. The batches of other formats pass through
//! here, by the library's own evaluation, so that the same `--where` keeps the same rows in every
//! format.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use staffa::Predicate;

use crate::cli::Selecting;
use crate::error::{Failure, Result};
use crate::formats::Batches;

/// What a command wants of its input.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) filter: Option<Predicate>,
    pub(crate) limit: Option<u64>,
    pub(crate) threads: Option<usize>,
}

impl Wanted {
    /// Parses the filter; columns are looked up later, by `check`.
    pub(crate) fn new(selecting: &Selecting) -> Result<Self> {
        let filter = selecting
            .filter
            .as_deref()
            .map(str::parse::<Predicate>)
            .transpose();
        let filter = filter.map_err(|error| {
            let what = error.to_string();
            Failure::usage(format!(
                "--where: {}",
                what.trim_start_matches("predicate, ")
            ))
        })?;
        Ok(Self {
            columns: selecting.columns.clone(),
            filter,
            ..Self::default()
        })
    }

    /// The schema of the result, once every name and the types of the filter fit `schema`.
    pub(crate) fn check(&self, schema: &Schema) -> Result<SchemaRef> {
        if let Some(filter) = &self.filter {
            let _fits = row_filter(filter, schema)?;
        }
        let Some(columns) = &self.columns else {
            return Ok(Arc::new(schema.clone()));
        };
        let mut places = Vec::with_capacity(columns.len());
        for name in columns {
            let place = find(schema, name)?;
            if places.contains(&place) {
                return Err(Failure::usage(format!(
                    "--columns: {name:?} is asked for twice"
                )));
            }
            places.push(place);
        }
        schema
            .project(&places)
            .map(Arc::new)
            .map_err(|error| Failure::arrow("--columns", &error))
    }

    /// The places in `schema` of what must be read: the columns and those of the filter, in the
    /// order of the file.
    pub(crate) fn needed(&self, schema: &Schema) -> Result<Option<Vec<usize>>> {
        let Some(columns) = &self.columns else {
            return Ok(None);
        };
        let mut names: Vec<&str> = columns.iter().map(String::as_str).collect();
        if let Some(filter) = &self.filter {
            names.extend(filter.columns());
        }
        let mut places = names
            .into_iter()
            .map(|name| find(schema, name))
            .collect::<Result<Vec<_>>>()?;
        places.sort_unstable();
        places.dedup();
        Ok(Some(places))
    }

    /// Filter, columns and limit over batches that hold at least the `needed` columns.
    pub(crate) fn select(&self, batches: Batches) -> Batches {
        let wanted = self.clone();
        let mut left = self.limit.unwrap_or(u64::MAX);
        let mut filter: Option<RowFilter> = None;
        Box::new(batches.map_while(move |batch| {
            if left == 0 {
                return None;
            }
            let selected = batch.and_then(|batch| {
                let batch = match (&wanted.filter, &mut filter) {
                    (None, _) => batch,
                    (Some(_), Some(filter)) => filter(&batch)?,
                    (Some(predicate), empty) => {
                        empty.insert(row_filter(predicate, &batch.schema())?)(&batch)?
                    }
                };
                let batch = project(&batch, wanted.columns.as_deref())?;
                let rows = batch
                    .num_rows()
                    .min(usize::try_from(left).unwrap_or(usize::MAX));
                left -= rows as u64;
                Ok(batch.slice(0, rows))
            });
            Some(selected)
        }))
    }
}

fn project(batch: &RecordBatch, columns: Option<&[String]>) -> Result<RecordBatch> {
    let Some(columns) = columns else {
        return Ok(batch.clone());
    };
    let schema = batch.schema();
    let places = columns
        .iter()
        .map(|name| find(&schema, name))
        .collect::<Result<Vec<_>>>()?;
    batch
        .project(&places)
        .map_err(|error| Failure::arrow("--columns", &error))
}

/// Where the column is, or which columns there are.
pub(crate) fn find(schema: &Schema, name: &str) -> Result<usize> {
    schema.index_of(name).map_err(|_| {
        const SHOWN: usize = 12;
        let mut known: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
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

/// Keeps the rows of a batch for which a predicate holds.
type RowFilter = Box<dyn Fn(&RecordBatch) -> Result<RecordBatch> + Send>;

/// A filter for batches of one schema; columns and types are checked here.
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

    fn wanted(columns: Option<&str>, filter: Option<&str>) -> Wanted {
        let columns = columns.map(|names| names.split(',').map(Into::into).collect());
        Wanted::new(&Selecting {
            columns,
            filter: filter.map(Into::into),
        })
        .unwrap()
    }

    #[test]
    fn batches_of_any_format_are_filtered_projected_and_cut() {
        let mut wanted = wanted(Some("name"), Some("id < 20 and name = 'n1'"));
        let all: Vec<_> = wanted
            .select(Box::new([Ok(batch()), Ok(batch())].into_iter()))
            .map(Result::unwrap)
            .collect();
        // 1, 8 and 15.
        assert_eq!(
            all.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(),
            [3, 3]
        );
        assert_eq!(all[0].schema().fields().len(), 1);
        wanted.limit = Some(4);
        let cut = wanted.select(Box::new(
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
            let failure = wanted(columns, filter).check(&schema).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{failure}");
        }
        let twice = wanted(Some("id,id"), None).check(&schema).unwrap_err();
        assert_eq!(twice.message, "--columns: \"id\" is asked for twice");
        let syntax = Wanted::new(&Selecting {
            columns: None,
            filter: Some("id <".into()),
        })
        .unwrap_err();
        assert_eq!(syntax.exit, Exit::Usage);
    }

    #[test]
    fn what_must_be_read_includes_the_filter() {
        let schema = batch().schema();
        assert_eq!(wanted(None, Some("id = 1")).needed(&schema).unwrap(), None);
        assert_eq!(
            wanted(Some("name"), Some("id = 1"))
                .needed(&schema)
                .unwrap(),
            Some(vec![0, 1])
        );
    }
}
