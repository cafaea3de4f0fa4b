//! Byte strings: offsets and data, as in Arrow; dictionaries of them, gathered by wide copies.
//!
//!   offsets = n + 1 of u32, not decreasing      string i = data[offsets[i]..offsets[i + 1]]
//!
//! A string of unknown length costs a call of memcpy and a mispredicted branch or two. So the
//! dictionary keeps its own copy of the data, padded, and every copy takes 32 bytes
//! unconditionally, past the string's end where it is shorter; the next string overwrites them.

use crate::memory::pool::{PoolBuf, PoolVec};
use crate::simd::dispatch::dispatch;
use crate::simd::gather::max_u32;

/// What a wide copy may read and write past the end of a string.
const SLACK: usize = 32;

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
    /// Of every string its start, and from bit 32 on its length: one load for both. Every string
    /// ends `SLACK` bytes before the end of `data`, or earlier. Nothing changes the two once they
    /// are full.
    entries: PoolVec<u64>,
    data: PoolBuf,
}

/// Start and length.
#[inline(always)]
fn place(entry: u64) -> (usize, usize) {
    (entry as u32 as usize, (entry >> 32) as usize)
}

/// A dictionary that is being filled.
#[derive(Debug)]
pub struct BytesDictBuilder {
    dict: BytesDict,
    /// Strings so far, and their bytes.
    filled: usize,
    end: usize,
}

impl BytesDictBuilder {
    /// For `len` strings of `bytes` bytes in all; `None` when there is no memory for them, or they
    /// have 4 GiB or more.
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

    /// Where the next strings go, one after another; what is written behind them is overwritten by
    /// others.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.dict.data[self.end..]
    }

    /// The strings of these lengths stand in [`room`](Self::room): `false`, with nothing changed,
    /// where they cannot, as there are more of them, or more bytes, than was said.
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
        if crate::sum_u32(lengths) > left as u64 {
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

    /// The dictionary; `None` where there are fewer strings or bytes than was said.
    pub fn finish(self) -> Option<BytesDict> {
        let full =
            self.filled == self.dict.entries.len() && self.end + SLACK == self.dict.data.len();
        full.then_some(self.dict)
    }
}

impl BytesDict {
    /// Of `n` strings; `offsets` are `n + 1`, must not decrease, and end inside of `data`. `None`
    /// otherwise.
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
        // What `new` has padded.
        &self.data[..self.data.len() - SLACK]
    }

    /// Where they lie in the contents.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.entries.iter().map(|entry| {
            let (start, len) = place(*entry);
            start..start + len
        })
    }

    /// Bytes of memory that it holds.
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

    /// `lengths[i] = len(dict[codes[i]])`, and the strings one after another at the start of `out`:
    /// the bytes written. Up to 32 bytes of `out` behind them may be overwritten as well.
    ///
    /// `None` when a code is out of range, there are not as many lengths as codes, or `out` is too
    /// small; `lengths` and `out` then hold anything.
    #[inline]
    pub fn gather(&self, codes: &[u32], lengths: &mut [u32], out: &mut [u8]) -> Option<usize> {
        gather_strings(self, codes, lengths, out)
    }

    /// The sum of the lengths that these codes stand for; `None` when one is out of range.
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
    if let Some(code) = the_same(codes) {
        lengths.fill(u32::try_from(dict.get(code as usize)?.len()).ok()?);
        return repeat(dict.get(code as usize)?, codes.len(), out);
    }
    let (entries, mut at) = (&*dict.entries, 0);
    for (&code, length) in codes.iter().zip(lengths) {
        // SAFETY: `covers` has found every code below the number of entries.
        let (start, len) = place(unsafe { *entries.get_unchecked(code as usize) });
        *length = len as u32;
        let room = out.len() - at;
        if room >= len + SLACK {
            // SAFETY: chunks begin before the string's end (or at it, an empty one's), so they
            // reach at most 32 bytes past it; the data has 32 more by construction, `out` by the
            // test of `room`. The two do not overlap: one is borrowed mutably.
            unsafe { copy_wide(dict.data.as_ptr().add(start), out.as_mut_ptr().add(at), len) };
        } else {
            out.get_mut(at..at + len)?
                .copy_from_slice(dict.data.get(start..start + len)?);
        }
        at += len;
    }
    Some(at)
}

/// What all codes are, where these are many and of one run.
#[inline(always)]
fn the_same(codes: &[u32]) -> Option<u32> {
    let (first, middle, last) = (
        *codes.first()?,
        *codes.get(codes.len() / 2)?,
        *codes.last()?,
    );
    let one = codes.len() >= 64 && first == middle && first == last;
    (one && codes.iter().fold(0, |other, code| other | code ^ first) == 0).then_some(first)
}

/// A string so many times at the start of `out`, each time twice as much of it at once; the bytes
/// written.
#[inline(always)]
fn repeat(string: &[u8], times: usize, out: &mut [u8]) -> Option<usize> {
    let out = out.get_mut(..string.len().checked_mul(times)?)?;
    let mut done = string.len().min(out.len());
    out.get_mut(..done)?.copy_from_slice(string.get(..done)?);
    while done < out.len() {
        let more = done.min(out.len() - done);
        out.copy_within(..more, done);
        done += more;
    }
    Some(out.len())
}

/// Copies the first `len` bytes, up to 32 more where both have them. `None` where one has fewer.
#[inline(always)]
pub(crate) fn copy_string(from: &[u8], to: &mut [u8], len: usize) -> Option<()> {
    if from.len().min(to.len()) >= len.saturating_add(SLACK) {
        // SAFETY: both have 32 bytes behind the string. They do not overlap: one is borrowed
        // mutably.
        unsafe { copy_wide(from.as_ptr(), to.as_mut_ptr(), len) };
    } else {
        to.get_mut(..len)?.copy_from_slice(from.get(..len)?);
    }
    Some(())
}

/// Copies `len` bytes, and what follows them, 32 at a time.
///
/// # Safety
/// `from` must be valid for reads and `to` for writes of `len + 32` bytes, and they must not
/// overlap.
#[inline(always)]
unsafe fn copy_wide(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: each chunk begins below `len` (the first: at 0) and has at most 32 bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, 32);
        let mut done = 32;
        while done < len {
            std::ptr::copy_nonoverlapping(from.add(done), to.add(done), 32);
            done += 32;
        }
    }
}

dispatch! { fn gathered_bytes(dict: &BytesDict, codes: &[u32]) -> Option<u64> = gathered_bytes_body; }

#[inline(always)]
fn gathered_bytes_body(dict: &BytesDict, codes: &[u32]) -> Option<u64> {
    if !dict.covers(codes) {
        return None;
    }
    let entries = &*dict.entries;
    // SAFETY: `covers` has found every code below the number of entries.
    Some(
        codes
            .iter()
            .map(|&code| unsafe { *entries.get_unchecked(code as usize) } >> 32)
            .sum(),
    )
}

dispatch! {
    /// The sum of the values.
    pub fn sum_u32(values: &[u32]) -> u64 = sum_body;
}

#[inline(always)]
fn sum_body(values: &[u32]) -> u64 {
    values.iter().map(|&v| u64::from(v)).sum()
}

/// Lengths become offsets, in place: each `base` and the sum of the lengths up to it. The last one
/// (`base` of none); `None` when it is past the type's maximum, and nothing has changed.
///
/// ```
/// let mut lengths = [1, 0, 2];
/// assert_eq!(staffa_kernels::lengths_to_offsets_i32(10, &mut lengths), Some(13));
/// assert_eq!(lengths, [11, 11, 13]);
/// ```
pub fn lengths_to_offsets_i32(base: i32, lengths: &mut [u32]) -> Option<i32> {
    let last = i32::try_from(last_offset(i64::from(base), lengths)?).ok()?;
    crate::prefix_sum(base as u32, lengths);
    Some(last)
}

/// `offsets[i] = base + sum(lengths[..=i])`; the last one (`base` of none). `None` when it is past
/// the type's maximum, or there are not as many offsets as lengths.
pub fn lengths_to_offsets_i64(base: i64, lengths: &[u32], offsets: &mut [u64]) -> Option<i64> {
    let last = last_offset(base, lengths).filter(|_| lengths.len() == offsets.len())?;
    let mut base = base as u64;
    // A piece at a time, so that the second pass finds it in the cache.
    for (lengths, offsets) in lengths
        .chunks(crate::VECTOR)
        .zip(offsets.chunks_mut(crate::VECTOR))
    {
        for (offset, &length) in offsets.iter_mut().zip(lengths) {
            *offset = u64::from(length);
        }
        crate::prefix_sum(base, offsets);
        base = offsets.last().copied()?;
    }
    Some(last)
}

/// The last offset, and so the largest; `None` when it overflows.
fn last_offset(base: i64, lengths: &[u32]) -> Option<i64> {
    // Fewer than 2^32 lengths below 2^32 cannot overflow the sum.
    if u32::try_from(lengths.len()).is_err() {
        return None;
    }
    base.checked_add_unsigned(sum_u32(lengths))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    fn dictionary(rng: &mut Rng, entries: usize, longest: usize) -> (Vec<u32>, Vec<u8>) {
        let mut offsets = vec![rng.below(3) as u32];
        for i in 0..entries {
            offsets.push(offsets[i] + rng.below(longest + 1) as u32);
        }
        let data = (0..offsets[entries]).map(|_| rng.next() as u8).collect();
        (offsets, data)
    }

    #[test]
    fn gather_agrees_with_the_scalar_twin() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for longest in [0, 1, 15, 16, 17, 40, 200] {
                for entries in [1, 2, 50] {
                    let (offsets, data) = dictionary(&mut rng, entries, longest);
                    let dict = BytesDict::new(&offsets, &data).unwrap();
                    assert_eq!(dict.len(), entries);
                    let string = |i: u32| {
                        &data[offsets[i as usize] as usize..offsets[i as usize + 1] as usize]
                    };
                    for (len, run) in [
                        (0, false),
                        (1, false),
                        (2, false),
                        (33, false),
                        (300, false),
                        (300, true),
                    ] {
                        let code = |_| if run { entries - 1 } else { rng.below(entries) } as u32;
                        let mut codes: Vec<u32> = (0..len).map(code).collect();
                        let expected: Vec<u8> =
                            codes.iter().flat_map(|&c| string(c)).copied().collect();
                        let bytes = expected.len();
                        let mut lengths = vec![0; len];
                        assert_eq!(dict.gathered_bytes(&codes), Some(bytes as u64));
                        for slack in [0, 1, 31, 32, 100] {
                            let mut out = vec![0xaa; bytes + slack];
                            assert_eq!(dict.gather(&codes, &mut lengths, &mut out), Some(bytes));
                            assert_eq!(out[..bytes], expected);
                            assert!(out[bytes..].iter().skip(SLACK).all(|&b| b == 0xaa));
                            assert!(
                                codes
                                    .iter()
                                    .zip(&lengths)
                                    .all(|(&c, &l)| string(c).len() == l as usize)
                            );
                        }
                        if bytes > 0 {
                            assert_eq!(
                                dict.gather(&codes, &mut lengths, &mut vec![0; bytes - 1]),
                                None
                            );
                        }
                        if len > 0 {
                            assert_eq!(
                                dict.gather(&codes[1..], &mut lengths, &mut vec![0; bytes]),
                                None
                            );
                            codes[rng.below(len)] = entries as u32;
                            assert_eq!(
                                dict.gather(&codes, &mut lengths, &mut vec![0; bytes + 300]),
                                None
                            );
                            assert_eq!(dict.gathered_bytes(&codes), None);
                        }
                    }
                    assert_eq!(dict.get(0), Some(string(0)));
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

    #[test]
    fn offsets_agree_with_the_scalar_twin() {
        on_every_level(|| {
            let mut rng = Rng(0x5eed);
            for len in [0, 1, 15, 1024, 1025, 5000] {
                let lengths: Vec<u32> = (0..len).map(|_| rng.below(1000) as u32).collect();
                let sum: u64 = lengths.iter().map(|&l| u64::from(l)).sum();
                assert_eq!(sum_u32(&lengths), sum);
                let (mut small, mut large) = (lengths.clone(), vec![0; len]);
                let base = rng.next() as i32 >> 4;
                let last = i64::from(base) + sum as i64;
                assert_eq!(lengths_to_offsets_i32(base, &mut small), Some(last as i32));
                assert_eq!(
                    lengths_to_offsets_i64(i64::from(base), &lengths, &mut large),
                    Some(last)
                );
                let mut at = base;
                for (i, &length) in lengths.iter().enumerate() {
                    at += length as i32;
                    assert_eq!((small[i], large[i]), (at as u32, at as u64));
                }
                let top = i32::MAX - sum as i32;
                assert_eq!(
                    lengths_to_offsets_i32(top, &mut lengths.clone()),
                    Some(i32::MAX)
                );
                let top = i64::MAX - sum as i64;
                assert_eq!(
                    lengths_to_offsets_i64(top, &lengths, &mut large),
                    Some(i64::MAX)
                );
                if sum > 0 {
                    small.clone_from(&lengths);
                    assert_eq!(
                        lengths_to_offsets_i32(i32::MAX - sum as i32 + 1, &mut small),
                        None
                    );
                    assert_eq!(small, lengths);
                    assert_eq!(lengths_to_offsets_i64(top + 1, &lengths, &mut large), None);
                    assert_eq!(lengths_to_offsets_i64(0, &lengths[1..], &mut large), None);
                }
            }
            assert_eq!(lengths_to_offsets_i32(0, &mut [u32::MAX; 3]), None);
            assert_eq!(sum_u32(&[u32::MAX; 100]), 100 * u64::from(u32::MAX));
        });
    }
}
