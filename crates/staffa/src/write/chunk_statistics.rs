//! Statistics of chunks, where they are asked for: what a planner reads of a row group.

use arrow_buffer::i256;
use staffa_kernels::U256;

use crate::arrow::Leaf;
use crate::error::Result;
use crate::limits::map_parallel;
use crate::values::{Kind, LeafArray, LeafValues, OwnedValues, Physical as _, Values, for_words};

/// The exact sum of the values of each leaf that are not NULL; `None` for types that have none, and
/// beyond 256 bits.
pub(super) fn sums<'a>(
    leaves: impl Iterator<Item = (&'a LeafArray, &'a Leaf)>,
) -> Result<Vec<Option<i256>>> {
    let sum = |(array, leaf): (&LeafArray, &Leaf)| {
        let sum = leaf.has_sum.then(|| sum_of_leaf(array, leaf.kind));
        sum.unwrap_or(Ok(None))
    };
    map_parallel(leaves, sum)
}

fn sum_of_leaf(array: &LeafArray, kind: Kind) -> Result<Option<i256>> {
    let LeafValues::Words(ty, _) = &array.values else {
        return Ok(None);
    };
    let values = for_words!(ty, T => T::values(array.values.words::<T>()), _ => return Ok(None));
    let Some(valid) = &array.validity else {
        return Ok(sum_of(values, kind));
    };
    let present = OwnedValues::take(values, &valid.positions())?;
    Ok(sum_of(present.borrow(), kind))
}

/// The exact sum of integers, where 256 bits hold it.
pub(crate) fn sum_of(values: Values<'_>, kind: Kind) -> Option<i256> {
    // Sums of up to 2^31 words of 64 bits have less than 128.
    let of = |sum: i128| Some(i256::from_i128(sum));
    match (values, kind) {
        (Values::U8(words), Kind::Signed) => of(words.iter().map(|w| i128::from(*w as i8)).sum()),
        (Values::U16(words), Kind::Signed) => of(words.iter().map(|w| i128::from(*w as i16)).sum()),
        (Values::U32(words), Kind::Signed) => of(words.iter().map(|w| i128::from(*w as i32)).sum()),
        (Values::U64(words), Kind::Signed) => of(words.iter().map(|w| i128::from(*w as i64)).sum()),
        (Values::U8(words), Kind::Unsigned) => of(words.iter().map(|w| i128::from(*w)).sum()),
        (Values::U16(words), Kind::Unsigned) => of(words.iter().map(|w| i128::from(*w)).sum()),
        (Values::U32(words), Kind::Unsigned) => of(words.iter().map(|w| i128::from(*w)).sum()),
        (Values::U64(words), Kind::Unsigned) => of(words.iter().map(|w| i128::from(*w)).sum()),
        (Values::U128(words), Kind::Signed) => {
            let mut wide = words.iter().map(|w| i256::from_i128(*w as i128));
            wide.try_fold(i256::ZERO, i256::checked_add)
        }
        (Values::U256(words), Kind::Signed) => {
            let wide = |word: &U256| {
                let [a, b, c, d] = word.0.map(u128::from);
                i256::from_parts(a | b << 64, (c | d << 64) as i128)
            };
            words
                .iter()
                .map(wide)
                .try_fold(i256::ZERO, i256::checked_add)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_or_none() {
        let sum = |values, kind| sum_of(values, kind).map(|sum| sum.to_string());
        let one = |text: &str| Some(text.to_owned());
        assert_eq!(sum(Values::U8(&[255, 255]), Kind::Unsigned), one("510"));
        assert_eq!(sum(Values::U8(&[255, 255]), Kind::Signed), one("-2"));
        let most = [u64::MAX, u64::MAX];
        assert_eq!(
            sum(Values::U64(&most), Kind::Unsigned),
            one("36893488147419103230")
        );
        assert_eq!(sum(Values::U64(&most), Kind::Float), None);
        let half = [1u128 << 126; 4];
        let expected = (i256::from_i128(1 << 126)).wrapping_mul(i256::from_i128(4));
        assert_eq!(sum_of(Values::U128(&half), Kind::Signed), Some(expected));
        let huge = U256([u64::MAX, u64::MAX, u64::MAX, u64::MAX >> 1]);
        assert_eq!(sum_of(Values::U256(&[huge]), Kind::Signed), Some(i256::MAX));
        assert_eq!(sum_of(Values::U256(&[huge, huge]), Kind::Signed), None);
        let minus = [U256([u64::MAX; 4]); 2];
        let expected = Some(i256::from_i128(-2));
        assert_eq!(sum_of(Values::U256(&minus), Kind::Signed), expected);
    }
}
