//! Pseudodecimal: a float as decimal digits and an exponent, `digits * 10^-exponent` (BtrBlocks,
//! section 4, listing 2).
//!
//! ```text
//! child: digits (u32, two's complement) | child: exponents (u8, 0 to 22, 23 = exception) | child: exceptions (words)
//! ```
//!
//! A value is stored so only if the multiplication gives back its very bits; -0.0, infinities, NaNs
//! and values with more than 31 bits of digits are exceptions. 32-bit floats are multiplied as
//! doubles and rounded once.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{PoolVec, VECTOR};

use crate::decode::{AnyDecoder, Decodable, Decoder, OpenContext, Scratch};
use crate::encode::{Availability, Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{FloatBits, Kind, PhysicalType, Values};

const MAX_EXPONENT: usize = 22;
const EXCEPTION: u8 = 23;
static POWERS: [f64; MAX_EXPONENT + 1] = [
    1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14,
    1e-15, 1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22,
];

/// See the [module](self).
pub struct Pseudodecimal;

impl Encoding for Pseudodecimal {
    fn info(&self) -> &Info {
        &Info {
            id: 8,
            name: "pseudodecimal",
            about: "floats as decimal digits and exponents, others as exceptions",
            child_names: &["digits", "exponents", "exceptions"],
            availability: Availability::Small,
            decode_picos: 1000,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        kind == Kind::Float && matches!(ty, PhysicalType::U32 | PhysicalType::U64)
    }

    /// Not under 10% distinct (BtrBlocks, section 4.2); the share of exceptions is seen when
    /// encoding.
    fn is_viable(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        stats
            .dictionary()
            .is_none_or(|d| d.firsts.len() * 10 >= values.len())
    }

    fn encode(
        &self,
        values: Values<'_>,
        _: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        match values {
            Values::U32(words) => encode(words, chooser),
            Values::U64(words) => encode(words, chooser),
            _ => Ok(None),
        }
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        match node.ty {
            PhysicalType::U32 => open::<u32>(node, cx),
            PhysicalType::U64 => open::<u64>(node, cx),
            other => Err(Error::corrupt(format!(
                "floats of 32 or 64 bits expected, found {other:?}"
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

/// Digits and exponent that give back exactly these bits.
fn single<T: FloatBits + Decodable>(bits: T) -> Option<(i32, u8)> {
    let value = bits.to_f64();
    for (exponent, power) in POWERS.iter().enumerate() {
        let digits = (value / power).round();
        if digits.abs() > f64::from(i32::MAX) || digits.is_nan() {
            return None;
        }
        // The conversion to an integer drops the sign of -0.0, and the comparison of bits sees it.
        let digits = digits as i32;
        if T::from_f64(f64::from(digits) * power) == bits {
            return Some((digits, exponent as u8));
        }
    }
    None
}

fn encode<T: FloatBits + Decodable>(words: &[T], chooser: &Chooser<'_>) -> Result<Option<Node>> {
    let (mut digits, mut exponents, mut exceptions) = (Vec::new(), Vec::new(), Vec::new());
    for &word in words {
        if let Some((d, e)) = single(word) {
            digits.push(d as u32);
            exponents.push(e);
        } else {
            // The digits before again: they cost the least.
            digits.push(digits.last().copied().unwrap_or(0));
            exponents.push(EXCEPTION);
            exceptions.push(word);
            if !chooser.must_encode() && exceptions.len() * 2 > words.len() {
                return Ok(None);
            }
        }
    }
    let children = vec![
        chooser.child(Values::U32(&digits), Kind::Signed)?,
        chooser.child(Values::U8(&exponents), Kind::Unsigned)?,
        chooser.child(T::values(&exceptions), Kind::Opaque)?,
    ];
    Ok(Some(Node {
        encoding: 8,
        ty: T::TYPE,
        len: words.len(),
        payload: vec![],
        children,
    }))
}

fn open<'a, T: FloatBits + Decodable>(
    node: &NodeRef<'a>,
    cx: &mut OpenContext<'a>,
) -> Result<AnyDecoder<'a>> {
    node.expect_children(3)?;
    node.cursor().finish("payload")?;
    let digits = cx.open_words::<u32>(node.child(0, "digits", PhysicalType::U32, node.len)?)?;
    let exponents = cx.all_words::<u8>(
        node.child(1, "exponents", PhysicalType::U8, node.len)?,
        "exponents",
    )?;
    let (mut starts, mut sum) = (Vec::with_capacity(node.len.div_ceil(VECTOR)), 0);
    for vector in exponents.chunks(VECTOR) {
        starts.push(sum);
        sum += vector.iter().filter(|e| **e == EXCEPTION).count();
    }
    if let Some(bad) = exponents.iter().find(|e| **e > EXCEPTION) {
        return Err(Error::corrupt(format!(
            "exponents of at most {EXCEPTION} expected, found {bad}"
        )));
    }
    let exceptions = cx.all_words::<T>(node.child(2, "exceptions", node.ty, sum)?, "exceptions")?;
    Ok(T::wrap(Box::new(Decimals {
        digits,
        exponents,
        exceptions,
        starts,
    })))
}

struct Decimals<'a, T> {
    digits: Box<dyn Decoder<u32> + 'a>,
    exponents: PoolVec<u8>,
    exceptions: PoolVec<T>,
    /// Exceptions before every vector.
    starts: Vec<usize>,
}

impl<T: FloatBits + Decodable> Decoder<T> for Decimals<'_, T> {
    fn len(&self) -> usize {
        self.exponents.len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let mut buffer = cx.take_u32();
        let digits = buffer.get_mut(..out.len()).unwrap_or_default();
        self.digits.vector(v, cx, digits)?;
        let exponents = self
            .exponents
            .get(v * VECTOR..v * VECTOR + out.len())
            .unwrap_or_default();
        let mut some = false;
        for ((place, digits), exponent) in out.iter_mut().zip(&*digits).zip(exponents) {
            // An exponent of 23 takes any power: the value is patched below.
            let power = POWERS.get(usize::from(*exponent)).copied().unwrap_or(0.0);
            *place = T::from_f64(f64::from(*digits as i32) * power);
            some |= *exponent == EXCEPTION;
        }
        if some {
            let start = self.starts.get(v).copied().unwrap_or(0);
            let places = out
                .iter_mut()
                .zip(exponents)
                .filter(|(_, exponent)| **exponent == EXCEPTION);
            places
                .zip(self.exceptions.get(start..).unwrap_or_default())
                .for_each(|((place, _), value)| *place = *value);
        }
        cx.give_u32(buffer);
        Ok(())
    }
}

crate::conformance!(Pseudodecimal);
