//! Where a table's files are: a local folder, or a prefix of a store.

use std::path::{Path, PathBuf};

use staffa::{Error, Result};

use super::find::{Found, find};
use super::open::is_staffa;
use crate::list::{listed, names_several};
use crate::location::{Location, is_url};

/// A folder that holds the files of a table.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Folder {
    /// Of the local disk; it need not be there yet.
    Local(PathBuf),
    /// The objects below a location.
    Prefix(Location),
}

impl Folder {
    /// The folder of a path, or of a URL with or without a `/` at its end.
    pub fn new(path: &Path) -> Result<Self> {
        let Some(url) = path.to_str().filter(|text| is_url(text)) else {
            return Ok(Self::Local(path.to_owned()));
        };
        if names_several(url.trim_end_matches('/')) {
            return Err(Error::invalid(format!(
                "{:?}: a folder expected, found a wildcard",
                crate::name_of(url)
            )));
        }
        let url = format!("{}/", url.trim_end_matches('/'));
        Ok(Self::Prefix(Location::parse(&url)?))
    }

    /// The name for messages: a URL without query.
    pub fn name(&self) -> String {
        match self {
            Self::Local(path) => path.display().to_string(),
            Self::Prefix(base) => base.name().to_owned(),
        }
    }

    /// The Staffa files in and below the folder; none where it is not there.
    pub fn find(&self) -> Result<Found> {
        match self {
            Self::Local(path) if !path.exists() => Ok(Found::default()),
            Self::Local(path) if !path.is_dir() => {
                Err(Error::io(path, std::io::ErrorKind::NotADirectory.into()))
            }
            Self::Local(path) => find(path, &is_staffa),
            Self::Prefix(base) => {
                let found = listed(base.clone(), None, &|path| is_staffa(Path::new(path)))?;
                Ok(Found::of_listing(found))
            }
        }
    }

    /// The path or URL of a file in the folder, by its path below it.
    pub(crate) fn path_of(&self, below: &str) -> PathBuf {
        match self {
            Self::Local(path) => path.join(below),
            Self::Prefix(_) => self
                .location_of(below)
                .map_or_else(PathBuf::new, |at| at.name().into()),
        }
    }

    /// The object of a file in a prefix.
    pub(crate) fn location_of(&self, below: &str) -> Option<Location> {
        let Self::Prefix(base) = self else {
            return None;
        };
        let parts = base.path().parts().map(|part| part.as_ref().to_owned());
        let path = parts
            .chain(below.split('/').map(str::to_owned))
            .collect::<Vec<_>>()
            .join("/");
        // The parts stand in the store as they are: `%20` of a key is no blank.
        Some(base.with_path(object_store::path::Path::parse(path).ok()?))
    }
}
