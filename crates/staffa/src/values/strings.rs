//! Byte strings: a slice of offsets into a slice of bytes.

use std::cmp::Ordering;

use staffa_kernels::ByteSet;

use crate::error::{Error, Result};

/// The bytes that occur in parts of a text, ascending; byte 0 for an empty one.
pub(crate) fn distinct_bytes(parts: &[&[u8]]) -> Vec<u8> {
    let mut seen = ByteSet::default();
    parts.iter().for_each(|part| seen.extend(part));
    if parts.iter().all(|part| part.is_empty()) {
        seen.extend(&[0]);
    }
    seen.iter().collect()
}

/// A string behind its first eight bytes, which decide the order of most strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Prefixed<'a> {
    /// In the order of bytes; 0 behind a shorter string.
    prefix: u64,
    pub string: &'a [u8],
}

impl Ord for Prefixed<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let (own, others) = (self.string.len(), other.string.len());
        self.prefix.cmp(&other.prefix).then_with(|| {
            if own.min(others) <= 8 {
                own.cmp(&others)
            } else {
                self.string.cmp(other.string)
            }
        })
    }
}

impl PartialOrd for Prefixed<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Byte strings, borrowed: string `i` is `data[offsets[i]..offsets[i + 1]]`.
///
/// Offsets never decrease and end inside of `data`: [`new`](Self::new) checks both.
#[derive(Debug, Clone, Copy)]
pub struct Strings<'a> {
    /// One more than there are strings; the first need not be 0.
    offsets: &'a [u32],
    data: &'a [u8],
}

impl<'a> Strings<'a> {
    /// Strings with these offsets; an error where one ends before it begins, or outside of `data`.
    pub fn new(offsets: &'a [u32], data: &'a [u8]) -> Result<Self> {
        let inside = offsets
            .last()
            .is_none_or(|end| data.get(..*end as usize).is_some());
        if inside && offsets.is_sorted() {
            return Ok(Self { offsets, data });
        }
        Err(Error::invalid(
            "offsets of strings must not decrease, nor pass the end of the bytes",
        ))
    }

    /// Where strings begin and end in [`data`](Self::data): one more than there are strings.
    pub fn offsets(&self) -> &'a [u32] {
        self.offsets
    }

    /// The bytes that hold all strings, and perhaps others.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// String `i`; an error past the end.
    pub fn at(&self, i: usize) -> Result<&'a [u8]> {
        let past = || Error::internal(format!("string {i} of {} expected", self.len()));
        (i < self.len()).then(|| self.get(i)).ok_or_else(past)
    }

    /// String `i`; empty past the end.
    #[inline]
    pub fn get(&self, i: usize) -> &'a [u8] {
        match self.offsets.get(i..i + 2) {
            Some(&[start, end]) => self.between(start, end),
            _ => &[],
        }
    }

    /// The bytes between two offsets, which are inside of `data`.
    #[inline]
    fn between(&self, start: u32, end: u32) -> &'a [u8] {
        self.data
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    /// String `i` behind its first bytes; empty past the end.
    #[inline]
    pub(crate) fn prefixed(&self, i: usize) -> Prefixed<'a> {
        let string = self.get(i);
        // A shorter string is read with those behind it.
        let start = self.offsets.get(i).map_or(0, |start| *start as usize);
        let bytes = self.data.get(start..).and_then(<[u8]>::first_chunk::<8>);
        let prefix = match bytes {
            Some(bytes) => {
                let unused = 64 - 8 * string.len().min(8) as u32;
                u64::from_be_bytes(*bytes) & u64::MAX.checked_shl(unused).unwrap_or(0)
            }
            None => string
                .iter()
                .take(8)
                .zip((0..64).step_by(8))
                .fold(0, |prefix, (byte, at)| {
                    prefix | u64::from(*byte) << (56 - at)
                }),
        };
        Prefixed { prefix, string }
    }

    /// All strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let strings = *self;
        self.offsets
            .array_windows()
            .map(move |[start, end]| strings.between(*start, *end))
    }

    /// All strings, one after another.
    pub fn contents(&self) -> &'a [u8] {
        match (self.offsets.first(), self.offsets.last()) {
            (Some(&first), Some(&last)) => self.between(first, last),
            _ => &[],
        }
    }

    /// Length of every string.
    pub fn lengths(&self) -> Vec<u32> {
        self.offsets
            .array_windows()
            .map(|[start, end]| end - start)
            .collect()
    }

    /// Strings `start..start + len`, borrowed; none where some of these are past the end.
    #[must_use]
    pub fn slice(&self, start: usize, len: usize) -> Self {
        Self {
            offsets: self.offsets.get(start..=start + len).unwrap_or_default(),
            data: self.data,
        }
    }
}

/// Byte strings that own their memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StringsBuf {
    /// As in [`Strings`]; begins with 0.
    pub offsets: Vec<u32>,
    /// As in [`Strings`].
    pub data: Vec<u8>,
}

impl StringsBuf {
    /// No strings yet.
    pub fn new() -> Self {
        Self {
            offsets: vec![0],
            data: Vec::new(),
        }
    }

    /// Appends one.
    pub fn push(&mut self, string: &[u8]) {
        self.data.extend_from_slice(string);
        self.offsets.push(self.data.len() as u32);
    }

    /// Borrows them.
    pub fn as_strings(&self) -> Strings<'_> {
        Strings {
            offsets: &self.offsets,
            data: &self.data,
        }
    }
}

impl<'a> FromIterator<&'a [u8]> for StringsBuf {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(strings: I) -> Self {
        let mut out = Self::new();
        strings.into_iter().for_each(|s| out.push(s));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_order_as_all_bytes_do() {
        let ends: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"a", b"\xff", b"ab\0"];
        let starts: [&[u8]; 4] = [b"", b"1234567", b"12345678", b"123456789"];
        let all = starts.iter().flat_map(|a| ends.map(|b| [*a, b].concat()));
        let all: Vec<Vec<u8>> = all.collect();
        let all: StringsBuf = all.iter().map(Vec::as_slice).collect();
        let all = all.as_strings();
        for i in 0..all.len() {
            for j in 0..all.len() {
                let order = all.prefixed(i).cmp(&all.prefixed(j));
                assert_eq!(order, all.get(i).cmp(all.get(j)), "{i} {j}");
            }
        }
    }
}
