//! The builder of string views.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray, StringViewArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use bytes::Bytes;

use super::kept::Kept;
use super::slot::ViewSlot;
use crate::memory::{PoolBuf, zeros};

/// A builder of string views, in slots that several threads fill.
///
/// Only strings of full slots count, and buffers stay once they are kept.
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
    /// The first `len` are views of strings in the kept buffers, each of them UTF-8 where `text`.
    views: Views,
    len: usize,
    kept: Kept,
    text: bool,
    past_cache: bool,
    /// Capacity and length of each slot cut last.
    cut: Vec<(usize, usize)>,
}

#[derive(Debug)]
enum Views {
    Own(PoolBuf),
    /// Views of empty strings, which others share.
    Zeros(Buffer),
}

impl StringViews {
    /// A builder for `rows` strings, of UTF-8 where `text`; `None` when there is no memory for them.
    pub fn new(rows: usize, text: bool) -> Option<Self> {
        let views = PoolBuf::new(rows.checked_mul(size_of::<u128>())?)?;
        Some(Self::with(Views::Own(views), 0, text))
    }

    /// `rows` empty strings, of memory that all such share; `None` when there is no memory for them.
    pub fn empty(rows: usize, text: bool) -> Option<Self> {
        let views = zeros(rows.checked_mul(size_of::<u128>())?)?;
        Some(Self::with(Views::Zeros(views), rows, text))
    }

    fn with(views: Views, len: usize, text: bool) -> Self {
        Self {
            views,
            len,
            kept: Kept::default(),
            text,
            past_cache: false,
            cut: Vec::new(),
        }
    }

    /// Whether views of tables are written past the caches.
    #[must_use]
    pub fn past_cache(self, on: bool) -> Self {
        Self {
            past_cache: on,
            ..self
        }
    }

    /// The number of strings so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Cuts slots for the next strings, by their capacities; `None` where there is no room for them.
    pub fn slots(&mut self, rows: impl IntoIterator<Item = usize>) -> Option<Vec<ViewSlot<'_>>> {
        self.cut = rows.into_iter().map(|rows| (rows, 0)).collect();
        let mut rest = match &mut self.views {
            Views::Own(views) => views.words_mut::<u128>().get_mut(self.len..)?,
            Views::Zeros(_) => &mut [],
        };
        let (kept, text, past_cache) = (&self.kept, self.text, self.past_cache);
        let mut slots = Vec::with_capacity(self.cut.len());
        for (rows, filled) in &mut self.cut {
            let (views, behind) = rest.split_at_mut_checked(*rows)?;
            slots.push(ViewSlot::new(views, filled, kept, text, past_cache));
            rest = behind;
        }
        Some(slots)
    }

    /// Appends the slots cut last; `false`, with nothing appended, where one of them is not full.
    pub fn join(&mut self) -> bool {
        let cut = std::mem::take(&mut self.cut);
        let full = cut.iter().all(|(rows, filled)| rows == filled);
        if full {
            self.len += cut.iter().map(|(rows, _)| rows).sum::<usize>();
        }
        full
    }

    /// The array; `None` where there are not as many validity bits as strings.
    pub fn finish(self, nulls: Option<NullBuffer>) -> Option<ArrayRef> {
        if nulls.as_ref().is_some_and(|nulls| nulls.len() != self.len) {
            return None;
        }
        let views = match self.views {
            Views::Own(views) => Buffer::from(Bytes::from_owner(views)),
            Views::Zeros(zeros) => zeros,
        };
        let views = ScalarBuffer::<u128>::new(views, 0, self.len);
        let buffers: Arc<[Buffer]> = self.kept.into_buffers().into();
        // SAFETY: every view below `len` is 0, the empty string, or in a slot that was full. It was made
        // of a string in a buffer that is kept at its number, or it is 0; since then it was only copied,
        // from a table of these buffers alone. A slot counts views of a buffer whose number was
        // reserved only once that buffer is kept. With `text` every string was found to be UTF-8.
        // There are as many validity bits as views.
        Some(unsafe {
            if self.text {
                Arc::new(StringViewArray::new_unchecked(views, buffers, nulls))
            } else {
                Arc::new(BinaryViewArray::new_unchecked(views, buffers, nulls))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array as _;
    use arrow_array::cast::AsArray as _;

    use super::*;
    use crate::BytesDict;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::testing::Rng;

    /// Strings of random letters, and the same as lengths and data.
    fn strings(letters: &str) -> (Vec<String>, Vec<u32>, Buffer) {
        let (mut rng, letters) = (Rng(0x571e), letters.chars().collect::<Vec<char>>());
        let mut string = |i| {
            (0..i * 7 % 30)
                .map(|_| letters[rng.below(letters.len())])
                .collect()
        };
        let strings: Vec<String> = (0..500).map(&mut string).collect();
        let lengths = strings.iter().map(|s| s.len() as u32).collect();
        let data = Buffer::from_vec(strings.concat().into_bytes());
        (strings, lengths, data)
    }

    fn dictionary(lengths: &[u32], data: &[u8]) -> BytesDict {
        let ends = lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        let offsets: Vec<u32> = [0].into_iter().chain(ends).collect();
        BytesDict::new(&offsets, data).unwrap()
    }

    #[test]
    fn views_hold_the_strings_and_pass_all_of_arrows_checks() {
        on_every_level(|| {
            for letters in ["abcdefgh", "aäb漢c𝄞de"] {
                let (strings, lengths, data) = strings(letters);
                let dictionary = dictionary(&lengths, &data);
                let codes: Vec<u32> = (0..500u32).rev().collect();
                let mut views = StringViews::new(1003, true).unwrap();
                let mut slots = views.slots([500, 400, 103]).unwrap();
                // Slots are filled in any order and by any thread; the last two share a table.
                let [first, second, third] = slots.as_mut_array().unwrap();
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        assert!(third.use_table(&dictionary, true));
                        assert!(third.push_codes(&codes[400..]) && third.push_empty(3));
                        assert!(!third.push_empty(1) && !third.push_codes(&[0]), "full");
                    });
                    scope.spawn(|| {
                        assert!(!second.push_codes(&codes[..400]), "no table yet");
                        assert!(second.use_table(&dictionary, true));
                        assert!(second.shares_table(&dictionary));
                        assert!(second.push_codes(&codes[..400]));
                    });
                });
                assert!(first.push_strings(&lengths, &data));
                assert!(views.join() && views.slots([1]).is_none());
                assert_eq!(views.kept.len(), 2);
                assert_eq!(views.len(), 1003);
                let nulls: NullBuffer = (0..1003).map(|i| i % 7 > 0).collect();
                let array = views.finish(Some(nulls)).unwrap();
                array.to_data().validate_full().unwrap();
                let reversed = strings.iter().rev();
                let expected = strings.iter().chain(reversed).map(String::as_str);
                let expected = expected.chain([""; 3]).enumerate();
                let expected = expected.map(|(i, string)| (i % 7 > 0).then_some(string));
                assert!(array.as_string_view().iter().eq(expected));
            }
        });
    }

    #[test]
    fn empty_strings_need_no_slots() {
        let mut views = StringViews::empty(100, true).unwrap();
        assert_eq!(views.len(), 100);
        assert!(views.slots([1]).is_none());
        let array = views.finish(Some(NullBuffer::new_null(100))).unwrap();
        array.to_data().validate_full().unwrap();
        assert_eq!((array.len(), array.null_count()), (100, 100));
    }

    #[test]
    fn wrong_strings_are_refused() {
        let (lengths, data) = (vec![2u32, 3], Buffer::from_vec(b"ab\xff\xfec".to_vec()));
        let mut views = StringViews::new(10, true).unwrap();
        assert!(views.slots([4, 7]).is_none());
        let mut slots = views.slots([10]).unwrap();
        let slot = &mut slots[0];
        assert!(!slot.push_strings(&lengths, &data) && !slot.push_strings(&[6], &data));
        let no_text = dictionary(&lengths, &data);
        assert!(!slot.use_table(&no_text, false) && !slot.push_codes(&[]));
        let split = Buffer::from_vec("ä".as_bytes().to_vec());
        assert!(!slot.push_strings(&[1, 1], &split), "half a character");
        assert!(slot.push_empty(9));
        assert!(!views.join() && views.is_empty(), "the slot is not full");
        assert!(views.finish(Some(NullBuffer::new_null(1))).is_none());
        let mut bytes = StringViews::new(2, false).unwrap();
        assert!(bytes.slots([2]).unwrap()[0].push_strings(&lengths, &data) && bytes.join());
        let array = bytes.finish(None).unwrap();
        array.to_data().validate_full().unwrap();
        assert_eq!(array.as_binary_view().value(1), b"\xff\xfec");
    }
}
