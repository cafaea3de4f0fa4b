//! One record batch for pyarrow, and operations that pyarrow lacks: filters and casts of every Arrow
//! type.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, cast::AsArray};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use arrow_select::filter::FilterBuilder;
use pyo3::prelude::*;
use pyo3_arrow::PyArray;
use staffa::Error;

use crate::errors::{run, run_attached};
use crate::import;

/// A record batch.
#[pyclass(frozen, module = "staffa._staffa")]
pub(crate) struct Batch(pub(crate) RecordBatch);

#[pymethods]
impl Batch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    /// As a `pyarrow.RecordBatch`, without copying.
    fn to_pyarrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        run_attached(py, || import::record_batch(py, &self.0))
    }

    /// All columns, flattened: see [`flattened_type`]. Names, metadata and extension types stay.
    fn flattened(&self, py: Python<'_>) -> PyResult<Self> {
        run(py, || Ok(Self(flatten(&self.0)?)))
    }

    /// The columns at these positions, flattened, without metadata and extension types: pyarrow can
    /// compare them.
    fn comparable(&self, py: Python<'_>, columns: Vec<usize>) -> PyResult<Self> {
        run(py, || {
            let batch = self.0.project(&columns)?;
            let (mut fields, mut arrays) = (Vec::new(), Vec::new());
            for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
                let data_type = flattened_type(field.data_type());
                arrays.push(cast(array, &data_type)?);
                fields.push(Field::new(field.name(), data_type, field.is_nullable()));
            }
            Ok(Self(record_batch(
                Schema::new(fields),
                arrays,
                batch.num_rows(),
            )?))
        })
    }

    /// The first `columns` columns of the rows where `mask` is true (not false, not NULL).
    fn filter(&self, py: Python<'_>, mask: PyArray, columns: usize) -> PyResult<Self> {
        let (mask, _) = mask.into_inner();
        run(py, || {
            let mask: &BooleanArray = mask
                .as_boolean_opt()
                .filter(|mask| mask.len() == self.0.num_rows())
                .ok_or_else(|| {
                    Error::invalid("the mask of a filter must be one boolean per row")
                })?;
            let batch = self.0.project(&(0..columns).collect::<Vec<_>>())?;
            let filter = FilterBuilder::new(mask).optimize().build();
            let arrays = batch
                .columns()
                .iter()
                .map(|array| filter.filter(array))
                .collect::<Result<_, _>>()?;
            Ok(Self(record_batch(
                batch.schema().as_ref().clone(),
                arrays,
                filter.count(),
            )?))
        })
    }
}

/// A batch of `rows` rows, also without columns.
fn record_batch(schema: Schema, arrays: Vec<ArrayRef>, rows: usize) -> staffa::Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        Arc::new(schema),
        arrays,
        &options,
    )?)
}

/// The batch with flattened columns: see [`flattened_type`].
pub(crate) fn flatten(batch: &RecordBatch) -> staffa::Result<RecordBatch> {
    let schema = flattened_schema(batch.schema_ref());
    let columns = schema.fields().iter().zip(batch.columns());
    let arrays = columns
        .map(|(field, array)| cast(array, field.data_type()))
        .collect::<Result<_, _>>()?;
    record_batch(schema, arrays, batch.num_rows())
}

fn cast(array: &ArrayRef, data_type: &DataType) -> staffa::Result<ArrayRef> {
    Ok(if array.data_type() == data_type {
        array.clone()
    } else {
        arrow_cast::cast(array, data_type)?
    })
}

pub(crate) fn flattened_schema(schema: &Schema) -> Schema {
    let fields = schema
        .fields()
        .iter()
        .map(|field| with_data_type(field, flattened_type(field.data_type())));
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

fn with_data_type(field: &FieldRef, data_type: DataType) -> FieldRef {
    if *field.data_type() == data_type {
        return field.clone();
    }
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// The type of the same values that all engines support and pyarrow compares: no views, no run-ends,
/// dictionaries only at the top level.
fn flattened_type(data_type: &DataType) -> DataType {
    let child = |field: &FieldRef| {
        let inner = match field.data_type() {
            DataType::Dictionary(_, values) => flattened_type(values),
            other => flattened_type(other),
        };
        with_data_type(field, inner)
    };
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::RunEndEncoded(_, values) => flattened_type(values.data_type()),
        DataType::Dictionary(keys, values) => {
            DataType::Dictionary(keys.clone(), Box::new(flattened_type(values)))
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(child).collect()),
        DataType::List(item) | DataType::ListView(item) => DataType::List(child(item)),
        DataType::LargeList(item) | DataType::LargeListView(item) => {
            DataType::LargeList(child(item))
        }
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(child(item), *size),
        DataType::Map(entries, sorted) => DataType::Map(child(entries), *sorted),
        other => other.clone(),
    }
}
