//! Fixed point: floats that are integers times a power of two, as these integers. Rounding to a
//! bound on the error leaves such floats.
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

use staffa_kernels::{Packed, unpack_decimals_f64};

use super::exceptions::{Exceptions, Separated};
use super::prelude::*;
use crate::values::{FloatBits, power_of_two};

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
        is_float(ty, kind)
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
        let bits = node.payload.first_chunk::<2>();
        bits.map_or_else(String::new, |bits| {
            let exceptions = count_of(node, 2, "exceptions");
            format!(
                "{} bits behind the point, {exceptions}",
                i16::from_le_bytes(*bits)
            )
        })
    }
}

/// Floats as integers of their own width.
trait Fixed: FloatBits + Decodable {
    /// Most bits behind the point, and before it: both powers of two are normal floats.
    const MOST: i32;
    /// Digits are below it: integers of this width that a float holds.
    const LIMIT: f64;
    /// The digits of a whole number below the limit.
    fn digits(whole: f64) -> Self;
    /// The float with these digits, `unit` being 2^-k.
    fn value(self, unit: f64) -> Self;
    /// The floats of packed digits; `false` where there is no kernel for them.
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

/// Bits behind the point with the fewest bits in all. A value takes these and as many before the
/// point as half of the values need; one that has more bits behind it, a word and 16 bits.
fn bits_behind<T: Fixed>(words: &[T]) -> i32 {
    let mut counts = vec![0usize; 2 * T::MOST as usize + 1];
    let mut before = Vec::with_capacity(words.len());
    for value in words.iter().map(|word| word.to_f64()) {
        if let Some(bit) = lowest_bit(value) {
            let place = (T::MOST - bit).clamp(0, 2 * T::MOST) as usize;
            // Never past the end, by the clamp.
            if let Some(count) = counts.get_mut(place) {
                *count += 1;
            }
            before.push((value.to_bits() >> 52 & 0x7ff) as i32 - 1021);
        }
    }
    // Values that have more bits behind the point.
    let mut more = before.len();
    let middle = more / 2;
    if more == 0 {
        return 0;
    }
    let (_, before, _) = before.select_nth_unstable(middle);
    let mut best = (usize::MAX, 0);
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
    let mut separated: Separated<T, T> = Separated::new(words.len());
    for &word in words {
        let whole = word.to_f64() * scale;
        let digits = T::digits(whole);
        let held = whole.abs() < T::LIMIT && digits.value(unit) == word;
        separated.push(word, held.then_some(digits));
    }
    if separated.declines(words.len(), chooser) {
        return Ok(None);
    }
    let digits = chooser.child(T::values(&separated.values), Kind::Signed)?;
    let children = separated.children(digits, Kind::Float, chooser)?;
    node(
        &FixedPoint,
        T::values(words),
        (bits as i16).to_le_bytes().to_vec(),
        children,
    )
}

fn open<'a, T: Fixed>(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
    node.expect_children(3)?;
    let mut cursor = node.cursor();
    let bits = i32::from(cursor.u16()?.cast_signed());
    cursor.finish("bits behind the point")?;
    corrupt_if!(
        bits.abs() > T::MOST,
        "-{0} to {0} bits behind the point expected, found {bits}",
        T::MOST
    );
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

impl<T: Fixed> Scaled<'_, T> {
    fn read(&self, rows: Rows<'_>, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        // Packed digits are unpacked and scaled in one pass.
        let packed = match rows {
            Rows::Vector(v) => self.digits.packed(v),
            Rows::At(_) => None,
        };
        if !packed.is_some_and(|digits| T::values_of(digits, self.unit, out)) {
            rows.decode(self.digits.as_ref(), cx, out)?;
            out.iter_mut()
                .for_each(|place| *place = place.value(self.unit));
        }
        self.exceptions.patch(rows, cx, out)
    }
}

impl<T: Fixed> Decoder<T> for Scaled<'_, T> {
    fn len(&self) -> usize {
        self.exceptions.len()
    }

    read_by_rows!(T);
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
