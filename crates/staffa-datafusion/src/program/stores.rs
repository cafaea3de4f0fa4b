//! Object stores by URL, made when a query first names them.

use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use datafusion::object_store::ObjectStore;
use staffa_lake::Location;
use url::Url;

use super::counted::{Counted, Requests};

/// The local disk, and stores of which the environment has the credentials.
#[derive(Debug)]
pub struct Stores {
    known: DefaultObjectStoreRegistry,
    requests: Arc<Requests>,
}

impl Stores {
    /// Stores whose requests are counted.
    pub fn new(requests: Arc<Requests>) -> Self {
        Self {
            known: DefaultObjectStoreRegistry::default(),
            requests,
        }
    }
}

impl ObjectStoreRegistry for Stores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.known.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        self.known.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if let Ok(known) = self.known.get_store(url) {
            return Ok(known);
        }
        // Its clients are kept there, one per bucket.
        let location = location(url.as_str())?;
        Ok(Arc::new(Counted {
            store: location.store().clone(),
            requests: self.requests.clone(),
        }))
    }
}

/// The place of a URL, which must hold no secret.
fn location(url: &str) -> Result<Location> {
    Location::parse(url).map_err(|e| DataFusionError::External(Box::new(e)))
}

/// A URL that names an object of a store in the way that this program finds it.
pub fn checked(url: &str) -> Result<Url> {
    let (of_store, parsed) = (location(url)?, Url::parse(url));
    let parsed = parsed.map_err(|e| DataFusionError::External(Box::new(e)))?;
    let path = datafusion::object_store::path::Path::from_url_path(parsed.path())
        .map_err(|e| DataFusionError::ObjectStore(Box::new(e.into())))?;
    if path == *of_store.path() {
        return Ok(parsed);
    }
    let what = "the bucket stands in the path: name it as s3://bucket/key, gs:// or az://";
    Err(DataFusionError::Configuration(format!(
        "{}: {what}",
        of_store.name()
    )))
}
