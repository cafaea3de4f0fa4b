//! The objects that a URL names: one, those below a prefix, those that match a wildcard.

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use glob::{MatchOptions, Pattern};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta};
use staffa::{Error, Result};

use crate::error::of_store;
use crate::location::Location;
use crate::runtime;
use crate::table::INDEX_NAME;

/// An object that was listed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Object {
    /// Where it is.
    pub location: Location,
    /// Its bytes.
    pub bytes: u64,
    /// The store's version of it, if it names one.
    pub tag: Option<String>,
    /// When it was written, in nanoseconds since 1970.
    pub modified: Option<i64>,
}

/// What a URL names.
pub(crate) struct Listing {
    /// The prefix that was listed.
    pub base: Location,
    /// By name, folder by folder.
    pub objects: Vec<Object>,
    /// The table's index, if the prefix has one.
    pub index: Option<Object>,
}

/// A path in which `*` stands for anything but `/`, `**` for anything.
const MATCH: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The objects below a prefix (a URL that ends in `/`), or that match the wildcards `*`, `**` and
/// `[...]` of a URL, by name; at least one. `is_data` says by its name which of a prefix are meant; below a
/// prefix those are left out whose name, or a folder's, begins with a dot or an underscore.
pub fn list(url: &str, is_data: &dyn Fn(&str) -> bool) -> Result<Vec<Object>> {
    let found = listing(url, is_data)?.objects;
    if found.is_empty() {
        return Err(no_match(url));
    }
    Ok(found)
}

/// The error of a URL that names nothing.
pub(crate) fn no_match(url: &str) -> Error {
    let what = std::io::Error::new(std::io::ErrorKind::NotFound, "no object matches");
    Error::io(url, what)
}

/// As [`list`], with the table's index; possibly nothing.
pub(crate) fn listing(url: &str, is_data: &dyn Fn(&str) -> bool) -> Result<Listing> {
    let wildcard = has_wildcard(url);
    let fixed = url.split(['*', '[']).next().unwrap_or(url);
    let folder = fixed.rsplit_once('/').map_or(fixed, |(folder, _)| folder);
    let base = Location::parse(&format!("{folder}/"))?;
    let pattern = if wildcard {
        let (_, rest) = url.split_at(folder.len());
        let text = format!("{}{rest}", Pattern::escape(base.path().as_ref()));
        let text = text.trim_start_matches('/').to_owned();
        let wrong = |e| Error::invalid(format!("{url:?}: {e}"));
        Some(Pattern::new(&text).map_err(wrong)?)
    } else {
        None
    };
    listed(base, pattern.as_ref(), is_data)
}

/// The objects below a location, those that match a pattern.
pub(crate) fn listed(
    base: Location,
    pattern: Option<&Pattern>,
    is_data: &dyn Fn(&str) -> bool,
) -> Result<Listing> {
    let mut found = below(&base)?;
    let object = |meta: &ObjectMeta| Object::of(&base, meta);
    let index_path = base.path().clone().join(INDEX_NAME);
    let index = found
        .iter()
        .find(|meta| meta.location == index_path)
        .map(object);
    let wanted = |path: &Path| match pattern {
        Some(pattern) => pattern.matches_with(path.as_ref(), MATCH),
        None => is_visible(base.path(), path) && is_data(path.as_ref()),
    };
    found.retain(|meta| wanted(&meta.location));
    found.sort_unstable_by(|a, b| a.location.parts().cmp(b.location.parts()));
    Ok(Listing {
        objects: found.iter().map(object).collect(),
        index,
        base,
    })
}

/// All objects below a location, those that readers pass over among them.
pub(crate) fn every(base: &Location) -> Result<Vec<Object>> {
    let found = below(base)?;
    Ok(found.iter().map(|meta| Object::of(base, meta)).collect())
}

fn below(base: &Location) -> Result<Vec<ObjectMeta>> {
    let of = base.clone();
    let found = runtime::wait_for(async move {
        let found = of.store().list(Some(of.path()));
        found.try_collect::<Vec<ObjectMeta>>().await
    });
    let found = found.map_err(|e| Error::io(base.name(), e))?;
    found.map_err(|e| of_store(base.name(), &e))
}

impl Object {
    fn of(base: &Location, meta: &ObjectMeta) -> Self {
        Self {
            location: base.with_path(meta.location.clone()),
            bytes: meta.size,
            tag: meta.e_tag.clone(),
            modified: meta.last_modified.timestamp_nanos_opt(),
        }
    }

    /// All bytes of the object, of the version that was listed.
    pub(crate) fn read_whole(&self) -> Result<Bytes> {
        let object = self.clone();
        let read = runtime::wait_for(async move {
            let options = GetOptions {
                // An empty object has no range.
                range: (object.bytes > 0).then_some(GetRange::Bounded(0..object.bytes)),
                if_match: object.tag,
                ..GetOptions::default()
            };
            let (store, path) = (object.location.store(), object.location.path());
            store.get_opts(path, options).await?.bytes().await
        });
        let read = read.map_err(|e| Error::io(self.location.name(), e))?;
        read.map_err(|e| of_store(self.location.name(), &e))
    }
}

/// Whether a URL names several objects.
pub fn names_several(url: &str) -> bool {
    url.ends_with('/') || has_wildcard(url)
}

fn has_wildcard(url: &str) -> bool {
    url.contains(['*', '['])
}

/// Whether no part of a path below a prefix is hidden or internal.
fn is_visible(prefix: &Path, path: &Path) -> bool {
    let below = path.prefix_match(prefix);
    below.is_some_and(|mut parts| parts.all(|part| !part.as_ref().starts_with(['.', '_'])))
}
