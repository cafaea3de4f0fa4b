//! Narrow: wide integers (decimals) that all fit into 64 bits, as 64-bit integers.
//!
//! ```text
//! child: values (u64, two's complement); the node's own type is 128 or 256 bits, sign-extended
//! ```
#![deny(clippy::indexing_slicing)]

use staffa_kernels::U256;

use super::Encoding;
use crate::choose::{Cascade, Stats};
use crate::decode::{AnyDecoder, Decoder, OpenContext, Scratch};
use crate::error::{Error, Result};
use crate::node::{Node, NodeRef};
use crate::values::{Kind, PhysicalType, Values};

/// See the [module](self).
pub struct Narrow;

impl Encoding for Narrow {
    fn id(&self) -> u8 {
        10
    }

    fn name(&self) -> &'static str {
        "narrow"
    }

    fn about(&self) -> &'static str {
        "128- and 256-bit integers that fit into 64 bits, as such"
    }

    fn roles(&self) -> &'static [&'static str] {
        &["values"]
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        kind == Kind::Signed && matches!(ty, PhysicalType::U128 | PhysicalType::U256)
    }

    fn estimate(&self, values: Values<'_>, _: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<usize>> {
        let Some(narrow) = narrow(values) else { return Ok(None) };
        Ok(Some(6 + cascade.estimate_child(Values::U64(&narrow), Kind::Signed)?))
    }

    fn encode(&self, values: Values<'_>, _: &Stats<'_>, cascade: &Cascade<'_>) -> Result<Option<Node>> {
        let Some(narrow) = narrow(values) else { return Ok(None) };
        let child = cascade.child(Values::U64(&narrow), Kind::Signed)?;
        let (ty, len) = (values.physical_type(), values.len());
        Ok(Some(Node { encoding: 10, ty, len, payload: vec![], children: vec![child] }))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(1)?;
        node.cursor().finish("payload")?;
        let values = cx.open_words::<u64>(node.child(0, "values", PhysicalType::U64, node.len)?)?;
        match node.ty {
            PhysicalType::U128 => Ok(AnyDecoder::U128(Box::new(Widened { values }))),
            PhysicalType::U256 => Ok(AnyDecoder::U256(Box::new(Widened { values }))),
            other => Err(Error::corrupt(format!("128 or 256 bits expected, found {other:?}"))),
        }
    }
}

fn narrow(values: Values<'_>) -> Option<Vec<u64>> {
    match values {
        Values::U128(words) => words.iter().map(|&w| i64::try_from(w as i128).ok().map(|v| v as u64)).collect(),
        Values::U256(words) => words.iter().map(|w| (U256::widen(w.0[0]) == *w).then_some(w.0[0])).collect(),
        _ => None,
    }
}

/// Words that a 64-bit integer extends to.
trait Widen {
    fn widen(value: u64) -> Self;
}

impl Widen for u128 {
    fn widen(value: u64) -> Self {
        i128::from(value as i64) as Self
    }
}

impl Widen for U256 {
    fn widen(value: u64) -> Self {
        let sign = ((value as i64) >> 63) as u64;
        Self([value, sign, sign, sign])
    }
}

struct Widened<'a> {
    values: Box<dyn Decoder<u64> + 'a>,
}

impl<T: Widen> Decoder<T> for Widened<'_> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let mut buffer = cx.take_u64();
        let narrow = buffer.get_mut(..out.len()).unwrap_or_default();
        self.values.vector(v, cx, narrow)?;
        out.iter_mut().zip(narrow).for_each(|(wide, narrow)| *wide = T::widen(*narrow));
        cx.give_u64(buffer);
        Ok(())
    }
}

crate::conformance!(Narrow);
