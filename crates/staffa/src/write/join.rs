//! Joining: the batches of a row group to one, columns in parallel.

use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;

use crate::arrow::{batch_of, join_column, no_column};
use crate::error::{Error, Result};
use crate::read::map_parallel;

/// A column of all batches.
enum Column {
    Joined(ArrayRef),
    /// Arrays that cannot be one, such as of dictionaries that together outgrow their keys.
    Apart(Vec<ArrayRef>),
}

/// The rows of all batches as one, or the batches where they cannot be one. The arrays of a column go as
/// soon as they are joined, so that hardly more memory is needed than the batches take.
pub(super) fn join(schema: &SchemaRef, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
    let rows: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    let mut parts: Vec<_> = batches
        .into_iter()
        .map(|batch| batch.into_parts().1.into_iter())
        .collect();
    let fields = schema.fields().iter().enumerate();
    let columns = fields.map(|(i, field)| {
        let arrays = parts.iter_mut().map(Iterator::next);
        (i, field, arrays.collect::<Option<Vec<ArrayRef>>>())
    });
    // The first column's error, whatever the number of threads.
    let joined = map_parallel(columns, |(i, field, arrays)| {
        let arrays = arrays.ok_or_else(|| no_column(i, field));
        Ok(arrays.and_then(|arrays| {
            let joined = join_column(field, &arrays)?;
            Ok(joined.map_or(Column::Apart(arrays), Column::Joined))
        }))
    })?;
    let columns = joined.into_iter().collect::<Result<Vec<Column>>>()?;
    if columns
        .iter()
        .any(|column| matches!(column, Column::Apart(_)))
    {
        return cut(schema, &columns, &rows);
    }
    let columns = columns.into_iter().filter_map(|column| match column {
        Column::Joined(array) => Some(array),
        Column::Apart(_) => None,
    });
    Ok(vec![batch_of(
        schema,
        columns.collect(),
        rows.iter().sum(),
    )?])
}

/// The batches again, of so many rows each.
fn cut(schema: &SchemaRef, columns: &[Column], rows: &[usize]) -> Result<Vec<RecordBatch>> {
    let mut start = 0;
    let batch = |(i, rows): (usize, &usize)| {
        let own = start..start + rows;
        start = own.end;
        let own = columns.iter().map(|column| match column {
            Column::Joined(array) => Ok(array.slice(own.start, *rows)),
            Column::Apart(arrays) => {
                let array = arrays.get(i).cloned();
                array.ok_or_else(|| Error::internal("a column of fewer arrays than batches"))
            }
        });
        batch_of(schema, own.collect::<Result<_>>()?, *rows)
    };
    rows.iter().enumerate().map(batch).collect()
}
