//! Pseudodecimal: a float as decimal digits and an exponent, `digits * 10^-exponent` (BtrBlocks,
//! section 4, listing 2).
//!
//! ```text
//! child: digits (u32, two's complement) | child: exponents (u8, 0 to 22)
//! child: mask (bits, set where a row is an exception) | child: exceptions (words)
//! ```
//!
//! A value whose bits the multiplication does not give back is an exception: -0.0, infinities, NaNs
//! and values with more than 31 bits of digits. 32-bit floats are multiplied as doubles and rounded
//! once.

use super::exceptions::{Exceptions, Separated};
use super::prelude::*;
use crate::values::FloatBits;

/// Powers of ten that digits are multiplied by.
const EXPONENTS: u8 = 23;
/// 10^-exponent.
static POWERS: [f64; EXPONENTS as usize] = [
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
            child_names: &["digits", "exponents", "mask", "exceptions"],
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
        count_of(node, 3, "exceptions")
    }
}

/// Digits and exponent that give back exactly these bits.
fn single<T: FloatBits + Decodable>(bits: T) -> Option<(i32, u8)> {
    let value = bits.to_f64();
    for (exponent, power) in (0..EXPONENTS).zip(&POWERS) {
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
    let mut separated: Separated<(u32, u8), T> = Separated::new(words.len());
    for &word in words {
        let decimal = single(word).map(|(digits, exponent)| (digits.cast_unsigned(), exponent));
        separated.push(word, decimal);
        // Few floats are decimals of one exponent each: the search is slow.
        if !chooser.must_encode() && separated.rows.len() * 2 > words.len() {
            return Ok(None);
        }
    }
    let (digits, exponents): (Vec<u32>, Vec<u8>) = separated.values.iter().copied().unzip();
    let digits = chooser.child(Values::U32(&digits), Kind::Signed)?;
    let exponents = chooser.child(Values::U8(&exponents), Kind::Unsigned)?;
    let mut children = separated.children(digits, Kind::Opaque, chooser)?;
    children.insert(1, exponents);
    node(&Pseudodecimal, T::values(words), vec![], children)
}

fn open<'a, T: FloatBits + Decodable>(
    node: &NodeRef<'a>,
    cx: &mut OpenContext<'a>,
) -> Result<AnyDecoder<'a>> {
    node.expect_children(4)?;
    node.cursor().finish("payload")?;
    let digits = cx.open_words(node.child(0, "digits", PhysicalType::U32, node.len)?)?;
    let exponents = cx.open_words(node.child(1, "exponents", PhysicalType::U8, node.len)?)?;
    let exceptions = Exceptions::open(node, 2, 3, cx)?;
    Ok(T::wrap(Box::new(Decimals {
        digits,
        exponents,
        exceptions,
    })))
}

struct Decimals<'a, T> {
    digits: Box<dyn Decoder<u32> + 'a>,
    exponents: Box<dyn Decoder<u8> + 'a>,
    exceptions: Exceptions<'a, T>,
}

impl<T: FloatBits + Decodable> Decimals<'_, T> {
    fn read(&self, rows: Rows<'_>, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        cx.with(out.len(), |cx, digits: &mut [u32]| {
            rows.decode(self.digits.as_ref(), cx, digits)?;
            cx.with(out.len(), |cx, exponents: &mut [u8]| {
                rows.decode(self.exponents.as_ref(), cx, exponents)?;
                let most = exponents.iter().max().copied().unwrap_or(0);
                corrupt_if!(
                    most >= EXPONENTS,
                    "exponents below {EXPONENTS} expected, found {most}"
                );
                for ((place, digits), exponent) in out.iter_mut().zip(digits).zip(exponents) {
                    let power = POWERS.get(usize::from(*exponent));
                    let power = power.ok_or_else(|| Error::internal("exponents are checked"))?;
                    *place = T::from_f64(f64::from(*digits as i32) * power);
                }
                Ok(())
            })
        })?;
        self.exceptions.patch(rows, cx, out)
    }
}

impl<T: FloatBits + Decodable> Decoder<T> for Decimals<'_, T> {
    fn len(&self) -> usize {
        self.exceptions.len()
    }

    read_by_rows!(T);
}

crate::conformance!(Pseudodecimal);
