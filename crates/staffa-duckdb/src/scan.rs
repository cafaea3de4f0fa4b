//! A scan: its parts, which DuckDB's threads take one by one, and the batches of a thread.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use duckdb_neo::connection::Context;
use duckdb_neo::data_chunk::DataChunkRef;
use duckdb_neo::{Error, Result};
use staffa::{Predicate, Reader, Scan, Split};
use staffa_lake::table::{Folded, fold};

use crate::border;
use crate::error::{internal, of_staffa, of_text};
use crate::files::{FileSet, SourceFile};
use crate::partitions::repeated;
use crate::vectors::VectorWriter;
use crate::{ranges, unfold};

/// Rows of a part.
const PART_ROWS: usize = 65_536;
/// A filter that keeps more than one row in this many is not selective: the next parts are read
/// without it.
const SELECTIVITY: usize = 4;
/// The largest number of parts that are read without the filter before it is tried again.
const MAX_UNFILTERED: u32 = 32;

/// The state of a scan, shared by its threads.
pub(crate) struct ScanState {
    files: Vec<FileScan>,
    /// The index of the file and the part, in order.
    parts: Vec<(usize, Split)>,
    next: AtomicUsize,
    output_schema: SchemaRef,
}

/// The scan of one file.
struct FileScan {
    scan: Scan,
    /// The same scan without the filter.
    unfiltered: Option<Scan>,
    /// Where the columns of the output come from; none if the file has just these.
    sources: Option<Vec<Source>>,
    path: String,
}

/// What is known of a filter for the rows of a file. DuckDB applies it again: nothing may be known.
fn known(source: &SourceFile, all: &Schema, filter: &Predicate) -> Folded {
    let stored = source.file.schema();
    // In another type, a comparison may mean something else.
    let is_stored = |column: &str| {
        let of = |schema: &Schema| Some(schema.column_with_name(column)?.1.data_type().clone());
        let types = of(all).zip(of(stored));
        types.is_some_and(|(all, own)| all.equals_datatype(&own))
    };
    let row = source
        .constants
        .row(all, stored)
        .map_err(staffa::Error::from);
    let folded = row.and_then(|row| fold(filter, &row, &is_stored));
    folded.unwrap_or(Folded::Unknown)
}

/// Where a column comes from.
enum Source {
    /// The column of the batch at this position.
    Stored(usize),
    Constant(ArrayRef),
    /// The file lacks it.
    Missing,
}

impl FileScan {
    /// A scan of columns of a schema; `None` if no row can match the filter.
    fn new(
        source: &SourceFile,
        all: &Schema,
        schema: &Schema,
        filter: Option<&Predicate>,
    ) -> Option<Self> {
        let stored = source.file.schema();
        let (mut names, mut sources) = (Vec::new(), Vec::new());
        let own: HashSet<&String> = stored.fields().iter().map(|field| field.name()).collect();
        for field in schema.fields() {
            sources.push(if let Some(constant) = source.constants.get(field.name()) {
                Source::Constant(constant.clone())
            } else if own.contains(field.name()) {
                names.push(field.name().clone());
                Source::Stored(names.len() - 1)
            } else {
                Source::Missing
            });
        }
        let only_stored = names.len() == sources.len();
        let scan = source.file.scan().columns(names);
        // DuckDB's own threads decode.
        let scan = scan
            .string_views(true)
            .short_decimals(true)
            .loose(true)
            .here();
        let (scan, unfiltered) = match filter.map(|filter| known(source, all, filter)) {
            Some(Folded::Never) => return None,
            Some(Folded::Rest { by, .. }) => (scan.clone().filter(by), Some(scan)),
            _ => (scan, None),
        };
        Some(Self {
            scan,
            unfiltered,
            sources: (!only_stored).then_some(sources),
            path: source.path.clone(),
        })
    }

    /// A batch of the file with the columns and types of the output.
    fn assemble(&self, batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
        let at_file = |e: ArrowError| {
            let name = &self.path;
            Error::invalid_input(format!(
                "{name}: a value does not fit the type of its column in all files: {e}"
            ))
        };
        let Some(sources) = &self.sources else {
            return unfold::batch(batch, schema).map_err(at_file);
        };
        let columns = sources.iter().zip(schema.fields());
        let arrays = columns.map(|(source, field)| match source {
            Source::Stored(at) => unfold::column(batch.column(*at), field.data_type()),
            Source::Constant(constant) => repeated(constant, batch.num_rows()),
            Source::Missing => Ok(new_null_array(field.data_type(), batch.num_rows())),
        });
        let arrays = arrays
            .collect::<std::result::Result<_, _>>()
            .map_err(at_file)?;
        RecordBatch::try_new(schema.clone(), arrays).map_err(at_file)
    }
}

impl ScanState {
    /// A scan of the columns at these indices.
    pub(crate) fn new(
        files: &FileSet,
        columns: &[usize],
        filter: Option<&Predicate>,
    ) -> Result<Self> {
        let schema = files.schema.project(columns).map_err(of_text)?;
        let scan = |source| FileScan::new(source, &files.schema, &schema, filter);
        let scans: Vec<FileScan> = files.files.iter().filter_map(scan).collect();
        let mut parts = Vec::new();
        for (index, file) in scans.iter().enumerate() {
            let of_file = file.scan.splits(PART_ROWS).map_err(|e| of_staffa(&e))?;
            parts.extend(of_file.into_iter().map(|part| (index, part)));
        }
        let output_schema = files.output_schema.project(columns).map_err(of_text)?;
        Ok(Self {
            files: scans,
            parts,
            next: AtomicUsize::new(0),
            output_schema: output_schema.into(),
        })
    }

    /// The number of threads that can have work.
    pub(crate) fn max_threads(&self) -> usize {
        self.parts.len().max(1)
    }

    /// The share of the parts that threads have taken.
    pub(crate) fn progress(&self) -> f64 {
        let taken = self.next.load(Ordering::Relaxed) as f64;
        (taken / self.parts.len().max(1) as f64).min(1.0)
    }
}

/// The state of one thread of a scan.
pub(crate) struct ThreadState {
    vectors: VectorWriter,
    reader: Option<Reader>,
    /// The indices of the current part and of its file.
    part: usize,
    file: usize,
    /// Rows of the current part, and rows of it that were kept so far.
    rows: usize,
    kept: usize,
    /// Whether the filter applies to the current part.
    filtered: bool,
    /// Parts still to be read without the filter, and the number of them last time.
    skip: u32,
    last_skip: u32,
}

impl ThreadState {
    pub(crate) fn new(scan: &ScanState, context: &Context) -> Result<Self> {
        Ok(Self {
            vectors: VectorWriter::new(context, &scan.output_schema)?,
            reader: None,
            part: 0,
            file: 0,
            rows: 0,
            kept: 0,
            filtered: false,
            skip: 0,
            last_skip: 0,
        })
    }

    pub(crate) fn part(&self) -> usize {
        self.part
    }

    /// Writes the next rows to the output; none at the end of the scan.
    pub(crate) fn write_next(
        &mut self,
        scan: &ScanState,
        output: &mut DataChunkRef<'_>,
    ) -> Result<()> {
        while !self.vectors.write(output)? {
            let Some(batch) = self.next_batch(scan)? else {
                return border::set_rows(output, 0, 0);
            };
            ranges::check(&batch)?;
            self.vectors.push(&batch)?;
        }
        Ok(())
    }

    /// The next batch of the current part, or of the next part that no thread has taken.
    fn next_batch(&mut self, scan: &ScanState) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(reader) = &mut self.reader {
                if let Some(batch) = reader.next().transpose().map_err(|e| of_staffa(&e))? {
                    self.kept += batch.num_rows();
                    let file = scan.files.get(self.file).ok_or_else(no_file)?;
                    return file.assemble(batch, &scan.output_schema).map(Some);
                }
                self.reader = None;
                self.update_skip();
            }
            self.part = scan.next.fetch_add(1, Ordering::Relaxed);
            let Some((file, part)) = scan.parts.get(self.part) else {
                return Ok(None);
            };
            self.file = *file;
            self.reader = Some(self.open_part(scan, part)?);
        }
    }

    fn open_part(&mut self, scan: &ScanState, part: &Split) -> Result<Reader> {
        (self.rows, self.kept) = (part.num_rows(), 0);
        let file = scan.files.get(self.file).ok_or_else(no_file)?;
        let scan = match &file.unfiltered {
            Some(unfiltered) if self.skip > 0 => unfiltered,
            _ => &file.scan,
        };
        self.filtered = self.skip == 0;
        let reader = scan.clone().split(part.clone()).reader();
        reader.map_err(|e| of_staffa(&e))
    }

    /// Decides how many parts to read without the filter: one that keeps most rows costs more than it
    /// saves, as DuckDB applies it again anyway.
    fn update_skip(&mut self) {
        if !self.filtered {
            self.skip -= 1;
        } else if self.kept > self.rows / SELECTIVITY {
            self.last_skip = (self.last_skip * 2).clamp(1, MAX_UNFILTERED);
            self.skip = self.last_skip;
        } else {
            self.last_skip = 0;
        }
    }
}

fn no_file() -> Error {
    internal("a part without a file")
}
