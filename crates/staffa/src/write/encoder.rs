//! The encoder: record batches in, the bytes of a file out to any sink.
//!
//! Batches wait until a row group is full; its chunks follow one another. Behind the last row group
//! stand the column indexes, the sections and the footer, so that one read of the end has all of them. In
//! a file of many small chunks each index stands behind the last chunk of its leaf: see [`indexes_follow`].

use std::io::Write;

use arrow_array::RecordBatch;

use super::WriteSummary;
use super::chunk::EncodedChunk;
use super::join::{Rows, join};
use super::plan::Plan;
use super::remembered::Remembered;
use super::row_group::{self, EncodedRowGroup};
use super::summary::LeafSummary;
use crate::arrow::{Dictionaries, Leaf, arrow_bytes};
use crate::encode::Access;
use crate::error::{Error, Result};
use crate::format::{
    BitSet, BlockEntry, ChunkEntry, ChunkSummary, DERIVED_COLUMNS, FORMAT_VERSION, Features,
    FooterParts, HEADER_BYTES, IndexEntry, Metadata, PartEntry, SMALL_CHUNK_BYTES, Summary,
    bounds_overlap, checksum, header, shared_dictionary,
};
use crate::limits::{Limits, Threads};

/// Bytes of the mean array of a batch below which what describes the arrays takes more memory than they do.
const SMALL_ARRAY: usize = 2 << 10;

/// A batch that waits for its row group to be full.
struct Pending {
    batch: RecordBatch,
    /// How often its rows were joined; `None` where they are not to be.
    joins: Option<u32>,
}

impl Pending {
    /// A batch of so many bytes.
    fn new(batch: RecordBatch, bytes: u64, joins: Option<u32>) -> Self {
        let is_small = bytes < (batch.num_columns() * SMALL_ARRAY) as u64;
        let joins = joins.filter(|_| is_small);
        Self { batch, joins }
    }
}

/// Encodes row groups into a sink.
pub(super) struct Encoder<W> {
    sink: W,
    plan: Plan,
    position: u64,
    pending: Vec<Pending>,
    pending_rows: usize,
    /// Of their rows, and of the dictionaries that they keep in memory beside the first.
    pending_bytes: usize,
    dictionaries: Dictionaries,
    /// The column index of every leaf, as it will be written.
    indexes: Vec<Vec<u8>>,
    /// Places of the column indexes that are written.
    index_entries: Vec<IndexEntry>,
    leaf_summaries: Vec<LeafSummary>,
    /// Of every leaf and row group, where they are asked for.
    chunk_summaries: Vec<Vec<ChunkSummary>>,
    metadata: Metadata,
    /// Of all bytes so far.
    hasher: twox_hash::xxhash3_128::Hasher,
    row_groups: Vec<u32>,
    remembered: Remembered,
    summary: WriteSummary,
    /// Set while rows are being encoded: after an error they are lost, and the file must not be
    /// finished.
    broken: bool,
}

impl<W: Write + Send> Encoder<W> {
    pub(super) fn new(sink: W, plan: Plan) -> Result<Self> {
        let leaves = plan.layout.leaves().len();
        let metadata = plan.options.metadata.clone().into_iter().collect();
        let mut encoder = Self {
            sink,
            plan,
            position: 0,
            pending: Vec::new(),
            pending_rows: 0,
            pending_bytes: 0,
            dictionaries: Dictionaries::default(),
            indexes: vec![Vec::new(); leaves],
            index_entries: Vec::new(),
            leaf_summaries: vec![LeafSummary::default(); leaves],
            chunk_summaries: vec![Vec::new(); leaves],
            metadata,
            hasher: twox_hash::xxhash3_128::Hasher::new(),
            row_groups: Vec::new(),
            remembered: Remembered::default(),
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
        self.hasher.write(bytes);
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Adds rows; each full row group is encoded and written.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.refuse_broken()?;
        self.plan.check(batch)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.plan.sort_check.push(batch)?;
        let bytes = arrow_bytes(batch);
        self.summary.arrow_bytes += bytes;
        self.pending
            .push(Pending::new(batch.clone(), bytes, Some(0)));
        self.pending_rows += batch.num_rows();
        self.pending_bytes += bytes as usize + self.dictionaries.new_bytes(batch);
        self.join_small()?;
        while self.pending_rows >= self.full_rows() {
            let rows = self.full_rows();
            self.flush(rows, false)?;
        }
        Ok(())
    }

    /// Joins the last two batches where both are small and were joined as often, so that a row is copied
    /// once for each time that its batch doubles. Dictionaries that do not fit into one are not joined later.
    fn join_small(&mut self) -> Result<()> {
        while let [.., before, last] = self.pending.as_slice() {
            let Some(joins) = last.joins.filter(|_| before.joins == last.joins) else {
                break;
            };
            let pair = self.pending.split_off(self.pending.len() - 2);
            let pair = pair.into_iter().map(|pending| pending.batch).collect();
            self.broken = true;
            let schema = &self.plan.schema;
            // Column after column, by one thread: few arrays are there twice.
            let joined = Threads::Here.run(|| {
                let rows = join(schema, pair)?.into_iter();
                rows.map(|rows| rows.into_batch(schema))
                    .collect::<Result<Vec<_>>>()
            })?;
            let joins = (joined.len() == 1).then_some(joins + 1);
            self.pending.extend(joined.into_iter().map(|batch| {
                let bytes = arrow_bytes(&batch);
                Pending::new(batch, bytes, joins)
            }));
            self.broken = false;
        }
        Ok(())
    }

    /// Refuses to go on after an error by which rows were lost.
    fn refuse_broken(&self) -> Result<()> {
        if self.broken {
            return Err(Error::invalid(
                "an earlier write failed and its rows are lost: this file cannot be finished",
            ));
        }
        Ok(())
    }

    /// Sets the value of a key of the user.
    pub(super) fn set_metadata(&mut self, key: String, value: Vec<u8>) {
        match self.metadata.binary_search_by(|(other, _)| other.cmp(&key)) {
            Ok(found) => {
                if let Some((_, before)) = self.metadata.get_mut(found) {
                    *before = value;
                }
            }
            Err(place) => self.metadata.insert(place, (key, value)),
        }
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

    /// Encodes the first `rows` pending rows; `last`: no others will follow.
    fn flush(&mut self, rows: usize, last: bool) -> Result<()> {
        self.refuse_broken()?;
        self.broken = true;
        let (mut group, mut wanted) = (Vec::new(), rows);
        for Pending { batch, .. } in std::mem::take(&mut self.pending) {
            let (taken, all) = (batch.num_rows().min(wanted), batch.num_rows());
            if taken > 0 {
                group.push(batch.slice(0, taken));
            }
            if taken < all {
                let batch = batch.slice(taken, all - taken);
                self.pending.push(Pending { batch, joins: None });
            }
            wanted -= taken;
        }
        self.pending_bytes = (self.pending_bytes as u128 * (self.pending_rows - rows) as u128
            / self.pending_rows.max(1) as u128) as usize;
        self.pending_rows -= rows;
        self.dictionaries.clear();
        // Dictionaries that do not fit into one: each batch becomes a row group of its own.
        let schema = &self.plan.schema;
        let groups = self.plan.threads.run(|| join(schema, group))?;
        let count = groups.len();
        for (i, rows) in groups.into_iter().enumerate() {
            self.row_group(rows, last && i + 1 == count)?;
        }
        self.broken = false;
        Ok(())
    }

    fn row_group(&mut self, rows: Rows, last: bool) -> Result<()> {
        let len = u32::try_from(rows.len()).map_err(|_| {
            Error::limit(format!(
                "fewer than 2^32 rows of a row group are possible, found {}",
                rows.len()
            ))
        })?;
        let (plan, remembered) = (&self.plan, &mut self.remembered);
        let EncodedRowGroup { chunks, sums } =
            row_group::encode(plan, rows, self.summary.rows, remembered)?;
        for (leaf, summary) in self.leaf_summaries.iter_mut().enumerate() {
            summarise(&chunks, leaf, summary)?;
        }
        if self.plan.options.chunk_statistics {
            for ((leaf, sum), all) in sums.into_iter().enumerate().zip(&mut self.chunk_summaries) {
                let mut summary = LeafSummary::default();
                summarise(&chunks, leaf, &mut summary)?;
                let Summary {
                    decoded_bytes,
                    zone,
                    ..
                } = summary.finish();
                all.push(ChunkSummary {
                    decoded_bytes,
                    zone,
                    sum,
                });
            }
        }
        self.row_groups.push(len);
        let indexes_follow = last && indexes_follow(&chunks);
        for (leaf, chunk) in chunks.into_iter().enumerate() {
            let entry = self.put_chunk(leaf, chunk)?;
            let index = self.indexes.get_mut(leaf);
            let index = index.ok_or_else(|| Error::internal("a chunk without a column index"))?;
            entry.append_to(index);
            if indexes_follow {
                self.put_index(leaf)?;
            }
        }
        self.summary.rows += u64::from(len);
        Ok(())
    }

    fn put_chunk(&mut self, leaf: usize, chunk: EncodedChunk) -> Result<ChunkEntry> {
        let offset = self.position;
        let leaf = self.plan.layout.leaves().get(leaf);
        let random = self.plan.options.access == Access::Random;
        let bounded = leaf.is_some_and(Leaf::is_prunable)
            && !(random && bounds_overlap(chunk.blocks.iter().map(|block| &block.zone)));
        let (mut shared, mut blocks) = (Vec::new(), Vec::new());
        for part in &chunk.shared {
            shared.push(PartEntry {
                offset: self.position,
                bytes: part.len() as u64,
                checksum: checksum(part),
            });
            self.put(part)?;
        }
        let mut first_value = 0;
        for block in chunk.blocks {
            let values = chunk.block_rows.min(chunk.values - first_value);
            blocks.push(BlockEntry {
                offset: self.position,
                bytes: block.bytes.len() as u64,
                checksum: block.checksum,
                first_value: first_value as u64,
                values,
                string_bytes: block.string_bytes as u64,
                zone: if bounded {
                    block.zone
                } else {
                    block.zone.without_bounds()
                },
            });
            self.put(&block.bytes)?;
            first_value += values;
        }
        let sources: Vec<u32> = chunk.references.iter().map(|leaf| *leaf as u32).collect();
        let same = !sources.is_empty() && blocks.is_empty();
        let bytes = self.position - offset;
        Ok(ChunkEntry {
            sources,
            same,
            offset: if bytes > 0 { offset } else { 0 },
            bytes,
            values: chunk.values as u64,
            block_rows: chunk.block_rows as u32,
            shared,
            blocks,
        })
    }

    /// Writes the column index of the next leaf.
    fn put_index(&mut self, leaf: usize) -> Result<()> {
        let index = self.indexes.get_mut(leaf).map(std::mem::take);
        let bytes = index.ok_or_else(|| Error::internal("a leaf without a column index"))?;
        let before = self.index_entries.last();
        let end = before.map_or(HEADER_BYTES, |entry| entry.offset + entry.bytes);
        self.index_entries.push(IndexEntry {
            gap: self.position - end,
            offset: self.position,
            bytes: bytes.len() as u64,
            checksum: checksum(&bytes),
        });
        self.put(&bytes)
    }

    /// The feature set: the encodings of each leaf, with those of the leaves from which it derives.
    fn features(&self) -> Features {
        let own = |leaf: usize| {
            let summary = self.leaf_summaries.get(leaf);
            summary.map_or(BitSet::default(), |summary| summary.encodings)
        };
        let mut features = BitSet::default();
        let all = self.leaf_summaries.iter().map(|summary| {
            let sources = summary.sources();
            if !sources.is_empty() {
                features.insert(DERIVED_COLUMNS);
            }
            let sources = sources.iter().map(|source| own(*source as usize));
            sources.fold(summary.encodings, BitSet::union)
        });
        let all: Vec<BitSet> = all.collect();
        Features::new(features, all)
    }

    /// Writes the last row group, the column indexes and the footer.
    pub(super) fn finish(mut self) -> Result<(W, WriteSummary)> {
        self.refuse_broken()?;
        while self.pending_rows > 0 {
            let rows = self.pending_rows.min(self.full_rows());
            self.flush(rows, rows == self.pending_rows)?;
        }
        for leaf in self.index_entries.len()..self.indexes.len() {
            self.put_index(leaf)?;
        }
        let features = self.features();
        let summaries = std::mem::take(&mut self.leaf_summaries);
        let summaries: Vec<_> = summaries.into_iter().map(LeafSummary::finish).collect();
        let chunk_statistics = std::mem::take(&mut self.chunk_summaries).concat();
        let parts = FooterParts {
            row_groups: &self.row_groups,
            leaves: &self.index_entries,
            schema: &self.plan.stored,
            features: &features,
            summaries: &summaries,
            chunk_statistics: &chunk_statistics,
            sort_order: &self.plan.options.sort_order,
            metadata: &self.metadata,
            writer: concat!("staffa ", env!("CARGO_PKG_VERSION")),
        };
        let bytes = parts.write(self.hasher.clone())?;
        self.put(&bytes)?;
        self.sink.flush()?;
        let summary = WriteSummary {
            row_groups: self.row_groups.len(),
            file_bytes: self.position,
            ..self.summary
        };
        Ok((self.sink, summary))
    }
}

/// Whether column indexes stand behind the last chunk of their leaf, so that one read has both: there
/// are more than the end of the file is read for, and the chunks are small.
fn indexes_follow(chunks: &[EncodedChunk]) -> bool {
    const MOST_AT_THE_END: usize = 256;
    let bytes = |chunk: &EncodedChunk| {
        let blocks = chunk.blocks.iter().map(|block| block.bytes.len());
        blocks
            .chain(chunk.shared.iter().map(Vec::len))
            .sum::<usize>()
    };
    let total: usize = chunks.iter().map(bytes).sum();
    chunks.len() > MOST_AT_THE_END && total as u64 / chunks.len() as u64 <= SMALL_CHUNK_BYTES
}

/// Adds a leaf's chunk of a row group to its summary; of equal columns one has the blocks.
fn summarise(chunks: &[EncodedChunk], leaf: usize, summary: &mut LeafSummary) -> Result<()> {
    let chunk = |leaf: usize| {
        let chunk = chunks.get(leaf);
        chunk.ok_or_else(|| Error::internal("a leaf without a chunk"))
    };
    let own = chunk(leaf)?;
    let content = match own.references.first() {
        Some(reference) if own.blocks.is_empty() => chunk(*reference)?,
        _ => own,
    };
    for block in &content.blocks {
        summary.add(&block.summary, &block.zone);
    }
    for part in &own.shared {
        let (tree, _) = shared_dictionary::parse(part, own.values, &Limits::default())?;
        tree.add_encodings(&mut summary.encodings);
    }
    let sources: Vec<u32> = own.references.iter().map(|leaf| *leaf as u32).collect();
    summary.add_sources(&sources);
    Ok(())
}
