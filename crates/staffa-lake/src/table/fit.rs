//! One file in the columns of its table: keys and columns that it lacks are constants, narrower types are
//! widened.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow_cast::cast;
use arrow_schema::{FieldRef, Schema, SchemaRef};
use arrow_select::take::take;
use staffa::{Error, Predicate, Result};

use super::fold::{Folded, fold};
use super::widen::{decoded, widened};

/// How the rows of a file become rows of its table.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int32Array, RecordBatch};
/// use arrow_schema::{DataType, Field, Schema};
/// use staffa_lake::table::{Fit, Folded};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let [a, b] = ["a", "b"].map(|name| Field::new(name, DataType::Int64, true));
/// let table = Arc::new(Schema::new(vec![a, b]));
/// let rows = RecordBatch::try_from_iter([("a", Arc::new(Int32Array::from(vec![1, 2])) as _)])?;
/// let keys = RecordBatch::new_empty(Arc::new(Schema::empty()));
/// let fit = Fit::new(table.clone(), rows.schema(), &keys)?;
/// assert_eq!(fit.fold(&"b > 0".parse()?)?, Folded::Never);
/// assert_eq!(fit.assemble(&rows, &table)?.column(1).null_count(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Fit {
    table: SchemaRef,
    own: SchemaRef,
    constants: RecordBatch,
}

impl Fit {
    /// A file with these columns of its own. `keys` are those of its folders, one row.
    pub fn new(table: SchemaRef, own: SchemaRef, keys: &RecordBatch) -> Result<Self> {
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        let stored: HashSet<&String> = own.fields().iter().map(|field| field.name()).collect();
        for field in table.fields() {
            if let Some(key) = keys.column_by_name(field.name()) {
                columns.push(key.clone());
            } else if !stored.contains(field.name()) {
                columns.push(new_null_array(field.data_type(), 1));
            } else {
                continue;
            }
            fields.push(field.clone());
        }
        let rows = RecordBatchOptions::new().with_row_count(Some(1));
        let schema = Arc::new(Schema::new(fields));
        Ok(Self {
            constants: RecordBatch::try_new_with_options(schema, columns, &rows)?,
            table,
            own,
        })
    }

    /// Whether the column is the same for all rows of the file: a key, or NULL.
    pub fn is_constant(&self, column: &str) -> bool {
        self.constants.column_by_name(column).is_some()
    }

    /// Whether the rows of the file are those of the table as they are.
    pub fn is_same(&self) -> bool {
        let (table, own) = (self.table.fields(), self.own.fields());
        let mut pairs = table.iter().zip(own);
        table.len() == own.len()
            && self.constants.num_columns() == 0
            && pairs.all(|(table, own)| {
                table.name() == own.name() && table.data_type() == own.data_type()
            })
    }

    /// A filter of the table, for the file's own columns.
    pub fn fold(&self, filter: &Predicate) -> Result<Folded> {
        let constants = self.constants.schema();
        // In another type, a comparison may mean something else.
        let is_stored = |path: &str| {
            let types = top(&self.table, path).zip(top(&self.own, path));
            top(&constants, path).is_none()
                && types.is_some_and(|(table, own)| table.data_type() == own.data_type())
        };
        fold(filter, &self.constants, &is_stored)
    }

    /// The rows of a batch of the file in these columns of the table. Fails where a type cannot hold a
    /// value.
    pub fn assemble(&self, batch: &RecordBatch, columns: &SchemaRef) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let (constants, stored) = (by_name(&self.constants), by_name(batch));
        let column = |field: &FieldRef| -> Result<ArrayRef> {
            if let Some(constant) = constants.get(field.name()) {
                return Ok(take(constant, &UInt32Array::from(vec![0; rows]), None)?);
            }
            let missing = || Error::internal("a file without a column that it has");
            let own = *stored.get(field.name()).ok_or_else(missing)?;
            if own.data_type() == field.data_type() {
                return Ok(own.clone());
            }
            let plain = cast(own, decoded(own.data_type()))?;
            Ok(widened(&plain, field.data_type())?)
        };
        let arrays = columns.fields().iter().map(column);
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(
            columns.clone(),
            arrays,
            &rows,
        )?)
    }
}

/// The columns of a batch by name: of many columns, a search for each would take longer than their rows.
pub(super) fn by_name(batch: &RecordBatch) -> HashMap<&String, &ArrayRef> {
    let names = batch.schema_ref().fields().iter().map(|field| field.name());
    names.zip(batch.columns()).collect()
}

/// The column that a path of a filter begins with.
fn top<'s>(schema: &'s Schema, path: &str) -> Option<&'s FieldRef> {
    let named = schema.fields().iter().filter(|field| {
        let rest = path.strip_prefix(field.name().as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    named.max_by_key(|field| field.name().len())
}
