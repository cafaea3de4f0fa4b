//! Columns that look alike in a wide table: the tree of the first of them is tried first for the others.
//!
//! Tables of hundreds of columns have families of them: readings of one kind of sensor, answers to one
//! kind of question, flags. A few values of a column tell its family; a tree that takes more than the
//! first one's is chosen like any other (decision 32).

use hashbrown::HashMap;
use staffa_kernels::Int as _;

use super::chunk::ChunkOptions;
use crate::encode::hash_of;
use crate::error::Result;
use crate::limits::map_parallel;
use crate::values::{Bitmap, Kind, LeafArray, LeafValues, PhysicalType, Strings, for_ints};

/// Tables of fewer leaves are chosen leaf by leaf.
const LEAST_LEAVES: usize = 48;
/// Values of a run, and runs, by which a column is known.
const RUN: usize = 64;
const RUNS: usize = 16;
/// Values of which one is looked at.
const SHARE: usize = 4;
/// Digits behind the point that floats are tried as decimals with, and no decimals.
const MOST_DIGITS: u8 = 6;
const NO_DECIMAL: u8 = u8::MAX;

/// The families of a table, each with its first leaf.
pub(super) struct Families {
    firsts: HashMap<Family, usize>,
    is_wide: bool,
}

impl Families {
    /// Of a table with so many leaves.
    pub(super) fn new(leaves: usize) -> Self {
        Self {
            firsts: HashMap::new(),
            is_wide: leaves >= LEAST_LEAVES,
        }
    }

    /// For each of these leaves, of which the first is leaf `first`, the first leaf of the table that looks
    /// like it: itself where there is none before it.
    pub(super) fn firsts<'a>(
        &mut self,
        first: usize,
        leaves: impl ExactSizeIterator<Item = (&'a LeafArray, ChunkOptions<'a>)>,
    ) -> Result<Vec<usize>> {
        if !self.is_wide {
            return Ok((first..first + leaves.len()).collect());
        }
        let families = map_parallel(leaves, |(array, options)| Family::of(array, options))?;
        let own = |(leaf, family): (usize, Option<Family>)| {
            family.map_or(leaf, |family| *self.firsts.entry(family).or_insert(leaf))
        };
        Ok((first..).zip(families).map(own).collect())
    }
}

/// What columns of a family have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Family {
    ty: PhysicalType,
    kind: Kind,
    profile: u8,
    is_rounded: bool,
    /// Bits of the number of values.
    len: u32,
    /// Bits of the sixty-fourths that are NULL.
    nulls: u32,
    shape: Shape,
}

/// Classes of a few values.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
struct Shape {
    /// Bits of the number of distinct values, and of runs.
    distinct: u32,
    runs: u32,
    /// Quarters of the binary logarithm of the entropy of a value.
    entropy: i32,
    /// Bits of the range of integers, and of their differences; of the mean length of strings, in
    /// quarters of a byte, and of the range of lengths.
    width: u32,
    step: u32,
    /// Digits behind the point of floats; kinds of bytes of strings.
    symbols: u8,
}

impl Family {
    /// The family of a column; `None` where it has one of its own.
    fn of(array: &LeafArray, options: ChunkOptions<'_>) -> Result<Option<Self>> {
        let Some(ty) = array.values.physical_type() else {
            return Ok(None);
        };
        let len = array.values.len();
        if options.requested_encoding.is_some() || len == 0 {
            return Ok(None);
        }
        let nulls = array
            .validity
            .as_ref()
            .map_or(0, |valid| len - valid.count_ones());
        let rows = Rows {
            len,
            validity: array.validity.as_ref(),
        };
        Ok(Some(Self {
            ty,
            kind: options.kind,
            profile: options.rules.profile as u8,
            is_rounded: options.rules.rounded,
            len: bits(len as u64),
            nulls: bits((nulls * 64).div_ceil(len) as u64),
            shape: Shape::of(&array.values, options.kind, &rows)?,
        }))
    }
}

fn bits(number: u64) -> u32 {
    64 - number.leading_zeros()
}

/// The rows by which a column is known: a few runs of valid ones.
struct Rows<'a> {
    len: usize,
    validity: Option<&'a Bitmap>,
}

impl Rows<'_> {
    /// The words of these rows.
    fn of<T: Copy>(&self, words: &[T]) -> impl Iterator<Item = T> {
        self.iter().filter_map(|row| words.get(row).copied())
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        let runs = (self.len / (RUN * SHARE)).clamp(4, RUNS);
        let part = self.len.div_ceil(runs);
        let starts = (0..self.len).step_by(part);
        let rows = starts.flat_map(move |start| start..(start + RUN.min(part)).min(self.len));
        rows.filter(|row| self.validity.is_none_or(|valid| valid.get(*row)))
    }
}

impl Shape {
    fn of(values: &LeafValues, kind: Kind, rows: &Rows<'_>) -> Result<Self> {
        Ok(match values {
            LeafValues::Empty(_) => Self::default(),
            LeafValues::Bits(bits) => Self::of_numbers(rows.iter().map(|row| bits.get(row).into())),
            LeafValues::Bytes { offsets, data } => {
                Self::of_strings(Strings::new(offsets, data)?, rows)
            }
            LeafValues::Words(PhysicalType::U128, _) => {
                let words = values.words::<u128>();
                Self::of_numbers(rows.of(words).map(|word| word as i64))
            }
            LeafValues::Words(ty, _) => for_ints!(ty, T => {
                let words = rows.of(values.words::<T>());
                match (kind, T::BITS) {
                    (Kind::Float, 64) => Self::of_floats(words.map(|w| f64::from_bits(w.to_u64()))),
                    (Kind::Float, 32) => {
                        Self::of_floats(words.map(|w| f32::from_bits(w.to_u64() as u32).into()))
                    }
                    (Kind::Signed, width) => Self::of_numbers(
                        words.map(|w| (w.to_u64() << (64 - width)) as i64 >> (64 - width)),
                    ),
                    _ => Self::of_numbers(words.map(|w| w.to_u64() as i64)),
                }
            }, _ => Self::default()),
        })
    }

    fn of_numbers(numbers: impl Iterator<Item = i64>) -> Self {
        let mut numbers: Vec<i64> = numbers.collect();
        let pairs = || numbers.array_windows();
        let steps = pairs().map(|[a, b]| b.wrapping_sub(*a).unsigned_abs());
        let mut steps: Vec<u64> = steps.collect();
        let runs = steps.iter().filter(|step| **step > 0).count();
        let step = steps.len() * 3 / 4;
        let is_rising = pairs().all(|[a, b]| a <= b);
        let step = match steps.get(step) {
            Some(_) => bits(*steps.select_nth_unstable(step).1) + if is_rising { 64 } else { 0 },
            None => 0,
        };
        numbers.sort_unstable();
        let equal = || numbers.chunk_by(|a, b| a == b);
        let once = (numbers.len().max(1) as f64).log2() / numbers.len().max(1) as f64;
        let entropy = |equal: &[i64]| {
            let share = equal.len() as f64 / numbers.len() as f64;
            if equal.len() == 1 {
                once
            } else {
                -share * share.log2()
            }
        };
        let entropy: f64 = equal().map(entropy).sum();
        let ends = numbers.first().zip(numbers.last());
        Self {
            distinct: bits(equal().count() as u64),
            runs: bits(runs as u64),
            entropy: (entropy.max(1e-3).log2() * 4.0).round() as i32,
            width: ends.map_or(0, |(first, last)| bits(last.wrapping_sub(*first) as u64)),
            step,
            symbols: 0,
        }
    }

    /// Of decimals, as numbers; of other floats, by their bits.
    fn of_floats(floats: impl Iterator<Item = f64>) -> Self {
        let floats: Vec<f64> = floats.collect();
        let some = || floats.iter().step_by(floats.len() / 16 + 1);
        let is_decimal = |digits: &u8| {
            let power = 10f64.powi(i32::from(*digits));
            some().all(|float| ((float * power).round() / power - float).abs() < 1e-9)
        };
        let digits = (0..=MOST_DIGITS).find(is_decimal);
        let power = 10f64.powi(i32::from(digits.unwrap_or(0)));
        let number = |float: &f64| match digits {
            Some(_) => (float * power).round() as i64,
            None => (float.to_bits() >> 40) as i64,
        };
        Self {
            symbols: digits.unwrap_or(NO_DECIMAL),
            ..Self::of_numbers(floats.iter().map(number))
        }
    }

    fn of_strings(strings: Strings<'_>, rows: &Rows<'_>) -> Self {
        let (mut bytes, mut least, mut most, mut symbols) = (0, usize::MAX, 0, 0);
        let mut hashes = Vec::with_capacity(RUN * RUNS);
        for string in rows.iter().map(|row| strings.get(row)) {
            bytes += string.len();
            (least, most) = (least.min(string.len()), most.max(string.len()));
            symbols = string.iter().fold(symbols, |all, byte| all | symbol(*byte));
            hashes.push(hash_of(string) as i64);
        }
        let mean = bytes * 4 / hashes.len().max(1);
        Self {
            width: bits(mean as u64),
            step: bits(most.saturating_sub(least) as u64),
            symbols,
            ..Self::of_numbers(hashes.into_iter())
        }
    }
}

/// The kind of a byte in a text, a bit of its own.
fn symbol(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => 1,
        b'a'..=b'f' => 2,
        b'g'..=b'z' => 4,
        b'A'..=b'Z' => 8,
        b' ' => 16,
        0x80.. => 32,
        _ => 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(values: impl Iterator<Item = i64>) -> Shape {
        Shape::of_numbers(values)
    }

    fn noise(seed: i64) -> impl Fn(i64) -> i64 {
        move |i| ((i + seed * 1000) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64 >> 40
    }

    #[test]
    fn columns_of_one_kind_have_one_shape() {
        let [a, b] = [1, 2].map(noise);
        let uniform = shape((0..256).map(|i| a(i) & 1023));
        assert_eq!(uniform, shape((0..256).map(|i| b(i) & 1023)));
        let others: [&dyn Fn(i64) -> i64; 5] = [
            &|i| a(i) & 31,
            &|i| a(i / 8) & 1023,
            &|i| i * 4,
            &|i| if i % 9 == 0 { a(i) & 1023 } else { 0 },
            &a,
        ];
        for (i, other) in others.iter().enumerate() {
            assert_ne!(uniform, shape((0..256).map(other)), "{i}");
        }
    }

    #[test]
    fn decimals_are_known_by_their_digits() {
        let value = noise(3);
        let of =
            |digits: f64| Shape::of_floats((0..256).map(|i| (value(i) & 1023) as f64 / digits));
        assert_eq!(
            [of(1.0).symbols, of(10.0).symbols, of(100.0).symbols],
            [0, 1, 2]
        );
        assert_eq!(of(3.0).symbols, NO_DECIMAL);
    }
}
