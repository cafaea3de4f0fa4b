//! Temporary files and folders, which get their names once they are whole.

use std::path::Path;
use std::{fs, io};

use tempfile::{Builder, NamedTempFile, TempDir};

use super::output::refuse_existing;
use crate::error::{Failure, Result};
use crate::terminal::interrupt;

/// A folder that is removed when it is dropped, and by Ctrl-C.
pub(crate) fn temporary_folder() -> Result<TempDir> {
    let folder = Builder::new().prefix(".staffa-").tempdir();
    let folder = folder.map_err(|error| Failure::io("a temporary folder", &error))?;
    interrupt::remove_folder(folder.path().to_path_buf());
    Ok(folder)
}

/// A folder as `temporary_folder`, beside what is written to `path`: its files can be renamed.
pub(crate) fn temporary_folder_beside(path: &Path) -> Result<TempDir> {
    let mut folders = path.ancestors().skip(1);
    let folder = folders.find(|folder| folder.is_dir());
    let folder = folder.unwrap_or(Path::new("."));
    let made = Builder::new().prefix(".staffa-").tempdir_in(folder);
    let made = made.map_err(|error| Failure::io(&path.display().to_string(), &error))?;
    interrupt::remove_folder(made.path().to_path_buf());
    Ok(made)
}

/// A new file beside `path`, with the permissions of the file that it replaces or of any new file.
pub(super) fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".staffa-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(parent(path))?;
    if let Ok(replaced) = fs::metadata(path) {
        file.as_file().set_permissions(replaced.permissions())?;
    }
    Ok(file)
}

/// The folder that holds the name of a file or folder.
pub(super) fn parent(path: &Path) -> &Path {
    let folder = path.parent();
    folder
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Has the names in a folder outlive a crash, where the system can.
pub(super) fn sync_folder(folder: &Path) {
    // The files are whole either way.
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
}

/// Gives a temporary file its name.
pub(super) fn persist(file: NamedTempFile, path: &Path, replace: bool) -> Result<()> {
    let result = if replace {
        file.persist(path)
    } else {
        file.persist_noclobber(path)
    };
    match result {
        Ok(_) => {
            sync_folder(parent(path));
            Ok(())
        }
        // The file was created while we wrote.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            refuse_existing(path, false)
        }
        Err(error) => Err(Failure::io(&path.display().to_string(), &error.error)),
    }
}
