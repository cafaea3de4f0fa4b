//! One file to read, or the standard input; folders and wildcards that name several.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use staffa_lake::ObjectReader;
use tempfile::TempPath;

use super::STANDARD;
use crate::error::{Exit, Failure, Result};

/// One file to read, or the standard input.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    path: PathBuf,
}

impl Input {
    /// The standard input for `-`, else a file that exists.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let input = Self {
            path: path.to_path_buf(),
        };
        if !input.is_standard() && input.url().is_none() {
            let metadata = fs::metadata(path).map_err(|error| input.io_error(&error))?;
            if metadata.is_dir() {
                return Err(input.io_error(&io::ErrorKind::IsADirectory.into()));
            }
        }
        Ok(input)
    }

    /// A file that need not exist.
    #[cfg(test)]
    pub(crate) fn missing(path: &str) -> Self {
        Self { path: path.into() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_standard(&self) -> bool {
        self.path == Path::new(STANDARD)
    }

    /// The URL of an object in a store.
    pub(crate) fn url(&self) -> Option<&str> {
        url_of(&self.path)
    }

    /// The name for messages.
    pub(crate) fn name(&self) -> String {
        if let Some(url) = self.url() {
            return staffa_lake::name_of(url);
        }
        if self.is_standard() {
            "the standard input".into()
        } else {
            self.path.display().to_string()
        }
    }

    /// A system error about this input.
    pub(crate) fn io_error(&self, error: &io::Error) -> Failure {
        Failure::io(&self.name(), error)
    }

    /// An object is copied to a temporary file first.
    pub(crate) fn open(&self) -> Result<File> {
        if self.url().is_some() {
            let copy = self.seekable()?;
            return File::open(&copy.path).map_err(|error| self.io_error(&error));
        }
        File::open(&self.path).map_err(|error| self.io_error(&error))
    }

    /// The length of a file; None for a pipe.
    pub(crate) fn byte_len(&self) -> Option<u64> {
        fs::metadata(&self.path)
            .ok()
            .filter(fs::Metadata::is_file)
            .map(|metadata| metadata.len())
    }

    /// A path for formats that are read from their end; a pipe is copied to a temporary file first.
    pub(crate) fn seekable(&self) -> Result<SeekableInput> {
        if self.byte_len().is_some() {
            return Ok(SeekableInput {
                path: self.path.clone(),
                _copy: None,
            });
        }
        let mut source: Box<dyn Read> = if self.is_standard() {
            Box::new(io::stdin().lock())
        } else if let Some(url) = self.url() {
            let fail = |error| Failure::staffa(&self.path, error);
            let location = staffa_lake::Location::parse(url).map_err(fail)?;
            Box::new(ObjectReader::open(&location).map_err(fail)?)
        } else {
            Box::new(self.open()?)
        };
        let mut copy = || -> io::Result<TempPath> {
            let mut file = tempfile::Builder::new()
                .prefix(".staffa-")
                .suffix(".tmp")
                .tempfile()?;
            io::copy(&mut source, &mut file)?;
            Ok(file.into_temp_path())
        };
        let copy = copy().map_err(|error| self.io_error(&error))?;
        Ok(SeekableInput {
            path: copy.to_path_buf(),
            _copy: Some(copy),
        })
    }
}

/// A file to seek in; dropping this removes a temporary copy.
pub(crate) struct SeekableInput {
    pub(crate) path: PathBuf,
    _copy: Option<TempPath>,
}

/// Expands folders to the files in and below them, and wildcards to the files they match, each sorted
/// by name. `is_data` says which files of a folder are meant; names of hidden and internal files and
/// folders begin with a dot or an underscore. A file with exactly the name of a wildcard takes
/// precedence.
pub(crate) fn expand(paths: &[PathBuf], is_data: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in paths {
        let pattern = path.to_string_lossy();
        check_url(path)?;
        let before = out.len();
        if let Some(url) = url_of(path) {
            objects(url, is_data, &mut out)?;
        } else if path.is_dir() {
            files_below(path, is_data, &mut out)?;
        } else if pattern.contains(['*', '?', '[']) && !path.exists() {
            matches(&pattern, is_data, &mut out)?;
        } else {
            out.push(path.clone());
        }
        if out.len() == before {
            let what = if path.is_dir() {
                "no file in this directory has the ending of a format"
            } else {
                "no file matches"
            };
            return Err(Failure {
                exit: Exit::Io,
                message: format!("{pattern}: {what}"),
            });
        }
    }
    Ok(out)
}

/// The URL that stands in place of a path.
pub(crate) fn url_of(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| staffa_lake::is_url(text))
}

/// Refuses a URL with a query, which may be a signature: no message shows it.
pub(crate) fn check_url(path: &Path) -> Result<()> {
    match url_of(path).filter(|url| url.contains(['?', '#'])) {
        None => Ok(()),
        Some(url) => Err(Failure::usage(format!(
            "{}: URLs with a query are not taken; set credentials in the environment",
            staffa_lake::name_of(url)
        ))),
    }
}

/// The objects that a URL names: one, those below a URL that ends in `/`, or those that match its
/// wildcards.
fn objects(url: &str, is_data: &dyn Fn(&Path) -> bool, out: &mut Vec<PathBuf>) -> Result<()> {
    if !staffa_lake::names_several(url) {
        out.push(url.into());
        return Ok(());
    }
    let found = staffa_lake::list(url, &|path| is_data(Path::new(path)));
    let found = found.map_err(|error| Failure::staffa(Path::new(url), error))?;
    let names = found.iter().map(|object| object.location.name().into());
    out.extend(names);
    Ok(())
}

fn matches(pattern: &str, is_data: &dyn Fn(&Path) -> bool, out: &mut Vec<PathBuf>) -> Result<()> {
    let found = glob::glob_with(
        pattern,
        glob::MatchOptions {
            require_literal_leading_dot: true,
            ..glob::MatchOptions::default()
        },
    )
    .map_err(|error| {
        Failure::usage(format!(
            "{pattern}: this wildcard does not parse: {}",
            error.msg
        ))
    })?;
    for entry in found {
        let entry = entry
            .map_err(|error| Failure::io(&error.path().display().to_string(), error.error()))?;
        if entry.is_dir() {
            files_below(&entry, is_data, out)?;
        } else {
            out.push(entry);
        }
    }
    Ok(())
}

fn files_below(
    folder: &Path,
    is_data: &dyn Fn(&Path) -> bool,
    out: &mut Vec<PathBuf>,
) -> Result<()> {
    let fail = |error: io::Error| Failure::io(&folder.display().to_string(), &error);
    let mut entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(fail)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with(['.', '_']);
        if hidden {
            continue;
        }
        if path.is_dir() {
            files_below(&path, is_data, out)?;
        } else if is_data(&path) {
            out.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn wildcards_expand_in_order_and_must_match() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.csv", "c.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let expand =
            |path: PathBuf| expand(&[path], &|path| path.extension() == Some("csv".as_ref()));
        let found = expand(folder.path().join("*.csv")).unwrap();
        assert_eq!(
            found,
            [folder.path().join("a.csv"), folder.path().join("b.csv")]
        );
        assert_eq!(expand(folder.path().to_path_buf()).unwrap(), found);
        let missing = expand(folder.path().join("*.pq")).unwrap_err();
        assert_eq!(missing.exit, Exit::Io);
        assert_eq!(
            expand("no-such-file".into()).unwrap(),
            [PathBuf::from("no-such-file")]
        );
    }
}
