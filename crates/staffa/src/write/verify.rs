//! Verifying a block just written: it is decoded and compared with its input.

use staffa_kernels::VECTOR;

use super::block_input::BlockInput;
use super::chunk::{Reference, parse_references};
use crate::decode::{
    AnyDecoder, Block, Budget, Decoder, Scratch, SharedDictionary, decode_all_strings, for_decoder,
};
use crate::encodings::opener;
use crate::error::Result;
use crate::format::block;
use crate::limits::Limits;
use crate::values::{Physical, PhysicalType, Values};

/// What the blocks of a chunk are opened with.
pub(super) struct Verifier<'a> {
    pub ty: Option<PhysicalType>,
    pub shared: Vec<SharedDictionary>,
    pub references: &'a [Reference<'a>],
}

impl Verifier<'_> {
    /// Whether block `i` of a chunk decodes to its input.
    pub(super) fn is_same(&self, bytes: &[u8], i: usize, input: &BlockInput<'_>) -> Result<bool> {
        let opener = opener(Limits::default()).thorough();
        let parsed = block::parse(bytes, input.len, self.ty, &opener.limits)?;
        let references = parse_references(self.references, i, input.len, &opener.limits)?;
        let block = Block::open(&parsed, &self.shared, &references, &opener)?;
        if block.validity != input.validity {
            return Ok(false);
        }
        match (&block.values, input.values()) {
            (None, None) => Ok(true),
            (Some(decoder), Some(values)) => decodes_to(decoder, values, block.string_bytes),
            _ => Ok(false),
        }
    }
}

/// Whether a decoder yields these values.
fn decodes_to(decoder: &AnyDecoder<'_>, values: Values<'_>, string_bytes: usize) -> Result<bool> {
    for_decoder!(decoder,
        words(decoder) => decodes_to_words(decoder.as_ref(), values),
        bits(decoder) => match values {
            Values::Bits(bits) => Ok(&decoder.bits()? == bits),
            _ => Ok(false),
        },
        bytes(decoder) => {
            let Values::Bytes(strings) = values else {
                return Ok(false);
            };
            let mut budget = Budget::new(8 * decoder.len() as u64 + string_bytes as u64);
            let all = decode_all_strings(decoder.as_ref(), &mut budget, "strings")?;
            let lengths = all.ranges().map(|range| range.len() as u32);
            Ok(all.contents() == strings.contents() && lengths.eq(strings.lengths()))
        },
    )
}

fn decodes_to_words<T: Physical + Default>(
    decoder: &dyn Decoder<T>,
    values: Values<'_>,
) -> Result<bool> {
    let Some(words) = T::slice(values).filter(|words| words.len() == decoder.len()) else {
        return Ok(false);
    };
    let mut cx = Scratch::default();
    let mut found = vec![T::default(); VECTOR];
    for (v, expected) in words.chunks(VECTOR).enumerate() {
        found.truncate(expected.len());
        decoder.vector(v, &mut cx, &mut found)?;
        if found != expected {
            return Ok(false);
        }
    }
    Ok(true)
}
