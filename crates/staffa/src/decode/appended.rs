//! Strings gathered from several vectors or blocks, one after another.

use staffa_kernels::{BytesDict, PoolBuf, VECTOR};

use super::{
    StringVector, check_bytes, corrupt_if, longer_than_declared, no_code, no_row,
    prefers_bitmap_of_strings, spans,
};
use crate::error::{Error, Result};

/// Memory out of the pool.
pub fn memory(bytes: usize) -> Result<PoolBuf> {
    PoolBuf::new(bytes).ok_or_else(|| Error::limit(format!("no memory for {bytes} bytes")))
}

/// A bit for each place of a vector: those of some rows of it; `None` where they do not rise.
fn bits_of(rows: &[u32]) -> Option<[u64; VECTOR / 64]> {
    if !rows.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let mut bits = [0u64; VECTOR / 64];
    for row in rows {
        let place = *row as usize % VECTOR;
        *bits.get_mut(place / 64)? |= 1 << (place % 64);
    }
    Some(bits)
}

/// Least memory for strings.
const LEAST: usize = 4096;

fn too_short() -> Error {
    Error::internal("a buffer of strings is shorter than they are")
}

/// Strings appended one after another, within a number of bytes that the caller allows.
#[derive(Debug, Default)]
pub struct Appended {
    /// Length of each string.
    pub lengths: Vec<u32>,
    /// The strings, and free memory behind them.
    data: Option<PoolBuf>,
    /// Bytes of all strings.
    len: usize,
    /// Bytes that may still be appended.
    room: usize,
    /// Bytes that might be appended when that was set.
    allowed: usize,
}

impl Appended {
    /// Allows `room` more bytes, instead of what was allowed before.
    pub fn allow(&mut self, room: usize) {
        (self.room, self.allowed) = (room, room);
    }

    /// Bytes that were allowed last.
    pub fn allowed(&self) -> usize {
        self.allowed
    }

    /// Bytes that may still be appended.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Bytes of all strings.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The length of each string, and the memory with all of them.
    pub fn into_parts(mut self) -> Result<(Vec<u32>, PoolBuf)> {
        let lengths = std::mem::take(&mut self.lengths);
        Ok((lengths, self.into_data()?))
    }

    /// The memory with all strings.
    pub fn into_data(self) -> Result<PoolBuf> {
        let mut data = self.data.map_or_else(|| memory(0), Ok)?;
        data.truncate(self.len);
        Ok(data)
    }

    /// Free memory behind the strings, of `more` bytes at least. Doubles what there is: reserve the
    /// expected bytes once.
    pub fn reserve(&mut self, more: usize) -> Result<&mut [u8]> {
        let held = self.data.as_ref().map_or(0, PoolBuf::len);
        let needed = self.len.saturating_add(more);
        if needed > held || self.data.is_none() {
            let mut larger = memory(needed.max(held.saturating_mul(2)).max(LEAST))?;
            if let Some(old) = &self.data {
                let old = old.as_slice().get(..self.len).ok_or_else(too_short)?;
                let new = larger.as_mut_slice().get_mut(..self.len);
                new.ok_or_else(too_short)?.copy_from_slice(old);
            }
            self.data = Some(larger);
        }
        let data = self.data.as_mut().map(PoolBuf::as_mut_slice);
        data.and_then(|data| data.get_mut(self.len..))
            .ok_or_else(too_short)
    }

    /// Appends a string.
    pub fn push(&mut self, string: &[u8]) -> Result<()> {
        self.push_with(string.len(), |out| {
            out.copy_from_slice(string);
            Ok(())
        })
    }

    /// Appends a string of so many bytes: `write` is given a place for them.
    pub fn push_with(
        &mut self,
        bytes: usize,
        write: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<()> {
        check_bytes(bytes, self.room)?;
        let out = self.reserve(bytes)?.get_mut(..bytes);
        write(out.ok_or_else(too_short)?)?;
        self.lengths.push(bytes as u32);
        self.room -= bytes;
        self.len += bytes;
        Ok(())
    }

    /// Appends `count` strings of `bytes` bytes in all: `write` is given a place for each length and
    /// memory for the bytes, and returns how many bytes it wrote.
    pub fn push_all(
        &mut self,
        count: usize,
        bytes: usize,
        write: impl FnOnce(&mut [u32], &mut [u8]) -> Option<usize>,
    ) -> Result<()> {
        check_bytes(bytes, self.room)?;
        let found = self.write(count, bytes, write)?;
        corrupt_if!(
            found != Some(bytes),
            "strings of {bytes} bytes expected, found {found:?}"
        );
        Ok(())
    }

    /// Appends strings.
    pub(crate) fn push_strings(&mut self, strings: StringVector<'_>) -> Result<()> {
        let StringVector { lengths, bytes } = strings;
        self.push_all(lengths.len(), bytes.len(), |places, out| {
            places.copy_from_slice(lengths);
            out.get_mut(..bytes.len())?.copy_from_slice(bytes);
            Some(bytes.len())
        })
    }

    /// Appends the entry of each code.
    pub fn push_entries(&mut self, dictionary: &BytesDict, codes: &[u32]) -> Result<()> {
        let bytes = dictionary.gathered_bytes(codes);
        let bytes = bytes.ok_or_else(|| no_code(codes, dictionary.len()))?;
        self.push_all(codes.len(), bytes as usize, |lengths, out| {
            dictionary.gather(codes, lengths, out)
        })
    }

    /// Appends the strings of a vector whose bit is set, of which there are `count`.
    pub(super) fn push_selected(
        &mut self,
        strings: StringVector<'_>,
        selected: &[u64],
        count: usize,
    ) -> Result<()> {
        let StringVector { lengths, bytes } = strings;
        // Wide copies write past the end of what they copy.
        let room = bytes.len().saturating_add(32);
        let found = self.write(count, room, |kept, out| {
            staffa_kernels::filter_strings(lengths, bytes, selected, kept, out)
                .and_then(|(found, written)| (found == count).then_some(written))
        })?;
        found
            .map(drop)
            .ok_or_else(|| no_row(lengths.len() as u32, lengths.len()))
    }

    /// Appends the strings at some rows of a vector, which ascend.
    pub(crate) fn push_rows(&mut self, rows: &[u32], strings: StringVector<'_>) -> Result<()> {
        let StringVector { lengths, bytes } = strings;
        if prefers_bitmap_of_strings(rows.len(), lengths.len())
            && let Some(selected) = bits_of(rows)
        {
            return self.push_selected(strings, &selected, rows.len());
        }
        for span in spans(rows, lengths) {
            let string = bytes.get(span?);
            self.push(string.ok_or_else(longer_than_declared)?)?;
        }
        Ok(())
    }

    /// Appends what `write` writes into places for `count` lengths and memory of `bytes` bytes, and
    /// returns the bytes it wrote; nothing is appended where it returns none.
    fn write(
        &mut self,
        count: usize,
        bytes: usize,
        write: impl FnOnce(&mut [u32], &mut [u8]) -> Option<usize>,
    ) -> Result<Option<usize>> {
        let mut lengths = std::mem::take(&mut self.lengths);
        let before = lengths.len();
        lengths.resize(before + count, 0);
        let places = lengths.get_mut(before..).ok_or_else(too_short)?;
        let found = write(places, self.reserve(bytes)?);
        if let Some(written) = found {
            check_bytes(written, self.room)?;
            (self.lengths, self.len, self.room) =
                (lengths, self.len + written, self.room - written);
        }
        Ok(found)
    }
}
