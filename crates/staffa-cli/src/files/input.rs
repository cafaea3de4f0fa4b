//! One file to read, or the standard input; wildcards that name several.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

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
        if !input.is_standard() {
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

    /// The name for messages.
    pub(crate) fn name(&self) -> String {
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

    pub(crate) fn open(&self) -> Result<File> {
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
        } else {
            Box::new(self.open()?)
        };
        let mut copy = || -> io::Result<TempPath> {
            let mut file = tempfile::NamedTempFile::new()?;
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

/// Expands wildcards to the files they match, sorted by name. A file with exactly that name takes
/// precedence over the wildcard.
pub(crate) fn expand_wildcards(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in paths {
        let pattern = path.to_string_lossy();
        if !pattern.contains(['*', '?', '[']) || path.exists() {
            out.push(path.clone());
            continue;
        }
        let found = glob::glob(&pattern).map_err(|error| {
            Failure::usage(format!(
                "{pattern}: this wildcard does not parse: {}",
                error.msg
            ))
        })?;
        let before = out.len();
        for entry in found {
            let entry = entry
                .map_err(|error| Failure::io(&error.path().display().to_string(), error.error()))?;
            if entry.is_file() {
                out.push(entry);
            }
        }
        if out.len() == before {
            return Err(Failure {
                exit: Exit::Io,
                message: format!("{pattern}: no file matches"),
            });
        }
    }
    Ok(out)
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
        let found = expand_wildcards(&[folder.path().join("*.csv")]).unwrap();
        assert_eq!(
            found,
            [folder.path().join("a.csv"), folder.path().join("b.csv")]
        );
        let missing = expand_wildcards(&[folder.path().join("*.pq")]).unwrap_err();
        assert_eq!(missing.exit, Exit::Io);
        assert_eq!(
            expand_wildcards(&["no-such-file".into()]).unwrap(),
            [PathBuf::from("no-such-file")]
        );
    }
}
