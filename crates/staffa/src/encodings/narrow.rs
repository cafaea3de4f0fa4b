//! Narrow: wide integers (decimals) of which most fit into 64 bits, as 64-bit integers; the others
//! as exceptions.
//!
//! ```text
//! child: values (u64, two's complement) | child: mask (bits, set where a row is an exception) | child: exceptions (words)
//! ```
//!
//! The node's own type is 128 or 256 bits, to which the values are sign-extended.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::U256;

use super::exceptions;
use super::exceptions::Exceptions;
use crate::decode::{
    Aggregator, AnyDecoder, Decodable, Decoder, Needs, OpenContext, Scratch, aggregate_vectors,
    sum_of,
};
use crate::encode::{Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{Bitmap, Kind, PhysicalType, Values};

/// See the [module](self).
pub struct Narrow;

impl Encoding for Narrow {
    fn info(&self) -> &Info {
        &Info {
            id: 10,
            name: "narrow",
            about: "128- and 256-bit integers as 64-bit ones where they fit, others as exceptions",
            child_names: &["values", "mask", "exceptions"],
            decode_picos: 100,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        kind == Kind::Signed && matches!(ty, PhysicalType::U128 | PhysicalType::U256)
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        match values {
            Values::U128(words) => encode(words, chooser),
            Values::U256(words) => encode(words, chooser),
            _ => Ok(None),
        }
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(3)?;
        node.cursor().finish("payload")?;
        let values =
            cx.open_words::<u64>(node.child(0, "values", PhysicalType::U64, node.len)?)?;
        match node.ty {
            PhysicalType::U128 => {
                let exceptions = Exceptions::<u128>::open(node, 1, 2, cx)?;
                Ok(AnyDecoder::U128(Box::new(Widened { values, exceptions })))
            }
            PhysicalType::U256 => {
                let exceptions = Exceptions::<U256>::open(node, 1, 2, cx)?;
                Ok(AnyDecoder::U256(Box::new(Widened { values, exceptions })))
            }
            other => Err(Error::corrupt(format!(
                "128 or 256 bits expected, found {other:?}"
            ))),
        }
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        node.children
            .get(2)
            .map(|exceptions| format!("{} exceptions", exceptions.len))
            .unwrap_or_default()
    }
}

fn encode<T: Widen>(words: &[T], chooser: &Chooser<'_>) -> Result<Option<Node>> {
    let (mut values, mut rows, mut exceptions) =
        (Vec::with_capacity(words.len()), Vec::new(), Vec::new());
    for &word in words {
        if T::widen(word.low()) == word {
            values.push(word.low());
        } else {
            rows.push(values.len() as u32);
            // The value before again: it costs the least.
            values.push(values.last().copied().unwrap_or(0));
            exceptions.push(word);
        }
    }
    if !chooser.must_encode() && rows.len() * 2 > words.len() {
        return Ok(None);
    }
    let children = vec![
        chooser.child(Values::U64(&values), Kind::Signed)?,
        exceptions::mask(words.len(), &rows, chooser)?,
        chooser.child(T::values(&exceptions), Kind::Opaque)?,
    ];
    Ok(Some(Node {
        encoding: 10,
        ty: T::TYPE,
        len: words.len(),
        payload: vec![],
        children,
    }))
}

/// Words that a 64-bit integer extends to.
trait Widen: Decodable {
    fn widen(value: u64) -> Self;
    fn low(self) -> u64;
}

impl Widen for u128 {
    fn widen(value: u64) -> Self {
        i128::from(value as i64) as Self
    }

    fn low(self) -> u64 {
        self as u64
    }
}

impl Widen for U256 {
    fn widen(value: u64) -> Self {
        let sign = ((value as i64) >> 63) as u64;
        Self([value, sign, sign, sign])
    }

    fn low(self) -> u64 {
        let [low, ..] = self.0;
        low
    }
}

struct Widened<'a, T> {
    values: Box<dyn Decoder<u64> + 'a>,
    exceptions: Exceptions<'a, T>,
}

impl<T: Widen> Decoder<T> for Widened<'_, T> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let mut buffer = cx.take_u64();
        let narrow = buffer.get_mut(..out.len()).unwrap_or_default();
        self.values.vector(v, cx, narrow)?;
        out.iter_mut()
            .zip(narrow)
            .for_each(|(wide, narrow)| *wide = T::widen(*narrow));
        cx.give_u64(buffer);
        self.exceptions.apply(v, out)
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let mut narrow = vec![0; rows.len()];
        self.values.take(rows, cx, &mut narrow)?;
        out.iter_mut()
            .zip(narrow)
            .for_each(|(wide, narrow)| *wide = T::widen(narrow));
        self.exceptions.apply_at(rows, cx, out)
    }

    fn aggregate(
        &self,
        rows: Option<&Bitmap>,
        into: &mut dyn Aggregator<T>,
        cx: &mut Scratch,
    ) -> Result<()> {
        if self.exceptions.is_empty() {
            return self.values.aggregate(rows, &mut Wide { into }, cx);
        }
        if into.needs() == Needs::InOrder {
            return aggregate_vectors(self, rows, into, cx);
        }
        let others = self.exceptions.aggregate(rows, into)?;
        self.values.aggregate(Some(&others), &mut Wide { into }, cx)
    }
}

/// Hands narrow values on as wide ones.
struct Wide<'f, T> {
    into: &'f mut dyn Aggregator<T>,
}

impl<T: Widen> Aggregator<u64> for Wide<'_, T> {
    fn needs(&self) -> Needs {
        match self.into.needs() {
            Needs::Sum(_) => Needs::Sum(Kind::Signed),
            other => other,
        }
    }

    fn values(&mut self, values: &[u64]) -> Result<()> {
        match self.into.needs() {
            Needs::Sum(_) => self.into.sum(sum_of(values, Kind::Signed)),
            _ => self.into.values(
                &values
                    .iter()
                    .map(|value| T::widen(*value))
                    .collect::<Vec<T>>(),
            ),
        }
    }

    fn runs(&mut self, values: &[u64], counts: &[u32]) -> Result<()> {
        self.into.runs(
            &values
                .iter()
                .map(|value| T::widen(*value))
                .collect::<Vec<T>>(),
            counts,
        )
    }

    fn sum(&mut self, sum: i128) -> Result<()> {
        self.into.sum(sum)
    }
}

crate::conformance!(Narrow);
