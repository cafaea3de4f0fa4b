//! ALP for real doubles: floats whose high bits (sign, exponent, first of the fraction) repeat and
//! whose low bits are noise (Afroozeh, Kuffo, Boncz: ALP, SIGMOD 2024, section 3.4).
//!
//! ```text
//! payload = low bits: u8
//! child: high (u32) | child: low (words)
//! value = high << low bits | low
//! ```
//!
//! The chooser encodes the high parts, as a dictionary where few are distinct; the low parts are
//! bit-packed.

use super::prelude::*;
use crate::values::FloatBits;

/// Most bits of the high part.
const HIGH_BITS: u32 = 16;

/// One value in so many is distinct, at least.
const LEAST_DISTINCT: usize = 4;

/// See the [module](self).
pub struct AlpRd;

impl Encoding for AlpRd {
    fn info(&self) -> &Info {
        &Info {
            id: 14,
            name: "alp_rd",
            about: "floats of full precision: high bits as a dictionary, low bits packed",
            child_names: &["high", "low"],
            availability: Availability::Slow,
            decode_picos: 200,
            ..Info::DEFAULT
        }
    }

    fn accepts(&self, ty: PhysicalType, kind: Kind) -> bool {
        is_float(ty, kind)
    }

    /// Where a quarter of the values are distinct.
    fn may_beat_dictionary(&self, values: Values<'_>, stats: &Stats<'_>) -> bool {
        let coded = stats.dictionary();
        coded.is_none_or(|coded| coded.firsts.len() * LEAST_DISTINCT >= values.len())
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
        first_byte(node, "low bits")
    }
}

/// The number of low bits with the fewest bits in all, by a sample: 3 bits for one of the eight
/// most frequent high parts, 35 for another.
fn low_bits<T: FloatBits + Decodable>(words: &[T]) -> u32 {
    const FREQUENT: usize = 8;
    let step = (words.len() / 256).max(1);
    let mut sample: Vec<u64> = words.iter().step_by(step).map(|w| w.to_bits64()).collect();
    // Sorted once: high parts of fewer bits stay sorted.
    sample.sort_unstable();
    let mut counts: Vec<usize> = Vec::with_capacity(sample.len());
    let cost = |low: &u32| {
        let runs = sample.chunk_by(|a, b| a >> low == b >> low);
        counts.clear();
        counts.extend(runs.map(<[u64]>::len));
        if counts.len() > FREQUENT {
            counts.select_nth_unstable_by(FREQUENT, |a, b| b.cmp(a));
        }
        let frequent: usize = counts.iter().take(FREQUENT).sum();
        let code = usize::BITS - counts.len().min(FREQUENT).saturating_sub(1).leading_zeros();
        sample.len() as u64 * u64::from(low + code) + (sample.len() - frequent) as u64 * 32
    };
    (T::BITS - HIGH_BITS..T::BITS)
        .min_by_key(cost)
        .unwrap_or(T::BITS - HIGH_BITS)
}

fn encode<T: FloatBits + Decodable>(words: &[T], chooser: &Chooser<'_>) -> Result<Option<Node>> {
    let low_bits = low_bits(words);
    let mask = (1u64 << low_bits) - 1;
    let high: Vec<u32> = words
        .iter()
        .map(|w| (w.to_bits64() >> low_bits) as u32)
        .collect();
    let low: Vec<T> = words
        .iter()
        .map(|w| T::from_bits64(w.to_bits64() & mask))
        .collect();
    let children = vec![
        chooser.child(Values::U32(&high), Kind::Unsigned)?,
        chooser.child(T::values(&low), Kind::Unsigned)?,
    ];
    node(&AlpRd, T::values(words), vec![low_bits as u8], children)
}

fn open<'a, T: FloatBits + Decodable>(
    node: &NodeRef<'a>,
    cx: &mut OpenContext<'a>,
) -> Result<AnyDecoder<'a>> {
    node.expect_children(2)?;
    let mut cursor = node.cursor();
    let low_bits = u32::from(cursor.u8()?);
    cursor.finish("low bits")?;
    let (least, end) = (T::BITS - HIGH_BITS, T::BITS);
    let is_between = (least..end).contains(&low_bits);
    corrupt_if!(
        !is_between,
        "{least} to {} low bits expected, found {low_bits}",
        end - 1
    );
    let high = cx.open_words::<u32>(node.child(0, "high", PhysicalType::U32, node.len)?)?;
    let low = cx.open_words::<T>(node.child(1, "low", node.ty, node.len)?)?;
    Ok(T::wrap(Box::new(Joined {
        low_bits,
        high,
        low,
    })))
}

struct Joined<'a, T> {
    low_bits: u32,
    high: Box<dyn Decoder<u32> + 'a>,
    low: Box<dyn Decoder<T> + 'a>,
}

impl<T: FloatBits + Decodable> Joined<'_, T> {
    fn read(&self, rows: Rows<'_>, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        rows.decode(self.low.as_ref(), cx, out)?;
        cx.with(out.len(), |cx, high: &mut [u32]| {
            rows.decode(self.high.as_ref(), cx, high)?;
            for (place, high) in out.iter_mut().zip(high) {
                *place = T::from_bits64(place.to_bits64() | u64::from(*high) << self.low_bits);
            }
            Ok(())
        })
    }
}

impl<T: FloatBits + Decodable> Decoder<T> for Joined<'_, T> {
    fn len(&self) -> usize {
        self.low.len()
    }

    read_by_rows!(T);
}

crate::conformance!(AlpRd);
