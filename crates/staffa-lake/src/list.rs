//! The objects that a URL names: one, those below a prefix, those that match a wildcard.

use futures_util::TryStreamExt as _;
use glob::{MatchOptions, Pattern};
use object_store::ObjectMeta;
use object_store::path::Path;
use staffa::{Error, Result};

use crate::error::of_store;
use crate::location::Location;
use crate::runtime;

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
    let of = base.clone();
    let listed = runtime::wait_for(async move {
        let found = of.store().list(Some(of.path()));
        found.try_collect::<Vec<ObjectMeta>>().await
    });
    let listed = listed.map_err(|e| Error::io(base.name(), e))?;
    let mut listed = listed.map_err(|e| of_store(base.name(), &e))?;
    let wanted = |path: &Path| match &pattern {
        Some(pattern) => pattern.matches_with(path.as_ref(), MATCH),
        None => is_visible(base.path(), path) && is_data(path.as_ref()),
    };
    listed.retain(|object| wanted(&object.location));
    listed.sort_unstable_by(|a, b| a.location.cmp(&b.location));
    if listed.is_empty() {
        let what = std::io::Error::new(std::io::ErrorKind::NotFound, "no object matches");
        return Err(Error::io(url, what));
    }
    let object = |meta: ObjectMeta| Object {
        location: base.with_path(meta.location),
        bytes: meta.size,
        tag: meta.e_tag,
    };
    Ok(listed.into_iter().map(object).collect())
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
