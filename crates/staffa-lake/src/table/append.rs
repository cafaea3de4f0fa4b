//! Appending to a table: new files beside those that are there.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_schema::{Schema, SchemaRef};
use staffa::{Error, Result};

use super::fit::by_name;
use super::folder::Folder;
use super::open::Table;
use super::widen::{common, decoded, widened};
use super::write::{TableOptions, TableSummary, TableWriter};

/// Rows that are added to a table in new files under new names. The columns must be those of the table,
/// in any order, of types that the table's hold; the keys in the names of its folders are columns
/// as well.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// use staffa_lake::table::{Append, Folder, TableOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as _)])?;
/// let folder = Folder::new("s3://bucket/numbers/".as_ref())?;
/// let mut append = Append::to(&folder, &batch.schema(), TableOptions::default())?;
/// append.write(&batch)?;
/// append.finish()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Append {
    writer: TableWriter,
    /// The columns of the table, keys included.
    schema: SchemaRef,
}

impl Append {
    /// Begins to append rows of a schema to the table of a folder or of a URL. A folder without files
    /// gets its first ones.
    pub fn to(folder: &Folder, schema: &SchemaRef, options: TableOptions) -> Result<Self> {
        let found = folder.find()?;
        if found.files.is_empty() {
            let writer = TableWriter::new(folder, schema, options)?;
            let schema = schema.clone();
            return Ok(Self { writer, schema });
        }
        // Keys are those of the folders below the table's, not those above it.
        let mut own: BTreeSet<Vec<String>> = BTreeSet::new();
        for file in &found.files {
            let folders = file.folders_below();
            let keys = super::keys(folders.iter().map(String::as_str));
            own.insert(keys.into_iter().map(|(name, _)| name).collect());
        }
        let mut all = own.into_iter();
        let (Some(keys), None) = (all.next(), all.next()) else {
            return Err(Error::invalid(format!(
                "{}: the files have different keys in the names of their folders",
                folder.name()
            )));
        };
        let table = Table::of_found(found)?;
        let stored = table.stored_schema();
        check(schema, &stored, &keys, folder)?;
        let own = keys
            .iter()
            .filter_map(|key| schema.field_with_name(key).ok());
        let own = own.cloned().map(Arc::new);
        let fields: Vec<_> = stored.fields().iter().cloned().chain(own).collect();
        let target_schema = Arc::new(Schema::new_with_metadata(fields, stored.metadata().clone()));
        if !options.partition_by.is_empty() && options.partition_by != keys {
            return Err(Error::invalid(format!(
                "{}: the table is partitioned by {keys:?}, found {:?}",
                folder.name(),
                options.partition_by
            )));
        }
        let options = TableOptions {
            partition_by: keys,
            ..options
        };
        let writer = TableWriter::new(folder, &target_schema, options)?;
        Ok(Self {
            writer,
            schema: target_schema,
        })
    }

    /// Adds rows.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let all = by_name(batch);
        let column = |field: &Arc<arrow_schema::Field>| -> Result<ArrayRef> {
            let own = all.get(field.name());
            let own = *own.ok_or_else(|| Error::internal("a batch that lacks a column"))?;
            if own.data_type() == field.data_type() {
                return Ok(own.clone());
            }
            let plain = cast(own, decoded(own.data_type()))?;
            let wide = widened(&plain, decoded(field.data_type()))?;
            Ok(cast(&wide, field.data_type())?)
        };
        let columns = self
            .schema
            .fields()
            .iter()
            .map(column)
            .collect::<Result<Vec<_>>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &rows)?;
        self.writer.write(&batch)
    }

    /// Makes the new files visible; after an error none is left.
    pub fn finish(self) -> Result<TableSummary> {
        self.writer.finish()
    }
}

/// Refuses rows that are not those of a table: its stored columns and its keys.
fn check(rows: &Schema, stored: &Schema, keys: &[String], folder: &Folder) -> Result<()> {
    let name = folder.name();
    let is_key = |column: &String| keys.contains(column);
    for field in rows.fields() {
        if stored.column_with_name(field.name()).is_none() && !is_key(field.name()) {
            return Err(Error::invalid(format!(
                "the column {:?} is not in {name}",
                field.name()
            )));
        }
    }
    let own = |column: &str| {
        let found = rows.column_with_name(column).map(|(_, field)| field);
        found.ok_or_else(|| {
            Error::invalid(format!(
                "the column {column:?} is missing, which {name} has"
            ))
        })
    };
    for key in keys {
        own(key)?;
    }
    for field in stored.fields() {
        let own = own(field.name())?;
        let (wide, narrow) = (decoded(field.data_type()), decoded(own.data_type()));
        if common(wide, narrow).as_ref() != Some(wide) {
            return Err(Error::invalid(format!(
                "column {:?} is {}, but {} in {name}",
                field.name(),
                own.data_type(),
                field.data_type()
            )));
        }
    }
    Ok(())
}
