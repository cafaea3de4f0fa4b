//! Writing of tables: files of a folder, by the values of partition columns.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use arrow_select::take::take_record_batch;
use staffa::{Error, Result, SortKey, WriteOptions, arrow_bytes};

use super::folder::Folder;
use super::hive::{NULL_KEY, encode};
use super::staged::{StagedFile, StagedFiles};
use super::widen::decoded;

/// Files that are written at the same time.
const MOST_OPEN: usize = 64;
/// Bytes of rows that wait for their row groups, of all files.
const MOST_WAITING: u64 = 2 << 30;

/// How a table is written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TableOptions {
    /// Columns whose values are in the names of folders, and not in the files: of integers, booleans,
    /// dates or text.
    pub partition_by: Vec<String>,
    /// Most rows of a file.
    pub rows_per_file: Option<u64>,
    /// Bytes of a file, after which the next one is begun.
    pub bytes_per_file: Option<u64>,
    /// Most files that are written at the same time: of the others, the one that waited longest ends,
    /// and later rows of its partition go to another file.
    pub max_open_files: usize,
    /// How each file is written.
    pub options: WriteOptions,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            partition_by: Vec::new(),
            rows_per_file: None,
            bytes_per_file: None,
            max_open_files: MOST_OPEN,
            options: WriteOptions::new(),
        }
    }
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableSummary {
    /// The paths or URLs of the files.
    pub files: Vec<PathBuf>,
    /// Rows of all files.
    pub rows: u64,
    /// Bytes of all files.
    pub file_bytes: u64,
    /// Their folders below the table's, each once.
    pub folders: Vec<String>,
}

/// A writer of files into a folder or prefix: `year=2026/part-8c55c3a3b2a1d9f0-00000.staffa`. The files
/// have new names, and appear when it is [finished](Self::finish); before that, nothing is visible.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Float64Array, Int32Array, RecordBatch};
/// use staffa_lake::table::{Folder, Table, TableOptions, TableWriter};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("staffa-by-year-{}", std::process::id()));
/// let batch = RecordBatch::try_from_iter([
///     ("price", Arc::new(Float64Array::from(vec![1.5, 2.5, 3.5])) as _),
///     ("year", Arc::new(Int32Array::from(vec![2025, 2026, 2026])) as _),
/// ])?;
/// let mut options = TableOptions::default();
/// options.partition_by = vec!["year".into()];
/// let mut writer = TableWriter::new(&Folder::new(&folder)?, &batch.schema(), options)?;
/// writer.write(&batch)?;
/// assert_eq!(writer.finish()?.files.len(), 2);
/// let table = Table::open(&folder)?;
/// let rows: usize = table.scan(Some("year = 2026".parse()?))?.map(|batch| batch.unwrap().num_rows()).sum();
/// assert_eq!(rows, 2);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TableWriter {
    staged: StagedFiles,
    options: TableOptions,
    keys: Vec<usize>,
    stored: Vec<usize>,
    schema: SchemaRef,
    /// By folder.
    open: HashMap<String, OpenFile>,
    /// Counts writes, so that the file that waited longest is known.
    clock: u64,
    summary: TableSummary,
}

struct OpenFile {
    file: StagedFile,
    last: u64,
    rows: u64,
    waiting: u64,
}

impl std::fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenFile")
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl TableWriter {
    /// Begins to write rows of this schema into a folder, which need not be there, or to a URL. Files
    /// that it has already stay.
    pub fn new(folder: &Folder, schema: &Schema, options: TableOptions) -> Result<Self> {
        let keys = key_columns(schema, &options.partition_by)?;
        let stored: Vec<usize> = (0..schema.fields().len())
            .filter(|at| !keys.contains(at))
            .collect();
        if stored.is_empty() {
            let what = "partition_by names all columns: there is none left for the files";
            return Err(Error::invalid(what));
        }
        Ok(Self {
            staged: StagedFiles::new(folder.clone()),
            schema: Arc::new(schema.project(&stored)?),
            options,
            keys,
            stored,
            open: HashMap::new(),
            clock: 0,
            summary: TableSummary::default(),
        })
    }

    /// The columns of the files.
    pub fn stored_schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The partition columns as keys of an order, NULLs last.
    pub(super) fn partition_keys(&self) -> Vec<SortKey> {
        let key = |column: &String| SortKey {
            column: column.clone(),
            descending: false,
            nulls_first: false,
        };
        self.options.partition_by.iter().map(key).collect()
    }

    /// Adds rows. Rows keep their order within a partition.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.project(&self.stored)?;
        let bytes_per_row = arrow_bytes(&rows) / rows.num_rows().max(1) as u64;
        if self.keys.is_empty() {
            return self.write_rows("", rows, bytes_per_row);
        }
        for (folder, at) in partitions(batch, &self.keys)? {
            for part in taken(&rows, &at)? {
                self.write_rows(&folder, part, bytes_per_row)?;
            }
        }
        Ok(())
    }

    /// Writes rows of one partition.
    fn write_rows(
        &mut self,
        folder: &str,
        mut rows: RecordBatch,
        bytes_per_row: u64,
    ) -> Result<()> {
        while rows.num_rows() > 0 {
            let open = self.open_file(folder)?;
            let most = self.options.rows_per_file.unwrap_or(u64::MAX);
            let Some(found) = self.open.get_mut(&open) else {
                return Err(Error::internal("a file that was not begun"));
            };
            let left = usize::try_from(most.saturating_sub(found.rows)).unwrap_or(usize::MAX);
            let part = rows.slice(0, left.min(rows.num_rows()));
            rows = rows.slice(part.num_rows(), rows.num_rows() - part.num_rows());
            found.file.write(&part)?;
            found.rows += part.num_rows() as u64;
            let group = self.options.options.row_group_bytes as u64;
            found.waiting = (found.waiting + bytes_per_row * part.num_rows() as u64).min(group);
            let bytes = self.options.bytes_per_file.unwrap_or(u64::MAX);
            if found.rows >= most || found.file.bytes_written() >= bytes {
                self.close(folder, false)?;
            }
            self.close_waiting()?;
        }
        Ok(())
    }

    /// The file of a partition, begun if there is none.
    fn open_file(&mut self, folder: &str) -> Result<String> {
        self.clock += 1;
        if let Some(found) = self.open.get_mut(folder) {
            found.last = self.clock;
            return Ok(folder.to_owned());
        }
        while self.open.len() >= self.options.max_open_files.max(1) {
            self.close_longest()?;
        }
        let options = self.options.options.clone();
        let file = self.staged.begin(folder, self.schema.clone(), options)?;
        if !self.summary.folders.iter().any(|known| known == folder) {
            self.summary.folders.push(folder.to_owned());
        }
        let open = OpenFile {
            file,
            last: self.clock,
            rows: 0,
            waiting: 0,
        };
        self.open.insert(folder.to_owned(), open);
        Ok(folder.to_owned())
    }

    /// Closes files while too many rows wait in memory.
    fn close_waiting(&mut self) -> Result<()> {
        while self.open.len() > 1
            && self.open.values().map(|open| open.waiting).sum::<u64>() > MOST_WAITING
        {
            self.close_longest()?;
        }
        Ok(())
    }

    /// Closes the file that waited longest.
    fn close_longest(&mut self) -> Result<()> {
        let longest = self.open.iter().min_by_key(|(_, open)| open.last);
        let longest = longest.map(|(folder, _)| folder.clone());
        longest.map_or(Ok(()), |folder| self.close(&folder, false))
    }

    fn close(&mut self, folder: &str, is_last: bool) -> Result<()> {
        if let Some(open) = self.open.remove(folder) {
            let written = self.staged.close(open.file, is_last)?;
            self.summary.rows += written.rows;
            self.summary.file_bytes += written.file_bytes;
        }
        Ok(())
    }

    /// Ends all files and gives them their names. Of a table without rows one file is
    /// written, which has the columns. After an error no file is left.
    pub fn finish(mut self) -> Result<TableSummary> {
        if self.summary.folders.is_empty() {
            self.open_file("")?;
        }
        let mut folders: Vec<(u64, String)> = self
            .open
            .iter()
            .map(|(folder, open)| (open.last, folder.clone()))
            .collect();
        folders.sort_unstable();
        for (_, folder) in &folders {
            self.close(folder, true)?;
        }
        self.summary.files = self.staged.finish()?;
        Ok(self.summary)
    }
}

/// Rows with these ascending numbers; neighbours are not copied.
fn taken(rows: &RecordBatch, at: &[u64]) -> Result<Vec<RecordBatch>> {
    if let (Some(first), Some(last)) = (at.first(), at.last())
        && last - first + 1 == at.len() as u64
    {
        return Ok(vec![rows.slice(*first as usize, at.len())]);
    }
    match take_record_batch(rows, &UInt64Array::from(at.to_vec())) {
        Ok(taken) => Ok(vec![taken]),
        // Values of some types cannot be taken, but cut.
        Err(ArrowError::NotYetImplemented(_)) => {
            let runs = at.chunk_by(|before, after| before + 1 == *after);
            let slice =
                |run: &[u64]| rows.slice(run.first().map_or(0, |row| *row as usize), run.len());
            Ok(runs.map(slice).collect())
        }
        Err(error) => Err(error.into()),
    }
}

/// Positions of the partition columns.
fn key_columns(schema: &Schema, names: &[String]) -> Result<Vec<usize>> {
    let mut keys = Vec::new();
    for name in names {
        let Some((at, field)) = schema.column_with_name(name) else {
            let known = schema
                .fields()
                .iter()
                .take(20)
                .map(|field| format!("{:?}", field.name()));
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(Error::invalid(format!(
                "partition_by: unknown column {name:?}; there are {known}"
            )));
        };
        let ty = decoded(field.data_type());
        let is_date = matches!(ty, DataType::Date32 | DataType::Date64);
        if !(ty.is_integer() || ty.is_string() || is_date || *ty == DataType::Boolean) {
            return Err(Error::invalid(format!(
                "partition_by: column {name:?} must have integers, strings, booleans or dates, found {}",
                field.data_type()
            )));
        }
        if !keys.contains(&at) {
            keys.push(at);
        }
    }
    Ok(keys)
}

/// The rows of a batch by the folders of their partitions, in the order of the first rows.
fn partitions(batch: &RecordBatch, keys: &[usize]) -> Result<Vec<(String, Vec<u64>)>> {
    let text = |at: &usize| -> Result<(String, StringArray)> {
        let column: &ArrayRef = batch.column(*at);
        let options = CastOptions {
            safe: false,
            ..CastOptions::default()
        };
        let plain = cast_with_options(column, decoded(column.data_type()), &options)?;
        // A date as a day, whatever its unit.
        let plain = match plain.data_type() {
            DataType::Date64 => cast_with_options(&plain, &DataType::Date32, &options)?,
            _ => plain,
        };
        let texts = cast_with_options(&plain, &DataType::Utf8, &options)?;
        let name = encode(batch.schema_ref().field(*at).name());
        Ok((name, texts.as_string::<i32>().clone()))
    };
    let columns = keys.iter().map(text).collect::<Result<Vec<_>>>()?;
    let value = |row: usize| {
        columns
            .iter()
            .map(move |(_, texts)| texts.is_valid(row).then(|| texts.value(row)))
    };
    let mut found: Vec<(String, Vec<u64>)> = Vec::new();
    let mut known: HashMap<Vec<Option<&str>>, usize> = HashMap::new();
    let mut last: Option<(Vec<Option<&str>>, usize)> = None;
    for row in 0..batch.num_rows() {
        let same = last
            .as_ref()
            .filter(|(values, _)| value(row).eq(values.iter().copied()));
        let at = if let Some((_, at)) = same {
            *at
        } else {
            let values: Vec<Option<&str>> = value(row).collect();
            let at = *known.entry(values.clone()).or_insert_with(|| {
                let pairs = columns.iter().zip(&values).map(|((name, _), value)| {
                    format!(
                        "{name}={}",
                        value.map_or_else(|| NULL_KEY.to_owned(), encode)
                    )
                });
                found.push((pairs.collect::<Vec<_>>().join("/"), Vec::new()));
                found.len() - 1
            });
            last = Some((values, at));
            at
        };
        if let Some((_, rows)) = found.get_mut(at) {
            rows.push(row as u64);
        }
    }
    Ok(found)
}
