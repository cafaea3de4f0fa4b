//! Stream VByte: the widths of four integers in a control byte, apart from their bytes (Lemire, Kurz
//! and Rupp: Stream VByte, 2018). By name only, for comparison.
//!
//! ```text
//! payload = as in vbyte; a vector = control: u8 for every four values, two bits each, the first lowest | bytes
//! ```
//!
//! Two bits stand for 1, 2, 3 and 4 bytes, in types of 64 bits for 1, 2, 4 and 8.

use super::prelude::*;
use super::vbyte;

/// Bytes of an integer by the two bits of its control, and the same for types of 64 bits.
const NARROW: [usize; 4] = [1, 2, 3, 4];
const WIDE: [usize; 4] = [1, 2, 4, 8];

/// See the [module](self).
pub struct StreamVbyte;

impl Encoding for StreamVbyte {
    fn info(&self) -> &Info {
        &Info {
            id: 28,
            name: "stream_vbyte",
            about: "integers in as many bytes as they need, widths apart from bytes",
            availability: Availability::ByName,
            decode_picos: 2700,
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
        let widths = if values.physical_type() == PhysicalType::U64 {
            WIDE
        } else {
            NARROW
        };
        vbyte::encode(self, values, stats.kind(), |words, out| {
            let mut bytes: Vec<u8> = Vec::new();
            for four in words.chunks(4) {
                let mut control = 0;
                for (i, word) in four.iter().enumerate() {
                    let needed = (64 - word.leading_zeros()).div_ceil(8).max(1) as usize;
                    let code = widths.iter().take_while(|width| **width < needed).count();
                    control |= (code as u8) << (2 * i);
                    bytes.extend(word.to_le_bytes().iter().take(width_of(code as u8, widths)));
                }
                out.push(control);
            }
            out.extend(bytes);
        })
    }

    fn open<'a>(&self, node: &NodeRef<'a>, _: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        let wide = node.ty == PhysicalType::U64;
        vbyte::open(
            node,
            if wide {
                |b, out| unpack(b, &WIDE, out)
            } else {
                |b, out| unpack(b, &NARROW, out)
            },
        )
    }
}

/// The width that the two low bits of `code` stand for.
fn width_of(code: u8, [a, b, c, d]: [usize; 4]) -> usize {
    match code & 3 {
        0 => a,
        1 => b,
        2 => c,
        _ => d,
    }
}

fn unpack(bytes: &[u8], widths: &[usize; 4], out: &mut [u64]) -> Result<()> {
    let short = || Error::corrupt("a vector of fewer bytes than its widths say");
    let (control, mut bytes) = bytes
        .split_at_checked(out.len().div_ceil(4))
        .ok_or_else(short)?;
    for (four, control) in out.chunks_mut(4).zip(control) {
        for (i, place) in four.iter_mut().enumerate() {
            let width = width_of(control >> (2 * i), *widths);
            let (word, rest) = bytes.split_at_checked(width).ok_or_else(short)?;
            *place = little_endian(word);
            bytes = rest;
        }
    }
    if bytes.is_empty() {
        Ok(())
    } else {
        Err(Error::corrupt("bytes behind the last integer of a vector"))
    }
}

crate::conformance!(StreamVbyte);
