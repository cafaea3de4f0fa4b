//! Plain: the values as they are.
//!
//! ```text
//! words:        payload = little-endian words
//! byte strings: payload = contents | child: lengths (u32)
//! ```
//!
//! A vector of strings needs the bytes before it: their sums per vector are made at open.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::borrow::Cow;

use staffa_kernels::{VECTOR, Word as _, as_bytes, copy_from_le, sum_u32};

use crate::decode::{
    AnyDecoder, Appended, BytesDecoder, Decodable, Decoder, OpenContext, Scratch, StringVector,
    by_vector, take_each,
};
use crate::encode::{Chooser, Encoding, Info, PointAccess, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{Kind, Physical, PhysicalType, Values, for_words, vector_len};

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
        let mut node = Node {
            encoding: 0,
            ty: values.physical_type(),
            len: values.len(),
            payload: vec![],
            children: vec![],
        };
        match values {
            Values::Bytes(strings) => {
                node.payload = strings.contents().to_vec();
                node.children.push(chooser.lengths(&strings.lengths())?);
            }
            Values::Bits(_) => return Ok(None),
            words => for_words!(words.physical_type(), T => {
                node.payload.extend_from_slice(as_bytes(T::slice(words).unwrap_or_default()));
            }, _ => return Ok(None)),
        }
        Ok(Some(node))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        if node.ty == PhysicalType::Bytes {
            node.expect_children(1)?;
            let lengths =
                cx.open_words::<u32>(node.child(0, "lengths", PhysicalType::U32, node.len)?)?;
            let starts = starts_within(lengths.as_ref(), node.payload.len() as u64)?;
            if starts.last().copied().unwrap_or(0) as usize != node.payload.len() {
                return Err(Error::corrupt(format!(
                    "lengths that add up to {} expected",
                    node.payload.len()
                )));
            }
            return Ok(AnyDecoder::Bytes(Box::new(PlainBytes {
                contents: Cow::Borrowed(node.payload),
                lengths,
                starts,
            })));
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

/// Byte offset of every vector's first string, and the end; the lengths must add up to at most
/// `most`.
pub(crate) fn starts_within(lengths: &dyn Decoder<u32>, most: u64) -> Result<Vec<u32>> {
    let mut cx = Scratch::default();
    let mut buffer = cx.take_u32();
    let (mut starts, mut sum) = (vec![0u32], 0u64);
    for v in 0..lengths.len().div_ceil(VECTOR) {
        let out = buffer
            .get_mut(..vector_len(lengths.len(), v))
            .unwrap_or_default();
        lengths.vector(v, &mut cx, out)?;
        sum += sum_u32(out);
        starts.push(u32::try_from(sum).unwrap_or(u32::MAX));
    }
    if sum > most.min(u64::from(u32::MAX)) {
        return Err(Error::corrupt(format!(
            "lengths that add up to at most {most} expected, found {sum}"
        )));
    }
    Ok(starts)
}

/// Words as little-endian bytes, as many as there are.
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
        let bytes = self
            .bytes
            .get(start..start + out.len() * T::BYTES)
            .unwrap_or_default();
        if !copy_from_le(bytes, out) {
            return Err(Error::corrupt(format!("no vector {v}")));
        }
        Ok(())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        take_each(self, rows, cx, out, |v, i| {
            T::read_le(self.bytes.get((v * VECTOR + i) * T::BYTES..)?)
        })
    }
}

/// Strings one after another, with where those of every vector begin.
pub(super) struct PlainBytes<'a> {
    pub contents: Cow<'a, [u8]>,
    pub lengths: Box<dyn Decoder<u32> + 'a>,
    pub starts: Vec<u32>,
}

impl PlainBytes<'_> {
    fn range(&self, v: usize) -> &[u8] {
        match self.starts.get(v..v + 2) {
            Some(&[start, end]) => self
                .contents
                .get(start as usize..end as usize)
                .unwrap_or_default(),
            _ => &[],
        }
    }
}

impl BytesDecoder for PlainBytes<'_> {
    fn len(&self) -> usize {
        self.lengths.len()
    }

    fn lengths(&self) -> Option<&dyn Decoder<u32>> {
        Some(self.lengths.as_ref())
    }

    fn vector_bytes(&self, v: usize, _: &mut Scratch) -> Result<usize> {
        Ok(self.range(v).len())
    }

    fn vector(
        &self,
        v: usize,
        cx: &mut Scratch,
        lengths: &mut [u32],
        out: &mut [u8],
    ) -> Result<usize> {
        self.lengths.vector(v, cx, lengths)?;
        let bytes = self.range(v);
        let out = out
            .get_mut(..bytes.len())
            .ok_or_else(|| Error::corrupt("strings longer than declared"))?;
        out.copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut Appended) -> Result<()> {
        let mut buffer = cx.take_u32();
        for (v, rows) in by_vector(rows) {
            let lengths = buffer
                .get_mut(..vector_len(self.lengths.len(), v))
                .unwrap_or_default();
            self.lengths.vector(v, cx, lengths)?;
            let bytes = self.range(v);
            out.push_rows(rows, StringVector { lengths, bytes })?;
        }
        cx.give_u32(buffer);
        Ok(())
    }
}

crate::conformance!(Plain);
