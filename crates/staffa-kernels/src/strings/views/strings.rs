//! Strings of a slot of views, a vector at a time.
//!
//! ```text
//! data = kept: strings of vectors with a long one | free: the next vector is decoded to its start
//! ```
//!
//! A vector whose strings are all held by their views is overwritten by the next one.

use arrow_buffer::Buffer;
use bytes::Bytes;

use super::make::{are_inline, make_views};
use super::slot::ViewSlot;
use crate::memory::PoolBuf;
use crate::simd::{expand, sum_u32};
use crate::strings::plain::StringsError;
use crate::strings::text::{Text, TextRows};
use crate::strings::utf8::first_other;

/// Room behind the strings for wide copies.
const SLACK: usize = 64;

/// Strings that become views of a slot, once [finished](Self::finish).
///
/// ```
/// use staffa_kernels::{StringViews, StringsError, ViewStrings};
/// let mut views = StringViews::new(3, true).unwrap();
/// let mut slots = views.slots([3]).unwrap();
/// let mut strings = ViewStrings::new(&mut slots[0], 5).unwrap();
/// strings.push(2, |lengths, out| {
///     lengths.copy_from_slice(&[2, 3]);
///     out[..5].copy_from_slice(b"abcde");
///     Ok::<_, StringsError>(5)
/// })?;
/// strings.finish(3, Some(&[0b101]))?;
/// assert!(views.join());
/// # Ok::<(), StringsError>(())
/// ```
#[derive(Debug)]
pub struct ViewStrings<'s, 'a> {
    slot: &'s mut ViewSlot<'a>,
    data: PoolBuf,
    /// The first bytes of the data, to which views refer.
    kept: usize,
    /// The number of the data among the buffers, once views refer to it.
    buffer: Option<u32>,
    /// Strings so far, whose views follow those of the slot, and their bytes.
    found: [usize; 2],
    /// Bytes of all strings.
    bytes: usize,
    /// Of the last vector.
    lengths: Vec<u32>,
}

impl<'s, 'a> ViewStrings<'s, 'a> {
    /// For the next strings of a slot, of `bytes` bytes in all; `None` where there is no memory for
    /// them.
    pub fn new(slot: &'s mut ViewSlot<'a>, bytes: usize) -> Option<Self> {
        Some(Self {
            slot,
            data: PoolBuf::new(bytes.checked_add(SLACK)?)?,
            kept: 0,
            buffer: None,
            found: [0; 2],
            bytes,
            lengths: Vec::new(),
        })
    }

    /// Appends `count` strings. `decode` writes their lengths, and the strings to the start of its
    /// memory, behind which it may write as well; it returns the bytes of the strings.
    ///
    /// # Errors
    /// The errors of `decode`; strings that do not fit or are not text.
    pub fn push<E: From<StringsError>>(
        &mut self,
        count: usize,
        decode: impl FnOnce(&mut [u32], &mut [u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        let [before, bytes_before] = self.found;
        self.lengths.resize(count, 0);
        let out = &mut self.data[self.kept..];
        let bytes = decode(&mut self.lengths, out)?;
        let found = [
            before.saturating_add(count),
            bytes_before.saturating_add(bytes),
        ];
        let room = self.room(found);
        let out = self.data.get(self.kept..).and_then(|out| out.get(..bytes));
        let strings = out.filter(|_| found[1] <= self.bytes).ok_or(room)?;
        if sum_u32(&self.lengths) != bytes as u64 {
            return Err(StringsError::Lengths(bytes).into());
        }
        if self.slot.text
            && let Some(i) = first_other(strings, &self.lengths)
        {
            return Err(StringsError::NotUtf8(before + i).into());
        }
        let buffer = match self.buffer {
            _ if are_inline(&self.lengths) => None,
            None => Some(self.slot.kept.reserve().ok_or(StringsError::Long)?),
            known => known,
        };
        let first = self.slot.filled.saturating_add(before);
        let places = self
            .slot
            .views
            .get_mut(first..first.saturating_add(count))
            .ok_or(room)?;
        let made = make_views(
            &self.data,
            self.kept,
            &self.lengths,
            buffer.unwrap_or(0),
            places,
        );
        let end = made.ok_or(StringsError::Long)?;
        if buffer.is_some() {
            (self.buffer, self.kept) = (buffer, end);
        }
        self.found = found;
        Ok(())
    }

    /// Appends rows of text whose views hold them; `false`, with nothing appended, where some view does not, there
    /// are places for fewer rows, or the rows are too few to be worth it: they may be printed and
    /// [pushed](Self::push).
    ///
    /// # Errors
    /// [`StringsError::Room`] where all rows have more bytes than declared.
    pub fn push_text(&mut self, text: &Text, rows: &TextRows<'_>) -> Result<bool, StringsError> {
        let [before, bytes_before] = self.found;
        let count = rows.codes.len();
        let first = self.slot.filled.saturating_add(before);
        let places = self.slot.views.get_mut(first..first.saturating_add(count));
        let Some(bytes) = places.and_then(|places| text.inline_views(rows, places)) else {
            return Ok(false);
        };
        let found = [before + count, bytes_before.saturating_add(bytes)];
        if found[1] > self.bytes {
            return Err(self.room(found));
        }
        self.found = found;
        Ok(true)
    }

    fn room(&self, found: [usize; 2]) -> StringsError {
        let rows = self.slot.views.len().saturating_sub(*self.slot.filled);
        StringsError::Room {
            expected: [rows, self.bytes],
            found,
        }
    }

    /// Appends the views of all strings to the slot, as those of `rows` rows. Where there are fewer
    /// strings, a clear bit of `validity` marks each row that gets an empty string.
    ///
    /// # Errors
    /// [`StringsError::Room`] where there are more or fewer strings or bytes.
    pub fn finish(mut self, rows: usize, validity: Option<&[u64]>) -> Result<(), StringsError> {
        let [len, bytes] = self.found;
        let room = self.room(self.found);
        let first = *self.slot.filled;
        let places = self
            .slot
            .views
            .get_mut(first..first.saturating_add(rows))
            .ok_or(room)?;
        let expanded = match validity {
            _ if len == rows => true,
            Some(validity) => expand(places, len, validity),
            None => false,
        };
        if !expanded || bytes != self.bytes {
            return Err(room);
        }
        if let Some(number) = self.buffer {
            self.data.truncate(self.kept);
            let data = Buffer::from(Bytes::from_owner(self.data));
            if !self.slot.kept.replace(number, data) {
                return Err(room);
            }
        }
        *self.slot.filled += rows;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array as _;
    use arrow_array::cast::AsArray as _;

    use super::*;
    use crate::simd::dispatch::testing::on_every_level;
    use crate::strings::dict::BytesDict;
    use crate::strings::text::Piece;
    use crate::strings::views::builder::StringViews;
    use crate::testing::Rng;

    fn push(strings: &mut ViewStrings<'_, '_>, vector: &[String]) -> Result<(), StringsError> {
        strings.push(vector.len(), |lengths, out| {
            let all = vector.concat();
            for (length, string) in lengths.iter_mut().zip(vector) {
                *length = string.len() as u32;
            }
            let place = out.get_mut(..all.len()).ok_or(StringsError::Long)?;
            place.copy_from_slice(all.as_bytes());
            // Bytes behind the strings do not count.
            out[all.len()..].fill(0xff);
            Ok(all.len())
        })
    }

    #[test]
    fn vectors_become_views_of_the_rows_that_have_strings() {
        on_every_level(|| {
            let mut rng = Rng(0x57a1);
            for round in 0..60 {
                let letters: Vec<char> = ["abc", "a\u{e4}b\u{6f22}c"][round % 2].chars().collect();
                let mut string = |longest: usize| -> String {
                    let letters =
                        (0..rng.below(longest + 1)).map(|_| letters[rng.below(letters.len())]);
                    letters.collect()
                };
                // Some vectors have short strings alone.
                let vectors: Vec<Vec<String>> = (0..6)
                    .map(|v| {
                        (0..70)
                            .map(|_| string([3, 20, 4, 60][(v + round) % 4]))
                            .collect()
                    })
                    .collect();
                let rows = 420 + 100 * (round % 3);
                let mut valid = vec![true; rows];
                valid
                    .iter_mut()
                    .step_by(3)
                    .take(rows - 420)
                    .for_each(|bit| *bit = false);
                let mut bits = vec![0u64; rows.div_ceil(64)];
                for row in (0..rows).filter(|row| valid[*row]) {
                    bits[row / 64] |= 1 << (row % 64);
                }
                let count = valid.iter().filter(|bit| **bit).count();
                let mut left = vectors.concat();
                left.truncate(count);
                let bytes = left.iter().map(String::len).sum();
                let mut views = StringViews::new(rows, true).unwrap();
                let mut slots = views.slots([rows]).unwrap();
                let mut strings = ViewStrings::new(&mut slots[0], bytes).unwrap();
                left.chunks(70)
                    .for_each(|vector| push(&mut strings, vector).unwrap());
                strings.finish(rows, Some(&bits)).unwrap();
                assert!(views.join());
                let array = views.finish(None).unwrap();
                array.to_data().validate_full().unwrap();
                let mut next = left.iter();
                let expected = valid
                    .iter()
                    .map(|bit| bit.then(|| next.next().unwrap().as_str()));
                let expected = expected.map(|string| Some(string.unwrap_or("")));
                assert!(array.as_string_view().iter().eq(expected));
            }
        });
    }

    #[test]
    fn rows_of_text_become_views_among_others() {
        on_every_level(|| {
            let text = Text::new(&[(vec![Piece::Fixed(4)], vec![0])]).unwrap();
            let (codes, years) = ([1; 40], [1998; 40]);
            let rows = TextRows {
                codes: &codes,
                slots: &[&years],
                others: &BytesDict::new(&[0], b"").unwrap(),
                first_other: 0,
            };
            let build = |bytes: usize, places: usize| {
                let mut views = StringViews::new(places, true).unwrap();
                let mut slots = views.slots([places]).unwrap();
                let mut strings = ViewStrings::new(&mut slots[0], bytes).unwrap();
                let long = "longer than a view".to_owned();
                push(&mut strings, std::slice::from_ref(&long))?;
                if !strings.push_text(&text, &rows)? {
                    push(&mut strings, &vec!["1998".to_owned(); 40])?;
                }
                push(&mut strings, &[long])?;
                strings.finish(42, None)?;
                assert!(views.join());
                let array = views.finish(None).unwrap();
                array.to_data().validate_full().unwrap();
                Ok::<_, StringsError>(array)
            };
            let array = build(36 + 160, 42).unwrap();
            let array = array.as_string_view();
            assert_eq!(
                (array.value(0), array.value(41)),
                ("longer than a view", "longer than a view")
            );
            assert!((1..41).all(|i| array.value(i) == "1998"));
            for (bytes, places) in [
                (36 + 159, 42),
                (36 + 161, 42),
                (36 + 160, 40),
                (36 + 160, 41),
            ] {
                assert!(matches!(
                    build(bytes, places),
                    Err(StringsError::Room { .. })
                ));
            }
        });
    }

    #[test]
    fn wrong_strings_are_refused() {
        let build = |rows, bytes, strings: &[&str], finish: usize| {
            let mut views = StringViews::new(rows, true).unwrap();
            let mut slots = views.slots([rows]).unwrap();
            let mut all = ViewStrings::new(&mut slots[0], bytes).unwrap();
            let strings: Vec<String> = strings.iter().map(ToString::to_string).collect();
            let found = push(&mut all, &strings).and_then(|()| all.finish(finish, None));
            assert_eq!(views.join(), found.is_ok());
            found
        };
        assert_eq!(build(2, 30, &["ab", &"long".repeat(7)], 2), Ok(()));
        for (rows, bytes, finish) in [(2, 29, 2), (2, 31, 2), (1, 30, 1), (3, 30, 3), (2, 30, 3)] {
            let found = build(rows, bytes, &["ab", &"long".repeat(7)], finish);
            assert!(
                matches!(found, Err(StringsError::Room { .. })),
                "{rows} {bytes} {finish}"
            );
        }
        let mut views = StringViews::new(2, true).unwrap();
        let mut slots = views.slots([2]).unwrap();
        let mut all = ViewStrings::new(&mut slots[0], 2).unwrap();
        let mut claim = |claimed: [u32; 2], bytes| {
            all.push(2, |lengths, out| {
                lengths.copy_from_slice(&claimed);
                out[..2].copy_from_slice("\u{e4}".as_bytes());
                Ok::<_, StringsError>(bytes)
            })
        };
        assert_eq!(
            claim([1, 1], 2),
            Err(StringsError::NotUtf8(0)),
            "half a character"
        );
        assert_eq!(claim([0, 1], 2), Err(StringsError::Lengths(2)));
        assert_eq!(claim([0, 2], 2), Ok(()));
    }
}
