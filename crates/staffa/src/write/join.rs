//! Joining: the batches of a row group become one, window by window, the columns of a window in parallel; small
//! batches that wait become one column by column.

use std::ops::Range;

use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;

use super::window::Window;
use crate::arrow::{batch_of, join_column, no_column, surely_join};
use crate::error::{Error, Result};
use crate::limits::map_parallel;

/// The rows of a row group, as they came.
pub(super) struct Rows {
    /// Of each column, arrays that can be one.
    columns: Vec<Vec<ArrayRef>>,
    len: usize,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The columns of a window as one batch.
    pub(super) fn take(&mut self, window: &Window) -> Result<RecordBatch> {
        self.take_columns(window.columns.clone(), &window.schema)
    }

    /// All columns as one batch.
    pub(super) fn into_batch(mut self, schema: &SchemaRef) -> Result<RecordBatch> {
        self.take_columns(0..self.columns.len(), schema)
    }

    /// These columns as one batch; the schema is theirs alone. The arrays of a column go as soon as they are
    /// joined, so that hardly more memory is needed than the batches take.
    fn take_columns(&mut self, columns: Range<usize>, schema: &SchemaRef) -> Result<RecordBatch> {
        let columns = self.columns.get_mut(columns);
        let columns = columns.ok_or_else(|| Error::internal("a window beyond the columns"))?;
        // The first column's error, whatever the number of threads.
        let joined = map_parallel(schema.fields().iter().zip(columns), |(field, arrays)| {
            Ok(join_column(field, &std::mem::take(arrays)))
        })?;
        let columns = joined.into_iter().map(|joined| {
            joined?.ok_or_else(|| Error::internal("arrays that cannot be one after all"))
        });
        batch_of(schema, columns.collect::<Result<_>>()?, self.len)
    }
}

/// A column of all batches.
enum Column {
    /// Arrays that are one, or can be.
    Joinable(Vec<ArrayRef>),
    /// Arrays that cannot be one, such as of dictionaries that together outgrow their keys.
    Apart(Vec<ArrayRef>),
}

/// The rows of all batches together, or those of each batch where they cannot be one. What has to be joined
/// to tell is joined.
pub(super) fn join(schema: &SchemaRef, batches: Vec<RecordBatch>) -> Result<Vec<Rows>> {
    let lens: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
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
    let columns = map_parallel(columns, |(i, field, arrays)| {
        let arrays = arrays.ok_or_else(|| no_column(i, field));
        Ok(arrays.and_then(|arrays| {
            if surely_join(field, &arrays) {
                return Ok(Column::Joinable(arrays));
            }
            let joined = join_column(field, &arrays)?;
            Ok(joined.map_or(Column::Apart(arrays), |joined| {
                Column::Joinable(vec![joined])
            }))
        }))
    })?;
    let columns = columns.into_iter().collect::<Result<Vec<Column>>>()?;
    if columns
        .iter()
        .any(|column| matches!(column, Column::Apart(_)))
    {
        return apart(&columns, &lens);
    }
    let columns = columns.into_iter().map(|column| match column {
        Column::Joinable(arrays) | Column::Apart(arrays) => arrays,
    });
    Ok(vec![Rows {
        columns: columns.collect(),
        len: lens.iter().sum(),
    }])
}

/// The rows of each batch, of so many rows.
fn apart(columns: &[Column], lens: &[usize]) -> Result<Vec<Rows>> {
    let mut start = 0;
    let batch = |(i, len): (usize, &usize)| {
        let own = start..start + len;
        start = own.end;
        let own = columns.iter().map(|column| match column {
            Column::Joinable(arrays) if arrays.len() < lens.len() => {
                let joined = arrays.first().map(|joined| joined.slice(own.start, *len));
                joined.map(|own| vec![own])
            }
            Column::Joinable(arrays) | Column::Apart(arrays) => {
                arrays.get(i).map(|own| vec![own.clone()])
            }
        });
        let columns = own.collect::<Option<_>>();
        let columns =
            columns.ok_or_else(|| Error::internal("a column of fewer arrays than batches"))?;
        Ok(Rows { columns, len: *len })
    };
    lens.iter().enumerate().map(batch).collect()
}
