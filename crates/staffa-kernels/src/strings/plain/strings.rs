//! The builder of plain strings, in slots that several threads fill.

use std::sync::Arc;

use arrow_array::{ArrayRef, GenericBinaryArray, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use bytes::Bytes;

use super::slot::{Ends, StringSlot};
use crate::memory::PoolBuf;
use crate::word::cast_slice_mut;

/// A builder of strings with offsets of 32 bits, or of 64 where `large`, in slots that several
/// threads fill.
///
/// Only strings of full slots count.
///
/// ```
/// use staffa_kernels::{PlainStrings, StringsError};
/// let mut strings = PlainStrings::new(4, 5, true, false).unwrap();
/// let mut slots = strings.slots([(3, 2), (1, 3)]).unwrap();
/// let mut last = slots.pop().unwrap();
/// last.push(1, |lengths, out| {
///     lengths[0] = 3;
///     out[..3].copy_from_slice(b"cde");
///     Ok::<_, StringsError>(3)
/// })?;
/// last.finish(None)?;
/// let mut first = slots.pop().unwrap();
/// first.push(2, |lengths, out| {
///     lengths.fill(1);
///     out[..2].copy_from_slice(b"ab");
///     Ok::<_, StringsError>(2)
/// })?;
/// first.finish(Some(&[0b101]))?;
/// assert!(strings.join());
/// assert_eq!(strings.offsets().collect::<Vec<_>>(), [0, 1, 1, 2, 5]);
/// assert_eq!(strings.data(), b"abcde");
/// # Ok::<(), StringsError>(())
/// ```
#[derive(Debug)]
pub struct PlainStrings {
    /// The first `len + 1` ascend from 0 to `bytes`.
    offsets: PoolBuf,
    /// The strings between the offsets, UTF-8 where `text`.
    data: PoolBuf,
    text: bool,
    large: bool,
    len: usize,
    bytes: usize,
    /// The slots cut last: places for strings and bytes, and whether all were filled.
    cut: Vec<(usize, usize, bool)>,
}

impl PlainStrings {
    /// A builder for `rows` strings of `bytes` bytes in all, of UTF-8 where `text`; `None` when
    /// there is no memory for them.
    pub fn new(rows: usize, bytes: usize, text: bool, large: bool) -> Option<Self> {
        let mut offsets = PoolBuf::new(rows.checked_add(1)?.checked_mul(width(large))?)?;
        offsets.as_mut_slice().get_mut(..width(large))?.fill(0);
        Some(Self {
            offsets,
            data: PoolBuf::new(bytes)?,
            text,
            large,
            len: 0,
            bytes: 0,
            cut: Vec::new(),
        })
    }

    /// The number of strings so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the strings are UTF-8.
    pub fn is_text(&self) -> bool {
        self.text
    }

    /// Whether offsets have 64 bits.
    pub fn is_large(&self) -> bool {
        self.large
    }

    /// Offsets of the strings so far.
    pub fn offsets(&self) -> impl Iterator<Item = u64> + '_ {
        let used = &self.offsets[..(self.len + 1) * width(self.large)];
        let (narrow, wide) = if self.large {
            (&[][..], used.as_chunks().0)
        } else {
            (used.as_chunks().0, &[][..])
        };
        let narrow = narrow
            .iter()
            .map(|offset| u64::from(u32::from_le_bytes(*offset)));
        narrow.chain(wide.iter().map(|offset| u64::from_le_bytes(*offset)))
    }

    /// Bytes of the strings so far.
    pub fn data(&self) -> &[u8] {
        &self.data[..self.bytes]
    }

    /// Cuts slots for the next strings, by their numbers of strings and bytes; `None` where there is
    /// no room for them.
    pub fn slots(
        &mut self,
        slots: impl IntoIterator<Item = (usize, usize)>,
    ) -> Option<Vec<StringSlot<'_>>> {
        let slots = slots.into_iter();
        self.cut = slots.map(|(rows, bytes)| (rows, bytes, false)).collect();
        let (mut before, text, width) = (self.bytes, self.text, width(self.large));
        let ends = self.offsets.as_mut_slice();
        let mut ends = ends.get_mut((self.len + 1) * width..)?;
        let mut data = self.data.as_mut_slice().get_mut(before..)?;
        let mut slots = Vec::with_capacity(self.cut.len());
        for (rows, bytes, full) in &mut self.cut {
            let (these, rest) = ends.split_at_mut_checked(rows.checked_mul(width)?)?;
            let (content, behind) = data.split_at_mut_checked(*bytes)?;
            let these = if self.large {
                Ends::Wide(cast_slice_mut(these)?, vec![0; *rows])
            } else {
                Ends::Narrow(cast_slice_mut(these)?)
            };
            slots.push(StringSlot::new(these, content, text, before, full));
            (ends, data, before) = (rest, behind, before + *bytes);
        }
        Some(slots)
    }

    /// Appends the slots cut last; `false`, with nothing appended, where one of them is not full.
    pub fn join(&mut self) -> bool {
        let cut = std::mem::take(&mut self.cut);
        let full = cut.iter().all(|(_, _, full)| *full);
        for (rows, bytes, _) in cut.into_iter().filter(|_| full) {
            (self.len, self.bytes) = (self.len + rows, self.bytes + bytes);
        }
        full
    }

    /// Offsets and contents as buffers.
    pub fn into_parts(mut self) -> (Buffer, Buffer) {
        self.offsets.truncate((self.len + 1) * width(self.large));
        self.data.truncate(self.bytes);
        let buffer = |memory| Buffer::from(Bytes::from_owner(memory));
        (buffer(self.offsets), buffer(self.data))
    }

    /// The array, of strings where they are text, else of bytes; `None` where there are not as many
    /// validity bits as strings.
    pub fn finish(self, nulls: Option<NullBuffer>) -> Option<ArrayRef> {
        if self.large {
            self.array::<i64>(nulls)
        } else {
            self.array::<i32>(nulls)
        }
    }

    fn array<O: OffsetSizeTrait>(self, nulls: Option<NullBuffer>) -> Option<ArrayRef> {
        let (len, text) = (self.len, self.text);
        if nulls.as_ref().is_some_and(|nulls| nulls.len() != len) || self.large != O::IS_LARGE {
            return None;
        }
        let (offsets, data) = self.into_parts();
        let offsets = ScalarBuffer::<O>::new(offsets, 0, len + 1);
        // SAFETY: the first offset is 0. Those of a full slot continue from the end of the slot
        // before, by sums of lengths that do not overflow, to the end of its bytes. With `text`,
        // every vector of strings was UTF-8, and each of its strings began with a character and
        // ended before one; an empty string between two changes nothing of that. There are as many
        // validity bits as strings.
        Some(unsafe {
            let offsets = OffsetBuffer::new_unchecked(offsets);
            if text {
                Arc::new(GenericStringArray::new_unchecked(offsets, data, nulls))
            } else {
                Arc::new(GenericBinaryArray::new_unchecked(offsets, data, nulls))
            }
        })
    }
}

/// Bytes of an offset.
fn width(large: bool) -> usize {
    if large {
        size_of::<u64>()
    } else {
        size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array as _;
    use arrow_array::cast::AsArray as _;

    use super::*;
    use crate::StringsError;
    use crate::testing::Rng;

    fn push(slot: &mut StringSlot<'_>, strings: &[&[u8]]) -> Result<(), StringsError> {
        slot.push(strings.len(), |lengths, out| {
            let all = strings.concat();
            for (length, string) in lengths.iter_mut().zip(strings) {
                *length = string.len() as u32;
            }
            let place = out.get_mut(..all.len()).ok_or(StringsError::Long)?;
            place.copy_from_slice(&all);
            // Bytes behind the strings do not count.
            out[all.len()..].fill(0xff);
            Ok(all.len())
        })
    }

    /// Pushes all strings into one slot of a new builder.
    fn build(
        rows: usize,
        text: bool,
        strings: &[&[u8]],
        bytes: usize,
    ) -> Result<ArrayRef, StringsError> {
        build_with(rows, text, bytes, |mut slot| {
            push(&mut slot, strings).and_then(|()| slot.finish(None))
        })
    }

    fn build_with(
        rows: usize,
        text: bool,
        bytes: usize,
        fill: impl FnOnce(StringSlot<'_>) -> Result<(), StringsError>,
    ) -> Result<ArrayRef, StringsError> {
        let mut strings = PlainStrings::new(rows, bytes, text, false).unwrap();
        let slot = strings.slots([(rows, bytes)]).unwrap().pop().unwrap();
        let found = fill(slot);
        assert_eq!(strings.join(), found.is_ok());
        assert_eq!(strings.len(), if found.is_ok() { rows } else { 0 });
        found.map(|()| strings.finish(None).unwrap())
    }

    /// Fills one slot with all of its strings, and one of which every other string is missing.
    fn arrays(rng: &mut Rng, letters: &[char], large: bool) {
        let letter = |rng: &mut Rng| letters[rng.below(letters.len())];
        let string = |_| (0..rng.below(20)).map(|_| letter(rng)).collect::<String>();
        let strings: Vec<String> = (0..300).map(string).collect();
        let cut = rng.below(300);
        let parts = [&strings[..cut], &strings[cut..]];
        let [first, second] = parts.map(|part| part.iter().map(String::len).sum::<usize>());
        let mut all = PlainStrings::new(600, first + second, true, large).unwrap();
        let slots = all.slots([(cut, first), (600 - cut, second)]).unwrap();
        let mut expected: Vec<&str> = parts[0].iter().map(String::as_str).collect();
        let (mut bits, mut next) = (vec![0u64; 10], parts[1].iter());
        for row in 0..600 - cut {
            let there = row % 2 == 0 || 600 - cut - row <= next.len();
            let string = next.as_slice().first().filter(|_| there);
            if string.is_some() {
                next.next();
                bits[row / 64] |= 1 << (row % 64);
            }
            expected.push(string.map_or("", String::as_str));
        }
        assert!(next.next().is_none());
        for (mut slot, part) in slots.into_iter().zip(parts) {
            for vector in part.chunks(64) {
                let vector: Vec<&[u8]> = vector.iter().map(String::as_bytes).collect();
                push(&mut slot, &vector).unwrap();
            }
            slot.finish(Some(&bits)).unwrap();
        }
        assert!(all.join());
        assert_eq!(
            (all.len(), all.offsets().last()),
            (600, Some((first + second) as u64))
        );
        let array = all.finish(None).unwrap();
        array.to_data().validate_full().unwrap();
        if large {
            assert!(
                array
                    .as_string::<i64>()
                    .iter()
                    .map(Option::unwrap)
                    .eq(expected)
            );
        } else {
            assert!(
                array
                    .as_string::<i32>()
                    .iter()
                    .map(Option::unwrap)
                    .eq(expected)
            );
        }
    }

    #[test]
    fn arrays_pass_all_of_arrows_checks() {
        let mut rng = Rng(0x91a1);
        for round in 0..200 {
            let letters: Vec<char> = ["abc", "aäb漢c𝄞"][round % 2].chars().collect();
            arrays(&mut rng, &letters, round % 4 < 2);
        }
    }

    #[test]
    fn wrong_strings_are_refused() {
        let halves: &[&[u8]] = &[b"a\xc3", b"\xa4b"];
        assert_eq!(
            build(2, true, halves, 4).unwrap_err(),
            StringsError::NotUtf8(0)
        );
        let bytes = build(2, false, halves, 4).unwrap();
        assert_eq!(bytes.as_binary::<i32>().value(1), b"\xa4b");
        let missing = StringsError::Room {
            expected: [3, 4],
            found: [2, 4],
        };
        assert_eq!(build(3, false, halves, 4).unwrap_err(), missing);
        let room = |found: Result<ArrayRef, _>| matches!(found, Err(StringsError::Room { .. }));
        assert!(room(build(1, false, halves, 4)) && room(build(2, false, halves, 5)));
        let claim = |length, bytes| {
            build_with(1, true, 3, |mut slot| {
                slot.push(1, |lengths, out| {
                    lengths[0] = length;
                    out[..3].copy_from_slice(b"abc");
                    Ok::<_, StringsError>(bytes)
                })?;
                slot.finish(None)
            })
        };
        assert_eq!(claim(2, 3).unwrap_err(), StringsError::Lengths(3));
        assert!(room(claim(4, 4)) && claim(3, 3).is_ok());
        // The bits of another number of strings.
        assert!(room(build_with(3, true, 2, |mut slot| {
            push(&mut slot, &[b"ab"]).and_then(|()| slot.finish(Some(&[0b11])))
        })));
        let mut two = PlainStrings::new(2, 0, true, true).unwrap();
        assert!(two.slots([(3, 0)]).is_none() && two.slots([(1, 1)]).is_none());
        let slot = two.slots([(1, 0)]).unwrap().pop().unwrap();
        slot.finish(None).unwrap();
        assert!(two.join() && two.finish(Some(NullBuffer::new_null(2))).is_none());
    }
}
