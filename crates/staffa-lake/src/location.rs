//! Where an object is: its store and its path, by URL.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreScheme};
use staffa::{Error, Result};
use url::{Position, Url};

#[cfg(feature = "disk-cache")]
use crate::CachedStore;
use crate::{error, profile};

/// An object, or a prefix of objects, in a store.
#[derive(Clone)]
pub struct Location {
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// The URL without user, password and query.
    name: String,
    /// Whether the store answers a request for the last bytes of an object.
    suffixes: bool,
    /// The same store, if the disk cache stands in front of it.
    #[cfg(feature = "disk-cache")]
    cached: Option<Arc<CachedStore>>,
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Location").field(&self.name).finish()
    }
}

/// Whether a text is a URL rather than a path of the local disk.
pub fn is_url(text: &str) -> bool {
    // One letter is a drive of Windows.
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        let mut letters = scheme.chars();
        letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    scheme.is_some_and(|scheme| scheme.len() > 1 && is_scheme(scheme))
}

/// Refuses what a parser of URLs leaves out without a word, so that two keys would be one object.
fn refuse_dropped(url: &Url, text: &str) -> std::result::Result<(), &'static str> {
    if url.fragment().is_some() {
        return Err("`#` in a URL is written %23");
    }
    if text.contains(|c: char| c.is_ascii_control()) || text.trim() != text {
        return Err("spaces at the ends of a URL are written %20, control characters likewise");
    }
    let is_web = matches!(url.scheme(), "file" | "http" | "https");
    let mut segments = text
        .split('/')
        .map(|part| part.replace("%2e", ".").replace("%2E", "."));
    if !is_web && segments.any(|part| matches!(part.as_str(), "." | "..")) {
        return Err("`.` and `..` are not taken as folders of a URL");
    }
    Ok(())
}

/// What a client is made of: the process, as connections of a parent process are not those of its
/// child; scheme, host and bucket; settings.
type ClientKey = (u32, String, Vec<(String, String)>);

/// Clients that were made, so that connections are used again.
type Clients = HashMap<ClientKey, Client>;

/// A client; the same with the disk cache in front of it where the store is elsewhere.
#[derive(Clone)]
struct Client {
    store: Arc<dyn ObjectStore>,
    #[cfg(feature = "disk-cache")]
    cached: Option<Arc<CachedStore>>,
}

static CLIENTS: Mutex<Option<Clients>> = Mutex::new(None);

impl Location {
    /// The object of a URL; credentials come from the environment, and are looked for when a request
    /// is made.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |e: &dyn fmt::Display| Error::invalid(format!("{:?}: {e}", name_of(text)));
        let url = Url::parse(text).map_err(|e| wrong(&e))?;
        let (scheme, _) = ObjectStoreScheme::parse(&url).map_err(|_| {
            let known = "s3, gs, az, abfss, http, https and file are known";
            wrong(&format!("no store for {:?}: {known}", url.scheme()))
        })?;
        let name = name_of(text);
        if matches!(scheme, ObjectStoreScheme::MicrosoftAzure) {
            // The container may stand where the user does.
        } else if !url.username().is_empty() || url.password().is_some() {
            return Err(Error::invalid(format!(
                "{name:?}: credentials within a URL are not taken: set them in the environment"
            )));
        }
        if url.query().is_some() {
            let what = "URLs with a query are not taken: set credentials in the environment";
            return Err(Error::invalid(format!("{name:?}: {what}")));
        }
        refuse_dropped(&url, text).map_err(|what| wrong(&what))?;
        let path = ObjectStoreScheme::parse(&url).map_err(|e| wrong(&e))?.1;
        let suffixes = !matches!(scheme, ObjectStoreScheme::MicrosoftAzure);
        #[cfg(feature = "disk-cache")]
        crate::DiskCache::process()?;
        let client = client(scheme, &url).map_err(|e| error::of_store(&name, &e))?;
        Ok(Self {
            store: client.store,
            path,
            name,
            suffixes,
            #[cfg(feature = "disk-cache")]
            cached: client.cached,
        })
    }

    /// An object of a store that is at hand.
    pub fn of_store(store: Arc<dyn ObjectStore>, path: Path, name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            store,
            path,
            name,
            suffixes: true,
            #[cfg(feature = "disk-cache")]
            cached: None,
        }
    }

    /// The same object behind a disk cache. `store` is a name of the store that no other one has.
    #[cfg(feature = "disk-cache")]
    #[must_use]
    pub fn with_disk_cache(self, cache: &crate::DiskCache, store: &str) -> Self {
        let cached = CachedStore::new(self.store, store, Some(cache.clone()));
        let cached = Arc::new(cached);
        Self {
            store: cached.clone(),
            cached: Some(cached),
            ..self
        }
    }

    /// The bytes of a range of a version, if the disk cache has them.
    #[cfg(feature = "disk-cache")]
    pub(crate) fn cached(&self, tag: &str, range: &Range<u64>) -> Option<Bytes> {
        self.cached.as_ref()?.cached(&self.path, tag, range)
    }

    /// Nothing: this build has no disk cache.
    #[cfg(not(feature = "disk-cache"))]
    #[expect(clippy::unused_self, reason = "as with a disk cache")]
    pub(crate) fn cached(&self, _tag: &str, _range: &Range<u64>) -> Option<Bytes> {
        None
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// The path within the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The URL, without user, password and query.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Another object of the same store.
    #[must_use]
    pub fn with_path(&self, path: Path) -> Self {
        let name = self.name_with(&path).unwrap_or_else(|| path.to_string());
        Self {
            path,
            name,
            ..self.clone()
        }
    }

    /// The URL with another path in place of this one.
    fn name_with(&self, path: &Path) -> Option<String> {
        let mut url = Url::parse(&self.name).ok()?;
        {
            let mut parts = url.path_segments_mut().ok()?;
            parts.pop_if_empty();
            self.path.parts().for_each(|_| {
                parts.pop();
            });
            parts.extend(path.parts().map(|part| part.as_ref().to_owned()));
        }
        Some(url.into())
    }

    /// Whether the store answers a request for the last bytes of an object.
    pub(crate) fn has_suffixes(&self) -> bool {
        self.suffixes
    }
}

/// A URL without user, password and query: what may stand in a message.
pub fn name_of(text: &str) -> String {
    let bare = text.split(['?', '#']).next().unwrap_or(text);
    let Some((scheme, rest)) = bare.split_once("://") else {
        return bare.to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match host.rsplit_once('@') {
        // Azure's container stands before the account.
        Some((container, account)) if scheme.starts_with("abfs") && !container.contains(':') => {
            format!("{scheme}://{container}@{account}{path}")
        }
        Some((_, host)) => format!("{scheme}://{host}{path}"),
        None => bare.to_owned(),
    }
}

/// The client of a bucket, made now or before.
fn client(scheme: ObjectStoreScheme, url: &Url) -> object_store::Result<Client> {
    let settings = settings(url);
    // Of a store's own host the bucket is the first part of the path.
    let is_host = url.scheme().starts_with("http") && !matches!(scheme, ObjectStoreScheme::Http);
    let bucket = url.path_segments().and_then(|mut parts| parts.next());
    let bucket = bucket.filter(|_| is_host).unwrap_or("");
    let place = format!("{}/{bucket}", &url[..Position::BeforePath]);
    let key = (std::process::id(), place, settings.clone());
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    let clients = clients.get_or_insert_default();
    if let Some(known) = clients.get(&key) {
        return Ok(known.clone());
    }
    #[cfg(feature = "disk-cache")]
    let is_local = matches!(scheme, ObjectStoreScheme::Local);
    let store = build(scheme, url, settings)?;
    #[cfg(feature = "disk-cache")]
    let client = if is_local {
        let cached = None;
        Client { store, cached }
    } else {
        Client::cached(store, &key)
    };
    #[cfg(not(feature = "disk-cache"))]
    let client = Client { store };
    clients.insert(key, client.clone());
    Ok(client)
}

#[cfg(feature = "disk-cache")]
impl Client {
    /// A client with the disk cache in front of it. Where the environment names another server, objects of the same
    /// URL are others.
    fn cached(store: Arc<dyn ObjectStore>, (_, place, settings): &ClientKey) -> Self {
        let names_server = |key: &str| {
            ["endpoint", "url", "emulator"]
                .iter()
                .any(|s| key.contains(s))
        };
        let servers = settings.iter().filter(|(key, _)| names_server(key));
        let servers = servers.map(|(key, value)| format!(" {key}={}", name_of(value)));
        let name = std::iter::once(place.clone())
            .chain(servers)
            .collect::<String>();
        let cached = Arc::new(CachedStore::new(store, name, None));
        Self {
            store: cached.clone(),
            cached: Some(cached),
        }
    }
}

/// Settings of the environment, which go before those of the profile.
fn settings(url: &Url) -> Vec<(String, String)> {
    let mut settings = profile::of_environment();
    settings.extend(std::env::vars_os().filter_map(|(key, value)| {
        let (key, value) = (key.into_string().ok()?, value.into_string().ok()?);
        let key = key.to_ascii_lowercase();
        let mut stores = ["aws_", "google_", "azure_"].iter();
        stores
            .any(|store| key.starts_with(store))
            .then_some((key, value))
    }));
    // Who writes `http:` has chosen it.
    let is_plain = |(key, value): &(String, String)| {
        key.starts_with("aws_endpoint") && value.starts_with("http:")
    };
    if url.scheme() == "http" || settings.iter().any(is_plain) {
        settings.push(("allow_http".to_owned(), "true".to_owned()));
    }
    settings
}

/// A client that gives up after some seconds, so that a wrong address is told soon.
#[cfg_attr(
    not(any(feature = "aws", feature = "gcp", feature = "azure", feature = "http")),
    expect(unused_variables, reason = "what only clients take")
)]
fn build(
    scheme: ObjectStoreScheme,
    url: &Url,
    settings: Vec<(String, String)>,
) -> object_store::Result<Arc<dyn ObjectStore>> {
    #[cfg(any(feature = "aws", feature = "gcp", feature = "azure", feature = "http"))]
    macro_rules! client {
        ($builder:ty, $url:expr) => {{
            let builder = <$builder>::new().with_url($url).with_retry(retries());
            let builder =
                settings
                    .into_iter()
                    .fold(builder, |builder, (key, value)| match key.parse() {
                        Ok(key) => builder.with_config(key, value),
                        Err(_) => builder,
                    });
            Ok(Arc::new(builder.build()?))
        }};
    }
    match scheme {
        ObjectStoreScheme::Local => Ok(Arc::new(LocalFileSystem::new())),
        #[cfg(feature = "aws")]
        ObjectStoreScheme::AmazonS3 => client!(object_store::aws::AmazonS3Builder, url.as_str()),
        #[cfg(feature = "gcp")]
        ObjectStoreScheme::GoogleCloudStorage => {
            client!(object_store::gcp::GoogleCloudStorageBuilder, url.as_str())
        }
        #[cfg(feature = "azure")]
        ObjectStoreScheme::MicrosoftAzure => {
            client!(object_store::azure::MicrosoftAzureBuilder, url.as_str())
        }
        #[cfg(feature = "http")]
        ObjectStoreScheme::Http => {
            client!(
                object_store::http::HttpBuilder,
                &url[..Position::BeforePath]
            )
        }
        other => Err(object_store::Error::NotSupported {
            source: format!("this build has no object stores: no client for {other:?}").into(),
        }),
    }
}

#[cfg(any(feature = "aws", feature = "gcp", feature = "azure", feature = "http"))]
fn retries() -> object_store::RetryConfig {
    object_store::RetryConfig {
        max_retries: 4,
        retry_timeout: std::time::Duration::from_secs(30),
        ..object_store::RetryConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_parser_would_leave_out_is_refused() {
        let cases = [
            ("s3://b/k#1.staffa", "%23"),
            ("file:///k#1.staffa", "%23"),
            ("s3://b/a\nb.staffa", "control"),
            ("s3://b/k.staffa ", "%20"),
            ("s3://b/a/../k.staffa", "`..`"),
            ("s3://b/a/%2E%2e/k.staffa", "`..`"),
        ];
        for (url, why) in cases {
            let error = Location::parse(url).unwrap_err().to_string();
            assert!(error.contains(why), "{url:?}: {error}");
        }
        for url in [
            "s3://b/a..b/k.staffa",
            "s3://b/k%231.staffa",
            "file:///a/../k.staffa",
        ] {
            Location::parse(url).unwrap();
        }
    }

    #[test]
    fn names_hold_no_secret() {
        let cases = [
            ("s3://b/k.staffa", "s3://b/k.staffa"),
            ("https://u:p@h/a?sig=1", "https://h/a"),
            (
                "abfss://c@a.dfs.core.windows.net/k",
                "abfss://c@a.dfs.core.windows.net/k",
            ),
            (
                "abfss://c:p@a.dfs.core.windows.net/k",
                "abfss://a.dfs.core.windows.net/k",
            ),
        ];
        for (url, name) in cases {
            assert_eq!(name_of(url), name);
        }
        for url in ["https://u:secret@h/a", "https://h/a?sig=hidden"] {
            let error = Location::parse(url).unwrap_err().to_string();
            assert!(error.contains("credentials"), "{error}");
        }
        let error = Location::parse("https://u:secret@h/a?sig=hidden")
            .unwrap_err()
            .to_string();
        assert!(
            !error.contains("secret") && !error.contains("hidden"),
            "{error}"
        );
    }

    #[test]
    fn urls_are_told_from_paths() {
        for url in ["s3://b/k", "https://h/p", "file:///a"] {
            assert!(is_url(url), "{url}");
        }
        for path in ["a.staffa", "C://x", "./a://b", "dir/s3:/x"] {
            assert!(!is_url(path), "{path}");
        }
        let error = Location::parse("ftp://h/p").unwrap_err().to_string();
        assert!(error.contains("no store for \"ftp\""), "{error}");
    }

    #[test]
    fn other_objects_of_the_store_have_names_of_their_own() {
        let location = Location::parse("file:///data/t").unwrap();
        let other = location.with_path(Path::from("data/t/part.staffa"));
        assert_eq!(other.name(), "file:///data/t/part.staffa");
        let folder = Location::parse("file:///data/a%20b/").unwrap();
        let other = folder.with_path(Path::from("data/a b/c d.staffa"));
        assert_eq!(other.name(), "file:///data/a%20b/c%20d.staffa");
        assert_eq!(Location::parse(other.name()).unwrap().path(), other.path());
    }
}
