//! A scan: its parts, which DuckDB's threads take one by one, and the batches of a thread.

use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use duckdb_neo::Result;
use duckdb_neo::connection::Context;
use duckdb_neo::data_chunk::DataChunkRef;
use staffa::{Predicate, Reader, Scan, Split};

use crate::border;
use crate::error::{internal, of_staffa, of_text};
use crate::files::FileSet;
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
    /// One per file.
    scans: Vec<Scan>,
    /// The same scans without the filter.
    unfiltered: Option<Vec<Scan>>,
    /// The index of the file and the part, in order.
    parts: Vec<(usize, Split)>,
    next: AtomicUsize,
    output_schema: SchemaRef,
}

impl ScanState {
    /// A scan of the columns at these indices.
    pub(crate) fn new(
        files: &FileSet,
        columns: &[usize],
        filter: Option<&Predicate>,
    ) -> Result<Self> {
        let schema = files.schema.project(columns).map_err(of_text)?;
        let names = || schema.fields().iter().map(|field| field.name());
        let scan = |file: &staffa::File| {
            let scan = file.scan().columns(names());
            scan.string_views(true).loose(true)
        };
        let unfiltered: Vec<Scan> = files.files.iter().map(scan).collect();
        let (scans, unfiltered) = match filter {
            None => (unfiltered, None),
            Some(filter) => {
                let filtered = unfiltered.iter().cloned();
                let filtered = filtered.map(|scan| scan.filter(filter.clone()));
                (filtered.collect(), Some(unfiltered))
            }
        };
        let mut parts = Vec::new();
        for (index, scan) in scans.iter().enumerate() {
            let of_file = scan.splits(PART_ROWS).map_err(|e| of_staffa(&e))?;
            parts.extend(of_file.into_iter().map(|part| (index, part)));
        }
        let output_schema = files.output_schema.project(columns).map_err(of_text)?;
        Ok(Self {
            scans,
            unfiltered,
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
    /// The index of the current part.
    part: usize,
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
            let batch = unfold::batch(batch, &scan.output_schema)?;
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
                    return Ok(Some(batch));
                }
                self.reader = None;
                self.update_skip();
            }
            self.part = scan.next.fetch_add(1, Ordering::Relaxed);
            let Some((file, part)) = scan.parts.get(self.part) else {
                return Ok(None);
            };
            self.reader = Some(self.open_part(scan, *file, part)?);
        }
    }

    fn open_part(&mut self, scan: &ScanState, file: usize, part: &Split) -> Result<Reader> {
        (self.rows, self.kept) = (part.num_rows(), 0);
        let scans = match &scan.unfiltered {
            Some(unfiltered) if self.skip > 0 => unfiltered,
            _ => &scan.scans,
        };
        self.filtered = self.skip == 0;
        let scan = scans
            .get(file)
            .ok_or_else(|| internal("a part without a file"))?;
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
