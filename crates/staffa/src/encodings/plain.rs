//! Plain: the values as they are.
//!
//! ```text
//! words:        payload = little-endian words
//! byte strings: payload = contents | child: lengths (u32)
//! ```
//!
//! Where the strings of a vector begin is the sum of all lengths before: computed at open.

use std::borrow::Cow;
use std::ops::Range;

use staffa_kernels::{Word as _, as_bytes, copy_from_le};

use super::lengths::{Contents, MeasuredStrings, StringLengths};
use super::prelude::*;
use crate::decode::{Appended, StringVector, by_vector, take_each};
use crate::encode::rough_bytes;
use crate::values::{for_values, for_words};

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
        _: &Stats<'_>,
        _: &Chooser<'_>,
    ) -> Result<Option<usize>> {
        let lengths = match values {
            Values::Bytes(strings) => rough_bytes(Values::U32(&strings.lengths())),
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
            let (bytes, total) = (contents.len(), lengths.total());
            corrupt_if!(
                total != bytes,
                "lengths that add up to {bytes} expected, found {total}"
            );
            return strings(MeasuredStrings { contents, lengths });
        }
        node.expect_children(0)?;
        for_words!(node.ty, T => {
            let (bytes, found) = (node.len * T::BYTES, node.payload.len());
            corrupt_if!(found != bytes, "{bytes} bytes expected, found {found}");
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
impl Contents for Cow<'_, [u8]> {
    fn vector(
        &self,
        _: usize,
        span: Range<usize>,
        _: &mut Scratch,
        out: &mut [u8],
    ) -> Result<usize> {
        let bytes = within(self, span)?;
        places(out, bytes.len())?.copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn take(
        strings: &MeasuredStrings<'_, Self>,
        rows: &[u32],
        cx: &mut Scratch,
        out: &mut Appended,
    ) -> Result<()> {
        by_vector(rows).try_for_each(|(v, rows)| {
            strings.lengths.with_vector(v, cx, |_, lengths| {
                let bytes = within(&strings.contents, strings.lengths.span(v)?)?;
                out.push_rows(rows, StringVector { lengths, bytes })
            })
        })
    }
}

crate::conformance!(Plain);
