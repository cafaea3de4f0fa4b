//! A rough size of integers, and of values by a sample, where a trial would cost more than it is worth.

use super::distinct::{self, Coded};
use super::sample;
use crate::decode::Integer;
use crate::values::{Physical as _, Values, for_ints};

/// Bytes that integers take, about: the least of a frame of reference per 64 values, delta, and
/// runs. 0 for other types.
pub(crate) fn rough_bytes(values: Values<'_>) -> usize {
    for_ints!(values.physical_type(), T => T::slice(values).map_or(0, of), _ => 0)
}

/// Bytes that values take, about, by a sample: the less of integers ([`rough_bytes`]) and of codes of a few distinct
/// values; `None` where there are hardly more than a sample holds, and where neither tells.
pub(super) fn sampled_bytes(values: Values<'_>) -> Option<usize> {
    let sample = sample::of(values)?;
    let sample = sample.borrow();
    let times = values.len() as f64 / sample.len().max(1) as f64;
    let scaled = |bytes: usize| (bytes as f64 * times) as usize;
    let as_codes = |coded: Coded| {
        let distinct = sample.plain_bytes() / sample.len().max(1) * coded.firsts.len();
        // There are more than the sample shows.
        scaled(rough_bytes(Values::U32(&coded.codes))) + distinct * 8
    };
    let codes = distinct::of(sample, sample.len() * 3 / 4).map(as_codes);
    let integers = Some(scaled(rough_bytes(sample))).filter(|bytes| *bytes > 0);
    codes.into_iter().chain(integers).min()
}

/// Of this many values it is enough to look at a third.
const MANY: usize = 1 << 15;

fn of<T: Integer>(values: &[T]) -> usize {
    let bits = |max: u64| (64 - max.leading_zeros()) as usize;
    let (mut frame, mut delta, mut runs) = (0, 0, 0);
    let step = if values.len() < MANY { 1 } else { 3 };
    for part in values.chunks(64).step_by(step) {
        let (mut least, mut most, mut steps, mut changes) = (u64::MAX, 0, 0, 0);
        let mut before = part.first().map_or(0, |v| v.to_u64());
        for value in part.iter().map(|v| v.to_u64()) {
            (least, most) = (least.min(value), most.max(value));
            let step = value.wrapping_sub(before) as i64;
            steps |= ((step << 1) ^ (step >> 63)) as u64;
            changes += usize::from(step != 0);
            before = value;
        }
        let width = bits(most - least);
        frame += width * part.len();
        delta += 8 + bits(steps) * part.len();
        runs += (width + 6) * (changes + 1);
    }
    8 + frame.min(delta).min(runs) * step / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_is_seen() {
        let noise: Vec<u32> = (0..6400u32)
            .map(|i| i.wrapping_mul(0x9e37_79b1) >> 20)
            .collect();
        let rising: Vec<u64> = (0..6400).map(|i| (1 << 40) + i * 1000).collect();
        let runs: Vec<u16> = (0..6400u16)
            .map(|i| (i / 100).wrapping_mul(40_503))
            .collect();
        assert!((9000..9700).contains(&rough_bytes(Values::U32(&noise))));
        assert!((8000..10_000).contains(&rough_bytes(Values::U64(&rising))));
        assert!(rough_bytes(Values::U16(&runs)) < 700);
        assert_eq!(rough_bytes(Values::U8(&[])), 8);
    }
}
