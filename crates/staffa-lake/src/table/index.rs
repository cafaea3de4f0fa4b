//! `_staffa_metadata`: what opening the files of a folder needs, in one file of the folder.
//!
//! It is a Staffa file, of a row for each data file:
//!
//! | column | type | |
//! |---|---|---|
//! | `path` | text | below the folder, with `/` between names |
//! | `bytes` | unsigned integer | of the file |
//! | `tag` | text | the store's version (`ETag`), if it names one |
//! | `modified` | timestamp in nanoseconds, UTC | when the file was written |
//! | `rows` | unsigned integer | of the file |
//! | `keys` | map of text to text | in the names of its folders |
//! | `tail` | bytes | from [`File::end_offset`] on: all that opening the file needs |
//!
//! A row counts only where the listing of the folder shows the same bytes and the same tag, or the same
//! time where there is no tag. Other files are opened as they are, and an index that cannot be read
//! is as good as none: it saves requests, and decides nothing.

use std::collections::HashMap;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use arrow_array::builder::{MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampNanosecondType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, RecordBatch, StringArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::Schema;
use bytes::Bytes;
use staffa::{Error, File, Limits, Result, Source as _, WriteOptions, Writer};

use super::find::{Found, TableFile};
use super::folder::Folder;
use super::hive::Keys;
use crate::list::Object;
use crate::source::ObjectSource;
use crate::upload::ObjectWriter;

/// The name of the index in a table's folder.
pub const INDEX_NAME: &str = "_staffa_metadata";

/// Files that are opened at the same time.
const AT_ONCE: usize = 16;
/// Rows of the index that are written at once.
const BATCH_FILES: usize = 1024;
/// An index of fewer bytes is read in one request.
const WHOLE_BYTES: u64 = 64 << 20;

/// Where an index is.
#[derive(Debug)]
pub(crate) enum IndexFile {
    Local(PathBuf),
    Object(Object),
}

/// What tells a file from another one of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    bytes: u64,
    tag: Option<String>,
    modified: Option<i64>,
}

impl Version {
    pub(crate) fn of_object(object: &Object) -> Self {
        Self {
            bytes: object.bytes,
            tag: object.tag.clone(),
            modified: object.modified,
        }
    }

    pub(crate) fn of_local(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self {
            bytes: metadata.len(),
            tag: None,
            modified: Some(i64::try_from(modified.as_nanos()).ok()?),
        })
    }

    /// Whether a file of this version is one that was indexed.
    fn is(&self, indexed: &Self) -> bool {
        let same = match (&self.tag, &indexed.tag) {
            (Some(tag), Some(indexed)) => tag == indexed,
            (None, None) => self.modified.is_some() && self.modified == indexed.modified,
            _ => false,
        };
        same && self.bytes == indexed.bytes
    }
}

/// A file in an index.
struct Entry {
    version: Version,
    tail: Bytes,
}

impl IndexFile {
    /// The index of a local folder, if there is one.
    pub(crate) fn of_folder(folder: &Path) -> Option<Self> {
        let path = folder.join(INDEX_NAME);
        path.is_file().then_some(Self::Local(path))
    }

    fn open(&self) -> Result<File> {
        match self {
            Self::Local(path) => File::open(path),
            Self::Object(object) if object.bytes <= WHOLE_BYTES => {
                File::from_bytes(object.read_whole()?)
            }
            Self::Object(object) => crate::open_with(&object.location, Limits::default()),
        }
    }

    /// The files of the index, by their paths below its folder.
    fn read(&self) -> Result<HashMap<String, Entry>> {
        let file = self.open()?;
        let mut entries = HashMap::new();
        let scan = file
            .scan()
            .columns(["path", "bytes", "tag", "modified", "tail"]);
        for batch in scan.reader()? {
            add_entries(&batch?, &mut entries)
                .ok_or_else(|| Error::corrupt("an index has columns of other types"))?;
        }
        Ok(entries)
    }
}

/// Adds the rows of a batch; `None` if its columns are of other types.
fn add_entries(batch: &RecordBatch, out: &mut HashMap<String, Entry>) -> Option<()> {
    let [path, bytes, tag, modified, tail] = batch.columns() else {
        return None;
    };
    let (path, tag) = (path.as_string_opt::<i32>()?, tag.as_string_opt::<i32>()?);
    let bytes = bytes.as_primitive_opt::<UInt64Type>()?;
    let modified = modified.as_primitive_opt::<TimestampNanosecondType>()?;
    let tail = tail.as_binary_opt::<i32>()?;
    for row in 0..batch.num_rows() {
        let version = Version {
            bytes: bytes.value(row),
            tag: tag.is_valid(row).then(|| tag.value(row).to_owned()),
            modified: modified.is_valid(row).then(|| modified.value(row)),
        };
        let tail = Bytes::copy_from_slice(tail.value(row));
        out.insert(path.value(row).to_owned(), Entry { version, tail });
    }
    Some(())
}

impl Found {
    /// Reads the table's index, if there is one: files that are as they were when it was written are
    /// opened without a request. Returns the number of these.
    pub fn read_index(&mut self) -> usize {
        let index = self.index.take();
        let Some(Ok(entries)) = index.map(|index| index.read()) else {
            return 0;
        };
        let mut known = 0;
        for file in &mut self.files {
            let entry = entries.get(&file.below);
            let Some((entry, version)) = entry.zip(file.version()) else {
                continue;
            };
            if version.is(&entry.version) && (entry.tail.len() as u64) <= version.bytes {
                file.bytes = version.bytes;
                file.end = Some(entry.tail.clone());
                known += 1;
            }
        }
        known
    }
}

/// What was written by [`write_index`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexSummary {
    /// Files in the index.
    pub files: usize,
    /// Those that were not in the index before, or were changed since.
    pub opened: usize,
    /// Rows of all files.
    pub rows: u64,
    /// Bytes of the index.
    pub bytes: u64,
}

/// Writes the index of a table's folder. An index that is
/// there is replaced; files that are in it and did not change are not opened again.
///
/// ```no_run
/// # fn main() -> staffa::Result<()> {
/// use staffa_lake::table::{Folder, write_index};
///
/// let written = write_index(&Folder::new("s3://bucket/trips/".as_ref())?)?;
/// println!("{} files of {} rows", written.files, written.rows);
/// # Ok(())
/// # }
/// ```
pub fn write_index(folder: &Folder) -> Result<IndexSummary> {
    let mut found = folder.find()?;
    if found.files.is_empty() {
        let what = std::io::Error::new(std::io::ErrorKind::NotFound, "no file ends in .staffa");
        return Err(Error::io(folder.name(), what));
    }
    let known = found.read_index();
    let described = describe(&found.files)?;
    let mut rows = 0;
    let mut batches = Vec::new();
    for (files, described) in found
        .files
        .chunks(BATCH_FILES)
        .zip(described.chunks(BATCH_FILES))
    {
        rows += described.iter().map(|file| file.rows).sum::<u64>();
        batches.push(batch(files, described)?);
    }
    let options = WriteOptions::new().overwrite(true);
    let bytes = match folder {
        Folder::Local(path) => {
            let path = path.join(INDEX_NAME);
            let mut writer = Writer::create(path, schema(&batches)?, options)?;
            batches.iter().try_for_each(|batch| writer.write(batch))?;
            writer.finish()?.file_bytes
        }
        Folder::Prefix(base) => {
            let location = base.with_path(base.path().clone().join(INDEX_NAME));
            let mut writer = ObjectWriter::new(&location, schema(&batches)?, options)?;
            batches.iter().try_for_each(|batch| writer.write(batch))?;
            writer.finish()?.file_bytes
        }
    };
    Ok(IndexSummary {
        files: found.files.len(),
        opened: found.files.len() - known,
        rows,
        bytes,
    })
}

/// What the index says of a file.
#[derive(Debug, Clone)]
struct Described {
    version: Version,
    rows: u64,
    tail: Bytes,
}

/// Opens files, several at a time.
fn describe(files: &[TableFile]) -> Result<Vec<Described>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Described)>> {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(at) else {
                return Ok(done);
            };
            match describe_one(file) {
                Ok(described) => done.push((at, described)),
                Err(error) => {
                    // The others end as well.
                    next.store(files.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let done = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE.min(files.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let ended = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|_| Err(Error::internal("a thread that opens files ended")))
        };
        threads.into_iter().map(ended).collect::<Result<Vec<_>>>()
    });
    let mut done: Vec<_> = done?.into_iter().flatten().collect();
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, described)| described).collect())
}

fn describe_one(file: &TableFile) -> Result<Described> {
    let gone = || Error::io(file.path(), std::io::ErrorKind::NotFound.into());
    let mut version = file.version().ok_or_else(gone)?;
    if let (Some(tail), Some(known)) = (&file.end, file.known()?) {
        return Ok(Described {
            version,
            rows: known.num_rows(),
            tail: tail.clone(),
        });
    }
    let Some(object) = &file.object else {
        let opened = File::open(file.path())?;
        let io = |e| Error::io(file.path(), e);
        let mut tail = Vec::new();
        let mut bytes = fs::File::open(file.path()).map_err(io)?;
        bytes
            .seek(SeekFrom::Start(opened.end_offset()))
            .map_err(io)?;
        bytes.read_to_end(&mut tail).map_err(io)?;
        return Ok(Described {
            version,
            rows: opened.num_rows(),
            tail: tail.into(),
        });
    };
    let source = Arc::new(ObjectSource::open(&object.location)?);
    let opened = File::open_source(source.clone())?;
    // What is described is what was opened, not what was listed before.
    version.bytes = source.len();
    version.tag = source.tag().map(str::to_owned);
    Ok(Described {
        version,
        rows: opened.num_rows(),
        tail: source.read(opened.end_offset()..source.len())?,
    })
}

fn schema(batches: &[RecordBatch]) -> Result<Arc<Schema>> {
    match batches.first() {
        Some(first) => Ok(first.schema()),
        None => Ok(batch(&[], &[])?.schema()),
    }
}

fn batch(files: &[TableFile], described: &[Described]) -> Result<RecordBatch> {
    let versions = || described.iter().map(|file| &file.version);
    let paths = StringArray::from_iter_values(files.iter().map(|file| file.below.as_str()));
    let bytes = UInt64Array::from_iter_values(versions().map(|version| version.bytes));
    let tags: StringArray = versions().map(|version| version.tag.as_deref()).collect();
    let modified: TimestampNanosecondArray = versions().map(|version| version.modified).collect();
    let rows = UInt64Array::from_iter_values(described.iter().map(|file| file.rows));
    let keys: Vec<Keys> = files
        .iter()
        .map(|file| super::keys(file.folders_below().iter().map(String::as_str)))
        .collect();
    let tails = BinaryArray::from_iter_values(described.iter().map(|file| &file.tail));
    let columns: [(&str, ArrayRef, bool); 7] = [
        ("path", Arc::new(paths), false),
        ("bytes", Arc::new(bytes), false),
        ("tag", Arc::new(tags), true),
        ("modified", Arc::new(modified.with_timezone("UTC")), true),
        ("rows", Arc::new(rows), false),
        ("keys", key_maps(&keys)?, false),
        ("tail", Arc::new(tails), false),
    ];
    Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
}

fn key_maps(files: &[Keys]) -> Result<ArrayRef> {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    for keys in files {
        for (key, value) in keys {
            maps.keys().append_value(key);
            maps.values().append_option(value.as_deref());
        }
        maps.append(true)?;
    }
    Ok(Arc::new(maps.finish()))
}
