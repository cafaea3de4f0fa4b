//! Narrow: wide integers (decimals) of which most fit into 64 bits, as 64-bit integers; the others
//! as exceptions.
//!
//! ```text
//! child: values (u64, two's complement) | child: mask (bits, set where a row is an exception) | child: exceptions (words)
//! ```
//!
//! The node's own type is 128 or 256 bits, to which the values are sign-extended.

use staffa_kernels::U256;

use super::exceptions::{Exceptions, Separated};
use super::prelude::*;
use crate::decode::{Aggregator, Needs, aggregate_vectors, sum_of};

/// See the [module](self).
pub struct Narrow;

impl Encoding for Narrow {
    fn info(&self) -> &Info {
        &Info {
            id: 10,
            name: "narrow",
            about: "128- and 256-bit integers as 64-bit ones where they fit, others as exceptions",
            child_names: &["values", "mask", "exceptions"],
            first_child: Some(StreamOf::Narrowed),
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
        match node.ty {
            PhysicalType::U128 => open::<u128>(node, cx),
            PhysicalType::U256 => open::<U256>(node, cx),
            other => Err(Error::corrupt(format!(
                "128 or 256 bits expected, found {other:?}"
            ))),
        }
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        count_of(node, 2, "exceptions")
    }
}

fn encode<T: Widen>(words: &[T], chooser: &Chooser<'_>) -> Result<Option<Node>> {
    let mut separated: Separated<u64, T> = Separated::new(words.len());
    for &word in words {
        separated.push(word, Some(word.low()).filter(|low| T::widen(*low) == word));
    }
    if separated.declines(words.len(), chooser) {
        return Ok(None);
    }
    let values = chooser.child(Values::U64(&separated.values), Kind::Signed)?;
    let children = separated.children(values, Kind::Opaque, chooser)?;
    node(&Narrow, T::values(words), vec![], children)
}

fn open<'a, T: Widen>(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
    node.expect_children(3)?;
    node.cursor().finish("payload")?;
    let values = cx.open_words::<u64>(node.child(0, "values", PhysicalType::U64, node.len)?)?;
    let exceptions = Exceptions::<T>::open(node, 1, 2, cx)?;
    Ok(T::wrap(Box::new(Widened { values, exceptions })))
}

/// Words that a 64-bit integer is sign-extended to.
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

impl<T: Widen> Widened<'_, T> {
    fn read(&self, rows: Rows<'_>, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        cx.with(out.len(), |cx, narrow: &mut [u64]| {
            rows.decode(self.values.as_ref(), cx, narrow)?;
            let places = out.iter_mut().zip(narrow);
            places.for_each(|(wide, narrow)| *wide = T::widen(*narrow));
            Ok(())
        })?;
        self.exceptions.patch(rows, cx, out)
    }
}

impl<T: Widen> Decoder<T> for Widened<'_, T> {
    fn len(&self) -> usize {
        self.values.len()
    }

    read_by_rows!(T);

    fn short(&self) -> Result<Option<Box<dyn Decoder<u64> + '_>>> {
        let short = || Box::new(self.values.as_ref()) as _;
        Ok(self.exceptions.is_empty().then(short))
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

/// Aggregates 64-bit values as wide ones.
struct Wide<'f, T> {
    into: &'f mut dyn Aggregator<T>,
}

fn wide<T: Widen>(values: &[u64]) -> Vec<T> {
    values.iter().map(|value| T::widen(*value)).collect()
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
            _ => self.into.values(&wide(values)),
        }
    }

    fn runs(&mut self, values: &[u64], counts: &[u32]) -> Result<()> {
        self.into.runs(&wide(values), counts)
    }

    fn sum(&mut self, sum: i128) -> Result<()> {
        self.into.sum(sum)
    }
}

crate::conformance!(Narrow);
