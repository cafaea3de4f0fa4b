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
