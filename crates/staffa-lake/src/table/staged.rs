//! New files of a folder that appear together: none is visible before the last one is whole.
//!
//! Of a local folder they are written in a hidden folder beside its files, then renamed. Of a store they
//! are uploads that wait for their end: parts of a file that waits are in the store already, and nobody
//! sees them. Where a name or an end fails, those that were given before are taken back.

use std::fmt;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, BufWriter, Write};
use std::mem;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use staffa::{Error, Result, WriteOptions, WriteSummary, Writer};
use tempfile::TempDir;

use super::folder::Folder;
use crate::upload::{Upload, remove_at};

/// Files that are written into a folder. A drop before [`finish`](Self::finish) leaves nothing behind.
#[derive(Debug)]
pub(super) struct StagedFiles {
    folder: Folder,
    /// Of a local folder, once there is a file, and the folders that were made for it.
    hidden: Option<(TempDir, Vec<PathBuf>)>,
    /// Files without their names, by their paths below the folder.
    done: Vec<(String, Sink)>,
    /// In the names of all files: others are written into the folder at the same time.
    token: String,
    begun: usize,
}

/// Where the bytes of a file go.
enum Sink {
    Local {
        file: Option<BufWriter<fs::File>>,
        path: PathBuf,
    },
    Object(Box<Upload>),
}

/// A file that is being written.
pub(super) struct StagedFile {
    below: String,
    writer: Writer<Sink>,
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local { path, .. } => f.debug_tuple("Local").field(path).finish(),
            Self::Object(upload) => upload.fmt(f),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Local { file, .. } => {
                let file = file.as_mut();
                file.ok_or_else(|| io::Error::other("the file is closed"))?
                    .write(bytes)
            }
            Self::Object(upload) => upload.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl StagedFile {
    /// Adds rows.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let written = self.writer.write(batch);
        written.map_err(|e| named(e, &self.below))
    }

    /// Bytes of the file so far, without rows that wait for a row group.
    pub(super) fn bytes_written(&self) -> u64 {
        self.writer.bytes_written()
    }
}

/// An error of a sink that has no name, with the file's.
fn named(error: Error, name: &str) -> Error {
    match error {
        Error::Io { path: None, source } => Error::io(name, source),
        other => other,
    }
}

impl StagedFiles {
    pub(super) fn new(folder: Folder) -> Self {
        let mut random = RandomState::new().build_hasher();
        random.write_u32(std::process::id());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        random.write_u128(now.map_or(0, |time| time.as_nanos()));
        Self {
            folder,
            hidden: None,
            done: Vec::new(),
            token: format!("{:016x}", random.finish()),
            begun: 0,
        }
    }

    /// Begins a file in a folder below, such as `year=2026`; empty: in the folder itself.
    pub(super) fn begin(
        &mut self,
        below: &str,
        schema: SchemaRef,
        options: WriteOptions,
    ) -> Result<StagedFile> {
        let name = format!("part-{}-{:05}.staffa", self.token, self.begun);
        let below = match below {
            "" => name,
            folder => format!("{folder}/{name}"),
        };
        let sink = match &self.folder {
            Folder::Local(folder) => {
                let folder = folder.clone();
                let name = self.begun.to_string();
                let path = self.hidden_folder(&folder)?.join(name);
                let file = fs::File::create_new(&path).map_err(|e| Error::io(&path, e))?;
                let file = Some(BufWriter::with_capacity(1 << 20, file));
                Sink::Local { file, path }
            }
            Folder::Prefix(_) => {
                let location = self.folder.location_of(&below);
                let location =
                    location.ok_or_else(|| Error::invalid(format!("{below:?} is no name")))?;
                Sink::Object(Box::new(Upload::begin(location, false)?))
            }
        };
        self.begun += 1;
        let writer = Writer::new(sink, schema, options)?;
        Ok(StagedFile { below, writer })
    }

    fn hidden_folder(&mut self, folder: &Path) -> Result<&Path> {
        let hidden = if let Some(hidden) = self.hidden.take() {
            hidden
        } else {
            let made = create_folders(folder)?;
            let hidden = tempfile::Builder::new()
                .prefix(".staffa-")
                .tempdir_in(folder);
            (hidden.map_err(|e| Error::io(folder, e))?, made)
        };
        Ok(self.hidden.insert(hidden).0.path())
    }

    /// Writes the end of a file, which gets its name in [`finish`](Self::finish). One that does not
    /// wait alone is brought out of memory.
    pub(super) fn close(&mut self, file: StagedFile, is_last: bool) -> Result<WriteSummary> {
        let StagedFile { below, writer } = file;
        let (sink, summary) = writer.into_parts().map_err(|e| named(e, &below))?;
        let sink = match sink {
            Sink::Local { file, path } => {
                let io = |e| Error::io(&below, e);
                let file = file.ok_or_else(|| Error::internal("a file that is closed twice"))?;
                let file = file.into_inner().map_err(|e| io(e.into_error()))?;
                file.sync_all().map_err(io)?;
                Sink::Local { file: None, path }
            }
            Sink::Object(mut upload) => {
                if !is_last {
                    upload.put_rest()?;
                }
                Sink::Object(upload)
            }
        };
        self.done.push((below, sink));
        Ok(summary)
    }

    /// Gives all files their names; returns their paths. After an error none is left.
    pub(super) fn finish(mut self) -> Result<Vec<PathBuf>> {
        let mut undo = Undo::default();
        for (below, sink) in mem::take(&mut self.done) {
            let path = self.folder.path_of(&below);
            match sink {
                Sink::Local { path: hidden, .. } => {
                    let folder = path.parent().unwrap_or(Path::new(""));
                    undo.folders.extend(create_folders(folder)?);
                    fs::rename(&hidden, &path).map_err(|e| Error::io(&path, e))?;
                    sync(folder);
                }
                Sink::Object(upload) => upload.finish()?,
            }
            undo.files.push((below, self.folder.clone()));
        }
        if let Some((hidden, made)) = self.hidden.take() {
            drop(hidden);
            if undo.files.is_empty() {
                made.iter()
                    .rev()
                    .for_each(|folder| drop(fs::remove_dir(folder)));
            }
        }
        Ok(undo.keep())
    }
}

impl Drop for StagedFiles {
    fn drop(&mut self) {
        if let Some((hidden, made)) = self.hidden.take() {
            drop(hidden);
            // A folder with other files stays.
            made.iter()
                .rev()
                .for_each(|folder| drop(fs::remove_dir(folder)));
        }
    }
}

/// Creates a folder and those above it; returns those that were not there, from above.
pub(super) fn create_folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let above = folder.ancestors();
    let missing = above.take_while(|path| !path.as_os_str().is_empty() && !path.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    Ok(missing)
}

/// Has the names in a folder outlive a crash, where the system can.
pub(super) fn sync(folder: &Path) {
    // The files are whole either way.
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
}

/// Files that are removed, and folders if they are empty then, when it is dropped.
#[derive(Default)]
pub(super) struct Undo {
    pub files: Vec<(String, Folder)>,
    pub folders: Vec<PathBuf>,
}

impl Undo {
    /// Keeps all files; returns their paths.
    pub fn keep(mut self) -> Vec<PathBuf> {
        self.folders.clear();
        let files = mem::take(&mut self.files);
        let path = |(below, folder): &(String, Folder)| folder.path_of(below);
        files.iter().map(path).collect()
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        for (below, folder) in &self.files {
            // What cannot be removed stays: each file is whole.
            if let Some(location) = folder.location_of(below) {
                let _ = remove_at(&location);
            } else {
                let _ = fs::remove_file(folder.path_of(below));
            }
        }
        self.folders
            .iter()
            .rev()
            .for_each(|folder| drop(fs::remove_dir(folder)));
    }
}
