//! Bit packing: every value in the same number of bits.
//!
//! ```text
//! payload = width: u8 | full vectors: 128 * width bytes each | tail: ceil(rows * width / 8) bytes
//! ```
//!
//! The layout of a vector is that of [`packed`](super::packed). Frame of reference is the same with
//! a base and a width per vector; this node costs one byte beside the bits.

use super::packed::{PackedVectors, pack_vector, packed_len};
use super::prelude::*;

/// See the [module](self).
pub struct BitPack;

impl Encoding for BitPack {
    fn info(&self) -> &Info {
        &Info {
            id: 2,
            name: "bitpack",
            about: "unsigned integers in as many bits as the largest needs",
            point_access: PointAccess::Value,
            decode_picos: 100,
            bits: crate::encode::Bits::Same,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        kind != Kind::Float && fits_u64(ty)
    }

    fn estimate(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        _: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        encode_ints!(values, words => Ok(Some(8 + packed_len(words.len(), width_of(words)))))
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        encode_ints!(values, words => node(self, values, encode(words, chooser), vec![]))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, _: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(0)?;
        open_ints!(node, T => open::<T>(node))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        first_byte(node, "bits")
    }
}

/// Bits that the largest value needs.
fn width_of<T: Integer>(values: &[T]) -> u32 {
    let all = values.iter().fold(0, |all, v| all | v.to_u64());
    64 - all.leading_zeros()
}

fn encode<T: Integer>(words: &[T], chooser: &Chooser<'_>) -> Vec<u8> {
    let width = width_of(words);
    if chooser.is_trial() {
        return vec![0; (words.len() * width as usize).div_ceil(8)];
    }
    let mut payload = Vec::with_capacity(1 + packed_len(words.len(), width));
    payload.push(width as u8);
    words
        .chunks(VECTOR)
        .for_each(|vector| pack_vector(vector, width, &mut payload));
    payload
}

fn open<'a, T: Integer>(node: &NodeRef<'a>) -> Result<AnyDecoder<'a>> {
    let mut cursor = node.cursor();
    let (width, most) = (u32::from(cursor.u8()?), T::BITS);
    corrupt_if!(
        width > most,
        "width of at most {most} bits expected, found {width}"
    );
    let vectors = PackedVectors::read(&mut cursor, node.len, width)?;
    cursor.finish("packed values")?;
    Ok(<T as Decodable>::wrap(Box::new(vectors)))
}

crate::conformance!(BitPack);
