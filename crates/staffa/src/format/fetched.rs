//! Byte ranges of a file that the caller has fetched.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

/// Fetched ranges, and the first one that was missing since the last look.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By offset; no two overlap, and neighbours are not joined.
    ranges: BTreeMap<u64, Bytes>,
    missing: Option<Range<u64>>,
}

impl Fetched {
    fn state(&self) -> MutexGuard<'_, State> {
        // No panic can leave the ranges half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the bytes of a range.
    pub fn keep(&self, offset: u64, bytes: Bytes) {
        self.state().ranges.insert(offset, bytes);
    }

    /// Drops the bytes of a range.
    pub fn forget(&self, offset: u64) {
        self.state().ranges.remove(&offset);
    }

    /// The range that a read did not find.
    pub fn take_missing(&self) -> Option<Range<u64>> {
        self.state().missing.take()
    }

    /// Bytes of a range; `None`, which is noted, where some were not fetched. Bytes of several
    /// fetched ranges are copied.
    pub fn read(&self, range: Range<u64>) -> Option<Bytes> {
        let mut state = self.state();
        let found = state.find(&range);
        if found.is_none() {
            state.missing = Some(range);
        }
        found
    }
}

impl State {
    fn find(&self, range: &Range<u64>) -> Option<Bytes> {
        if range.is_empty() {
            return Some(Bytes::new());
        }
        let first = self.ranges.range(..=range.start).next_back()?.0;
        let mut parts = Vec::new();
        let mut at = range.start;
        for (offset, bytes) in self.ranges.range(first..) {
            let start = at.checked_sub(*offset)? as usize;
            let end = ((range.end - offset) as usize).min(bytes.len());
            let part = bytes.get(start..end)?;
            at += part.len() as u64;
            parts.push(bytes.slice_ref(part));
            if at == range.end {
                break;
            }
        }
        match parts.as_slice() {
            _ if at != range.end => None,
            [one] => Some(one.clone()),
            several => {
                let mut joined = BytesMut::with_capacity((range.end - range.start) as usize);
                several
                    .iter()
                    .for_each(|part| joined.extend_from_slice(part));
                Some(joined.freeze())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_found_in_one_or_several_fetched_ones() {
        let fetched = Fetched::default();
        let bytes: Bytes = (0..100u8).collect();
        for range in [10..20, 20..50, 60..70] {
            fetched.keep(range.start as u64, bytes.slice(range));
        }
        for start in 0..80u64 {
            for end in start..80 {
                let holds = |from: u64, to: u64| start >= from && end <= to;
                let is_there = start == end || holds(10, 50) || holds(60, 70);
                let expected = is_there.then(|| bytes.slice(start as usize..end as usize));
                assert_eq!(fetched.read(start..end), expected);
                assert_eq!(fetched.take_missing(), (!is_there).then_some(start..end));
            }
        }
        fetched.forget(20);
        assert_eq!(fetched.read(15..25), None);
        assert_eq!(fetched.read(15..20), Some(bytes.slice(15..20)));
    }
}
