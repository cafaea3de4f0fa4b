//! Aggregation: an aggregator is handed the values that the rows have.

use crate::decode::{Aggregator, Decodable, Decoder, Needs, Scratch};
use crate::error::Result;
use crate::values::{Bitmap, Kind};

/// Keeps the values that it is handed, or their sum.
struct Kept<T> {
    needs: Needs,
    values: Vec<T>,
    sum: i128,
}

/// The low 128 bits of a word as an integer of a kind.
fn integer<T: Decodable>(value: T, kind: Kind) -> i128 {
    let mut bytes = Vec::new();
    value.write_le(&mut bytes);
    let sign = if kind == Kind::Signed && bytes.last().is_some_and(|byte| *byte > 127) {
        255
    } else {
        0
    };
    bytes.resize(bytes.len().max(16), sign);
    i128::from_le_bytes(*bytes.first_chunk().unwrap())
}

impl<T: Decodable> Aggregator<T> for Kept<T> {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn values(&mut self, values: &[T]) -> Result<()> {
        self.runs(values, &vec![1; values.len()])
    }

    fn runs(&mut self, values: &[T], counts: &[u32]) -> Result<()> {
        assert_eq!(values.len(), counts.len());
        for (value, count) in values.iter().zip(counts) {
            assert!(*count > 0);
            if let Needs::Sum(kind) = self.needs {
                self.sum = self
                    .sum
                    .wrapping_add(integer(*value, kind).wrapping_mul((*count).into()));
            }
            self.values
                .extend(std::iter::repeat_n(*value, *count as usize));
        }
        Ok(())
    }

    fn sum(&mut self, sum: i128) -> Result<()> {
        assert!(matches!(self.needs, Needs::Sum(_)));
        self.sum = self.sum.wrapping_add(sum);
        Ok(())
    }
}

/// Values in an order of their own.
fn sorted<T: Decodable>(values: &[T]) -> Vec<(i128, i128)> {
    let number = |value: &T| {
        let mut bytes = Vec::new();
        value.write_le(&mut bytes);
        bytes.resize(32, 0);
        let (low, high) = bytes.split_at(16);
        let word = |half: &[u8]| i128::from_le_bytes(half.try_into().unwrap());
        (word(low), word(high))
    };
    let mut numbers: Vec<(i128, i128)> = values.iter().map(number).collect();
    numbers.sort_unstable();
    numbers
}

fn distinct<T: Decodable>(values: &[T]) -> Vec<(i128, i128)> {
    let mut values = sorted(values);
    values.dedup();
    values
}

/// Whether an aggregator that needs what `found` says was handed these values.
fn holds<T: Decodable>(found: &Kept<T>, expected: &[T]) -> bool {
    match found.needs {
        Needs::InOrder => found.values == expected,
        Needs::AnyOrder => sorted(&found.values) == sorted(expected),
        Needs::Once => distinct(&found.values) == distinct(expected),
        Needs::Sum(kind) => {
            let numbers = expected.iter().map(|value| integer(*value, kind));
            found.sum == numbers.fold(0i128, i128::wrapping_add)
        }
    }
}

/// Whether an aggregator is handed the values of all rows, and those of some.
pub(super) fn aggregates<T: Decodable>(decoder: &dyn Decoder<T>, expected: &[T]) -> Result<bool> {
    let some = super::selections(expected.len()).into_iter().map(|rows| {
        let mut bits = Bitmap::filled(expected.len(), false);
        rows.iter().for_each(|row| bits.set(*row as usize, true));
        (rows, Some(bits))
    });
    let all = std::iter::once(((0..expected.len() as u32).collect(), None));
    for (rows, bits) in all.chain(some) {
        let there: Vec<T> = rows.iter().map(|row| expected[*row as usize]).collect();
        let mut cx = Scratch::default();
        for needs in [
            Needs::InOrder,
            Needs::AnyOrder,
            Needs::Once,
            Needs::Sum(Kind::Signed),
            Needs::Sum(Kind::Unsigned),
        ] {
            // Wider integers have a sign.
            if needs == Needs::Sum(Kind::Unsigned) && T::BYTES > 8 {
                continue;
            }
            let mut found = Kept {
                needs,
                values: Vec::new(),
                sum: 0,
            };
            decoder.aggregate(bits.as_ref(), &mut found, &mut cx)?;
            if !holds(&found, &there) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
