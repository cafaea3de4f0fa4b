//! Point and list reads: the values of a decoder at selected rows.
//!
//! Rows ascend. An encoding that can read a value by itself does so, unless so large a part of a
//! vector is selected that decoding all of it costs less (Super-Scalar RAM-CPU Cache Compression,
//! section 3.1.2: entry points).

use staffa_kernels::{VECTOR, Word, positions};

use super::{
    Appended, BytesDecoder, Decoder, DictionaryStrings, Scratch, Selection, prefers_bitmap,
    read_string_vector, vector_places,
};
use crate::error::{Error, Result};
use crate::values::{Bitmap, vector_len};

/// Rows of a vector from which on all of it is decoded: 100 ns, where a value by itself takes 2 to
/// 5 ns.
const MANY: usize = 32;

/// Whether decoding the vectors of these rows costs less than reading each value by itself.
pub fn many(rows: &[u32]) -> bool {
    many_of(rows, MANY)
}

/// Whether the vectors of these rows have `each` of them or more on the mean.
pub fn many_of(rows: &[u32], each: usize) -> bool {
    let vectors = || {
        let pairs = rows.array_windows();
        1 + pairs
            .filter(|[a, b]| *a as usize / VECTOR != *b as usize / VECTOR)
            .count()
    };
    rows.len() >= each && rows.len() >= vectors() * each
}

/// Each vector that has some of the rows: its number, and these rows.
pub fn by_vector(rows: &[u32]) -> impl Iterator<Item = (usize, &[u32])> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let v = *rest.first()? as usize / VECTOR;
        // Rows do not repeat: a vector has at most 1,024 of them.
        let near = rest.get(..VECTOR).unwrap_or(rest);
        let count = near.partition_point(|row| *row as usize / VECTOR <= v);
        let (rows, others) = rest.split_at_checked(count)?;
        rest = others;
        Some((v, rows))
    })
}

/// The error for a row past the end.
pub fn no_row(row: u32, len: usize) -> Error {
    Error::corrupt(format!("a row below {len} expected, found {row}"))
}

/// The error for codes past the end of their dictionary.
pub fn no_code(codes: &[u32], len: usize) -> Error {
    let worst = codes.iter().max().copied().unwrap_or(0);
    Error::corrupt(format!("codes below {len} expected, found {worst}"))
}

fn no_place() -> Error {
    Error::internal("fewer places than rows")
}

/// [`Decoder::take`] by whole vectors.
pub fn take_vectors<T: Word>(
    decoder: &(impl Decoder<T> + ?Sized),
    rows: &[u32],
    cx: &mut Scratch,
    out: &mut [T],
) -> Result<()> {
    let len = decoder.len();
    let mut buffer = [T::default(); VECTOR];
    let mut rest = out;
    for (v, rows) in by_vector(rows) {
        let (places, others) = rest.split_at_mut_checked(rows.len()).ok_or_else(no_place)?;
        rest = others;
        if places.len() == vector_len(len, v) {
            decoder.vector(v, cx, places)?;
            continue;
        }
        decoder.vector(v, cx, vector_places(&mut buffer, len, v)?)?;
        if let Some(row) = rows.last().filter(|row| **row as usize >= len) {
            return Err(no_row(*row, len));
        }
        for (row, place) in rows.iter().zip(places) {
            *place = *buffer
                .get(*row as usize % VECTOR)
                .ok_or_else(|| no_row(*row, len))?;
        }
    }
    Ok(())
}

/// [`Decoder::take`] where `one` reads a value by itself, from its vector and its place in it.
pub fn take_each<T: Word>(
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

/// [`BytesDecoder::take`] by whole vectors.
pub fn take_strings(
    decoder: &(impl BytesDecoder + ?Sized),
    rows: &[u32],
    cx: &mut Scratch,
    out: &mut Appended,
) -> Result<()> {
    by_vector(rows).try_for_each(|(v, rows)| {
        read_string_vector(decoder, v, out.room(), cx, |strings| {
            out.push_rows(rows, strings)
        })
    })
}

/// Selected values of a decoder into `out`, which has a place for each.
pub fn take_words<T: Word>(
    decoder: &dyn Decoder<T>,
    selection: &Selection,
    cx: &mut Scratch,
    out: &mut [T],
) -> Result<()> {
    let selected = match selection {
        Selection::List(rows) => return decoder.take(rows, cx, out),
        Selection::Bits(bits, _) => bits,
    };
    let len = decoder.len();
    let mut buffer = [T::default(); VECTOR];
    let mut rest = out;
    for (v, bits, count) in selected_vectors(selected) {
        let (places, others) = rest
            .split_at_mut_checked(count)
            .ok_or_else(|| no_row(selected.len() as u32, len))?;
        rest = others;
        let there = vector_len(len, v);
        if count == there {
            decoder.vector(v, cx, places)?;
        } else if !prefers_bitmap(count as u64, there as u64) {
            decoder.take(&rows_of(selected, v), cx, places)?;
        } else {
            decoder.selected(v, &bits, cx, vector_places(&mut buffer, len, v)?, places)?;
        }
    }
    Ok(())
}

/// Selected strings of a decoder, appended to `out`.
pub fn take_bytes(
    decoder: &dyn BytesDecoder,
    selection: &Selection,
    cx: &mut Scratch,
    out: &mut Appended,
) -> Result<()> {
    let selected = match selection {
        Selection::List(rows) => return decoder.take(rows, cx, out),
        Selection::Bits(bits, _) => bits,
    };
    if let Some(dictionary) = decoder.dictionary() {
        let codes = take_codes(dictionary, selection, cx)?;
        return out.push_entries(dictionary.strings()?, &codes);
    }
    for (v, bits, count) in selected_vectors(selected) {
        if decoder.is_dense(v, count) {
            read_string_vector(decoder, v, out.room(), cx, |strings| {
                out.push_selected(strings, &bits, count)
            })?;
        } else {
            decoder.take(&rows_of(selected, v), cx, out)?;
        }
    }
    Ok(())
}

/// Codes of selected strings.
pub fn take_codes(
    dictionary: &dyn DictionaryStrings,
    selection: &Selection,
    cx: &mut Scratch,
) -> Result<Vec<u32>> {
    let mut codes = vec![0; selection.len()];
    take_words(dictionary.decoder(), selection, cx, &mut codes)?;
    Ok(codes)
}

/// 64-bit words of bits for a vector.
const WORDS: usize = VECTOR / 64;

/// Each vector that has set bits: its number, a bit for each of its values, and how many are set.
fn selected_vectors(selected: &Bitmap) -> impl Iterator<Item = (usize, [u64; WORDS], usize)> {
    selected
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
fn rows_of(selected: &Bitmap, v: usize) -> Vec<u32> {
    positions(selected.vector(v), (v * VECTOR) as u32)
}
