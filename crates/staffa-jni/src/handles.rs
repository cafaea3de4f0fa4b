//! Handles: numbers by which the virtual machine names what lives here.
//!
//! A number is never given twice, so that a handle that was closed, or never given, is an error and
//! never somebody else's object.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};

/// The next number; 0 is no handle.
static NEXT: AtomicI64 = AtomicI64::new(1);

/// Open objects of one kind by their handles.
pub(crate) struct Handles<T> {
    /// What they are, for messages.
    kind: &'static str,
    open: Mutex<Option<HashMap<i64, Arc<T>>>>,
}

impl<T> Handles<T> {
    pub(crate) const fn new(kind: &'static str) -> Self {
        Self {
            kind,
            open: Mutex::new(None),
        }
    }

    pub(crate) fn open(&self, object: T) -> i64 {
        let handle = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut open = lock(&self.open);
        open.get_or_insert_default()
            .insert(handle, Arc::new(object));
        handle
    }

    pub(crate) fn get(&self, handle: i64) -> Result<Arc<T>> {
        let open = lock(&self.open);
        let found = open.as_ref().and_then(|open| open.get(&handle)).cloned();
        found.ok_or_else(|| Error::Closed(self.kind))
    }

    /// Ends an object, once: what it holds is freed when the call that still uses it returns. False
    /// where it was closed before.
    pub(crate) fn close(&self, handle: i64) -> bool {
        let closed = lock(&self.open)
            .as_mut()
            .and_then(|open| open.remove(&handle));
        closed.is_some()
    }

    /// Takes an object out, so that no other call can reach it.
    pub(crate) fn take(&self, handle: i64) -> Result<Arc<T>> {
        let taken = lock(&self.open)
            .as_mut()
            .and_then(|open| open.remove(&handle));
        taken.ok_or_else(|| Error::Closed(self.kind))
    }

    /// Number of open objects.
    pub(crate) fn len(&self) -> usize {
        lock(&self.open).as_ref().map_or(0, HashMap::len)
    }
}

/// A panic while the lock was held leaves nothing half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
