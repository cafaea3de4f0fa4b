//! Blocks decoded once, to be kept: more memory, and every later read of a row is a load.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use staffa_kernels::{BytesDict, PoolVec, VECTOR};

use super::cache::{OpenBlock, Sources};
use crate::decode::{
    AnyDecoder, Appended, BitsDecoder, Block, Budget, BytesDecoder, Decodable, Decoder, Scratch,
    decode_all, decode_all_strings, for_decoder, no_row,
};
use crate::error::{Error, Result};
use crate::values::{Bitmap, vector_len};

/// A block without its encodings, which borrows from nothing.
pub(crate) fn decoded(block: &Block<'_>) -> Result<OpenBlock> {
    let mut held = block
        .validity
        .as_ref()
        .map_or(0, |validity| validity.words().len() * 8);
    let values = match &block.values {
        None => None,
        Some(decoder) => Some(for_decoder!(decoder,
            words(decoder) => words(decoder.as_ref(), &mut held)?,
            bits(decoder) => {
                let bits = decoder.bits()?;
                held += bits.words().len() * 8;
                AnyDecoder::Bits(Box::new(Bits(bits)))
            },
            bytes(decoder) => {
                let mut budget = Budget::new(8 * decoder.len() as u64 + block.string_bytes as u64);
                let strings = decode_all_strings(decoder.as_ref(), &mut budget, "a block")?;
                held += strings.bytes();
                AnyDecoder::Bytes(Box::new(Strings(strings)))
            },
        )),
    };
    let (len, compacted, string_bytes, validity) = (
        block.len,
        block.compacted,
        block.string_bytes,
        block.validity.clone(),
    );
    let nothing = Sources {
        bytes: bytes::Bytes::new(),
        references: Vec::new(),
        shared: Arc::default(),
    };
    OpenBlock::try_new(nothing, |_| {
        Ok(Block {
            len,
            validity,
            values,
            compacted,
            string_bytes,
            held: held as u64,
        })
    })
}

fn words<T: Decodable>(decoder: &dyn Decoder<T>, held: &mut usize) -> Result<AnyDecoder<'static>> {
    let values = decode_all(decoder)?;
    *held += values.len() * T::BYTES;
    Ok(T::wrap(Box::new(Words(values))))
}

struct Words<T>(PoolVec<T>);

impl<T: Decodable> Decoder<T> for Words<T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        let values = self
            .0
            .get(v * VECTOR..)
            .and_then(|values| values.get(..out.len()));
        out.copy_from_slice(values.ok_or_else(|| Error::corrupt(format!("no vector {v}")))?);
        Ok(())
    }

    fn take(&self, rows: &[u32], _: &mut Scratch, out: &mut [T]) -> Result<()> {
        for (row, place) in rows.iter().zip(out) {
            *place = *self
                .0
                .get(*row as usize)
                .ok_or_else(|| no_row(*row, self.0.len()))?;
        }
        Ok(())
    }
}

struct Strings(BytesDict);

impl Strings {
    /// The rows of a vector.
    fn rows(&self, v: usize) -> Vec<u32> {
        let start = v * VECTOR;
        (start as u32..(start + vector_len(self.0.len(), v)) as u32).collect()
    }
}

impl BytesDecoder for Strings {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn vector_bytes(&self, v: usize, _: &mut Scratch) -> Result<usize> {
        let bytes = self.0.gathered_bytes(&self.rows(v));
        bytes
            .map(|bytes| bytes as usize)
            .ok_or_else(|| Error::corrupt(format!("no vector {v}")))
    }

    fn vector(
        &self,
        v: usize,
        _: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        let written = self.0.gather(&self.rows(v), lengths, out);
        written.ok_or_else(|| Error::corrupt(format!("strings of vector {v} longer than declared")))
    }

    fn take(&self, rows: &[u32], _: &mut Scratch, out: &mut Appended) -> Result<()> {
        let worst = rows.last().copied().unwrap_or(0);
        let bytes = self
            .0
            .gathered_bytes(rows)
            .ok_or_else(|| no_row(worst, self.0.len()))?;
        out.push_all(rows.len(), bytes as usize, |lengths, out| {
            self.0.gather(rows, lengths, out)
        })
    }
}

struct Bits(Bitmap);

impl BitsDecoder for Bits {
    fn bits(&self) -> Result<Bitmap> {
        Ok(self.0.clone())
    }
}
