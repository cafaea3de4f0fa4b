//! Stream vbyte: the widths of four integers in a control byte, apart from their bytes (Lemire,
//! Kurz and Rupp: Stream `VByte`). By name only: it is here to compare with.
//!
//! ```text
//! payload = as in vbyte; a vector = control: u8 for every four values, two bits each, the first lowest | bytes
//! ```
//!
//! Two bits stand for 1, 2, 3 and 4 bytes, in types of 64 bits for 1, 2, 4 and 8.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use super::vbyte;
use crate::decode::{AnyDecoder, OpenContext};
use crate::encode::{Availability, Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{Kind, PhysicalType, Values};

/// Bytes by control.
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
        matches!(kind, Kind::Signed | Kind::Unsigned)
            && ty.width_bytes().is_some_and(|bytes| bytes <= 8)
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
        Ok(vbyte::encode(
            self.info().id,
            values,
            stats.kind(),
            |words, out| {
                let mut bytes: Vec<u8> = Vec::new();
                for four in words.chunks(4) {
                    let mut control = 0;
                    for (i, word) in four.iter().enumerate() {
                        let needed = (64 - word.leading_zeros()).div_ceil(8).max(1) as usize;
                        let (code, width) = widths
                            .iter()
                            .enumerate()
                            .find(|(_, width)| **width >= needed)
                            .unwrap_or((3, &8));
                        control |= (code as u8) << (2 * i);
                        bytes.extend(word.to_le_bytes().iter().take(*width));
                    }
                    out.push(control);
                }
                out.extend(bytes);
            },
        ))
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

fn unpack(bytes: &[u8], widths: &[usize; 4], out: &mut [u64]) -> Result<()> {
    let short = || Error::corrupt("a vector of fewer bytes than its widths say");
    let (control, mut bytes) = bytes
        .split_at_checked(out.len().div_ceil(4))
        .ok_or_else(short)?;
    for (four, control) in out.chunks_mut(4).zip(control) {
        for (i, place) in four.iter_mut().enumerate() {
            let width = widths
                .get(usize::from(control >> (2 * i) & 3))
                .copied()
                .unwrap_or(0);
            let (word, rest) = bytes.split_at_checked(width).ok_or_else(short)?;
            let mut le = [0; 8];
            le.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
            *place = u64::from_le_bytes(le);
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
