//! Vectors of byte strings: their lengths, and their bytes one string after another. Take, filter
//! and aggregate walk over strings through these.

use std::ops::Range;

use staffa_kernels::{VECTOR, sum_u32};

use super::{BytesDecoder, Scratch, corrupt_if, no_row};
use crate::error::{Error, Result};
use crate::values::vector_len;

/// Byte strings that lie one after another.
#[derive(Clone, Copy)]
pub(crate) struct StringVector<'s> {
    /// Length of each string.
    pub lengths: &'s [u32],
    /// All strings; bytes behind the last one have no meaning.
    pub bytes: &'s [u8],
}

impl<'s> StringVector<'s> {
    /// Each string; an error for one that ends past the bytes.
    pub fn iter(self) -> impl Iterator<Item = Result<&'s [u8]>> {
        let mut rest = self.bytes;
        self.lengths.iter().map(move |length| {
            let split = rest.split_at_checked(*length as usize);
            let (string, behind) = split.ok_or_else(longer_than_declared)?;
            rest = behind;
            Ok(string)
        })
    }
}

/// Where the strings at some rows of a vector, which ascend, lie among those of all its rows, which
/// have these lengths.
pub(crate) fn spans<'s>(
    rows: &'s [u32],
    lengths: &'s [u32],
) -> impl Iterator<Item = Result<Range<usize>>> + 's {
    let (mut next, mut end) = (0, 0);
    rows.iter().map(move |row| {
        let i = *row as usize % VECTOR;
        let own = lengths.get(next..i).zip(lengths.get(i));
        let (between, length) = own.ok_or_else(|| no_row(*row, lengths.len()))?;
        let start = end + sum_u32(between) as usize;
        (next, end) = (i + 1, start + *length as usize);
        Ok(start..end)
    })
}

/// The error for strings whose lengths add up to more bytes than there are.
pub(crate) fn longer_than_declared() -> Error {
    Error::corrupt("strings longer than declared")
}

/// Checks the bytes of some strings against what the block declares.
pub(crate) fn check_bytes(bytes: usize, max_bytes: usize) -> Result<()> {
    corrupt_if!(
        bytes > max_bytes,
        "strings of at most {max_bytes} bytes expected, found {bytes}"
    );
    Ok(())
}

/// Decodes vector `v`, which has at most `max_bytes` bytes, into scratch, and hands it to `read`.
pub(crate) fn read_string_vector<R>(
    decoder: &(impl BytesDecoder + ?Sized),
    v: usize,
    max_bytes: usize,
    cx: &mut Scratch,
    read: impl FnOnce(StringVector<'_>) -> Result<R>,
) -> Result<R> {
    let room = decoder.vector_room(v, cx)?;
    cx.with(vector_len(decoder.len(), v), |cx, lengths| {
        cx.with_bytes(room.min(max_bytes), |cx, bytes| {
            let found = decoder.vector(v, cx, lengths, bytes)?;
            // Room behind the strings, so that the last ones are copied wide.
            let bytes = bytes.get(..found + 32).unwrap_or(bytes);
            read(StringVector { lengths, bytes })
        })
    })
}
