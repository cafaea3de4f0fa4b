//! Columns that are constant within a file: the keys in the names of its folders, as Hive has them, and its own
//! name.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray, UInt32Array, new_null_array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::take::take;
use duckdb_neo::{Error, Result};
use staffa_lake::table::{KeyColumns, Keys, keys};

use crate::error::of_staffa;

/// The columns of a file that have one value each: a name, and an array of that value.
#[derive(Debug, Clone, Default)]
pub(crate) struct Constants(Vec<(String, ArrayRef)>);

impl Constants {
    /// Adds a column of a text.
    pub(crate) fn push_text(&mut self, name: &str, text: &str) {
        let value = Arc::new(StringViewArray::from(vec![text]));
        self.0.push((name.to_owned(), value));
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ArrayRef> {
        let mut all = self.0.iter();
        all.find(|(other, _)| other == name).map(|(_, value)| value)
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = Field> + '_ {
        let field =
            |(name, value): &(String, ArrayRef)| Field::new(name, value.data_type().clone(), true);
        self.0.iter().map(field)
    }

    /// These columns and those of `all` that a file lacks, which are NULL there, as one row.
    pub(crate) fn row(
        &self,
        all: &Schema,
        stored: &Schema,
    ) -> std::result::Result<RecordBatch, ArrowError> {
        let stored: HashSet<&String> = stored.fields().iter().map(|field| field.name()).collect();
        let lacks = |field: &&Arc<Field>| {
            self.get(field.name()).is_none() && !stored.contains(field.name())
        };
        let missing = all.fields().iter().filter(lacks);
        let missing =
            missing.map(|field| (field.name().clone(), new_null_array(field.data_type(), 1)));
        let all = self.0.iter().cloned().chain(missing);
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = all
            .map(|(name, value)| (Field::new(name, value.data_type().clone(), true), value))
            .unzip();
        let rows = RecordBatchOptions::new().with_row_count(Some(1));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &rows)
    }
}

/// The value of a constant column for so many rows.
pub(crate) fn repeated(value: &ArrayRef, rows: usize) -> std::result::Result<ArrayRef, ArrowError> {
    take(value, &UInt32Array::from(vec![0; rows]), None)
}

/// The partition columns of each file. Without a wish, if all files have the same keys: a key of which all
/// values are whole numbers is a number.
pub(crate) fn constants(paths: &[String], wanted: Option<bool>) -> Result<Vec<Constants>> {
    let all: Vec<Keys> = paths.iter().map(|path| of_path(path)).collect();
    let names = |keys: &Keys| {
        keys.iter()
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>()
    };
    let first = all.first().map(names).unwrap_or_default();
    let differs = all.iter().position(|keys| names(keys) != first);
    if wanted == Some(false) || wanted.is_none() && differs.is_some() {
        return Ok(vec![Constants::default(); paths.len()]);
    }
    if let Some((found, path)) = differs.and_then(|i| all.get(i).zip(paths.get(i))) {
        return Err(Error::invalid_input(format!(
            "{path}: hive_partitioning needs the same keys in the folders of all files, found {:?}, but {first:?} of \
             the first",
            names(found)
        )));
    }
    let columns = KeyColumns::of(&all, &|_| false, &|_| false).wide();
    let of_file = |file: usize| {
        let row = columns.rows(file..file + 1).map_err(|e| of_staffa(&e))?;
        let names = columns.fields().iter().map(|field| field.name().clone());
        let values = row
            .columns()
            .iter()
            .map(as_views)
            .collect::<Result<Vec<_>>>()?;
        Ok(Constants(names.zip(values).collect()))
    };
    (0..all.len()).map(of_file).collect()
}

/// The keys in the names of the folders of a path.
fn of_path(path: &str) -> Keys {
    let mut folders: Vec<&str> = path.split(['/', '\\']).collect();
    folders.pop();
    keys(folders)
}

/// Text as views, which DuckDB has.
fn as_views(value: &ArrayRef) -> Result<ArrayRef> {
    if *value.data_type() != DataType::Utf8 {
        return Ok(value.clone());
    }
    arrow_cast::cast(value, &DataType::Utf8View).map_err(crate::error::of_text)
}
