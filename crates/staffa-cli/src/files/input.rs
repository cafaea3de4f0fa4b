//! One file to read, or the standard input; paths that name several.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use staffa_lake::ObjectReader;
use staffa_lake::table::{self, TableFile};
use tempfile::TempPath;

use super::STANDARD;
use crate::error::{Exit, Failure, Result};

/// One file to read, or the standard input.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    path: PathBuf,
    /// Where it was found, if it was.
    found: Option<TableFile>,
}

impl Input {
    /// The standard input for `-`, else a file that exists.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let input = Self {
            path: path.to_path_buf(),
            found: None,
        };
        if !input.is_standard() && input.url().is_none() {
            let metadata = fs::metadata(path).map_err(|error| input.io_error(&error))?;
            if metadata.is_dir() {
                return Err(input.io_error(&io::ErrorKind::IsADirectory.into()));
            }
        }
        Ok(input)
    }

    /// A file that was found.
    pub(crate) fn of_found(file: &TableFile) -> Result<Self> {
        Ok(Self {
            found: Some(file.clone()),
            ..Self::new(file.path())?
        })
    }

    /// A file that need not exist.
    #[cfg(test)]
    pub(crate) fn missing(path: &str) -> Self {
        Self {
            path: path.into(),
            found: None,
        }
    }

    /// Where it was found, if it is an object or the index of its folder knows it.
    pub(crate) fn found(&self) -> Option<&TableFile> {
        let is_known = |file: &&TableFile| file.object_bytes().is_some() || file.is_known();
        self.found.as_ref().filter(is_known)
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

    /// The length of a file; None for a pipe, and for an object that was not listed.
    pub(crate) fn byte_len(&self) -> Option<u64> {
        let listed = self.found.as_ref().and_then(TableFile::object_bytes);
        listed.or_else(|| self.local_bytes())
    }

    fn local_bytes(&self) -> Option<u64> {
        fs::metadata(&self.path)
            .ok()
            .filter(fs::Metadata::is_file)
            .map(|metadata| metadata.len())
    }

    /// A path for formats that are read from their end; a pipe is copied to a temporary file first.
    pub(crate) fn seekable(&self) -> Result<SeekableInput> {
        if self.local_bytes().is_some() {
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

/// The files that paths, folders, wildcards and URLs name, in order; at least one of each. `is_data` says
/// which files of a folder are meant. Files that the index of their folder knows need no request to be
/// opened.
pub(crate) fn find(paths: &[PathBuf], is_data: &dyn Fn(&Path) -> bool) -> Result<Vec<TableFile>> {
    let mut out = Vec::new();
    for path in paths {
        check_url(path)?;
        let found = table::find(path, is_data);
        let mut found = found.map_err(|error| Failure::of_table(path, error))?;
        found.read_index();
        if found.files.is_empty() {
            let what = match url_of(path) {
                Some(_) => "no object matches",
                None if path.is_dir() => "no file in this directory has the ending of a format",
                None => "no file matches",
            };
            return Err(Failure {
                exit: Exit::Io,
                message: format!("{}: {what}", path.display()),
            });
        }
        out.append(&mut found.files);
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
        let expand = |path: PathBuf| {
            let found = find(&[path], &|path| path.extension() == Some("csv".as_ref()))?;
            let paths = found.iter().map(|file| file.path().to_owned());
            Ok::<Vec<PathBuf>, Failure>(paths.collect())
        };
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
