//! VByte: seven bits of an integer to a byte, the highest bit set where more follow. By name only,
//! for comparison.
//!
//! ```text
//! payload = zigzag: u8, 0 or 1 | per vector: its bytes u16 | the vectors
//! ```

use super::prelude::*;
use crate::format::put_varint;

/// See the [module](self).
pub struct Vbyte;

impl Encoding for Vbyte {
    fn info(&self) -> &Info {
        &Info {
            id: 27,
            name: "vbyte",
            about: "integers in as many bytes as they need, seven bits to a byte",
            availability: Availability::ByName,
            decode_picos: 1200,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        is_integer(ty, kind)
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        _: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        encode(self, values, stats.kind(), |words, out| {
            words.iter().for_each(|word| put_varint(out, *word));
        })
    }

    fn open<'a>(&self, node: &NodeRef<'a>, _: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        open(node, unpack)
    }
}

/// Fills a vector from its bytes.
fn unpack(bytes: &[u8], out: &mut [u64]) -> Result<()> {
    let mut bytes = bytes.iter();
    for place in out {
        let (mut word, mut shift) = (0u64, 0u32);
        loop {
            let Some(byte) = bytes.next().filter(|_| shift < 64) else {
                return Err(Error::corrupt("an integer that does not end"));
            };
            word |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if *byte < 0x80 {
                break;
            }
        }
        *place = word;
    }
    if bytes.next().is_some() {
        Err(Error::corrupt("bytes behind the last integer of a vector"))
    } else {
        Ok(())
    }
}

/// The node of integers whose vectors `pack` turns into bytes.
pub(super) fn encode(
    encoding: &dyn Encoding,
    values: Values<'_>,
    kind: Kind,
    pack: impl Fn(&[u64], &mut Vec<u8>),
) -> Result<Option<Node>> {
    let signed = kind == Kind::Signed;
    encode_ints!(values, words => {
        let (mut payload, mut packed) = (vec![u8::from(signed)], Vec::new());
        for vector in words.chunks(VECTOR) {
            let wide = |w: &_| widened(*w, signed);
            let vector: Vec<u64> = vector.iter().map(wide).collect();
            let before = packed.len();
            pack(&vector, &mut packed);
            payload.extend(((packed.len() - before) as u16).to_le_bytes());
        }
        payload.extend(packed);
        node(encoding, values, payload, vec![])
    })
}

fn widened<T: Integer>(word: T, signed: bool) -> u64 {
    if signed {
        word.zigzag().to_u64()
    } else {
        word.to_u64()
    }
}

/// Fills a vector from its bytes, all of them.
type Unpack = fn(&[u8], &mut [u64]) -> Result<()>;

/// Opens a node of integers whose vectors `unpack` reads.
pub(super) fn open<'a>(node: &NodeRef<'a>, unpack: Unpack) -> Result<AnyDecoder<'a>> {
    node.expect_children(0)?;
    let mut cursor = node.cursor();
    let signed = read_flag(&mut cursor)?;
    let mut sizes = Cursor::new(cursor.bytes(node.len.div_ceil(VECTOR) * 2)?);
    let mut vectors = Vec::new();
    while sizes.remaining() > 0 {
        vectors.push(cursor.bytes(sizes.u16()?.into())?);
    }
    cursor.finish("vectors")?;
    let decoder = Bytewise {
        len: node.len,
        signed,
        vectors,
        unpack,
    };
    open_ints!(node, T => Ok(<T as Decodable>::wrap(Box::new(decoder))))
}

struct Bytewise<'a> {
    len: usize,
    signed: bool,
    vectors: Vec<&'a [u8]>,
    unpack: Unpack,
}

impl<T: Integer> Decoder<T> for Bytewise<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let bytes = of_vector(&self.vectors, v)?;
        cx.with(out.len(), |_, words| {
            (self.unpack)(bytes, words)?;
            for (place, word) in out.iter_mut().zip(words) {
                let word = T::from_u64(*word);
                *place = if self.signed { word.unzigzag() } else { word };
            }
            Ok(())
        })
    }
}

crate::conformance!(Vbyte);
