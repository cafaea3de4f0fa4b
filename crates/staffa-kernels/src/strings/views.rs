//! Arrow's string arrays over memory that was checked here, and not once more by Arrow's
//! constructors.
//!
//! Where all bytes are ASCII, as they mostly are, one pass at the speed of memory says that every
//! string is text. A dictionary's strings are checked once, not once for every row.
//!
//! ```text
//! view of 16 bytes = length: u32 | up to 12 bytes: the string | more: its first 4 bytes | buffer: u32 | offset: u32
//! ```

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{
    ArrayRef, BinaryViewArray, GenericStringArray, OffsetSizeTrait, StringViewArray,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use bytes::Bytes;

use crate::memory::pool::{PoolBuf, PoolVec};
use crate::simd::dispatch::dispatch;
use crate::simd::gather::gather_words;
use crate::simd::non_temporal::gather_past_cache;
use crate::strings::dict::BytesDict;

/// Longest string within a view.
const INLINE: usize = 12;

dispatch! {
    /// Whether all bytes are ASCII.
    fn is_ascii(bytes: &[u8]) -> bool = ascii_body;
}

#[inline(always)]
fn ascii_body(bytes: &[u8]) -> bool {
    // A few KB at a time, so that a text of another language is known as such at once.
    bytes
        .chunks(4096)
        .all(|chunk| chunk.iter().fold(0, |any, byte| any | byte) < 0x80)
}

dispatch! { fn rise_i32(offsets: &[i32]) -> bool = rise_body_i32; }
dispatch! { fn rise_i64(offsets: &[i64]) -> bool = rise_body_i64; }

// Counted without an early end, so that it goes as fast as memory.
#[inline(always)]
fn rise_body_i32(offsets: &[i32]) -> bool {
    offsets
        .iter()
        .zip(offsets.iter().skip(1))
        .map(|(a, b)| u32::from(a > b))
        .sum::<u32>()
        == 0
}

#[inline(always)]
fn rise_body_i64(offsets: &[i64]) -> bool {
    offsets
        .iter()
        .zip(offsets.iter().skip(1))
        .map(|(a, b)| u64::from(a > b))
        .sum::<u64>()
        == 0
}

/// Offsets that do not decrease and lie within `bytes`; they come back as they are where they do
/// not.
///
/// # Errors
/// The offsets.
pub fn rising_offsets<O: OffsetSizeTrait>(
    offsets: ScalarBuffer<O>,
    bytes: usize,
) -> Result<OffsetBuffer<O>, ScalarBuffer<O>> {
    let within = offsets.first().is_some_and(|first| *first >= O::zero())
        && offsets.last().is_some_and(|last| last.as_usize() <= bytes);
    let rise = if O::IS_LARGE {
        rise_i64(offsets.inner().typed_data())
    } else {
        rise_i32(offsets.inner().typed_data())
    };
    if !within || !rise {
        return Err(offsets);
    }
    // SAFETY: there is a first one, not below zero, and none is less than the one before.
    Ok(unsafe { OffsetBuffer::new_unchecked(offsets) })
}

/// Whether bytes are UTF-8, and every string in them, which begin at `starts`, begins with a
/// character.
#[inline]
pub(crate) fn is_text(bytes: &[u8], mut starts: impl Iterator<Item = usize>) -> bool {
    let begins = |start| {
        bytes
            .get(start)
            .is_none_or(|byte| !(0x80..0xc0).contains(byte))
    };
    is_ascii(bytes) || simdutf8::basic::from_utf8(bytes).is_ok() && starts.all(begins)
}

/// The array of strings that are UTF-8; `None` where they are not, where the offsets leave the data
/// or where there are not as many validity bits as strings.
pub fn text_array<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    data: &Buffer,
    nulls: Option<&NullBuffer>,
) -> Option<GenericStringArray<O>> {
    let (first, last) = (offsets.first()?.as_usize(), offsets.last()?.as_usize());
    let starts = offsets.iter().map(|offset| offset.as_usize() - first);
    if nulls.is_some_and(|nulls| nulls.len() != offsets.len() - 1)
        || !is_text(data.get(first..last)?, starts)
    {
        return None;
    }
    // SAFETY: the offsets are monotonic, by their type, and within the data; all strings together
    // are UTF-8, and each begins with a character, where the one before ends; there are as many
    // validity bits as strings.
    Some(unsafe {
        GenericStringArray::new_unchecked(offsets.clone(), data.clone(), nulls.cloned())
    })
}

/// Views of strings being put together: every string is checked when it comes in, views are only
/// copied from then on.
///
/// Several threads fill slots of it. Whatever they do, `len` counts only what was filled, and
/// buffers stay once they are in.
///
/// ```
/// let mut views = staffa_kernels::StringViews::new(5, true).unwrap();
/// let mut slots = views.slots([2, 3]).unwrap();
/// assert!(slots[1].push_strings(&[1, 1, 1], &b"cde"[..].into()));
/// assert!(slots[0].push_empty(2));
/// assert!(views.join());
/// assert_eq!(views.len(), 5);
/// ```
#[derive(Debug)]
pub struct StringViews {
    /// The first `len` are views of strings in the buffers, each of them UTF-8 where `text`.
    views: PoolBuf,
    len: usize,
    held: Held,
    text: bool,
    past_cache: bool,
    /// Of the slots cut last: strings that there is room for, and that there are.
    cut: Vec<(usize, usize)>,
}

/// What the views of all slots refer to.
#[derive(Debug, Default)]
struct Held {
    buffers: Mutex<Vec<Buffer>>,
    /// Dictionaries that several slots share, as views, by where they lie.
    tables: Mutex<Vec<(usize, Arc<PoolVec<u128>>)>>,
}

impl Held {
    /// Keeps a buffer; its number.
    fn keep(&self, buffer: Buffer) -> Option<u32> {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let number = u32::try_from(buffers.len()).ok()?;
        buffers.push(buffer);
        Some(number)
    }
}

/// Room for some of the strings of [`StringViews`].
#[derive(Debug)]
pub struct ViewSlot<'a> {
    views: &'a mut [u128],
    /// So many of them are views of strings in the buffers held, each UTF-8 where `text`.
    filled: &'a mut usize,
    held: &'a Held,
    table: Option<Arc<PoolVec<u128>>>,
    text: bool,
    past_cache: bool,
}

impl StringViews {
    /// For so many strings; `text`: of UTF-8. `None` where there is no memory for them.
    pub fn new(rows: usize, text: bool) -> Option<Self> {
        let views = PoolBuf::new(rows.checked_mul(size_of::<u128>())?)?;
        Some(Self {
            views,
            len: 0,
            held: Held::default(),
            text,
            past_cache: false,
            cut: Vec::new(),
        })
    }

    /// Writes views of tables past the caches.
    #[must_use]
    pub fn past_cache(self, on: bool) -> Self {
        Self {
            past_cache: on,
            ..self
        }
    }

    /// How many strings there are so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Slots for the next strings, so many in each; `None` where there is no room for them.
    pub fn slots(&mut self, rows: impl IntoIterator<Item = usize>) -> Option<Vec<ViewSlot<'_>>> {
        self.cut = rows.into_iter().map(|rows| (rows, 0)).collect();
        let (mut rest, held) = (
            self.views.words_mut::<u128>().get_mut(self.len..)?,
            &self.held,
        );
        let (text, past_cache) = (self.text, self.past_cache);
        let mut slots = Vec::with_capacity(self.cut.len());
        for (rows, filled) in &mut self.cut {
            let (views, behind) = rest.split_at_mut_checked(*rows)?;
            slots.push(ViewSlot {
                views,
                filled,
                held,
                table: None,
                text,
                past_cache,
            });
            rest = behind;
        }
        Some(slots)
    }

    /// Takes in the slots cut last; `false`, and nothing taken in, where one of them is not full.
    pub fn join(&mut self) -> bool {
        let cut = std::mem::take(&mut self.cut);
        let full = cut.iter().all(|(rows, filled)| rows == filled);
        self.len += if full {
            cut.iter().map(|(rows, _)| rows).sum()
        } else {
            0
        };
        full
    }

    /// The array; `None` where there are not as many validity bits as strings.
    pub fn finish(self, nulls: Option<NullBuffer>) -> Option<ArrayRef> {
        if nulls.as_ref().is_some_and(|nulls| nulls.len() != self.len) {
            return None;
        }
        let views = Buffer::from(Bytes::from_owner(self.views));
        let views = ScalarBuffer::<u128>::new(views, 0, self.len);
        let buffers: Arc<[Buffer]> = self
            .held
            .buffers
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .into();
        // SAFETY: every view below `len` is in a slot that was full: it was made by `view` of a
        // string in a buffer that has been kept at its number, or is 0, the empty string, and only
        // copied since, from a table of these buffers alone; with `text` every string was found to
        // be UTF-8. There are as many validity bits as views.
        Some(unsafe {
            if self.text {
                Arc::new(StringViewArray::new_unchecked(views, buffers, nulls))
            } else {
                Arc::new(BinaryViewArray::new_unchecked(views, buffers, nulls))
            }
        })
    }
}

impl ViewSlot<'_> {
    /// Takes the strings that codes refer to from now on; `false` where one is no text, or they are
    /// too many or long.
    ///
    /// `shared`: other slots use them, too, from the same place.
    pub fn use_table(&mut self, strings: &BytesDict, shared: bool) -> bool {
        let place = std::ptr::from_ref(strings).addr();
        // Others that wait here want the same table.
        let mut tables = shared.then(|| {
            self.held
                .tables
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        });
        let known = tables
            .iter()
            .flat_map(|tables| tables.iter())
            .find(|(of, _)| *of == place);
        self.table = known.map(|(_, table)| table.clone());
        if self.table.is_none() {
            self.table = self.new_table(strings).map(Arc::new);
            if let (Some(tables), Some(table)) = (&mut tables, &self.table) {
                tables.push((place, table.clone()));
            }
        }
        self.table.is_some()
    }

    /// Whether the slots have a table of these strings that they share.
    pub fn shares_table(&self, strings: &BytesDict) -> bool {
        let place = std::ptr::from_ref(strings).addr();
        let tables = self
            .held
            .tables
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tables.iter().any(|(of, _)| *of == place)
    }

    fn new_table(&self, strings: &BytesDict) -> Option<PoolVec<u128>> {
        let data = strings.contents();
        if self.text
            && !is_text(
                data,
                strings.ranges().flat_map(|range| [range.start, range.end]),
            )
        {
            return None;
        }
        let any_long = strings.ranges().any(|range| range.len() > INLINE);
        let buffer = if any_long {
            self.held.keep(Buffer::from(data))?
        } else {
            0
        };
        let mut table = PoolVec::new(strings.len())?;
        for (place, range) in table.iter_mut().zip(strings.ranges()) {
            *place = view(data, range, buffer)?;
        }
        Some(table)
    }

    /// Appends strings of the table by code; `false`, and nothing appended, where a code or a table
    /// is not there, or there is no room.
    pub fn push_codes(&mut self, codes: &[u32]) -> bool {
        let (Some(table), Some(places)) =
            (&self.table, room(self.views, *self.filled, codes.len()))
        else {
            return false;
        };
        let gather = if self.past_cache {
            gather_past_cache
        } else {
            gather_words
        };
        let done = gather(table, codes, places);
        *self.filled += if done { codes.len() } else { 0 };
        done
    }

    /// Appends strings that lie one after another in `data`, by their lengths; `false`, and nothing
    /// appended, where one is no text, they are longer than the data or more than there is room
    /// for.
    pub fn push_strings(&mut self, lengths: &[u32], data: &Buffer) -> bool {
        let Some(places) = room(self.views, *self.filled, lengths.len()) else {
            return false;
        };
        let ends = lengths.iter().scan(0usize, |end, length| {
            *end = end.saturating_add(*length as usize);
            Some(*end)
        });
        if self.text && !is_text(data, ends) {
            return false;
        }
        let any_long = lengths.iter().any(|length| *length as usize > INLINE);
        let buffer = if any_long {
            self.held.keep(data.clone())
        } else {
            Some(0)
        };
        let Some(buffer) = buffer else { return false };
        let mut at = 0usize;
        for (place, length) in places.iter_mut().zip(lengths) {
            let end = at.saturating_add(*length as usize);
            let Some(view) = view(data, at..end, buffer) else {
                return false;
            };
            (*place, at) = (view, end);
        }
        *self.filled += lengths.len();
        true
    }

    /// Appends empty strings; `false` where there is no room for them.
    pub fn push_empty(&mut self, count: usize) -> bool {
        let Some(places) = room(self.views, *self.filled, count) else {
            return false;
        };
        places.fill(0);
        *self.filled += count;
        true
    }
}

/// The places after `filled` ones.
fn room(views: &mut [u128], filled: usize, count: usize) -> Option<&mut [u128]> {
    views.get_mut(filled..filled.checked_add(count)?)
}

/// The view of a string in the data of a buffer; `None` where it leaves them, or is too long or too
/// far behind for 32 bits with a sign.
#[inline(always)]
fn view(data: &[u8], range: Range<usize>, buffer: u32) -> Option<u128> {
    let (length, offset) = (
        i32::try_from(range.len()).ok()?,
        i32::try_from(range.start).ok()?,
    );
    // Most have 16 bytes from their beginning on: one load.
    let rest = data.get(range.start..)?;
    let head = rest.first_chunk().map_or_else(
        || {
            let mut bytes = [0; 16];
            bytes
                .iter_mut()
                .zip(rest)
                .for_each(|(to, from)| *to = *from);
            u128::from_le_bytes(bytes)
        },
        |bytes| u128::from_le_bytes(*bytes),
    );
    if range.end > data.len() {
        return None;
    }
    let words = |length: i32| u128::from(length.cast_unsigned());
    if range.len() <= INLINE {
        return Some(words(length) | (head & ((1 << (range.len() * 8)) - 1)) << 32);
    }
    let prefix = head & u128::from(u32::MAX);
    Some(words(length) | prefix << 32 | u128::from(buffer) << 64 | words(offset) << 96)
}

#[cfg(test)]
mod tests {
    use arrow_array::Array as _;
    use arrow_array::cast::AsArray as _;

    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    fn strings(text: bool) -> Vec<Vec<u8>> {
        let mut rng = Rng(0x57_1e);
        let letters = if text { "abcdefgh" } else { "aäb漢c𝄞de" };
        let letters: Vec<char> = letters.chars().collect();
        let string = |_| {
            (0..rng.below(30))
                .map(|_| letters[rng.below(letters.len())])
                .collect::<String>()
                .into_bytes()
        };
        (0..500).map(string).collect()
    }

    fn packed(strings: &[Vec<u8>]) -> (Vec<u32>, Vec<u8>) {
        (
            strings.iter().map(|s| s.len() as u32).collect(),
            strings.concat(),
        )
    }

    #[test]
    fn arrays_and_views_hold_the_strings_and_pass_all_of_arrows_checks() {
        on_every_level(|| {
            for ascii in [true, false] {
                let strings = strings(ascii);
                let (lengths, data) = packed(&strings);
                let offsets =
                    OffsetBuffer::<i32>::from_lengths(lengths.iter().map(|l| *l as usize));
                let data = Buffer::from_vec(data);
                let array = text_array(&offsets, &data, None).unwrap();
                array.to_data().validate_full().unwrap();
                assert!(
                    array
                        .iter()
                        .zip(&strings)
                        .all(|(a, b)| a.unwrap().as_bytes() == b)
                );
                let mut views = StringViews::new(1003, true).unwrap();
                let ends: Vec<u32> = offsets.iter().map(|o| *o as u32).collect();
                let dictionary = BytesDict::new(&ends, &data).unwrap();
                let codes: Vec<u32> = (0..500u32).rev().collect();
                let mut slots = views.slots([500, 400, 103]).unwrap();
                // In any order, and from any thread; the last two have one table.
                let [first, second, third] = slots.as_mut_slice() else {
                    panic!()
                };
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        assert!(
                            third.use_table(&dictionary, true) && third.push_codes(&codes[400..])
                        );
                        assert!(
                            third.push_empty(3) && !third.push_empty(1) && !third.push_codes(&[0])
                        );
                    });
                    scope.spawn(|| {
                        assert!(!second.push_codes(&codes[..400]), "no table yet");
                        assert!(
                            second.use_table(&dictionary, true) && second.push_codes(&codes[..400])
                        );
                    });
                });
                assert!(first.push_strings(&lengths, &data));
                assert!(views.join() && views.slots([1]).is_none());
                assert!(views.held.buffers.lock().unwrap().len() == 2);
                assert_eq!(views.len(), 1003);
                let nulls: NullBuffer = (0..1003).map(|i| i % 7 > 0).collect();
                let array = views.finish(Some(nulls)).unwrap();
                array.to_data().validate_full().unwrap();
                let expected = strings
                    .iter()
                    .chain(strings.iter().rev())
                    .map(Vec::as_slice)
                    .chain([&b""[..]; 3]);
                for (i, (found, expected)) in
                    array.as_string_view().iter().zip(expected).enumerate()
                {
                    assert_eq!(found.map(str::as_bytes), (i % 7 > 0).then_some(expected));
                }
            }
        });
    }

    #[test]
    fn what_is_no_text_or_not_there_is_refused() {
        let (lengths, data) = (vec![2u32, 3], Buffer::from_vec(b"ab\xff\xfec".to_vec()));
        let mut views = StringViews::new(10, true).unwrap();
        assert!(views.slots([4, 7]).is_none());
        let mut slots = views.slots([10]).unwrap();
        let slot = &mut slots[0];
        assert!(!slot.push_strings(&lengths, &data) && !slot.push_strings(&[6], &data));
        assert!(
            !slot.use_table(&BytesDict::new(&[0, 2, 5], &data).unwrap(), false)
                && !slot.push_codes(&[])
        );
        let split = Buffer::from_vec("ä".as_bytes().to_vec());
        assert!(!slot.push_strings(&[1, 1], &split), "half a character");
        assert!(slot.push_empty(9));
        assert!(
            !views.join() && views.is_empty(),
            "what is not full is not taken in"
        );
        assert!(views.finish(Some(NullBuffer::new_null(1))).is_none());
        let mut bytes = StringViews::new(2, false).unwrap();
        assert!(bytes.slots([2]).unwrap()[0].push_strings(&lengths, &data) && bytes.join());
        let array = bytes.finish(None).unwrap();
        array.to_data().validate_full().unwrap();
        assert_eq!(array.as_binary_view().value(1), b"\xff\xfec");
        let offsets = |offsets: Vec<i32>| rising_offsets(ScalarBuffer::from(offsets), 5);
        assert!(offsets(vec![0, 2, 5]).is_ok());
        assert!(
            [vec![], vec![0, 3, 2], vec![-1, 2], vec![0, 6]]
                .map(offsets)
                .iter()
                .all(Result::is_err)
        );
        assert!(
            text_array(&offsets(vec![0, 1, 2]).unwrap(), &split, None).is_none(),
            "half a character"
        );
        let ok = offsets(vec![0, 2, 5]).unwrap();
        assert!(
            text_array(&ok, &Buffer::from_vec(b"abcd".to_vec()), None).is_none(),
            "past the data"
        );
        assert!(
            text_array(
                &ok,
                &Buffer::from_vec(b"abcde".to_vec()),
                Some(&NullBuffer::new_null(3))
            )
            .is_none()
        );
    }
}
