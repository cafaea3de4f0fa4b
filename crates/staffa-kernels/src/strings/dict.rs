//! Dictionaries of byte strings: codes to strings, by wide copies.
//!
//!   offsets = n + 1 of u32, not decreasing      string i = data[offsets[i]..offsets[i + 1]]
//!
//! The dictionary keeps a copy of the data with padding behind it, so that every copy may read past
//! the end of its string.

use super::copy::{SLACK, copy_wide, repeat_first};
use crate::memory::{PoolBuf, PoolVec};
use crate::simd::dispatch::dispatch;
use crate::simd::{max_u32, sum_u32};

/// A dictionary of byte strings, prepared for gathering.
///
/// ```
/// let dict = staffa_kernels::BytesDict::new(&[0, 2, 5], b"noyes").unwrap();
/// let (mut lengths, mut out) = ([0; 3], [0; 8]);
/// assert_eq!(dict.gather(&[1, 0, 1], &mut lengths, &mut out), Some(8));
/// assert_eq!((&out, lengths), (b"yesnoyes", [3, 2, 3]));
/// ```
#[derive(Debug)]
pub struct BytesDict {
    /// The start of each string, and from bit 32 on its length: one load for both. Every string
    /// ends at least `SLACK` bytes before the end of `data`. Both stay as they are once built.
    entries: PoolVec<u64>,
    data: PoolBuf,
}

/// Start and length of an entry.
#[inline(always)]
fn place(entry: u64) -> (usize, usize) {
    (entry as u32 as usize, (entry >> 32) as usize)
}

/// A dictionary that is being built.
#[derive(Debug)]
pub struct BytesDictBuilder {
    dict: BytesDict,
    /// Strings so far.
    filled: usize,
    /// Bytes of these strings.
    end: usize,
}

impl BytesDictBuilder {
    /// A builder for `len` strings of `bytes` bytes in all; `None` when there is no memory for them,
    /// or they have 4 GiB or more.
    pub fn new(len: usize, bytes: usize) -> Option<Self> {
        u32::try_from(bytes).ok()?;
        let dict = BytesDict {
            entries: PoolVec::new(len)?,
            data: PoolBuf::new(bytes + SLACK)?,
        };
        Some(Self {
            dict,
            filled: 0,
            end: 0,
        })
    }

    /// The place of the next strings, one after another; bytes behind them may be overwritten as
    /// well.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.dict.data[self.end..]
    }

    /// Appends the strings of these lengths that were written to [`room`](Self::room); `false`, with
    /// nothing changed, where there are more strings or bytes than announced.
    #[must_use]
    pub fn push(&mut self, lengths: &[u32]) -> bool {
        let left = self.dict.data.len() - SLACK - self.end;
        let Some(entries) = self
            .dict
            .entries
            .get_mut(self.filled..self.filled + lengths.len())
        else {
            return false;
        };
        if sum_u32(lengths) > left as u64 {
            return false;
        }
        let mut end = self.end;
        for (entry, length) in entries.iter_mut().zip(lengths) {
            *entry = end as u64 | u64::from(*length) << 32;
            end += *length as usize;
        }
        (self.filled, self.end) = (self.filled + lengths.len(), end);
        true
    }

    /// The dictionary; `None` where there are fewer strings or bytes than announced.
    pub fn finish(self) -> Option<BytesDict> {
        let full =
            self.filled == self.dict.entries.len() && self.end + SLACK == self.dict.data.len();
        full.then_some(self.dict)
    }
}

impl BytesDict {
    /// A dictionary of `n` strings. There must be `n + 1` `offsets`, which do not decrease and end
    /// within `data`; `None` otherwise.
    pub fn new(offsets: &[u32], data: &[u8]) -> Option<Self> {
        let (first, last) = (*offsets.first()?, *offsets.last()?);
        let data = data.get(first as usize..last as usize)?;
        let mut out = BytesDictBuilder::new(offsets.len() - 1, data.len())?;
        out.room()[..data.len()].copy_from_slice(data);
        for (entry, offsets) in out.dict.entries.iter_mut().zip(offsets.windows(2)) {
            *entry = u64::from(offsets[0].wrapping_sub(first))
                | u64::from(offsets[1].checked_sub(offsets[0])?) << 32;
        }
        Some(out.dict)
    }

    /// The number of strings.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// All strings, one after another.
    #[inline]
    pub fn contents(&self) -> &[u8] {
        // Without the padding.
        &self.data[..self.data.len() - SLACK]
    }

    /// The range of each string in the contents.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.entries.iter().map(|entry| {
            let (start, len) = place(*entry);
            start..start + len
        })
    }

    /// Bytes of memory that the dictionary holds.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.entries.len() * size_of::<u64>() + self.data.len()
    }

    /// Whether there are no strings.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// String `i`.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        let (start, len) = place(*self.entries.get(i)?);
        self.data.get(start..)?.get(..len)
    }

    /// Writes the strings of `codes` one after another to the start of `out`, and
    /// `lengths[i] = len(dict[codes[i]])`; returns the bytes written. Up to 32 bytes of `out` behind
    /// them may be overwritten as well.
    ///
    /// `None` when a code is out of range, there are not as many lengths as codes, or `out` is too
    /// small; `lengths` and `out` then hold anything.
    #[inline]
    pub fn gather(&self, codes: &[u32], lengths: &mut [u32], out: &mut [u8]) -> Option<usize> {
        gather_strings(self, codes, lengths, out)
    }

    /// The sum of the lengths of the strings of `codes`; `None` when a code is out of range.
    #[inline]
    pub fn gathered_bytes(&self, codes: &[u32]) -> Option<u64> {
        gathered_bytes(self, codes)
    }

    #[inline(always)]
    fn covers(&self, codes: &[u32]) -> bool {
        codes.is_empty() || (max_u32(codes) as usize) < self.entries.len()
    }
}

dispatch! {
    fn gather_strings(dict: &BytesDict, codes: &[u32], lengths: &mut [u32], out: &mut [u8]) -> Option<usize> = gather_body;
}

#[inline(always)]
fn gather_body(
    dict: &BytesDict,
    codes: &[u32],
    lengths: &mut [u32],
    out: &mut [u8],
) -> Option<usize> {
    if lengths.len() != codes.len() || !dict.covers(codes) {
        return None;
    }
    if let Some(code) = single_run(codes) {
        let string = dict.get(code as usize)?;
        lengths.fill(u32::try_from(string.len()).ok()?);
        return repeat(string, codes.len(), out);
    }
    let (entries, mut at) = (&*dict.entries, 0);
    for (&code, length) in codes.iter().zip(lengths) {
        // SAFETY: `covers` has found every code below the number of entries.
        let (start, len) = place(unsafe { *entries.get_unchecked(code as usize) });
        *length = len as u32;
        let room = out.len() - at;
        if room >= len + SLACK {
            // SAFETY: `data` has 32 bytes behind the string by construction, `out` by the test of
            // `room`. The two do not overlap: one is borrowed mutably.
            unsafe { copy_wide(dict.data.as_ptr().add(start), out.as_mut_ptr().add(at), len) };
        } else {
            out.get_mut(at..at + len)?
                .copy_from_slice(dict.data.get(start..start + len)?);
        }
        at += len;
    }
    Some(at)
}

/// The code of a single long run of codes.
#[inline(always)]
fn single_run(codes: &[u32]) -> Option<u32> {
    let (first, middle, last) = (
        *codes.first()?,
        *codes.get(codes.len() / 2)?,
        *codes.last()?,
    );
    let one = codes.len() >= 64 && first == middle && first == last;
    (one && codes.iter().fold(0, |other, code| other | code ^ first) == 0).then_some(first)
}

/// Writes a string `times` times to the start of `out`; returns the bytes written.
#[inline(always)]
fn repeat(string: &[u8], times: usize, out: &mut [u8]) -> Option<usize> {
    let out = out.get_mut(..string.len().checked_mul(times)?)?;
    if !out.is_empty() {
        out.get_mut(..string.len())?.copy_from_slice(string);
        repeat_first(out, string.len());
    }
    Some(out.len())
}

dispatch! { fn gathered_bytes(dict: &BytesDict, codes: &[u32]) -> Option<u64> = gathered_bytes_body; }

#[inline(always)]
fn gathered_bytes_body(dict: &BytesDict, codes: &[u32]) -> Option<u64> {
    if !dict.covers(codes) {
        return None;
    }
    let entries = &*dict.entries;
    // SAFETY: `covers` has found every code below the number of entries.
    let length = |&code: &u32| unsafe { *entries.get_unchecked(code as usize) } >> 32;
    Some(codes.iter().map(length).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    fn dictionary(rng: &mut Rng, entries: usize, longest: usize) -> (BytesDict, Vec<Vec<u8>>) {
        let mut offsets = vec![rng.below(3) as u32];
        for i in 0..entries {
            offsets.push(offsets[i] + rng.below(longest + 1) as u32);
        }
        let data = rng.bytes(offsets[entries] as usize);
        let dict = BytesDict::new(&offsets, &data).unwrap();
        let strings = offsets
            .windows(2)
            .map(|o| data[o[0] as usize..o[1] as usize].to_vec());
        (dict, strings.collect())
    }

    fn agree(dict: &BytesDict, strings: &[Vec<u8>], codes: &[u32]) {
        let expected: Vec<&[u8]> = codes
            .iter()
            .map(|&c| strings[c as usize].as_slice())
            .collect();
        let wanted: Vec<u32> = expected.iter().map(|string| string.len() as u32).collect();
        let expected = expected.concat();
        let bytes = expected.len();
        let mut lengths = vec![0; codes.len()];
        assert_eq!(dict.gathered_bytes(codes), Some(bytes as u64));
        for slack in [0, 1, 31, 32, 100] {
            let mut out = vec![0xaa; bytes + slack];
            assert_eq!(dict.gather(codes, &mut lengths, &mut out), Some(bytes));
            assert_eq!((&out[..bytes], &lengths), (expected.as_slice(), &wanted));
            assert!(out[bytes..].iter().skip(SLACK).all(|&b| b == 0xaa));
        }
        let mut gather = |codes: &[u32], room| dict.gather(codes, &mut lengths, &mut vec![0; room]);
        if bytes > 0 {
            assert_eq!(gather(codes, bytes - 1), None);
        }
        if let [_, others @ ..] = codes {
            assert_eq!(gather(others, bytes), None);
            let wrong = [others, &[strings.len() as u32]].concat();
            assert_eq!(gather(&wrong, bytes + 300), None);
            assert_eq!(dict.gathered_bytes(&wrong), None);
        }
    }

    #[test]
    fn gather_agrees_with_the_scalar_twin() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for longest in [0, 1, 15, 16, 17, 40, 200] {
                for entries in [1, 2, 50] {
                    let (dict, strings) = dictionary(&mut rng, entries, longest);
                    assert_eq!(dict.len(), entries);
                    for len in [0, 1, 2, 33, 300] {
                        let codes: Vec<u32> = (0..len).map(|_| rng.below(entries) as u32).collect();
                        agree(&dict, &strings, &codes);
                    }
                    agree(&dict, &strings, &[entries as u32 - 1; 300]);
                    assert_eq!(dict.get(0), Some(strings[0].as_slice()));
                    assert_eq!(dict.get(entries), None);
                }
            }
        });
    }

    #[test]
    fn wrong_offsets_are_refused() {
        assert!(BytesDict::new(&[], b"abc").is_none());
        assert!(BytesDict::new(&[0, 4], b"abc").is_none());
        assert!(BytesDict::new(&[0, 2, 1], b"abc").is_none());
        assert!(BytesDict::new(&[0, u32::MAX, 1], b"abc").is_none());
        assert!(BytesDict::new(&[2], b"abc").unwrap().is_empty());
        assert_eq!(
            BytesDict::new(&[1, 1, 3], b"abc").unwrap().get(1),
            Some(&b"bc"[..])
        );
    }
}
