//! The files of a table: of a path, a folder, a wildcard or a URL.
//!
//! | source | files |
//! |---|---|
//! | a path that exists, also of a name with wildcards | itself |
//! | a folder | all data files in and below it, but those whose name, or a folder's below it, begins with a dot or an underscore; links are followed |
//! | a wildcard (`*`, `?`, `[...]`, `**`) | the files that match, and the files of folders that match, each once; `*` does not match a leading dot |
//! | a URL that ends in `/` | as a folder |
//! | a URL with `*`, `**` or `[...]` | the objects that match |
//! | any other path or URL | itself, whether it is there or not |
//!
//! The order is that of the names, folder by folder.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use staffa::{Error, Result};

use super::hive::{Keys, keys};
use super::index::{IndexFile, Version};
use crate::list::{self, Object};
use crate::location::{Location, is_url};
use crate::upload::{remove, remove_at};

/// The files of a table, in order.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Found {
    /// The files; none where a folder has no data, or nothing matches.
    pub files: Vec<TableFile>,
    /// The table's index, not read yet.
    pub(crate) index: Option<IndexFile>,
}

/// A file of a table.
#[derive(Debug, Clone)]
pub struct TableFile {
    path: PathBuf,
    pub(crate) object: Option<Object>,
    /// Folders of the path before those that were searched.
    fixed: usize,
    /// Its path below what was searched.
    pub(crate) below: String,
    /// The bytes that opening it needs, of the index.
    pub(crate) end: Option<Bytes>,
    /// Its bytes, with these.
    pub(crate) bytes: u64,
}

impl TableFile {
    fn local(path: PathBuf, base: &Path) -> Self {
        let below = path.strip_prefix(base).unwrap_or(&path);
        let below: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
        Self {
            fixed: names(base).len(),
            below: below.join("/"),
            path,
            object: None,
            end: None,
            bytes: 0,
        }
    }

    fn object(object: Object, base: &Location) -> Self {
        let parts = object.location.path().prefix_match(base.path());
        let below: Vec<String> = parts.map_or_else(Vec::new, |parts| {
            parts.map(|part| part.as_ref().to_owned()).collect()
        });
        Self {
            path: object.location.name().into(),
            fixed: base.path().parts().count(),
            below: below.join("/"),
            end: None,
            bytes: object.bytes,
            object: Some(object),
        }
    }

    /// The path, or the URL in its place.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name for messages: a URL without query.
    pub fn name(&self) -> String {
        match &self.object {
            Some(object) => object.location.name().to_owned(),
            None => crate::name_of(&self.path.to_string_lossy()),
        }
    }

    /// The names of the folders of the path; of a URL those of the object's path.
    pub fn folders(&self) -> Vec<String> {
        let mut folders = match (&self.object, self.path.to_str().filter(|text| is_url(text))) {
            (Some(object), _) => parts(&object.location),
            (None, Some(url)) => Location::parse(url).map_or_else(|_| Vec::new(), |at| parts(&at)),
            (None, None) => names(&self.path),
        };
        folders.pop();
        folders
    }

    /// The names of the folders below the one that was searched, which is the part of a wildcard
    /// before its first mark; all of a file that was named itself.
    pub fn folders_below(&self) -> Vec<String> {
        let folders = self.folders();
        folders.into_iter().skip(self.fixed).collect()
    }

    /// The keys in the names of all folders.
    pub fn keys(&self) -> Keys {
        keys(self.folders().iter().map(String::as_str))
    }

    /// The bytes of an object that was listed.
    pub fn object_bytes(&self) -> Option<u64> {
        self.object.as_ref().map(|object| object.bytes)
    }

    /// Whether the table's index knows it as it is.
    pub fn is_known(&self) -> bool {
        self.end.is_some()
    }

    /// Removes the file; one that is gone already is removed as well.
    pub fn remove(&self) -> Result<()> {
        if let Some(object) = &self.object {
            return remove_at(&object.location);
        }
        if let Some(url) = self.path.to_str().filter(|text| is_url(text)) {
            return remove(url);
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io(&self.path, error))
            }
            _ => Ok(()),
        }
    }

    /// What tells this file from a later one of the same name.
    pub(crate) fn version(&self) -> Option<Version> {
        if let Some(object) = &self.object {
            return Some(Version::of_object(object));
        }
        Version::of_local(&self.path)
    }
}

/// The names in a path.
fn names(path: &Path) -> Vec<String> {
    let normal = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    normal.collect()
}

fn parts(location: &Location) -> Vec<String> {
    let parts = location.path().parts();
    parts.map(|part| part.as_ref().to_owned()).collect()
}

/// The files that a path, a folder, a wildcard or a URL names; `is_data` says which of a folder are
/// meant.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("staffa-find-{}", std::process::id()));
/// # std::fs::create_dir_all(folder.join("year=2026"))?;
/// for name in ["year=2026/a.staffa", "_old.staffa", "README.md"] {
///     std::fs::write(folder.join(name), "")?;
/// }
/// let is_staffa = |path: &std::path::Path| path.extension().is_some_and(|ending| ending == "staffa");
/// let found = staffa_lake::table::find(&folder, &is_staffa)?;
/// assert_eq!(found.files.len(), 1);
/// assert_eq!(found.files[0].folders_below(), ["year=2026"]);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
pub fn find(source: &Path, is_data: &dyn Fn(&Path) -> bool) -> Result<Found> {
    let text = source.to_string_lossy();
    if let Some(url) = source.to_str().filter(|text| is_url(text)) {
        return find_objects(url, is_data);
    }
    if source.is_dir() {
        return in_folder(source, is_data);
    }
    if text.contains(['*', '?', '[']) && !source.exists() {
        // All folders below are the folder itself.
        return match text.strip_suffix("**") {
            Some(folder) => find(Path::new(or_here(folder)), is_data),
            None => matching(&text, is_data),
        };
    }
    Ok(Found {
        files: vec![TableFile::local(source.to_owned(), Path::new(""))],
        index: None,
    })
}

/// A folder as a path, of which the end may be cut off.
fn or_here(folder: &str) -> &str {
    match folder.trim_end_matches(std::path::is_separator) {
        "" if folder.is_empty() => ".",
        "" => folder,
        trimmed => trimmed,
    }
}

fn find_objects(url: &str, is_data: &dyn Fn(&Path) -> bool) -> Result<Found> {
    if !list::names_several(url) {
        let file = TableFile {
            path: url.into(),
            object: None,
            fixed: 0,
            below: String::new(),
            end: None,
            bytes: 0,
        };
        return Ok(Found {
            files: vec![file],
            index: None,
        });
    }
    let listing = list::listing(url, &|path| is_data(Path::new(path)))?;
    Ok(Found::of_listing(listing))
}

impl Found {
    pub(crate) fn of_listing(listing: list::Listing) -> Self {
        let objects = listing.objects.into_iter();
        Self {
            files: objects
                .map(|object| TableFile::object(object, &listing.base))
                .collect(),
            index: listing.index.map(IndexFile::Object),
        }
    }
}

fn in_folder(folder: &Path, is_data: &dyn Fn(&Path) -> bool) -> Result<Found> {
    let mut files = Vec::new();
    files_below(folder, is_data, &mut Vec::new(), &mut files)?;
    let file = |path| TableFile::local(path, folder);
    Ok(Found {
        files: files.into_iter().map(file).collect(),
        index: IndexFile::of_folder(folder),
    })
}

/// The data files in and below a folder, which was found within the folders `above`.
fn files_below(
    folder: &Path,
    is_data: &dyn Fn(&Path) -> bool,
    above: &mut Vec<PathBuf>,
    out: &mut Vec<PathBuf>,
) -> Result<()> {
    let fail = |error: io::Error| Error::io(folder, error);
    let own = fs::canonicalize(folder).map_err(fail)?;
    if above.contains(&own) {
        // A link led back to it.
        return Ok(());
    }
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(fail)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    above.push(own);
    for entry in entries {
        let path = entry.path();
        if is_hidden(&entry.file_name()) {
            continue;
        }
        if path.is_dir() {
            files_below(&path, is_data, above, out)?;
        } else if is_data(&path) {
            out.push(path);
        }
    }
    above.pop();
    Ok(())
}

/// Whether a name is that of a hidden or internal file or folder.
fn is_hidden(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with(['.', '_'])
}

fn matching(pattern: &str, is_data: &dyn Fn(&Path) -> bool) -> Result<Found> {
    let options = glob::MatchOptions {
        require_literal_leading_dot: true,
        ..glob::MatchOptions::default()
    };
    let found = glob::glob_with(pattern, options);
    let found = found.map_err(|e| {
        Error::invalid(format!(
            "{pattern}: this wildcard does not parse: {}",
            e.msg
        ))
    })?;
    let mut files = BTreeSet::new();
    for entry in found {
        let entry = entry.map_err(|e| Error::io(e.path().to_owned(), e.into()))?;
        if entry.is_dir() {
            // `**` means all folders but those that nobody is meant to look into.
            if pattern.contains("**") && entry.file_name().is_some_and(is_hidden) {
                continue;
            }
            let mut below = Vec::new();
            files_below(&entry, is_data, &mut Vec::new(), &mut below)?;
            files.extend(below);
        } else {
            files.insert(entry);
        }
    }
    let fixed = pattern.split(['*', '?', '[']).next().unwrap_or_default();
    let base = match fixed.rfind(std::path::is_separator) {
        Some(at) => Path::new(fixed.get(..=at).unwrap_or_default()),
        None => Path::new(""),
    };
    let file = |path| TableFile::local(path, base);
    Ok(Found {
        files: files.into_iter().map(file).collect(),
        index: IndexFile::of_folder(base),
    })
}
