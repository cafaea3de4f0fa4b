//! Bitmap: one bit per value.
//!
//! ```text
//! payload = ceil(values / 8) bytes, the lowest bit first; bits past the end are 0
//! ```

use super::prelude::*;
use crate::decode::BitsDecoder;

/// See the [module](self).
pub struct PlainBits;

impl Encoding for PlainBits {
    fn info(&self) -> &Info {
        &Info {
            id: 11,
            name: "bitmap",
            about: "one bit per value, for booleans and validity",
            point_access: PointAccess::Value,
            decode_picos: 5,
            bits: crate::encode::Bits::Same,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty == PhysicalType::Bits
    }

    fn encode(&self, values: Values<'_>, _: &Stats<'_>, _: &Chooser<'_>) -> Result<Option<Node>> {
        let bits = bits_of(values)?;
        let mut payload: Vec<u8> = bits
            .words()
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        payload.truncate(bits.len().div_ceil(8));
        node(self, values, payload, vec![])
    }

    fn open<'a>(&self, node: &NodeRef<'a>, _: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(0)?;
        let (ty, expected, found) = (node.ty, node.len.div_ceil(8), node.payload.len());
        corrupt_if!(ty != PhysicalType::Bits, "bits expected, found {ty:?}");
        corrupt_if!(
            found != expected,
            "{expected} bytes of bits expected, found {found}"
        );
        let past = (node.len % 8) as u32;
        let is_past = past > 0 && node.payload.last().is_some_and(|last| last >> past != 0);
        corrupt_if!(
            is_past,
            "bits past the end must be 0, after {} values",
            node.len
        );
        Ok(AnyDecoder::Bits(Box::new(Plain {
            bytes: node.payload,
            len: node.len,
        })))
    }
}

struct Plain<'a> {
    bytes: &'a [u8],
    len: usize,
}

impl BitsDecoder for Plain<'_> {
    fn bits(&self) -> Result<Bitmap> {
        Ok(Bitmap::from_bytes(self.bytes, 0, self.len))
    }
}

crate::conformance!(PlainBits);
