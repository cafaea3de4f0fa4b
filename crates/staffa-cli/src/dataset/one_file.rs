//! The scan of one file of a dataset: what is read of it, and its rows in the columns of the dataset.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::{FieldRef, SchemaRef};
use staffa_lake::table::{Fit, Folded};

use crate::error::{Failure, Result};
use crate::formats::Table;
use crate::formats::scan::{Batches, ScanOptions};
use crate::terminal::progress::Meter;

/// A file, and how its rows become rows of the dataset.
pub(super) struct OneFile {
    pub(super) name: String,
    /// The columns of the dataset, keys included.
    pub(super) all: SchemaRef,
    /// The columns of the file.
    pub(super) own: SchemaRef,
    /// Keys of its folders, one row.
    pub(super) keys: RecordBatch,
}

impl OneFile {
    /// The rows of the file that `options` ask for; `None` if its keys or the columns that it lacks leave
    /// none.
    pub(super) fn scan(
        self,
        table: Box<dyn Table>,
        options: &ScanOptions,
        meter: Meter,
    ) -> Result<Option<Batches>> {
        let path = PathBuf::from(&self.name);
        let fail = move |error| Failure::staffa(&path, error);
        let fit = Fit::new(self.all.clone(), self.own.clone(), &self.keys).map_err(&fail)?;
        if fit.is_same() {
            return table.scan(self.own, options, meter).map(Some);
        }
        let folded = options.filter.as_ref().map(|filter| fit.fold(filter));
        let folded = folded.transpose();
        let folded = folded.map_err(|error| Failure::usage(format!("--where: {error}")))?;
        let (pushed, exact) = match folded {
            Some(Folded::Never) => return Ok(None),
            Some(Folded::Always) | None => (None, true),
            Some(Folded::Rest { by, exact }) => (Some(by), exact),
            Some(Folded::Unknown) => (None, false),
        };
        // What is still to be done when the rows have the columns of the dataset.
        let rest = ScanOptions {
            columns: options.columns.clone(),
            filter: options.filter.clone().filter(|_| !exact),
            limit: options.limit,
            ..ScanOptions::default()
        };
        let needed = match rest.projection(&self.all)? {
            None => self.all.clone(),
            Some(indices) => {
                let needed = self.all.project(&indices);
                needed
                    .map_err(|error| Failure::arrow("--columns", &error))?
                    .into()
            }
        };
        let stored = |field: &&FieldRef| !fit.is_constant(field.name());
        let names = needed.fields().iter().filter(stored);
        let mut names: Vec<String> = names.map(|field| field.name().clone()).collect();
        if names.is_empty() {
            // Of one column, to know the number of rows.
            names.extend(self.own.fields().first().map(|field| field.name().clone()));
        }
        let inner = ScanOptions {
            columns: Some(names),
            filter: pushed,
            limit: options.limit.filter(|_| exact),
            ..options.clone()
        };
        let batches = table.scan(self.own, &inner, meter)?;
        let fitted = batches.map(move |batch| fit.assemble(&batch?, &needed).map_err(&fail));
        Ok(Some(rest.apply(Box::new(fitted))))
    }
}
