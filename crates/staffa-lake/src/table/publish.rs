//! Files that several processes wrote, and one gives their names: none is visible before that.
//!
//! Every process writes files into a folder beside the table's where no reader looks, whose name begins with
//! a dot. Those that are to be the table's then move out of it: a local file is renamed, an object is copied
//! within its store. What is left in the hidden folder, of processes that failed, goes with it.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::ObjectStoreExt as _;
use staffa::{Error, Result};

use super::find::TableFile;
use super::folder::Folder;
use super::staged::{Undo, create_folders, sync};
use crate::error::of_store;
use crate::list::{Object, every};
use crate::location::Location;
use crate::runtime;
use crate::upload::remove_at;

/// Objects that are copied or removed at the same time.
const AT_ONCE: usize = 16;
/// Times that the removal of a folder is tried.
const MOST_TRIES: usize = 8;

/// Moves files out of a hidden folder to the same places below a table's folder; returns their paths there.
/// After an error none of them is left there.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// use staffa_lake::table::{Folder, TableOptions, TableWriter, discard, publish};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..1000)) as _)])?;
/// # let path = std::env::temp_dir().join(format!("staffa-publish-{}", std::process::id()));
/// let (table, hidden) = (Folder::new(&path)?, Folder::new(&path.join(".job-7"))?);
/// // In each process:
/// let mut writer = TableWriter::new(&hidden, &batch.schema(), TableOptions::default())?;
/// writer.write(&batch)?;
/// let written = writer.finish()?.files;
/// assert!(table.find()?.files.is_empty());
/// // In one of them, in the end:
/// let files = publish(&hidden, &table, &written)?;
/// discard(&hidden)?;
/// assert_eq!(table.find()?.files[0].path(), files[0]);
/// # std::fs::remove_dir_all(&path)?;
/// # Ok(())
/// # }
/// ```
pub fn publish(hidden: &Folder, table: &Folder, files: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let found = hidden.find()?.files;
    let wanted: HashSet<&Path> = files.iter().map(PathBuf::as_path).collect();
    let moved: Vec<&TableFile> = found
        .iter()
        .filter(|file| wanted.contains(file.path()))
        .collect();
    if moved.len() < wanted.len() {
        let there: HashSet<&Path> = moved.iter().map(|file| file.path()).collect();
        let gone = files.iter().find(|file| !there.contains(file.as_path()));
        let gone = gone.map_or_else(String::new, |file| crate::name_of(&file.to_string_lossy()));
        let what = "the file was written and is gone";
        return Err(Error::io(
            gone,
            std::io::Error::new(ErrorKind::NotFound, what),
        ));
    }
    let mut undo = Undo::default();
    match table {
        Folder::Local(_) => {
            for file in &moved {
                let path = table.path_of(&file.below);
                let above = path.parent().unwrap_or(Path::new(""));
                undo.folders.extend(create_folders(above)?);
                fs::rename(file.path(), &path).map_err(|e| Error::io(&path, e))?;
                undo.files.push((file.below.clone(), table.clone()));
                sync(above);
            }
        }
        Folder::Prefix(_) => {
            let each = moved.iter().map(|file| file.below.clone());
            // One that fails is undone too: it may have arrived.
            undo.files = each.map(|below| (below, table.clone())).collect();
            copy_objects(&moved, table)?;
        }
    }
    Ok(undo.keep())
}

/// Removes a hidden folder and all that is in it; one that is not there is removed as well.
pub fn discard(hidden: &Folder) -> Result<()> {
    match hidden {
        Folder::Local(path) => discard_local(path),
        Folder::Prefix(base) => every(base)?
            .iter()
            .try_for_each(|object| remove_at(&object.location)),
    }
}

fn discard_local(path: &Path) -> Result<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            // A process that outlives the job begins a file meanwhile.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && tries < MOST_TRIES => {}
            Err(error) => return Err(Error::io(path, error)),
            Ok(()) => return Ok(()),
        }
    }
}

/// Copies objects to the same places below a table's prefix.
fn copy_objects(files: &[&TableFile], table: &Folder) -> Result<()> {
    let pair = |file: &&TableFile| -> Result<(Location, Location)> {
        let unnamed = || Error::internal(format!("{}: a file without an object", file.name()));
        let Object { location, .. } = file.object.clone().ok_or_else(unnamed)?;
        let to = table.location_of(&file.below).ok_or_else(unnamed)?;
        Ok((location, to))
    };
    let pairs = files.iter().map(pair).collect::<Result<Vec<_>>>()?;
    let io = |e| Error::io(table.name(), e);
    let copied = runtime::wait_for(async move {
        let copies = pairs.into_iter().map(|(from, to)| async move {
            let copied = from.store().copy(from.path(), to.path()).await;
            copied.map_err(|e| of_store(to.name(), &e))
        });
        stream::iter(copies)
            .buffer_unordered(AT_ONCE)
            .try_collect::<Vec<()>>()
            .await
    });
    copied.map_err(io)?.map(drop)
}
