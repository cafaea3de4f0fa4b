//! Decoded blocks of the cache: more memory than encoded ones, and a row is read by a load.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use bytes::Bytes;
use staffa_kernels::{BytesDict, PoolVec, VECTOR};

use super::cache::{BlockSource, OpenBlock};
use crate::decode::{
    AnyDecoder, Appended, BitsDecoder, Block, Budget, BytesDecoder, Decodable, Decoder, Scratch,
    decode_all, decode_all_strings, for_decoder, no_code, no_row,
};
use crate::error::{Error, Result};
use crate::values::{Bitmap, vector_len};

/// A block of decoded values, which borrows from nothing.
pub(super) fn decode_block(block: &Block<'_>) -> Result<OpenBlock> {
    let validity = block.validity.as_ref();
    let mut held = validity.map_or(0, |validity| validity.words().len() * 8);
    let mut decode = |decoder: &AnyDecoder<'_>| {
        Ok::<_, Error>(for_decoder!(decoder,
            words(decoder) => words(decoder.as_ref(), &mut held)?,
            bits(decoder) => {
                let bits = decoder.bits()?;
                held += bits.words().len() * 8;
                AnyDecoder::Bits(Box::new(DecodedBits(bits)))
            },
            bytes(decoder) => {
                let mut budget = Budget::new(8 * decoder.len() as u64 + block.string_bytes as u64);
                let strings = decode_all_strings(decoder.as_ref(), &mut budget, "a block")?;
                held += strings.bytes();
                AnyDecoder::Bytes(Box::new(DecodedStrings(strings)))
            },
        ))
    };
    let values = block.values.as_ref().map(&mut decode).transpose()?;
    let source = BlockSource {
        bytes: Bytes::new(),
        references: Vec::new(),
        shared: Arc::default(),
    };
    OpenBlock::try_new(source, |_| {
        Ok(Block {
            len: block.len,
            validity: block.validity.clone(),
            values,
            compacted: block.compacted,
            string_bytes: block.string_bytes,
            held: held as u64,
        })
    })
}

fn words<T: Decodable>(decoder: &dyn Decoder<T>, held: &mut usize) -> Result<AnyDecoder<'static>> {
    let values = decode_all(decoder)?;
    *held += values.len() * T::BYTES;
    Ok(T::wrap(Box::new(DecodedWords(values))))
}

struct DecodedWords<T>(PoolVec<T>);

impl<T: Decodable> Decoder<T> for DecodedWords<T> {
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

struct DecodedStrings(BytesDict);

impl DecodedStrings {
    /// The rows of a vector.
    fn rows(&self, v: usize) -> Vec<u32> {
        let start = v * VECTOR;
        (start as u32..(start + vector_len(self.0.len(), v)) as u32).collect()
    }
}

impl BytesDecoder for DecodedStrings {
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
        let bytes = self.0.gathered_bytes(rows);
        let bytes = bytes.ok_or_else(|| no_code(rows, self.0.len()))?;
        out.push_all(rows.len(), bytes as usize, |lengths, out| {
            self.0.gather(rows, lengths, out)
        })
    }
}

struct DecodedBits(Bitmap);

impl BitsDecoder for DecodedBits {
    fn bits(&self) -> Result<Bitmap> {
        Ok(self.0.clone())
    }
}
