//! Scratch: a decoder's buffers.

use staffa_kernels::{Word, as_bytes_mut, cast_slice_mut};

use crate::error::{Error, Result};
use crate::values::vector_len;

/// The places of vector `v`, of `len` values in all, in a buffer of one vector.
pub(crate) fn vector_places<T>(buffer: &mut [T], len: usize, v: usize) -> Result<&mut [T]> {
    buffer
        .get_mut(..vector_len(len, v))
        .ok_or_else(|| Error::internal("a buffer is shorter than a vector"))
}

/// Buffers that decoders borrow, so that a scan allocates none.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Free buffers of words, as long as what they held: one row costs no vector of zeros.
    words: Vec<Vec<u128>>,
    /// Free buffers of bytes.
    bytes: Vec<Vec<u8>>,
}

impl Scratch {
    /// Lends `f` places for `len` words, of arbitrary content.
    pub fn with<T: Word, R>(
        &mut self,
        len: usize,
        f: impl FnOnce(&mut Self, &mut [T]) -> Result<R>,
    ) -> Result<R> {
        let mut buffer = self.words.pop().unwrap_or_default();
        let words = (len * size_of::<T>()).div_ceil(size_of::<u128>());
        if buffer.len() < words {
            buffer.resize(words, 0);
        }
        let places = cast_slice_mut(as_bytes_mut(&mut buffer)).and_then(|all| all.get_mut(..len));
        let places = places.ok_or_else(|| Error::internal("a buffer of fewer words"))?;
        let result = f(self, places);
        self.words.push(buffer);
        result
    }

    /// Lends `f` `len` bytes of arbitrary content: strings of one vector.
    pub fn with_bytes<R>(
        &mut self,
        len: usize,
        f: impl FnOnce(&mut Self, &mut [u8]) -> Result<R>,
    ) -> Result<R> {
        let mut buffer = self.bytes.pop().unwrap_or_default();
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        let places = buffer.get_mut(..len);
        let places = places.ok_or_else(|| Error::internal("a buffer of fewer bytes"))?;
        let result = f(self, places);
        self.bytes.push(buffer);
        result
    }
}
