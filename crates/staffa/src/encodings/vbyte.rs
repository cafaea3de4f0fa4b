//! Vbyte: seven bits of an integer to a byte, the highest bit set where more follow. By name only:
//! it is here to compare with.
//!
//! ```text
//! payload = zigzag: u8, 0 or 1 | per vector: its bytes u16 | the vectors
//! ```
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{Int as _, VECTOR};

use crate::decode::{AnyDecoder, Decodable, Decoder, Integer, OpenContext, Scratch};
use crate::encode::{Availability, Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{Kind, Physical, PhysicalType, Values, for_ints, vector_len};

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
        matches!(kind, Kind::Signed | Kind::Unsigned)
            && ty.width_bytes().is_some_and(|bytes| bytes <= 8)
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        _: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        Ok(encode(
            self.info().id,
            values,
            stats.kind(),
            |words, out| {
                for &word in words {
                    let mut left = word;
                    while left > 0x7f {
                        out.push(left as u8 | 0x80);
                        left >>= 7;
                    }
                    out.push(left as u8);
                }
            },
        ))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, _: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        open(node, unpack)
    }
}

/// The next words of a vector.
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
    id: u8,
    values: Values<'_>,
    kind: Kind,
    pack: impl Fn(&[u64], &mut Vec<u8>),
) -> Option<Node> {
    let signed = kind == Kind::Signed;
    for_ints!(values.physical_type(), T => {
        let words = T::slice(values).unwrap_or_default();
        let (mut payload, mut packed) = (vec![u8::from(signed)], Vec::new());
        for vector in words.chunks(VECTOR) {
            let vector: Vec<u64> =
                vector.iter().map(|w| if signed { w.zigzag().to_u64() } else { w.to_u64() }).collect();
            let before = packed.len();
            pack(&vector, &mut packed);
            payload.extend(((packed.len() - before) as u16).to_le_bytes());
        }
        payload.extend(packed);
        Some(Node { encoding: id, ty: T::TYPE, len: words.len(), payload, children: vec![] })
    }, _ => None)
}

/// Fills a vector from its bytes, all of them.
type Unpack = fn(&[u8], &mut [u64]) -> Result<()>;

/// Opens such a node.
pub(super) fn open<'a>(node: &NodeRef<'a>, unpack: Unpack) -> Result<AnyDecoder<'a>> {
    node.expect_children(0)?;
    let mut cursor = node.cursor();
    let signed = match cursor.u8()? {
        flag @ (0 | 1) => flag == 1,
        other => {
            return Err(Error::corrupt(format!(
                "zigzag of 0 or 1 expected, found {other}"
            )));
        }
    };
    let sizes = cursor.bytes(node.len.div_ceil(VECTOR) * 2)?;
    let size = |size: &[u8]| {
        size.iter()
            .rev()
            .fold(0, |size, byte| size << 8 | usize::from(*byte))
    };
    let vectors = sizes
        .chunks_exact(2)
        .map(|bytes| cursor.bytes(size(bytes)))
        .collect::<Result<Vec<_>>>()?;
    cursor.finish("vectors")?;
    for_ints!(node.ty, T => Ok(T::wrap(Box::new(Bytewise { len: node.len, signed, vectors, unpack }))),
        other => Err(Error::corrupt(format!("integers expected, found {other:?}"))))
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
        let bytes = self
            .vectors
            .get(v)
            .ok_or_else(|| Error::corrupt(format!("no vector {v}")))?;
        let mut buffer = cx.take_u64();
        let words = buffer
            .get_mut(..vector_len(self.len, v))
            .unwrap_or_default();
        (self.unpack)(bytes, words)?;
        for (place, word) in out.iter_mut().zip(words) {
            let word = T::from_u64(*word);
            *place = if self.signed { word.unzigzag() } else { word };
        }
        cx.give_u64(buffer);
        Ok(())
    }
}

crate::conformance!(Vbyte);
