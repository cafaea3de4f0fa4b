//! Point and list reads: values of some rows out of a decoder.
//!
//! Rows ascend. Where an encoding can read a value by itself it does so, unless so many rows of a
//! vector are wanted that decoding all of it takes less (Super-Scalar RAM-CPU Cache Compression,
//! section 3.1.2: entry points).
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{PoolBuf, VECTOR, Word, filter, positions};

use super::{BytesDecoder, Decoder, DictionaryStrings, Scratch, Selection, is_dense};
use crate::error::{Error, Result};
use crate::values::{Bitmap, vector_len};

/// Rows of a vector from which on it is decoded: that takes some 100 ns, a value by itself 2 to 5
/// ns.
const MANY: usize = 32;

/// Whether so many rows of the vectors are wanted that these are better decoded.
pub fn many(rows: &[u32]) -> bool {
    let vector = |row: Option<&u32>| row.map_or(0, |row| *row as usize / VECTOR);
    rows.len() >= (vector(rows.last()).saturating_sub(vector(rows.first())) + 1) * MANY
}

/// The rows of every vector that has some, with its number.
pub fn by_vector(rows: &[u32]) -> impl Iterator<Item = (usize, &[u32])> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let v = *rest.first()? as usize / VECTOR;
        // As there are no repeats, at most so many.
        let near = rest.get(..VECTOR).unwrap_or(rest);
        let count = near.partition_point(|row| *row as usize / VECTOR <= v);
        let (rows, others) = rest.split_at_checked(count)?;
        rest = others;
        Some((v, rows))
    })
}

/// The error for a row that is not there.
pub fn no_row(row: u32, len: usize) -> Error {
    Error::corrupt(format!("a row below {len} expected, found {row}"))
}

/// [`Decoder::gather`] by whole vectors.
pub fn take_vectors<T: Copy + Default>(
    decoder: &(impl Decoder<T> + ?Sized),
    rows: &[u32],
    cx: &mut Scratch,
    out: &mut [T],
) -> Result<()> {
    let len = decoder.len();
    let mut buffer = [T::default(); VECTOR];
    let mut rest = out;
    for (v, rows) in by_vector(rows) {
        let (places, others) = rest.split_at_mut_checked(rows.len()).unwrap_or_default();
        rest = others;
        if places.len() == vector_len(len, v) {
            decoder.vector(v, cx, places)?;
            continue;
        }
        decoder.vector(
            v,
            cx,
            buffer.get_mut(..vector_len(len, v)).unwrap_or_default(),
        )?;
        if let Some(row) = rows.last().filter(|row| **row as usize >= len) {
            return Err(no_row(*row, len));
        }
        for (row, place) in rows.iter().zip(places) {
            *place = buffer
                .get(*row as usize % VECTOR)
                .copied()
                .unwrap_or_default();
        }
    }
    Ok(())
}

/// [`Decoder::gather`] where `one` reads a value by itself, from its vector and its place in it.
pub fn take_each<T: Copy + Default>(
    decoder: &(impl Decoder<T> + ?Sized),
    rows: &[u32],
    cx: &mut Scratch,
    out: &mut [T],
    one: impl Fn(usize, usize) -> Option<T>,
) -> Result<()> {
    if many(rows) {
        return take_vectors(decoder, rows, cx, out);
    }
    let len = decoder.len();
    for (row, place) in rows.iter().zip(out) {
        let value =
            one(*row as usize / VECTOR, *row as usize % VECTOR).filter(|_| (*row as usize) < len);
        *place = value.ok_or_else(|| no_row(*row, len))?;
    }
    Ok(())
}

/// Values of a decoder that are wanted into `out`, which has a place for each.
pub fn take_words<T: Word>(
    decoder: &dyn Decoder<T>,
    wanted: &Selection,
    cx: &mut Scratch,
    out: &mut [T],
) -> Result<()> {
    match wanted {
        Selection::List(rows) => decoder.take(rows, cx, out),
        Selection::Bits(bits, _) => filter_words(decoder, bits, cx, out),
    }
}

/// Strings of a decoder that are wanted, appended to `out`.
pub fn take_bytes(
    decoder: &dyn BytesDecoder,
    wanted: &Selection,
    cx: &mut Scratch,
    out: &mut Appended,
) -> Result<()> {
    match wanted {
        Selection::List(rows) => decoder.take(rows, cx, out),
        Selection::Bits(bits, count) => filter_strings(decoder, bits, *count, cx, out),
    }
}

/// 64-bit words of bits for a vector.
const WORDS: usize = VECTOR / 64;

/// Every vector that has set bits: its number, a bit for each of its values, and how many are set.
fn vectors_where(wanted: &Bitmap) -> impl Iterator<Item = (usize, [u64; WORDS], usize)> {
    wanted
        .words()
        .chunks(WORDS)
        .enumerate()
        .filter_map(|(v, words)| {
            let mut bits = [0; WORDS];
            bits.iter_mut()
                .zip(words)
                .for_each(|(to, from)| *to = *from);
            let count = words.iter().map(|word| word.count_ones() as usize).sum();
            (count > 0).then_some((v, bits, count))
        })
}

/// The rows of vector `v` whose bit is set.
fn rows_of(wanted: &Bitmap, v: usize) -> Vec<u32> {
    positions(wanted.vector(v), (v * VECTOR) as u32)
}

/// Values whose bit is set: of vectors that are decoded, but where few are wanted.
fn filter_words<T: Word>(
    decoder: &dyn Decoder<T>,
    wanted: &Bitmap,
    cx: &mut Scratch,
    out: &mut [T],
) -> Result<()> {
    let len = decoder.len();
    let mut buffer = [T::default(); VECTOR];
    let mut rest = out;
    for (v, bits, count) in vectors_where(wanted) {
        let (places, others) = rest
            .split_at_mut_checked(count)
            .ok_or_else(|| no_row(wanted.len() as u32, len))?;
        rest = others;
        let there = vector_len(len, v);
        if count == there {
            decoder.vector(v, cx, places)?;
        } else if !is_dense(count as u64, there as u64) {
            decoder.take(&rows_of(wanted, v), cx, places)?;
        } else {
            let values = buffer.get_mut(..there).unwrap_or_default();
            decoder.vector(v, cx, values)?;
            if filter(values, &bits, places) != Some(count) {
                return Err(no_row(wanted.len() as u32, len));
            }
        }
    }
    Ok(())
}

/// Strings whose bit is set, `count` of them.
fn filter_strings(
    decoder: &dyn BytesDecoder,
    wanted: &Bitmap,
    count: usize,
    cx: &mut Scratch,
    out: &mut Appended,
) -> Result<()> {
    let len = decoder.len();
    if let Some(coded) = decoder.dictionary() {
        let codes = filter_codes(coded, len, wanted, count, cx)?;
        let values = coded.strings()?;
        let bytes = values
            .gathered_bytes(&codes)
            .ok_or_else(|| no_code(&codes, values.len()))?;
        return out.push_all(count, bytes as usize, |lengths, out| {
            values.gather(&codes, lengths, out)
        });
    }
    for (v, bits, count) in vectors_where(wanted) {
        if !is_dense(count as u64, vector_len(len, v) as u64) {
            decoder.take(&rows_of(wanted, v), cx, out)?;
            continue;
        }
        let size = decoder.vector_bytes(v, cx)?;
        out.expect(size)?;
        let (mut bytes, mut lengths) = (cx.take_bytes(size), cx.take_u32());
        let all = lengths.get_mut(..vector_len(len, v)).unwrap_or_default();
        decoder.vector(v, cx, all, &mut bytes)?;
        out.push_where(all, &bytes, &bits, count)?;
        cx.give_bytes(bytes);
        cx.give_u32(lengths);
    }
    Ok(())
}

/// Codes whose bit is set, `count` of them among `len`.
fn filter_codes(
    coded: &dyn DictionaryStrings,
    len: usize,
    wanted: &Bitmap,
    count: usize,
    cx: &mut Scratch,
) -> Result<Vec<u32>> {
    let (mut codes, mut done) = (vec![0; count], 0);
    let mut buffer = cx.take_u32();
    for (v, bits, count) in vectors_where(wanted) {
        let all = buffer.get_mut(..vector_len(len, v)).unwrap_or_default();
        coded.codes(v, cx, all)?;
        let places = codes.get_mut(done..).unwrap_or_default();
        if filter(all, &bits, places) != Some(count) {
            return Err(no_row(wanted.len() as u32, len));
        }
        done += count;
    }
    cx.give_u32(buffer);
    Ok(codes)
}

/// Whether so many values are wanted that vectors are better decoded for them.
pub fn many_wanted(wanted: &Selection) -> bool {
    match wanted {
        Selection::List(rows) => many(rows),
        Selection::Bits(..) => true,
    }
}

/// Codes of strings that are wanted, among `len`, out of decoded vectors.
pub fn take_codes(
    coded: &dyn DictionaryStrings,
    len: usize,
    wanted: &Selection,
    cx: &mut Scratch,
) -> Result<Vec<u32>> {
    let rows = match wanted {
        Selection::Bits(bits, count) => return filter_codes(coded, len, bits, *count, cx),
        Selection::List(rows) => rows,
    };
    let mut codes = Vec::with_capacity(rows.len());
    let mut buffer = cx.take_u32();
    for (v, rows) in by_vector(rows) {
        let all = buffer.get_mut(..vector_len(len, v)).unwrap_or_default();
        coded.codes(v, cx, all)?;
        codes.extend(rows.iter().map_while(|row| all.get(*row as usize % VECTOR)));
    }
    cx.give_u32(buffer);
    match rows.last() {
        Some(last) if codes.len() < rows.len() => Err(no_row(*last, len)),
        _ => Ok(codes),
    }
}

/// The error for codes past their dictionary.
pub fn no_code(codes: &[u32], len: usize) -> Error {
    let worst = codes.iter().max().copied().unwrap_or(0);
    Error::corrupt(format!("codes below {len} expected, found {worst}"))
}

/// [`BytesDecoder::gather`] by whole vectors.
pub fn take_strings(
    decoder: &(impl BytesDecoder + ?Sized),
    rows: &[u32],
    cx: &mut Scratch,
    out: &mut Appended,
) -> Result<()> {
    let len = decoder.len();
    for (v, rows) in by_vector(rows) {
        let size = decoder.vector_bytes(v, cx)?;
        out.expect(size)?;
        let (mut bytes, mut lengths) = (cx.take_bytes(size), cx.take_u32());
        let all = lengths.get_mut(..vector_len(len, v)).unwrap_or_default();
        decoder.vector(v, cx, all, &mut bytes)?;
        out.push_some(rows, all, &bytes)?;
        cx.give_bytes(bytes);
        cx.give_u32(lengths);
    }
    Ok(())
}

/// Memory out of the pool.
pub fn memory(bytes: usize) -> Result<PoolBuf> {
    PoolBuf::new(bytes).ok_or_else(|| Error::limit(format!("no memory for {bytes} bytes")))
}

/// Strings gathered, one after another.
#[derive(Debug, Default)]
pub struct Appended {
    /// Of every string.
    pub lengths: Vec<u32>,
    /// As much memory as there is.
    data: Option<PoolBuf>,
    /// Bytes of all strings.
    len: usize,
    /// Bytes that may still be appended.
    room: usize,
}

impl Appended {
    /// As many bytes more, and no others, may be appended.
    pub fn allow(&mut self, room: usize) {
        self.room = room;
    }

    /// Refuses strings that are longer than allowed.
    pub fn expect(&self, bytes: usize) -> Result<()> {
        if bytes > self.room {
            return Err(Error::corrupt(format!(
                "strings of at most {} bytes expected, found {bytes}",
                self.room
            )));
        }
        Ok(())
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The length of every string, and the memory with all of them.
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

    /// Memory behind the strings, for so many bytes more; once, for about as many as are expected.
    pub fn reserve(&mut self, more: usize) -> Result<&mut [u8]> {
        let (had, needed) = (
            self.data.as_ref().map_or(0, PoolBuf::len),
            self.len.saturating_add(more),
        );
        if needed > had {
            let mut larger = memory(needed.max(had.saturating_mul(2)).max(4096))?;
            let old = self
                .data
                .as_ref()
                .and_then(|data| data.as_slice().get(..self.len))
                .unwrap_or_default();
            larger
                .as_mut_slice()
                .get_mut(..old.len())
                .unwrap_or_default()
                .copy_from_slice(old);
            self.data = Some(larger);
        }
        Ok(self
            .data
            .as_mut()
            .and_then(|data| data.as_mut_slice().get_mut(self.len..))
            .unwrap_or_default())
    }

    /// Appends a string.
    pub fn push(&mut self, string: &[u8]) -> Result<()> {
        self.expect(string.len())?;
        self.reserve(string.len())?
            .get_mut(..string.len())
            .unwrap_or_default()
            .copy_from_slice(string);
        self.room -= string.len();
        self.lengths.push(string.len() as u32);
        self.len += string.len();
        Ok(())
    }

    /// Appends `count` strings of so many bytes, which `put` writes with their lengths.
    pub fn push_all(
        &mut self,
        count: usize,
        bytes: usize,
        put: impl FnOnce(&mut [u32], &mut [u8]) -> Option<usize>,
    ) -> Result<()> {
        self.expect(bytes)?;
        let mut lengths = std::mem::take(&mut self.lengths);
        let before = lengths.len();
        lengths.resize(before + count, 0);
        let done = put(
            lengths.get_mut(before..).unwrap_or_default(),
            self.reserve(bytes)?,
        );
        if done != Some(bytes) {
            return Err(Error::corrupt(format!(
                "strings of {bytes} bytes expected, found {done:?}"
            )));
        }
        (self.lengths, self.room, self.len) = (lengths, self.room - bytes, self.len + bytes);
        Ok(())
    }

    /// Appends the strings of a vector whose bit is set, `count` of them.
    fn push_where(
        &mut self,
        lengths: &[u32],
        bytes: &[u8],
        wanted: &[u64],
        count: usize,
    ) -> Result<()> {
        let mut all = std::mem::take(&mut self.lengths);
        let before = all.len();
        all.resize(before + count, 0);
        let kept = all.get_mut(before..).unwrap_or_default();
        // Wide copies write past the end of what they copy.
        let out = self.reserve(bytes.len().saturating_add(32))?;
        let done = staffa_kernels::filter_strings(lengths, bytes, wanted, kept, out);
        let (_, written) = done
            .filter(|(found, _)| *found == count)
            .ok_or_else(|| no_row(0, lengths.len()))?;
        self.expect(written)?;
        (self.lengths, self.room, self.len) = (all, self.room - written, self.len + written);
        Ok(())
    }

    /// Appends some rows of a vector, of which there are all lengths and all bytes.
    pub fn push_some(&mut self, rows: &[u32], lengths: &[u32], bytes: &[u8]) -> Result<()> {
        let (mut next, mut at) = (0, 0);
        for row in rows {
            let i = *row as usize % VECTOR;
            at += lengths
                .get(next..i)
                .unwrap_or_default()
                .iter()
                .map(|length| *length as usize)
                .sum::<usize>();
            next = i;
            let string = lengths
                .get(i)
                .and_then(|length| bytes.get(at..at.checked_add(*length as usize)?));
            self.push(string.ok_or_else(|| no_row(*row, lengths.len()))?)?;
        }
        Ok(())
    }
}
