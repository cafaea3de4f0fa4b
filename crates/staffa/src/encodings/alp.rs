//! ALP: floats that are decimals, as integers (Afroozeh, Kuffo, Boncz: ALP, SIGMOD 2024).
//!
//! ```text
//! payload = per vector: exponent e: u8 | factor f: u8
//! child: digits (u64, two's complement) | child: mask (bits, set where a row is an exception) | child: exceptions (words)
//! value = digits * 10^f * 10^-e, two multiplications in doubles, in this order; 32-bit floats are rounded once
//! ```
//!
//! A value is stored so only if that gives back its very bits. The search has two levels: the five
//! best (e, f) of a sample of the block, then for every vector the best of these. The digits
//! cascade on, delta included.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use staffa_kernels::VECTOR;

use super::exceptions;
use super::exceptions::Exceptions;
use crate::decode::{
    AnyDecoder, Decodable, Decoder, OpenContext, Scratch, many, no_row, take_vectors,
};
use crate::encode::{Chooser, Encoding, Info, Stats};
use crate::error::{Error, Result};
use crate::format::{Node, NodeRef};
use crate::values::{FloatBits, Kind, PhysicalType, Values};

const MAX_EXPONENT: usize = 18;
static POWERS: [f64; MAX_EXPONENT + 1] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18,
];
static INVERSE: [f64; MAX_EXPONENT + 1] = [
    1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14,
    1e-15, 1e-16, 1e-17, 1e-18,
];
/// Adding and subtracting it rounds a double below 2^51 to an integer.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
const CANDIDATES: usize = 5;
const SAMPLED: usize = 32;

/// See the [module](self).
pub struct Alp;

impl Encoding for Alp {
    fn info(&self) -> &Info {
        &Info {
            id: 13,
            name: "alp",
            about: "floats that are decimals as integers, others as exceptions",
            child_names: &["digits", "mask", "exceptions"],
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
        stats: &Stats<'_>,
        chooser: &Chooser<'_>,
    ) -> Result<Option<Node>> {
        match values {
            Values::U32(words) => encode(words, stats, chooser),
            Values::U64(words) => encode(words, stats, chooser),
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

/// An exponent and a factor, at most the exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scale {
    exponent: u8,
    factor: u8,
}

impl Scale {
    fn all() -> impl Iterator<Item = Self> {
        (0..=MAX_EXPONENT as u8).rev().flat_map(|exponent| {
            (0..=exponent)
                .rev()
                .map(move |factor| Self { exponent, factor })
        })
    }

    #[inline]
    fn factors(self) -> (f64, f64) {
        let power = |table: &[f64], i: u8| table.get(usize::from(i)).copied().unwrap_or(1.0);
        (power(&POWERS, self.factor), power(&INVERSE, self.exponent))
    }

    /// The digits of a value, where they give back its bits.
    #[inline]
    fn digits<T: FloatBits + Decodable>(self, word: T) -> Option<i64> {
        let up = POWERS
            .get(usize::from(self.exponent))
            .copied()
            .unwrap_or(1.0);
        let down = INVERSE
            .get(usize::from(self.factor))
            .copied()
            .unwrap_or(1.0);
        let digits = (word.to_f64() * up * down + ROUNDER) - ROUNDER;
        let digits = digits as i64;
        let (f, e) = self.factors();
        (T::from_f64(digits as f64 * f * e) == word && digits.unsigned_abs() < 1 << 51)
            .then_some(digits)
    }

    /// Bits that some values would take: the width of their range, and 80 for an exception.
    fn cost<T: FloatBits + Decodable>(self, words: impl Iterator<Item = T>) -> u64 {
        let (mut min, mut max, mut held, mut exceptions) = (i64::MAX, i64::MIN, 0u64, 0u64);
        for word in words {
            match self.digits(word) {
                Some(digits) => {
                    (min, max) = (min.min(digits), max.max(digits));
                    held += 1;
                }
                None => exceptions += 1,
            }
        }
        let width = if held == 0 {
            0
        } else {
            64 - max.wrapping_sub(min).leading_zeros()
        };
        held * u64::from(width) + exceptions * (u64::from(T::BITS) + 16)
    }
}

/// Values spread evenly over some.
fn spread<T: Copy>(words: &[T], count: usize) -> impl Iterator<Item = T> + '_ {
    words.iter().step_by((words.len() / count).max(1)).copied()
}

fn encode<T: FloatBits + Decodable>(
    words: &[T],
    stats: &Stats<'_>,
    chooser: &Chooser<'_>,
) -> Result<Option<Node>> {
    let mut ranked: Vec<(u64, Scale)> = Scale::all()
        .map(|scale| (scale.cost(spread(words, SAMPLED * 2)), scale))
        .collect();
    ranked.sort_by_key(|(cost, _)| *cost);
    ranked.truncate(CANDIDATES);
    let (mut payload, mut digits, mut rows, mut exceptions) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for vector in words.chunks(chooser.vector_rows()) {
        let best = ranked
            .iter()
            .map(|(_, s)| *s)
            .min_by_key(|s| s.cost(spread(vector, SAMPLED)));
        let scale = best.unwrap_or(Scale {
            exponent: 0,
            factor: 0,
        });
        if !chooser.is_trial() {
            payload.extend([scale.exponent, scale.factor]);
        }
        for &word in vector {
            if let Some(d) = scale.digits(word) {
                digits.push(d as u64);
            } else {
                rows.push(digits.len() as u32);
                // The digits before again: they cost the least.
                digits.push(digits.last().copied().unwrap_or(0));
                exceptions.push(word);
            }
        }
        if !chooser.must_encode() && rows.len() * 2 > words.len() {
            return Ok(None);
        }
    }
    // Digits of one scale are equal where their values are, and so have the same codes.
    let one_scale = payload.chunks(2).all(|scale| payload.starts_with(scale));
    let same_codes = !chooser.is_trial() && one_scale && rows.is_empty();
    let (values, kind) = (Values::U64(&digits), Kind::Signed);
    let stats = if same_codes {
        Stats::like(values, kind, stats)
    } else {
        Stats::new(values, kind)
    };
    let children = vec![
        chooser.known_child(values, &stats)?,
        exceptions::mask(words.len(), &rows, chooser)?,
        chooser.child(T::values(&exceptions), Kind::Float)?,
    ];
    Ok(Some(Node {
        encoding: 13,
        ty: T::TYPE,
        len: words.len(),
        payload,
        children,
    }))
}

fn open<'a, T: FloatBits + Decodable>(
    node: &NodeRef<'a>,
    cx: &mut OpenContext<'a>,
) -> Result<AnyDecoder<'a>> {
    node.expect_children(3)?;
    let mut cursor = node.cursor();
    let mut scales = Vec::with_capacity(node.len.div_ceil(VECTOR));
    for _ in 0..node.len.div_ceil(VECTOR) {
        let scale = Scale {
            exponent: cursor.u8()?,
            factor: cursor.u8()?,
        };
        if usize::from(scale.exponent) > MAX_EXPONENT || scale.factor > scale.exponent {
            return Err(Error::corrupt(format!(
                "an exponent of at most {MAX_EXPONENT} and a factor below it expected, found {} and {}",
                scale.exponent, scale.factor
            )));
        }
        scales.push(scale.factors());
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
        let (f, e) = self
            .scales
            .get(v)
            .copied()
            .ok_or_else(|| Error::corrupt(format!("no vector {v}")))?;
        // Packed digits need not be stored between.
        if !self
            .digits
            .packed(v)
            .is_some_and(|digits| T::of_packed(digits, f, e, out))
        {
            let mut buffer = cx.take_u64();
            let digits = buffer.get_mut(..out.len()).unwrap_or_default();
            self.digits.vector(v, cx, digits)?;
            T::of_digits(digits, f, e, out);
            cx.give_u64(buffer);
        }
        self.exceptions.apply(v, out)
    }

    fn take(&self, rows: &[u32], cx: &mut Scratch, out: &mut [T]) -> Result<()> {
        if many(rows) {
            return take_vectors(self, rows, cx, out);
        }
        let mut digits = vec![0; rows.len()];
        self.digits.take(rows, cx, &mut digits)?;
        for ((place, digits), row) in out.iter_mut().zip(digits).zip(rows) {
            let (f, e) = self
                .scales
                .get(*row as usize / VECTOR)
                .copied()
                .ok_or_else(|| no_row(*row, self.len()))?;
            *place = T::from_f64(digits as i64 as f64 * f * e);
        }
        self.exceptions.apply_at(rows, cx, out)
    }
}

crate::conformance!(Alp);
