//! Several files that appear together: written in a hidden folder beside their place, then renamed. In a
//! store they are objects, which appear when each is finished, and are taken back after an error.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::input::url_of;
use super::output::{refuse_existing, resolved};
use super::temporary::{parent, sync_folder, temporary_folder_beside};
use crate::error::{Failure, Result};
use crate::terminal::interrupt;

/// Files of one folder and those below it. A drop before `name_all` removes them.
pub(crate) struct StagedFiles {
    folder: PathBuf,
    /// None in a store.
    hidden: Option<TempDir>,
    /// Paths below the folder.
    files: BTreeSet<PathBuf>,
    replace: bool,
}

impl StagedFiles {
    /// Files in the folder of `output`, which need not exist yet.
    pub(crate) fn beside(output: &Path, replace: bool) -> Result<Self> {
        Ok(Self {
            folder: output.parent().unwrap_or(Path::new("")).to_owned(),
            hidden: match url_of(output) {
                Some(_) => None,
                None => Some(temporary_folder_beside(output)?),
            },
            files: BTreeSet::new(),
            replace,
        })
    }

    /// Adds a file by its path below the folder; returns the path to write it to.
    pub(crate) fn add(&mut self, file: &Path) -> Result<PathBuf> {
        let Some(hidden) = &self.hidden else {
            self.files.insert(file.to_owned());
            return Ok(self.object(file));
        };
        refuse_existing(&self.folder.join(file), self.replace)?;
        let path = hidden.path().join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| self.fail(file, &error))?;
        }
        self.files.insert(file.to_owned());
        Ok(path)
    }

    /// The URL of a file: what stands for another byte in its name does so in the store.
    fn object(&self, file: &Path) -> PathBuf {
        let name = file
            .to_string_lossy()
            .replace('%', "%25")
            .replace('#', "%23");
        self.folder.join(name)
    }

    /// Takes objects back that are finished, after an error.
    pub(crate) fn remove_objects(&self, finished: &[PathBuf]) {
        for file in finished.iter().filter(|_| self.hidden.is_none()) {
            // What cannot be removed stays.
            let _ = self.object(file).to_str().map(staffa_lake::remove);
        }
    }

    /// A message with the files as they are to be called.
    pub(crate) fn named(&self, message: &str) -> String {
        let folder = match self.folder.to_string_lossy() {
            folder if folder.is_empty() => String::new(),
            folder => format!("{folder}/"),
        };
        match &self.hidden {
            Some(hidden) => message.replace(&format!("{}/", hidden.path().display()), &folder),
            None => message.to_owned(),
        }
    }

    /// Gives all files their names; of an error none is left but those that replaced others.
    pub(crate) fn name_all(&self) -> Result<()> {
        let Some(hidden) = &self.hidden else {
            return Ok(());
        };
        interrupt::without_interruption(|| {
            let mut undo = Undo::default();
            for file in &self.files {
                self.name(hidden.path(), file, &mut undo)?;
            }
            self.parents(&undo)
                .iter()
                .for_each(|path| sync_folder(path));
            undo.forget();
            Ok(())
        })
    }

    /// The folders with the names of the files and of the folders that were created.
    fn parents(&self, undo: &Undo) -> BTreeSet<PathBuf> {
        let files = self
            .files
            .iter()
            .map(|file| resolved(&self.folder.join(file)));
        let names = files.chain(undo.folders.iter().cloned());
        names.map(|path| parent(&path).to_owned()).collect()
    }

    fn name(&self, hidden: &Path, file: &Path, undo: &mut Undo) -> Result<()> {
        let path = self.folder.join(file);
        let existed = path.exists();
        refuse_existing(&path, self.replace)?;
        if let Some(parent) = path.parent() {
            undo.create_folder(parent)
                .map_err(|error| self.fail(file, &error))?;
        }
        let hidden = hidden.join(file);
        if let Ok(replaced) = fs::metadata(&path) {
            fs::set_permissions(&hidden, replaced.permissions())
                .map_err(|error| self.fail(file, &error))?;
        }
        fs::rename(hidden, resolved(&path)).map_err(|error| self.fail(file, &error))?;
        if !existed {
            undo.files.push(path);
        }
        Ok(())
    }

    /// The files and folders of the folder that were not written and whose names match.
    pub(crate) fn others(&self, matches: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
        let written = |name: &Path| {
            let mut files = self.files.iter();
            files.any(|file| file.iter().next() == Some(name.as_os_str()))
        };
        let folder = if self.folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.folder
        };
        let Ok(entries) = fs::read_dir(folder) else {
            // Nothing was written.
            return Ok(Vec::new());
        };
        let mut others = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.fail(Path::new(""), &error))?;
            let name = PathBuf::from(entry.file_name());
            if matches(&name.to_string_lossy()) && !written(&name) {
                others.push(self.folder.join(name));
            }
        }
        others.sort();
        Ok(others)
    }

    fn fail(&self, file: &Path, error: &io::Error) -> Failure {
        Failure::io(&self.folder.join(file).display().to_string(), error)
    }
}

/// Removes files and folders when it is dropped.
#[derive(Default)]
struct Undo {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Undo {
    fn create_folder(&mut self, folder: &Path) -> io::Result<()> {
        let missing = folder.ancestors();
        let missing = missing.take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        fs::create_dir_all(folder)?;
        self.folders.extend(missing.into_iter().rev());
        Ok(())
    }

    fn forget(mut self) {
        self.files.clear();
        self.folders.clear();
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        for file in &self.files {
            // What cannot be removed stays.
            let _ = fs::remove_file(file);
        }
        for folder in self.folders.iter().rev() {
            // A folder with other files stays.
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn files_appear_together_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("new/part.csv");
        let mut staged = StagedFiles::beside(&output, false).unwrap();
        for file in ["x=1/part.csv", "x=2/part.csv"] {
            fs::write(staged.add(Path::new(file)).unwrap(), file).unwrap();
        }
        let taken = folder.path().join("new/x=2/part.csv");
        fs::create_dir_all(taken.parent().unwrap()).unwrap();
        fs::write(&taken, "other").unwrap();
        assert!(staged.name_all().is_err());
        drop(staged);
        assert!(!folder.path().join("new/x=1").exists());
        fs::remove_file(&taken).unwrap();

        let mut staged = StagedFiles::beside(&output, false).unwrap();
        for file in ["x=1/part.csv", "x=2/part.csv"] {
            fs::write(staged.add(Path::new(file)).unwrap(), file).unwrap();
        }
        staged.name_all().unwrap();
        assert_eq!(fs::read_to_string(&taken).unwrap(), "x=2/part.csv");
        drop(staged);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn every_folder_with_a_new_name_is_synced() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("new/part.csv");
        let mut staged = StagedFiles::beside(&output, false).unwrap();
        for file in ["x=1/part.csv", "x=2/part.csv"] {
            fs::write(staged.add(Path::new(file)).unwrap(), file).unwrap();
        }
        let mut undo = Undo::default();
        for file in &staged.files {
            let hidden = staged.hidden.as_ref().unwrap().path();
            staged.name(hidden, file, &mut undo).unwrap();
        }
        let synced = staged.parents(&undo);
        let expected = ["", "new", "new/x=1", "new/x=2"].map(|path| folder.path().join(path));
        assert_eq!(synced, BTreeSet::from(expected));
        undo.forget();
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_replaces_another_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("part.csv");
        fs::write(&output, "old").unwrap();
        fs::set_permissions(&output, fs::Permissions::from_mode(0o600)).unwrap();
        let mut staged = StagedFiles::beside(&output, true).unwrap();
        fs::write(staged.add(Path::new("part.csv")).unwrap(), "new").unwrap();
        staged.name_all().unwrap();
        assert_eq!(fs::read_to_string(&output).unwrap(), "new");
        let mode = fs::metadata(&output).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
