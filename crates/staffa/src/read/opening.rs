//! Opening a file in steps, for callers that fetch bytes themselves.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use super::File;
use crate::error::{Error, Result};
use crate::format::{Fetched, Store};
use crate::limits::Limits;

/// The sections of a file are all read when it is opened, if they have so many bytes at most.
const SECTION_BYTES: u64 = 1 << 20;

/// A file that is being opened, of which only name and length are known: the caller fetches bytes.
/// One range is enough where the last 64 KiB hold all that opening needs. An example is at
/// [`Steps`](crate::Steps).
///
/// The bytes of the open [`File`] are not at hand: it is read by [`Scan::steps`](crate::Scan::steps).
#[derive(Debug)]
pub struct Opening {
    name: PathBuf,
    len: u64,
    limits: Limits,
    section_bytes: u64,
    fetched: Arc<Fetched>,
    /// The range that was asked for.
    asked: Option<Range<u64>>,
}

/// What an [`Opening`] does next.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenStep {
    /// A byte range to fetch and to [`give`](Opening::give).
    Needs(Range<u64>),
    /// The open file.
    Opened(File),
}

impl Opening {
    /// A file of `len` bytes; `name`, a path or a URL without secrets, stands in messages.
    pub fn new(name: impl Into<PathBuf>, len: u64) -> Self {
        Self::new_with(name, len, Limits::default())
    }

    /// The same within limits other than the default ones.
    pub fn new_with(name: impl Into<PathBuf>, len: u64, limits: Limits) -> Self {
        Self {
            name: name.into(),
            len,
            limits,
            section_bytes: SECTION_BYTES,
            fetched: Arc::default(),
            asked: None,
        }
    }

    /// Fetches all that [`File::statistics`] and [`File::sort_order`] tell, whatever its size; by
    /// default where the sections of the file have 1 MiB at most.
    #[must_use]
    pub fn with_statistics(mut self) -> Self {
        self.section_bytes = u64::MAX;
        self
    }

    /// Bytes of a range, all of them: of that asked for, or of the end of the file before anything is
    /// asked for.
    pub fn give(&mut self, range: &Range<u64>, bytes: Bytes) -> Result<()> {
        let expected = range.end.saturating_sub(range.start);
        if bytes.len() as u64 != expected || range.end > self.len {
            let what = format!(
                "{expected} bytes at {} of {} expected, found {}",
                range.start,
                self.len,
                bytes.len()
            );
            return Err(Error::truncated(what).at(|p| p.path = Some(self.name.clone())));
        }
        self.fetched.keep(range.start, bytes);
        Ok(())
    }

    /// The next step.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<OpenStep> {
        let name = Some(self.name.clone());
        let store = Store::fetched(self.fetched.clone(), self.len, name);
        // What is missing now counts, not what was.
        let _ = self.fetched.take_missing();
        let opened = File::from_store(store, self.limits).and_then(|file| {
            let sections = file.footer().sections.iter();
            if sections.map(|section| section.bytes).sum::<u64>() <= self.section_bytes {
                file.summaries()?;
                file.sort_order()?;
            }
            Ok(file)
        });
        match (opened, self.fetched.take_missing()) {
            (Ok(file), _) => Ok(OpenStep::Opened(file)),
            (Err(_), Some(missing)) if self.asked.as_ref() != Some(&missing) => {
                self.asked = Some(missing.clone());
                Ok(OpenStep::Needs(missing))
            }
            (Err(error), _) => Err(error),
        }
    }
}
