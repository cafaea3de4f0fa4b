//! An open file: its store beside what was parsed of it (footer, column indexes) and a cache.
//!
//! ```text
//! footer -> column index (on first use of its column) -> ChunkReader -> blocks
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::Scan;
use super::cache::{Cache, FileCache};
use super::leaf_index::{IndexSource, LeafIndex, LeafIndexes};
use super::metrics::ScanReads;
use crate::arrow::{Layout, Leaf};
use crate::decode::{Opener, get_or_try_init};
use crate::encodings::opener;
use crate::error::{Error, Place, Result};
use crate::format::{
    ChunkEntry, ColumnIndex, Footer, SortKey, Source, Store, Summary, verify_checksum,
};
use crate::limits::Limits;

/// An open file. Cheap to clone, and may be read from many threads at once.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
/// # let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
/// let file = staffa::File::from_bytes(bytes)?;
/// let mut rows = 0;
/// for batch in file.scan().columns(["n"]).filter("n >= 900".parse()?).reader()? {
///     rows += batch?.num_rows();
/// }
/// assert_eq!(rows, 100);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct File {
    store: Arc<Store>,
    parsed: Arc<Parsed>,
    cache: Arc<FileCache>,
    reads: ScanReads,
}

/// What was read of a file and parsed, wherever its bytes come from.
#[derive(Debug)]
struct Parsed {
    opener: Opener,
    footer: Footer,
    schema: SchemaRef,
    layout: Layout,
    indexes: LeafIndexes,
    /// Of all leaves, read on first use.
    summaries: OnceLock<Vec<Summary>>,
}

impl File {
    /// Opens a local file: reads and checks its footer.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Limits::default())
    }

    /// Opens a local file within limits other than the default ones.
    pub fn open_with(path: impl AsRef<Path>, limits: Limits) -> Result<Self> {
        Self::from_store(Store::open(path.as_ref())?, limits)
    }

    /// Opens a file that is in memory.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        Self::from_bytes_with(bytes, Limits::default())
    }

    /// Opens a file that is in memory within limits other than the default ones.
    pub fn from_bytes_with(bytes: impl Into<Bytes>, limits: Limits) -> Result<Self> {
        Self::from_store(Store::memory(bytes.into()), limits)
    }

    /// Opens a file whose bytes a [`Source`] reads: in one read where the last 64 KiB hold all that
    /// opening needs.
    pub fn open_source(source: Arc<dyn Source>) -> Result<Self> {
        Self::open_source_with(source, Limits::default())
    }

    /// Opens a file whose bytes a [`Source`] reads within limits other than the default ones.
    pub fn open_source_with(source: Arc<dyn Source>, limits: Limits) -> Result<Self> {
        Self::from_store(Store::source(source), limits)
    }

    pub(super) fn from_store(store: Store, limits: Limits) -> Result<Self> {
        let path = store.path().map(Path::to_owned);
        let open = || {
            let footer = Footer::read(&store, &limits)?;
            let found = footer.leaves.len();
            let layout = Layout::of_file(&footer.schema, &footer.unknown, found);
            let layout = layout.map_err(|e| match e {
                Error::InvalidArgument(what) => Error::corrupt(what),
                other => other,
            })?;
            let expected = layout.leaves().len();
            if expected != found {
                return Err(Error::corrupt(format!(
                    "{expected} leaves expected by the schema, found {found}"
                )));
            }
            Ok((footer, layout))
        };
        let (footer, layout) = open().map_err(|e| e.at(|p| p.path = path))?;
        Ok(Self {
            store: Arc::new(store),
            parsed: Arc::new(Parsed {
                opener: opener(limits),
                schema: Arc::new(footer.schema.clone()),
                layout,
                indexes: LeafIndexes::new(footer.leaves.len()),
                summaries: OnceLock::new(),
                footer,
            }),
            cache: Arc::new(FileCache::new(Cache::process())),
            reads: ScanReads::default(),
        })
    }

    /// The same file, with another cache for the blocks that [`take`](Self::take) opens.
    #[must_use]
    pub fn with_cache(&self, cache: &Cache) -> Self {
        Self {
            cache: Arc::new(FileCache::new(cache.clone())),
            ..self.clone()
        }
    }

    /// The same file, read in the way of a scan.
    pub(super) fn with_reads(&self, reads: ScanReads) -> Self {
        Self {
            reads,
            ..self.clone()
        }
    }

    /// The same file, whose bytes come from elsewhere.
    pub(super) fn with_store(&self, store: Arc<Store>) -> Self {
        Self {
            store,
            ..self.clone()
        }
    }

    /// The table's schema, exactly as it was given to the writer.
    ///
    /// A column of a type that this release does not know has type null where that type is, and the
    /// number of the type as `staffa.unknown_type` in the metadata of that field; it cannot be read:
    /// see [`unknown_columns`](Self::unknown_columns).
    pub fn schema(&self) -> &SchemaRef {
        &self.parsed.schema
    }

    /// Rows of the table.
    pub fn num_rows(&self) -> u64 {
        self.parsed.footer.rows
    }

    /// Row groups of the file.
    pub fn num_row_groups(&self) -> usize {
        self.parsed.footer.row_groups.len()
    }

    /// Bytes of the file.
    pub fn nbytes(&self) -> u64 {
        self.store.len()
    }

    /// Where the bytes begin that opening the file needs, up to its end: schema, summaries, places of
    /// the columns. A [`Source`] that has them by [`end_bytes`](Source::end_bytes) opens without a read.
    pub fn end_offset(&self) -> u64 {
        self.footer().offset
    }

    /// Former name of [`nbytes`](Self::nbytes).
    #[deprecated(since = "0.1.0", note = "use `nbytes`")]
    pub fn byte_len(&self) -> u64 {
        self.nbytes()
    }

    /// The keys and values that the writer's user gave the file, the values any bytes.
    pub fn metadata(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let metadata = self.footer().metadata(self.store(), self.limits());
        let place = |e: Error| e.at(|p| p.path = self.store().path().map(Path::to_owned));
        Ok(metadata.map_err(place)?.into_iter().collect())
    }

    /// The order of the rows that the writer was told, and has checked; nothing where it was told none.
    /// Within each row group, too, the rows come in this order.
    pub fn sort_order(&self) -> Result<Vec<SortKey>> {
        let order = self.footer().sort_order(self.store(), self.limits());
        order.map_err(|e| e.at(|p| p.path = self.store().path().map(Path::to_owned)))
    }

    /// A hash of the file, of 16 bytes: files of other bytes have another one. `None` where the
    /// writer left it out. It is no defence against forgery.
    pub fn id(&self) -> Option<[u8; 16]> {
        self.parsed.footer.id
    }

    /// A builder for a scan: columns, filter, limit.
    pub fn scan(&self) -> Scan {
        Scan::new(self.clone())
    }

    pub(crate) fn footer(&self) -> &Footer {
        &self.parsed.footer
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.parsed.layout
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.parsed.opener.limits
    }

    pub(crate) fn opener(&self) -> Opener {
        let thorough = self.reads.thorough;
        Opener {
            thorough,
            ..self.parsed.opener
        }
    }

    /// The same file, whose blocks are opened [thoroughly](Opener::thorough), none out of its cache.
    pub(crate) fn thorough(&self) -> Self {
        let (reads, thorough) = (self.reads.clone(), true);
        let cache = Cache::new(Cache::PROCESS_BYTES);
        self.with_cache(&cache)
            .with_reads(ScanReads { thorough, ..reads })
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn reads(&self) -> &ScanReads {
        &self.reads
    }

    pub(crate) fn cache(&self) -> &FileCache {
        &self.cache
    }

    /// Bytes of a leaf's chunks; those read along with its index are not read again.
    pub(crate) fn read_chunk(&self, leaf: usize, offset: u64, bytes: u64) -> Result<Bytes> {
        let ahead = self.leaf_index(leaf)?.ahead(offset, bytes);
        let read = || self.store().read(offset, bytes);
        match (ahead, &self.reads.metrics) {
            (Some(ahead), _) => Ok(ahead),
            // What a caller fetched is counted as it comes.
            (None, Some(metrics)) if !self.store().is_planned() => {
                let read = metrics.read(read)?;
                metrics.count_request(read.len());
                Ok(read)
            }
            (None, _) => read(),
        }
    }

    /// Whether bytes of a leaf's chunks were read along with its index.
    pub(super) fn is_ahead(&self, leaf: usize, range: &Range<u64>) -> bool {
        let index = self.known_index(leaf);
        index.is_some_and(|index| index.ahead(range.start, range.end - range.start).is_some())
    }

    /// Bytes of a part of the file, whose checksum is verified; `what` names the part.
    pub(crate) fn part(&self, offset: u64, bytes: u64, checksum: u32, what: &str) -> Result<Bytes> {
        let bytes = self.store().read(offset, bytes)?;
        verify_checksum(&bytes, checksum, what)?;
        Ok(bytes)
    }

    /// What the footer says of each leaf, read on first use; nothing where the file has no summaries.
    pub(crate) fn summaries(&self) -> Result<&[Summary]> {
        let read = || {
            let summaries = self.footer().summaries(self.store(), self.limits())?;
            Ok(summaries.unwrap_or_default())
        };
        let place = |e: Error| e.at(|p| p.path = self.store.path().map(Path::to_owned));
        let summaries = get_or_try_init(&self.parsed.summaries, read).map_err(place)?;
        Ok(summaries)
    }

    /// Rows of a row group.
    pub(crate) fn rows_of(&self, row_group: usize) -> Result<usize> {
        let rows = self.parsed.footer.row_groups.get(row_group);
        let missing = || Error::internal(format!("no row group {row_group}"));
        Ok(*rows.ok_or_else(missing)? as usize)
    }

    pub(crate) fn leaf(&self, leaf: usize) -> Result<&Leaf> {
        let found = self.layout().leaves().get(leaf);
        found.ok_or_else(|| Error::corrupt(format!("no leaf {leaf}")))
    }

    /// The leaf of a column that is neither nested nor absent.
    pub(crate) fn flat_leaf(&self, column: usize) -> Option<usize> {
        let mut leaves = self.layout().leaves_of(column);
        let first = leaves.next()?;
        (leaves.is_empty() && self.leaf(first).is_ok_and(|leaf| leaf.flat)).then_some(first)
    }

    /// Whether rows of a column can be read by block: it has one flat leaf, or none.
    pub(crate) fn is_flat(&self, column: usize) -> bool {
        self.flat_leaf(column).is_some() || self.layout().leaves_of(column).is_empty()
    }

    /// The place of an error in a leaf of a row group.
    pub(crate) fn place(&self, leaf: usize, row_group: usize) -> impl Fn(&mut Place) + use<> {
        let path = self.store.path().map(Path::to_owned);
        let column = self.leaf(leaf).ok().map(|l| l.path.to_string());
        move |p| (p.path, p.column, p.row_group) = (path.clone(), column.clone(), Some(row_group))
    }

    /// One leaf of one row group; of equal columns the chunk that is stored.
    pub(crate) fn chunk(&self, leaf: usize, row_group: usize) -> Result<Arc<ChunkEntry>> {
        self.stored_chunk(leaf, row_group).map(|(_, chunk)| chunk)
    }

    /// [`chunk`](Self::chunk), and the leaf that stores it.
    pub(crate) fn stored_chunk(
        &self,
        leaf: usize,
        row_group: usize,
    ) -> Result<(usize, Arc<ChunkEntry>)> {
        let chunk = self.chunk_entry(leaf, row_group)?;
        let Some(by) = chunk.equal() else {
            return Ok((leaf, chunk));
        };
        self.check_reference(by)
            .map_err(|e| e.at(self.place(leaf, row_group)))?;
        let (other, spec, reference) = (
            self.chunk_entry(by, row_group)?,
            self.leaf(leaf)?,
            self.leaf(by)?,
        );
        if !other.sources.is_empty()
            || (other.values, other.block_rows) != (chunk.values, chunk.block_rows)
            || (reference.ty, reference.kind) != (spec.ty, spec.kind)
        {
            return Err(Error::corrupt(format!(
                "equal to leaf {by}: a column of the same type and length that is not derived expected"
            ))
            .at(self.place(leaf, row_group)));
        }
        Ok((by, other))
    }

    /// The entry of a leaf's column index for a row group.
    pub(crate) fn chunk_entry(&self, leaf: usize, row_group: usize) -> Result<Arc<ChunkEntry>> {
        let chunk = self.index(leaf)?.chunks.get(row_group).cloned();
        chunk.ok_or_else(|| Error::corrupt(format!("no row group {row_group}")))
    }

    /// The column index of a leaf, read on first use.
    pub(crate) fn index(&self, leaf: usize) -> Result<&ColumnIndex> {
        self.leaf_index(leaf).map(|read| &read.index)
    }

    /// The column index of a leaf if it was read already.
    pub(super) fn known_index(&self, leaf: usize) -> Option<&LeafIndex> {
        self.parsed.indexes.known(leaf)
    }

    fn leaf_index(&self, leaf: usize) -> Result<&LeafIndex> {
        let read = || -> Result<_> {
            let source = IndexSource {
                store: self.store(),
                footer: self.footer(),
                limits: self.limits(),
            };
            self.parsed.indexes.get(leaf, self.leaf(leaf)?, &source)
        };
        read().map_err(|e| {
            e.within("column index").at(|p| {
                p.path = self.store.path().map(Path::to_owned);
                p.column = self.leaf(leaf).ok().map(|l| l.path.to_string());
                p.offset = self.footer().leaves.get(leaf).map(|entry| entry.offset);
            })
        })
    }
}
