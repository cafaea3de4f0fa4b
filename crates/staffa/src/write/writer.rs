//! The writer: record batches in, a file that appears whole or not at all.
//!
//! ```text
//! RecordBatch -> row group -> leaves -> chunks (columns and blocks in parallel) -> temporary file -> sync -> rename
//! ```
//!
//! Memory is bounded by one row group and its encoding, and by the column indexes (some 30 bytes
//! per block).

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use rayon::prelude::*;
use tempfile::NamedTempFile;

use super::chunk::{Chosen, ChunkOptions, EncodedChunk, Reference};
use super::plan::{ColumnPlan, asked};
use super::unsupported_value::explained;
use super::{WriteOptions, WriteSummary, chunk, correlate, rounding};
use crate::arrow::{Layout, Leaf, concat, shred};
use crate::encodings::POOL;
use crate::error::{Error, Result};
use crate::format::{
    BlockEntry, ChunkEntry, ColumnIndex, FORMAT_VERSION, Footer, MAX_BLOCK_ROWS, PartEntry, header,
};
use crate::values::{LeafArray, LeafValues};

/// Writes a file under a temporary name beside its path; [`finish`](Self::finish) syncs and renames
/// it. Dropped before, nothing remains.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
/// let path = std::env::temp_dir().join("staffa-writer-example.staffa");
/// let mut writer = staffa::Writer::create(&path, batch.schema(), staffa::WriteOptions::default())?;
/// writer.write(&batch)?;
/// let written = writer.finish()?;
/// assert_eq!(written.rows, 1000);
/// assert_eq!(staffa::File::open(&path)?.num_rows(), 1000);
/// # std::fs::remove_file(path)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Writer {
    encoder: Encoder<BufWriter<NamedTempFile>>,
    path: PathBuf,
    overwrite: bool,
}

impl Writer {
    /// Begins a file of this schema.
    pub fn create(
        path: impl AsRef<Path>,
        schema: SchemaRef,
        options: WriteOptions,
    ) -> Result<Self> {
        // Through a link to what it points to: the link stays.
        let path = fs::canonicalize(&path).unwrap_or_else(|_| path.as_ref().to_owned());
        let overwrite = options.overwrite;
        if path.is_dir() {
            return Err(Error::io(&path, io::ErrorKind::IsADirectory.into()));
        }
        if path.exists() && !path.is_file() {
            return Err(Error::invalid(format!(
                "{} is no ordinary file, and a Staffa file is written whole",
                path.display()
            )));
        }
        if !overwrite && path.exists() {
            return Err(exists(&path));
        }
        let plan = Plan::new(schema, options)?;
        let folder = path
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".staffa-").suffix(".tmp");
        #[cfg(unix)]
        {
            // As for any new file: the process's mask takes away what it takes away.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder
            .tempfile_in(folder)
            .map_err(|e| Error::io(&path, e))?;
        let sink = BufWriter::with_capacity(1 << 20, file);
        let encoder = Encoder::new(sink, plan).map_err(|e| name(e, &path))?;
        Ok(Self {
            encoder,
            path,
            overwrite,
        })
    }

    /// Adds any number of rows; whenever a row group is full it is encoded and written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.encoder.write(batch).map_err(|e| name(e, &self.path))
    }

    /// Bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.encoder.position
    }

    /// Writes what is left, syncs, and gives the file its name.
    pub fn finish(self) -> Result<WriteSummary> {
        let Self {
            encoder,
            path,
            overwrite,
        } = self;
        let (sink, summary) = encoder.finish().map_err(|e| name(e, &path))?;
        let file = sink
            .into_inner()
            .map_err(|e| Error::io(&path, e.into_error()))?;
        file.as_file().sync_all().map_err(|e| Error::io(&path, e))?;
        let persisted = if overwrite {
            file.persist(&path)
        } else {
            file.persist_noclobber(&path)
        };
        persisted.map_err(|e| match e.error.kind() {
            io::ErrorKind::AlreadyExists => exists(&path),
            _ => Error::io(&path, e.error),
        })?;
        sync_folder(&path);
        Ok(summary)
    }
}

fn exists(path: &Path) -> Error {
    Error::io(
        path,
        io::Error::new(
            io::ErrorKind::AlreadyExists,
            "the file exists and is not to be replaced",
        ),
    )
}

/// Tells which file an error of the system concerns.
fn name(error: Error, path: &Path) -> Error {
    match error {
        Error::Io { path: None, source } => Error::io(path, source),
        other => other,
    }
}

/// Makes the new name itself durable, where the system has a way to.
fn sync_folder(path: &Path) {
    #[cfg(unix)]
    if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        // The contents are safe already; a folder that cannot be opened only delays the name.
        let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// A whole table as a file in memory.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
/// let bytes = staffa::to_bytes(batch.schema(), &[batch], staffa::WriteOptions::default())?;
/// assert!(bytes.len() < 500);
/// # Ok(())
/// # }
/// ```
pub fn to_bytes(
    schema: SchemaRef,
    batches: &[RecordBatch],
    options: WriteOptions,
) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new(Vec::new(), Plan::new(schema, options)?)?;
    batches.iter().try_for_each(|batch| encoder.write(batch))?;
    Ok(encoder.finish()?.0)
}

/// What is settled before the first byte is written.
#[derive(Debug)]
struct Plan {
    schema: SchemaRef,
    /// As the file keeps it: the same, and which floats are rounded.
    stored: SchemaRef,
    layout: Layout,
    options: WriteOptions,
    /// Per leaf.
    asked: Vec<ColumnPlan>,
    /// Encodings that are not to be chosen, one bit per id.
    without: u64,
    threads: Option<rayon::ThreadPool>,
}

impl Plan {
    fn new(schema: SchemaRef, options: WriteOptions) -> Result<Self> {
        if options.row_group_rows == 0
            || options.block_rows == 0
            || options.block_rows > MAX_BLOCK_ROWS as usize
        {
            return Err(Error::invalid(format!(
                "row groups of 1 row or more and blocks of 1 to 1048576 values are possible, asked for {} and {}",
                options.row_group_rows, options.block_rows
            )));
        }
        let layout = Layout::new(&schema)?;
        let (asked, roundings) = asked(&options, &layout, &schema)?;
        let stored = Arc::new(rounding::mark(&schema, &roundings));
        let threads = crate::read::thread_pool(options.threads)?;
        let without = POOL.excluded(&options.without)?;
        Ok(Self {
            schema,
            stored,
            layout,
            options,
            asked,
            without,
            threads,
        })
    }
}

/// Encodes row groups into a sink.
#[derive(Debug)]
struct Encoder<W> {
    sink: W,
    plan: Plan,
    position: u64,
    pending: Vec<RecordBatch>,
    pending_rows: usize,
    pending_bytes: usize,
    indexes: Vec<ColumnIndex>,
    row_groups: Vec<u32>,
    summary: WriteSummary,
    /// Set while rows are on their way: an error on it leaves rows lost, and the file must not be
    /// finished.
    broken: bool,
}

impl<W: Write + Send> Encoder<W> {
    fn new(sink: W, plan: Plan) -> Result<Self> {
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

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
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

    /// Rows of a full row group, going by the size of the rows at hand.
    fn full_rows(&self) -> usize {
        let row_bytes = (self.pending_bytes / self.pending_rows.max(1)).max(1);
        let rows = (self.plan.options.row_group_bytes / row_bytes)
            .clamp(1, self.plan.options.row_group_rows);
        let unit = [self.plan.options.block_rows, 1024, 1]
            .into_iter()
            .find(|unit| *unit <= rows)
            .unwrap_or(1);
        if rows == self.plan.options.row_group_rows {
            rows
        } else {
            rows / unit * unit
        }
    }

    /// Encodes the first `rows` pending rows.
    fn flush(&mut self, rows: usize) -> Result<()> {
        if self.broken {
            return Err(Error::invalid(
                "an earlier write failed and its rows are lost: this file cannot be finished",
            ));
        }
        self.broken = true;
        let mut group = Vec::new();
        let mut wanted = rows;
        let mut rest = std::mem::take(&mut self.pending).into_iter();
        for batch in rest.by_ref() {
            if batch.num_rows() > wanted {
                self.pending
                    .push(batch.slice(wanted, batch.num_rows() - wanted));
                group.push(batch.slice(0, wanted));
                break;
            }
            wanted -= batch.num_rows();
            group.push(batch);
            if wanted == 0 {
                break;
            }
        }
        self.pending.extend(rest);
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
        let (plan, first_row) = (&self.plan, self.summary.rows);
        let mut leaves = shred(batch, &plan.layout)?;
        for (array, asked) in leaves.iter_mut().zip(&plan.asked) {
            asked
                .rounding
                .iter()
                .for_each(|rounding| rounding.apply(array));
        }
        for (array, leaf) in leaves.iter().zip(plan.layout.leaves()) {
            check_offsets(array, leaf)?;
        }
        let encode = || {
            let work = leaves.par_iter().zip(plan.layout.leaves()).zip(&plan.asked);
            let chosen = work.map(|((array, leaf), asked)| {
                let options = ChunkOptions {
                    profile: asked.profile,
                    access: plan.options.access,
                    rounded: asked.rounding.is_some(),
                    requested: asked.encoding.as_deref(),
                    without: plan.without,
                    block_rows: plan.options.block_rows,
                    verify: plan.options.verify,
                    kind: leaf.kind,
                };
                chunk::choose(array, options)
                    .map_err(|e| explained(e, (array, leaf), options, batch, first_row))
            });
            let mut chosen = chosen.collect::<Result<Vec<_>>>()?;
            let told = if plan.options.relate
                && plan
                    .asked
                    .iter()
                    .any(|asked| correlate::relates(asked.profile))
            {
                correlate::relate(&mut chosen, correlate::LEAST_GAIN)?.0
            } else {
                vec![Vec::new(); chosen.len()]
            };
            finish(&chosen, &told, &plan.layout)
        };
        let chunks = match &plan.threads {
            Some(pool) => pool.install(encode),
            None => encode(),
        }?;
        let rows = u32::try_from(batch.num_rows()).map_err(|_| {
            Error::limit(format!(
                "at most 2^32 rows of a row group are possible, found {}",
                batch.num_rows()
            ))
        })?;
        for (leaf, chunk) in chunks.into_iter().enumerate() {
            let entry = self.put_chunk(chunk)?;
            if let Some(index) = self.indexes.get_mut(leaf) {
                index.chunks.push(Arc::new(entry));
            }
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
        let sources: Vec<u32> = chunk.sources.iter().map(|leaf| *leaf as u32).collect();
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

    fn finish(mut self) -> Result<(W, WriteSummary)> {
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

/// The chunks of a row group: first those that stand by themselves, then those in terms of one of
/// them.
fn finish(
    chosen: &[Chosen<'_>],
    told: &[Vec<usize>],
    layout: &Layout,
) -> Result<Vec<EncodedChunk>> {
    let located = |leaf: usize, result: Result<EncodedChunk>| {
        result.map_err(|e| {
            e.at(|p| p.column = layout.leaves().get(leaf).map(|leaf| leaf.path.clone()))
        })
    };
    let own = chosen
        .par_iter()
        .zip(told)
        .enumerate()
        .map(|(leaf, (chosen, by))| match by.as_slice() {
            [] => located(leaf, chosen.finish(&[])).map(Some),
            _ => Ok(None),
        });
    let own: Vec<Option<EncodedChunk>> = own.collect::<Result<_>>()?;
    let rest = chosen
        .par_iter()
        .zip(told)
        .enumerate()
        .map(|(leaf, (column, by))| {
            let reference = |&leaf: &usize| match (chosen.get(leaf), own.get(leaf)) {
                (Some(reference), Some(Some(chunk))) => Ok(Reference {
                    leaf,
                    ty: reference.ty,
                    chunk,
                }),
                _ => Err(Error::invalid(format!(
                    "leaf {leaf} tells another and is told itself"
                ))),
            };
            if by.is_empty() {
                return Ok(None);
            }
            let references = by.iter().map(reference).collect::<Result<Vec<_>>>()?;
            located(leaf, column.finish(&references)).map(Some)
        });
    let rest: Vec<Option<EncodedChunk>> = rest.collect::<Result<_>>()?;
    Ok(own
        .into_iter()
        .zip(rest)
        .filter_map(|(own, told)| own.or(told))
        .collect())
}

/// What is written must be read again: strings with 32-bit offsets end within 2^31 bytes of a row
/// group.
fn check_offsets(array: &LeafArray, leaf: &Leaf) -> Result<()> {
    let LeafValues::Bytes { offsets, .. } = &array.values else {
        return Ok(());
    };
    let bytes = offsets.last().copied().unwrap_or(0) - offsets.first().copied().unwrap_or(0);
    if !leaf.large && i32::try_from(bytes).is_err() {
        let what = format!(
            "strings of at most 2^31 - 1 bytes in a row group are possible, found {bytes}: write fewer rows to one"
        );
        return Err(Error::limit(what).at(|p| p.column = Some(leaf.path.clone())));
    }
    Ok(())
}

/// Refuses a batch of another schema, naming the first column that differs; metadata may differ.
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
