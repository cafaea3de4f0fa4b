//! The encoder: record batches in, the bytes of a file out to any sink.
//!
//! Batches wait until a row group is full; its chunks follow one another, then come the column
//! indexes and the footer.

use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::chunk::EncodedChunk;
use super::plan::Plan;
use super::{WriteSummary, row_group};
use crate::arrow::concat;
use crate::error::{Error, Result};
use crate::format::{
    BlockEntry, ChunkEntry, ColumnIndex, FORMAT_VERSION, Footer, PartEntry, header,
};

/// Encodes row groups into a sink.
#[derive(Debug)]
pub(super) struct Encoder<W> {
    sink: W,
    plan: Plan,
    position: u64,
    pending: Vec<RecordBatch>,
    pending_rows: usize,
    pending_bytes: usize,
    indexes: Vec<ColumnIndex>,
    row_groups: Vec<u32>,
    summary: WriteSummary,
    /// Set while rows are being encoded: after an error they are lost, and the file must not be
    /// finished.
    broken: bool,
}

impl<W: Write + Send> Encoder<W> {
    pub(super) fn new(sink: W, plan: Plan) -> Result<Self> {
        let indexes = vec![ColumnIndex::default(); plan.layout.leaves().len()];
        let mut encoder = Self {
            sink,
            plan,
            position: 0,
            pending: Vec::new(),
            pending_rows: 0,
            pending_bytes: 0,
            indexes,
            row_groups: Vec::new(),
            summary: WriteSummary::default(),
            broken: false,
        };
        encoder.put(&header(FORMAT_VERSION))?;
        Ok(encoder)
    }

    /// Bytes written so far.
    pub(super) fn bytes_written(&self) -> u64 {
        self.position
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Adds rows; each full row group is encoded and written.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        check_schema(&self.plan.schema, &batch.schema())?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let bytes = arrow_bytes(batch);
        self.summary.arrow_bytes += bytes as u64;
        self.pending.push(batch.clone());
        self.pending_rows += batch.num_rows();
        self.pending_bytes += bytes;
        while self.pending_rows >= self.full_rows() {
            let rows = self.full_rows();
            self.flush(rows)?;
        }
        Ok(())
    }

    /// Rows of a full row group, estimated from the bytes of the pending rows.
    fn full_rows(&self) -> usize {
        let row_bytes = (self.pending_bytes / self.pending_rows.max(1)).max(1);
        let rows = (self.plan.options.row_group_bytes / row_bytes)
            .clamp(1, self.plan.options.row_group_rows);
        if rows == self.plan.options.row_group_rows {
            return rows;
        }
        // Whole blocks or vectors, if there is one.
        let whole = [self.plan.options.block_rows, 1024];
        let unit = whole.into_iter().find(|unit| *unit <= rows);
        unit.map_or(rows, |unit| rows / unit * unit)
    }

    /// Encodes the first `rows` pending rows.
    fn flush(&mut self, rows: usize) -> Result<()> {
        if self.broken {
            return Err(Error::invalid(
                "an earlier write failed and its rows are lost: this file cannot be finished",
            ));
        }
        self.broken = true;
        let (mut group, mut wanted) = (Vec::new(), rows);
        for batch in std::mem::take(&mut self.pending) {
            let (taken, all) = (batch.num_rows().min(wanted), batch.num_rows());
            if taken > 0 {
                group.push(batch.slice(0, taken));
            }
            if taken < all {
                self.pending.push(batch.slice(taken, all - taken));
            }
            wanted -= taken;
        }
        self.pending_bytes = (self.pending_bytes as u128 * (self.pending_rows - rows) as u128
            / self.pending_rows.max(1) as u128) as usize;
        self.pending_rows -= rows;
        match concat(&self.plan.schema, &group)? {
            Some(batch) => self.row_group(&batch)?,
            // Dictionaries that do not fit into one: each batch becomes a row group of its own.
            None => group.iter().try_for_each(|batch| self.row_group(batch))?,
        }
        self.broken = false;
        Ok(())
    }

    fn row_group(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = u32::try_from(batch.num_rows()).map_err(|_| {
            Error::limit(format!(
                "at most 2^32 rows of a row group are possible, found {}",
                batch.num_rows()
            ))
        })?;
        let chunks = row_group::encode(&self.plan, batch, self.summary.rows)?;
        for (leaf, chunk) in chunks.into_iter().enumerate() {
            let entry = Arc::new(self.put_chunk(chunk)?);
            let index = self.indexes.get_mut(leaf);
            let index = index.ok_or_else(|| Error::internal("a chunk without a column index"))?;
            index.chunks.push(entry);
        }
        self.row_groups.push(rows);
        self.summary.rows += u64::from(rows);
        Ok(())
    }

    fn put_chunk(&mut self, chunk: EncodedChunk) -> Result<ChunkEntry> {
        let offset = self.position;
        let (mut shared, mut blocks) = (Vec::new(), Vec::new());
        for part in &chunk.shared {
            shared.push(PartEntry {
                offset: self.position,
                bytes: part.len() as u64,
            });
            self.put(part)?;
        }
        let mut first_value = 0;
        for block in chunk.blocks {
            let values = self.plan.options.block_rows.min(chunk.values - first_value);
            blocks.push(BlockEntry {
                offset: self.position,
                bytes: block.bytes.len() as u64,
                first_value: first_value as u64,
                values,
                string_bytes: block.string_bytes as u64,
                zone: block.zone,
            });
            self.put(&block.bytes)?;
            first_value += values;
        }
        let sources: Vec<u32> = chunk.references.iter().map(|leaf| *leaf as u32).collect();
        let same = !sources.is_empty() && blocks.is_empty();
        Ok(ChunkEntry {
            sources,
            same,
            offset,
            bytes: self.position - offset,
            values: chunk.values as u64,
            shared,
            blocks,
        })
    }

    /// Writes the last row group, the column indexes and the footer.
    pub(super) fn finish(mut self) -> Result<(W, WriteSummary)> {
        if self.broken {
            self.flush(0)?;
        }
        while self.pending_rows > 0 {
            let rows = self.pending_rows.min(self.full_rows());
            self.flush(rows)?;
        }
        let mut leaves = Vec::with_capacity(self.indexes.len());
        for index in std::mem::take(&mut self.indexes) {
            let bytes = index.write();
            let len = u32::try_from(bytes.len())
                .map_err(|_| Error::limit("a column index of at most 4 GiB is possible"))?;
            leaves.push((self.position, len));
            self.put(&bytes)?;
        }
        let footer = Footer {
            rows: self.summary.rows,
            row_groups: self.row_groups.clone(),
            block_rows: self.plan.options.block_rows as u32,
            leaves,
            schema: self.plan.stored.as_ref().clone(),
            writer: format!("staffa {}", env!("CARGO_PKG_VERSION")),
            version: FORMAT_VERSION,
            offset: self.position,
        };
        self.put(&footer.write()?)?;
        self.sink.flush()?;
        let summary = WriteSummary {
            row_groups: self.row_groups.len(),
            file_bytes: self.position,
            ..self.summary
        };
        Ok((self.sink, summary))
    }
}

/// Refuses a batch of another schema and names the first column that differs; metadata may differ.
fn check_schema(expected: &Schema, found: &Schema) -> Result<()> {
    if expected.fields().len() != found.fields().len() {
        return Err(Error::invalid(format!(
            "batches of {} columns expected, found one of {}",
            expected.fields().len(),
            found.fields().len()
        )));
    }
    for (e, f) in expected.fields().iter().zip(found.fields()) {
        if e.name() != f.name() || !e.data_type().equals_datatype(f.data_type()) {
            return Err(Error::invalid(format!(
                "column {:?} of type {} expected, found {:?} of type {}",
                e.name(),
                e.data_type(),
                f.name(),
                f.data_type()
            )));
        }
    }
    Ok(())
}

/// Bytes that the rows of a batch take in Arrow memory.
fn arrow_bytes(batch: &RecordBatch) -> usize {
    let bytes = |column: &arrow_array::ArrayRef| {
        column
            .to_data()
            .get_slice_memory_size()
            .unwrap_or_else(|_| column.get_array_memory_size())
    };
    batch.columns().iter().map(bytes).sum()
}
