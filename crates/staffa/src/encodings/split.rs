//! Split: integers as quotients and remainders by a factor: times of whole seconds in microseconds,
//! prices of whole cents, amounts that are mostly millions.
//!
//! ```text
//! payload = factor: word, not 0
//! child: quotients | child: remainders, below the factor
//! ```
//!
//! value = quotient * factor + remainder, modulo 2 to the bits of a word. The factor is the greatest
//! common divisor of all differences, or else the power of ten that most values are multiples of.

use staffa_kernels::Int as _;

use super::prelude::*;
use crate::decode::integer;
use crate::values::Physical as _;

/// Values of the sample by which the power of ten is found.
const SAMPLED: usize = 256;

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
        is_integer(ty, kind)
    }

    fn is_viable(&self, values: Values<'_>, _: &Stats<'_>) -> bool {
        values.len() >= 64 && values.physical_type() != PhysicalType::U8
    }

    fn encode(
        &self,
        values: Values<'_>,
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        encode_ints!(values, words => encode(words, stats.kind(), chooser))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        node.expect_children(2)?;
        open_ints!(node, T => {
            let mut cursor = node.cursor();
            let factor = read_word::<T>(&mut cursor)?.to_u64();
            cursor.finish("factor")?;
            corrupt_if!(factor == 0, "a factor of 1 or more expected, found 0");
            let quotients = cx.open_words::<T>(node.child(0, "quotients", T::TYPE, node.len)?)?;
            let remainders = cx.open_words::<T>(node.child(1, "remainders", T::TYPE, node.len)?)?;
            Ok(T::wrap(Box::new(Parts { factor, quotients, remainders })))
        })
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        format!("by {}", little_endian(node.payload))
    }
}

/// The factor by which splitting pays.
fn factor<T: Integer>(words: &[T], kind: Kind) -> Option<u64> {
    let top = T::MAX.to_u64() >> u32::from(kind == Kind::Signed);
    let common = common_factor(words, kind)?;
    if common > 1 && common <= top {
        return Some(common);
    }
    let zeros = shared_zeros(words, kind)?;
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
        let (mut a, mut b) = (common, (word.to_u64() ^ sign).abs_diff(first));
        while b != 0 {
            (a, b) = (b, a % b);
        }
        common = a;
        if common == 1 {
            break;
        }
    }
    Some(common)
}

/// The zeros that enough values of a sample end with for splitting to pay; `None` where none pays.
fn shared_zeros<T: Integer>(words: &[T], kind: Kind) -> Option<u32> {
    // How many values are multiples of each power of ten.
    let (mut multiples, mut some) = ([0u32; 20], 0u32);
    let (mut least, mut most) = (i128::MAX, i128::MIN);
    for word in words.iter().step_by((words.len() / SAMPLED) | 1) {
        let value = integer(*word, kind);
        (least, most) = (least.min(value), most.max(value));
        // 0 is a multiple of every power of ten: it is not counted.
        some += u32::from(value != 0);
        let mut left = value.unsigned_abs() as u64;
        for count in multiples.iter_mut().skip(1) {
            if !left.is_multiple_of(10) || left == 0 {
                break;
            }
            left /= 10;
            *count += 1;
        }
    }
    let full = f64::from(128 - (most - least).unsigned_abs().leading_zeros());
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

struct Parts<'a, T> {
    factor: u64,
    quotients: Box<dyn Decoder<T> + 'a>,
    remainders: Box<dyn Decoder<T> + 'a>,
}

impl<T: Integer> Parts<'_, T> {
    fn read(&self, rows: Rows<'_>, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        rows.decode(self.quotients.as_ref(), cx, out)?;
        cx.with(out.len(), |cx, remainders: &mut [T]| {
            rows.decode(self.remainders.as_ref(), cx, remainders)?;
            for (place, remainder) in out.iter_mut().zip(remainders) {
                let product = place.to_u64().wrapping_mul(self.factor);
                *place = T::from_u64(product).wrapping_add(*remainder);
            }
            Ok(())
        })
    }
}

impl<T: Integer> Decoder<T> for Parts<'_, T> {
    fn len(&self) -> usize {
        self.quotients.len()
    }

    read_by_rows!(T);
}

crate::conformance!(Split);
