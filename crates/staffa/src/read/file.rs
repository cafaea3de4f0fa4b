//! The reader: an open file, and one leaf of one row group decoded.
//!
//! ```text
//! footer -> column index (when its column is wanted) -> chunk: one range -> checksum -> open -> decode -> Arrow
//! ```

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use hashbrown::HashMap;
use rayon::prelude::*;

use super::Scan;
use super::cache::{Cache, OpenBlock, Sources};
use super::chunk_reader::LeafReader;
use super::column_builder::OutputLayout;
use super::decoded::decoded;
use super::dictionary::{cast_to_dictionary, dictionary_or_runs};
use crate::arrow::{Layout, Leaf, assemble_within, reads_views, unknown_column};
use crate::decode::{Opener, SharedDictionary};
use crate::encodings::opener;
use crate::error::{Error, Place, Result};
use crate::format::{BlockEntry, ChunkEntry, ColumnIndex, Footer, Store};
use crate::limits::Limits;
use crate::values::DecodedLeaf;

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
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    opener: Opener,
    footer: Footer,
    schema: SchemaRef,
    layout: Layout,
    indexes: Vec<OnceLock<Arc<ColumnIndex>>>,
    cache: Cache,
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
        Self::from_store(Store::Memory(bytes.into()), limits)
    }

    fn from_store(store: Store, limits: Limits) -> Result<Self> {
        let path = store.path().map(Path::to_owned);
        let named = |e: Error| e.at(|p| p.path.clone_from(&path));
        let footer = Footer::read(&store, &limits).map_err(named)?;
        let layout = Layout::new(&footer.schema).map_err(|e| match e {
            Error::InvalidArgument(what) => named(Error::corrupt(what)),
            other => named(other),
        })?;
        if layout.leaves().len() != footer.leaves.len() {
            let what = format!(
                "{} leaves expected by the schema, found {}",
                layout.leaves().len(),
                footer.leaves.len()
            );
            return Err(named(Error::corrupt(what)));
        }
        let indexes = footer.leaves.iter().map(|_| OnceLock::new()).collect();
        let schema = Arc::new(footer.schema.clone());
        let cache = Cache::new(limits.cache_bytes);
        Ok(Self {
            inner: Arc::new(Inner {
                store,
                opener: opener(limits),
                footer,
                schema,
                layout,
                indexes,
                cache,
            }),
        })
    }

    /// The table's schema, exactly as it was given to the writer.
    pub fn schema(&self) -> &SchemaRef {
        &self.inner.schema
    }

    /// Rows of the table.
    pub fn num_rows(&self) -> u64 {
        self.inner.footer.rows
    }

    /// Row groups of the file.
    pub fn num_row_groups(&self) -> usize {
        self.inner.footer.row_groups.len()
    }

    /// Bytes of the file.
    pub fn byte_len(&self) -> u64 {
        self.inner.store.len()
    }

    /// What to read: columns, filter, limit.
    pub fn scan(&self) -> Scan {
        Scan::new(self.clone())
    }

    pub(crate) fn footer(&self) -> &Footer {
        &self.inner.footer
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.inner.layout
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.inner.opener.limits
    }

    pub(crate) fn opener(&self) -> &Opener {
        &self.inner.opener
    }

    pub(crate) fn store(&self) -> &Store {
        &self.inner.store
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.inner.cache
    }

    pub(crate) fn leaf(&self, leaf: usize) -> Result<&Leaf> {
        self.layout()
            .leaves()
            .get(leaf)
            .ok_or_else(|| Error::corrupt(format!("no leaf {leaf}")))
    }

    /// Positions of columns by name.
    pub(crate) fn column_positions<S: AsRef<str>>(&self, names: &[S]) -> Result<Vec<usize>> {
        const FEW: usize = 8;
        let fields = self.schema().fields();
        // Of many, each is looked up; to build the table costs as much as to search for some.
        let many = names.len() > FEW;
        let all: HashMap<&str, usize> = fields
            .iter()
            .take(if many { fields.len() } else { 0 })
            .zip(0..)
            .map(|(f, i)| (f.name().as_str(), i))
            .collect();
        let position = |name: &S| {
            let name = name.as_ref();
            let search = || fields.iter().position(|field| field.name() == name);
            let found = if many {
                all.get(name).copied()
            } else {
                search()
            };
            found.ok_or_else(|| unknown_column(name, self.schema()))
        };
        names.iter().map(position).collect()
    }

    /// The place that an error in a leaf has.
    pub(crate) fn place(&self, leaf: usize, row_group: usize) -> impl Fn(&mut Place) + use<> {
        let path = self.inner.store.path().map(Path::to_owned);
        let column = self.leaf(leaf).ok().map(|l| l.path.clone());
        move |p| (p.path, p.column, p.row_group) = (path.clone(), column.clone(), Some(row_group))
    }

    /// One leaf of one row group: of equal columns the chunk that both are.
    pub(crate) fn chunk(&self, leaf: usize, row_group: usize) -> Result<Arc<ChunkEntry>> {
        let of = |leaf: usize| {
            let chunk = self.index(leaf)?.chunks.get(row_group).cloned();
            chunk.ok_or_else(|| Error::corrupt(format!("no row group {row_group}")))
        };
        let chunk = of(leaf)?;
        let Some(by) = chunk.equal() else {
            return Ok(chunk);
        };
        let (other, spec, reference) = (of(by)?, self.leaf(leaf)?, self.leaf(by)?);
        if !other.sources.is_empty()
            || other.values != chunk.values
            || (reference.ty, reference.kind) != (spec.ty, spec.kind)
        {
            let what = format!(
                "equal to leaf {by}: a column of the same type and length that is in terms of none expected"
            );
            return Err(Error::corrupt(what).at(self.place(leaf, row_group)));
        }
        Ok(other)
    }

    /// The leaf that has the blocks of a leaf in a row group: of equal columns the one that both
    /// are.
    fn owner(&self, leaf: usize, row_group: usize) -> Result<usize> {
        // ColumnPlan for its chunk first: that these two fit is seen there.
        self.chunk(leaf, row_group)?;
        Ok(self
            .index(leaf)?
            .chunks
            .get(row_group)
            .and_then(|chunk| chunk.equal())
            .unwrap_or(leaf))
    }

    /// The column index of a leaf, read when it is first asked for.
    pub(crate) fn index(&self, leaf: usize) -> Result<Arc<ColumnIndex>> {
        let inner = &self.inner;
        let (Some(cell), Some(&(offset, bytes))) =
            (inner.indexes.get(leaf), inner.footer.leaves.get(leaf))
        else {
            return Err(Error::corrupt(format!("no leaf {leaf}")));
        };
        if let Some(index) = cell.get() {
            return Ok(index.clone());
        }
        let read = || {
            if u64::from(bytes) > inner.opener.limits.metadata_bytes {
                let most = inner.opener.limits.metadata_bytes;
                return Err(Error::limit(format!(
                    "a column index of at most {most} bytes is allowed, found {bytes}"
                )));
            }
            let bytes = inner.store.read(offset, u64::from(bytes))?;
            let block_rows = u64::from(inner.footer.block_rows);
            let index = ColumnIndex::read(
                &bytes,
                inner.footer.row_groups.len(),
                block_rows,
                inner.footer.offset,
                &inner.opener.limits,
            )?;
            let spec = self.leaf(leaf)?;
            let fits = |b: &BlockEntry| b.zone.bounds.is_viable(spec.ty, spec.kind);
            if !index.chunks.iter().flat_map(|c| &c.blocks).all(fits) {
                return Err(Error::corrupt(format!(
                    "zone maps of {:?} {:?} expected",
                    spec.kind, spec.ty
                )));
            }
            if self.leaf(leaf)?.flat {
                for (chunk, &rows) in index.chunks.iter().zip(&inner.footer.row_groups) {
                    if chunk.values != u64::from(rows) {
                        return Err(Error::corrupt(format!(
                            "a chunk of {rows} values expected, found {}",
                            chunk.values
                        )));
                    }
                }
            }
            Ok(Arc::new(index))
        };
        let index = read().map_err(|e| {
            e.within("column index").at(|p| {
                p.path = inner.store.path().map(Path::to_owned);
                p.column = self.leaf(leaf).ok().map(|l| l.path.clone());
                p.offset = Some(offset);
            })
        })?;
        Ok(cell.get_or_init(|| index).clone())
    }

    /// Blocks of one leaf of one row group, decoded.
    pub(crate) fn decode_leaf(
        &self,
        leaf: usize,
        row_group: usize,
        blocks: Range<usize>,
    ) -> Result<DecodedLeaf> {
        self.decode_leaf_as(leaf, row_group, blocks, OutputLayout::default())
    }

    /// As [`decode_leaf`](Self::decode_leaf), in some form.
    fn decode_leaf_as(
        &self,
        leaf: usize,
        row_group: usize,
        blocks: Range<usize>,
        form: OutputLayout,
    ) -> Result<DecodedLeaf> {
        let place = self.place(leaf, row_group);
        let decode = || {
            let chunk = self.chunk(leaf, row_group)?;
            let reader = LeafReader {
                file: self,
                leaf: self.leaf(leaf)?,
                chunk: &chunk,
            };
            let chunks = chunk
                .sources
                .iter()
                .map(|by| self.reference(leaf, &chunk, *by as usize, row_group));
            let chunks = chunks.collect::<Result<Vec<_>>>()?;
            let references: Vec<LeafReader<'_>> = chunks
                .iter()
                .map(|(leaf, chunk)| LeafReader {
                    file: self,
                    leaf,
                    chunk,
                })
                .collect();
            // Who reads a part of the chunk is likely to read the next, too.
            let shared =
                self.shared(leaf, row_group, &reader, blocks.len() < chunk.blocks.len())?;
            reader.decode(blocks, &shared, &references, form)
        };
        decode().map_err(|e| e.at(&place))
    }

    /// A block, opened now or before, and kept for later: decoded, where that is asked for.
    pub(crate) fn opened_and_kept(
        &self,
        leaf: usize,
        row_group: usize,
        block: usize,
    ) -> Result<Arc<OpenBlock>> {
        let (cache, leaf) = (&self.inner.cache, self.owner(leaf, row_group)?);
        if let Some(kept) = cache.block(leaf, row_group, block) {
            return Ok(kept);
        }
        let mut opened = self.open_anew(leaf, row_group, block, true)?;
        let Limits {
            cache_decoded,
            cache_bytes,
            ..
        } = *self.limits();
        if cache_decoded && cache_bytes > 0 {
            opened = Arc::new(opened.with(decoded)?);
        }
        cache.keep_block(leaf, row_group, block, &opened);
        Ok(opened)
    }

    /// A block, opened now or before.
    pub(crate) fn opened(
        &self,
        leaf: usize,
        row_group: usize,
        block: usize,
    ) -> Result<Arc<OpenBlock>> {
        let leaf = self.owner(leaf, row_group)?;
        let kept = self.inner.cache.block(leaf, row_group, block);
        kept.map_or_else(|| self.open_anew(leaf, row_group, block, false), Ok)
    }

    /// `keep` the bytes of the blocks that tell this one: they may tell others, too, and be asked
    /// for themselves.
    fn open_anew(
        &self,
        leaf: usize,
        row_group: usize,
        block: usize,
        keep: bool,
    ) -> Result<Arc<OpenBlock>> {
        let cache = &self.inner.cache;
        let chunk = self.chunk(leaf, row_group)?;
        let reader = LeafReader {
            file: self,
            leaf: self.leaf(leaf)?,
            chunk: &chunk,
        };
        let references = chunk
            .sources
            .iter()
            .map(|by| self.reference(leaf, &chunk, *by as usize, row_group));
        let references = references.collect::<Result<Vec<_>>>()?;
        let references: Vec<_> = references
            .iter()
            .map(|(leaf, chunk)| LeafReader {
                file: self,
                leaf,
                chunk,
            })
            .collect();
        let shared = self.shared(leaf, row_group, &reader, true)?;
        let read = |(reader, of): (&LeafReader<'_>, usize)| {
            if let Some(bytes) = cache.bytes_of(of, row_group, block) {
                return Ok(bytes);
            }
            let bytes = reader.block_bytes(reader.wanted(&(block..block.saturating_add(1))))?;
            if keep && of != leaf {
                cache.keep_bytes(of, row_group, block, &bytes);
            }
            Ok(bytes)
        };
        let bytes = read((&reader, leaf))?;
        let others = references
            .iter()
            .zip(chunk.sources.iter().map(|by| *by as usize))
            .map(read);
        let sources = Sources {
            bytes,
            references: others.collect::<Result<_>>()?,
            shared,
        };
        Ok(Arc::new(reader.open_block(block, &references, sources)?))
    }

    /// That the shared parts of a chunk can be decoded, whether blocks use them or not.
    pub(crate) fn check_shared(&self, leaf: usize, row_group: usize) -> Result<()> {
        let check = || {
            let chunk = self.chunk(leaf, row_group)?;
            let reader = LeafReader {
                file: self,
                leaf: self.leaf(leaf)?,
                chunk: &chunk,
            };
            self.shared(leaf, row_group, &reader, true)?
                .iter()
                .try_for_each(SharedDictionary::check)
        };
        check().map_err(|e| e.at(self.place(leaf, row_group)))
    }

    /// The shared parts of a chunk, opened now or before.
    fn shared(
        &self,
        leaf: usize,
        row_group: usize,
        reader: &LeafReader<'_>,
        keep: bool,
    ) -> Result<Arc<Vec<SharedDictionary>>> {
        let cache = &self.inner.cache;
        if reader.chunk.shared.is_empty() {
            return Ok(Arc::default());
        }
        if let Some(shared) = cache.shared(leaf, row_group) {
            return Ok(shared);
        }
        let shared = Arc::new(reader.open_shared()?);
        if keep {
            cache.keep_shared(leaf, row_group, &shared);
        }
        Ok(shared)
    }

    /// The chunk of leaf `by`, in terms of which a chunk of `leaf` is.
    fn reference(
        &self,
        leaf: usize,
        chunk: &ChunkEntry,
        by: usize,
        row_group: usize,
    ) -> Result<(&Leaf, Arc<ChunkEntry>)> {
        let other = self.index(by)?.chunks.get(row_group).cloned();
        let fits = |other: &Arc<ChunkEntry>| {
            other.sources.is_empty() && by != leaf && other.values == chunk.values
        };
        let other = other.filter(fits).ok_or_else(|| {
            let expected = "another column of as many values expected that is in terms of none";
            Error::corrupt(format!("in terms of leaf {by}: {expected}"))
        })?;
        Ok((self.leaf(by)?, other))
    }

    /// One column of one row group: rows `rows` of it, which need not begin or end with a block;
    /// `past_cache`: written past the caches.
    pub(crate) fn column(
        &self,
        column: usize,
        schema: &Schema,
        row_group: usize,
        rows: Range<usize>,
        past_cache: bool,
    ) -> Result<ArrayRef> {
        let (Some(node), Some(field)) = (
            self.layout().fields.get(column),
            schema.fields().get(column),
        ) else {
            return Err(Error::corrupt(format!("no column {column}")));
        };
        let Some((leaf, plain)) = dictionary_or_runs(field, node) else {
            return self.column_as(field, column, row_group, rows, past_cache);
        };
        let ty = plain.data_type();
        let coded = match field.data_type() {
            DataType::RunEndEncoded(..) => self.run_rows(leaf, ty, row_group, &rows),
            _ => self.dictionary_rows(leaf, ty, row_group, &rows),
        };
        match coded.map_err(|e| e.at(self.place(leaf, row_group)))? {
            Some(coded) => Ok(coded),
            None => cast_to_dictionary(
                field,
                &self.column_as(&plain, column, row_group, rows, false)?,
            ),
        }
    }

    /// [`column`](Self::column), as an array of this field.
    pub(crate) fn column_as(
        &self,
        field: &Field,
        column: usize,
        row_group: usize,
        rows: Range<usize>,
        past_cache: bool,
    ) -> Result<ArrayRef> {
        let total = self
            .footer()
            .row_groups
            .get(row_group)
            .copied()
            .unwrap_or(0) as usize;
        let Some(node) = self.layout().fields.get(column) else {
            return Err(Error::corrupt(format!("no column {column}")));
        };
        let leaves = self.layout().leaves_of(column);
        let flat = leaves.len() == 1 && self.leaf(leaves.start)?.flat;
        let block_rows = self.footer().block_rows as usize;
        // Nested columns are decoded whole and then cut: where a row's items lie is known from all
        // lengths before it.
        let (first, last) = if flat {
            (rows.start / block_rows, rows.end.div_ceil(block_rows))
        } else {
            (0, usize::MAX)
        };
        let (start, end) = if flat {
            (first * block_rows, (last * block_rows).min(total))
        } else {
            (0, total)
        };
        let form = |leaf| OutputLayout {
            views: reads_views(field.data_type(), node, leaf),
            past_cache,
        };
        let decode = |leaf| self.decode_leaf_as(leaf, row_group, first..last, form(leaf));
        // Several leaves at once where there are threads for them.
        let ahead = leaves.len() > 1
            && leaves.len() * total >= WORTH_THREADS
            && rayon::current_num_threads() > 1;
        let ahead = if ahead { leaves.clone() } else { 0..0 };
        let mut ahead: Vec<_> = ahead
            .into_par_iter()
            .with_max_len(1)
            .map(|leaf| Some(decode(leaf)))
            .collect();
        let mut fetch = |leaf: usize| {
            let place = leaf.checked_sub(leaves.start);
            let found = place
                .and_then(|place| ahead.get_mut(place))
                .and_then(Option::take);
            found.unwrap_or_else(|| decode(leaf))
        };
        let most = usize::try_from(self.limits().row_group_values).unwrap_or(usize::MAX);
        let array = assemble_within(most, field, node, end - start, &mut fetch);
        let array = array.map_err(|e| e.at(self.place(leaves.start, row_group)))?;
        if rows.start == start && rows.end == end {
            return Ok(array);
        }
        Ok(array.slice(rows.start - start, rows.len()))
    }

    /// Some columns of rows of one row group, in parallel.
    pub(crate) fn batch(
        &self,
        columns: &[usize],
        schema: &Schema,
        row_group: usize,
        rows: Range<usize>,
    ) -> Result<RecordBatch> {
        let past_cache = self.decoded_bytes(columns, row_group, rows.len()) > IN_CACHE;
        let read =
            |column: &usize| self.column(*column, schema, row_group, rows.clone(), past_cache);
        let arrays = each_column(columns, rows.len(), read)?;
        let schema = Arc::new(schema.project(columns)?);
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }

    /// About as many bytes as so many rows of some columns have decoded.
    fn decoded_bytes(&self, columns: &[usize], row_group: usize, rows: usize) -> u64 {
        let bytes = |leaf: usize| {
            // What is wrong with one is found when it is read.
            let (Ok(of), Ok(chunk)) = (self.leaf(leaf), self.chunk(leaf, row_group)) else {
                return 0;
            };
            let width = of
                .ty
                .map_or(0, |ty| ty.width_bytes().unwrap_or(STRING_BYTES));
            chunk.values.saturating_mul(width as u64)
        };
        let leaves = columns
            .iter()
            .flat_map(|column| self.layout().leaves_of(*column));
        let all = leaves.map(bytes).fold(0, u64::saturating_add);
        let total = self
            .footer()
            .row_groups
            .get(row_group)
            .copied()
            .unwrap_or(0)
            .max(1);
        (u128::from(all) * rows as u128 / u128::from(total)) as u64
    }
}

/// What a scan has in flight may stay in the caches until it is read; larger batches do not.
const IN_CACHE: u64 = 8 << 20;

/// What a string is taken to have, with its offset or as a view.
const STRING_BYTES: usize = 16;

/// Something of every column, in parallel where that is worth while: for `rows` rows each.
pub(crate) fn each_column<T: Send>(
    columns: &[usize],
    rows: usize,
    of: impl Fn(&usize) -> Result<T> + Sync + Send,
) -> Result<Vec<T>> {
    // To wake other threads takes as long as to read some hundred values.
    if columns.len() < 2 || columns.len() * rows < WORTH_THREADS || rayon::current_num_threads() < 2
    {
        return columns.iter().map(of).collect();
    }
    // One by one: some columns cost many times what others do.
    columns.par_iter().with_max_len(1).map(of).collect()
}

/// Values in all from which on several threads read them.
const WORTH_THREADS: usize = 1024;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::Schema;

    use crate::read::{File, schema_for};
    use crate::testing::arrays::{Random, array, flat_types, one};
    use crate::write::WriteOptions;

    /// Blocks that end within a vector, with NULLs and without; strings plain and as views.
    #[test]
    fn values_past_the_caches_are_those_that_go_through_them() {
        let mut random = Random(8);
        for (i, ty) in flat_types().into_iter().enumerate() {
            let batch = one("a", true, array(&ty, i % 4 > 0, 3300, &mut random));
            let options = WriteOptions {
                block_rows: 1536,
                ..WriteOptions::default()
            };
            let bytes =
                crate::to_bytes(batch.schema(), std::slice::from_ref(&batch), options).unwrap();
            let file = File::from_bytes(bytes).unwrap();
            for views in [false, true] {
                let schema: Arc<Schema> = schema_for(file.schema(), views);
                for rows in [0..3300, 1600..3100] {
                    let read = |past| file.column(0, &schema, 0, rows.clone(), past).unwrap();
                    let found = read(true);
                    found.to_data().validate_full().unwrap();
                    assert_eq!(&found, &read(false), "{ty}");
                }
            }
        }
    }
}
