//! Pseudodecimal: a float as decimal digits and an exponent, `digits * 10^-exponent` (BtrBlocks,
//! section 4, listing 2).
//!
//! ```text
//! child: digits (u32, two's complement) | child: exponents (u8, 0 to 22, 23 = exception) | child: exceptions (words)
//! ```
//!
//! A value whose bits the multiplication does not give back is an exception: -0.0, infinities, NaNs
//! and values with more than 31 bits of digits. 32-bit floats are multiplied as doubles and rounded
//! once.

use staffa_kernels::PoolVec;

use super::prelude::*;
use crate::values::FloatBits;

/// In place of the exponent of an exception.
const EXCEPTION: u8 = 23;
/// 10^-exponent; that of an exception is any power, as the value is patched.
static POWERS: [f64; EXCEPTION as usize + 1] = [
    1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14,
    1e-15, 1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22, 0.0,
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
        is_float(ty, kind)
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
        encode_floats!(values, words => encode(words, chooser))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        open_floats!(node, T => open::<T>(node, cx))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        count_of(node, 2, "exceptions")
    }
}

/// Digits and exponent that give back exactly these bits.
fn single<T: FloatBits + Decodable>(bits: T) -> Option<(i32, u8)> {
    let value = bits.to_f64();
    for (exponent, power) in (0..EXCEPTION).zip(&POWERS) {
        let digits = (value / power).round();
        if digits.abs() > f64::from(i32::MAX) || digits.is_nan() {
            return None;
        }
        // The conversion to an integer drops the sign of -0.0, and the comparison of bits sees it.
        let digits = digits as i32;
        if T::from_f64(f64::from(digits) * power) == bits {
            return Some((digits, exponent));
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
            // An exception has the digits before, which cost the least.
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
    node(&Pseudodecimal, T::values(words), vec![], children)
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
        let missing = || Error::internal(format!("exponents of vector {v} expected"));
        let exponents = self.exponents.get(v * VECTOR..v * VECTOR + out.len());
        let exponents = exponents.ok_or_else(missing)?;
        let exceptions = cx.with(out.len(), |cx, digits: &mut [u32]| {
            self.digits.vector(v, cx, digits)?;
            let mut exceptions = 0;
            for ((place, digits), exponent) in out.iter_mut().zip(digits).zip(exponents) {
                // Exponents are checked at open: there is a power for each.
                let power = POWERS.get(usize::from(*exponent)).copied().unwrap_or(0.0);
                *place = T::from_f64(f64::from(*digits as i32) * power);
                exceptions += usize::from(*exponent == EXCEPTION);
            }
            Ok(exceptions)
        })?;
        if exceptions > 0 {
            let start = *of_vector(&self.starts, v)?;
            let values = self.exceptions.get(start..start + exceptions);
            let places = out
                .iter_mut()
                .zip(exponents)
                .filter(|(_, e)| **e == EXCEPTION);
            let places = places.zip(values.ok_or_else(missing)?);
            places.for_each(|((place, _), value)| *place = *value);
        }
        Ok(())
    }
}

crate::conformance!(Pseudodecimal);
