//! A slot of strings: filled a vector at a time, each checked while its bytes are in the cache.
//!
//! A second pass over all strings at the end would take a tenth of the scan of a table of text.

use super::error::StringsError;
use crate::simd::{expand, sum_u32};
use crate::strings::offsets::{lengths_to_offsets_i32, lengths_to_offsets_i64};
use crate::strings::utf8::first_other;

/// A slot for some of the strings of [`PlainStrings`](crate::PlainStrings).
#[derive(Debug)]
pub struct StringSlot<'a> {
    ends: Ends<'a>,
    data: &'a mut [u8],
    text: bool,
    /// Bytes before the slot.
    before: usize,
    /// Strings so far.
    len: usize,
    /// Bytes of these strings; at most those of `data`.
    bytes: usize,
    full: &'a mut bool,
}

/// The ends of a slot's strings, which are computed at last. Lengths, as wide as narrow ends, are
/// kept in their place until then.
#[derive(Debug)]
pub(super) enum Ends<'a> {
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

impl<'a> StringSlot<'a> {
    /// An empty slot behind `before` bytes; `full` is set when it is finished.
    pub(super) fn new(
        ends: Ends<'a>,
        data: &'a mut [u8],
        text: bool,
        before: usize,
        full: &'a mut bool,
    ) -> Self {
        Self {
            ends,
            data,
            text,
            before,
            len: 0,
            bytes: 0,
            full,
        }
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
        let (all, bytes) = (self.ends.lengths(), self.data.len());
        let end = self.len.saturating_add(count);
        let lengths = all.len();
        let lengths = all.get_mut(self.len..end).ok_or(StringsError::Room {
            expected: [lengths, bytes],
            found: [end, self.bytes],
        })?;
        let out = &mut self.data[self.bytes..];
        let found = decode(lengths, out)?;
        let strings = out.get(..found).ok_or(StringsError::Room {
            expected: [0, out.len()],
            found: [0, found],
        })?;
        if sum_u32(lengths) != found as u64 {
            return Err(StringsError::Lengths(found).into());
        }
        if self.text
            && let Some(i) = first_other(strings, lengths)
        {
            return Err(StringsError::NotUtf8(self.len + i).into());
        }
        (self.len, self.bytes) = (end, self.bytes + found);
        Ok(())
    }

    /// Finishes a full slot. Where there are fewer strings than places, a clear bit of `validity`
    /// marks each place that gets an empty string.
    ///
    /// # Errors
    /// [`StringsError::Room`] where the slot is not full, [`StringsError::Long`].
    pub fn finish(mut self, validity: Option<&[u64]>) -> Result<(), StringsError> {
        let lengths = self.ends.lengths();
        let rows = lengths.len();
        let expanded = match validity {
            _ if self.len == rows => true,
            _ if self.len == 0 => {
                lengths.fill(0);
                true
            }
            Some(validity) => expand(lengths, self.len, validity),
            None => false,
        };
        if !expanded || self.bytes != self.data.len() {
            return Err(StringsError::Room {
                expected: [rows, self.data.len()],
                found: [self.len, self.bytes],
            });
        }
        let before = i64::try_from(self.before).map_err(|_| StringsError::Long)?;
        let last = match &mut self.ends {
            Ends::Wide(ends, lengths) => lengths_to_offsets_i64(before, lengths, ends),
            Ends::Narrow(ends) => i32::try_from(before)
                .ok()
                .and_then(|before| lengths_to_offsets_i32(before, ends))
                .map(i64::from),
        };
        last.ok_or(StringsError::Long)?;
        *self.full = true;
        Ok(())
    }
}
