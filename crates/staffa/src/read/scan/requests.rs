//! Byte ranges that a scan has asked for: each byte once, dropped when no task needs it.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::format::Fetched;
use crate::read::ranges::{REQUEST_BYTES, SCAN_GAP, cut, joined};

/// Ranges wanted, asked for and fetched.
#[derive(Debug)]
pub(super) struct Requests {
    fetched: Arc<Fetched>,
    /// By offset: end, and whether the bytes are there. No two overlap.
    asked: BTreeMap<u64, (u64, bool)>,
    /// Wanted, and not asked for yet.
    wanted: Vec<Range<u64>>,
    /// Bytes from here on were read when the file was opened.
    end: u64,
}

impl Requests {
    /// `end`: bytes that are there already, up to the end of the file.
    pub fn new(fetched: Arc<Fetched>, end: Option<&(u64, Bytes)>) -> Self {
        let mut asked = BTreeMap::new();
        if let Some((offset, bytes)) = end {
            fetched.keep(*offset, bytes.clone());
            asked.insert(*offset, (offset + bytes.len() as u64, true));
        }
        Self {
            fetched,
            asked,
            wanted: Vec::new(),
            end: end.map_or(u64::MAX, |(offset, _)| *offset),
        }
    }

    /// Notes ranges to ask for, unless they were asked for.
    pub fn want(&mut self, ranges: &[Range<u64>]) {
        for range in ranges {
            self.wanted.extend(self.not_asked(range));
        }
    }

    /// The parts of a range that were not asked for.
    fn not_asked(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let (mut out, mut at) = (Vec::new(), range.start);
        for (start, end) in self.overlapping(range) {
            out.push(at..start.max(at));
            at = at.max(end);
        }
        out.push(at..range.end.max(at));
        out.retain(|part| !part.is_empty());
        out
    }

    /// Ranges asked for that have bytes in common with one.
    fn overlapping(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, u64)> + use<'_> {
        let before = self.asked.range(..=range.start).next_back();
        let first = before.map_or(range.start, |(start, _)| *start);
        let (start, stop) = (range.start, range.end);
        let asked = self.asked.range(first..stop.max(first));
        let asked = asked.map(|(start, (end, _))| (*start, *end));
        asked.filter(move |(_, end)| *end > start)
    }

    /// The requests to send now. `hold`: what is wanted next may lie behind the last one, which waits
    /// for it while it is small.
    pub fn send(&mut self, hold: bool) -> Vec<Range<u64>> {
        let wanted = joined(std::mem::take(&mut self.wanted), SCAN_GAP);
        let wanted: Vec<_> = wanted
            .iter()
            .flat_map(|range| self.not_asked(range))
            .collect();
        let mut requests: Vec<Range<u64>> = cut(&wanted).collect();
        let is_small = |last: &mut Range<u64>| last.end - last.start < REQUEST_BYTES;
        if hold {
            self.wanted.extend(requests.pop_if(is_small));
        }
        for request in &requests {
            self.asked.insert(request.start, (request.end, false));
        }
        requests
    }

    /// Takes in the bytes of a request.
    pub fn give(&mut self, range: &Range<u64>, bytes: Bytes) -> Result<()> {
        match self.asked.get_mut(&range.start) {
            Some((end, there)) if *end == range.end && !*there => {
                let (expected, found) = (range.end - range.start, bytes.len() as u64);
                if expected != found {
                    return Err(Error::truncated(format!(
                        "{expected} bytes at {} expected, found {found}",
                        range.start
                    )));
                }
                *there = true;
                self.fetched.keep(range.start, bytes);
                Ok(())
            }
            _ => Err(Error::invalid(format!(
                "bytes {} to {} were given, but not asked for",
                range.start, range.end
            ))),
        }
    }

    /// Whether all bytes of some ranges are there.
    pub fn are_there(&self, ranges: &[Range<u64>]) -> bool {
        ranges.iter().all(|range| {
            let missing = |(start, _)| !self.asked.get(&start).is_some_and(|(_, there)| *there);
            self.not_asked(range).is_empty() && !self.overlapping(range).any(missing)
        })
    }

    /// Whether requests are on their way.
    pub fn is_waiting(&self) -> bool {
        self.asked.values().any(|(_, there)| !there)
    }

    /// Drops ranges that hold no byte of those still needed.
    pub fn release<'r>(&mut self, needed: impl Iterator<Item = &'r Range<u64>>) {
        let mut kept: Vec<u64> = vec![self.end];
        for range in needed {
            kept.extend(self.overlapping(range).map(|(start, _)| start));
        }
        kept.sort_unstable();
        let fetched = &self.fetched;
        self.asked.retain(|start, (_, there)| {
            let keep = !*there || kept.binary_search(start).is_ok();
            if !keep {
                fetched.forget(*start);
            }
            keep
        });
    }
}
