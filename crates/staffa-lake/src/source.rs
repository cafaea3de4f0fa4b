//! An object as a source: ranges that are begun are fetched at the same time, and read from memory.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use object_store::{GetOptions, GetRange, ObjectStoreExt as _};
use staffa::{Error, Result, Source};
use tokio::sync::Semaphore;

use crate::cached_bytes::cached_bytes;
use crate::counters::Counters;
use crate::error::of_store;
use crate::list::Object as Listed;
use crate::location::Location;
use crate::runtime;

/// Bytes of the first request, at the end of the object.
const TAIL_BYTES: u64 = 64 << 10;
/// Bytes that were begun and not read yet, above which those begun first are dropped.
const MOST_BYTES: u64 = 128 << 20;

/// An object of a store: what [`open`](crate::open) reads from.
#[derive(Debug)]
pub struct ObjectSource {
    object: Arc<Object>,
    tail: Bytes,
    begun: Arc<Begun>,
}

/// An object that must stay as it is.
#[derive(Debug)]
struct Object {
    location: Location,
    len: u64,
    tag: Option<String>,
    counters: Arc<Counters>,
}

/// Ranges that were begun.
#[derive(Debug, Default)]
struct Begun {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The process that began the ranges: after a fork they never arrive.
    process: u32,
    /// By offset.
    ranges: BTreeMap<u64, Fetch>,
    /// Number of the last range begun.
    last: u64,
}

#[derive(Debug)]
struct Fetch {
    number: u64,
    end: u64,
    /// What arrived.
    bytes: Option<Result<Bytes, Arc<object_store::Error>>>,
    /// Bytes that were read.
    read: u64,
}

impl Begun {
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let process = std::process::id();
        if state.process != process {
            state.process = process;
            state.ranges.clear();
        }
        state
    }
}

impl ObjectSource {
    /// Asks for the end of an object.
    pub fn open(location: &Location) -> Result<Self> {
        let counters = Arc::new(Counters::default());
        let (of, count) = (location.clone(), counters.clone());
        let opened = runtime::wait_for(async move { open(&of, &count).await });
        let opened = opened.map_err(|e| Error::io(location.name(), e))?;
        let (tail, len, tag) = opened.map_err(|e| of_store(location.name(), &e))?;
        let object = Object {
            location: location.clone(),
            len,
            tag,
            counters,
        };
        Ok(Self {
            object: Arc::new(object),
            tail,
            begun: Arc::default(),
        })
    }

    /// A listed object whose last bytes are known: nothing is asked for.
    pub(crate) fn of_listed(object: &Listed, end: Bytes) -> Self {
        let object = Object {
            location: object.location.clone(),
            len: object.bytes,
            tag: object.tag.clone(),
            counters: Arc::default(),
        };
        Self {
            object: Arc::new(object),
            tail: end,
            begun: Arc::default(),
        }
    }

    /// A listed object whose last bytes the disk cache has: nothing is asked for.
    pub(crate) fn of_cached(object: &Listed) -> Option<Self> {
        let (tag, bytes) = (object.tag.as_deref()?, object.bytes);
        let end = bytes.saturating_sub(TAIL_BYTES)..bytes;
        let end = object.location.cached(tag, &end)?;
        let source = Self::of_listed(object, end);
        let (counters, bytes) = (source.counters(), source.tail.len() as u64);
        counters.add_answer(bytes, bytes, Duration::ZERO);
        Some(source)
    }

    /// What was asked of the store.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.object.counters
    }

    /// The store's version of the object, if it names one.
    pub fn tag(&self) -> Option<&str> {
        self.object.tag.as_deref()
    }

    /// Where the bytes begin that were read when the object was opened.
    pub(crate) fn tail_offset(&self) -> u64 {
        self.object.len - self.tail.len() as u64
    }

    fn failed(&self, error: &object_store::Error) -> Error {
        of_store(self.object.location.name(), error)
    }

    /// The bytes of a range within one that was begun, once they are there.
    fn wait(&self, range: &Range<u64>) -> Option<Result<Bytes>> {
        let mut state = self.begun.state();
        loop {
            let (&start, fetch) = state.ranges.range_mut(..=range.start).next_back()?;
            if fetch.end < range.end {
                return None;
            }
            match &fetch.bytes {
                None => {
                    let waited = self.begun.arrived.wait_timeout(state, runtime::ASKED);
                    let (held, waited) = waited.unwrap_or_else(PoisonError::into_inner);
                    drop(held);
                    if waited.timed_out()
                        && let Err(error) = runtime::go_on()
                    {
                        return Some(Err(Error::io(self.name(), error)));
                    }
                    state = self.begun.state();
                }
                Some(Err(error)) => {
                    let error = self.failed(error);
                    state.ranges.remove(&start);
                    return Some(Err(error));
                }
                Some(Ok(bytes)) => {
                    let part = (range.start - start) as usize..(range.end - start) as usize;
                    let part = bytes.slice(part);
                    fetch.read += range.end - range.start;
                    if fetch.read >= fetch.end - start {
                        state.ranges.remove(&start);
                    }
                    return Some(Ok(part));
                }
            }
        }
    }
}

/// The last bytes of an object, its length and its version.
async fn open(
    location: &Location,
    counters: &Counters,
) -> object_store::Result<(Bytes, u64, Option<String>)> {
    let began = Instant::now();
    let (store, path) = (location.store(), location.path());
    let mut options = GetOptions::default();
    let mut empty = false;
    if location.has_suffixes() {
        options.range = Some(GetRange::Suffix(TAIL_BYTES));
    } else {
        let object = store.head(path).await?;
        counters.add(0, began.elapsed());
        options.range = Some(GetRange::Bounded(
            object.size.saturating_sub(TAIL_BYTES)..object.size,
        ));
        options.if_match = object.e_tag;
        empty = object.size == 0;
    }
    let found = if empty {
        None
    } else {
        match store.get_opts(path, options).await {
            Ok(found) => Some(found),
            // An empty object has no last bytes; whatever it is, the next request says.
            Err(error @ object_store::Error::Generic { .. }) => {
                if store.head(path).await?.size > 0 {
                    return Err(error);
                }
                None
            }
            Err(error) => return Err(error),
        }
    };
    let Some(found) = found else {
        return Ok((Bytes::new(), 0, None));
    };
    let (len, tag) = (found.meta.size, found.meta.e_tag.clone());
    let cached = cached_bytes(&found);
    let tail = found.bytes().await?;
    // Also where all bytes were cached, the store was asked whether the object is the same.
    counters.add(tail.len() as u64 - cached, began.elapsed());
    counters.add_answer(cached, cached, Duration::ZERO);
    check_len(&tail, len - len.min(TAIL_BYTES)..len)?;
    Ok((tail, len, tag))
}

impl Object {
    /// Asks for a range.
    async fn get(&self, range: &Range<u64>, requests: &Semaphore) -> object_store::Result<Bytes> {
        // The semaphore is never closed.
        let _permit = requests.acquire().await.ok();
        let began = Instant::now();
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: self.tag.clone(),
            ..GetOptions::default()
        };
        let (store, path) = (self.location.store(), self.location.path());
        let found = store.get_opts(path, options).await?;
        let cached = cached_bytes(&found);
        let bytes = found.bytes().await?;
        let counters = &self.counters;
        counters.add_answer(bytes.len() as u64, cached, began.elapsed());
        check_len(&bytes, range.clone())?;
        Ok(bytes)
    }
}

/// Refuses an answer of more or fewer bytes than a range has.
fn check_len(bytes: &Bytes, range: Range<u64>) -> object_store::Result<()> {
    let (expected, found) = (range.end - range.start, bytes.len() as u64);
    if expected == found {
        return Ok(());
    }
    let source = format!(
        "{expected} bytes at {} expected, found {found}",
        range.start
    );
    Err(object_store::Error::Generic {
        store: "range",
        source: source.into(),
    })
}

impl Source for ObjectSource {
    fn len(&self) -> u64 {
        self.object.len
    }

    fn name(&self) -> &str {
        self.object.location.name()
    }

    fn end_bytes(&self) -> Option<u64> {
        Some(self.tail.len() as u64)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let tail = self.tail_offset();
        if let Some(start) = range.start.checked_sub(tail) {
            let part = self.tail.get(start as usize..(range.end - tail) as usize);
            if let Some(part) = part {
                return Ok(self.tail.slice_ref(part));
            }
        }
        if let Some(found) = self.wait(&range) {
            return found;
        }
        let io = |e| Error::io(self.name(), e);
        let (object, (_, requests)) = (self.object.clone(), runtime::handle().map_err(io)?);
        let answer = runtime::wait_for(async move { object.get(&range, &requests).await });
        let answer = answer.map_err(io)?;
        answer.map_err(|e| self.failed(&e))
    }

    fn begin(&self, ranges: &[Range<u64>]) {
        // Without a runtime the reads themselves report why.
        let Ok((handle, requests)) = runtime::handle() else {
            return;
        };
        for range in ranges {
            let mut state = self.begun.state();
            let before = state.ranges.range(..=range.start).next_back();
            if before.is_some_and(|(_, fetch)| fetch.end >= range.end) {
                continue;
            }
            state.last += 1;
            let fetch = Fetch {
                number: state.last,
                end: range.end,
                bytes: None,
                read: 0,
            };
            state.ranges.insert(range.start, fetch);
            state.drop_oldest();
            let number = state.last;
            drop(state);
            let (object, begun, range) = (self.object.clone(), self.begun.clone(), range.clone());
            let requests = requests.clone();
            handle.spawn(async move {
                let answer = object.get(&range, &requests).await.map_err(Arc::new);
                let mut state = begun.state();
                if let Some(fetch) = state.ranges.get_mut(&range.start)
                    && fetch.number == number
                {
                    fetch.bytes = Some(answer);
                }
                begun.arrived.notify_all();
            });
        }
    }
}

impl State {
    /// Drops ranges that arrived, those begun first, while there are too many bytes.
    fn drop_oldest(&mut self) {
        let bytes = |ranges: &BTreeMap<u64, Fetch>| -> u64 {
            ranges.iter().map(|(start, fetch)| fetch.end - start).sum()
        };
        while bytes(&self.ranges) > MOST_BYTES {
            let arrived = self
                .ranges
                .iter()
                .filter(|(_, fetch)| fetch.bytes.is_some());
            let Some(&oldest) = arrived
                .min_by_key(|(_, fetch)| fetch.number)
                .map(|(k, _)| k)
            else {
                return;
            };
            self.ranges.remove(&oldest);
        }
    }
}
