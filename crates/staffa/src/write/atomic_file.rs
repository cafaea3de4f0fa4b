//! A file that appears whole or not at all.
//!
//! ```text
//! bytes -> temporary file in the folder of the path -> sync -> rename -> sync of the folder
//! ```

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// The sink of [`Writer::create`](super::Writer::create): a temporary file that gets its name when the
/// writer finishes, and is removed when it does not.
pub struct AtomicFile {
    /// None once the file has its name.
    file: Option<NamedTempFile>,
    path: PathBuf,
    overwrite: bool,
}

impl AtomicFile {
    /// The path with its links followed: a link stays, and the file that it points to is written.
    /// Refuses what a file cannot replace.
    pub(super) fn target(path: &Path, overwrite: bool) -> Result<PathBuf> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
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
        Ok(path)
    }

    /// Creates the temporary file beside a path that [`target`](Self::target) returned.
    pub(super) fn create(path: PathBuf, overwrite: bool) -> Result<Self> {
        let folder = path
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".staffa-").suffix(".tmp");
        #[cfg(unix)]
        {
            // As for any new file: the process's mask restricts them.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder);
        let file = file.map_err(|e| Error::io(&path, of_system(folder, &e)))?;
        if let Ok(replaced) = fs::metadata(&path) {
            let kept = file.as_file().set_permissions(replaced.permissions());
            kept.map_err(|e| Error::io(&path, e))?;
        }
        Ok(Self {
            file: Some(file),
            path,
            overwrite,
        })
    }

    /// Syncs the file and gives it its name.
    pub(super) fn commit(&mut self) -> Result<()> {
        let path = &self.path;
        let file = self.file.take();
        let file = file.ok_or_else(|| Error::internal("a file that is finished twice"))?;
        file.as_file().sync_all().map_err(|e| Error::io(path, e))?;
        let persisted = if self.overwrite {
            file.persist(path)
        } else {
            file.persist_noclobber(path)
        };
        persisted.map_err(|e| match e.error.kind() {
            io::ErrorKind::AlreadyExists => exists(path),
            _ => Error::io(path, e.error),
        })?;
        sync_folder(path);
        Ok(())
    }

    /// Without its temporary name, which errors would have.
    fn file(&mut self) -> io::Result<&mut fs::File> {
        let finished = || io::Error::other("the file is finished already");
        let file = self.file.as_mut().ok_or_else(finished)?;
        Ok(file.as_file_mut())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file()?.flush()
    }
}

impl fmt::Debug for AtomicFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The system's error about a folder: that of `tempfile` names the temporary file instead.
fn of_system(folder: &Path, error: &io::Error) -> io::Error {
    let missing = fs::read_dir(folder).err();
    missing.unwrap_or_else(|| error.kind().into())
}

fn exists(path: &Path) -> Error {
    let what = "the file exists and is not to be replaced";
    Error::io(path, io::Error::new(io::ErrorKind::AlreadyExists, what))
}

/// Makes the new name durable, where the system can.
fn sync_folder(path: &Path) {
    #[cfg(unix)]
    if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        // The contents are safe already; a folder that cannot be opened only delays the name.
        let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
    }
    #[cfg(not(unix))]
    let _ = path;
}
