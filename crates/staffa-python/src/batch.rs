//! One record batch on its way to pyarrow, and what pyarrow cannot do with it: select rows of every
//! Arrow type.

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

    /// Names, types and metadata of the columns, as text to tell them from others.
    fn described(&self) -> String {
        format!("{:?}", self.0.schema_ref().fields())
    }

    /// As a `pyarrow.RecordBatch`, without copying.
    fn to_pyarrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        run_attached(py, || import::record_batch(py, &self.0))
    }

    /// All columns, each in the type that every engine knows; names, metadata and extension types
    /// stay.
    fn unfolded(&self, py: Python<'_>) -> PyResult<Self> {
        run(py, || Ok(Self(unfold(&self.0)?)))
    }

    /// The columns at these positions, each in the type that pyarrow can compare: views and
    /// run-ends unfolded.
    fn plain(&self, py: Python<'_>, columns: Vec<usize>) -> PyResult<Self> {
        run(py, || {
            let batch = self.0.project(&columns)?;
            let (mut fields, mut arrays) = (Vec::new(), Vec::new());
            for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
                let plain = plain_type(field.data_type());
                arrays.push(if plain == *field.data_type() {
                    array.clone()
                } else {
                    arrow_cast::cast(array, &plain)?
                });
                fields.push(Field::new(field.name(), plain, field.is_nullable()));
            }
            Ok(Self(with_rows(
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
            Ok(Self(with_rows(
                batch.schema().as_ref().clone(),
                arrays,
                filter.count(),
            )?))
        })
    }
}

/// A batch of `rows` rows, even where it has no columns that would tell.
fn with_rows(schema: Schema, arrays: Vec<ArrayRef>, rows: usize) -> staffa::Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        Arc::new(schema),
        arrays,
        &options,
    )?)
}

/// The batch in types that every engine knows: see [`plain_type`].
pub(crate) fn unfold(batch: &RecordBatch) -> staffa::Result<RecordBatch> {
    let schema = unfolded_schema(batch.schema_ref());
    let plain = |(field, array): (&FieldRef, &ArrayRef)| -> staffa::Result<ArrayRef> {
        let same = field.data_type() == array.data_type();
        Ok(if same {
            array.clone()
        } else {
            arrow_cast::cast(array, field.data_type())?
        })
    };
    let arrays = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .map(plain)
        .collect::<Result<_, _>>()?;
    with_rows(schema, arrays, batch.num_rows())
}

pub(crate) fn unfolded_schema(schema: &Schema) -> Schema {
    let fields = schema
        .fields()
        .iter()
        .map(|field| plain_field(field, plain_type(field.data_type())));
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

fn plain_field(field: &FieldRef, data_type: DataType) -> FieldRef {
    if *field.data_type() == data_type {
        return field.clone();
    }
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// The type of the same values that pyarrow compares and engines push filters into: no views, no
/// run-ends, dictionaries at the top only.
fn plain_type(data_type: &DataType) -> DataType {
    let child = |field: &FieldRef| {
        let inner = match field.data_type() {
            DataType::Dictionary(_, values) => plain_type(values),
            other => plain_type(other),
        };
        plain_field(field, inner)
    };
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type()),
        DataType::Dictionary(keys, values) => {
            DataType::Dictionary(keys.clone(), Box::new(plain_type(values)))
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
