//! Scans: which columns, which rows, in batches of which size.
//!
//! Row groups and blocks whose zone maps exclude a match are skipped. The predicate's columns are
//! read first, the others only where some row matches.
//!
//! ```text
//! Scan (builder) -> Reader, ArrowReader: tasks -> decoded ahead by threads -> in order -> offset, limit -> batches
//!                -> Steps: tasks -> byte ranges that they need, fetched by the caller        -> batches
//! ```

mod blocking;
mod checked;
mod pace;
mod plan;
mod queue;
mod reader;
mod requests;
mod row_numbers;
mod split;
mod steps;
mod task;
mod window;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
pub use reader::{ArrowReader, Reader};
pub use split::Split;
use steps::AHEAD_BYTES;
pub use steps::{Step, Steps};
pub(super) use task::ScanTask;

use self::blocking::BlockingSteps;
use self::plan::{RowTest, TestFn};
use self::reader::{LocalTasks, Tasks};
use super::File;
use super::batch::STEP_ROWS;
use super::metrics::{ScanMetrics, ScanReads};
use super::prefetch::Prefetch;
use crate::arrow::with_string_views;
use crate::error::Result;
use crate::limits::Cancel;
use crate::predicate::Predicate;

/// Bytes of batches decoded ahead of the reader: as many as the pool of memory keeps.
const READ_AHEAD: usize = 64 << 20;

/// A builder for a scan, made by [`File::scan`].
#[derive(Debug, Clone)]
pub struct Scan {
    file: File,
    columns: Option<Vec<String>>,
    filter: Option<Predicate>,
    test: Option<RowTest<Vec<String>>>,
    offset: u64,
    limit: Option<u64>,
    batch_rows: usize,
    types: ReadTypes,
    dictionaries: Vec<String>,
    run_ends: Vec<String>,
    threads: Option<usize>,
    read_ahead: usize,
    ordered: bool,
    splits: Option<Vec<Split>>,
    prefetch_bytes: u64,
    byte_range: Option<Range<u64>>,
    loose: bool,
    row_numbers: Option<String>,
    cancel: Cancel,
}

/// Types in which columns are read, other than those of the schema.
#[derive(Debug, Clone, Copy, Default)]
struct ReadTypes {
    string_views: bool,
    short_decimals: bool,
}

impl Scan {
    pub(crate) fn new(file: File) -> Self {
        Self {
            columns: None,
            filter: None,
            test: None,
            offset: 0,
            limit: None,
            batch_rows: STEP_ROWS,
            types: ReadTypes::default(),
            dictionaries: Vec::new(),
            run_ends: Vec::new(),
            threads: None,
            read_ahead: READ_AHEAD,
            ordered: true,
            splits: None,
            prefetch_bytes: AHEAD_BYTES,
            byte_range: None,
            loose: false,
            row_numbers: None,
            cancel: Cancel::new(),
            file,
        }
    }

    /// Top-level columns by name, in the order wanted; all by default.
    #[must_use]
    pub fn columns<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Only rows for which this is true.
    #[must_use]
    pub fn filter(mut self, predicate: Predicate) -> Self {
        self.filter = Some(predicate);
        self
    }

    /// Only rows for which a test of the caller is true too; NULL is not. The test gets these columns
    /// of the rows that the filter left, before other columns are read, and returns a boolean for
    /// each row. Threads may call it at the same time.
    ///
    /// ```
    /// # use std::{collections::HashSet, sync::Arc};
    /// # use arrow_array::{BooleanArray, Int64Array, RecordBatch, cast::AsArray, types::Int64Type};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let wanted = HashSet::from([3, 700, 5000]);
    /// let is_wanted = move |batch: &RecordBatch| {
    ///     let n = batch.column(0).as_primitive::<Int64Type>().iter();
    ///     Ok(n.map(|n| n.map(|n| wanted.contains(&n))).collect::<BooleanArray>())
    /// };
    /// let scan = staffa::File::from_bytes(bytes)?.scan().filter("n > 5".parse()?).test(["n"], is_wanted);
    /// assert_eq!(scan.reader()?.next().unwrap()?.num_rows(), 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn test<S: Into<String>>(
        mut self,
        columns: impl IntoIterator<Item = S>,
        test: impl Fn(&RecordBatch) -> Result<BooleanArray> + Send + Sync + 'static,
    ) -> Self {
        let test: Arc<TestFn> = Arc::new(test);
        let columns = columns.into_iter().map(Into::into).collect();
        self.test = Some(RowTest { columns, test });
        self
    }

    /// Largest number of rows.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Skips the first rows (of those that the filter keeps).
    #[must_use]
    pub fn offset(mut self, rows: u64) -> Self {
        self.offset = rows;
        self
    }

    /// Largest number of rows of a batch; 65,536 by default. A batch never spans row groups.
    #[must_use]
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows.max(1);
        self
    }

    /// Strings and binaries as views.
    #[must_use]
    pub fn string_views(mut self, on: bool) -> Self {
        self.types.string_views = on;
        self
    }

    /// Columns of decimals of up to 18 digits as [`DataType::Decimal64`](arrow_schema::DataType::Decimal64),
    /// where the schema has 128 bits for them: half the memory, and where they are stored in 64 bits, no step that
    /// widens them. Decimals in lists, structs and maps, dictionaries and runs stay as they are.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Decimal128Array, RecordBatch, cast::AsArray, types::Decimal64Type};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let price = Decimal128Array::from_iter_values([1250, 399]).with_precision_and_scale(15, 2)?;
    /// # let batch = RecordBatch::try_from_iter([("price", Arc::new(price) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let scan = staffa::File::from_bytes(bytes)?.scan().short_decimals(true);
    /// let batch = scan.reader()?.next().unwrap()?;
    /// assert_eq!(batch["price"].as_primitive::<Decimal64Type>().values(), &[1250, 399]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn short_decimals(mut self, on: bool) -> Self {
        self.types.short_decimals = on;
        self
    }

    /// Columns of strings or binaries to read as dictionaries with keys of 32 bits, without a cast
    /// where a dictionary is stored. A batch then has at most the rows of the smallest block of these,
    /// unless other columns are nested, and each batch has its own dictionary.
    #[must_use]
    pub fn dictionaries<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.dictionaries = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Columns of any type that is not nested to read as run-end encoded arrays with ends of 32 bits,
    /// without a cast where runs are stored. Rows of a filter, and columns that are not stored as
    /// runs, are cast. Values that are views become plain strings.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Array, Int64Array, RecordBatch, cast::AsArray, types::Int32Type};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let n = Int64Array::from_iter_values((0..100_000).map(|i| i / 1000));
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(n) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let scan = staffa::File::from_bytes(bytes)?.scan().run_ends(["n"]);
    /// let batch = scan.batch_rows(100_000).reader()?.next().unwrap()?;
    /// let runs = batch.column(0).as_run::<Int32Type>();
    /// assert_eq!((runs.len(), runs.values().len()), (100_000, 100));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn run_ends<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.run_ends = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Decodes on the thread that asks for batches, and on no other: for engines that have threads of
    /// their own. The same as one thread.
    #[must_use]
    pub fn here(self) -> Self {
        self.threads(Some(1))
    }

    /// Number of threads that decode; by default all that the process may use.
    #[must_use]
    pub fn threads(mut self, threads: Option<usize>) -> Self {
        self.threads = threads;
        self
    }

    /// Bytes of batches that threads decode ahead of the reader (64 MiB by default): as many batches
    /// as there are threads, if they fit by the largest so far. All threads work on a batch that is
    /// larger than that.
    #[must_use]
    pub fn read_ahead(mut self, bytes: usize) -> Self {
        self.read_ahead = bytes;
        self
    }

    /// Whether rows come in the order of the file, which is the default. Otherwise batches come as
    /// they are decoded, and an offset or a limit behind a filter counts rows as they come.
    #[must_use]
    pub fn ordered(mut self, on: bool) -> Self {
        self.ordered = on;
        self
    }

    /// Bytes that [`steps`](Self::steps) ask for ahead of the batches, at most: 128 MiB by default.
    /// They ask for what the link brings in a third of a second, and for 40 MiB at least.
    #[must_use]
    pub fn prefetch_bytes(mut self, bytes: u64) -> Self {
        self.prefetch_bytes = bytes;
        self
    }

    /// The former name of [`prefetch_bytes`](Self::prefetch_bytes).
    #[deprecated(note = "use `prefetch_bytes`")]
    #[must_use]
    pub fn ahead_bytes(self, bytes: u64) -> Self {
        self.prefetch_bytes(bytes)
    }

    /// Whether rows for which the filter is not true may come too: for engines that test again. Where
    /// many rows of a block match, to decode all rows is cheaper than to take some.
    #[must_use]
    pub fn loose(mut self, on: bool) -> Self {
        self.loose = on;
        self
    }

    /// Only the row groups that begin within a range of bytes, by an estimate from their rows: for
    /// engines that cut files into ranges. Ranges that together cover the file read each row once.
    #[must_use]
    pub fn byte_range(mut self, bytes: Range<u64>) -> Self {
        self.byte_range = Some(bytes);
        self
    }

    /// Appends a column of this name with the number of each row in the table, from 0: of 64 bits with
    /// sign, never NULL. [`File::take`] reads rows by these numbers. Fails, when the scan begins, where
    /// the scan reads a column of this name.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch, cast::AsArray, types::Int64Type};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let scan = staffa::File::from_bytes(bytes)?.scan().filter("n in (3, 700)".parse()?);
    /// let batch = scan.columns(["n"]).row_numbers("row").reader()?.next().unwrap()?;
    /// assert_eq!(batch["row"].as_primitive::<Int64Type>().values(), &[3, 700]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn row_numbers(mut self, name: impl Into<String>) -> Self {
        self.row_numbers = Some(name.into());
        self
    }

    /// Stops the scan once the flag is set, with [`Error::Cancelled`](crate::Error::Cancelled) in place
    /// of a batch. The flag is looked at between 65,536 rows; where a column is nested, between row groups.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// let cancel = staffa::Cancel::new();
    /// let scan = staffa::File::from_bytes(bytes)?.scan().filter("n = 3".parse()?).cancel(cancel.clone());
    /// let mut reader = scan.reader()?;
    /// cancel.cancel();
    /// assert!(matches!(reader.next(), Some(Err(staffa::Error::Cancelled))));
    /// assert!(reader.next().is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// Whether blocks are taken from the [`Cache`](crate::Cache) of the file, and kept there for the next
    /// scan: for tables that are scanned again and again. No by default: a large scan drops what other
    /// readers have kept. Behind a filter, blocks of nested columns that no row needed are not kept, and of
    /// a file elsewhere they are asked for again.
    #[must_use]
    pub fn cached(mut self, on: bool) -> Self {
        let (reads, cached) = (self.file.reads().clone(), on);
        self.file = self.file.with_reads(ScanReads { cached, ..reads });
        self
    }

    /// Whether [`cached`](Self::cached) keeps blocks decoded: larger, and faster to read. By default as
    /// [`Limits::cache_decoded`](crate::Limits::cache_decoded) says. A block that is there stays as it is.
    #[must_use]
    pub fn cache_decoded(mut self, on: bool) -> Self {
        let (reads, decoded) = (self.file.reads().clone(), Some(on));
        self.file = self.file.with_reads(ScanReads { decoded, ..reads });
        self
    }

    /// Counts bytes, time and blocks of the cache.
    #[must_use]
    pub fn metrics(mut self, metrics: &ScanMetrics) -> Self {
        let reads = self.file.reads().clone();
        let metrics = Some(metrics.clone());
        self.file = self.file.with_reads(ScanReads { metrics, ..reads });
        self
    }

    /// Checks columns and filter against the schema, and begins.
    pub fn reader(self) -> Result<Reader> {
        let (file, read_ahead, ordered) = (self.file.clone(), self.read_ahead, self.ordered);
        let scan = self.checked()?;
        let schema = scan.schema.clone();
        let tasks = match file.store().as_source() {
            Some(source) => Tasks::Source(Box::new(BlockingSteps {
                source: source.clone(),
                steps: scan.into_steps(&file),
                begun: VecDeque::new(),
            })),
            None => Tasks::Local(Box::new(LocalTasks {
                file,
                plan: Arc::new(scan.plan),
                threads: scan.threads,
                prefetch: Prefetch::new(ordered),
                read_ahead,
                task_bytes: 0,
                queue: scan.queue,
            })),
        };
        Ok(Reader { schema, tasks })
    }

    /// As [`reader`](Self::reader), in steps: the caller fetches the bytes.
    pub fn steps(self) -> Result<Steps> {
        let file = self.file.clone();
        Ok(self.checked()?.into_steps(&file))
    }

    /// As [`reader`](Self::reader), as Arrow's [`RecordBatchReader`](arrow_array::RecordBatchReader):
    /// what other libraries of Arrow take.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch, RecordBatchReader};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
    /// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
    /// fn count(reader: impl RecordBatchReader) -> Result<usize, arrow_schema::ArrowError> {
    ///     assert_eq!(reader.schema().field(0).name(), "n");
    ///     reader.map(|batch| Ok(batch?.num_rows())).sum()
    /// }
    /// let scan = staffa::File::from_bytes(bytes)?.scan();
    /// assert_eq!(count(scan.into_reader()?)?, 1000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_reader(self) -> Result<ArrowReader> {
        self.reader().map(ArrowReader::from)
    }
}

/// The schema with views where strings and binaries are, or as it is.
pub(crate) fn schema_for(schema: &SchemaRef, string_views: bool) -> Arc<Schema> {
    if string_views {
        Arc::new(with_string_views(schema))
    } else {
        schema.clone()
    }
}
