//! Plain strings being put together: offsets, and contents one after another, each string checked
//! when it comes in.
//!
//! Checked a vector at a time, while its bytes are in the cache. To read all of them once more at
//! the end took a tenth of the scan of a table of text.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, GenericBinaryArray, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use bytes::Bytes;

use crate::memory::pool::PoolBuf;
use crate::simd::expand::expand;
use crate::strings::dict::{lengths_to_offsets_i32, lengths_to_offsets_i64, sum_u32};
use crate::strings::views::is_text;
use crate::word::{cast_slice, cast_slice_mut};

/// Strings that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// String so many of a slot is no UTF-8.
    NoText(usize),
    /// Lengths that make other than so many bytes.
    Lengths(usize),
    /// More or fewer strings or bytes than there are places for: of both, what was expected and
    /// found.
    Room([usize; 2], [usize; 2]),
    /// More bytes than offsets tell.
    Long,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoText(i) => write!(f, "text expected, found string {i} that is not UTF-8"),
            Self::Lengths(bytes) => write!(f, "lengths of {bytes} bytes expected, found others"),
            Self::Room([rows, bytes], [found, found_bytes]) => {
                write!(
                    f,
                    "{rows} strings of {bytes} bytes expected, found {found} of {found_bytes}"
                )
            }
            Self::Long => write!(
                f,
                "less than 2 GiB of strings expected, found more: ask for the large type"
            ),
        }
    }
}

impl std::error::Error for Misfit {}

/// Strings being put together, with offsets of 32 bits, or of 64 where `large`.
///
/// Several threads fill slots of it. Whatever they do, only what slots were full of counts.
///
/// ```
/// use staffa_kernels::{Misfit, PlainStrings};
/// let mut strings = PlainStrings::new(4, 5, true, false).unwrap();
/// let mut slots = strings.slots([(3, 2), (1, 3)]).unwrap();
/// let mut last = slots.pop().unwrap();
/// last.push(1, |lengths, out| { lengths[0] = 3; out[..3].copy_from_slice(b"cde"); Ok::<_, Misfit>(3) })?;
/// last.finish(None)?;
/// let mut first = slots.pop().unwrap();
/// first.push(2, |lengths, out| { lengths.fill(1); out[..2].copy_from_slice(b"ab"); Ok::<_, Misfit>(2) })?;
/// first.finish(Some(&[0b101]))?;
/// assert!(strings.join());
/// assert_eq!(strings.offsets().collect::<Vec<_>>(), [0, 1, 1, 2, 5]);
/// assert_eq!(strings.data(), b"abcde");
/// # Ok::<(), Misfit>(())
/// ```
#[derive(Debug)]
pub struct PlainStrings {
    /// The first `len + 1` ascend from 0 to `bytes`.
    offsets: PoolBuf,
    /// Between two of the offsets each string, UTF-8 where `text`.
    data: PoolBuf,
    text: bool,
    large: bool,
    len: usize,
    bytes: usize,
    /// Of the slots cut last: strings and bytes that there are places for, and whether all were
    /// filled.
    cut: Vec<(usize, usize, bool)>,
}

/// Places for some of the strings of [`PlainStrings`].
#[derive(Debug)]
pub struct StringSlot<'a> {
    ends: Ends<'a>,
    data: &'a mut [u8],
    text: bool,
    /// Bytes before the slot.
    before: usize,
    /// Strings so far, and their bytes.
    len: usize,
    bytes: usize,
    full: &'a mut bool,
}

/// Where the strings of a slot end, put there at last: as wide as lengths, these stand in their
/// place until then.
#[derive(Debug)]
enum Ends<'a> {
    Narrow(&'a mut [u32]),
    Wide(&'a mut [u64], Vec<u32>),
}

impl Ends<'_> {
    fn lengths(&mut self) -> &mut [u32] {
        match self {
            Self::Narrow(ends) => ends,
            Self::Wide(_, lengths) => lengths,
        }
    }
}

impl PlainStrings {
    /// For so many strings of so many bytes; `text`: of UTF-8. `None` where there is no memory for
    /// them.
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

    /// How many strings there are so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether they are UTF-8.
    pub fn is_text(&self) -> bool {
        self.text
    }

    /// Whether offsets have 64 bits.
    pub fn is_large(&self) -> bool {
        self.large
    }

    /// Where the strings so far begin and end.
    pub fn offsets(&self) -> impl Iterator<Item = u64> + '_ {
        let all = self.offsets.as_slice();
        let (narrow, wide) = if self.large {
            (None, cast_slice(all))
        } else {
            (cast_slice(all), None)
        };
        let narrow = narrow
            .unwrap_or_default()
            .iter()
            .map(|offset: &u32| u64::from(*offset));
        narrow
            .chain(wide.unwrap_or_default().iter().copied())
            .take(self.len + 1)
    }

    /// Their bytes.
    pub fn data(&self) -> &[u8] {
        self.data.as_slice().get(..self.bytes).unwrap_or_default()
    }

    /// Slots for the next strings, so many of so many bytes in each; `None` where there is no room
    /// for them.
    pub fn slots(
        &mut self,
        slots: impl IntoIterator<Item = (usize, usize)>,
    ) -> Option<Vec<StringSlot<'_>>> {
        self.cut = slots
            .into_iter()
            .map(|(rows, bytes)| (rows, bytes, false))
            .collect();
        let (mut before, text, width) = (self.bytes, self.text, width(self.large));
        let mut ends = self
            .offsets
            .as_mut_slice()
            .get_mut((self.len + 1) * width..)?;
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
            slots.push(StringSlot {
                ends: these,
                data: content,
                text,
                before,
                len: 0,
                bytes: 0,
                full,
            });
            (ends, data, before) = (rest, behind, before + *bytes);
        }
        Some(slots)
    }

    /// Takes in the slots cut last; `false`, and nothing taken in, where one of them is not full.
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
        // SAFETY: the first offset is 0. Those of a slot that was full go on from where the one
        // before ends, by sums of lengths that were found not to pass the largest offset, to where
        // its bytes end. Of text, every vector of strings was UTF-8, and each of its strings began
        // with a character and ended before one; an empty one put between two changes nothing of
        // that. There are as many validity bits as strings.
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

impl StringSlot<'_> {
    /// Takes the next `count` strings: `decode` writes their lengths, and them to the beginning of
    /// its memory, beyond which it may write, too; it gives back how many bytes they have.
    ///
    /// # Errors
    /// Those of `decode`; strings that do not fit.
    pub fn push<E: From<Misfit>>(
        &mut self,
        count: usize,
        decode: impl FnOnce(&mut [u32], &mut [u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        let (all, bytes) = (self.ends.lengths(), self.data.len());
        let full = Misfit::Room(
            [all.len(), bytes],
            [self.len.saturating_add(count), self.bytes],
        );
        let lengths = self
            .len
            .checked_add(count)
            .and_then(|end| all.get_mut(self.len..end))
            .ok_or(full)?;
        let out = self.data.get_mut(self.bytes..).unwrap_or_default();
        let found = decode(lengths, out)?;
        let strings = out
            .get(..found)
            .ok_or(Misfit::Room([0, out.len()], [0, found]))?;
        if sum_u32(lengths) != found as u64 {
            return Err(Misfit::Lengths(found).into());
        }
        let starts = lengths.iter().scan(0, |end, length| {
            Some(std::mem::replace(end, *end + *length as usize))
        });
        if self.text && !is_text(strings, starts) {
            return Err(Misfit::NoText(self.len + no_text(strings, lengths)).into());
        }
        (self.len, self.bytes) = (self.len + count, self.bytes + found);
        Ok(())
    }

    /// Ends the slot, where all of it is filled: with empty strings between the others where there
    /// are fewer, which a bit of 0 for each tells.
    ///
    /// # Errors
    /// [`Misfit::Room`], [`Misfit::Long`].
    pub fn finish(mut self, validity: Option<&[u64]>) -> Result<(), Misfit> {
        let lengths = self.ends.lengths();
        let rows = lengths.len();
        let spread = match validity {
            _ if self.len == rows => true,
            _ if self.len == 0 => {
                lengths.fill(0);
                true
            }
            Some(validity) => expand(lengths, self.len, validity),
            None => false,
        };
        if !spread || self.bytes != self.data.len() {
            return Err(Misfit::Room(
                [rows, self.data.len()],
                [self.len, self.bytes],
            ));
        }
        let before = i64::try_from(self.before).map_err(|_| Misfit::Long)?;
        let last = match &mut self.ends {
            Ends::Wide(ends, lengths) => lengths_to_offsets_i64(before, lengths, ends),
            Ends::Narrow(ends) => i32::try_from(before)
                .ok()
                .and_then(|before| lengths_to_offsets_i32(before, ends))
                .map(i64::from),
        };
        last.ok_or(Misfit::Long)?;
        *self.full = true;
        Ok(())
    }
}

/// The first string that is no UTF-8 by itself.
#[cold]
fn no_text(strings: &[u8], lengths: &[u32]) -> usize {
    let mut rest = strings;
    let text = |length: &u32| {
        let (string, behind) = rest.split_at_checked(*length as usize).unwrap_or_default();
        rest = behind;
        std::str::from_utf8(string).is_ok()
    };
    lengths
        .iter()
        .map(text)
        .position(|text| !text)
        .unwrap_or(lengths.len())
}

#[cfg(test)]
mod tests {
    use arrow_array::Array as _;
    use arrow_array::cast::AsArray as _;

    use super::*;
    use crate::testing::Rng;

    fn push(slot: &mut StringSlot<'_>, strings: &[&[u8]]) -> Result<(), Misfit> {
        slot.push(strings.len(), |lengths, out| {
            let all = strings.concat();
            lengths
                .iter_mut()
                .zip(strings)
                .for_each(|(length, string)| *length = string.len() as u32);
            out.get_mut(..all.len())
                .ok_or(Misfit::Long)?
                .copy_from_slice(&all);
            // Whatever is behind them is not theirs.
            out[all.len()..].fill(0xff);
            Ok(all.len())
        })
    }

    #[test]
    fn arrays_pass_all_of_arrows_checks() {
        let mut rng = Rng(0x91a1);
        for round in 0..200 {
            let letters: Vec<char> = ["abc", "aäb漢c𝄞"][round % 2].chars().collect();
            let string = |_| {
                (0..rng.below(20))
                    .map(|_| letters[rng.below(letters.len())])
                    .collect::<String>()
            };
            let strings: Vec<String> = (0..300).map(string).collect();
            let cut = rng.below(300);
            let parts = [&strings[..cut], &strings[cut..]];
            let bytes = parts.map(|part| part.iter().map(String::len).sum::<usize>());
            let mut all = PlainStrings::new(600, bytes[0] + bytes[1], true, round % 4 < 2).unwrap();
            // Every other one of the second half of the rows is missing.
            let slots = all.slots([(cut, bytes[0]), (600 - cut, bytes[1])]).unwrap();
            let mut expected: Vec<&str> = parts[0].iter().map(String::as_str).collect();
            let mut bits = vec![0u64; 10];
            let mut next = parts[1].iter();
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
                    push(
                        &mut slot,
                        &vector.iter().map(String::as_bytes).collect::<Vec<_>>(),
                    )
                    .unwrap();
                }
                slot.finish(Some(&bits)).unwrap();
            }
            assert!(all.join());
            assert_eq!(all.len(), 600);
            let array = all.finish(None).unwrap();
            array.to_data().validate_full().unwrap();
            if round % 4 < 2 {
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
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let slot_of = |rows, bytes, text, f: &dyn Fn(StringSlot<'_>) -> Result<(), Misfit>| {
            let mut strings = PlainStrings::new(rows, bytes, text, false).unwrap();
            let slot = strings.slots([(rows, bytes)]).unwrap().pop().unwrap();
            let found = f(slot);
            assert_eq!(strings.join(), found.is_ok());
            assert_eq!(strings.len(), if found.is_ok() { rows } else { 0 });
            found.map(|()| strings.finish(None).unwrap())
        };
        let pushed = |strings: &'static [&'static [u8]]| {
            move |mut slot: StringSlot<'_>| {
                push(&mut slot, strings).and_then(|()| slot.finish(None))
            }
        };
        let halves: &[&[u8]] = &[b"a\xc3", b"\xa4b"];
        assert_eq!(
            slot_of(2, 4, true, &pushed(halves)).unwrap_err(),
            Misfit::NoText(0)
        );
        let bytes = slot_of(2, 4, false, &pushed(halves)).unwrap();
        assert_eq!(bytes.as_binary::<i32>().value(1), b"\xa4b");
        assert!(matches!(
            slot_of(3, 4, false, &pushed(halves)),
            Err(Misfit::Room([3, 4], [2, 4]))
        ));
        assert!(matches!(
            slot_of(1, 4, false, &pushed(halves)),
            Err(Misfit::Room(..))
        ));
        assert!(matches!(
            slot_of(2, 5, false, &pushed(halves)),
            Err(Misfit::Room(..))
        ));
        let claims = |length, bytes| {
            move |mut slot: StringSlot<'_>| {
                slot.push(1, |lengths, out| {
                    lengths[0] = length;
                    out[..3].copy_from_slice(b"abc");
                    Ok::<_, Misfit>(bytes)
                })?;
                slot.finish(None)
            }
        };
        assert_eq!(
            slot_of(1, 3, true, &claims(2, 3)).unwrap_err(),
            Misfit::Lengths(3)
        );
        assert!(matches!(
            slot_of(1, 3, true, &claims(4, 4)),
            Err(Misfit::Room(..))
        ));
        assert!(slot_of(1, 3, true, &claims(3, 3)).is_ok());
        // The bits of another number of strings.
        let other = |mut slot: StringSlot<'_>| {
            push(&mut slot, &[b"ab"]).and_then(|()| slot.finish(Some(&[0b11])))
        };
        assert!(matches!(slot_of(3, 2, true, &other), Err(Misfit::Room(..))));
        let mut two = PlainStrings::new(2, 0, true, true).unwrap();
        assert!(two.slots([(3, 0)]).is_none() && two.slots([(1, 1)]).is_none());
        two.slots([(1, 0)])
            .unwrap()
            .pop()
            .unwrap()
            .finish(None)
            .unwrap();
        assert!(two.join() && two.finish(Some(NullBuffer::new_null(2))).is_none());
    }
}
