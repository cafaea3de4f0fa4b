//! Difference: the values less those of another column in the same rows.
//!
//! ```text
//! payload = stream of the other column: u8 (0 its values, 1 the first child of their root, 2 its validity)
//! child: differences, signed; of bits: where the two differ
//! ```
//!
//! Equal columns have differences of 0. Digits of ALP and codes of dictionaries may be told so as well as integers, and
//! validity by validity.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::VECTOR;

use super::Encoding;
use crate::bitmap::Bitmap;
use crate::choose::{Cascade, Stats};
use crate::decode::{AnyDecoder, BitsDecoder, Decoder, Integer, OpenContext, Physical, Scratch, for_ints};
use crate::error::{Error, Result};
use crate::node::{Node, NodeRef};
use crate::source::{StreamOf, Words};
use crate::values::{Kind, PhysicalType, Values};

/// See the [module](self).
pub struct Difference;

impl Encoding for Difference {
    fn id(&self) -> u8 {
        20
    }

    fn name(&self) -> &'static str {
        "difference"
    }

    fn about(&self) -> &'static str {
        "integers less those of another column, validity where it differs from that of another"
    }

    fn roles(&self) -> &'static [&'static str] {
        &["differences"]
    }

    fn accepts(&self, ty: PhysicalType, _: Kind) -> bool {
        ty == PhysicalType::Bits || ty.width_bytes().is_some_and(|bytes| bytes <= 8)
    }

    fn needs_source(&self) -> bool {
        true
    }

    fn encode(&self, values: Values<'_>, _: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<Node>> {
        let Some(source) = cascade.source().filter(|s| s.words.len() == values.len()) else { return Ok(None) };
        if let (Values::Bits(bits), Values::Bits(others)) = (values, source.words) {
            let child = cascade.child(Values::Bits(&bits.differing(others)), Kind::Unsigned)?;
            let (payload, ty) = (vec![source.from as u8], PhysicalType::Bits);
            return Ok(Some(Node { encoding: self.id(), ty, len: bits.len(), payload, children: vec![child] }));
        }
        for_ints!(values.physical_type(), T => {
            let (Some(words), Some(others)) = (T::slice(values), T::slice(source.words)) else { return Ok(None) };
            let differences: Vec<T> = words.iter().zip(others).map(|(a, b)| a.wrapping_sub(*b)).collect();
            let child = cascade.child(T::values(&differences), Kind::Signed)?;
            let payload = vec![source.from as u8];
            Ok(Some(Node { encoding: self.id(), ty: T::TYPE, len: words.len(), payload, children: vec![child] }))
        }, _ => Ok(None))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(1)?;
        let mut cursor = node.cursor();
        let from = StreamOf::from_byte(cursor.u8()?)?;
        cursor.finish("payload")?;
        if node.ty == PhysicalType::Bits {
            let differences = cx.open_bits(node.child(0, "differences", node.ty, node.len)?)?.bits()?;
            let others = cx.source()?.bits(from, node.len)?;
            return Ok(AnyDecoder::Bits(Box::new(Bits(differences.differing(&others)))));
        }
        for_ints!(node.ty, T => {
            let child = node.child(0, "differences", node.ty, node.len)?;
            let others = cx.source()?.open::<T>(from, node.len)?;
            Ok(T::wrap(Box::new(Differences { others, differences: cx.open_words::<T>(child)? })))
        }, other => Err(Error::corrupt(format!("integers expected, found {other:?}"))))
    }
}

struct Bits(Bitmap);

impl BitsDecoder for Bits {
    fn bits(&self) -> Result<Bitmap> {
        Ok(self.0.clone())
    }
}

struct Differences<'a, T> {
    others: Words<'a, T>,
    differences: Box<dyn Decoder<T> + 'a>,
}

impl<T: Integer> Decoder<T> for Differences<'_, T> {
    fn len(&self) -> usize {
        self.differences.len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        self.differences.vector(v, cx, out)?;
        let mut buffer = [T::ZERO; VECTOR];
        let others = buffer.get_mut(..out.len()).unwrap_or_default();
        self.others.vector(v, cx, others)?;
        out.iter_mut().zip(others).for_each(|(out, other)| *out = out.wrapping_add(*other));
        Ok(())
    }
}

crate::conformance!(Difference);
