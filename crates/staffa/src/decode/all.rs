//! All values of a decoder, in memory taken out of a budget.

use std::ops::Deref;

use staffa_kernels::{BytesDict, BytesDictBuilder, PoolVec, VECTOR, Word};

use super::{Budget, BytesDecoder, Decodable, Decoder, Scratch, vector_places};
use crate::error::{Error, Result};

/// Entries of the chunk's shared dictionary, or a block's own.
pub enum Entries<'a, V> {
    /// Of a shared dictionary.
    Shared(&'a V),
    /// Of the block.
    Own(V),
}

impl<V> Deref for Entries<'_, V> {
    type Target = V;
    fn deref(&self) -> &V {
        match self {
            Self::Shared(entries) => entries,
            Self::Own(entries) => entries,
        }
    }
}

/// Memory for `len` words of arbitrary content, out of the pool.
pub fn words<T: Word>(len: usize) -> Result<PoolVec<T>> {
    PoolVec::new(len)
        .ok_or_else(|| Error::limit(format!("no memory for {len} values of {} bytes", T::BYTES)))
}

/// All values of a decoder.
pub fn decode_all<T: Decodable>(decoder: &dyn Decoder<T>) -> Result<PoolVec<T>> {
    let mut out = words(decoder.len())?;
    decode_into(decoder, &mut Scratch::default(), &mut out)?;
    Ok(out)
}

/// All values of a decoder into `out`, which has a place for each.
pub(super) fn decode_into<T: Decodable>(
    decoder: &dyn Decoder<T>,
    cx: &mut Scratch,
    out: &mut [T],
) -> Result<()> {
    let mut vectors = out.chunks_mut(VECTOR).enumerate();
    vectors.try_for_each(|(v, vector)| decoder.vector(v, cx, vector))
}

/// Bytes of all strings of a decoder; takes the memory of the strings out of the budget.
pub fn strings_bytes(decoder: &dyn BytesDecoder, budget: &mut Budget, what: &str) -> Result<usize> {
    let (mut cx, len) = (Scratch::default(), decoder.len());
    budget.take(len as u64 * 8, what)?;
    let mut total = 0u64;
    for v in 0..len.div_ceil(VECTOR) {
        total += decoder.vector_bytes(v, &mut cx)? as u64;
        if total > u64::from(u32::MAX) {
            return Err(Error::limit(format!("{what}: strings of more than 4 GiB")));
        }
    }
    budget.take(total, what)?;
    Ok(total as usize)
}

/// All strings of a decoder.
pub fn decode_all_strings(
    decoder: &dyn BytesDecoder,
    budget: &mut Budget,
    what: &str,
) -> Result<BytesDict> {
    decode_strings(decoder, strings_bytes(decoder, budget, what)?, what)
}

/// All strings of a decoder, which have `bytes` bytes.
pub fn decode_strings(decoder: &dyn BytesDecoder, bytes: usize, what: &str) -> Result<BytesDict> {
    let (mut cx, len) = (Scratch::default(), decoder.len());
    let all = BytesDictBuilder::new(len, bytes);
    let mut all =
        all.ok_or_else(|| Error::limit(format!("{what}: no memory for {bytes} bytes")))?;
    let mut lengths = [0; VECTOR];
    for v in 0..len.div_ceil(VECTOR) {
        let lengths = vector_places(&mut lengths, len, v)?;
        let written = decoder.vector(v, &mut cx, lengths, all.room())?;
        if staffa_kernels::sum_u32(lengths) != written as u64 || !all.push(lengths) {
            return Err(Error::corrupt(format!(
                "{what}: strings of {bytes} bytes expected, found {written} more"
            )));
        }
    }
    all.finish().ok_or_else(|| {
        Error::corrupt(format!(
            "{what}: strings of {bytes} bytes expected, found fewer"
        ))
    })
}
