//! Bounded precision, on request: floats are rounded to multiples of a power of two, and so become
//! integers with a fixed number of fractional bits (Liu, Jiang, Paparrizos, Elmore: Decomposed
//! bounded floats, VLDB 2021).

use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::{Field, Schema};
use staffa_kernels::cast_slice;

use crate::error::{Error, Result};
use crate::values::{FloatBits, LeafArray, LeafValues, PhysicalType, power_of_two};

/// The key in a field's metadata that holds the bound on the error of its floats.
pub(crate) const KEY: &str = "staffa.max_error";

/// From here on a double has no fractional bits.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// Rounding to the nearest multiple of 2^exponent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rounding {
    bound: f64,
    exponent: i32,
}

impl Rounding {
    /// Of the largest step whose half is within the bound; `None` where the bound is not positive
    /// and finite.
    pub fn within(bound: f64) -> Option<Self> {
        let exponent = if bound.is_normal() {
            (bound.to_bits() >> 52) as i32 - 1023
        } else {
            -1022
        };
        (bound > 0.0 && bound.is_finite()).then_some(Self {
            bound,
            exponent: (exponent + 1).min(1000),
        })
    }

    /// Rounds the floats of a leaf. NaN, infinities and -0.0 stay, and so do floats whose multiple
    /// is infinite in their type.
    pub fn apply(self, array: &mut LeafArray) -> Result<()> {
        // No double has bits below so small a step.
        if self.exponent <= -1021 {
            return Ok(());
        }
        let LeafValues::Words(ty, data) = &mut array.values else {
            return Ok(());
        };
        match ty {
            PhysicalType::U32 => *data = Buffer::from_vec(self.rounded::<u32>(data)?),
            PhysicalType::U64 => *data = Buffer::from_vec(self.rounded::<u64>(data)?),
            _ => {}
        }
        Ok(())
    }

    fn rounded<T: FloatBits>(self, data: &Buffer) -> Result<Vec<T>> {
        let (step, scale) = (power_of_two(self.exponent), power_of_two(-self.exponent));
        let round = |word: &T| {
            let value = word.to_f64();
            let steps = value * scale;
            // NaN fails the comparison.
            if value != 0.0 && steps.abs() < WHOLE {
                // A small negative number becomes 0.0, not -0.0. A multiple of the step near a
                // float has no more bits than it: 32-bit floats are not rounded twice.
                let rounded = T::from_f64(steps.round_ties_even() * step + 0.0);
                if rounded.to_f64().is_finite() {
                    rounded
                } else {
                    *word
                }
            } else {
                *word
            }
        };
        let words = cast_slice(data.as_slice());
        let words: &[T] = words.ok_or_else(|| Error::internal("misaligned floats"))?;
        Ok(words.iter().map(round).collect())
    }

    /// The field with the bound in its metadata.
    pub fn mark(self, field: &Field) -> Field {
        let mut metadata = field.metadata().clone();
        metadata.insert(KEY.to_owned(), self.bound.to_string());
        field.clone().with_metadata(metadata)
    }
}

/// Whether the floats of a field have been rounded.
pub(crate) fn is_marked(field: &Field) -> bool {
    field.metadata().contains_key(KEY)
}

/// The schema with the fields of rounded floats marked.
pub(crate) fn mark(schema: &Schema, roundings: &[Option<Rounding>]) -> Schema {
    let fields = schema
        .fields()
        .iter()
        .zip(roundings)
        .map(|(field, rounding)| match rounding {
            Some(rounding) => Arc::new(rounding.mark(field)),
            None => field.clone(),
        });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_step_is_the_largest_within_the_bound() {
        for (bound, exponent) in [
            (0.5, 0),
            (0.25, -1),
            (0.001, -9),
            (0.3, -1),
            (1.0, 1),
            (f64::MIN_POSITIVE, -1021),
        ] {
            assert_eq!(
                Rounding::within(bound).map(|r| r.exponent),
                Some(exponent),
                "{bound}"
            );
        }
        for bound in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Rounding::within(bound), None, "{bound}");
        }
    }

    fn rounded<T: arrow_buffer::ArrowNativeType>(
        ty: PhysicalType,
        values: Vec<T>,
        bound: f64,
    ) -> LeafArray {
        let mut array = LeafArray {
            validity: None,
            values: LeafValues::Words(ty, Buffer::from_vec(values)),
        };
        Rounding::within(bound).unwrap().apply(&mut array).unwrap();
        array
    }

    /// Within the bound, as bits where nothing is to be rounded, and to multiples of the step.
    fn checks(value: f64, found: f64, bound: f64) -> Result<(), TestCaseError> {
        if !value.is_finite() || value == 0.0 {
            prop_assert_eq!(found.to_bits(), value.to_bits());
        } else {
            prop_assert!(
                (found - value).abs() <= bound,
                "{} for {} with {}",
                found,
                value,
                bound
            );
            prop_assert!(found != 0.0 || found.is_sign_positive());
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn no_error_is_larger_than_the_bound(
            wide in prop::collection::vec(any::<u64>(), 1..50),
            near in prop::collection::vec(-10.0..10.0f64, 1..50),
            bound in prop_oneof![any::<u64>().prop_map(f64::from_bits), 1e-12..10.0f64],
        ) {
            let bound = bound.abs();
            prop_assume!(Rounding::within(bound).is_some());
            let edges = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::MAX, f64::MIN, 5e-324, -5e-324];
            let all: Vec<f64> = wide.into_iter().map(f64::from_bits).chain(near).chain(edges).collect();
            let array = rounded(PhysicalType::U64, all.clone(), bound);
            for (value, found) in all.iter().zip(array.values.words::<u64>()) {
                checks(*value, f64::from_bits(*found), bound)?;
            }
            let all: Vec<f32> = all.into_iter().map(|value| value as f32).collect();
            let array = rounded(PhysicalType::U32, all.clone(), bound);
            for (value, found) in all.iter().zip(array.values.words::<u32>()) {
                let found = f32::from_bits(*found);
                if value.is_nan() {
                    prop_assert_eq!(found.to_bits(), value.to_bits());
                } else {
                    checks(f64::from(*value), f64::from(found), bound)?;
                }
            }
        }
    }
}
