//! An open file.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{FieldRef, Schema};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyCapsule};
use pyo3_arrow::ffi::to_schema_pycapsule;
use pyo3_arrow::{PyArray, PyRecordBatchReader};
use staffa::{Aggregate, Error, Predicate, Result, RowSelection, Scan, Split};

use crate::batch::{Batch, flatten, flattened_schema};
use crate::errors::{run, run_attached};
use crate::fork::without_read_ahead_in_a_fork;
use crate::import;
use crate::metrics::{Reads, ScanReads};
use crate::predicate::predicate;
use crate::reader::Reader;
use crate::reports;

/// An open file.
#[pyclass(frozen, module = "staffa._staffa")]
pub(crate) struct File(pub(crate) staffa::File);

#[pymethods]
impl File {
    #[getter]
    fn num_rows(&self) -> u64 {
        self.0.num_rows()
    }

    #[getter]
    fn num_row_groups(&self) -> usize {
        self.0.num_row_groups()
    }

    #[getter]
    fn nbytes(&self) -> u64 {
        self.0.nbytes()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        run_attached(py, || {
            Ok(to_schema_pycapsule(py, self.0.schema().as_ref())?)
        })
    }

    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.0
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect()
    }

    /// A batch without rows, of the columns whose names occur in `text`, or of all columns. Filters are
    /// bound to it.
    #[pyo3(signature = (text=None))]
    fn empty(&self, text: Option<&str>) -> Batch {
        let fields: Vec<_> = self.named(text).cloned().collect();
        Batch(RecordBatch::new_empty(Arc::new(Schema::new_with_metadata(
            fields,
            self.0.schema().metadata().clone(),
        ))))
    }

    /// Names, types and metadata of these columns as text: equal for equal columns.
    #[pyo3(signature = (text=None))]
    fn described(&self, text: Option<&str>) -> String {
        format!("{:?}", self.named(text).collect::<Vec<_>>())
    }

    /// Reads batch by batch; `flattened` as in `Batch`, `split` as of `splits`.
    #[pyo3(signature = (
        columns=None, filter=None, batch_rows=None, limit=None, string_views=false, dictionaries=None, run_ends=None,
        offset=0, flattened=false, split=None, threads=None, reads=None
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "the keyword arguments of the Python method"
    )]
    fn scan(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filter: Option<&Bound<'_, PyAny>>,
        batch_rows: Option<usize>,
        limit: Option<u64>,
        string_views: bool,
        dictionaries: Option<Vec<String>>,
        run_ends: Option<Vec<String>>,
        offset: u64,
        flattened: bool,
        split: Option<(u64, u64)>,
        threads: Option<usize>,
        reads: Option<Reads<'_>>,
    ) -> PyResult<Reader> {
        let (filter, reads) = (filter.map(predicate).transpose()?, ScanReads::new(reads));
        run(py, || {
            let scan = self.start_scan(columns, filter, batch_rows, limit, string_views);
            let mut scan = reads.apply(scan);
            if let Some((start, end)) = split {
                scan = scan.split(self.0.split(start..end)?);
            }
            let scan = scan
                .dictionaries(dictionaries.unwrap_or_default())
                .run_ends(run_ends.unwrap_or_default())
                .threads(threads);
            let reader = without_read_ahead_in_a_fork(scan.offset(offset)).reader()?;
            let stored = reader.schema();
            let flat = Arc::new(flattened_schema(&stored));
            if !flattened || flat == stored {
                return Ok(Reader::new(stored, Box::new(reader)));
            }
            Ok(Reader::new(
                flat,
                Box::new(reader.map(|batch| flatten(&batch?))),
            ))
        })
    }

    /// The splits of a scan, at most `rows` rows of a row group each, without those that the filter excludes: row
    /// group, first row of the file and the row behind the last, and bytes once decoded.
    #[pyo3(signature = (columns=None, filter=None, rows=None))]
    fn splits(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filter: Option<&Bound<'_, PyAny>>,
        rows: Option<usize>,
    ) -> PyResult<Vec<(usize, u64, u64, u64)>> {
        let filter = filter.map(predicate).transpose()?;
        run(py, || {
            let scan = self.start_scan(columns, filter, None, None, false);
            let described = |split: Split| {
                let bytes = scan.decoded_bytes(&split)?;
                let of_file = split.bytes();
                let bytes = bytes.unwrap_or(of_file.end - of_file.start);
                let rows = split.rows();
                Ok((split.row_group(), rows.start, rows.end, bytes))
            };
            let splits = scan.splits(rows.unwrap_or(usize::MAX))?;
            splits.into_iter().map(described).collect()
        })
    }

    /// Reads everything into a `pyarrow.Table`.
    #[pyo3(signature = (
        columns=None, filter=None, limit=None, string_views=false, dictionaries=None, run_ends=None, reads=None
    ))]
    #[allow(clippy::too_many_arguments)] // Python's keyword arguments.
    fn read<'py>(
        &self,
        py: Python<'py>,
        columns: Option<Vec<String>>,
        filter: Option<&Bound<'_, PyAny>>,
        limit: Option<u64>,
        string_views: bool,
        dictionaries: Option<Vec<String>>,
        run_ends: Option<Vec<String>>,
        reads: Option<Reads<'_>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (filter, reads) = (filter.map(predicate).transpose()?, ScanReads::new(reads));
        // Whole row groups fill huge pages, and all batches stay in memory anyway.
        let batch_rows = limit.is_none().then_some(1 << 20);
        let scan = || {
            let scan = self.start_scan(columns, filter, batch_rows, limit, string_views);
            reads
                .apply(scan)
                .dictionaries(dictionaries.unwrap_or_default())
                .run_ends(run_ends.unwrap_or_default())
        };
        let mut reader = run(py, || {
            without_read_ahead_in_a_fork(scan().read_ahead(usize::MAX)).reader()
        })?;
        let schema = reader.schema();
        let mut batches = Vec::new();
        while let Some(batch) = run(py, || reader.next().transpose())? {
            batches.push(batch);
            py.check_signals()?;
        }
        run_attached(py, || import::table(py, &schema, &batches))
    }

    /// Reads the rows at these positions, an array of int64 or uint64 or the bytes of int64, or the true
    /// rows of a mask, into a `pyarrow.Table`.
    #[pyo3(signature = (indices, columns=None, string_views=false))]
    fn take<'py>(
        &self,
        py: Python<'py>,
        indices: Indices,
        columns: Option<Vec<String>>,
        string_views: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batch = run(py, || self.read_indices(&indices, columns, string_views))?;
        run_attached(py, || import::table(py, &batch.schema(), &[batch]))
    }

    /// Reads the rows from `start` up to `end` into a `pyarrow.Table`.
    #[pyo3(signature = (start, end, columns=None, string_views=false))]
    fn take_range<'py>(
        &self,
        py: Python<'py>,
        start: u64,
        end: u64,
        columns: Option<Vec<String>>,
        string_views: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let batch = run(py, || self.read_rows(start..end, columns, string_views))?;
        run_attached(py, || import::table(py, &batch.schema(), &[batch]))
    }

    /// The rows of `take`, flattened as in `Batch`.
    fn take_flattened(
        &self,
        py: Python<'_>,
        indices: Indices,
        columns: Vec<String>,
    ) -> PyResult<Batch> {
        run(py, || {
            let batch = self.read_indices(&indices, Some(columns), false)?;
            Ok(Batch(flatten(&batch)?))
        })
    }

    /// Aggregates, each a `(column, name)`, of the rows that match a predicate: one row.
    #[pyo3(signature = (wanted, filter=None))]
    fn aggregate(
        &self,
        py: Python<'_>,
        wanted: Vec<(String, String)>,
        filter: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Batch> {
        let filter = filter.map(predicate).transpose()?;
        run(py, || {
            Ok(Batch(self.0.aggregate(&named(wanted)?, filter.as_ref())?))
        })
    }

    /// Aggregates of batches with columns of this file.
    #[staticmethod]
    fn aggregate_batches(
        py: Python<'_>,
        batches: PyRecordBatchReader,
        wanted: Vec<(String, String)>,
    ) -> PyResult<Batch> {
        let batches = run_attached(py, || batches.into_reader())?;
        let schema = batches.schema();
        // An imported empty slice has offsets into a buffer that is dropped.
        let filled = |batch: &staffa::Result<RecordBatch>| {
            batch.as_ref().map_or(true, |batch| batch.num_rows() > 0)
        };
        let batches = batches
            .map(|batch| batch.map_err(Error::from))
            .filter(filled);
        run(py, || {
            Ok(Batch(staffa::aggregate_batches(
                &schema,
                batches,
                &named(wanted)?,
            )?))
        })
    }

    /// The encoding trees, as JSON.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        run(py, || reports::explain(&self.0))
    }

    /// The estimates of the chooser, as JSON.
    fn why(&self, py: Python<'_>) -> PyResult<String> {
        run(py, || reports::why(&self.0))
    }

    /// Offsets, sizes and statistics, as JSON.
    fn inspect(&self, py: Python<'_>) -> PyResult<String> {
        run(py, || reports::to_json(&self.0.inspect()?))
    }

    /// The keys and values of the user.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let metadata = run(py, || self.0.metadata())?.into_iter();
        Ok(metadata
            .map(|(key, value)| (key, PyBytes::new(py, &value)))
            .collect())
    }

    /// A hash of the file, of 16 bytes.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.id().map(|id| PyBytes::new(py, &id))
    }

    /// The columns by which the rows are sorted, as JSON.
    fn sort_order(&self, py: Python<'_>) -> PyResult<String> {
        run(py, || reports::to_json(&self.0.sort_order()?))
    }

    /// The names of columns whose type this release does not know.
    #[getter]
    fn unknown_columns(&self) -> Vec<&str> {
        self.0.unknown_columns()
    }

    /// The statistics of every chunk, as JSON.
    fn chunk_statistics(&self, py: Python<'_>) -> PyResult<String> {
        run(py, || reports::to_json(&self.0.chunk_statistics()?))
    }

    /// The statistics of every leaf column, as JSON.
    fn statistics(&self, py: Python<'_>) -> PyResult<String> {
        run(py, || reports::to_json(&self.0.statistics()?))
    }

    /// Checks and decodes everything; returns what was checked, as JSON.
    fn verify(&self, py: Python<'_>) -> PyResult<String> {
        run(py, || reports::to_json(&self.0.verify(&mut |_| {})?))
    }
}

/// Parses the names of aggregates.
fn named(wanted: Vec<(String, String)>) -> Result<Vec<(String, Aggregate)>> {
    wanted
        .into_iter()
        .map(|(column, name)| Ok((column, name.parse()?)))
        .collect()
}

impl File {
    fn start_scan(
        &self,
        columns: Option<Vec<String>>,
        filter: Option<Predicate>,
        batch_rows: Option<usize>,
        limit: Option<u64>,
        string_views: bool,
    ) -> Scan {
        let mut scan = self.0.scan().string_views(string_views);
        if let Some(columns) = columns {
            scan = scan.columns(columns);
        }
        if let Some(filter) = filter {
            scan = scan.filter(filter);
        }
        if let Some(rows) = batch_rows {
            scan = scan.batch_rows(rows);
        }
        if let Some(rows) = limit {
            scan = scan.limit(rows);
        }
        scan
    }

    /// Some rows as one batch.
    fn read_rows<'s>(
        &'s self,
        rows: impl Into<RowSelection<'s>>,
        columns: Option<Vec<String>>,
        string_views: bool,
    ) -> Result<RecordBatch> {
        let take = self.0.take(rows).string_views(string_views);
        match columns {
            Some(columns) => take.columns(columns).read(),
            None => take.read(),
        }
    }

    /// The columns whose names occur in `text`, or all.
    fn named<'f>(&'f self, text: Option<&'f str>) -> impl Iterator<Item = &'f FieldRef> {
        let fields = self.0.schema().fields().iter();
        fields.filter(move |field| text.is_none_or(|text| text.contains(field.name().as_str())))
    }

    fn read_indices(
        &self,
        indices: &Indices,
        columns: Option<Vec<String>>,
        string_views: bool,
    ) -> Result<RecordBatch> {
        let rows = match indices {
            Indices::Words(words) => {
                let words = words.as_chunks().0.iter();
                self.in_range(words.map(|word| i64::from_ne_bytes(*word)))?
            }
            Indices::Array(array) => match array.array().as_boolean_opt() {
                Some(mask) => return self.read_rows(mask, columns, string_views),
                None => self.rows(array.array())?,
            },
        };
        self.read_rows(&rows, columns, string_views)
    }

    /// The row numbers of an array, each checked.
    fn rows(&self, indices: &dyn Array) -> Result<Vec<u64>> {
        if let Some(indices) = indices.as_primitive_opt::<Int64Type>() {
            self.in_range(indices.values().iter().copied())
        } else if let Some(indices) = indices.as_primitive_opt::<UInt64Type>() {
            self.in_range(indices.values().iter().copied())
        } else {
            Err(Error::invalid(format!(
                "indices must be int64 or uint64, found {}",
                indices.data_type()
            )))
        }
    }

    /// Row numbers, each checked against the number of rows.
    fn in_range<N>(&self, rows: impl Iterator<Item = N>) -> Result<Vec<u64>>
    where
        N: Copy + Display + TryInto<u64>,
    {
        let count = self.0.num_rows();
        rows.map(|index| {
            let row = index.try_into().ok().filter(|row| *row < count);
            row.ok_or_else(|| {
                Error::invalid(format!(
                    "index {index} is out of range: the file has {count} rows"
                ))
            })
        })
        .collect()
    }
}

/// Rows by number, or a mask.
#[derive(FromPyObject)]
enum Indices {
    /// Numbers, each an int64.
    #[pyo3(transparent)]
    Words(PyBackedBytes),
    #[pyo3(transparent)]
    Array(PyArray),
}
