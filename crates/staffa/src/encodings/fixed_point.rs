//! Fixed point: floats that are integers times a power of two, as these integers: what rounding to
//! a bound leaves.
//!
//! ```text
//! payload = bits behind the point k: i16
//! child: digits (words, two's complement) | child: mask (bits, set where a row is an exception) | child: exceptions
//! value = digits * 2^-k
//! ```
//!
//! Packed digits keep as many bit planes of the values as the bound asks for, as BUFF does (Liu,
//! Jiang, Paparrizos, Elmore: Decomposed bounded floats for fast compression and queries, VLDB
//! 2021).
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::{Packed, unpack_decimals_f64};

use super::exceptions;
use super::exceptions::Exceptions;
use crate::decode::{AnyDecoder, Decodable, Decoder, OpenContext, Scratch};
use crate::encode::{Availability, Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{FloatBits, Kind, PhysicalType, Values, power_of_two};

/// See the [module](self).
pub struct FixedPoint;

impl Encoding for FixedPoint {
    fn info(&self) -> &Info {
        &Info {
            id: 35,
            name: "fixed_point",
            about: "floats with few bits behind the point as integers: what --max-error leaves; others as exceptions",
            child_names: &["digits", "mask", "exceptions"],
            availability: Availability::Rounded,
            decode_picos: 300,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        kind == Kind::Float && matches!(ty, PhysicalType::U32 | PhysicalType::U64)
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
        let bits = node
            .payload
            .first_chunk::<2>()
            .map_or(0, |k| i16::from_le_bytes(*k));
        let exceptions = node.children.get(2).map_or(0, |exceptions| exceptions.len);
        format!("{bits} bits behind the point, {exceptions} exceptions")
    }
}

/// Floats as integers of their own width.
trait Fixed: FloatBits + Decodable {
    /// Most bits behind the point, and before it: both powers of two are normal floats.
    const MOST: i32;
    /// Digits are below it: integers of this width that a float holds.
    const LIMIT: f64;
    /// Of a whole number below the limit.
    fn digits(whole: f64) -> Self;
    /// The float with these digits, `unit` being 2^-k.
    fn value(self, unit: f64) -> Self;
    /// Those of packed digits; `false` where there is no kernel for it.
    fn values_of(_: Packed<'_, Self>, _: f64, _: &mut [Self]) -> bool {
        false
    }
}

impl Fixed for u32 {
    const MOST: i32 = 126;
    const LIMIT: f64 = 2_147_483_648.0;

    #[inline]
    fn digits(whole: f64) -> Self {
        (whole as i32).cast_unsigned()
    }

    #[inline]
    fn value(self, unit: f64) -> Self {
        (self.cast_signed() as f32 * unit as f32).to_bits()
    }
}

impl Fixed for u64 {
    const MOST: i32 = 1022;
    const LIMIT: f64 = 9_007_199_254_740_992.0;

    #[inline]
    fn digits(whole: f64) -> Self {
        (whole as i64).cast_unsigned()
    }

    #[inline]
    fn value(self, unit: f64) -> Self {
        (self.cast_signed() as f64 * unit).to_bits()
    }

    fn values_of(digits: Packed<'_, Self>, unit: f64, out: &mut [Self]) -> bool {
        unpack_decimals_f64(digits, unit, 1.0, out)
    }
}

/// The exponent of the lowest bit of a number that is set; `None` for 0 and what is no number.
fn lowest_bit(value: f64) -> Option<i32> {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let mantissa = if exponent == 0 {
        fraction
    } else {
        fraction | 1 << 52
    };
    (mantissa != 0 && exponent < 0x7ff)
        .then(|| exponent.max(1) - 1075 + mantissa.trailing_zeros() as i32)
}

/// Bits behind the point with which the values take the fewest: as many as half of them need before
/// it and those behind it for each, and 16 beside those of a word for each value that has more.
fn bits_behind<T: Fixed>(words: &[T]) -> i32 {
    let mut counts = vec![0usize; 2 * T::MOST as usize + 1];
    let mut before = Vec::with_capacity(words.len());
    for value in words.iter().map(|word| word.to_f64()) {
        if let Some(bit) = lowest_bit(value) {
            let place = (T::MOST - bit).clamp(0, 2 * T::MOST) as usize;
            counts
                .iter_mut()
                .skip(place)
                .take(1)
                .for_each(|count| *count += 1);
            before.push((value.to_bits() >> 52 & 0x7ff) as i32 - 1021);
        }
    }
    let mut more = before.len();
    let middle = more / 2;
    if more == 0 {
        return 0;
    }
    let (_, before, _) = before.select_nth_unstable(middle);
    let mut best = (usize::MAX, 0);
    // Those that need fewer bits first.
    for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        more -= count;
        let bits = place as i32 - T::MOST;
        let cost = more * (T::BITS as usize + 16) + (*before + bits).max(0) as usize * words.len();
        if cost < best.0 {
            best = (cost, bits);
        }
    }
    best.1
}

fn encode<T: Fixed>(words: &[T], chooser: &Chooser<'_>) -> Result<Option<Node>> {
    let bits = bits_behind(words);
    let (scale, unit) = (power_of_two(bits), power_of_two(-bits));
    let (mut digits, mut rows, mut exceptions): (Vec<T>, Vec<u32>, Vec<T>) =
        (Vec::with_capacity(words.len()), Vec::new(), Vec::new());
    for &word in words {
        let whole = word.to_f64() * scale;
        let found = T::digits(whole);
        if whole.abs() < T::LIMIT && found.value(unit) == word {
            digits.push(found);
        } else {
            rows.push(digits.len() as u32);
            // The digits before again: they cost the least.
            digits.push(digits.last().copied().unwrap_or_default());
            exceptions.push(word);
        }
    }
    if !chooser.must_encode() && rows.len() * 2 > words.len() {
        return Ok(None);
    }
    let children = vec![
        chooser.child(T::values(&digits), Kind::Signed)?,
        exceptions::mask(words.len(), &rows, chooser)?,
        chooser.child(T::values(&exceptions), Kind::Float)?,
    ];
    let payload = (bits as i16).to_le_bytes().to_vec();
    Ok(Some(Node {
        encoding: 35,
        ty: T::TYPE,
        len: words.len(),
        payload,
        children,
    }))
}

fn open<'a, T: Fixed>(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
    node.expect_children(3)?;
    let mut cursor = node.cursor();
    let bits = i32::from(cursor.u16()?.cast_signed());
    cursor.finish("bits behind the point")?;
    if bits.abs() > T::MOST {
        return Err(Error::corrupt(format!(
            "-{0} to {0} bits behind the point expected, found {bits}",
            T::MOST
        )));
    }
    let digits = cx.open_words::<T>(node.child(0, "digits", node.ty, node.len)?)?;
    let exceptions = Exceptions::<T>::open(node, 1, 2, cx)?;
    Ok(T::wrap(Box::new(Scaled {
        unit: power_of_two(-bits),
        digits,
        exceptions,
    })))
}

struct Scaled<'a, T> {
    unit: f64,
    digits: Box<dyn Decoder<T> + 'a>,
    exceptions: Exceptions<'a, T>,
}

impl<T: Fixed> Decoder<T> for Scaled<'_, T> {
    fn len(&self) -> usize {
        self.exceptions.len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        // Packed digits need not be stored between.
        if !self
            .digits
            .packed(v)
            .is_some_and(|digits| T::values_of(digits, self.unit, out))
        {
            self.digits.vector(v, cx, out)?;
            out.iter_mut()
                .for_each(|place| *place = place.value(self.unit));
        }
        self.exceptions.apply(v, out)
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        self.digits.take(rows, cx, out)?;
        out.iter_mut()
            .for_each(|place| *place = place.value(self.unit));
        self.exceptions.apply_at(rows, cx, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Profile;
    use crate::encodings::POOL;

    fn tree<T: Fixed>(words: &[T]) -> Node {
        let values = T::values(words);
        Chooser::root(&POOL, Profile::Balanced, Some("fixed_point"))
            .choose(values, &Stats::new(values, Kind::Float))
            .unwrap()
    }

    fn parts<T: Fixed>(words: &[T]) -> (i16, usize) {
        let node = tree(words);
        (
            i16::from_le_bytes([node.payload[0], node.payload[1]]),
            node.children[2].len,
        )
    }

    #[test]
    fn the_point_stands_where_it_costs_least() {
        let doubles =
            |values: &[f64]| parts(&values.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
        let singles =
            |values: &[f32]| parts(&values.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
        assert_eq!(doubles(&[0.25, -3.5, 7.0]), (2, 0));
        assert_eq!(singles(&[0.25, -3.5, 7.0]), (2, 0));
        assert_eq!(doubles(&[1024.0, 4096.0, -2048.0]), (-10, 0));
        assert_eq!(doubles(&[0.0, -0.0, f64::NAN, f64::INFINITY]), (0, 3));
        let mut mixed = vec![1.5; 100];
        mixed.extend([0.1, 1e300, 5e-324]);
        assert_eq!(doubles(&mixed), (1, 3));
        assert_eq!(singles(&[f32::MAX, f32::MIN]), (-104, 0));
    }

    #[test]
    fn the_example_of_the_format() {
        let node = tree(&[0.75f32.to_bits(), (-2.5f32).to_bits(), f32::NAN.to_bits()]);
        let mut bytes = Vec::new();
        node.write(&mut bytes);
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let digits = "03 03 03 09 f6 ff ff ff 00 00 04 0d 00";
        let (mask, exceptions) = ("0b 00 03 01 04", "01 03 01 04 00 00 c0 7f");
        assert_eq!(
            hex.join(" "),
            format!("23 33 03 02 02 00 {digits} {mask} {exceptions}")
        );
    }
}

crate::conformance!(FixedPoint);
