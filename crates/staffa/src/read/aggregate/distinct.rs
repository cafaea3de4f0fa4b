//! The number of different values, exactly.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use hashbrown::HashSet;
use staffa_kernels::as_bytes;

use super::number::Number;
use crate::error::{Error, Result};

/// Most memory for different values, about.
const DISTINCT_BYTES: usize = 1 << 28;

/// Different values so far: words of up to 64 bits, and the bytes of longer ones.
#[derive(Default)]
pub(super) struct Distinct {
    pub words: HashSet<u64>,
    longer: HashSet<Box<[u8]>>,
    bytes: usize,
}

impl Distinct {
    pub fn count(&self) -> u64 {
        (self.words.len() + self.longer.len()) as u64
    }

    fn longer(&mut self, bytes: &[u8]) {
        if !self.longer.contains(bytes) {
            self.longer.insert(bytes.into());
            self.bytes += bytes.len() + 32;
        }
    }

    /// Takes in numbers.
    pub fn numbers<T: Number>(&mut self, values: &[T]) -> Result<()> {
        if T::BYTES > 8 {
            let mut bytes = Vec::with_capacity(T::BYTES);
            for value in values {
                bytes.clear();
                value.write_le(&mut bytes);
                self.longer(&bytes);
            }
        } else {
            let word = |value: &T| {
                let mut word = [0; 8];
                word.iter_mut()
                    .zip(as_bytes(std::slice::from_ref(value)))
                    .for_each(|(to, from)| *to = *from);
                u64::from_le_bytes(word)
            };
            self.words.extend(values.iter().map(word));
        }
        self.within_memory()
    }

    /// Takes in a string.
    pub fn string(&mut self, string: &[u8]) -> Result<()> {
        self.longer(string);
        self.within_memory()
    }

    fn within_memory(&self) -> Result<()> {
        let held = self.bytes + self.words.len() * 16;
        if held > DISTINCT_BYTES {
            let count = self.count();
            return Err(Error::limit(format!(
                "{count} different values and more: too many to count within memory"
            )));
        }
        Ok(())
    }
}
