//! ALP: floats that are decimals, as integers (Afroozeh, Kuffo, Boncz: ALP, SIGMOD 2024).
//!
//! ```text
//! payload = per vector: exponent e: u8 | factor f: u8
//! child: digits (u64, two's complement) | child: mask (bits, set where a row is an exception) | child: exceptions (words)
//! value = digits * 10^f * 10^-e, two multiplications in doubles, in this order; 32-bit floats are rounded once
//! ```
//!
//! A value whose bits the digits do not give back is an exception. The search has two levels: the
//! five best (e, f) of a sample of the block, then for every vector the best of these. The digits
//! are encoded in turn, by delta too.

use super::exceptions::{Exceptions, Separated};
use super::prelude::*;
use crate::decode::{many, no_row, take_vectors};
use crate::values::FloatBits;

const MAX_EXPONENT: usize = 18;
/// 10^i and 10^-i.
static POWERS: [(f64, f64); MAX_EXPONENT + 1] = [
    (1e0, 1e0),
    (1e1, 1e-1),
    (1e2, 1e-2),
    (1e3, 1e-3),
    (1e4, 1e-4),
    (1e5, 1e-5),
    (1e6, 1e-6),
    (1e7, 1e-7),
    (1e8, 1e-8),
    (1e9, 1e-9),
    (1e10, 1e-10),
    (1e11, 1e-11),
    (1e12, 1e-12),
    (1e13, 1e-13),
    (1e14, 1e-14),
    (1e15, 1e-15),
    (1e16, 1e-16),
    (1e17, 1e-17),
    (1e18, 1e-18),
];
/// Adding and subtracting it rounds a double below 2^51 to an integer.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
const CANDIDATES: usize = 5;
const SAMPLED: usize = 32;
/// Values by which most scales are ruled out.
const GLANCED: usize = 12;

/// See the [module](self).
pub struct Alp;

impl Encoding for Alp {
    fn info(&self) -> &Info {
        &Info {
            id: 13,
            name: "alp",
            about: "floats that are decimals as integers, others as exceptions",
            child_names: &["digits", "mask", "exceptions"],
            first_child: Some(StreamOf::Digits),
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
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        encode_floats!(values, words => encode(words, stats, chooser))
    }

    fn open<'a>(&self, node: &NodeRef<'a>, cx: &mut OpenContext<'a>) -> Result<AnyDecoder<'a>> {
        open_floats!(node, T => open::<T>(node, cx))
    }

    fn detail(&self, node: &NodeRef<'_>) -> String {
        count_of(node, 2, "exceptions")
    }
}

/// An exponent e and a factor f, at most the exponent, with their powers of ten.
#[derive(Debug, Clone, Copy)]
struct Scale {
    exponent: u8,
    factor: u8,
    /// 10^e and 10^-f, from values to digits.
    up: (f64, f64),
    /// 10^f and 10^-e, from digits to values.
    down: (f64, f64),
}

impl Scale {
    /// `None` for an exponent past the tables, or a factor past the exponent.
    fn new(exponent: u8, factor: u8) -> Option<Self> {
        let (e, e_inverse) = *POWERS.get(usize::from(exponent))?;
        let (f, f_inverse) = *POWERS
            .get(usize::from(factor))
            .filter(|_| factor <= exponent)?;
        Some(Self {
            exponent,
            factor,
            up: (e, f_inverse),
            down: (f, e_inverse),
        })
    }

    /// All scales, those of few digits behind the point first: the smallest that hold the values.
    fn all() -> impl Iterator<Item = Self> {
        (0..=MAX_EXPONENT as u8).flat_map(|digits| {
            let exponents = (digits..=MAX_EXPONENT as u8).rev();
            exponents.filter_map(move |exponent| Self::new(exponent, exponent - digits))
        })
    }

    /// The digits of a value, where they give back its bits.
    #[inline]
    fn digits<T: FloatBits + Decodable>(self, word: T) -> Option<i64> {
        let ((up, f_inverse), (f, e)) = (self.up, self.down);
        let digits = ((word.to_f64() * up * f_inverse + ROUNDER) - ROUNDER) as i64;
        (T::from_f64(digits as f64 * f * e) == word && digits.unsigned_abs() < 1 << 51)
            .then_some(digits)
    }

    /// Bits that some values would take, the width of their range and 80 for an exception; `None`
    /// where these are `most` or more.
    fn cost<T: FloatBits + Decodable>(self, words: &[T], most: u64) -> Option<u64> {
        let (mut min, mut max, mut held, mut exceptions) = (i64::MAX, i64::MIN, 0u64, 0u64);
        let mut cost = 0;
        for (rest, word) in (0..words.len() as u64).rev().zip(words) {
            match self.digits(*word) {
                Some(digits) => {
                    (min, max) = (min.min(digits), max.max(digits));
                    held += 1;
                }
                None => exceptions += 1,
            }
            let width = if held == 0 {
                0
            } else {
                u64::from(64 - max.wrapping_sub(min).leading_zeros())
            };
            let exception = u64::from(T::BITS) + 16;
            cost = held * width + exceptions * exception;
            // Each of the others takes as much at least: most scales are given up after a few values.
            if cost + rest * width.min(exception) >= most {
                return None;
            }
        }
        Some(cost)
    }

    /// The best of some scales for these values, by their number: the first of equal ones first, without
    /// those that do not suit.
    fn ranked<T: FloatBits + Decodable>(
        scales: impl Iterator<Item = Self>,
        words: &[T],
        count: usize,
        suits: impl Fn(&Self) -> bool,
    ) -> Vec<Self> {
        let mut ranked: Vec<(u64, Self)> = Vec::with_capacity(count + 1);
        for scale in scales {
            let worst = ranked.get(count - 1).map(|(cost, _)| *cost);
            // Whichever is likelier to rule the scale out comes first.
            if worst.is_none() && !suits(&scale) {
                continue;
            }
            let cost = scale.cost(words, worst.unwrap_or(u64::MAX));
            if let Some(cost) = cost.filter(|_| worst.is_none() || suits(&scale)) {
                let place = ranked.partition_point(|(other, _)| *other <= cost);
                ranked.insert(place, (cost, scale));
                ranked.truncate(count);
            }
        }
        ranked.into_iter().map(|(_, scale)| scale).collect()
    }
}

/// About `count` of the values, evenly spread.
fn spread<T: Copy>(words: &[T], count: usize) -> Vec<T> {
    let step = (words.len() / count).max(1);
    words.iter().step_by(step).copied().collect()
}

/// The best scales for these values, found once; `None` where the encoding may decline, and none holds even
/// a quarter of a few values.
fn scales<T: FloatBits + Decodable>(
    words: &[T],
    stats: &Stats<'_>,
    chooser: &Chooser<'_>,
) -> Option<Vec<Scale>> {
    let found = stats.scales.get_or_init(|| {
        let few = spread(words, GLANCED);
        let holds = |scale: &Scale| {
            let held = few.iter().filter(|word| scale.digits(**word).is_some());
            held.count() * 4 >= few.len()
        };
        let some = spread(words, SAMPLED * 2);
        let suits = |scale: &Scale| chooser.must_encode() || holds(scale);
        let ranked = Scale::ranked(Scale::all(), &some, CANDIDATES, suits).into_iter();
        ranked.map(|scale| (scale.exponent, scale.factor)).collect()
    });
    let scales = found.iter();
    let scales: Vec<Scale> = scales.filter_map(|(e, f)| Scale::new(*e, *f)).collect();
    (!scales.is_empty()).then_some(scales)
}

fn encode<T: FloatBits + Decodable>(
    words: &[T],
    stats: &Stats<'_>,
    chooser: &Chooser<'_>,
) -> Result<Option<Node>> {
    let Some(ranked) = scales(words, stats, chooser) else {
        return Ok(None);
    };
    let mut payload = Vec::new();
    let mut separated: Separated<u64, T> = Separated::new(words.len());
    for vector in words.chunks(chooser.vector_rows()) {
        let some = spread(vector, SAMPLED);
        let best = Scale::ranked(ranked.iter().copied(), &some, 1, |_| true);
        let scale = best.first().copied();
        let scale = scale.ok_or_else(|| Error::internal("no scale for floats"))?;
        if !chooser.is_trial() {
            payload.extend([scale.exponent, scale.factor]);
        }
        for &word in vector {
            separated.push(word, scale.digits(word).map(i64::cast_unsigned));
        }
        if separated.declines(words.len(), chooser) {
            return Ok(None);
        }
    }
    // Digits of one scale are equal where their values are, and so have the same codes.
    let one_scale = payload.chunks(2).all(|scale| payload.starts_with(scale));
    let same_codes = !chooser.is_trial() && one_scale && separated.rows.is_empty();
    let (values, kind) = (Values::U64(&separated.values), Kind::Signed);
    let stats = if same_codes {
        Stats::like(values, kind, stats)
    } else {
        Stats::new(values, kind)
    };
    let digits = chooser.known_child(values, &stats)?;
    let children = separated.children(digits, Kind::Float, chooser)?;
    node(&Alp, T::values(words), payload, children)
}

fn open<'a, T: FloatBits + Decodable>(
    node: &NodeRef<'a>,
    cx: &mut OpenContext<'a>,
) -> Result<AnyDecoder<'a>> {
    node.expect_children(3)?;
    let mut cursor = node.cursor();
    let mut scales = Vec::with_capacity(node.len.div_ceil(VECTOR));
    for _ in 0..node.len.div_ceil(VECTOR) {
        let (exponent, factor) = (cursor.u8()?, cursor.u8()?);
        let scale = Scale::new(exponent, factor).ok_or_else(|| {
            Error::corrupt(format!(
                "an exponent of at most {MAX_EXPONENT} and a factor up to it expected, found {exponent} and {factor}"
            ))
        })?;
        scales.push(scale.down);
    }
    cursor.finish("scales")?;
    let digits = cx.open_words::<u64>(node.child(0, "digits", PhysicalType::U64, node.len)?)?;
    let exceptions = Exceptions::<T>::open(node, 1, 2, cx)?;
    Ok(T::wrap(Box::new(Decimals {
        scales,
        digits,
        exceptions,
    })))
}

struct Decimals<'a, T> {
    /// Of every vector: 10^f and 10^-e.
    scales: Vec<(f64, f64)>,
    digits: Box<dyn Decoder<u64> + 'a>,
    exceptions: Exceptions<'a, T>,
}

impl<T: FloatBits + Decodable> Decoder<T> for Decimals<'_, T> {
    fn len(&self) -> usize {
        self.exceptions.len()
    }

    fn vector(&self, v: usize, cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        let (f, e) = *of_vector(&self.scales, v)?;
        // Packed digits are unpacked and scaled in one pass.
        if !self
            .digits
            .packed(v)
            .is_some_and(|digits| T::of_packed(digits, f, e, out))
        {
            cx.with(out.len(), |cx, digits| {
                self.digits.vector(v, cx, digits)?;
                T::of_digits(digits, f, e, out);
                Ok(())
            })?;
        }
        self.exceptions.patch(Rows::Vector(v), cx, out)
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        if many(rows) {
            return take_vectors(self, rows, cx, out);
        }
        let mut digits = vec![0; rows.len()];
        self.digits.take(rows, cx, &mut digits)?;
        for ((place, digits), row) in out.iter_mut().zip(digits).zip(rows) {
            let scale = self.scales.get(*row as usize / VECTOR);
            let (f, e) = *scale.ok_or_else(|| no_row(*row, self.len()))?;
            *place = T::from_f64(digits as i64 as f64 * f * e);
        }
        self.exceptions.patch(Rows::At(rows), cx, out)
    }
}

crate::conformance!(Alp);
