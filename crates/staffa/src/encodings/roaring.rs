//! Roaring: the positions of the rarer bit, in the portable format of Roaring bitmaps.
//!
//! ```text
//! payload = the bit whose positions are stored: u8, 0 or 1 | a serialised Roaring bitmap of 32-bit positions
//! ```
//!
//! Chambi, Lemire, Kaser, Godin: Better bitmap performance with Roaring bitmaps (2016). BtrBlocks
//! has it for NULLs and exceptions (section 2.2).

use super::prelude::*;
use roaring::RoaringBitmap;

/// The cookie of a bitmap without containers of runs.
const NO_RUNS: u32 = 12346;

/// See the [module](self).
pub struct Roaring;

impl Encoding for Roaring {
    fn info(&self) -> &Info {
        &Info {
            id: 12,
            name: "roaring",
            about: "positions of the rarer bit as a Roaring bitmap, for booleans and validity",
            decode_picos: 5,
            bits: crate::encode::Bits::Fewer,
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
        let bits = bits_of(values)?;
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
        let stored = read_flag(&mut cursor)?;
        corrupt_if!(
            node.ty != PhysicalType::Bits,
            "bits expected, found {:?}",
            node.ty
        );
        let mut rest = cursor.bytes(cursor.remaining())?;
        let set = RoaringBitmap::deserialize_from(&mut rest)
            .map_err(|e| Error::corrupt(format!("a Roaring bitmap expected: {e}")))?;
        corrupt_if!(
            !rest.is_empty(),
            "{} bytes behind the Roaring bitmap",
            rest.len()
        );
        let declared = cardinality(node.payload.get(1..).unwrap_or_default())?;
        corrupt_if!(
            declared != set.len(),
            "{declared} positions expected, found {}",
            set.len()
        );
        let (len, end) = (node.len, set.max().map_or(0, |max| max as usize + 1));
        corrupt_if!(
            end > len,
            "positions below {len} expected, found {}",
            end - 1
        );
        let mut bits = Bitmap::filled(len, !stored);
        set.iter()
            .for_each(|position| bits.set(position as usize, stored));
        Ok(AnyDecoder::Bits(Box::new(bits)))
    }
}

/// Positions of a Roaring bitmap by the descriptions of its containers: the library does not compare
/// them with the runs.
fn cardinality(bitmap: &[u8]) -> Result<u64> {
    let mut cursor = Cursor::new(bitmap);
    let cookie = cursor.u32()?;
    let containers = if cookie == NO_RUNS {
        cursor.u32()?
    } else {
        let containers = (cookie >> 16) + 1;
        cursor.bytes(containers.div_ceil(8) as usize)?;
        containers
    };
    let mut positions = 0;
    for _ in 0..containers {
        cursor.u16()?;
        positions += u64::from(cursor.u16()?) + 1;
    }
    Ok(positions)
}

crate::conformance!(Roaring);
