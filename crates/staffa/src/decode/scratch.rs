//! Buffers of one vector that decoders use again.

use staffa_kernels::VECTOR;

use crate::error::{Error, Result};
use crate::values::vector_len;

/// The places of vector `v`, of `len` values in all, in a buffer of one vector.
pub(crate) fn vector_places<T>(buffer: &mut [T], len: usize, v: usize) -> Result<&mut [T]> {
    buffer
        .get_mut(..vector_len(len, v))
        .ok_or_else(|| Error::internal("a buffer is shorter than a vector"))
}

/// Buffers of one vector that decoders borrow and give back, so that a scan allocates none.
#[derive(Debug, Default)]
pub struct Scratch {
    u32s: Vec<Vec<u32>>,
    u64s: Vec<Vec<u64>>,
    bytes: Vec<Vec<u8>>,
}

impl Scratch {
    /// A buffer of one vector of 32-bit words with arbitrary content.
    pub fn take_u32(&mut self) -> Vec<u32> {
        self.u32s.pop().unwrap_or_else(|| vec![0; VECTOR])
    }

    /// Gives a buffer back.
    pub fn give_u32(&mut self, buffer: Vec<u32>) {
        self.u32s.push(buffer);
    }

    /// A buffer of one vector of 64-bit words with arbitrary content.
    pub fn take_u64(&mut self) -> Vec<u64> {
        self.u64s.pop().unwrap_or_else(|| vec![0; VECTOR])
    }

    /// Gives a buffer back.
    pub fn give_u64(&mut self, buffer: Vec<u64>) {
        self.u64s.push(buffer);
    }

    /// A buffer of `len` bytes with arbitrary content: strings of one vector.
    pub fn take_bytes(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self.bytes.pop().unwrap_or_default();
        buffer.resize(len, 0);
        buffer
    }

    /// Gives a buffer back.
    pub fn give_bytes(&mut self, buffer: Vec<u8>) {
        self.bytes.push(buffer);
    }
}
