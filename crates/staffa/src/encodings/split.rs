//! Split: integers as quotients and remainders by a factor: times of whole seconds in microseconds,
//! prices of whole cents, amounts that are mostly millions; decimals of more places than their values have.
//!
//! ```text
//! payload = factor: word, not 0
//! child: quotients | child: remainders, below the factor
//! ```
//!
//! value = quotient * factor + remainder, modulo 2 to the bits of a word. The factor is the greatest
//! common divisor of all differences, or else the power of ten that most values are multiples of.

use super::prelude::*;
use crate::decode::integer;

/// Values of the sample by which the power of ten is found.
const SAMPLED: usize = 256;

/// Powers of ten that are tried: a word of 128 bits has as many digits.
const ZEROS: usize = 39;

/// See the [module](self).
pub struct Split;

impl Encoding for Split {
    fn info(&self) -> &Info {
        &Info {
            id: 26,
            name: "split",
            about: "integers as quotients and remainders by a factor that most of them share",
            child_names: &["quotients", "remainders"],
            availability: Availability::Slow,
            decode_picos: 300,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        is_integer(ty, kind) || ty == PhysicalType::U128 && kind == Kind::Signed
    }

    /// Wide integers that all fit into 64 bits are left to `narrow`.
    fn is_viable(&self, values: Values<'_>, _: &Stats<'_>) -> bool {
        let is_long = values.len() >= 64 && values.physical_type() != PhysicalType::U8;
        is_long
            && match values {
                Values::U128(words) => words
                    .iter()
                    .any(|word| i64::try_from(*word as i128).is_err()),
                _ => true,
            }
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        if let Values::U128(words) = values {
            return encode_wide(words, chooser);
        }
        encode_ints!(values, words => encode(words, stats.kind(), chooser))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(2)?;
        if node.ty == PhysicalType::U128 {
            return open::<u128>(node, cx);
        }
        open_ints!(node, T => open::<T>(node, cx))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        let bytes = node.payload.iter().rev();
        let factor = bytes.fold(0u128, |factor, byte| factor << 8 | u128::from(*byte));
        format!("by {factor}")
    }
}

fn open<'a, T: Product>(node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
    let mut cursor = node.cursor();
    let factor = read_word::<T>(&mut cursor)?;
    cursor.finish("factor")?;
    corrupt_if!(
        factor == T::default(),
        "a factor of 1 or more expected, found 0"
    );
    let quotients = cx.open_words::<T>(node.child(0, "quotients", T::TYPE, node.len)?)?;
    let remainders = cx.open_words::<T>(node.child(1, "remainders", T::TYPE, node.len)?)?;
    let is_zero = remainders.constant() == Some(T::default());
    Ok(T::wrap(Box::new(Parts {
        factor,
        quotients,
        remainders: (!is_zero).then_some(remainders),
    })))
}

/// Words that are multiplied modulo 2 to their bits.
trait Product: Decodable {
    /// The product by a factor, and another word.
    fn times_plus(self, factor: Self, other: Self) -> Self;
}

macro_rules! products {
    ($($T:ty),*) => {$(impl Product for $T {
        #[inline(always)]
        fn times_plus(self, factor: Self, other: Self) -> Self {
            self.wrapping_mul(factor).wrapping_add(other)
        }
    })*};
}
products!(u8, u16, u32, u64, u128);

/// The factor by which splitting pays.
fn factor<T: Integer>(words: &[T], kind: Kind) -> Option<u64> {
    let top = T::MAX.to_u64() >> u32::from(kind == Kind::Signed);
    let common = common_factor(words, kind)?;
    if common > 1 && common <= top {
        return Some(common);
    }
    let sample = words.iter().step_by((words.len() / SAMPLED) | 1);
    let zeros = shared_zeros(sample.map(|word| integer(*word, kind)))?;
    10u64.checked_pow(zeros).filter(|factor| *factor <= top)
}

/// The greatest factor of all differences from the first value.
fn common_factor<T: Integer>(words: &[T], kind: Kind) -> Option<u64> {
    // With the sign bit flipped, words are ordered as the values are, and differ by as much.
    let sign = if kind == Kind::Signed {
        1 << (T::BITS - 1)
    } else {
        0
    };
    let first = words.first()?.to_u64() ^ sign;
    let mut common = 0u64;
    for word in words {
        common = greatest_common(common, (word.to_u64() ^ sign).abs_diff(first));
        if common == 1 {
            break;
        }
    }
    Some(common)
}

/// The zeros that enough values of a sample end with for splitting to pay; `None` where none pays.
fn shared_zeros(sample: impl Iterator<Item = i128>) -> Option<u32> {
    // How many values are multiples of each power of ten.
    let (mut multiples, mut some) = ([0u32; ZEROS], 0u32);
    let (mut least, mut most) = (i128::MAX, i128::MIN);
    for value in sample {
        (least, most) = (least.min(value), most.max(value));
        // 0 is a multiple of every power of ten: it is not counted.
        some += u32::from(value != 0);
        let zeros = zeros_of(value.unsigned_abs());
        multiples
            .iter_mut()
            .skip(1)
            .take(zeros)
            .for_each(|count| *count += 1);
    }
    let full = f64::from(128 - most.abs_diff(least).leading_zeros());
    let saved = |(zeros, count): (u32, &u32)| {
        let share = f64::from(*count) / f64::from(some.max(1));
        let entropy = |share: f64| {
            if share > 0.0 {
                -share * share.log2()
            } else {
                0.0
            }
        };
        let bits = share * f64::from(zeros) * std::f64::consts::LOG2_10
            - entropy(share)
            - entropy(1.0 - share);
        (share > 0.4 && bits > full * 0.15).then_some((zeros, bits))
    };
    let paying = (0u32..).zip(&multiples).filter_map(saved);
    let best = paying.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(best.0)
}

fn encode<T: Integer>(words: &[T], kind: Kind, chooser: &Chooser<'_>) -> Result<Option<Node>> {
    let Some(factor) = factor(words, kind).or_else(|| chooser.must_encode().then_some(10)) else {
        return Ok(None);
    };
    let (mut quotients, mut remainders) = (
        Vec::with_capacity(words.len()),
        Vec::with_capacity(words.len()),
    );
    for &word in words {
        let value = word.to_u64();
        let (quotient, remainder) = if kind == Kind::Signed {
            let (value, factor) = (integer(word, kind) as i64, factor as i64);
            (
                value.div_euclid(factor) as u64,
                value.rem_euclid(factor) as u64,
            )
        } else {
            (value / factor, value % factor)
        };
        quotients.push(T::from_u64(quotient));
        remainders.push(T::from_u64(remainder));
    }
    let mut payload = Vec::new();
    T::from_u64(factor).write_le(&mut payload);
    let children = vec![
        chooser.child(T::values(&quotients), kind)?,
        chooser.child(T::values(&remainders), Kind::Unsigned)?,
    ];
    node(&Split, T::values(words), payload, children)
}

/// The zeros that a number ends with in decimal; none of 0.
fn zeros_of(number: u128) -> usize {
    let (mut wide, mut zeros) = (number, 0);
    let mut narrow = loop {
        // A division of 128 bits takes long.
        match u64::try_from(wide) {
            Ok(narrow) => break narrow,
            Err(_) if !wide.is_multiple_of(10) => return zeros,
            Err(_) => (wide, zeros) = (wide / 10, zeros + 1),
        }
    };
    while narrow > 0 && narrow.is_multiple_of(10) {
        (narrow, zeros) = (narrow / 10, zeros + 1);
    }
    zeros
}

/// The factor by which splitting wide integers pays.
fn wide_factor(words: &[u128]) -> Option<u128> {
    let sample = || words.iter().step_by((words.len() / SAMPLED) | 1);
    let first = *words.first()? as i128;
    let common = |words: &mut dyn Iterator<Item = &u128>| {
        let differences = words.map(|word| (*word as i128).abs_diff(first));
        differences.fold(0, greatest_common_wide)
    };
    let most = i128::MAX.unsigned_abs();
    // A division of 128 bits takes long: of all words only where the sample has a common factor.
    let of_sample = common(&mut sample());
    if of_sample > 1 {
        let of_all = common(&mut words.iter());
        if of_all > 1 && of_all <= most {
            return Some(of_all);
        }
    }
    let zeros = shared_zeros(sample().map(|word| *word as i128))?;
    10u128.checked_pow(zeros).filter(|factor| *factor <= most)
}

fn greatest_common(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn greatest_common_wide(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        if let (Ok(a), Ok(b)) = (u64::try_from(a), u64::try_from(b)) {
            return greatest_common(a, b).into();
        }
        (a, b) = (b, a % b);
    }
    a
}

fn encode_wide(words: &[u128], chooser: &Chooser<'_>) -> Result<Option<Node>> {
    let Some(factor) = wide_factor(words).or_else(|| chooser.must_encode().then_some(10)) else {
        return Ok(None);
    };
    let divided = words.iter().map(|word| {
        let (value, factor) = (*word as i128, factor as i128);
        let (quotient, remainder) = (value.div_euclid(factor), value.rem_euclid(factor));
        (quotient as u128, remainder as u128)
    });
    let (quotients, remainders): (Vec<u128>, Vec<u128>) = divided.unzip();
    let children = vec![
        chooser.child(Values::U128(&quotients), Kind::Signed)?,
        chooser.child(Values::U128(&remainders), Kind::Signed)?,
    ];
    let payload = factor.to_le_bytes().to_vec();
    node(&Split, Values::U128(words), payload, children)
}

struct Parts<'a, T> {
    factor: T,
    quotients: Box<dyn Decoder<T> + 'a>,
    /// `None` where all are 0.
    remainders: Option<Box<dyn Decoder<T> + 'a>>,
}

impl<T: Product> Parts<'_, T> {
    fn read(&self, rows: Rows<'_>, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        rows.decode(self.quotients.as_ref(), cx, out)?;
        let Some(decoder) = &self.remainders else {
            let factor = self.factor;
            out.iter_mut()
                .for_each(|place| *place = place.times_plus(factor, T::default()));
            return Ok(());
        };
        cx.with(out.len(), |cx, remainders: &mut [T]| {
            rows.decode(decoder.as_ref(), cx, remainders)?;
            for (place, remainder) in out.iter_mut().zip(remainders) {
                *place = place.times_plus(self.factor, *remainder);
            }
            Ok(())
        })
    }
}

impl<T: Product> Decoder<T> for Parts<'_, T> {
    fn len(&self) -> usize {
        self.quotients.len()
    }

    read_by_rows!(T);
}

crate::conformance!(Split);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_of_wide_integers() {
        let words = |values: &[i128]| -> Vec<u128> { values.iter().map(|v| *v as u128).collect() };
        let price = 10i128.pow(16);
        let prices: Vec<i128> = (1..300).map(|cents| cents * cents * price).collect();
        assert_eq!(wide_factor(&words(&prices)), Some(price as u128));
        // One that is no multiple: the zeros of the others.
        let some = [prices.clone(), vec![1]].concat();
        assert_eq!(wide_factor(&words(&some)), Some(price as u128));
        // Two differ by more than a signed word has; a factor beyond that has no quotients.
        assert_eq!(wide_factor(&words(&[i128::MIN, i128::MAX])), None);
        assert_eq!(wide_factor(&[]), None);
        for (number, zeros) in [
            (0, 0),
            (7, 0),
            (1200, 2),
            (10u128.pow(38), 38),
            (u128::MAX, 0),
        ] {
            assert_eq!(zeros_of(number), zeros, "{number}");
        }
    }
}
