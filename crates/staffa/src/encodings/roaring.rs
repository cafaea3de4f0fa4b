//! Roaring: the positions of the rarer bit, in the portable format of Roaring bitmaps.
//!
//! ```text
//! payload = the bit whose positions are stored: u8, 0 or 1 | a serialised Roaring bitmap of 32-bit positions
//! ```
//!
//! Chambi, Lemire, Kaser, Godin: Better bitmap performance with Roaring bitmaps (2016). BtrBlocks
//! has it for NULLs and exceptions (section 2.2).
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use roaring::RoaringBitmap;

use super::common::node;
use crate::decode::{AnyDecoder, OpenContext};
use crate::encode::{Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{Bitmap, Kind, PhysicalType, Values};

/// See the [module](self).
pub struct Roaring;

impl Encoding for Roaring {
    fn info(&self) -> &Info {
        &Info {
            id: 12,
            name: "roaring",
            about: "positions of the rarer bit as a Roaring bitmap, for booleans and validity",
            decode_picos: 5,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty == PhysicalType::Bits
    }

    fn is_viable(&self, values: Values<'_>, _: &Stats<'_>) -> bool {
        let Values::Bits(bits) = values else {
            return false;
        };
        // A position takes 16 bits in an array container.
        let ones = bits.count_ones();
        ones.min(bits.len() - ones) * 16 < bits.len()
    }

    fn encode(&self, values: Values<'_>, _: &Stats<'_>, _: &Chooser<'_>) -> Result<Option<Node>> {
        let Values::Bits(bits) = values else {
            return Ok(None);
        };
        let rarer = bits.count_ones() * 2 <= bits.len();
        let mut set = RoaringBitmap::new();
        if rarer {
            set.extend(bits.ones());
        } else {
            set.extend((0..bits.len() as u32).filter(|&i| !bits.get(i as usize)));
        }
        let mut payload = vec![u8::from(rarer)];
        set.serialize_into(&mut payload)?;
        node(self, values, payload, vec![])
    }

    fn open<'a>(&self, node: &NodeRef<'a>, _: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(0)?;
        let mut cursor = node.cursor();
        let stored = cursor.u8()?;
        if stored > 1 || node.ty != PhysicalType::Bits {
            return Err(Error::corrupt(format!(
                "positions of bit 0 or 1 expected, found {stored}"
            )));
        }
        let mut rest = cursor.bytes(cursor.remaining())?;
        let set = RoaringBitmap::deserialize_from(&mut rest)
            .map_err(|e| Error::corrupt(format!("a Roaring bitmap expected: {e}")))?;
        if !rest.is_empty() {
            return Err(Error::corrupt(format!(
                "the Roaring bitmap ends {} bytes before the payload",
                rest.len()
            )));
        }
        if let Some(max) = set.max().filter(|&max| max as usize >= node.len) {
            return Err(Error::corrupt(format!(
                "positions below {} expected, found {max}",
                node.len
            )));
        }
        let mut bits = Bitmap::filled(node.len, stored == 0);
        set.iter()
            .for_each(|position| bits.set(position as usize, stored == 1));
        Ok(AnyDecoder::Bits(Box::new(bits)))
    }
}

crate::conformance!(Roaring);
