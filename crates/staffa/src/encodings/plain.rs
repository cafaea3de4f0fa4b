//! Plain: the values as they are.
//!
//! ```text
//! words:        payload = little-endian words
//! byte strings: payload = contents | child: lengths (u32)
//! ```
//!
//! Where the strings of a vector begin is the sum of all lengths before: computed at open.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::borrow::Cow;

use staffa_kernels::{VECTOR, Word as _, as_bytes, copy_from_le};

use super::common::{node, strings, within};
use super::lengths::StringLengths;
use crate::decode::{
    AnyDecoder, Appended, BytesDecoder, Decodable, Decoder, OpenContext, Scratch, StringVector,
    by_vector, take_each,
};
use crate::encode::{Chooser, Encoding, Info, PointAccess, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{Kind, PhysicalType, Values, for_values, for_words};

/// See the [module](self).
pub struct Plain;

impl Encoding for Plain {
    fn info(&self) -> &Info {
        &Info {
            id: 0,
            name: "plain",
            about: "the values as they are",
            child_names: &["lengths"],
            terminal: true,
            point_access: PointAccess::Value,
            decode_picos: 50,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty != PhysicalType::Bits
    }

    fn estimate(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let lengths = match values {
            Values::Bytes(strings) => chooser.estimate_lengths(strings, stats)?,
            _ => 0,
        };
        Ok(Some(8 + values.plain_bytes() + lengths))
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        match values {
            Values::Bits(_) => Ok(None),
            Values::Bytes(strings) => {
                let lengths = chooser.lengths(&strings.lengths())?;
                node(self, values, strings.contents().to_vec(), vec![lengths])
            }
            words => node(self, values, word_bytes(words).to_vec(), vec![]),
        }
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        if node.ty == PhysicalType::Bytes {
            let contents = Cow::Borrowed(node.payload);
            let lengths = StringLengths::open(node, cx, contents.len() as u64)?;
            if lengths.total() != contents.len() {
                return Err(Error::corrupt(format!(
                    "lengths that add up to {} expected, found {}",
                    contents.len(),
                    lengths.total()
                )));
            }
            return strings(PlainBytes { contents, lengths });
        }
        node.expect_children(0)?;
        for_words!(node.ty, T => {
            if node.payload.len() != node.len * T::BYTES {
                return Err(Error::corrupt(format!(
                    "{} bytes expected, found {}", node.len * T::BYTES, node.payload.len()
                )));
            }
            Ok(T::wrap(Box::new(PlainWords { bytes: Cow::Borrowed(node.payload), len: node.len })))
        }, _ => Err(Error::corrupt("plain holds no bits")))
    }
}

/// Little-endian bytes of words; none of bits and byte strings.
pub(super) fn word_bytes(values: Values<'_>) -> &[u8] {
    for_values!(values, words(words) => as_bytes(words), bits(_) => &[], bytes(_) => &[])
}

/// Words as little-endian bytes.
pub(super) struct PlainWords<'a> {
    pub bytes: Cow<'a, [u8]>,
    pub len: usize,
}

impl<T: Decodable> Decoder<T> for PlainWords<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn vector(&self, v: usize, _: &mut Scratch, out: &mut [T]) -> Result<()> {
        let start = v * VECTOR * T::BYTES;
        let bytes = within(&self.bytes, start..start + out.len() * T::BYTES)?;
        if !copy_from_le(bytes, out) {
            return Err(Error::internal(format!("bytes of vector {v} expected")));
        }
        Ok(())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        take_each(self, rows, cx, out, |v, i| {
            T::read_le(self.bytes.get((v * VECTOR + i) * T::BYTES..)?)
        })
    }
}

/// Strings one after another.
pub(super) struct PlainBytes<'a> {
    pub contents: Cow<'a, [u8]>,
    pub lengths: StringLengths<'a>,
}

impl PlainBytes<'_> {
    /// Strings of vector `v`.
    fn strings(&self, v: usize) -> Result<&[u8]> {
        within(&self.contents, self.lengths.span(v)?)
    }
}

impl BytesDecoder for PlainBytes<'_> {
    fn len(&self) -> usize {
        self.lengths.len()
    }

    fn lengths(&self) -> Option<&dyn Decoder<u32>> {
        Some(self.lengths.decoder())
    }

    fn vector_bytes(&self, v: usize, _: &mut Scratch) -> Result<usize> {
        Ok(self.lengths.span(v)?.len())
    }

    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        self.lengths.vector(v, cx, lengths)?;
        let bytes = self.strings(v)?;
        let out = out
            .get_mut(..bytes.len())
            .ok_or_else(|| Error::corrupt("strings longer than declared"))?;
        out.copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        let mut buffer = cx.take_u32();
        for (v, rows) in by_vector(rows) {
            let lengths = self.lengths.vector(v, cx, &mut buffer)?;
            let bytes = self.strings(v)?;
            out.push_rows(rows, StringVector { lengths, bytes })?;
        }
        cx.give_u32(buffer);
        Ok(())
    }
}

crate::conformance!(Plain);
